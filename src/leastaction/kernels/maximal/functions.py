"""Constraints that are functions of joint coordinates and of time, in maximal coordinates: cams, prescribed joints, user expressions.

Coordinates are functions of how a child stands to its parent, so h(q, t) = 0 is a row between the bodies of its joints.  Its derivative is
the sum of dh/dq_j times that of the coordinate: the dual column of the joint (joints.py), on the child and opposite on the parent.  As for
dampers it is that of a joint that is not violated, which is exact where Newton's method ends.

A constraint on velocities g(q, v, t) = 0 says h g = 0 half way through the step, at the mean velocity: see kernels/constraints/speeds.py.
"""

from ...compiling.address import call_joint
from ...compiling.decorators import apart, inlined, kernel
from ...joints import dispatch
from ..tree.layout import KIND, QI
from .joints import dual_column, end_columns, joint_columns, on_child, on_parent
from .layout import ARG_BODY, ARG_Q, ARG_SLOT, ARG_V, FIRST_ROW, FN_ADDRESS, FN_CON, FN_COUNT, FN_FIRST, FN_SPEED
from .rows import joint_frame

VALUE, GRADIENT = 0, 1  # what a compiled function can be asked for: see symbolic/constraint_module.py


@apart
def function_values(m, net, flow, out, first):
    """out[first:] = h of the poses at the end of the step.  Writes the joints' part of Flow.q_end; of symbolic joints it is there."""
    for e in range(net.special.argument.shape[0]):
        i = net.special.argument[e, ARG_BODY]
        if not dispatch.is_generated(m.link[i, KIND]):
            R, p = joint_frame(net, flow.end, flow.apart_end, i - 1)
            dispatch.coordinates_of(m.link[i, KIND], m.param, i, R, p, flow.q, m.link[i, QI], flow.q_end)
    for f in range(net.special.function.shape[0]):
        h = ask(m, net, flow, f, VALUE, flow.q_end, flow.time[1])
        out[first + net.con[net.special.function[f, FN_CON], FIRST_ROW]] = flow.time[1] * h if net.special.function[f, FN_SPEED] else h


@inlined
def ask(m, net, flow, f, what, q, length):
    """What function f says at the coordinates q; one on velocities half way from Flow.q to q, or at q if the way takes no time."""
    k, t = net.special.function[f, FN_FIRST], flow.time[0]
    for e in range(k, k + net.special.function[f, FN_COUNT]):
        at = net.special.argument[e, ARG_Q]
        flow.argument[e] = q[at]
        if net.special.function[f, FN_SPEED] and length != 0.0:
            flow.argument[e] = 0.5 * (flow.q[at] + q[at])
            flow.argument_rate[e] = (q[at] - flow.q[at]) / length
        else:
            flow.argument_rate[e] = 0.0
    if net.special.function[f, FN_SPEED]:
        t -= 0.5 * length
    return call_joint(net.special.function[f, FN_ADDRESS], what, m.param, 0, flow.argument, k, flow.argument_rate, k, t, flow.slope)[0]


@inlined
def largest_argument(special, flow):
    """Largest coordinate, rad or m, that a function looks at."""
    top = 0.0
    if special is not None:
        for e in range(special.argument.shape[0]):
            top = max(top, abs(flow.q[special.argument[e, ARG_Q]]))
    return top


@kernel
def set_slopes(m, net, flow, q, length):
    """Flow.slope and Flow.drift at the coordinates q; length: of the step that leads there, zero at a node."""
    for f in range(net.special.function.shape[0]):
        flow.drift[f] = ask(m, net, flow, f, GRADIENT, q, length)
        if net.special.function[f, FN_SPEED]:  # first the derivatives in the rates, then those in the arguments
            k, count = net.special.function[f, FN_FIRST], net.special.function[f, FN_COUNT]
            for e in range(k, k + count):
                flow.slope[e] += 0.5 * length * flow.slope[e + count]


@apart
def function_gradients(m, net, flow):
    """Rows of Flow.G1."""
    set_slopes(m, net, flow, flow.q_end, flow.time[1])
    clear_rows(net, flow.G1)
    for e in range(net.special.argument.shape[0]):
        end_columns(net.special, m, net, flow, net.special.argument[e, ARG_BODY])
        add_row(m, net, flow, flow.end, flow.apart_end, e, flow.G1)


@apart
def function_forces(m, net, flow):
    """Rows of Flow.G0: impulses push the joints along dh/dq."""
    set_slopes(m, net, flow, flow.q, 0.0)
    clear_rows(net, flow.G0)
    for e in range(net.special.argument.shape[0]):
        joint_columns(m, flow, net.special.argument[e, ARG_BODY], flow.q)
        add_row(m, net, flow, flow.node, flow.apart, e, flow.G0)


@inlined
def clear_rows(net, G):
    for e in range(net.special.argument.shape[0]):
        for side in range(2):
            for c in range(6):
                G[net.special.argument[e, ARG_SLOT] + side, 0, c] = 0.0


@inlined
def add_row(m, net, flow, poses, apart, e, G):
    """Add what argument e of a function contributes to its row."""
    i, slot, slope = net.special.argument[e, ARG_BODY], net.special.argument[e, ARG_SLOT], flow.slope[e]
    a, l = dual_column(flow, net.special.argument[e, ARG_V], m.link[i, KIND])
    ca, cl = on_child(net, i, a, l)
    pa, pl = on_parent(net, poses, apart, i, a, l)
    for c in range(3):
        G[slot, 0, c] += slope * pa[c]
        G[slot, 0, 3 + c] += slope * pl[c]
        G[slot + 1, 0, c] += slope * ca[c]
        G[slot + 1, 0, 3 + c] += slope * cl[c]
