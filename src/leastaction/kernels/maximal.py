"""The variational step in maximal coordinates: residual, Newton, time loop.   Bruedigam and Manchester 2020, in momentum form

    mu_i(D_i) - target_i - (G_0' lambda)_i = 0        momenta leaving the node are those that arrived, with the constraints' impulses
    g(T_end) = 0                                      constraints hold at the end of the step

Bodies are the discrete bodies of docs/theory (1) to (3); unknowns are their displacements over the step and the multipliers.
"""

from ..lie import retraction_quaternion as quaternion
from ..lie import retractions
from ..lie.algebra import (
    add,
    axpy,
    cross,
    dot,
    load3,
    load6,
    load9,
    matmul,
    matvec,
    quat_mul,
    quat_to_matrix,
    scale,
    store3,
    store9,
    sub,
    symvec,
    tmatvec,
)  # fmt: skip
from ..lie.jit import entry, inlined, kernel
from .fronts import factorise, solve
from .layout import (
    AGE,
    ALWAYS_NEW,
    HISTORY,
    INERTIA,
    LAST_RESIDUAL,
    MASS,
    MOMENT,
    NV,
    RATE,
    RATE_AGED,
    RATE_FIRST,
    SCALE,
    STARTED,
    TIME,
    VI,
    W_FORCE,
    W_MOMENT,
    W_POINT,
    WORLD_FIXED,
)  # fmt: skip
from .loads import custom_forces, spring_gradient
from .maximal_joints import add_joint_forces, coordinates, damper_columns, increments, joint_momenta
from .maximal_layout import (
    D_MOVE,
    D_R,
    D_U,
    D_W,
    FIRST_ROW,
    POSE_R,
    POSE_U,
    POSE_W,
    POSE_X,
    ROWS,
    SLOT_AT,
    SLOT_B,
    SLOT_BODY,
    SLOT_C,
    SLOT_CON,
    SLOT_STRIDE,
)  # fmt: skip
from .maximal_rows import force_directions, gradients, values
from .memory import get, put
from .step import continue_polynomial
from .tree_newton import first_order_stiffness
from .variational import BOLD_EVALUATIONS, CONVERGED, EXACT, FIRST_ORDER, NOT_FINITE, OLD, STALLED, grow_old, learn

BOLD, CAREFUL, NATURAL = 0, 1, 2  # how Newton is kept from going astray, one after the other

ENOUGH = 0.7  # of what is allowed: a factorisation that promises to get below it is used

QUATERNION = 2  # number of the retraction beside those of lie/retractions.py


# ----------------------------------------------------------------------------------------- one evaluation


@inlined
def place_end(s):
    """Displacements and end poses from the unknowns d."""
    for i in range(1, s.node.shape[0]):
        k = 6 * (i - 1)
        c = (s.d[k], s.d[k + 1], s.d[k + 2])
        n = 1.0 / (4.0 + dot(c, c)) ** 0.5
        w, u = 2.0 * n, scale(n, c)
        D = quat_to_matrix(w, u)
        s.disp[i, D_W] = w
        store3(s.disp, i, D_U, u)
        store9(s.disp, i, D_R, D)
        wn, un = quat_mul(s.node[i, POSE_W], load3(s.node, i, POSE_U), w, u)
        s.end[i, POSE_W] = wn
        store3(s.end, i, POSE_U, un)
        R = load9(s.node, i, POSE_R)
        store9(s.end, i, POSE_R, matmul(R, D))
        move = matvec(R, (s.d[k + 3], s.d[k + 4], s.d[k + 5]))
        store3(s.disp, i, D_MOVE, move)
        store3(s.end, i, POSE_X, add(load3(s.node, i, POSE_X), move))


@inlined
def body_momenta(b, s, h, retraction):
    """mu(x) of docs/theory (1), and r = mu - target."""
    for i in range(1, s.node.shape[0]):
        k = 6 * (i - 1)
        w, u, t = s.disp[i, D_W], load3(s.disp, i, D_U), (s.d[k + 3], s.d[k + 4], s.d[k + 5])
        if retraction == QUATERNION:
            phi, rho = quaternion.coordinates(w, u, t)
        else:
            phi, rho = retractions.coordinates(retraction, w, u, t)
        a = symvec(load6(b.body, i, INERTIA), scale(1.0 / h, phi))
        l = scale(b.body[i, MASS] / h, rho)
        if retraction == QUATERNION:
            a, l = quaternion.cotangent(phi, rho, a, l)
        else:
            a, l = retractions.cotangent(retraction, phi, rho, a, l)
        store3(s.x, i, 0, phi)
        store3(s.x, i, 3, rho)
        store3(s.mu, i, 0, a)
        store3(s.mu, i, 3, l)
        a, l = sub(a, load3(s.target, i, 0)), sub(l, load3(s.target, i, 3))
        s.r[k], s.r[k + 1], s.r[k + 2] = a[0], a[1], a[2]
        s.r[k + 3], s.r[k + 4], s.r[k + 5] = l[0], l[1], l[2]


@inlined
def add_multipliers(b, s):
    """r -= G0' lambda."""
    first = 6 * (s.node.shape[0] - 1)
    for e in range(b.slot.shape[0]):
        i, c = b.slot[e, SLOT_BODY], b.slot[e, SLOT_CON]
        if i > 0:
            k, at = 6 * (i - 1), first + b.con[c, FIRST_ROW]
            for j in range(b.con[c, ROWS]):
                lam = s.d[at + j]
                for a in range(6):
                    s.r[k + a] -= s.G0[e, j, a] * lam


@kernel
def push_joints(m, b, s, h, t):
    """r -= left half impulses of what depends on the joints' velocities: dampers and user forces.  Writes q_end, dq."""
    coordinates(m, b, s, s.end, s.apart_end, s.q_end)
    increments(m, s.q, s.q_end, False, s.dq)
    joint_impulses(m, s, h, t, s.q)
    clear(s.wrench)
    add_joint_forces(m, b, s, s.node, s.apart, s.q, s.load_row, 0, 1.0, s.wrench)
    for i in range(1, s.node.shape[0]):
        for a in range(6):
            s.r[6 * (i - 1) + a] -= s.wrench[i, a]


@kernel
def joint_impulses(m, s, h, t, q):
    """load = half impulses of dampers and user forces for the increments dq."""
    custom_forces(m, t, q, s.dq, h, s.rate, s.load)
    for j in range(s.dq.shape[0]):
        s.load[j] = 0.5 * (h * s.load[j] - m.damping[j] * s.dq[j])


@inlined
def clear(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = 0.0


@inlined
def depends_on_speed(m):
    return m.has_dampers or m.custom.shape[0] > 0


@kernel
def evaluate(m, b, s, h, t, retraction):
    """The residual at the unknowns d.  Reads node, target, G0; writes end, disp, x, mu, r."""
    place_end(s)
    body_momenta(b, s, h, retraction)
    add_multipliers(b, s)
    values(b, s, s.r, 6 * (s.node.shape[0] - 1))
    if depends_on_speed(m):
        push_joints(m, b, s, h, t)


@inlined
def largest_between(a, first, last):
    top = 0.0
    for j in range(first, last):
        x = abs(a[j])
        if x > top or x != x:  # a NaN stays
            top = x
    return top


# ----------------------------------------------------------------------------------------- Newton matrix


@inlined
def put9(a, at, stride, factor, block):
    """A 3x3 block into a front."""
    for c in range(3):
        k = at + c * stride
        put(a, k, get(a, k) + factor * block[c])
        put(a, k + 1, get(a, k + 1) + factor * block[3 + c])
        put(a, k + 2, get(a, k + 2) + factor * block[6 + c])


@kernel
def assemble(m, b, s, h, retraction, exact):
    """The Newton matrix into the fronts: K on the bodies, -G0' and G1 between bodies and constraints, dampers.

    exact: K as it is, otherwise to first order in the displacement, where all retractions are the same.
    """
    gradients(b, s)
    a = s.values
    for j in range(a.shape[0]):
        a[j] = 0.0
    for i in range(1, s.node.shape[0]):
        at, stride = b.block[i, 0], b.block[i, 1]
        phi, rho = load3(s.x, i, 0), load3(s.x, i, 3)
        mass, moment, inertia = b.body[i, MASS], load3(b.body, i, MOMENT), load6(b.body, i, INERTIA)
        if not exact:
            aa, _, _, ll = first_order_stiffness(phi, mass, moment, inertia)
        elif retraction == QUATERNION:
            aa, ll = quaternion.stiffness(phi, rho, mass, inertia)
        else:
            aa, al, la, ll = retractions.stiffness(retraction, phi, rho, mass, moment, inertia)
            put9(a, at + 3 * stride, stride, 1.0 / h, al)
            put9(a, at + 3, stride, 1.0 / h, la)
        put9(a, at, stride, 1.0 / h, aa)
        put9(a, at + 3 * stride + 3, stride, 1.0 / h, ll)
    for e in range(b.slot.shape[0]):
        if b.slot[e, SLOT_BODY] > 0:
            at, stride = b.slot[e, SLOT_AT], b.slot[e, SLOT_STRIDE]
            row, col = b.slot[e, SLOT_C], b.slot[e, SLOT_B]
            for j in range(b.con[b.slot[e, SLOT_CON], ROWS]):
                for c in range(6):
                    there, back = at + (col + c) * stride + row + j, at + (row + j) * stride + col + c
                    put(a, there, get(a, there) + s.G1[e, j, c])
                    put(a, back, get(a, back) - s.G0[e, j, c])
    for e in range(b.damped.shape[0]):
        assemble_damper(m, b, s, e)


@kernel
def assemble_damper(m, b, s, e):
    """Left half impulse -c dq/2: c/2 Z0' dZ1 on child and parent."""
    i = b.damped[e, 0]
    damper_columns(m, b, s, i)
    for j in range(m.link[i, VI], m.link[i, VI] + m.link[i, NV]):
        c = 0.5 * m.damping[j]
        for pair in range(4):
            at, stride = b.damped[e, 1 + 2 * pair], b.damped[e, 2 + 2 * pair]
            if at >= 0:
                for r in range(6):
                    for k in range(6):
                        s.values[at + k * stride + r] += c * s.Z[j, pair // 2, r] * s.Z[j, 2 + pair % 2, k]


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

    Momenta are compared with those of all bodies together, constraints with the largest displacement of the step.  Which
    factorisation is used, and when its correction is taken back: see `newton` in kernels/variational.py.  A correction by the exact
    matrix may let the residual grow tenfold (attempt BOLD), is halved until the residual shrinks (CAREFUL), or until the next
    correction by the same matrix would be smaller (NATURAL, Deuflhard's monotonicity test: near singular positions, where rods
    overlap, the residual says little about how far the solution is).
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
            memory[SCALE] = momentum_scale(m, s)
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
                learn(memory, used, new / norm if fraction == 1.0 else ALWAYS_NEW)
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
            learn(memory, used, ALWAYS_NEW)
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


@kernel
def choose_factorisation(m, b, s, memory, h, norm, retraction):
    """Make a new factorisation if the one at hand will not do; returns OLD, FIRST_ORDER or EXACT.  As in kernels/variational.py."""
    if memory[RATE] < ALWAYS_NEW and memory[RATE] * norm <= ENOUGH:
        return OLD
    if memory[AGE] == 1.0:
        memory[RATE_AGED] *= 0.95
    first_order = memory[RATE] < ALWAYS_NEW and memory[RATE_FIRST] * norm <= ENOUGH
    if not first_order:
        memory[RATE_FIRST] *= 0.95
    memory[AGE] = 0.0
    assemble(m, b, s, h, retraction, not first_order)
    factorise(b, s)
    return FIRST_ORDER if first_order else EXACT


@inlined
def momentum_scale(m, s):
    """What momenta are compared with: the sum of the bodies' momenta, whatever their directions."""
    angular, linear = 0.0, 0.0
    for i in range(1, s.target.shape[0]):
        angular += max(abs(s.target[i, 0]), abs(s.target[i, 1]), abs(s.target[i, 2]))
        linear += max(abs(s.target[i, 3]), abs(s.target[i, 4]), abs(s.target[i, 5]))
    top = max(angular, linear)
    if m.custom.shape[0] > 0:
        top = max(top, largest_between(s.load, 0, s.load.shape[0]))
    return top


@inlined
def length_scale(b, s, tol):
    """What constraint errors are compared with: displacements, but not below what joints are rounded to."""
    move = 0.0
    for i in range(1, s.node.shape[0]):
        for a in range(6):
            move = max(move, abs(s.d[6 * (i - 1) + a]))
    return max(move, 1e-4 * b.extent, 4e-15 * b.extent / tol)


# --------------------------------------------------------------------------------------------- time loop


@kernel
def apply_forces(m, b, s, kick):
    """target += kick * (gravity, wrenches, springs) at the node."""
    g = (m.gravity[0], m.gravity[1], m.gravity[2])
    for i in range(1, s.node.shape[0]):
        f = tmatvec(load9(s.node, i, POSE_R), scale(kick * b.body[i, MASS], g))
        for a in range(3):
            s.target[i, 3 + a] += f[a]
    for e in range(m.wrench_on.shape[0]):
        i = m.wrench_on[e, 0]
        force, moment = load3(m.wrench, e, W_FORCE), load3(m.wrench, e, W_MOMENT)
        if m.wrench_on[e, 1] == WORLD_FIXED:
            R = load9(s.node, i, POSE_R)
            force, moment = tmatvec(R, force), tmatvec(R, moment)
        moment = add(moment, cross(sub(load3(m.wrench, e, W_POINT), load3(b.com, i, 0)), force))
        for a in range(3):
            s.target[i, a] += kick * moment[a]
            s.target[i, 3 + a] += kick * force[a]
    if m.has_springs:
        spring_gradient(m, s.q, s.zero, 0.0, s.load)
        add_joint_forces(m, b, s, s.node, s.apart, s.q, s.load_row, 0, -kick, s.target)


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
    coordinates(m, b, s, s.node, s.apart, s.q_end)
    if depends_on_speed(m):
        increments(m, s.q, s.q_end, True, s.dq)
        joint_impulses(m, s, h, t, s.q_end)
        add_joint_forces(m, b, s, s.node, s.apart, s.q_end, s.load_row, 0, 1.0, s.target)
    for j in range(s.q.shape[0]):
        s.q[j] = s.q_end[j]
    apply_forces(m, b, s, h)
    force_directions(b, s)


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
        continue_polynomial(s.d, s.history, int(memory[HISTORY]), 0, first)
        continue_polynomial(s.d, s.history, int(memory[HISTORY]), first, unknowns)
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
        if (step + 1) % stride == 0:
            k = (step + 1) // stride - 1
            for j in range(s.q.shape[0]):
                out_q[k, j] = s.q[j]
            joint_momenta(m, b, s, s.q, s.target, out_target[k])
            out_error[k] = constraint_error(b, s)
    return steps, CONVERGED
