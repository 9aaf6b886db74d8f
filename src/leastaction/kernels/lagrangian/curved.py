"""Joints whose columns S(q) change with their coordinates, as those given by their pose do.

Such a joint is a line of frames with nothing in between, one for each coordinate, all with the axes of its body.  In place of constant
twists they have S_l at the present coordinates.  With V the velocity before the joint, seen from its body,

    d v / dqd_l = S_l,     d v / dq_l = [V, S_l] + sum over j of qd_j dS_j/dq_l                          (of derivatives.py: Psi_l, Psi'_l)

The rest comes from the quadratic form B(x) = sum of x_j x_l dS_j/dq_l, which joints know (`bias`), and from
dS_j/dq_l - dS_l/dq_j = [S_j, S_l]: with the polar form of B, 2 P(x, y) = B(x + y) - B(x - y), the sum above is
P(e_l, qd)/2 + [S qd, S_l]/2.  Second derivatives of L are those of constant twists one after the other and, for m up to l,
dS_l/dq_m . (momentum, weight, applied wrench); second derivatives of S, times velocities squared, are left out, which Newton's method does
not miss.
"""

from ...compiling.decorators import apart, inlined
from ...joints.dispatch import bias, place
from ...lie.algebra import ZERO3, add, axpy, cross, load3, matmul, matvec, scale, store3, sub
from ..tree.layout import KIND, NV, QI, VI
from ..tree.spatial import dot6
from .frames import CURVED, unit_twist
from .layout import A, H, W


@inlined
def bracket(a, l, b, k):
    """[x, y] of the twists x = (a, l), y = (b, k)."""
    return cross(a, b), add(cross(a, k), cross(l, b))


@inlined
def twist_of(curved, frames, k):
    """Psi of frame k, frame axes.  curved: `Lagrangian.curved`, None in most mechanisms: Numba then leaves out what is done with it."""
    if curved is not None:  # noqa: SIM102 - Numba prunes only this
        if frames.motion[k] == CURVED:
            j = frames.coordinate[k]
            return load3(curved.S, j, 0), load3(curved.S, j, 3)
    return unit_twist(frames.motion[k], frames.pitch[k])


@inlined
def form(curved, m, i, q, c, sign):
    """B(along + sign e_c)."""
    first = m.link[i, VI]
    for j in range(first, first + m.link[i, NV]):
        curved.rate[j] = curved.along[j]
    curved.rate[c] += sign
    return bias(m.link[i, KIND], m.param, i, q, m.link[i, QI], curved.rate, first)


@inlined
def slope_along(curved, m, i, q, c, size, a, l):
    """d(S x)/dq_c for x = size * along and (a, l) = S x."""
    ta, tl = bracket(a, l, load3(curved.S, c, 0), load3(curved.S, c, 3))
    ba, bl = form(curved, m, i, q, c, 1.0)
    ca, cl = form(curved, m, i, q, c, -1.0)
    return scale(0.5, axpy(0.5 * size, sub(ba, ca), ta)), scale(0.5, axpy(0.5 * size, sub(bl, cl), tl))


@inlined
def move_by_joint(curved, m, frames, k, q, v, R, p):
    """Pose (R, p) of frame k in its parent, moved by the joint that begins there."""
    if curved is not None:  # noqa: SIM102 - Numba prunes only this
        if frames.curved[k] >= 0:
            inner, shift = place_joint(curved, m, frames.curved[k], q, v)
            return matmul(R, inner), add(p, matvec(R, shift))
    return R, p


@apart
def place_joint(curved, m, i, q, v):
    """Pose of joint i at its coordinates q; writes its columns, and how S v changes with them."""
    first, nv = m.link[i, VI], m.link[i, NV]
    R, p = place(m.link[i, KIND], m.param, i, q, m.link[i, QI], curved.rate, first, 0.0, curved.S)
    size, a, l = 0.0, ZERO3, ZERO3
    for j in range(first, first + nv):
        size = max(size, abs(v[j]))
        a, l = axpy(v[j], load3(curved.S, j, 0), a), axpy(v[j], load3(curved.S, j, 3), l)
    for j in range(first, first + nv):
        curved.along[j] = v[j] / size if size > 0.0 else 0.0
    for c in range(first, first + nv):
        ta, tl = slope_along(curved, m, i, q, c, size, a, l)
        store3(curved.slope, c, 0, ta)
        store3(curved.slope, c, 3, tl)
    return R, p


@inlined
def rate_of(curved, frames, k, a, l, xa, xl):
    """Psi' of frame k, which moves with Psi = (xa, xl); (a, l): the velocity that the frames before it add up to."""
    if curved is not None:  # noqa: SIM102 - Numba prunes only this
        if frames.motion[k] == CURVED:
            if frames.curved[k] >= 0:
                store3(curved.before, 0, 0, a)
                store3(curved.before, 0, 3, l)
            j = frames.coordinate[k]
            ra, rl = bracket(load3(curved.before, 0, 0), load3(curved.before, 0, 3), xa, xl)
            return add(ra, load3(curved.slope, j, 0)), add(rl, load3(curved.slope, j, 3))
    return bracket(a, l, xa, xl)


@apart
def add_bends(curved, m, frames, lag, q):
    """Second derivatives of L and derivatives of the applied wrenches that constant twists would not have."""
    if curved is not None:
        for k in range(1, frames.parent.shape[0]):
            if frames.curved[k] >= 0:
                bend_joint(curved, m, frames.curved[k], lag, frames.of_body[frames.curved[k]], q)


@apart
def bend_joint(curved, m, i, lag, k, q):
    """The same for the joint of tree row i, whose last frame is k."""
    first, nv = m.link[i, VI], m.link[i, NV]
    for l in range(first, first + nv):
        for j in range(first, first + nv):
            curved.along[j] = 1.0 if j == l else 0.0
        for c in range(first, l + 1):
            ta, tl = slope_along(curved, m, i, q, c, 1.0, load3(curved.S, l, 0), load3(curved.S, l, 3))
            add_both(lag.qv, c, l, dot6(lag.row, k, H, ta, tl))
            add_both(lag.qq, c, l, dot6(lag.row, k, W, ta, tl))
            if m.wrench_on.shape[0] > 0:
                add_both(lag.force_q, c, l, dot6(lag.row, k, A, ta, tl))


@inlined
def add_both(matrix, i, j, x):
    matrix[i, j] += x
    if i != j:
        matrix[j, i] += x
