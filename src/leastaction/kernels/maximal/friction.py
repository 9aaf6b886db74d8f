"""Dry friction of joints in maximal coordinates.   docs/actuation.md

The impulse f of friction on a joint coordinate is an unknown of its own, with a row of its own that is one of two:

    dq = 0                 the joint sticks, as long as friction can hold it: |f| <= most
    f = -most or most      it slides, against its motion

Both are there at once in  f = clip(f - c dq, -most, most),  whatever c > 0 is: f - c dq says which one is taken in an evaluation (a
semi-smooth Newton method, or one of active sets).  The rows neither come nor go, only what stands in them changes, so fronts stay as they
are and a step stays O(n).  They are eliminated with the body and the joint they belong to.

The impulse is taken at the node where the step starts, as those of servos are (kernels/tree/actuation.py): most is kick times the friction,
and `act.drive`, of which `push` remembers a half, holds its force too.

`rough` is Flow.rough, None in most mechanisms: Numba then leaves out what is done with it.
"""

from ...compiling.decorators import inlined, kernel
from ...lie.algebra import cross, dot, load3, load6, sub, symvec
from ..solving.sizes import UNBOUNDED, relative_size
from ..tree.layout import INERTIA, KIND, MASS
from .joints import dual_column, end_columns, joint_columns, on_child, on_parent
from .layout import B_P, RUB_AT, RUB_BODY, RUB_DIAGONAL, RUB_Q, RUB_ROW, RUB_SLOT, RUB_V

AT_ONCE = 6  # evaluations of an attempt in which all joints may change; then one at a time, the first one: no circles


@kernel
def begin_attempt(rough):
    if rough is not None:
        rough.count[0] = 0.0


@kernel
def rough_forces(rough, m, net, flow):
    """Rows of Flow.G0: impulses push the joints along their coordinates.  Writes Rough.inertia."""
    if rough is not None:
        for e in range(rough.on.shape[0]):
            i, v = rough.on[e, RUB_BODY], rough.on[e, RUB_V]
            joint_columns(m, flow, i, flow.q)
            put_column(rough, m, net, flow, flow.node, flow.apart, e, flow.G0)
            turn = load3(flow.S, v, 0)
            move = sub(load3(flow.S, v, 3), cross(turn, load3(net.place, i - 1, B_P)))  # from the joint to the centre of mass
            own = dot(turn, symvec(load6(net.body, i, INERTIA), turn)) + net.body[i, MASS] * dot(move, move)
            rough.inertia[e] = own + m.armature[v]


@kernel
def rough_gradients(rough, m, net, flow):
    """Rows of Flow.G1: of a joint that sticks the derivative of its increment, of one that slides none."""
    if rough is not None:
        for e in range(rough.on.shape[0]):
            rough.slides_used[e] = rough.slides[e]
            if rough.slides[e] == 0.0:
                end_columns(net.special, m, net, flow, rough.on[e, RUB_BODY])
                put_column(rough, m, net, flow, flow.end, flow.apart_end, e, flow.G1)
            else:
                slot, k = rough.on[e, RUB_SLOT], rough.on[e, RUB_ROW]
                for c in range(6):
                    flow.G1[slot, k, c] = flow.G1[slot + 1, k, c] = 0.0


@inlined
def put_column(rough, m, net, flow, poses, apart, e, G):
    """The dual column of coordinate e, on the child and opposite on the parent."""
    i, slot, k = rough.on[e, RUB_BODY], rough.on[e, RUB_SLOT], rough.on[e, RUB_ROW]
    a, l = dual_column(flow, rough.on[e, RUB_V], m.link[i, KIND])
    ca, cl = on_child(net, i, a, l)
    pa, pl = on_parent(net, poses, apart, i, a, l)
    for c in range(3):
        G[slot, k, c], G[slot, k, 3 + c] = pa[c], pl[c]
        G[slot + 1, k, c], G[slot + 1, k, 3 + c] = ca[c], cl[c]


@kernel
def rough_diagonal(rough, values):
    """What the fronts have of the impulses in their own rows."""
    if rough is not None:
        for e in range(rough.on.shape[0]):
            if rough.slides[e] != 0.0:
                values[rough.on[e, RUB_DIAGONAL]] += 1.0


@kernel
def rough_values(rough, act, m, flow, h):
    """The rows of friction in r, for the increments dq.  Writes Rough.slides, and adds to act.drive."""
    if rough is not None:
        kick, alone = act.kick[0], True
        rough.count[0] += 1.0
        for e in range(rough.on.shape[0]):
            v, at = rough.on[e, RUB_V], rough.on[e, RUB_AT]
            f, most = flow.d[at], kick * m.friction[v]
            c = rough.inertia[e] / abs(h) if rough.inertia[e] > 0.0 else most
            against = f - c * flow.dq[v]
            now = 0.0 if abs(against) <= most else 1.0 if against < 0.0 else -1.0
            rough.slides_before[e] = rough.slides[e]
            if rough.count[0] <= AT_ONCE:
                rough.slides[e] = now
            elif now != rough.slides[e] and alone:  # one that slides the wrong way comes to rest first
                rough.slides[e] = now if rough.slides[e] == 0.0 else 0.0
                alone = False
            flow.r[at] = flow.dq[v] if rough.slides[e] == 0.0 else f + rough.slides[e] * most
            act.drive[v] += f / kick


@inlined
def rough_rows(rough):
    """How many there are: the last of all rows."""
    if rough is None:
        return 0
    return rough.on.shape[0]


@kernel
def rough_size(rough, flow, units, size):
    """The larger one of `size` and the rows of friction, in units of what is allowed of impulses and of lengths."""
    if rough is not None:
        for e in range(rough.on.shape[0]):
            off = relative_size(abs(flow.r[rough.on[e, RUB_AT]]), units[1] if rough.slides[e] == 0.0 else units[0])
            if off > size or off != off:  # a NaN stays
                size = off
    return size


@kernel
def largest_friction(rough, act, m):
    """Largest impulse that friction can have."""
    top = 0.0
    if rough is not None:
        for e in range(rough.on.shape[0]):
            top = max(top, act.kick[0] * m.friction[rough.on[e, RUB_V]])
    return top


@kernel
def turns(rough, new):
    """Has a joint come to rest, or been let go, or turned round?  Then the residual may grow, for the others do not know of it yet."""
    changed = False
    if rough is not None:
        for e in range(rough.on.shape[0]):
            changed |= rough.slides[e] != rough.slides_before[e]
    return changed and new < UNBOUNDED


@kernel
def holds_others(rough):
    """Is the factorisation at hand one for other joints that stick?"""
    changed = False
    if rough is not None:
        for e in range(rough.on.shape[0]):
            changed |= rough.slides[e] != rough.slides_used[e]
    return changed


@kernel
def stay(rough, flow):
    """Coordinates of joints that stick are what they were, to the last digit: what is left of their rows does not add up."""
    if rough is not None:
        for e in range(rough.on.shape[0]):
            if rough.slides[e] == 0.0:
                flow.q_end[rough.on[e, RUB_Q]] = flow.q[rough.on[e, RUB_Q]]


@kernel
def forget_rows(rough, flow):
    """They are no constraints: Flow.off."""
    if rough is not None:
        first = 6 * (flow.node.shape[0] - 1)
        for e in range(rough.on.shape[0]):
            flow.off[rough.on[e, RUB_AT] - first] = 0.0
