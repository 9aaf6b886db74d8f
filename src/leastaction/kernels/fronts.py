"""Sparse block elimination along the graph of a mechanism: the multifrontal form of Algorithms 3 and 4 of Bruedigam and Manchester.

The unknowns fall into groups: six of every body, the multipliers of every constraint.  `elimination.py` orders them once and
lists, for every pivot group, the unknowns it is coupled to when its turn comes.  Pivot and coupled rows and columns form a small dense
matrix, the front.  Eliminating the pivots leaves a matrix on the coupled ones, which is added to the front of the first of them:
no entry outside the fronts ever becomes nonzero.  A body and the joint to its parent are one pivot group, with row exchanges inside
it, so a body without inertia about some axis is no special case.
"""

from ..lie.jit import inlined, kernel
from .maximal_layout import F_AT, F_INDEX, F_PARENT, F_PIVOTS, F_SIZE, F_STRIDE
from .memory import get, put


@inlined
def subtract(a, at, x, first, stride, factor):
    """a[at + r] -= factor x[r] from r = first on, four at a time: x is zero before `first`, and columns are padded to fours."""
    for r in range(first - first % 4, stride, 4):
        k = at + r
        p, q, u, v = get(x, r), get(x, r + 1), get(x, r + 2), get(x, r + 3)
        e, f, g, h = get(a, k), get(a, k + 1), get(a, k + 2), get(a, k + 3)
        put(a, k, e - factor * p)
        put(a, k + 1, f - factor * q)
        put(a, k + 2, g - factor * u)
        put(a, k + 3, h - factor * v)


@kernel
def factorise(b, s):
    """L and U of every front, in place.  Reads Net.front; reads and writes Flow.values, writes Flow.swap."""
    for k in range(b.front.shape[0]):
        at, pivots, size, stride = b.front[k, F_AT], b.front[k, F_PIVOTS], b.front[k, F_SIZE], b.front[k, F_STRIDE]
        eliminate(s.values, at, pivots, size, stride, s.swap, b.front[k, F_INDEX], s.column)
        parent = b.front[k, F_PARENT]
        if parent >= 0:
            pass_on(b, s.values, k, parent)


@inlined
def eliminate(a, at, pivots, size, stride, swap, first, x):
    """The first `pivots` columns of the matrix at a[at:], column by column; row exchanges among the first `pivots` rows."""
    for r in range(stride):
        x[r] = 0.0
    for k in range(pivots):
        mine = at + k * stride
        best, where = abs(get(a, mine + k)), k
        for r in range(k + 1, pivots):
            y = abs(get(a, mine + r))
            if y > best:
                best, where = y, r
        swap[first + k] = where
        if where != k:
            for c in range(size):
                j = at + c * stride
                y = get(a, j + k)
                put(a, j + k, get(a, j + where))
                put(a, j + where, y)
        inverse = 1.0 / get(a, mine + k)
        put(a, mine + k, inverse)
        put(x, k, 0.0)
        for r in range(k + 1, size):
            y = inverse * get(a, mine + r)
            put(a, mine + r, y)
            put(x, r, y)
        for c in range(k + 1, size):
            j = at + c * stride
            factor = get(a, j + k)
            if factor != 0.0:
                subtract(a, j, x, k + 1, stride, factor)


@kernel
def pass_on(b, a, k, parent):
    """Add what is left of front k to its parent."""
    at, pivots, size, first, stride = b.front[k, F_AT], b.front[k, F_PIVOTS], b.front[k, F_SIZE], b.front[k, F_INDEX], b.front[k, F_STRIDE]
    to, width = b.front[parent, F_AT], b.front[parent, F_STRIDE]
    for c in range(pivots, size):
        mine = at + c * stride
        theirs = to + b.extend[first + c] * width
        for r in range(pivots, size):
            there = theirs + b.extend[first + r]
            put(a, there, get(a, there) + get(a, mine + r))


@kernel
def solve(b, s):
    """z = J^-1 r.  Reads the factors and r; writes z."""
    z, a, y = s.z, s.values, s.column
    for j in range(z.shape[0]):
        z[j] = s.r[j]
    for k in range(b.front.shape[0]):
        at, pivots, size, first = b.front[k, F_AT], b.front[k, F_PIVOTS], b.front[k, F_SIZE], b.front[k, F_INDEX]
        stride = b.front[k, F_STRIDE]
        gather(b, z, first, size, stride, y)
        for p in range(pivots):
            there = s.swap[first + p]
            x = get(y, p)
            put(y, p, get(y, there))
            put(y, there, x)
        for p in range(pivots):
            # below the diagonal; the block of four that holds it is done one by one
            x, column = get(y, p), at + p * stride
            edge = p - p % 4 + 4
            for r in range(p + 1, min(edge, size)):
                put(y, r, get(y, r) - get(a, column + r) * x)
            subtract_column(a, column, y, edge, stride, x)
        for r in range(size):
            z[b.index[first + r]] = get(y, r)
    for k in range(b.front.shape[0] - 1, -1, -1):
        at, pivots, size, first = b.front[k, F_AT], b.front[k, F_PIVOTS], b.front[k, F_SIZE], b.front[k, F_INDEX]
        stride = b.front[k, F_STRIDE]
        gather(b, z, first, size, stride, y)
        whole = pivots - pivots % 4
        for c in range(pivots, size):
            x, column = get(y, c), at + c * stride
            subtract_column(a, column, y, 0, whole, x)
            for r in range(whole, pivots):
                put(y, r, get(y, r) - get(a, column + r) * x)
        for p in range(pivots - 1, -1, -1):
            column = at + p * stride
            x = get(y, p) * get(a, column + p)
            put(y, p, x)
            whole = p - p % 4
            subtract_column(a, column, y, 0, whole, x)
            for r in range(whole, p):
                put(y, r, get(y, r) - get(a, column + r) * x)
        for p in range(pivots):
            z[b.index[first + p]] = get(y, p)


@inlined
def subtract_column(a, column, y, first, last, factor):
    """y[r] -= factor a[column + r], four at a time."""
    for r in range(first, last, 4):
        k = column + r
        p, q, u, v = get(a, k), get(a, k + 1), get(a, k + 2), get(a, k + 3)
        e, f, g, h = get(y, r), get(y, r + 1), get(y, r + 2), get(y, r + 3)
        put(y, r, e - factor * p)
        put(y, r + 1, f - factor * q)
        put(y, r + 2, g - factor * u)
        put(y, r + 3, h - factor * v)


@inlined
def gather(b, z, first, size, stride, y):
    for r in range(size):
        put(y, r, get(z, b.index[first + r]))
    for r in range(size, stride):
        put(y, r, 0.0)
