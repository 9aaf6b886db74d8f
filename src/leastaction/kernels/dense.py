"""LU factorisation with row pivoting of small dense matrices, and its use for many right-hand sides."""

from ..lie.jit import kernel


@kernel
def factorise_dense(J, pivot):
    """J <- L and U, row by row; a singular matrix leaves infinite or NaN entries."""
    n = pivot.shape[0]
    for k in range(n):
        p = k
        for r in range(k + 1, n):
            if abs(J[r, k]) > abs(J[p, k]):
                p = r
        pivot[k] = p
        if p != k:
            for c in range(n):
                J[k, c], J[p, c] = J[p, c], J[k, c]
        inverse = 1.0 / J[k, k]
        for r in range(k + 1, n):
            f = J[r, k] * inverse
            J[r, k] = f
            if f != 0.0:
                for c in range(k + 1, n):
                    J[r, c] -= f * J[k, c]


@kernel
def solve_dense(J, pivot, x):
    """x <- J^-1 x."""
    n = pivot.shape[0]
    for k in range(n):
        p = pivot[k]
        x[k], x[p] = x[p], x[k]
    for k in range(n):
        t = x[k]
        for c in range(k):
            t -= J[k, c] * x[c]
        x[k] = t
    for k in range(n - 1, -1, -1):
        t = x[k]
        for c in range(k + 1, n):
            t -= J[k, c] * x[c]
        x[k] = t / J[k, k]
