"""Laws on bodies (kernels/forces/laws.py) in maximal coordinates.

Bodies move about their centres of mass here, laws are evaluated at the origins of the bodies' frames in the tree.
"""

from ...compiling.decorators import apart, inlined, kernel
from ...compiling.memory import get, put
from ...lie import retractions
from ...lie.algebra import cross, load3, load9, matvec, scale, store3, store9, sub, tmatvec
from ..forces.laws import law_damping, law_wrenches
from ..tree.layout import LAW_BODY
from .layout import D_R, POSE_R, POSE_X
from .potentials import push_body


@kernel
def law_wrenches_at(m, b, s, poses, t):
    """Laws.wrench at the given poses and the twists in Laws."""
    for i in range(1, poses.shape[0]):
        R = load9(poses, i, POSE_R)
        store9(s.law_world, i, 0, R)
        store3(s.law_world, i, 9, sub(load3(poses, i, POSE_X), matvec(R, load3(b.com, i, 0))))
    law_wrenches(m, s.laws, s.law_world, t)


@inlined
def store_twist(out, b, i, omega, vel):
    """out[i] = twist of the origin of body i whose centre of mass moves with (omega, vel)."""
    store3(out, i, 0, omega)
    store3(out, i, 3, sub(vel, cross(omega, load3(b.com, i, 0))))


@apart
def push_at_start(m, b, s, h, t, retraction):
    """r -= half impulses of the laws at the start of the step, bodies moving with x/h.  Writes also Flow.law_end.

    x, the coordinates of a displacement D, is the same in the axes of its end: D is a function of x.  Only retractions that are
    not of the screw (quaternion) take the translation apart from the rotation.
    """
    for i in range(1, s.node.shape[0]):
        phi, rho = scale(1.0 / h, load3(s.x, i, 0)), scale(1.0 / h, load3(s.x, i, 3))
        store_twist(s.laws.twist, b, i, phi, rho)
        store_twist(s.law_end, b, i, phi, rho if retractions.of_the_screw(retraction) else tmatvec(load9(s.disp, i, D_R), rho))
    law_wrenches_at(m, b, s, s.node, t)
    for i in range(1, s.node.shape[0]):
        for a in range(6):
            s.wrench[i, a] = 0.0
        push_body(b, s.wrench, i, 0.5 * h, load3(s.laws.wrench, i, 0), load3(s.laws.wrench, i, 3))
        for a in range(6):
            s.r[6 * (i - 1) + a] -= s.wrench[i, a]


@apart
def push_at_end(m, b, s, h, t):
    """target += half impulses of the laws at the end of the step just made, which is the node now."""
    for i in range(1, s.node.shape[0]):
        for a in range(6):
            s.laws.twist[i, a] = s.law_end[i, a]
    law_wrenches_at(m, b, s, s.node, t)
    for i in range(1, s.node.shape[0]):
        push_body(b, s.target, i, 0.5 * h, load3(s.laws.wrench, i, 0), load3(s.laws.wrench, i, 3))


@kernel
def largest_law_impulse(s, h):
    top = 0.0
    for i in range(1, s.laws.wrench.shape[0]):
        for a in range(6):
            top = max(top, abs(0.5 * h * s.laws.wrench[i, a]))
    return top


@apart
def add_law_damping(m, b, s, retraction):
    """The Newton matrix in the fronts feels how the half impulses of the laws at the start of the step change with its end.

    As tree/laws.py `add_law_damping`; for the quaternion retraction to first order in the angle of the step.
    """
    for e in range(m.law_on.shape[0]):
        i = m.law_on[e, LAW_BODY]
        at, stride = b.block[i, 0], b.block[i, 1]
        phi, rho = scale(-1.0, load3(s.x, i, 0)), scale(-1.0, load3(s.x, i, 3))
        law_damping(m, s.laws, e, load3(b.com, i, 0))
        for r in range(6):
            a, l = load3(s.laws.damping, r, 0), load3(s.laws.damping, r, 3)
            if retractions.of_the_screw(retraction):
                a, l = retractions.cotangent(retraction, phi, rho, a, l)
            else:
                l = tmatvec(load9(s.disp, i, D_R), l)
            for c in range(3):
                angular, linear = at + c * stride + r, at + (3 + c) * stride + r
                put(s.values, angular, get(s.values, angular) - 0.5 * a[c])
                put(s.values, linear, get(s.values, linear) - 0.5 * l[c])
