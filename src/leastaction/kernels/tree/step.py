"""What every solver of a variational step shares: the residual, the start, the move to the next node.

The sweeps over the tree come as a record of kernels, `Sweeps`: those for every mechanism, or those made for one (specialise/).
"""

from typing import Any, NamedTuple

from ...compiling.decorators import inlined, kernel
from ...joints import dispatch
from ..forces.potentials import add_potentials
from ..solving.memory import ALWAYS_NEW, HISTORY, RATE
from ..solving.sizes import largest
from . import drnea, newton_matrix
from .actuation import arrive_driven, begin_actuation, drive_joints, largest_impulse, take_aim
from .drnea import carry_residual
from .laws import step_forces
from .layout import KIND, NV, QI, VI
from .loads import calls_user_functions, spring_gradient
from .midpoint_quadrature import mid_node


class Sweeps(NamedTuple):
    """The O(n) recursions of a step.

    What takes such a record as an argument has to be `inlined`: in a function of its own the record would be a value with addresses
    of this process in it, and the machine code could not be kept on disk.
    """

    set_node: Any  # poses and loads at a configuration, and the momenta that arrive there
    residual: Any  # (4) of docs/theory
    assemble: Any  # stiffness of the bodies
    factorise: Any  # (5)
    solve: Any


SWEEPS = Sweeps(drnea.set_node, drnea.residual, newton_matrix.assemble, newton_matrix.factorise, newton_matrix.solve)


@inlined
def full_residual(sweeps, m, w, mid, h, t, retraction):
    """Residual with everything that acts on the joints during the step; returns its largest entry."""
    forced_residual(sweeps, m, w, mid, h, t, retraction)
    return largest(w.r)


@inlined
def forced_residual(sweeps, m, w, mid, h, t, retraction):
    """The same without looking at it."""
    sweeps.residual(m, w, h, retraction)
    if mid is not None:
        mid_node(m, w, mid)
        for j in range(w.r.shape[0]):
            w.r[j] -= h * mid.start[j]
    if m.has_armature:  # D1 of a d^2/2h
        for j in range(w.r.shape[0]):
            w.r[j] += m.armature[j] * w.d[j] / h
    if m.has_dampers:  # left half impulse of -c d/h
        for j in range(w.r.shape[0]):
            w.r[j] += 0.5 * m.damping[j] * w.d[j]
    if calls_user_functions(m):
        step_forces(w.laws, m, w, t, w.d, h)
        for j in range(w.r.shape[0]):
            w.r[j] -= 0.5 * h * w.load[j]
    drive_joints(w.actuation, m, w, h)


@inlined
def momentum_scale(m, w, mid, h):
    """What residuals are compared with: the largest momentum or impulse in the balance of the last residual."""
    top = largest(w.target)
    if mid is not None:  # also where forces cancel, as in a mechanism at rest: their rounding does not
        top = max(top, abs(h) * largest(mid.size))
    if calls_user_functions(m):
        top = max(top, 0.5 * abs(h) * largest(w.load))
    return max(top, largest_impulse(w.actuation))


@inlined
def start_step(w, h, tau, row):
    """Remember where the step starts, and add the left half impulse of the joint forces."""
    take_aim(w.actuation, w.d.shape[0], tau, row)
    for j in range(w.d.shape[0]):
        w.d_last[j] = w.d[j]
        w.target_last[j] = w.target[j]
        w.target[j] += 0.5 * h * tau[row, j]


@inlined
def give_up(w, memory):
    """As before the step, so that it can be tried again with other forces."""
    for j in range(w.d.shape[0]):
        w.d[j] = w.d_last[j]
        w.target[j] = w.target_last[j]
    memory[HISTORY] = 0.0
    memory[RATE] = ALWAYS_NEW


@inlined
def advance_coordinates(m, w):
    if dispatch.move_plainly(w.q, w.d):
        for j in range(w.d.shape[0]):
            w.q[j] += w.d[j]
        return
    for i in range(1, m.link.shape[0]):
        v = m.link[i, VI]
        if dispatch.turns_about_z(m.link[i, KIND]):
            w.q[m.link[i, QI]] += w.d[v]
        else:
            dispatch.advance(m.link[i, KIND], w.q, m.link[i, QI], w.d, v, m.link[i, NV])


@kernel
def kick_springs(m, w, impulse):
    if m.has_springs:
        spring_gradient(m, w.q, w.d, 0.0, w.load)
        for j in range(w.d.shape[0]):
            w.target[j] -= impulse * w.load[j]
    add_potentials(m, w, w.q, -impulse, w.target)


@inlined
def begin(sweeps, m, w, mid, h):
    """From the momentum p in `target` to p + half a kick at the configuration q."""
    for j in range(w.d.shape[0]):
        w.z[j] = w.target[j]
    sweeps.set_node(m, w, h, 0.5 * h if mid is None else 0.0, 0.0, w.target)
    for j in range(w.d.shape[0]):
        w.target[j] += w.z[j]
    if mid is None:
        kick_springs(m, w, 0.5 * h)
    begin_actuation(w.actuation, h)


@inlined
def arrive(sweeps, m, w, mid, h, kick, t):
    """Move to the end of the step: new q, new node, target momentum of the next step.

    kick   impulse of the potential there over its force: h, or the mean of both if the next step has another length
    """
    advance_coordinates(m, w)
    sweeps.set_node(m, w, h, kick if mid is None else 0.0, 1.0, w.target)
    if m.has_armature:
        for j in range(w.d.shape[0]):
            w.target[j] += m.armature[j] * w.d[j] / h
    carry_residual(m, w)
    if mid is None:
        kick_springs(m, w, kick)
    else:
        for j in range(w.d.shape[0]):
            w.target[j] += h * mid.end[j]
    if m.has_dampers or calls_user_functions(m):
        push_at_end(m, w, h, t)
    arrive_driven(w.actuation, w.target, h, kick)


@kernel
def push_at_end(m, w, h, t):
    """Right half impulses of what depends on the velocity: dampers and user forces.  Writes step (as scratch), target."""
    for i in range(1, m.link.shape[0]):
        dispatch.end_increment(m.link[i, KIND], w.d, m.link[i, VI], m.link[i, NV], w.step)
    step_forces(w.laws, m, w, t, w.step, h)
    for j in range(w.d.shape[0]):
        w.target[j] += 0.5 * (h * w.load[j] - m.damping[j] * w.step[j])
