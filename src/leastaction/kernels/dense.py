"""Small dense linear systems: LU with row pivoting, in place."""

from ..lie.jit import kernel


@kernel
def lu_factor(A, pivot, n):
    """A[:n, :n] <- its LU factors."""
    for k in range(n):
        p = k
        for r in range(k + 1, n):
            if abs(A[r, k]) > abs(A[p, k]):
                p = r
        pivot[k] = p
        if p != k:
            for c in range(n):
                A[k, c], A[p, c] = A[p, c], A[k, c]
        for r in range(k + 1, n):
            A[r, k] /= A[k, k]
            f = A[r, k]
            if f != 0.0:
                for c in range(k + 1, n):
                    A[r, c] -= f * A[k, c]


@kernel
def lu_solve(A, pivot, n, x):
    """x <- solution, x the right-hand side on entry; A from `lu_factor`."""
    for k in range(n):
        p = pivot[k]
        x[k], x[p] = x[p], x[k]
    for k in range(n):
        for r in range(k + 1, n):
            x[r] -= A[r, k] * x[k]
    for k in range(n - 1, -1, -1):
        s = x[k]
        for c in range(k + 1, n):
            s -= A[k, c] * x[c]
        x[k] = s / A[k, k]
