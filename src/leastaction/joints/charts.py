"""Changing the chart of a joint whose pose is written in two sets of coordinates, before the present ones become singular.

The motion does not notice: the discrete action knows poses, not coordinates.  q[nv] says which chart a joint is in.
"""

from ..compiling.address import call_joint
from ..compiling.decorators import inlined, kernel
from ..symbolic.runtime import COORDINATES, PLACE

POOR = 0.1  # quality of a chart below which the other one is looked at
BETTER = 2.0  # how much better it has to be

SCRATCH_ROWS = 18  # of `S` below: columns in this chart, in the other one, and a 6x6 matrix
HERE, THERE, GRAM = 0, 6, 12
SCRATCH = 12  # numbers of `x` below


@kernel
def change_chart(kind, param, i, q, k, nv, tangent, covector, v, S, x):
    """Write the joint's q[k:], tangent[v:] and covector[v:] in its other chart if that is the better one; was it done?

    S: (SCRATCH_ROWS, 6) and x: (SCRATCH,) are scratch.
    """
    o = call_joint(kind, PLACE, param, i, q, k, x, 0, 0.0, S)
    here = factor_gram(S, HERE, nv)
    if here > POOR:
        return False
    other = 1.0 - q[k + nv]
    for c in range(SCRATCH):
        x[c] = o[c]
    o = call_joint(kind, COORDINATES, param, i, x, 0, x, 0, other, None)
    for j in range(nv):
        x[j] = o[j]
    x[nv] = other
    call_joint(kind, PLACE, param, i, x, 0, S[SCRATCH_ROWS - 1], 0, 0.0, S[THERE:])
    if not factor_gram(S, THERE, nv) > BETTER * here:
        return False
    for j in range(nv + 1):
        q[k + j] = x[j]
    # the same twist: S_there' v_there = S_here' v_here
    project(S, HERE, THERE, nv, tangent, v, x)
    solve_gram(S, nv, x)
    for j in range(nv):
        tangent[v + j] = x[j]
    # the same wrench, seen by other columns
    factor_gram(S, HERE, nv)
    for j in range(nv):
        x[j] = covector[v + j]
    solve_gram(S, nv, x)
    project(S, HERE, THERE, nv, x, 0, covector[v:])
    return True


@inlined
def project(S, source, target, nv, y, v, out):
    """out = S_target S_source' y[v:]."""
    for r in range(nv):
        out_r = 0.0
        for c in range(nv):
            for a in range(6):
                out_r += S[target + r, a] * S[source + c, a] * y[v + c]
        out[r] = out_r


@kernel
def factor_gram(S, first, nv):
    """Cholesky factor of the joint's S S' in rows GRAM of S.

    Returns the quality of the chart: squared volume of the columns, each of unit length.  1: orthogonal, 0: dependent.
    """
    quality = 1.0
    for r in range(nv):
        for c in range(r + 1):
            g = 0.0
            for a in range(6):
                g += S[first + r, a] * S[first + c, a]
            length = g
            for b in range(c):
                g -= S[GRAM + r, b] * S[GRAM + c, b]
            if c < r:
                S[GRAM + r, c] = g / S[GRAM + c, c]
            else:
                quality *= g / length
                S[GRAM + r, r] = max(g, 0.0) ** 0.5
    return quality


@kernel
def solve_gram(S, nv, x):
    """x <- (S S')^-1 x with the factor at hand."""
    for r in range(nv):
        for c in range(r):
            x[r] -= S[GRAM + r, c] * x[c]
        x[r] /= S[GRAM + r, r]
    for r in range(nv - 1, -1, -1):
        for c in range(r + 1, nv):
            x[r] -= S[GRAM + c, r] * x[c]
        x[r] /= S[GRAM + r, r]
