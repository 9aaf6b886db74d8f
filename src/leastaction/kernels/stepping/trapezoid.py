"""The trapezoidal variational integrator in joint velocities: Kobilarov 2014, (21)-(25) and, on ball and free joints, (62)-(64).

    Ld = h/2 [L(q_k, v) + L(q_{k+1}, v)],    q_{k+1} = q_k tau(h v)   (q_k + h v for plain coordinates)
Momenta at both ends, in left-trivialised variations, S(x) = dtau^-1_x on ball and free joints and 1 elsewhere:
    p_k     = S(hv)'  [M(q_k) + M(q_{k+1})] v / 2 - h/2 [dT/dq (q_k, v)     + f(q_k, v)]
    p_{k+1} = S(-hv)' [M(q_k) + M(q_{k+1})] v / 2 + h/2 [dT/dq (q_{k+1}, v) + f(q_{k+1}, v)]
T = v' M v / 2 and f all forces, those of potentials included.  Every term is a sweep over the tree.

With constraints `con` (else None) p_k - Dh(q_k)' lam is what arrived there, and h(q_{k+1}) = 0: see kernels/constraints/bordered.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, inlined, kernel
from ...compiling.records import allocate, floats, integers
from ...joints import dispatch
from ...lie.algebra import add, cross, dot, load3, scale, sub
from ..constraints.bordered import border_dense, correct, hold, impulse_size, keep_impulses, set_scales, violation
from ..constraints.ties import Ties
from ..solving.choice import EXACT, FIRST_ORDER, corrections
from ..solving.dense import lu_factor, lu_solve
from ..solving.guess import continue_polynomial
from ..solving.memory import AGE, ALWAYS_NEW, HISTORY, RATE, SCALE, TIME
from ..solving.newton import CAREFUL, PURE, Equations, residual_shrinks, solve_equations
from ..solving.sizes import UNBOUNDED, judged_apart, largest, relative_size
from ..tree.actuation import (
    arrive_driven,
    begin_actuation,
    brace,
    drive_joints,
    forget_stops,
    grip_of,
    hold_joints,
    is_actuated,
    keep_pulls,
    keep_slopes,
    largest_impulse,
    recall_slopes,
    stop_at_kinks,
    take_aim,
    turns,
)
from ..tree.articulated import mass_factor, mass_solve
from ..tree.charts import switch_charts
from ..tree.continuous import joint_twist, momentum
from ..tree.drnea import carry_residual
from ..tree.evaluate import place, smooth_forces
from ..tree.layout import ETA, KIND, NV, QI, VI, F, Tree, Work
from .explicit import advance_on_group
from .loop import FINISHED, NOT_FINITE, STALLED, Method, make_steps, tick
from .record import write_node
from .variational import Options, guess_impulses, hold_node, move_unknowns, restore_impulses

CHORD = -1  # in place of the first pivot: the mass matrix stands for the Jacobian
CHORD_CORRECTIONS = 8  # at most, with M(q_k) in place of the Jacobian, or Newton's method takes over


class Trapezoid(NamedTuple):
    """Memory beside the Work of the start and of the end of the step."""

    v: floats("nv")  # the unknown: velocity of the step
    v_old: floats("nv")  # before the last correction
    step: floats("nv")  # correction being tried
    x: floats("nv")  # h v
    q1: floats("nq")  # end of the step
    momentum0: floats("nv")  # M(q_k) v
    momentum1: floats("nv")  # M(q_{k+1}) v
    mean: floats("nv")  # their mean, seen from one end of the step
    slope: floats("nv")  # dT/dq
    potential0: floats("nv")  # forces at q_k that do not depend on v
    potential1: floats("nv")  # at q_{k+1}
    force: floats("nv")  # all forces at one end
    rate: floats("nv")  # scratch
    r_old: floats("nv")  # residual before the last correction
    J: floats("nv", "nv")  # Jacobian of Newton's method
    pivot: integers("nv")
    q_start: floats("nq")  # where the (composed) step began
    p_start: floats("nv")
    v_start: floats("nv")
    impulse: floats("m")  # of the constraints in the (composed) step
    lam_start: floats("m")  # multipliers before it


def make_trapezoid(nq: int, nv: int, rows: int = 0) -> Trapezoid:
    """rows: of the constraints."""
    return allocate(Trapezoid, {"nq": nq, "nv": nv, "m": rows})


class Arrays(NamedTuple):
    """Memory of a simulation.  w.target is the momentum p at the node, `end` the Work of the end of the step."""

    m: Tree
    w: Work
    end: Work
    trap: Trapezoid
    con: Ties | None  # constraints
    gamma: NDArray[np.float64]  # (s,) lengths of the stages in units of the step
    memory: NDArray[np.float64]
    options: Options


class Step(NamedTuple):
    """One stage: its length is options.h, `row` the joint forces of the step."""

    m: Tree
    w: Work
    end: Work
    trap: Trapezoid
    con: Ties | None
    memory: NDArray[np.float64]
    options: Options
    tau: NDArray[np.float64]


@kernel
def kinetic_slope(m, w, v, rate, out):
    """out = dT/dq at the node, velocities held fixed; after `momentum`, which leaves twists in ETA and momenta in F.

    A variation s of joint i changes the twist of its body by [A, s] + (dS/dq) v, A the twist that comes from the parent.
    """
    for i in range(1, m.link.shape[0]):
        first, n, kind = m.link[i, VI], m.link[i, NV], m.link[i, KIND]
        ja, jl = joint_twist(m, w, i, v)
        Aa, Al = sub(load3(w.row, i, ETA), ja), sub(load3(w.row, i, ETA + 3), jl)
        Fa, Fl = load3(w.row, i, F), load3(w.row, i, F + 3)
        for j in range(first, first + n):
            sa, sl = load3(w.S0, j, 0), load3(w.S0, j, 3)
            a, l = cross(Aa, sa), add(cross(Aa, sl), cross(Al, sa))
            if dispatch.columns_change(kind):
                ca, cl = column_change(m, w, i, j, v, ja, jl, rate)
                a, l = add(a, ca), add(l, cl)
            out[j] = dot(Fa, a) + dot(Fl, l)


@kernel
def column_change(m, w, i, j, v, ja, jl, rate):
    """(dS/dq_j) v of a joint with plain coordinates, from its bias B(v, v) = sum_j v_j (dS/dq_j) v alone.

    The symmetric part of B by polarisation, the other from the Maurer-Cartan equation: B(a, b) - B(b, a) = -[S a, S b].
    """
    kind, k, first = m.link[i, KIND], m.link[i, QI], m.link[i, VI]
    va, vl = dispatch.bias(kind, m.param, i, w.q, k, v, first)
    for c in range(first, first + m.link[i, NV]):
        rate[c] = 0.0
    rate[j] = 1.0
    ea, el = dispatch.bias(kind, m.param, i, w.q, k, rate, first)
    for c in range(first, first + m.link[i, NV]):
        rate[c] += v[c]
    a, l = dispatch.bias(kind, m.param, i, w.q, k, rate, first)
    sa, sl = load3(w.S0, j, 0), load3(w.S0, j, 3)
    a = sub(sub(sub(a, ea), va), cross(sa, ja))
    l = sub(sub(sub(l, el), vl), add(cross(sa, jl), cross(sl, ja)))
    return scale(0.5, a), scale(0.5, l)


@kernel
def set_end(m, w, end, trap, h, retraction):
    """End of the step for the velocity v: x, the increment d of joints/dispatch.py, q1, poses and forces there."""
    for j in range(trap.v.shape[0]):
        trap.x[j] = h * trap.v[j]
    for i in range(1, m.link.shape[0]):
        dispatch.retract(m.link[i, KIND], retraction, trap.x, m.link[i, VI], m.link[i, NV], w.d)
    advance_on_group(m, w.q, w.d, trap.q1)
    place(m, end, trap.q1, trap.potential1)


@kernel
def mean_momentum(m, trap, sign, retraction):
    """mean = S(sign h v)' (momentum0 + momentum1) / 2."""
    for j in range(trap.mean.shape[0]):
        trap.mean[j] = 0.5 * (trap.momentum0[j] + trap.momentum1[j])
    for i in range(1, m.link.shape[0]):
        dispatch.retraction_cotangent(m.link[i, KIND], retraction, trap.x, m.link[i, VI], m.link[i, NV], sign, trap.mean)


@kernel
def residual(m, w, end, trap, h, t, tau, retraction):
    """w.r = momentum the step leaves q_k with, minus target; returns its largest entry."""
    set_end(m, w, end, trap, h, retraction)
    momentum(m, end, trap.v, trap.momentum1)
    momentum(m, w, trap.v, trap.momentum0)
    kinetic_slope(m, w, trap.v, trap.rate, trap.slope)
    for j in range(trap.v.shape[0]):
        trap.force[j] = trap.potential0[j]
    smooth_forces(m, w, t, trap.v, tau, trap.force)
    mean_momentum(m, trap, 1.0, retraction)
    for j in range(trap.v.shape[0]):
        w.r[j] = trap.mean[j] - 0.5 * h * (trap.slope[j] + trap.force[j]) - w.target[j]
    drive_joints(w.actuation, m, w, h)
    return largest(w.r)


@kernel
def numerical_jacobian(m, w, end, trap, con, h, t, tau, retraction):
    """J = dr/dv, and J1 of the constraints, by differences, O(n^2).  Keeps w.r and the values of the constraints."""
    size = largest(trap.v) + 1e-3 / abs(h)
    step = 1e-7 * size
    nv = trap.v.shape[0]
    for j in range(nv):
        trap.r_old[j] = w.r[j]
    if con is not None:
        for a in range(con.value.shape[0]):
            con.step[a] = con.value[a]
    for l in range(nv):
        keep = trap.v[l]
        trap.v[l] = keep + step
        residual(m, w, end, trap, h, t, tau, retraction)
        if con is not None:
            hold(m, w, con, t + h, h)
            for a in range(con.value.shape[0]):
                con.J1[a, l] = (con.value[a] - con.step[a]) / step
        for j in range(nv):
            trap.J[j, l] = (w.r[j] - trap.r_old[j] - grip_of(w.actuation, j)) / step  # dry friction is not differentiated
        trap.v[l] = keep
    for j in range(nv):
        w.r[j] = trap.r_old[j]
    if con is not None:
        for a in range(con.value.shape[0]):
            con.value[a] = con.step[a]


# ------------------------------------------------------------------------------------------------------------- equations


@inlined
def evaluate(s, first):
    return evaluate_step(s, s.con, first)


@inlined
def evaluate_step(s, con, first):
    h, memory = s.options.h, s.memory
    norm = residual(s.m, s.w, s.end, s.trap, h, memory[TIME], s.tau, s.options.retraction)
    if first:
        memory[SCALE] = max(largest(s.w.target), 0.5 * abs(h) * largest(s.trap.force))
        memory[AGE] = 1.0  # what is at hand belongs to another node
        memory[SCALE] = max(memory[SCALE], largest_impulse(s.w.actuation))
        if con is not None:
            memory[SCALE] = max(memory[SCALE], impulse_size(con))
            set_scales(s.w, con)
        forget_stops(s.w.actuation)
    if con is not None:
        hold(s.m, s.w, con, memory[TIME] + h, h)
    held = hold_joints(s.w.actuation, s.m, s.w)
    if con is not None:
        norm = max(largest(s.w.r), memory[SCALE] * violation(con))
    elif held:
        norm = largest(s.w.r)
    size = relative_size(norm, s.options.tol * memory[SCALE])
    return judged_apart(s.m.felt, s.w, con, s.trap.force, 0.5 * h, size, s.options.tol)


@inlined
def choose(s, size):
    return choose_factorisation(s, s.con, size)


@inlined
def choose_factorisation(s, con, size):
    """M(q_k) in place of the Jacobian as long as that converges fast, else the Jacobian by differences."""
    memory = s.memory
    if con is not None or is_actuated(s.w.actuation, s.m):
        memory[AGE], memory[RATE] = 0.0, ALWAYS_NEW  # M knows nothing of servos and of constraints
        keep_slopes(s.w.actuation)
    if memory[AGE] == 1.0:
        memory[AGE], memory[RATE] = 0.0, 0.0
        mass_factor(s.m, s.w)
    if memory[RATE] < 0.3 and corrections(size, memory[RATE]) <= CHORD_CORRECTIONS:
        s.trap.pivot[0] = CHORD
        return FIRST_ORDER
    numerical_jacobian(s.m, s.w, s.end, s.trap, con, s.options.h, memory[TIME], s.tau, s.options.retraction)
    recall_slopes(s.w.actuation)
    brace(s.w.actuation, s.trap.J, True)
    lu_factor(s.trap.J, s.trap.pivot, s.trap.v.shape[0])
    if con is not None:
        border_dense(con, s.trap.J, s.trap.pivot)
    return EXACT


@inlined
def solve(s):
    return solve_linear(s, s.con)


@inlined
def solve_linear(s, con):
    nv = s.trap.v.shape[0]
    keep_pulls(s.w.actuation, s.m, s.w)
    if s.trap.pivot[0] == CHORD:
        mass_solve(s.m, s.w, s.w.r, s.w.z)
    else:
        for j in range(nv):
            s.w.z[j] = s.w.r[j]
        lu_solve(s.trap.J, s.trap.pivot, nv, s.w.z)
    if con is not None:
        correct(s.w, con)
        keep_impulses(con)
    for j in range(nv):
        s.trap.v_old[j] = s.trap.v[j]
        s.trap.step[j] = s.w.z[j]
    return 0.0  # its size is of no use here


@inlined
def move(s, fraction):
    move_unknowns(s.trap.v, s.trap.v_old, s.trap.step, s.con, fraction)
    stop_at_kinks(s.w.actuation, s.m, s.w, s.options.h, s.options.h, s.trap.v_old, s.trap.v)


@inlined
def learn(memory, used, rate, correction):
    memory[RATE] = rate if used == FIRST_ORDER else ALWAYS_NEW  # once Newton's method has taken over it stays


@inlined
def restart(s):
    """The velocity at the node: where the certificates of leastaction.solvability let Newton's method start."""
    mass_factor(s.m, s.w)
    mass_solve(s.m, s.w, s.w.target, s.trap.v)
    restore_impulses(s.con)


@inlined
def shrinks(s, new, old, fraction, correction, manner):
    return residual_shrinks(s, new, old, fraction, correction, manner) or turns(s.w.actuation, s.m, new, 10.0 * old)


# a certified step is solved by pure corrections; backtracking in momenta of different units may take it astray
EQUATIONS = Equations(evaluate, choose, solve, move, learn, shrinks, restart, (CAREFUL, PURE, CAREFUL))


# ------------------------------------------------------------------------------------------------------------------ a step


@kernel
def arrive(m, w, end, trap, h, t, tau, retraction):
    """Move to the end of the step: q, the momentum p there in target, and the forces."""
    momentum(m, end, trap.v, trap.momentum1)
    kinetic_slope(m, end, trap.v, trap.rate, trap.slope)
    for j in range(trap.v.shape[0]):
        trap.force[j] = trap.potential1[j]
    smooth_forces(m, end, t, trap.v, tau, trap.force)
    mean_momentum(m, trap, -1.0, retraction)
    for j in range(trap.v.shape[0]):
        w.target[j] = trap.mean[j] + 0.5 * h * (trap.slope[j] + trap.force[j])
    carry_residual(m, w)
    arrive_driven(w.actuation, w.target, h, h)
    place(m, w, trap.q1, trap.potential0)


@kernel
def remember(w, trap, con):
    for j in range(w.q.shape[0]):
        trap.q_start[j] = w.q[j]
    for j in range(trap.v.shape[0]):
        trap.p_start[j] = w.target[j]
        trap.v_start[j] = trap.v[j]
    if con is not None:
        for a in range(con.lam.shape[0]):
            trap.lam_start[a] = con.lam[a]
            trap.impulse[a] = 0.0


@kernel
def go_back(m, w, trap, con, t):
    for j in range(trap.v.shape[0]):
        w.target[j] = trap.p_start[j]
        trap.v[j] = trap.v_start[j]
    place(m, w, trap.q_start, trap.potential0)
    if con is not None:
        for a in range(con.lam.shape[0]):
            con.lam[a] = trap.lam_start[a]
            trap.impulse[a] = 0.0
    hold_node(m, w, con, t)


@kernel
def guess_stage(trap, con, ratio):
    """Impulses as in the last stage, per unit of time."""
    if con is not None:
        for a in range(con.lam.shape[0]):
            con.lam[a] *= ratio
            con.lam_last[a] = con.lam[a]


@kernel
def add_impulses(trap, con):
    if con is not None:
        for a in range(con.lam.shape[0]):
            trap.impulse[a] += con.lam[a]


@entry
def end_momenta(m, w, end, trap, h, t, tau, retraction, out):
    """out (2, nv) = momenta at both ends of the step of velocity t.v from t.q_start, which leads to t.q1."""
    for j in range(trap.v.shape[0]):
        w.target[j] = 0.0
    place(m, w, trap.q_start, trap.potential0)
    residual(m, w, end, trap, h, t, tau, retraction)
    for j in range(trap.v.shape[0]):
        out[0, j] = w.r[j]
        w.r[j] = 0.0
    arrive(m, w, end, trap, h, t + h, tau, retraction)
    for j in range(trap.v.shape[0]):
        out[1, j] = w.target[j]


@entry
def jacobian(m, w, end, trap, h, t, tau, retraction):
    """t.J = derivative of the momentum with which it leaves t.q_start in t.v."""
    for j in range(trap.v.shape[0]):
        w.target[j] = 0.0
    place(m, w, trap.q_start, trap.potential0)
    residual(m, w, end, trap, h, t, tau, retraction)
    numerical_jacobian(m, w, end, trap, None, h, t, tau, retraction)


@entry
def slope(m, w, trap):
    """t.slope = dT/dq at t.q_start and the velocity t.v."""
    place(m, w, trap.q_start, trap.potential0)
    momentum(m, w, trap.v, trap.momentum0)
    kinetic_slope(m, w, trap.v, trap.rate, trap.slope)


@inlined
def place_node(s):
    for j in range(s.w.q.shape[0]):
        s.trap.q_start[j] = s.w.q[j]
    place(s.m, s.w, s.trap.q_start, s.trap.potential0)
    hold_node(s.m, s.w, s.con, s.memory[TIME])


@inlined
def begin(s):
    place_node(s)
    begin_actuation(s.w.actuation, s.options.h)


@inlined
def step(s, tau, row):
    """Stages of the lengths gamma[i] h, one after the other."""
    trap, w, memory, options = s.trap, s.w, s.memory, s.options
    remember(w, trap, s.con)
    take_aim(w.actuation, w.d.shape[0], tau, row)
    began, evaluations = memory[TIME], 0
    for i in range(s.gamma.shape[0]):
        length = s.gamma[i] * options.h
        if s.gamma.shape[0] == 1:  # velocities of consecutive steps are smooth, those of stages are not
            continue_polynomial(trap.v, w.history, int(memory[HISTORY]), 0, trap.v.shape[0], True, False)
            guess_impulses(s.con, int(memory[HISTORY]))
        else:
            guess_stage(trap, s.con, s.gamma[i] / s.gamma[i - 1])  # the first one follows the last one of the step before
        stage = Step(s.m, w, s.end, trap, s.con, memory, Options(length, options.tol, options.retraction, options.most, 0), tau[row])
        count, size = solve_equations(EQUATIONS, stage, memory, options.tol, options.most)
        evaluations += count
        if not (size <= 1.0):
            go_back(s.m, w, trap, s.con, began)
            memory[HISTORY], memory[TIME] = 0.0, began
            return evaluations, STALLED if size < UNBOUNDED else NOT_FINITE
        memory[TIME] += length
        arrive(s.m, w, s.end, trap, length, memory[TIME], tau[row], options.retraction)
        add_impulses(trap, s.con)
        hold_node(s.m, w, s.con, memory[TIME])
    tick(memory, options.h)
    if switch_charts(w.charts, s.m, w, w.q, trap.v, w.target):
        memory[HISTORY] = 0.0
        place_node(s)
    return evaluations, FINISHED


@inlined
def write(s, record):
    write_step(s.w, s.trap, s.con, s.memory, record)


@inlined
def write_step(w, trap, con, memory, record):
    k = write_node(record, memory[TIME], w.q, w.target, 0.0)
    if con is not None:
        record.error[k] = largest(con.value)
        for a in range(con.lam.shape[0]):
            record.multipliers[k, a] = trap.impulse[a]


METHOD = Method(begin, step, write)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, a, a.memory, record, tau, steps, end)
