"""The variational step in maximal coordinates: Newton and time loop.   Bruedigam and Manchester 2020, in momentum form

The equations are in maximal_step.py.
"""

import math

from ...compiling.decorators import entry, inlined, kernel
from ...lie.algebra import axpy, cross, dot, load3, load9, matvec, quat_to_matrix, scale, store3, store9, sub, tmatvec
from ..maximal.constraints import force_directions
from ..maximal.fronts import factorise, solve
from ..maximal.joints import add_joint_forces, coordinates, increments, joint_momenta
from ..maximal.laws import add_law_damping, largest_law_impulse, push_at_end
from ..maximal.layout import (
    CON_KIND,
    CURVATURE,
    D_R,
    FIRST_CORRECTION,
    FIRST_ROW,
    GEAR,
    POSE_R,
    POSE_U,
    POSE_W,
    POSE_X,
    RATE_EXACT,
    ROW_U,
    ROW_W,
    ROWS,
)
from ..maximal.potentials import kick_by_coordinates, kick_by_points, kick_by_wrenches
from ..maximal.step import assemble, depends_on_speed, evaluate, joint_impulses, largest_between
from ..maximal.symbolic import change_charts
from ..tree.layout import (
    AGE,
    ALWAYS_NEW,
    HISTORY,
    INERTIA,
    LAST_RESIDUAL,
    MASS,
    RATE,
    RATE_AGED,
    SCALE,
    STARTED,
    TIME,
)
from ..tree.step import continue_polynomial
from .variational import BOLD_EVALUATIONS, CONVERGED, EXACT, NOT_FINITE, OLD, STALLED, grow_old

BOLD, CAREFUL, NATURAL = 0, 1, 2  # how Newton is kept from going astray, one after the other

# what a new factorisation costs, in corrections (a solution and an evaluation each): two to three, but by an old one each shrinks the
# residual less than the one before, and with few evaluations Newton strays less
FACTORISATION = 1.0

ENOUGH = 0.7  # of what is allowed: a factorisation that promises to get below it is used


@inlined
def set_correction(s):
    """step = the solution z of the linear system, turned into a change of the unknowns d."""
    n = s.node.shape[0]
    for i in range(1, n):
        k = 6 * (i - 1)
        c, e = (s.d[k], s.d[k + 1], s.d[k + 2]), (s.z[k], s.z[k + 1], s.z[k + 2])
        turn = axpy(0.25 * dot(c, e), c, axpy(0.5, cross(c, e), e))
        move = matvec(load9(s.disp, i, D_R), (s.z[k + 3], s.z[k + 4], s.z[k + 5]))
        s.step[k], s.step[k + 1], s.step[k + 2] = turn[0], turn[1], turn[2]
        s.step[k + 3], s.step[k + 4], s.step[k + 5] = move[0], move[1], move[2]
    for j in range(6 * (n - 1), s.d.shape[0]):
        s.step[j] = s.z[j]


@inlined
def newton(m, b, s, memory, h, t, tol, retraction, max_evaluations, attempt):
    """Solve the step; returns (evaluations, residual in units of what is allowed).

    Momenta are compared with those of all bodies together, constraints with the largest displacement of the step.  A factorisation
    is kept while that is cheaper than a new one (`keeps`); a correction by an old one that fails is taken back.  One by a new one
    may let the residual grow tenfold (attempt BOLD), is halved until the residual shrinks (CAREFUL), or until the next correction by
    the same matrix would be smaller (NATURAL, Deuflhard's monotonicity test: near singular positions, where rods overlap, the
    residual says little about how far the solution is).
    """
    first, last = 6 * (s.node.shape[0] - 1), s.d.shape[0]
    evaluations = 0
    norm, momentum, length, correction = 0.0, 1.0, 1.0, 0.0
    fraction = 1.0
    used, taken_back = OLD, True
    while True:
        evaluate(m, b, s, h, t, retraction)
        evaluations += 1
        if evaluations == 1:
            memory[SCALE] = momentum_scale(m, b, s, h, tol)
            momentum, length = tol * memory[SCALE], tol * length_scale(b, s, tol)
            grow_old(memory)
        new = max(relative_size(largest_between(s.r, 0, first), momentum), relative_size(largest_between(s.r, first, last), length))
        if used != EXACT or taken_back:
            shrinks = new < 0.75 * norm
        elif attempt == NATURAL:
            solve(b, s)
            shrinks = new < 1e300 and largest_between(s.z, 0, first) < (1.0 - 0.25 * fraction) * correction
        else:
            shrinks = new < (10.0 if attempt == BOLD else 1.0 - 0.25 * fraction) * norm
        if taken_back or new <= 1.0 or shrinks:
            if not taken_back:
                learn(memory, used, new / norm if fraction == 1.0 else ALWAYS_NEW, correction)
            norm = new
            if not (norm < 1e300) or (norm <= 1.0 and (evaluations > 1 or norm <= 1e-3)):
                break
            fraction, taken_back = 1.0, False
            used = choose_factorisation(m, b, s, memory, h, norm, retraction)
            solve(b, s)
            correction = largest_between(s.z, 0, first)
            set_correction(s)
            for j in range(last):
                s.d_old[j] = s.d[j]
        elif used == EXACT:
            fraction *= 0.5
            if fraction < 1e-4 or attempt == BOLD:
                norm = new
                break
        else:
            learn(memory, used, ALWAYS_NEW, correction)
            fraction, taken_back = 0.0, True
        if evaluations >= max_evaluations:
            break
        for j in range(last):
            s.d[j] = s.d_old[j] - fraction * s.step[j]
    return evaluations, norm


@inlined
def relative_size(value, unit):
    if value != value:
        return 1e301
    return value / unit if value > 0.0 else 0.0


@inlined
def corrections(norm, rate):
    """How many corrections that shrink the residual by `rate` each lead from norm (in units of what is allowed) below ENOUGH."""
    if norm * rate <= ENOUGH:
        return 1.0
    if rate > 0.9:
        return 1e3
    return math.ceil(math.log(norm / ENOUGH) / -math.log(rate))


@inlined
def keeps(memory, norm):
    """Whether the factorisation at hand leads to the solution sooner than a new one.

    A new one costs FACTORISATION corrections more, but is worth it the sooner the longer the one at hand has served.  By how much one
    shrinks the residual, rho, is proportional to how far from the solution it was made: made again at the present iterate, it would
    do so by rho^2.
    """
    rate = memory[RATE]
    if rate >= ALWAYS_NEW:
        return False
    if memory[AGE] == 0.0:
        return corrections(norm, rate) <= FACTORISATION + corrections(norm, rate * rate)
    return corrections(norm, rate) <= FACTORISATION / memory[AGE] + corrections(norm, memory[RATE_EXACT])


@kernel
def choose_factorisation(m, b, s, memory, h, norm, retraction):
    """Make a new factorisation if that leads to the solution sooner; returns OLD or EXACT."""
    if keeps(memory, norm):
        return OLD
    if memory[AGE] == 1.0:
        memory[RATE_AGED] *= 0.95  # gets a little better every time it is turned down, so that it is tried again
    memory[AGE] = 0.0
    assemble(m, b, s, h, retraction, True)
    if m.law_on.shape[0] > 0:
        add_law_damping(m, b, s, retraction)
    factorise(b, s)
    return EXACT


@inlined
def learn(memory, used, rate, correction):
    """Remember by how much a correction shrank the residual, and what to expect of the next one by the same factorisation.

    The multipliers enter linearly, so the first correction by a new factorisation removes their errors and says little about the
    next one; that is estimated from the size of the first correction.
    """
    if used == EXACT:
        memory[RATE_EXACT] = min(rate, 0.1)  # if not by the first correction, then by the next
        memory[FIRST_CORRECTION] = correction
        memory[RATE] = max(rate, memory[CURVATURE] * correction)
    else:
        memory[RATE] = rate
        if memory[AGE] == 0.0 and memory[FIRST_CORRECTION] > 0.0:
            memory[CURVATURE] = min(rate, 1.0) / memory[FIRST_CORRECTION]
        elif memory[AGE] == 1.0:
            memory[RATE_AGED] = min(rate, 1.0)


@inlined
def momentum_scale(m, b, s, h, tol):
    """What momenta are compared with: the sum of the bodies' momenta, whatever their directions, but not below what is rounded.

    Where nothing moves, positions are still rounded, and to put that right takes impulses.
    """
    angular, linear, mass, inertia = 0.0, 0.0, 0.0, 0.0
    for i in range(1, s.target.shape[0]):
        angular += max(abs(s.target[i, 0]), abs(s.target[i, 1]), abs(s.target[i, 2]))
        linear += max(abs(s.target[i, 3]), abs(s.target[i, 4]), abs(s.target[i, 5]))
        mass += b.body[i, MASS]
        inertia += max(b.body[i, INERTIA], b.body[i, INERTIA + 3], b.body[i, INERTIA + 5])
    top = max(angular, linear, 5e-16 / (tol * abs(h)) * max(mass * b.extent, inertia))
    if m.custom.shape[0] > 0:
        top = max(top, largest_between(s.load, 0, s.load.shape[0]))
    if m.law_on.shape[0] > 0:
        top = max(top, largest_law_impulse(s, h))
    return top


@inlined
def length_scale(b, s, tol):
    """What constraint errors are compared with: displacements, but not below what constraints are rounded to.

    Rounding does not vanish with the size of the bodies: directions are rounded as unit vectors, whose errors are those of numbers
    around 1, positions and angles that constraints compare as what they have grown to.
    """
    move = 0.0
    for i in range(1, s.node.shape[0]):
        for a in range(6):
            move = max(move, abs(s.d[6 * (i - 1) + a]))
    return max(move, 1e-4 * b.extent, 5e-16 / tol, 4e-15 * max(b.extent, largest_compared(b, s)) / tol)


@inlined
def largest_compared(b, s):
    """Largest distance, m, or coordinate of a gear, rad or m, that constraints look at."""
    top = 0.0
    for c in range(b.con.shape[0]):
        if b.con[c, CON_KIND] == GEAR:
            j = b.con[c, FIRST_ROW]
            top = max(top, abs(s.q[int(b.row[j, ROW_U + 2])]), abs(b.row[j, ROW_W + 1] * s.q[int(b.row[j, ROW_W])]))
        elif b.con[c, ROWS] > 0:
            for a in range(3):
                top = max(top, abs(s.apart[c, a]))
    return top


# --------------------------------------------------------------------------------------------- time loop


@kernel
def apply_forces(m, b, s, kick):
    """target += kick * (gravity, wrenches, springs, potentials) at the node."""
    g = (m.gravity[0], m.gravity[1], m.gravity[2])
    for i in range(1, s.node.shape[0]):
        f = tmatvec(load9(s.node, i, POSE_R), scale(kick * b.body[i, MASS], g))
        for a in range(3):
            s.target[i, 3 + a] += f[a]
    kick_by_wrenches(m, b, s, kick)
    if m.pair_on.shape[0] > 0:
        kick_by_points(m, b, s, kick)
    if m.has_springs or m.energy_at.shape[0] > 0:
        kick_by_coordinates(m, b, s, kick)


@kernel
def arrive(m, b, s, h, t):
    """Move to the end of the step: new node, momenta arriving there and the kick, in `target`."""
    for i in range(1, s.node.shape[0]):
        k = 6 * (i - 1)
        D, move = load9(s.disp, i, D_R), (s.d[k + 3], s.d[k + 4], s.d[k + 5])
        # Ad_D' mu of docs/theory (2), less what is left of the residual, which enters the next step
        a, l = sub(load3(s.mu, i, 0), (s.r[k], s.r[k + 1], s.r[k + 2])), sub(load3(s.mu, i, 3), (s.r[k + 3], s.r[k + 4], s.r[k + 5]))
        store3(s.target, i, 0, tmatvec(D, sub(a, cross(move, l))))
        store3(s.target, i, 3, tmatvec(D, l))
        w, u = s.end[i, POSE_W], load3(s.end, i, POSE_U)
        n = 1.0 / (w * w + dot(u, u)) ** 0.5
        w, u = n * w, scale(n, u)
        s.node[i, POSE_W] = w
        store3(s.node, i, POSE_U, u)
        store9(s.node, i, POSE_R, quat_to_matrix(w, u))
        store3(s.node, i, POSE_X, load3(s.end, i, POSE_X))
    for c in range(s.apart.shape[0]):
        store3(s.apart, c, 0, load3(s.apart_end, c, 0))
    for j in range(s.off.shape[0]):
        s.off[j] = s.r[6 * (s.node.shape[0] - 1) + j]
    coordinates(m, b, s, s.node, s.apart, s.q_end)
    if depends_on_speed(m):
        increments(m, s.q, s.q_end, True, s.dq)
        joint_impulses(m, s, h, t, s.q_end)
        add_joint_forces(m, b, s, s.node, s.apart, s.q_end, s.load_row, 0, 1.0, s.target)
    if m.law_on.shape[0] > 0:
        push_at_end(m, b, s, h, t)
    for j in range(s.q.shape[0]):
        s.q[j] = s.q_end[j]
    apply_forces(m, b, s, h)
    force_directions(m, b, s)


@inlined
def any_force(tau, row):
    top = 0.0
    for j in range(tau.shape[1]):
        top = max(top, abs(tau[row, j]))
    return top > 0.0


@kernel
def constraint_error(b, s):
    """Largest violation at the end of the last step."""
    return largest_between(s.r, 6 * (s.node.shape[0] - 1), s.r.shape[0])


@entry
def run(m, b, s, memory, h, steps, tau, tol, retraction, max_evaluations, stride, out_q, out_target, out_error, evaluations):
    """Make `steps` steps of length h; returns (steps made, status).  As kernels/variational.py `run`.

    out_error    (rows,) largest constraint violation at the recorded nodes
    """
    unknowns, first = s.d.shape[0], 6 * (s.node.shape[0] - 1)
    if memory[STARTED] == 0.0:  # `target` holds momenta: add the half kick
        apply_forces(m, b, s, 0.5 * h)
        memory[STARTED] = 1.0
    for step in range(steps):
        row = step if tau.shape[0] > 1 else 0
        forced = any_force(tau, row)
        for i in range(1, s.target.shape[0]):
            for a in range(6):
                s.target_last[i, a] = s.target[i, a]
        if forced:
            add_joint_forces(m, b, s, s.node, s.apart, s.q, tau, row, 0.5 * h, s.target)
        for j in range(unknowns):
            s.d_last[j] = s.d[j]
        continue_polynomial(s.d, s.history, int(memory[HISTORY]), 0, first, False)
        continue_polynomial(s.d, s.history, int(memory[HISTORY]), first, unknowns, False)
        count, norm = 0, 0.0
        for attempt in (BOLD, CAREFUL, NATURAL):
            more = min(max_evaluations, BOLD_EVALUATIONS) if attempt == BOLD else max_evaluations
            more, norm = newton(m, b, s, memory, h, memory[TIME], tol, retraction, more, attempt)
            count += more
            if norm <= 1.0:
                break
            memory[RATE] = ALWAYS_NEW
            for j in range(unknowns):  # perhaps a misleading guess: try again from the last increment, more carefully
                s.d[j] = s.d_last[j]
        evaluations[step] = count
        memory[LAST_RESIDUAL] = norm * tol * memory[SCALE]
        if not (norm <= 1.0):
            for j in range(unknowns):
                s.d[j] = s.d_last[j]
            for i in range(1, s.target.shape[0]):
                for a in range(6):
                    s.target[i, a] = s.target_last[i, a]
            memory[HISTORY], memory[RATE] = 0.0, ALWAYS_NEW
            return step, STALLED if norm < 1e300 else NOT_FINITE
        memory[TIME] += h
        memory[HISTORY] += 1.0
        arrive(m, b, s, h, memory[TIME])
        if forced:
            add_joint_forces(m, b, s, s.node, s.apart, s.q, tau, row, 0.5 * h, s.target)
        if m.has_charts:
            change_charts(m, s)
        if (step + 1) % stride == 0:
            k = (step + 1) // stride - 1
            for j in range(s.q.shape[0]):
                out_q[k, j] = s.q[j]
            joint_momenta(m, b, s, s.q, s.target, out_target[k])
            out_error[k] = constraint_error(b, s)
    return steps, CONVERGED
