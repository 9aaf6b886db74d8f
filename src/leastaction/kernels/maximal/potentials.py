"""Forces at a node in maximal coordinates: wrenches and springs between points push bodies, other potentials push joints."""

from ...compiling.decorators import apart, inlined, kernel
from ...lie.algebra import add, cross, load3, load9, matvec, scale, sub, tmatvec
from ..forces.potentials import add_potentials, energy_of_distance
from ..forces.wrenches import constant_wrench
from ..tree.layout import PAIR_A, PAIR_B
from ..tree.loads import spring_gradient
from .joints import add_joint_forces
from .layout import POSE_R, POSE_X


@inlined
def push_point(s, i, point, force, factor):
    """target += factor * a force in world axes at a point of body i, given from its centre of mass in body axes."""
    f = scale(factor, tmatvec(load9(s.node, i, POSE_R), force))
    moment = cross(point, f)
    for a in range(3):
        s.target[i, a] += moment[a]
        s.target[i, 3 + a] += f[a]


@inlined
def push_body(b, out, i, factor, moment, force):
    """out[i] += factor * a wrench on body i, given at the origin of its frame in the tree, at its centre of mass."""
    moment = sub(moment, cross(load3(b.com, i, 0), force))
    for a in range(3):
        out[i, a] += factor * moment[a]
        out[i, 3 + a] += factor * force[a]


@kernel
def kick_by_wrenches(m, b, s, kick):
    """target += kick * constant wrenches at the node."""
    for e in range(m.wrench_on.shape[0]):
        i = m.wrench_on[e, 0]
        moment, force = constant_wrench(m, e, load9(s.node, i, POSE_R))
        push_body(b, s.target, i, kick, moment, force)


@apart
def kick_by_points(m, b, s, kick):
    """target += kick * forces of the springs between points at the node."""
    for e in range(m.pair_on.shape[0]):
        A, B = m.pair_on[e, 0], m.pair_on[e, 1]
        on_a, on_b = sub(load3(m.pair, e, PAIR_A), load3(b.com, A, 0)), sub(load3(m.pair, e, PAIR_B), load3(b.com, B, 0))
        at_a = add(load3(s.node, A, POSE_X), matvec(load9(s.node, A, POSE_R), on_a))
        at_b = add(load3(s.node, B, POSE_X), matvec(load9(s.node, B, POSE_R), on_b))
        v = sub(at_a, at_b)
        _, over, _ = energy_of_distance(m, e, v, s.jets.x, s.jets.jet)
        push_point(s, A, on_a, v, -kick * over)
        push_point(s, B, on_b, v, kick * over)


@apart
def kick_by_coordinates(m, b, s, kick):
    """target += kick * forces of joint springs and of potentials of coordinates at the node."""
    spring_gradient(m, s.q, s.zero, 0.0, s.load)
    add_potentials(m, s.jets, s.q, 1.0, s.load)
    add_joint_forces(m, b, s, s.node, s.apart, s.q, s.load_row, 0, -kick, s.target)
