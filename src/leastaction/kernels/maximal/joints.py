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
def coordinates(m, net, flow, poses, apart, out):
    """out = joint coordinates at the given poses, angles and signs of quaternions continued from s.q.

    Those of symbolic joints were found, in s.q_end, when their constraints were evaluated.
    """
    for i in range(1, m.link.shape[0]):
        kind, k = m.link[i, KIND], m.link[i, QI]
        if dispatch.is_generated(kind):
            for j in range(k, k + m.link[i, NV] + m.link[i, CHARTED]):
                out[j] = flow.q_end[j]
        else:
            R, p = joint_frame(net, poses, apart, i - 1)
            dispatch.coordinates_of(kind, m.param, i, R, p, flow.q, k, out)


@kernel
def increments(m, q0, q1, at_end, out):
    """out = joint increments from q0 to q1, in the axes of the start of the step or of its end."""
    for i in range(1, m.link.shape[0]):
        dispatch.increment(m.link[i, KIND], q0, q1, m.link[i, QI], m.link[i, VI], m.link[i, NV], at_end, out)


@inlined
def dual_column(flow, j, kind):
    """Z_j of a joint whose columns `joint_columns` has set."""
    return dispatch.dual_column(kind, flow.S, flow.dual, j)


@inlined
def joint_columns(m, flow, i, q):
    """Flow.S of joint i at q, and what its dual columns are made of."""
    dispatch.columns(m.link[i, KIND], m.param, i, q, m.link[i, QI], flow.zero, m.link[i, VI], 0.0, flow.S)
    if dispatch.needs_duals(m.link[i, KIND]):
        dual_columns(flow.S, m.link[i, VI], m.link[i, NV], flow.small, flow.dual)


@inlined
def on_child(net, i, a, l):
    """Wrench given in the joint's frame on body i, at its centre of mass."""
    return add(a, cross(load3(net.place, i - 1, B_P), l)), l


@inlined
def on_parent(net, poses, apart, i, a, l):
    """The same wrench on the parent, opposite sign."""
    R, point = relative(net, poses, apart, i - 1)
    force = matvec(R, l)
    return scale(-1.0, add(matvec(R, a), cross(point, force))), scale(-1.0, force)


@kernel
def add_joint_forces(m, net, flow, poses, apart, q, tau, row, factor, out):
    """out += wrenches of the joint forces factor * tau[row, :] on the bodies."""
    for i in range(1, m.link.shape[0]):
        v, nv, kind = m.link[i, VI], m.link[i, NV], m.link[i, KIND]
        joint_columns(m, flow, i, q)
        a, l = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for j in range(v, v + nv):
            za, zl = dual_column(flow, j, kind)
            a, l = axpy(factor * tau[row, j], za, a), axpy(factor * tau[row, j], zl, l)
        ca, cl = on_child(net, i, a, l)
        pa, pl = on_parent(net, poses, apart, i, a, l)
        p = m.link[i, PARENT]
        for e in range(3):
            out[i, e] += ca[e]
            out[i, 3 + e] += cl[e]
            out[p, e] += pa[e]
            out[p, 3 + e] += pl[e]


@kernel
def joint_momenta(m, net, flow, q, momenta, out):
    """out_i = S_i' (momentum of body i and everything beyond it) at the node."""
    n = m.link.shape[0]
    F = flow.wrench
    for i in range(n):
        for e in range(6):
            F[i, e] = momenta[i, e] if i > 0 else 0.0
    for i in range(n - 1, 0, -1):
        joint_columns(m, flow, i, q)
        force = load3(F, i, 3)
        moment = sub(load3(F, i, 0), cross(load3(net.place, i - 1, B_P), force))  # about the joint
        v = m.link[i, VI]
        for j in range(v, v + m.link[i, NV]):
            out[j] = dot(load3(flow.S, j, 0), moment) + dot(load3(flow.S, j, 3), force)
        a, l = on_parent(net, flow.node, flow.apart, i, moment, force)
        p = m.link[i, PARENT]
        for e in range(3):
            F[p, e] -= a[e]
            F[p, 3 + e] -= l[e]


@kernel
def damper_columns(m, net, flow, i):
    """Flow.Z of joint i: dual columns at the start (child, parent), derivative of the increment at the end (child, parent)."""
    v, nv, kind = m.link[i, VI], m.link[i, NV], m.link[i, KIND]
    joint_columns(m, flow, i, flow.q)
    for j in range(v, v + nv):
        a, l = dual_column(flow, j, kind)
        put_pair(net, flow, flow.node, flow.apart, i, j, 0, a, l)
    end_columns(net.special, m, net, flow, i)
    for j in range(v, v + nv):
        a, l = dual_column(flow, j, kind)
        a, l = dispatch.increment_slope(kind, flow.dq, v, j, a, l)
        put_pair(net, flow, flow.end, flow.apart_end, i, j, 2, a, l)


@kernel
def end_columns(special, m, net, flow, i):
    """Dual columns of joint i at the end of the step."""
    if special is not None and dispatch.is_generated(m.link[i, KIND]):
        coordinate_slopes(m, net, flow, i)
        return
    joint_columns(m, flow, i, flow.q_end)


@inlined
def put_pair(net, flow, poses, apart, i, j, at, a, l):
    ca, cl = on_child(net, i, a, l)
    pa, pl = on_parent(net, poses, apart, i, a, l)
    for e in range(3):
        flow.Z[j, at, e], flow.Z[j, at, 3 + e] = ca[e], cl[e]
        flow.Z[j, at + 1, e], flow.Z[j, at + 1, 3 + e] = pa[e], pl[e]
