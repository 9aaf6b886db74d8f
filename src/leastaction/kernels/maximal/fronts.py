"""Sparse block elimination along the graph of a mechanism: the multifrontal form of Algorithms 3 and 4 of Bruedigam and Manchester.

The unknowns fall into groups: six of every body, the multipliers of every constraint.  `coordinates/elimination.py` orders them once and
lists, for every pivot group, the unknowns it is coupled to when its turn comes.  Pivot and coupled rows and columns form a small dense
matrix, the front.  Eliminating the pivots leaves a matrix on the coupled ones, which is added to the front of the first of them:
no entry outside the fronts ever becomes nonzero.  A body and the joint to its parent are one pivot group, with row exchanges inside
it, so a body without inertia about some axis needs no special treatment.
"""

from ...compiling.decorators import inlined, kernel
from ...compiling.memory import get, put, scale_four, take_four, take_one
from .layout import F_AT, F_INDEX, F_PARENT, F_PIVOTS, F_SIZE, F_STRIDE

SMALL_PIVOT = 0.01  # a pivot is exchanged if it is smaller than this part of the largest candidate


@kernel
def factorise(net, flow):
    """L and U of every front, in place.  Reads Net.front; reads and writes Flow.values, writes Flow.swap."""
    for k in range(net.front.shape[0]):
        at, pivots, size, stride = net.front[k, F_AT], net.front[k, F_PIVOTS], net.front[k, F_SIZE], net.front[k, F_STRIDE]
        eliminate(flow.values, at, pivots, size, stride, flow.swap, net.front[k, F_INDEX])
        parent = net.front[k, F_PARENT]
        if parent >= 0:
            pass_on(net, flow.values, k, parent)


@inlined
def eliminate(a, at, pivots, size, stride, swap, first):
    """The first `pivots` columns of the matrix at a[at:], a panel of four at a time; row exchanges among the first `pivots` rows."""
    for start in range(0, pivots, 4):
        stop = min(start + 4, pivots)
        panel = at + start * stride
        for k in range(start, stop):
            mine = at + k * stride
            if k > start:
                take_panel(a, mine, panel, k - start, start, stride)
            swap[first + k] = exchange(a, at, k, pivots, size, stride)
            inverse = 1.0 / get(a, mine + k)
            put(a, mine + k, inverse)
            for r in range(k + 1, start + 4):
                put(a, mine + r, inverse * get(a, mine + r))
            for r in range(start + 4, stride, 4):
                scale_four(a, mine + r, inverse)
        for c in range(stop, size):
            take_panel(a, at + c * stride, panel, stop - start, start, stride)


@inlined
def exchange(a, at, k, pivots, size, stride):
    """Swap row k with the one that has the largest number below it in column k, if that is much larger; returns which.

    Masses come first and hardly ever need it; bodies without inertia do.
    """
    mine = at + k * stride
    own, best = abs(get(a, mine + k)), 0.0
    for r in range(k + 1, pivots):
        best = max(best, abs(get(a, mine + r)))
    if not own < SMALL_PIVOT * best:  # also if one of them is NaN
        return k
    where = k + 1
    while abs(get(a, mine + where)) < best:
        where += 1
    for c in range(size):
        i, j = at + c * stride + k, at + c * stride + where
        y = get(a, i)
        put(a, i, get(a, j))
        put(a, j, y)
    return where


@inlined
def take_panel(a, j, panel, count, start, stride):
    """Take the `count` (1 to 4) pivots from `start` on, whose columns of L stand from a[panel] on, off the column at a[j:].

    The first rows give the factors; all rows are then done four at a time (columns are padded to that), and the first ones put right.
    """
    k, x0 = j + start, panel + start
    x1, x2, x3 = x0, x0, x0  # of columns that are not there nothing is taken
    p, q, u, v = get(a, k), 0.0, 0.0, 0.0
    if count > 1:
        q = get(a, k + 1) - p * get(a, x0 + 1)
        x1 = x0 + stride
    if count > 2:
        u = get(a, k + 2) - p * get(a, x0 + 2) - q * get(a, x1 + 2)
        x2 = x1 + stride
    if count > 3:
        v = get(a, k + 3) - p * get(a, x0 + 3) - q * get(a, x1 + 3) - u * get(a, x2 + 3)
        x3 = x2 + stride
    if p == 0.0 and q == 0.0 and u == 0.0 and v == 0.0:
        return
    for r in range(0 if count < 4 else 4, stride - start, 4):
        take_four(a, k + r, x0 + r, x1 + r, x2 + r, x3 + r, p, q, u, v)
    put(a, k, p)
    if count > 1:
        put(a, k + 1, q)
    if count > 2:
        put(a, k + 2, u)
    if count > 3:
        put(a, k + 3, v)


@inlined
def pass_on(net, a, k, parent):
    """Add what is left of front k to its parent."""
    at, pivots, size = net.front[k, F_AT], net.front[k, F_PIVOTS], net.front[k, F_SIZE]
    first, stride = net.front[k, F_INDEX], net.front[k, F_STRIDE]
    to, width = net.front[parent, F_AT], net.front[parent, F_STRIDE]
    for c in range(pivots, size):
        mine = at + c * stride
        theirs = to + net.extend[first + c] * width
        for r in range(pivots, size):
            there = theirs + net.extend[first + r]
            put(a, there, get(a, there) + get(a, mine + r))


@kernel
def solve(net, flow):
    """z = J^-1 r.  Reads the factors and r; writes z."""
    z, a, y = flow.z, flow.values, flow.column
    for j in range(z.shape[0]):
        z[j] = flow.r[j]
    for k in range(net.front.shape[0]):
        at, pivots, size, first = net.front[k, F_AT], net.front[k, F_PIVOTS], net.front[k, F_SIZE], net.front[k, F_INDEX]
        stride = net.front[k, F_STRIDE]
        gather(net, z, first, size, stride, y)
        for p in range(pivots):
            there = flow.swap[first + p]
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
            z[net.index[first + r]] = get(y, r)
    for k in range(net.front.shape[0] - 1, -1, -1):
        at, pivots, size, first = net.front[k, F_AT], net.front[k, F_PIVOTS], net.front[k, F_SIZE], net.front[k, F_INDEX]
        stride = net.front[k, F_STRIDE]
        gather(net, z, first, size, stride, y)
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
            z[net.index[first + p]] = get(y, p)


@inlined
def subtract_column(a, column, y, first, last, factor):
    """y[r] -= factor a[column + r], four at a time."""
    for r in range(first, last, 4):
        take_one(y, r, a, column + r, factor)


@inlined
def gather(net, z, first, size, stride, y):
    for r in range(size):
        put(y, r, get(z, net.index[first + r]))
    for r in range(size, stride):
        put(y, r, 0.0)
