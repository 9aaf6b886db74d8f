"""All constraints of a mechanism in maximal coordinates: which kind is which.

Values and derivatives at the end of a step, and the directions of constraint impulses at its start.  Symbolic joints and functions of
coordinates have loops of their own, apart: inside the others their code would slow down every mechanism.
"""

from ...compiling.decorators import kernel
from .functions import function_forces, function_gradients, function_values
from .layout import CON_KIND, FIRST_ROW, GEAR, ROLLING, SKATE, TWO_FRAMES
from .nonholonomic import rolling_force, rolling_gradient, rolling_values, skate_force, skate_gradient, skate_value
from .rows import gear_gradient, gear_value, measure_end, two_frame_ends, two_frame_gradient
from .symbolic import all_pose_forces, all_pose_gradients, all_pose_values


@kernel
def values(m, net, flow, out, first):
    """out[first:] = values of all constraints at the end of the step.  Writes Flow.apart_end, and Flow.q_end of symbolic joints."""
    for c in range(net.con.shape[0]):
        kind, at = net.con[c, CON_KIND], first + net.con[c, FIRST_ROW]
        if kind != GEAR:
            measure_end(net, flow, c)
        if kind == GEAR:
            out[at] = gear_value(net, flow, flow.end, flow.apart_end, c)
        elif kind == SKATE:
            out[at] = skate_value(net, flow, c)
        elif kind == ROLLING:
            rolling_values(net, flow, c, out, at)
        elif kind == TWO_FRAMES:
            two_frame_ends(net, flow, c, out, at)
    if net.symbolic.shape[0] > 0:
        all_pose_values(m, net, flow, out, first)
    if net.function.shape[0] > 0:
        function_values(m, net, flow, out, first)


@kernel
def gradients(m, net, flow):
    """G1 = derivatives of the values in the end poses."""
    for c in range(net.con.shape[0]):
        kind = net.con[c, CON_KIND]
        if kind == GEAR:
            gear_gradient(net, flow.end, flow.apart_end, c, flow.G1)
        elif kind == SKATE:
            skate_gradient(net, flow, c, flow.G1)
        elif kind == ROLLING:
            rolling_gradient(net, flow, c, flow.G1)
        elif kind == TWO_FRAMES:
            two_frame_gradient(net, flow.end, flow.apart_end, c, flow.G1)
    if net.symbolic.shape[0] > 0:
        all_pose_gradients(m, net, flow, flow.G1)
    if net.function.shape[0] > 0:
        function_gradients(m, net, flow)


@kernel
def force_directions(m, net, flow):
    """G0 = virtual displacements the constraints forbid at the start of the step: where their impulses act."""
    for c in range(net.con.shape[0]):
        kind = net.con[c, CON_KIND]
        if kind == GEAR:
            gear_gradient(net, flow.node, flow.apart, c, flow.G0)
        elif kind == SKATE:
            skate_force(net, c, flow.G0)
        elif kind == ROLLING:
            rolling_force(net, flow, c, flow.G0)
        elif kind == TWO_FRAMES:
            two_frame_gradient(net, flow.node, flow.apart, c, flow.G0)
    if net.symbolic.shape[0] > 0:
        all_pose_forces(m, net, flow, flow.G0)
    if net.function.shape[0] > 0:
        function_forces(m, net, flow)
