"""The variational time loop: guess, solve, next node.  One compiled call makes many steps.

`mid` is None for the trapezoidal quadrature and a `Middle` for the midpoint one; `other` is None for the O(n) Newton and a
`Comparison` for the solvers of kernels/comparison.py.  Numba compiles each combination on its own, without the branches
it does not take.
"""

from ..lie.jit import entry, inlined, kernel
from .comparison import find_root
from .layout import ALWAYS_NEW, EXTRAPOLATE, HISTORY, IG1, LAST_RESIDUAL, RATE, RATE_MASS, SCALE, STARTED, TIME
from .midpoint import factorise12, solve12
from .step import arrive, begin, extrapolate, full_residual, momentum_scale
from .tree_newton import assemble, factorise, factorise_mass, solve

# status of a run
CONVERGED, STALLED, NOT_FINITE, SINGULAR = 0, 1, 2, 3


@inlined
def newton(m, w, mid, memory, h, t, tol, retraction, max_evaluations):
    """Solve the step; returns (evaluations, residual).  At least one correction is made unless the guess is perfect.

    Three factorisations of rising cost are used, the first that promises to get there with one correction: the one at
    hand from an earlier iterate or step, that of the mass matrix, and that of the exact Jacobian.  What they promise is
    how much they shrank the residual last time.  A correction by one of the first two that fails is taken back; one by
    the exact Jacobian is halved until it works (backtracking).
    """
    evaluations = 0
    norm, limit = 0.0, 0.0
    fraction = 1.0
    exact, from_mass, taken_back = False, False, True  # nothing to compare the first residual with
    while True:
        new = full_residual(m, w, mid, h, t, retraction)
        evaluations += 1
        if evaluations == 1:
            memory[SCALE] = momentum_scale(m, w, mid, h)
            limit = tol * memory[SCALE]
        if taken_back or new <= limit or new < (1.0 - 0.25 * fraction) * norm:
            if not taken_back:
                memory[RATE] = min(new / norm, 0.5) if fraction == 1.0 else ALWAYS_NEW
                if from_mass:
                    memory[RATE_MASS] = memory[RATE]
            norm = new
            if not (norm < 1e300) or (norm <= limit and (evaluations > 1 or norm <= 1e-3 * limit)):
                break
            fraction, taken_back = 1.0, False
            exact, from_mass = choose_factorisation(m, w, mid, memory, h, norm, limit, retraction)
            if mid is None:
                solve(m, w)
            else:
                solve12(m, w, mid, h)
            for j in range(w.d.shape[0]):
                w.d_old[j] = w.d[j]
                w.step[j] = w.z[j]
        elif exact:
            fraction *= 0.5
            if fraction < 1e-4:
                norm = new
                break
        else:
            memory[RATE] = ALWAYS_NEW
            memory[RATE_MASS] = 1.0 if from_mass else memory[RATE_MASS]
            fraction, taken_back = 0.0, True
        if evaluations >= max_evaluations:
            break
        for j in range(w.d.shape[0]):
            w.d[j] = w.d_old[j] - fraction * w.step[j]
    return evaluations, norm


@kernel
def choose_factorisation(m, w, mid, memory, h, norm, limit, retraction):
    """Make a new factorisation if the one at hand will not do; returns (is it the exact one, is it that of the mass matrix)."""
    enough = 0.3 * limit
    if memory[RATE] * norm <= enough:
        return False, False
    if mid is None:
        if memory[RATE] < ALWAYS_NEW and memory[RATE_MASS] * norm <= enough:
            factorise_mass(m, w, h)
            return False, True
        memory[RATE_MASS] *= 0.8  # give it another chance some time
    assemble(m, w, h, retraction)
    if mid is None:
        factorise(m, w)
    else:
        factorise12(m, w, mid, h)
    return True, False


@entry
def run(m, w, mid, other, memory, h, steps, tau, tol, retraction, guess, max_evaluations, stride, out_q, out_target, evaluations):
    """Make `steps` steps of length h; returns (steps made, status).

    tau          (1, nv) or (steps, nv) joint forces, constant over each step: half an impulse at each end
    out_*        every stride-th node is written here, the target momentum without the forces of the next step
    evaluations  number of residual evaluations of each step
    """
    nv = w.d.shape[0]
    if memory[STARTED] == 0.0:
        begin(m, w, mid, h)
        memory[STARTED] = 1.0
    for step in range(steps):
        row = step if tau.shape[0] > 1 else 0
        for j in range(nv):
            w.target[j] += 0.5 * h * tau[row, j]
        if guess == EXTRAPOLATE:
            extrapolate(w, int(memory[HISTORY]))
        elif guess == IG1:
            for j in range(nv):
                w.d[j] = 0.0
        if other is None:
            count, norm = 0, 0.0
            for attempt in range(2):
                more, norm = newton(m, w, mid, memory, h, memory[TIME], tol, retraction, max_evaluations)
                count += more
                if guess != EXTRAPOLATE or norm <= tol * memory[SCALE]:
                    break
                memory[RATE] = ALWAYS_NEW
                for j in range(nv):  # a misleading guess: try again from the last increment
                    w.d[j] = w.history[0, j]
        else:
            count, norm = find_root(m, w, mid, other, memory, h, tol, retraction, guess, max_evaluations)
        evaluations[step] = count
        memory[LAST_RESIDUAL] = norm
        if not (norm <= tol * memory[SCALE]):
            return step, STALLED if norm < 1e300 else NOT_FINITE
        memory[TIME] += h
        memory[HISTORY] += 1.0
        arrive(m, w, mid, h, memory[TIME])
        for j in range(nv):
            w.target[j] += 0.5 * h * tau[row, j]
        if (step + 1) % stride == 0:
            k = (step + 1) // stride - 1
            for j in range(w.q.shape[0]):
                out_q[k, j] = w.q[j]
            for j in range(nv):
                out_target[k, j] = w.target[j]
    return steps, CONVERGED
