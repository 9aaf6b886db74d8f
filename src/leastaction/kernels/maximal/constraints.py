"""All constraints of a mechanism in maximal coordinates: which kind is which.

Values and derivatives at the end of a step, and the directions of constraint impulses at its start.  Symbolic joints have loops of their
own, apart: inside the others their code would slow down every mechanism.
"""

from ...compiling.decorators import kernel
from .layout import CON_KIND, FIRST_ROW, GEAR, ROLLING, SKATE, TWO_FRAMES
from .nonholonomic import rolling_force, rolling_gradient, rolling_values, skate_force, skate_gradient, skate_value
from .rows import gear_gradient, gear_value, measure_end, two_frame_ends, two_frame_gradient
from .symbolic import all_pose_forces, all_pose_gradients, all_pose_values


@kernel
def values(m, b, s, out, first):
    """out[first:] = values of all constraints at the end of the step.  Writes Flow.apart_end, and Flow.q_end of symbolic joints."""
    for c in range(b.con.shape[0]):
        kind, at = b.con[c, CON_KIND], first + b.con[c, FIRST_ROW]
        if kind != GEAR:
            measure_end(b, s, c)
        if kind == GEAR:
            out[at] = gear_value(b, s, s.end, s.apart_end, c)
        elif kind == SKATE:
            out[at] = skate_value(b, s, c)
        elif kind == ROLLING:
            rolling_values(b, s, c, out, at)
        elif kind == TWO_FRAMES:
            two_frame_ends(b, s, c, out, at)
    if b.symbolic.shape[0] > 0:
        all_pose_values(m, b, s, out, first)


@kernel
def gradients(m, b, s):
    """G1 = derivatives of the values in the end poses."""
    for c in range(b.con.shape[0]):
        kind = b.con[c, CON_KIND]
        if kind == GEAR:
            gear_gradient(b, s.end, s.apart_end, c, s.G1)
        elif kind == SKATE:
            skate_gradient(b, s, c, s.G1)
        elif kind == ROLLING:
            rolling_gradient(b, s, c, s.G1)
        elif kind == TWO_FRAMES:
            two_frame_gradient(b, s.end, s.apart_end, c, s.G1)
    if b.symbolic.shape[0] > 0:
        all_pose_gradients(m, b, s, s.G1)


@kernel
def force_directions(m, b, s):
    """G0 = virtual displacements the constraints forbid at the start of the step: where their impulses act."""
    for c in range(b.con.shape[0]):
        kind = b.con[c, CON_KIND]
        if kind == GEAR:
            gear_gradient(b, s.node, s.apart, c, s.G0)
        elif kind == SKATE:
            skate_force(b, c, s.G0)
        elif kind == ROLLING:
            rolling_force(b, s, c, s.G0)
        elif kind == TWO_FRAMES:
            two_frame_gradient(b, s.node, s.apart, c, s.G0)
    if b.symbolic.shape[0] > 0:
        all_pose_forces(m, b, s, s.G0)
