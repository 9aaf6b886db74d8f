"""Few rows beside a matrix that is factorised already (Sherman, Morrison, Woodbury):

    (J + sum over rows k of  left_k right_k')^-1 r = z - Y C^-1 (right z),   z = J^-1 r,   Y = J^-1 left,   C = 1 + right Y

`beside` is any record with the fields right (rows, n), Y (rows, n; J^-1 left), C (rows, rows), pivot and c (rows,).
"""

from ...compiling.decorators import inlined, kernel
from .dense import lu_factor, lu_solve


@kernel
def factor_couplings(beside):
    """C of the rows in beside.right and beside.Y, factorised."""
    rows = beside.C.shape[0]
    for a in range(rows):
        for b in range(rows):
            beside.C[a, b] = _row_dot(beside.right, a, beside.Y[b]) + (1.0 if a == b else 0.0)
    lu_factor(beside.C, beside.pivot, rows)


@kernel
def correct_for_couplings(beside, z):
    """From z = J^-1 r to the solution with the rows."""
    rows = beside.C.shape[0]
    if rows == 0:
        return
    for e in range(rows):
        beside.c[e] = _row_dot(beside.right, e, z)
    lu_solve(beside.C, beside.pivot, rows, beside.c)
    for e in range(rows):
        for j in range(z.shape[0]):
            z[j] -= beside.Y[e, j] * beside.c[e]


@inlined
def _row_dot(A, e, x):
    total = 0.0
    for j in range(x.shape[0]):
        total += A[e, j] * x[j]
    return total
