"""The variational time loop: guess, solve, next node.  One compiled call makes many steps.

`mid` is None for the trapezoidal quadrature and a `Middle` for the midpoint one; `other` is None for the O(n) Newton and a
`Comparison` for the solvers of kernels/comparison.py; `con` is None for a tree and its `Ties` if there are constraints.  Numba
compiles each combination on its own, without the branches it does not take.
"""

from ...compiling.decorators import entry, inlined, kernel
from ...yardsticks.comparison import find_root
from ..constraints.bordered import border, constrained_residual, correct, impulse_size, set_scales, violation
from ..constraints.ties import constrain_node
from ..tree.charts import switch_charts
from ..tree.layout import AGE, ALWAYS_NEW, EXTRAPOLATE, HISTORY, IG1, LAST_RESIDUAL, RATE, RATE_AGED, RATE_FIRST, SCALE, STARTED, TIME
from ..tree.midpoint_potentials import factorise_middle, solve_middle
from ..tree.newton_matrix import assemble, factorise, solve
from ..tree.step import arrive, begin, continue_polynomial, extrapolate, full_residual, give_up, largest, momentum_scale, start_step

# status of a run
CONVERGED, STALLED, NOT_FINITE = 0, 1, 2

BOLD_EVALUATIONS = 10  # of a first attempt without backtracking

# where a factorisation comes from
OLD, FIRST_ORDER, EXACT = 0, 1, 2


@inlined
def newton(m, w, mid, con, memory, h, t, tol, retraction, max_evaluations, careful, patient):
    """Solve the step; returns (evaluations, residual).  At least one correction is made unless the guess is perfect.

    Three factorisations of rising cost are used, the first that promises to get there with one correction: the one at
    hand from an earlier iterate or step, that of the Jacobian to first order in the displacements, and the exact one.
    What they promise is how much they shrank the residual last time.  A correction by one of the first two that fails
    is taken back.  One by the exact Jacobian may let the residual grow tenfold for once, or, if `careful`, is halved until
    the residual shrinks (backtracking): a full step often leads to the solution over a ridge that small ones creep along.

    With constraints the residual is the larger one of momenta and, as a fraction of what moves and in units of momentum, constraints.
    """
    evaluations = 0
    norm, limit = 0.0, 0.0
    fraction = 1.0
    used, taken_back = OLD, True  # nothing to compare the first residual with
    while True:
        new = full_residual(m, w, mid, h, t, retraction)
        evaluations += 1
        if evaluations == 1:
            memory[SCALE] = momentum_scale(m, w, mid, h)
            if con is not None:
                memory[SCALE] = max(memory[SCALE], impulse_size(con))
                set_scales(w, con)
            limit = tol * memory[SCALE]
            grow_old(memory)
        if con is not None:
            constrained_residual(m, w, con, t + h)
            new = max(largest(w.r), memory[SCALE] * violation(con))
        allowed = 10.0 if used == EXACT and not careful else 1.0 - 0.25 * fraction
        if taken_back or new <= limit or new < allowed * norm:
            if not taken_back:
                learn(memory, used, new / norm if fraction == 1.0 else ALWAYS_NEW)
            norm = new
            if not (norm < 1e300) or (norm <= limit and (evaluations > 1 or norm <= 1e-3 * limit)):
                break
            fraction, taken_back = 1.0, False
            used = choose_factorisation(m, w, mid, con, memory, h, t, norm, limit, retraction, patient)
            if mid is None:
                solve(m, w)
            else:
                solve_middle(m, w, mid, h)
            if con is not None:
                correct(w, con)
                for a in range(con.lam.shape[0]):
                    con.lam_old[a] = con.lam[a]
            for j in range(w.d.shape[0]):
                w.d_old[j] = w.d[j]
                w.step[j] = w.z[j]
        elif used == EXACT:
            fraction *= 0.5
            if fraction < 1e-4 or not careful:
                norm = new
                break
        else:
            learn(memory, used, ALWAYS_NEW)
            fraction, taken_back = 0.0, True
        if evaluations >= max_evaluations:
            break
        for j in range(w.d.shape[0]):
            w.d[j] = w.d_old[j] - fraction * w.step[j]
        if con is not None:
            for a in range(con.lam.shape[0]):
                con.lam[a] = con.lam_old[a] - fraction * con.step[a]
    return evaluations, norm


@inlined
def grow_old(memory):
    """A step later the factorisation at hand is worth less: how much less is known from the last time one was kept."""
    if memory[RATE] < ALWAYS_NEW:
        memory[AGE] += 1.0
        memory[RATE] = memory[RATE_AGED] if memory[AGE] == 1.0 else 1.5 * memory[RATE]


@inlined
def learn(memory, used, rate):
    """Remember how much a correction shrank the residual."""
    memory[RATE] = rate
    if used == FIRST_ORDER:
        memory[RATE_FIRST] = min(rate, 1.0)
    elif used == OLD and memory[AGE] == 1.0:
        memory[RATE_AGED] = min(rate, 1.0)


@kernel
def choose_factorisation(m, w, mid, con, memory, h, t, norm, limit, retraction, patient):
    """Make a new factorisation if the one at hand will not do; returns OLD, FIRST_ORDER or EXACT.

    A promise that was not good enough gets a little better every time it is turned down, so that it is tried again.
    """
    enough = 0.3 * limit
    if memory[RATE] * norm <= enough:
        return OLD
    if memory[AGE] == 1.0:
        memory[RATE_AGED] *= 0.95
    # the exact one costs more than two corrections with the first-order one
    rate = memory[RATE_FIRST] * (memory[RATE_FIRST] if patient else 1.0)
    first_order = mid is None and memory[RATE] < ALWAYS_NEW and rate * norm <= enough
    if not first_order:
        memory[RATE_FIRST] *= 0.95
    memory[AGE] = 0.0
    assemble(m, w, h, retraction, not first_order)
    if mid is None:
        factorise(m, w)
    else:
        factorise_middle(m, w, mid, h)
    if con is not None:
        border(m, w, mid, con, h, t + h)
    return FIRST_ORDER if first_order else EXACT


@inlined
def guess_multipliers(con, memory, guess):
    for a in range(con.lam.shape[0]):
        con.lam_last[a] = con.lam[a]
    if guess == EXTRAPOLATE:
        continue_polynomial(con.lam, con.history, int(memory[HISTORY]), 0, con.lam.shape[0], True)


@inlined
def back_to_last(w, con):
    """The last increment and multipliers as the guess."""
    for j in range(w.d.shape[0]):
        w.d[j] = w.d_last[j]
    if con is not None:
        for a in range(con.lam.shape[0]):
            con.lam[a] = con.lam_last[a]


@inlined
def solve_step(m, w, mid, con, memory, h, tol, retraction, max_evaluations, patient):
    """Solve from the guess in d, boldly first, and if that fails carefully from the last increment; (evaluations, residual).

    patient: rather correct twice with the first-order factorisation than make the exact one; pays where stages are short.
    """
    count, norm = 0, 0.0
    for attempt in range(2):
        more = max_evaluations if attempt == 1 else min(max_evaluations, BOLD_EVALUATIONS)
        more, norm = newton(m, w, mid, con, memory, h, memory[TIME], tol, retraction, more, attempt == 1, patient)
        count += more
        if norm <= tol * memory[SCALE]:
            break
        memory[RATE] = ALWAYS_NEW
        if attempt == 0:  # a misleading guess: try again from the last increment, carefully
            back_to_last(w, con)
    return count, norm


@entry
def run(
    m, w, mid, other, con, memory, h, steps, tau, tol, retraction, guess, max_evaluations, stride, out_q, out_target, out_error, evaluations
):  # fmt: skip
    """Make `steps` steps of length h; returns (steps made, status).

    tau          (1, nv) or (steps, nv) joint forces, constant over each step: half an impulse at each end
    out_*        every stride-th node is written here, the target momentum without the forces of the next step; with constraints
                 also their largest error
    evaluations  number of residual evaluations of each step
    """
    nv = w.d.shape[0]
    if memory[STARTED] == 0.0:
        begin(m, w, mid, h)
        memory[STARTED] = 1.0
        if con is not None:
            constrain_node(m, w, con, memory[TIME])
    for step in range(steps):
        row = step if tau.shape[0] > 1 else 0
        start_step(w, h, tau, row)
        if guess == EXTRAPOLATE:
            extrapolate(w, int(memory[HISTORY]))
        elif guess == IG1:
            for j in range(nv):
                w.d[j] = 0.0
        if con is not None:
            guess_multipliers(con, memory, guess)
        if other is None:
            count, norm = solve_step(m, w, mid, con, memory, h, tol, retraction, max_evaluations, False)
        else:
            count, norm = find_root(m, w, mid, other, memory, h, tol, retraction, guess, max_evaluations)
        evaluations[step] = count
        memory[LAST_RESIDUAL] = norm
        if not (norm <= tol * memory[SCALE]):
            give_up(w, memory)
            back_to_last(w, con)
            return step, STALLED if norm < 1e300 else NOT_FINITE
        memory[TIME] += h
        memory[HISTORY] += 1.0
        arrive(m, w, mid, h, memory[TIME])
        for j in range(nv):
            w.target[j] += 0.5 * h * tau[row, j]
        if m.has_charts and switch_charts(m, w, w.q, w.d, w.target):  # increments and factors of the past are of no use there
            memory[HISTORY] = 0.0
            memory[RATE] = ALWAYS_NEW
        error = 0.0
        if con is not None:
            error = constrain_node(m, w, con, memory[TIME])
        if (step + 1) % stride == 0:
            k = (step + 1) // stride - 1
            if con is not None:
                out_error[k] = error
            for j in range(w.q.shape[0]):
                out_q[k, j] = w.q[j]
            for j in range(nv):
                out_target[k, j] = w.target[j]
    return steps, CONVERGED
