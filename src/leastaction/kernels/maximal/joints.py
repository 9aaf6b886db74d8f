"""Between bodies and joints: coordinates and increments of the tree's joints from poses, joint forces as wrenches on bodies.

A joint force tau acts on the child with a wrench f that does the work tau.dq, S'f = tau, and on the parent with its opposite.  Which
of those wrenches is a matter of taste, they differ by constraint forces; it is f = Z'tau with the dual columns Z, Z S = 1.
"""

from ...compiling.decorators import inlined, kernel
from ...joints import dispatch
from ...lie.algebra import add, axpy, cross, dot, load3, matvec, scale, sub
from ..tree.layout import CHARTED, KIND, NV, PARENT, QI, VI
from .layout import B_P
from .rows import joint_frame, relative
from .symbolic import coordinate_slopes, dual_columns


@kernel
def coordinates(m, b, s, poses, apart, out):
    """out = joint coordinates at the given poses, angles and signs of quaternions continued from s.q.

    Those of symbolic joints were found, in s.q_end, when their constraints were evaluated.
    """
    for i in range(1, m.link.shape[0]):
        kind, k = m.link[i, KIND], m.link[i, QI]
        if dispatch.is_generated(kind):
            for j in range(k, k + m.link[i, NV] + m.link[i, CHARTED]):
                out[j] = s.q_end[j]
        else:
            R, p = joint_frame(b, poses, apart, i - 1)
            dispatch.coordinates_of(kind, m.param, i, R, p, s.q, k, out)


@kernel
def increments(m, q0, q1, at_end, out):
    """out = joint increments from q0 to q1, in the axes of the start of the step or of its end."""
    for i in range(1, m.link.shape[0]):
        dispatch.increment(m.link[i, KIND], q0, q1, m.link[i, QI], m.link[i, VI], m.link[i, NV], at_end, out)


@inlined
def dual_column(s, j, kind):
    """Z_j of a joint whose columns `joint_columns` has set."""
    return dispatch.dual_column(kind, s.S, s.dual, j)


@inlined
def joint_columns(m, s, i, q):
    """Flow.S of joint i at q, and what its dual columns are made of."""
    dispatch.columns(m.link[i, KIND], m.param, i, q, m.link[i, QI], s.zero, m.link[i, VI], 0.0, s.S)
    if dispatch.needs_duals(m.link[i, KIND]):
        dual_columns(s.S, m.link[i, VI], m.link[i, NV], s.small, s.dual)


@inlined
def on_child(b, i, a, l):
    """Wrench given in the joint's frame on body i, at its centre of mass."""
    return add(a, cross(load3(b.place, i - 1, B_P), l)), l


@inlined
def on_parent(b, poses, apart, i, a, l):
    """The same wrench on the parent, opposite sign."""
    R, point = relative(b, poses, apart, i - 1)
    force = matvec(R, l)
    return scale(-1.0, add(matvec(R, a), cross(point, force))), scale(-1.0, force)


@kernel
def add_joint_forces(m, b, s, poses, apart, q, tau, row, factor, out):
    """out += wrenches of the joint forces factor * tau[row, :] on the bodies."""
    for i in range(1, m.link.shape[0]):
        v, nv, kind = m.link[i, VI], m.link[i, NV], m.link[i, KIND]
        joint_columns(m, s, i, q)
        a, l = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for j in range(v, v + nv):
            za, zl = dual_column(s, j, kind)
            a, l = axpy(factor * tau[row, j], za, a), axpy(factor * tau[row, j], zl, l)
        ca, cl = on_child(b, i, a, l)
        pa, pl = on_parent(b, poses, apart, i, a, l)
        p = m.link[i, PARENT]
        for e in range(3):
            out[i, e] += ca[e]
            out[i, 3 + e] += cl[e]
            out[p, e] += pa[e]
            out[p, 3 + e] += pl[e]


@kernel
def joint_momenta(m, b, s, q, momenta, out):
    """out_i = S_i' (momentum of body i and everything beyond it) at the node."""
    n = m.link.shape[0]
    F = s.wrench
    for i in range(n):
        for e in range(6):
            F[i, e] = momenta[i, e] if i > 0 else 0.0
    for i in range(n - 1, 0, -1):
        joint_columns(m, s, i, q)
        force = load3(F, i, 3)
        moment = sub(load3(F, i, 0), cross(load3(b.place, i - 1, B_P), force))  # about the joint
        v = m.link[i, VI]
        for j in range(v, v + m.link[i, NV]):
            out[j] = dot(load3(s.S, j, 0), moment) + dot(load3(s.S, j, 3), force)
        a, l = on_parent(b, s.node, s.apart, i, moment, force)
        p = m.link[i, PARENT]
        for e in range(3):
            F[p, e] -= a[e]
            F[p, 3 + e] -= l[e]


@kernel
def damper_columns(m, b, s, i):
    """Flow.Z of joint i: dual columns at the start (child, parent), derivative of the increment at the end (child, parent)."""
    v, nv, kind = m.link[i, VI], m.link[i, NV], m.link[i, KIND]
    joint_columns(m, s, i, s.q)
    for j in range(v, v + nv):
        a, l = dual_column(s, j, kind)
        put_pair(b, s, s.node, s.apart, i, j, 0, a, l)
    if dispatch.is_generated(kind):
        coordinate_slopes(m, b, s, i)
    else:
        joint_columns(m, s, i, s.q_end)
    for j in range(v, v + nv):
        a, l = dual_column(s, j, kind)
        a, l = dispatch.increment_slope(kind, s.dq, v, j, a, l)
        put_pair(b, s, s.end, s.apart_end, i, j, 2, a, l)


@inlined
def put_pair(b, s, poses, apart, i, j, at, a, l):
    ca, cl = on_child(b, i, a, l)
    pa, pl = on_parent(b, poses, apart, i, a, l)
    for e in range(3):
        s.Z[j, at, e], s.Z[j, at, 3 + e] = ca[e], cl[e]
        s.Z[j, at + 1, e], s.Z[j, at + 1, 3 + e] = pa[e], pl[e]
