"""What every solver of a variational step shares: the residual, the guess, the start, the move to the next node."""

from ...compiling.decorators import inlined, kernel
from ...joints import dispatch
from ...joints.dispatch import REVOLUTE
from ..forces.potentials import add_potentials
from .drnea import carry_residual, residual, set_node
from .laws import step_forces
from .layout import ALWAYS_NEW, HISTORY, KIND, NV, QI, RATE, VI
from .loads import calls_user_functions, spring_gradient
from .midpoint_quadrature import mid_node

# by which the error of the guess has to fall with its degree: where steps are long and the motion wild, a high one misleads Newton
GAIN = 0.5


@inlined
def largest(a):
    top = 0.0
    for j in range(a.shape[0]):
        x = abs(a[j])
        if x > top or x != x:  # a NaN stays
            top = x
    return top


@inlined
def full_residual(m, w, mid, h, t, retraction):
    """Residual with everything that acts on the joints during the step; returns its largest entry."""
    residual(m, w, h, retraction)
    if mid is not None:
        mid_node(m, w, mid)
        for j in range(w.r.shape[0]):
            w.r[j] -= h * mid.start[j]
    if m.has_dampers:  # left half impulse of -c d/h
        for j in range(w.r.shape[0]):
            w.r[j] += 0.5 * m.damping[j] * w.d[j]
    if calls_user_functions(m):
        step_forces(m, w, t, w.d, h)
        for j in range(w.r.shape[0]):
            w.r[j] -= 0.5 * h * w.load[j]
    return largest(w.r)


@inlined
def momentum_scale(m, w, mid, h):
    """What residuals are compared with: the largest momentum or impulse in the balance of the last residual."""
    top = largest(w.target)
    if mid is not None:  # also where forces cancel, as in a mechanism at rest: their rounding does not
        top = max(top, abs(h) * largest(mid.size))
    if calls_user_functions(m):
        top = max(top, 0.5 * abs(h) * largest(w.load))
    return top


@inlined
def start_step(w, h, tau, row):
    """Remember where the step starts, and add the left half impulse of the joint forces."""
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
def extrapolate(w, known):
    """Guess of the increment."""
    continue_polynomial(w.d, w.history, known, 0, w.d.shape[0], True)


@inlined
def continue_polynomial(d, differences, known, first, last, cautious):
    """Guess of d[first:last]: the last values continued by a polynomial of degree 0 to 5.

    A degree is taken if it would have guessed the last value much better than the lower ones; if `cautious`, only as long as each
    one is much better than the one before.  The former is for bodies near singular positions (rods that overlap), where several
    solutions are close and only the best guess leads to the right one; the latter for joint coordinates, where in a long step of a wild
    motion one lucky difference would be taken for smoothness.

    differences    (6, n) backward differences of the values before d; become those of d.  Their sum up to order k continues a
                   polynomial of degree k, and the difference of order k + 1 is by how much that missed the last value.
    known          values seen so far
    """
    e0, e1, e2, e3, e4, e5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(first, last):
        x0 = d[j]
        x1 = x0 - differences[0, j]
        x2 = x1 - differences[1, j]
        x3 = x2 - differences[2, j]
        x4 = x3 - differences[3, j]
        x5 = x4 - differences[4, j]
        x6 = x5 - differences[5, j]
        differences[0, j], differences[1, j], differences[2, j] = x0, x1, x2
        differences[3, j], differences[4, j], differences[5, j] = x3, x4, x5
        e0, e1, e2 = max(e0, abs(x1)), max(e1, abs(x2)), max(e2, abs(x3))
        e3, e4, e5 = max(e3, abs(x4)), max(e4, abs(x5)), max(e5, abs(x6))
    degree, best = 0, e0
    if (degree == 0 or not cautious) and known >= 3 and e1 < GAIN * best:
        degree, best = 1, e1
    if (degree == 1 or not cautious) and known >= 4 and e2 < GAIN * best:
        degree, best = 2, e2
    if (degree == 2 or not cautious) and known >= 5 and e3 < GAIN * best:
        degree, best = 3, e3
    if (degree == 3 or not cautious) and known >= 6 and e4 < GAIN * best:
        degree, best = 4, e4
    if (degree == 4 or not cautious) and known >= 7 and e5 < GAIN * best:
        degree, best = 5, e5
    for order in range(1, degree + 1):
        for j in range(first, last):
            d[j] += differences[order, j]


@inlined
def advance_coordinates(m, w):
    for i in range(1, m.link.shape[0]):
        v = m.link[i, VI]
        if m.link[i, KIND] == REVOLUTE:
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


@kernel
def begin(m, w, mid, h):
    """From the momentum p in `target` to p + half a kick at the configuration q."""
    for j in range(w.d.shape[0]):
        w.z[j] = w.target[j]
    set_node(m, w, h, 0.5 * h if mid is None else 0.0, False, w.target)
    for j in range(w.d.shape[0]):
        w.target[j] += w.z[j]
    if mid is None:
        kick_springs(m, w, 0.5 * h)


@inlined
def arrive(m, w, mid, h, t):
    """Move to the end of the step: new q, new node, target momentum of the next step (its half kick included)."""
    arrive_with_kick(m, w, mid, h, h, t)


@inlined
def arrive_with_kick(m, w, mid, h, kick, t):
    """The same where the next step has another length: kick is the mean of both."""
    advance_coordinates(m, w)
    set_node(m, w, h, kick if mid is None else 0.0, True, w.target)
    carry_residual(m, w)
    if mid is None:
        kick_springs(m, w, kick)
    else:
        for j in range(w.d.shape[0]):
            w.target[j] += h * mid.end[j]
    if m.has_dampers or calls_user_functions(m):
        push_at_end(m, w, h, t)


@kernel
def push_at_end(m, w, h, t):
    """Right half impulses of what depends on the velocity: dampers and user forces.  Writes step (as scratch), target."""
    for i in range(1, m.link.shape[0]):
        dispatch.end_increment(m.link[i, KIND], w.d, m.link[i, VI], m.link[i, NV], w.step)
    step_forces(m, w, t, w.step, h)
    for j in range(w.d.shape[0]):
        w.target[j] += 0.5 * (h * w.load[j] - m.damping[j] * w.step[j])
