"""Laws on bodies (kernels/forces/laws.py) in maximal coordinates.

Bodies move about their centres of mass here, laws are evaluated at the origins of the bodies' frames in the tree.
"""

from ...compiling.decorators import apart, inlined, kernel
from ...compiling.memory import get, put
from ...lie import retractions
from ...lie.algebra import cross, load3, load9, matvec, scale, store3, store9, sub, tmatvec
from ..forces.laws import law_damping, law_wrenches
from ..tree.layout import LAW_BASE, LAW_BODY
from .layout import D_R, POSE_R, POSE_X
from .potentials import push_body


@kernel
def law_wrenches_at(m, net, flow, poses, t):
    """Laws.wrench at the given poses and the twists in Laws."""
    for i in range(poses.shape[0]):
        R = load9(poses, i, POSE_R)
        store9(flow.law_world, i, 0, R)
        store3(flow.law_world, i, 9, sub(load3(poses, i, POSE_X), matvec(R, load3(net.com, i, 0))))
    law_wrenches(m, flow.laws, flow.law_world, t)


@inlined
def store_twist(out, net, i, omega, vel):
    """out[i] = twist of the origin of body i whose centre of mass moves with (omega, vel)."""
    store3(out, i, 0, omega)
    store3(out, i, 3, sub(vel, cross(omega, load3(net.com, i, 0))))


@apart
def push_at_start(laws, m, net, flow, h, t, retraction):
    """r -= half impulses of the laws at the start of the step, bodies moving with x/h.  Writes also Flow.law_end.

    x, the coordinates of a displacement D, is the same in the axes of its end: D is a function of x.  Only retractions that are
    not of the screw (quaternion) take the translation apart from the rotation.
    """
    if laws is not None:
        for i in range(1, flow.node.shape[0]):
            phi, rho = scale(1.0 / h, load3(flow.x, i, 0)), scale(1.0 / h, load3(flow.x, i, 3))
            store_twist(flow.laws.twist, net, i, phi, rho)
            store_twist(flow.law_end, net, i, phi, rho if retractions.of_the_screw(retraction) else tmatvec(load9(flow.disp, i, D_R), rho))
        law_wrenches_at(m, net, flow, flow.node, t)
        for i in range(1, flow.node.shape[0]):
            for a in range(6):
                flow.wrench[i, a] = 0.0
            push_body(net, flow.wrench, i, 0.5 * h, load3(flow.laws.wrench, i, 0), load3(flow.laws.wrench, i, 3))
            for a in range(6):
                flow.r[6 * (i - 1) + a] -= flow.wrench[i, a]


@apart
def push_at_end(laws, m, net, flow, h, t):
    """target += half impulses of the laws at the end of the step just made, which is the node now."""
    if laws is not None:
        for i in range(1, flow.node.shape[0]):
            for a in range(6):
                flow.laws.twist[i, a] = flow.law_end[i, a]
        law_wrenches_at(m, net, flow, flow.node, t)
        for i in range(1, flow.node.shape[0]):
            push_body(net, flow.target, i, 0.5 * h, load3(flow.laws.wrench, i, 0), load3(flow.laws.wrench, i, 3))


@kernel
def largest_law_impulse(laws, h):
    if laws is None:
        return 0.0
    top = 0.0
    for i in range(1, laws.wrench.shape[0]):
        for a in range(6):
            top = max(top, abs(0.5 * h * laws.wrench[i, a]))
    return top


@apart
def add_law_damping(laws, m, net, flow, retraction):
    """The Newton matrix in the fronts feels how the half impulses of the laws at the start of the step change with its end.

    As tree/laws.py `add_law_damping`; for the quaternion retraction to first order in the angle of the step.
    """
    if laws is not None:
        for e in range(m.law_on.shape[0]):
            if m.law_on[e, LAW_BODY] > 0:
                add_damping_of(m, net, flow, e, LAW_BODY, retraction)
            if m.law_on[e, LAW_BASE] > 0:
                add_damping_of(m, net, flow, e, LAW_BASE, retraction)


@kernel
def add_damping_of(m, net, flow, e, side, retraction):
    """The part of law e on one of its two bodies."""
    i = m.law_on[e, side]
    at, stride = net.block[i, 0], net.block[i, 1]
    phi, rho = scale(-1.0, load3(flow.x, i, 0)), scale(-1.0, load3(flow.x, i, 3))
    law_damping(m, flow.laws, e, side, load3(net.com, i, 0))
    for r in range(6):
        a, l = load3(flow.laws.damping, r, 0), load3(flow.laws.damping, r, 3)
        if retractions.of_the_screw(retraction):
            a, l = retractions.cotangent(retraction, phi, rho, a, l)
        else:
            l = tmatvec(load9(flow.disp, i, D_R), l)
        for c in range(3):
            angular, linear = at + c * stride + r, at + (3 + c) * stride + r
            put(flow.values, angular, get(flow.values, angular) - 0.5 * a[c])
            put(flow.values, linear, get(flow.values, linear) - 0.5 * l[c])
