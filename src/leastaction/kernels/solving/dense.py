"""Small dense linear systems, in place: LU with row pivoting, and LU with full pivoting of matrices that may lack rank."""

from ...compiling.decorators import kernel

_SINGULAR = 1e-13  # pivots relative to the first below which rows count as dependent


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


@kernel
def dense_solve(J, pivot, rhs, out):
    """out = J^-1 rhs, J overwritten."""
    n = rhs.shape[0]
    for j in range(n):
        out[j] = rhs[j]
    lu_factor(J, pivot, n)
    lu_solve(J, pivot, n, out)


@kernel
def rank_factor(S, swap):
    """LU of a small matrix in place, both rows and columns exchanged; returns its rank."""
    size = S.shape[0]
    first = 0.0
    for k in range(size):
        best, row, column = 0.0, k, k
        for i in range(k, size):
            for j in range(k, size):
                if abs(S[i, j]) > best:
                    best, row, column = abs(S[i, j]), i, j
        if k == 0:
            first = best
        if not best > _SINGULAR * first:
            return k
        swap[0, k], swap[1, k] = row, column
        for j in range(size):
            S[k, j], S[row, j] = S[row, j], S[k, j]
        for i in range(size):
            S[i, k], S[i, column] = S[i, column], S[i, k]
        inverse = 1.0 / S[k, k]
        for i in range(k + 1, size):
            factor = S[i, k] * inverse
            S[i, k] = factor
            for j in range(k + 1, size):
                S[i, j] -= factor * S[k, j]
    return size


@kernel
def rank_solve(S, swap, rank, x):
    """x <- S^-1 x; rows that depend on the others get zero."""
    size = S.shape[0]
    for k in range(rank):
        row = swap[0, k]
        x[k], x[row] = x[row], x[k]
    for k in range(rank):
        for i in range(k + 1, size):
            x[i] -= S[i, k] * x[k]
    for k in range(rank, size):
        x[k] = 0.0
    for k in range(rank - 1, -1, -1):
        for j in range(k + 1, rank):
            x[k] -= S[k, j] * x[j]
        x[k] /= S[k, k]
    for k in range(rank - 1, -1, -1):
        column = swap[1, k]
        x[k], x[column] = x[column], x[k]
