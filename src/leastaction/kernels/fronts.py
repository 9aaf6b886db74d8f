"""Sparse block elimination along the graph of a mechanism: the multifrontal form of Algorithms 3 and 4 of Bruedigam and Manchester.

The unknowns fall into groups: six of every body, the multipliers of every constraint.  `elimination.py` orders them once and
lists, for every pivot group, the unknowns it is coupled to when its turn comes.  Pivot and coupled rows and columns form a small dense
matrix, the front.  Eliminating the pivots leaves a matrix on the coupled ones, which is added to the front of the first of them:
no entry outside the fronts ever becomes nonzero.  A body and the joint to its parent are one pivot group, with row exchanges inside
it, so a body without inertia about some axis is no special case.
"""

from ..lie.jit import kernel
from .maximal_layout import F_AT, F_INDEX, F_PARENT, F_PIVOTS, F_SIZE


@kernel
def factorise(b, s):
    """L and U of every front, in place.  Reads Net.front; reads and writes Flow.values, writes Flow.swap."""
    for k in range(b.front.shape[0]):
        eliminate(s.values, b.front[k, F_AT], b.front[k, F_PIVOTS], b.front[k, F_SIZE], s.swap, b.front[k, F_INDEX])
        parent = b.front[k, F_PARENT]
        if parent >= 0:
            pass_on(b, s.values, k, parent)


@kernel
def eliminate(a, at, pivots, size, swap, first):
    """The first `pivots` columns of the size x size matrix at a[at:]; row exchanges among the first `pivots` rows."""
    for k in range(pivots):
        best, where = abs(a[at + k * size + k]), k
        for r in range(k + 1, pivots):
            x = abs(a[at + r * size + k])
            if x > best:
                best, where = x, r
        swap[first + k] = where
        row = at + k * size
        if where != k:
            other = at + where * size
            for c in range(size):
                a[row + c], a[other + c] = a[other + c], a[row + c]
        inverse = 1.0 / a[row + k]
        a[row + k] = inverse
        for r in range(k + 1, size):
            mine = at + r * size
            l = a[mine + k]
            if l != 0.0:
                l *= inverse
                a[mine + k] = l
                for c in range(k + 1, size):
                    a[mine + c] -= l * a[row + c]


@kernel
def pass_on(b, a, k, parent):
    """Add what is left of front k to its parent."""
    at, pivots, size, first = b.front[k, F_AT], b.front[k, F_PIVOTS], b.front[k, F_SIZE], b.front[k, F_INDEX]
    to, width = b.front[parent, F_AT], b.front[parent, F_SIZE]
    for r in range(pivots, size):
        mine = at + r * size
        theirs = to + b.extend[first + r] * width
        for c in range(pivots, size):
            a[theirs + b.extend[first + c]] += a[mine + c]


@kernel
def solve(b, s):
    """z = J^-1 r.  Reads the factors and r; writes z."""
    z, a = s.z, s.values
    for j in range(z.shape[0]):
        z[j] = s.r[j]
    for k in range(b.front.shape[0]):
        at, pivots, size, first = b.front[k, F_AT], b.front[k, F_PIVOTS], b.front[k, F_SIZE], b.front[k, F_INDEX]
        for p in range(pivots):
            there = s.swap[first + p]
            i = b.index[first + p]
            if there != p:
                j = b.index[first + there]
                z[i], z[j] = z[j], z[i]
        for r in range(1, size):
            mine = at + r * size
            x = 0.0
            for p in range(min(r, pivots)):
                x += a[mine + p] * z[b.index[first + p]]
            z[b.index[first + r]] -= x
    for k in range(b.front.shape[0] - 1, -1, -1):
        at, pivots, size, first = b.front[k, F_AT], b.front[k, F_PIVOTS], b.front[k, F_SIZE], b.front[k, F_INDEX]
        for p in range(pivots - 1, -1, -1):
            mine = at + p * size
            x = z[b.index[first + p]]
            for c in range(p + 1, size):
                x -= a[mine + c] * z[b.index[first + c]]
            z[b.index[first + p]] = x * a[mine + p]
