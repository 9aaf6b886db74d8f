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
def push_point(flow, i, point, force, factor):
    """target += factor * a force in world axes at a point of body i, given from its centre of mass in body axes."""
    f = scale(factor, tmatvec(load9(flow.node, i, POSE_R), force))
    moment = cross(point, f)
    for a in range(3):
        flow.target[i, a] += moment[a]
        flow.target[i, 3 + a] += f[a]


@inlined
def push_body(net, out, i, factor, moment, force):
    """out[i] += factor * a wrench on body i, given at the origin of its frame in the tree, at its centre of mass."""
    moment = sub(moment, cross(load3(net.com, i, 0), force))
    for a in range(3):
        out[i, a] += factor * moment[a]
        out[i, 3 + a] += factor * force[a]


@kernel
def kick_by_wrenches(m, net, flow, kick):
    """target += kick * constant wrenches at the node."""
    for e in range(m.wrench_on.shape[0]):
        i = m.wrench_on[e, 0]
        moment, force = constant_wrench(m, e, load9(flow.node, i, POSE_R))
        push_body(net, flow.target, i, kick, moment, force)


@apart
def kick_by_points(m, net, flow, kick):
    """target += kick * forces of the springs between points at the node."""
    for e in range(m.pair_on.shape[0]):
        A, B = m.pair_on[e, 0], m.pair_on[e, 1]
        on_a, on_b = sub(load3(m.pair, e, PAIR_A), load3(net.com, A, 0)), sub(load3(m.pair, e, PAIR_B), load3(net.com, B, 0))
        at_a = add(load3(flow.node, A, POSE_X), matvec(load9(flow.node, A, POSE_R), on_a))
        at_b = add(load3(flow.node, B, POSE_X), matvec(load9(flow.node, B, POSE_R), on_b))
        v = sub(at_a, at_b)
        _, over, _ = energy_of_distance(m, e, v, flow.jets.x, flow.jets.jet)
        push_point(flow, A, on_a, v, -kick * over)
        push_point(flow, B, on_b, v, kick * over)


@apart
def kick_by_coordinates(m, net, flow, kick):
    """target += kick * forces of joint springs and of potentials of coordinates at the node."""
    spring_gradient(m, flow.q, flow.zero, 0.0, flow.load)
    add_potentials(m, flow.jets, flow.q, 1.0, flow.load)
    add_joint_forces(m, net, flow, flow.node, flow.apart, flow.q, flow.load_row, 0, -kick, flow.target)
