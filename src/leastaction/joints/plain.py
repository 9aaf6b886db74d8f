"""What joints with plain coordinates do, whatever their pose: the kernels of `base.py` that such a joint need not write."""

from ..compiling.decorators import inlined


@inlined
def advance(kind, q, k, d, v, nv):
    for j in range(nv):
        q[k + j] += d[v + j]


@inlined
def increment(kind, q0, q1, k, v, nv, at_end, out):
    for j in range(nv):
        out[v + j] = q1[k + j] - q0[k + j]


@inlined
def end_increment(kind, d, v, nv, out):
    for j in range(v, v + nv):
        out[j] = d[j]


@inlined
def increment_slope(kind, d, v, j, a, l):
    return a, l


@inlined
def carry(kind, d, v, nv, r, target):
    for j in range(v, v + nv):
        target[j] -= r[j]


@inlined
def rate(kind, q, k, velocity, v, nv, out):
    for j in range(nv):
        out[k + j] = velocity[v + j]


@inlined
def normalise(kind, q, k):
    """Any number is a coordinate."""


@inlined
def spring(kind, q, k, rest, d, v, nv, f, stiffness, g):
    energy = 0.0
    for j in range(nv):
        stretch = q[k + j] + f * d[v + j] - rest[k + j]
        g[v + j] += stiffness[v + j] * stretch
        energy += 0.5 * stiffness[v + j] * stretch * stretch
    return energy


@inlined
def spring_curvature(kind, q, k, rest, d, v, nv, stiffness, S0, S1, E):
    for j in range(nv):
        E[j, j] += 0.25 * stiffness[v + j]


@inlined
def retract(kind, retraction, x, v, nv, d):
    for j in range(v, v + nv):
        d[j] = x[j]


@inlined
def retraction_cotangent(kind, retraction, x, v, nv, sign, p):
    """dtau = 1"""


@inlined
def rotate_and_slide(kind, x, v, nv, d):
    for j in range(v, v + nv):
        d[j] = x[j]


@inlined
def canonical_rate(kind, x, v, nv, velocity, out):
    for j in range(v, v + nv):
        out[j] = velocity[j]
