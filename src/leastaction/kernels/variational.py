"""The variational time loop: guess, Newton with backtracking, next node.  One compiled call makes many steps."""

from ..joints import dispatch
from ..joints.dispatch import REVOLUTE
from ..lie.jit import entry, inlined, kernel
from .drnea import carry_residual, residual, set_node
from .layout import KIND, NV, QI, VI
from .loads import custom_forces, spring_gradient
from .tree_newton import assemble, factorise, solve

# status of a run
CONVERGED, STALLED, NOT_FINITE = 0, 1, 2

# guesses
IG1, IG2, IG3, EXTRAPOLATE = range(4)

# entries of the memory that survives between calls
STARTED, RATE, HISTORY, TIME, SCALE, LAST_RESIDUAL = range(6)
MEMORY = 6

ALWAYS_NEW = 1e300  # as RATE: the factorisation at hand is of no use


@kernel
def largest(a):
    top = 0.0
    for j in range(a.shape[0]):
        x = abs(a[j])
        if not (x <= top):  # true for NaN too
            top = x
    return top


@kernel
def full_residual(m, w, h, t, retraction):
    """Residual with everything that acts on the joints during the step; returns its largest entry."""
    norm = residual(m, w, h, retraction)
    if m.has_dampers:  # left half impulse of -c d/h
        for j in range(w.r.shape[0]):
            w.r[j] += 0.5 * m.damping[j] * w.d[j]
        norm = largest(w.r)
    if m.custom.shape[0] > 0:
        custom_forces(m, t, w.q, w.d, h, w.z, w.load)
        for j in range(w.r.shape[0]):
            w.r[j] -= 0.5 * h * w.load[j]
        norm = largest(w.r)
    return norm


@kernel
def guess_increment(w, memory, order):
    """Extrapolate the increments of the last steps by a polynomial (DESIGN: two evaluations per step on smooth motion)."""
    known = min(order, int(memory[HISTORY]) - 1)
    hist = w.history
    for j in range(w.d.shape[0]):
        d0, d1, d2, d3 = w.d[j], hist[0, j], hist[1, j], hist[2, j]
        x = d0
        if known == 1:
            x = 2.0 * d0 - d1
        elif known == 2:
            x = 3.0 * (d0 - d1) + d2
        elif known >= 3:
            x = 4.0 * (d0 + d2) - 6.0 * d1 - d3
        hist[2, j] = d2
        hist[1, j] = d1
        hist[0, j] = d0
        w.d[j] = x


@kernel
def newton(m, w, memory, h, t, tol, retraction, max_evaluations):
    """Solve the step; returns (evaluations, residual).  At least one correction is made unless the guess is perfect.

    The factorisation of an earlier iterate or step is kept as long as the rate at which it shrank the residual last
    time (memory[RATE]) promises to get there with one correction.  A correction with an old factorisation that fails
    is taken back; one with a new factorisation that fails is halved until it works (backtracking).
    """
    limit = tol * memory[SCALE]
    norm = full_residual(m, w, h, t, retraction)
    evaluations = 1
    while evaluations < max_evaluations:
        if not (norm < 1e300) or (norm <= limit and (evaluations > 1 or norm <= 1e-3 * limit)):
            break
        fresh = memory[RATE] * norm > 0.3 * limit
        if fresh:
            assemble(m, w, h, retraction)
            factorise(m, w, m.damping)
        solve(m, w)
        for j in range(w.d.shape[0]):
            w.d_old[j] = w.d[j]
            w.d[j] -= w.z[j]
        new = full_residual(m, w, h, t, retraction)
        evaluations += 1
        if not (new <= 0.5 * norm) and new > limit:
            memory[RATE] = ALWAYS_NEW
            if not fresh:
                restore(w)
                norm = full_residual(m, w, h, t, retraction)
                evaluations += 1
                continue
            new, evaluations = backtrack(m, w, h, t, retraction, norm, new, evaluations, max_evaluations)
            if not (new < norm):
                norm = new
                break
        memory[RATE] = min(new / norm, 0.5)
        norm = new
    return evaluations, norm


@inlined
def restore(w):
    for j in range(w.d.shape[0]):
        w.d[j] = w.d_old[j]


@kernel
def backtrack(m, w, h, t, retraction, norm, new, evaluations, max_evaluations):
    """Halve the correction until the residual is smaller than before it."""
    fraction = 1.0
    while not (new < norm) and evaluations < max_evaluations and fraction > 1e-6:
        fraction *= 0.5
        for j in range(w.d.shape[0]):
            w.d[j] = w.d_old[j] + 0.5 * (w.d[j] - w.d_old[j])
        new = full_residual(m, w, h, t, retraction)
        evaluations += 1
    return new, evaluations


@kernel
def advance_coordinates(m, w):
    for i in range(1, m.link.shape[0]):
        v = m.link[i, VI]
        if m.link[i, KIND] == REVOLUTE:
            w.q[m.link[i, QI]] += w.d[v]
        else:
            dispatch.advance(m.link[i, KIND], w.q, m.link[i, QI], w.d, v, m.link[i, NV])


@kernel
def add_springs(m, w, impulse):
    if m.has_springs:
        spring_gradient(m, w.q, w.d, 0.0, w.load)
        for j in range(w.d.shape[0]):
            w.target[j] -= impulse * w.load[j]


@kernel
def begin(m, w, h, retraction):
    """From the momentum p in `target` to p + half a kick at the configuration q."""
    for j in range(w.d.shape[0]):
        w.z[j] = w.target[j]
    set_node(m, w, h, 0.5 * h, False, retraction, w.target)
    for j in range(w.d.shape[0]):
        w.target[j] += w.z[j]
    add_springs(m, w, 0.5 * h)


@kernel
def arrive(m, w, h, t, retraction):
    """Move to the end of the step: new q, new node, target momentum of the next step (its half kick included)."""
    advance_coordinates(m, w)
    set_node(m, w, h, h, True, retraction, w.target)
    carry_residual(m, w)
    if m.has_dampers:
        for j in range(w.d.shape[0]):
            w.target[j] -= 0.5 * m.damping[j] * w.d[j]
    add_springs(m, w, h)
    if m.custom.shape[0] > 0:
        custom_forces(m, t, w.q, w.d, h, w.z, w.load)
        for j in range(w.d.shape[0]):
            w.target[j] += 0.5 * h * w.load[j]


@entry
def run(m, w, memory, h, steps, tau, tol, retraction, guess, max_evaluations, stride, out_q, out_target, evaluations):
    """Make `steps` steps of length h; returns (steps made, status).

    tau          (1, nv) or (steps, nv) joint forces, constant over each step: half an impulse at each end
    out_*        every stride-th node is written here, the target momentum without the forces of the next step
    evaluations  number of residual evaluations of each step
    """
    nv = w.d.shape[0]
    if memory[STARTED] == 0.0:
        begin(m, w, h, retraction)
        memory[STARTED] = 1.0
    for step in range(steps):
        row = step if tau.shape[0] > 1 else 0
        for j in range(nv):
            w.target[j] += 0.5 * h * tau[row, j]
        memory[SCALE] = largest(w.target)
        if guess == EXTRAPOLATE:
            guess_increment(w, memory, 3)
        elif guess == IG1:
            for j in range(nv):
                w.d[j] = 0.0
        count, norm = newton(m, w, memory, h, memory[TIME], tol, retraction, max_evaluations)
        evaluations[step] = count
        memory[LAST_RESIDUAL] = norm
        if not (norm <= tol * memory[SCALE]):
            return step, STALLED if norm < 1e300 else NOT_FINITE
        memory[TIME] += h
        memory[HISTORY] += 1.0
        arrive(m, w, h, memory[TIME], retraction)
        for j in range(nv):
            w.target[j] += 0.5 * h * tau[row, j]
        if (step + 1) % stride == 0:
            k = (step + 1) // stride - 1
            for j in range(w.q.shape[0]):
                out_q[k, j] = w.q[j]
            for j in range(nv):
                out_target[k, j] = w.target[j]
    return steps, CONVERGED
