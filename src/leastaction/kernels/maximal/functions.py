"""Constraints that are functions of joint coordinates and of time, in maximal coordinates: cams, prescribed joints, user expressions.

Coordinates are functions of how a child stands to its parent, so h(q, t) = 0 is a row between the bodies of its joints.  Its derivative is
the sum of dh/dq_j times that of the coordinate: the dual column of the joint (joints.py), on the child and opposite on the parent.  As for
dampers it is that of a joint that is not violated, which is exact where Newton's method ends.
"""

from ...compiling.address import call_joint
from ...compiling.decorators import apart, inlined, kernel
from ...joints import dispatch
from ..tree.layout import KIND, QI
from .joints import dual_column, end_columns, joint_columns, on_child, on_parent
from .layout import ARG_BODY, ARG_Q, ARG_SLOT, ARG_V, FIRST_ROW, FN_ADDRESS, FN_CON, FN_FIRST
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
    set_arguments(net, flow, flow.q_end)
    for f in range(net.special.function.shape[0]):
        k, x = net.special.function[f, FN_FIRST], flow.argument
        h = call_joint(net.special.function[f, FN_ADDRESS], VALUE, m.param, 0, x, k, flow.slope, k, flow.time[0], None)[0]
        out[first + net.con[net.special.function[f, FN_CON], FIRST_ROW]] = h


@inlined
def largest_argument(special, flow):
    """Largest coordinate, rad or m, that a function looks at."""
    top = 0.0
    if special is not None:
        for e in range(special.argument.shape[0]):
            top = max(top, abs(flow.q[special.argument[e, ARG_Q]]))
    return top


@inlined
def set_arguments(net, flow, q):
    for e in range(net.special.argument.shape[0]):
        flow.argument[e] = q[net.special.argument[e, ARG_Q]]


@kernel
def set_slopes(m, net, flow, q):
    """Flow.slope and Flow.drift at the coordinates q."""
    set_arguments(net, flow, q)
    for f in range(net.special.function.shape[0]):
        address, k, x = net.special.function[f, FN_ADDRESS], net.special.function[f, FN_FIRST], flow.argument
        flow.drift[f] = call_joint(address, GRADIENT, m.param, 0, x, k, flow.slope, k, flow.time[0], flow.slope)[0]


@apart
def function_gradients(m, net, flow):
    """Rows of Flow.G1."""
    set_slopes(m, net, flow, flow.q_end)
    clear_rows(net, flow.G1)
    for e in range(net.special.argument.shape[0]):
        end_columns(net.special, m, net, flow, net.special.argument[e, ARG_BODY])
        add_row(m, net, flow, flow.end, flow.apart_end, e, flow.G1)


@apart
def function_forces(m, net, flow):
    """Rows of Flow.G0: impulses push the joints along dh/dq."""
    set_slopes(m, net, flow, flow.q)
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
