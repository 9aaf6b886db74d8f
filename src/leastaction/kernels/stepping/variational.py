"""The linear-time variational integrator: its equations, and one step of it.   docs/theory (4), (5)

`mid` is None for the trapezoidal quadrature and a `Middle` for the midpoint one, `con` is None for a tree and its `Ties` if there are
constraints.  Numba compiles each combination on its own, without the branches it does not take.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, inlined
from ..constraints.bordered import border, constrained_residual, correct, impulse_size, keep_impulses, move_impulses, set_scales, violation
from ..constraints.ties import Ties, constrain_node
from ..solving.choice import EXACT, OLD, choose_soonest, grow_old, learn_rate
from ..solving.guess import continue_polynomial
from ..solving.memory import ALWAYS_NEW, HISTORY, RATE, SCALE, TIME
from ..solving.newton import BOLD, CAREFUL, Equations, residual_shrinks, solve_equations
from ..solving.sizes import UNBOUNDED, judged_apart, largest, relative_size
from ..tree.actuation import forget_stops, hold_joints, keep_pulls, keep_slopes, slopes_changed, stop_at_kinks, turns
from ..tree.charts import switch_charts
from ..tree.law_couplings import couple_laws, newton_direction
from ..tree.layout import Middle, Tree, Work
from ..tree.loads import calls_user_functions
from ..tree.midpoint_potentials import factorise_middle
from ..tree.step import SWEEPS, arrive, begin, full_residual, give_up, momentum_scale, start_step
from .loop import FINISHED, NOT_FINITE, STALLED, Method, make_steps, tick
from .record import write_node


class Options(NamedTuple):
    """What the user chose, as numbers."""

    h: float  # length of a step, s
    tol: float  # largest residual relative to the scale
    retraction: int  # number in lie/retractions.py
    most: int  # residual evaluations of a careful attempt
    patient: int  # rather correct twice to first order than make the exact factorisation: pays where steps are short


class Arrays(NamedTuple):
    """Memory of a simulation, as Python hands it over."""

    m: Tree
    w: Work
    mid: Middle | None
    con: Ties | None
    memory: NDArray[np.float64]
    options: Options


class Step(NamedTuple):
    """The same with the sweeps to use."""

    sweeps: Any
    m: Tree
    w: Work
    mid: Middle | None
    con: Ties | None
    memory: NDArray[np.float64]
    options: Options


# ------------------------------------------------------------------------------------------------------------- equations


@inlined
def evaluate(s, first):
    return evaluate_step(s.sweeps, s.m, s.w, s.mid, s.con, s.memory, s.options, first)


@inlined
def evaluate_step(sweeps, m, w, mid, con, memory, options, first):
    """Residual of the increment d: with constraints the larger one of momenta and, as a fraction of what moves, constraints."""
    h, t = options.h, memory[TIME]
    norm = full_residual(sweeps, m, w, mid, h, t, options.retraction)
    if first:
        memory[SCALE] = momentum_scale(m, w, mid, h)
        if con is not None:
            memory[SCALE] = max(memory[SCALE], impulse_size(con))
            set_scales(w, con)
        grow_old(memory)
        forget_stops(w.actuation)
    if con is not None:
        constrained_residual(m, w, con, t + h, h)
    held = hold_joints(w.actuation, m, w)
    if con is not None:
        norm = max(largest(w.r), memory[SCALE] * violation(con))
    elif held:
        norm = largest(w.r)
    size = relative_size(norm, options.tol * memory[SCALE])
    if mid is None:
        return judged_apart(m.felt, w, con, w.load, 0.5 * h if calls_user_functions(m) else 0.0, size, options.tol)
    return judged_apart(m.felt, w, con, mid.size, h, size, options.tol)


@inlined
def choose(s, size):
    return choose_factorisation(s.sweeps, s.m, s.w, s.mid, s.con, s.memory, s.options, size)


@inlined
def choose_factorisation(sweeps, m, w, mid, con, memory, options, size):
    """Three of rising cost: the one at hand, that of the Jacobian to first order in the displacements, the exact one."""
    if slopes_changed(w.actuation):
        memory[RATE] = ALWAYS_NEW
    used = choose_soonest(memory, size, mid is None, options.patient)
    if used == OLD:
        return used
    keep_slopes(w.actuation)
    sweeps.assemble(m, w, options.h, options.retraction, used == EXACT)
    if mid is None:
        sweeps.factorise(m, w, options.h)
    else:
        factorise_middle(m, w, mid, options.h)
    couple_laws(w.laws, sweeps, m, w, mid, options.h, options.retraction)
    if con is not None:
        border(sweeps, m, w, mid, con, options.h, memory[TIME] + options.h)
    return used


@inlined
def solve(s):
    return solve_linear(s.sweeps, s.m, s.w, s.mid, s.con, s.options.h)


@inlined
def solve_linear(sweeps, m, w, mid, con, h):
    newton_direction(sweeps, m, w, mid, h)
    if con is not None:
        correct(w, con)
        keep_impulses(con)
    for j in range(w.d.shape[0]):
        w.d_old[j] = w.d[j]
        w.step[j] = w.z[j]
    keep_pulls(w.actuation, m, w)
    return 0.0  # its size is of no use here


@inlined
def move(s, fraction):
    move_unknowns(s.w.d, s.w.d_old, s.w.step, s.con, fraction)
    stop_at_kinks(s.w.actuation, s.m, s.w, s.options.h, 1.0, s.w.d_old, s.w.d)


@inlined
def move_unknowns(d, d_old, step, con, fraction):
    for j in range(d.shape[0]):
        d[j] = d_old[j] - fraction * step[j]
    if con is not None:
        move_impulses(con, fraction)


@inlined
def restart(s):
    back_to_last(s.w.d, s.w.d_last, s.con)


@inlined
def back_to_last(d, d_last, con):
    """The last increment and multipliers as the guess."""
    for j in range(d.shape[0]):
        d[j] = d_last[j]
    restore_impulses(con)


@inlined
def restore_impulses(con):
    if con is not None:
        for a in range(con.lam.shape[0]):
            con.lam[a] = con.lam_last[a]


@inlined
def shrinks(s, new, old, fraction, correction, manner):
    return residual_shrinks(s, new, old, fraction, correction, manner) or turns(s.w.actuation, s.m, new, 0.0)


EQUATIONS = Equations(evaluate, choose, solve, move, learn_rate, shrinks, restart, (BOLD, CAREFUL))


# ------------------------------------------------------------------------------------------------------------------ a step


@inlined
def begin_step(s):
    begin_at(s.sweeps, s.m, s.w, s.mid, s.con, s.memory, s.options)


@inlined
def begin_at(sweeps, m, w, mid, con, memory, options):
    begin(sweeps, m, w, mid, options.h)
    hold_node(m, w, con, memory[TIME])


@inlined
def hold_node(m, w, con, t):
    """The constraints at the node."""
    if con is not None:
        constrain_node(m, w, con, t)


@inlined
def guess(d, history, con, memory):
    known = int(memory[HISTORY])
    continue_polynomial(d, history, known, 0, d.shape[0], True, False)
    guess_impulses(con, known)


@inlined
def guess_impulses(con, known):
    if con is not None:
        for a in range(con.lam.shape[0]):
            con.lam_last[a] = con.lam[a]
        continue_polynomial(con.lam, con.history, known, 0, con.lam.shape[0], True, False)


@inlined
def step(s, tau, row):
    start_step(s.w, s.options.h, tau, row)
    guess(s.w.d, s.w.history, s.con, s.memory)
    count, size = solve_equations(EQUATIONS, s, s.memory, s.options.tol, s.options.most)
    return count, finish_step(s.sweeps, s.m, s.w, s.mid, s.con, s.memory, s.options, tau, row, size)


@inlined
def finish_step(sweeps, m, w, mid, con, memory, options, tau, row, size):
    """Go to the end of the step if it is solved, back to its start if not; returns the status."""
    if not (size <= 1.0):
        give_up(w, memory)
        back_to_last(w.d, w.d_last, con)
        return STALLED if size < UNBOUNDED else NOT_FINITE
    h = options.h
    tick(memory, h)
    arrive(sweeps, m, w, mid, h, h, memory[TIME])
    for j in range(w.d.shape[0]):
        w.target[j] += 0.5 * h * tau[row, j]
    if switch_charts(w.charts, m, w, w.q, w.d, w.target):  # increments and factors of the past are of no use there
        memory[HISTORY] = 0.0
        memory[RATE] = ALWAYS_NEW
    hold_node(m, w, con, memory[TIME])
    return FINISHED


@inlined
def write(s, record):
    write_step(s.w.q, s.w.target, s.con, s.memory, record)


@inlined
def write_step(q, target, con, memory, record):
    """The present node; target momenta are without the joint forces of the next step."""
    k = write_node(record, memory[TIME], q, target, 0.0)
    if con is not None:
        record.error[k] = largest(con.value)
        for a in range(con.lam.shape[0]):
            record.multipliers[k, a] = con.lam[a]


METHOD = Method(begin_step, step, write)


@entry
def run(a, record, tau, steps, end):
    s = Step(SWEEPS, a.m, a.w, a.mid, a.con, a.memory, a.options)
    return make_steps(METHOD, s, a.memory, record, tau, steps, end)
