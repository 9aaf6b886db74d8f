"""All constraints of a mechanism in maximal coordinates: which kind is which.

Values and derivatives at the end of a step, and the directions of constraint impulses at its start.  What few mechanisms have stands apart:
constraints on velocities, symbolic joints, functions of coordinates.  Where there are none, `special` is None and Numba leaves it out.
"""

from ...compiling.decorators import inlined, kernel
from ...lie.algebra import add, load3, quat_rotate_minus
from .closing import loop_gradients, loop_nodes, loop_values
from .friction import rough_forces, rough_gradients
from .functions import function_forces, function_gradients, function_values
from .layout import B_P, BODY_A, BODY_B, CON_KIND, D_U, D_W, FIRST_ROW, GEAR, TWO_FRAMES
from .nonholonomic import seen_from_moving, seen_from_still, velocity_force, velocity_gradient, velocity_values
from .rows import gear_gradient, gear_value, measure_end, relative, two_frame_ends, two_frame_gradient
from .symbolic import all_pose_forces, all_pose_gradients, all_pose_values


@inlined
def motion(net, flow, c):
    """How body B moves over the step as seen from body A: see nonholonomic.py."""
    A, B = net.con[c, BODY_A], net.con[c, BODY_B]
    R, point = relative(net, flow.node, flow.apart, c)
    w, u = flow.disp[B, D_W], load3(flow.disp, B, D_U)
    moved = add((flow.d[6 * B - 3], flow.d[6 * B - 2], flow.d[6 * B - 1]), quat_rotate_minus(w, u, load3(net.place, c, B_P)))
    if A == 0:
        return seen_from_still(R, point, w, u, moved)
    shift = (flow.d[6 * A - 3], flow.d[6 * A - 2], flow.d[6 * A - 1])
    return seen_from_moving(R, point, w, u, moved, flow.disp[A, D_W], load3(flow.disp, A, D_U), shift)


@kernel
def values(m, net, flow, out, first):
    """out[first:] = values of all constraints at the end of the step.  Writes Flow.apart_end, and Flow.q_end of symbolic joints."""
    for c in range(net.con.shape[0]):
        kind, at = net.con[c, CON_KIND], first + net.con[c, FIRST_ROW]
        if kind == GEAR:
            out[at] = gear_value(net, flow, flow.end, flow.apart_end, c)
        else:
            measure_end(net, flow, c)
            if kind == TWO_FRAMES:
                two_frame_ends(net, flow, c, out, at)
    special_values(net.special, m, net, flow, out, first)
    loop_values(flow.loops, net, flow.end, flow.apart_end, True, out, first)


@kernel
def special_values(special, m, net, flow, out, first):
    if special is not None:
        for e in range(special.velocity.shape[0]):
            c = special.velocity[e]
            velocity_values(net, c, motion(net, flow, c), out, first + net.con[c, FIRST_ROW])
        all_pose_values(m, net, flow, out, first)
        function_values(m, net, flow, out, first)


@kernel
def plain_gradients(net, poses, apart, G):
    """Derivatives of what most mechanisms have, at the poses given."""
    for c in range(net.con.shape[0]):
        kind = net.con[c, CON_KIND]
        if kind == GEAR:
            gear_gradient(net, poses, apart, c, G)
        elif kind == TWO_FRAMES:
            two_frame_gradient(net, poses, apart, c, G)


@kernel
def gradients(m, net, flow):
    """G1 = derivatives of the values in the end poses."""
    plain_gradients(net, flow.end, flow.apart_end, flow.G1)
    special_gradients(net.special, m, net, flow)
    loop_gradients(flow.loops, net, flow.end, flow.apart_end, True, flow.G1)
    rough_gradients(flow.rough, m, net, flow)


@kernel
def special_gradients(special, m, net, flow):
    if special is not None:
        for e in range(special.velocity.shape[0]):
            velocity_gradient(net, special.velocity[e], motion(net, flow, special.velocity[e]), flow.G1)
        all_pose_gradients(m, net, flow, flow.G1)
        function_gradients(m, net, flow)


@kernel
def force_directions(m, net, flow):
    """G0 = virtual displacements the constraints forbid at the start of the step: where their impulses act."""
    plain_gradients(net, flow.node, flow.apart, flow.G0)
    special_forces(net.special, m, net, flow)
    loop_nodes(flow.loops, net, flow.node, flow.apart)
    loop_gradients(flow.loops, net, flow.node, flow.apart, False, flow.G0)
    rough_forces(flow.rough, m, net, flow)


@kernel
def special_forces(special, m, net, flow):
    if special is not None:
        for e in range(special.velocity.shape[0]):
            R, point = relative(net, flow.node, flow.apart, special.velocity[e])
            velocity_force(net, special.velocity[e], R, point, flow.G0)
        all_pose_forces(m, net, flow, flow.G0)
        function_forces(m, net, flow)
