"""Johnson and Murphey's integrator: its discrete Euler-Lagrange equations, and one step of it.

Discrete Lagrangian Ld(q, q + d) = h L(q + alpha d, d/h), paper (19), forces f half at each end of the step:

    r = -D1 Ld - h/2 f - p = dL/dqd - (1 - alpha) h dL/dq - h/2 f - p = 0                                        (20), (44)
    next p = D2 Ld + h/2 f = dL/dqd + alpha h dL/dq + h/2 f                                                           (21)
    dr/dd = Lvv/h + alpha Lqv' - (1 - alpha) Lqv - alpha (1 - alpha) h Lqq - h/2 (alpha f_q + f_v/h)                  (22)

With constraints `con` (else None) r - Dh(q)' lam = 0 and h(q + d) = 0, a bordered system (45), (46): see kernels/constraints/bordered.py.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, inlined, kernel
from ...compiling.records import floats, integers
from ...joints import dispatch
from ..constraints.bordered import border_dense, correct, hold, impulse_size, keep_impulses, set_scales, violation
from ..constraints.ties import Ties, constrain_node
from ..constraints.ties import gradients as constraint_gradients
from ..lagrangian import balls
from ..lagrangian.derivatives import curvatures, gradients
from ..lagrangian.frames import Frames
from ..lagrangian.laws import add_law_damping, add_law_forces
from ..lagrangian.layout import Lagrangian
from ..solving.choice import OLD, choose_soonest, grow_old, learn_rate
from ..solving.dense import lu_factor, lu_solve
from ..solving.memory import ALWAYS_NEW, HISTORY, RATE, SCALE, TIME
from ..solving.newton import CAREFUL, Equations, residual_shrinks, solve_equations
from ..solving.sizes import UNBOUNDED, judged_apart, largest, relative_size
from ..tree.actuation import (
    arrive_driven,
    begin_actuation,
    brace,
    drive_joints,
    forget_stops,
    hold_joints,
    keep_pulls,
    keep_slopes,
    largest_impulse,
    slopes_changed,
    stop_at_kinks,
    turns,
)
from ..tree.charts import switch_charts
from ..tree.drnea import set_node
from ..tree.layout import KIND, NV, QI, VI, P, R, Tree, Work
from ..tree.loads import calls_user_functions, custom_forces
from ..tree.step import advance_coordinates, give_up, start_step
from .loop import FINISHED, NOT_FINITE, STALLED, Method, make_steps, tick
from .variational import back_to_last, guess, move_unknowns, write_step


class Newton(NamedTuple):
    """Memory of Newton's method."""

    middle: floats("nq")  # configuration q + alpha d
    velocity: floats("nv")  # d/h
    force: floats("nv")  # forces without a potential
    custom: floats("nv")  # those of the user
    J: floats("nv", "nv")  # factors of the Jacobian
    pivot: integers("nv")


class Options(NamedTuple):
    """What the user chose, as numbers."""

    h: float  # length of a step, s
    tol: float  # largest residual relative to the scale
    alpha: float  # where in the step the Lagrangian is evaluated
    most: int  # residual evaluations of an attempt


class Arrays(NamedTuple):
    """Memory of a simulation, and the step that Newton's method solves.  w.target holds the momentum at the present node."""

    m: Tree
    frames: Frames
    lag: Lagrangian
    w: Work
    newton: Newton
    end: Work | None  # the end of the step, for constraints
    con: Ties | None
    memory: NDArray[np.float64]
    options: Options
    tables: Any = None  # memory of another evaluation of the derivatives


class Derivatives(NamedTuple):
    """How the derivatives of the Lagrangian are evaluated."""

    gradients: Any  # (a): s.q, s.v, s.force at n.middle, n.velocity
    curvatures: Any  # (a): s.qq, s.qv, s.vv, s.force_q there


class Step(NamedTuple):
    how: Derivatives
    a: Arrays


@inlined
def by_composites(a):
    gradients(a.m, a.frames, a.lag, a.w, a.newton.middle, a.newton.velocity)


@inlined
def curvatures_by_composites(a):
    curvatures(a.m, a.frames, a.lag, a.w, a.newton.middle)


COMPOSITE = Derivatives(by_composites, curvatures_by_composites)


@inlined
def residual(how, a, t):
    """Gradients of L and all forces at the increment w.d; r = residual.  Returns its largest entry."""
    m, lag, w, newton, alpha, h = a.m, a.lag, a.w, a.newton, a.options.alpha, a.options.h
    nv = w.d.shape[0]
    for j in range(nv):
        newton.velocity[j] = w.d[j] / h
    if has_balls(a.frames) or a.frames.kept.shape[0] > 0:
        balls.place_middle(a.frames, lag, w, alpha, h, newton.middle, newton.velocity)
    else:
        for j in range(nv):
            newton.middle[j] = w.q[j] + alpha * w.d[j]
    how.gradients(a)
    if calls_user_functions(m):
        custom_forces(m, t + alpha * h, newton.middle, newton.velocity, 1.0, w.z, newton.custom)
        add_law_forces(w.laws, m, a.frames, lag, w, t + alpha * h, newton.custom)
    for j in range(nv):
        newton.force[j] = lag.force[j] - m.damping[j] * newton.velocity[j] + newton.custom[j]
        w.r[j] = lag.v[j] - (1.0 - alpha) * h * lag.q[j] - 0.5 * h * newton.force[j] - w.target[j]
    if has_balls(a.frames):
        balls.leave(a.frames, lag, w, h, newton.force)
    drive_joints(w.actuation, m, w, h)
    return largest(w.r)


@inlined
def has_balls(frames):
    return frames.balls.shape[0] > 0


@inlined
def jacobian(how, a, J):
    """J = dr/dd where `residual` was called last.  User forces are taken as constant; laws on bodies in the pose only."""
    m, lag, alpha, h = a.m, a.lag, a.options.alpha, a.options.h
    nv = J.shape[0]
    how.curvatures(a)
    one, two = 1.0 - alpha, alpha * (1.0 - alpha) * h
    for i in range(nv):
        for j in range(nv):
            J[i, j] = lag.vv[i, j] / h + alpha * lag.qv[j, i] - one * lag.qv[i, j] - two * lag.qq[i, j]
        J[i, i] += 0.5 * m.damping[i]
    if m.wrench_on.shape[0] > 0:
        for i in range(nv):
            for j in range(nv):
                J[i, j] -= 0.5 * h * alpha * lag.force_q[i, j]
    add_law_damping(a.w.laws, m, a.frames, lag, a.w, J)
    if has_balls(a.frames):
        balls.add_turning(a.frames, lag, a.w, h, J)


@kernel
def border(m, frames, w, newton, end, con, t, h):
    """Y and the factorised Schur complement for the factors of the Jacobian just made.  `end` becomes the node at the end of the step."""
    for j in range(w.q.shape[0]):
        end.q[j] = w.q[j]
    for i in range(1, m.link.shape[0]):
        dispatch.advance(m.link[i, KIND], end.q, m.link[i, QI], w.d, m.link[i, VI], m.link[i, NV])
    set_node(m, end, 1.0, 0.0, 0.0, end.load)
    constraint_gradients(m, w, con, con.end, con.apart_end, end.row, R, P, end.S0, t, h, con.J1)
    if has_balls(frames):
        balls.per_increment(frames, w.d, con.J1)
    border_dense(con, newton.J, newton.pivot)


# ------------------------------------------------------------------------------------------------------------- equations


@inlined
def evaluate(s, first):
    return evaluate_step(s.how, s.a, s.a.end, s.a.con, first)


@inlined
def evaluate_step(how, a, end, con, first):
    w, memory, h = a.w, a.memory, a.options.h
    norm = residual(how, a, memory[TIME])
    if first:
        memory[SCALE] = max(largest(w.target), abs(h) * max(a.lag.size[0], largest(a.newton.force)))
        if con is not None:
            memory[SCALE] = max(memory[SCALE], impulse_size(con))
            set_scales(w, con)
        memory[SCALE] = max(memory[SCALE], largest_impulse(w.actuation))
        forget_stops(w.actuation)
        grow_old(memory)
    if con is not None:
        hold(a.m, w, con, memory[TIME] + h, h)
    held = hold_joints(w.actuation, a.m, w)
    if con is not None:
        norm = max(largest(w.r), memory[SCALE] * violation(con))
    elif held:
        norm = largest(w.r)
    return judged_apart(a.m.felt, w, con, a.newton.force, h, relative_size(norm, a.options.tol * memory[SCALE]), a.options.tol)


@inlined
def choose(s, size):
    return choose_factorisation(s.how, s.a, s.a.end, s.a.con, size)


@inlined
def choose_factorisation(how, a, end, con, size):
    if slopes_changed(a.w.actuation):
        a.memory[RATE] = ALWAYS_NEW
    used = choose_soonest(a.memory, size, False, False)
    if used != OLD:
        jacobian(how, a, a.newton.J)
        keep_slopes(a.w.actuation)
        brace(a.w.actuation, a.newton.J, False)
        lu_factor(a.newton.J, a.newton.pivot, a.w.d.shape[0])
        if con is not None:
            border(a.m, a.frames, a.w, a.newton, end, con, a.memory[TIME] + a.options.h, a.options.h)
    return used


@inlined
def solve(s):
    keep_pulls(s.a.w.actuation, s.a.m, s.a.w)
    return solve_linear(s.a.w, s.a.newton, s.a.con)


@inlined
def solve_linear(w, newton, con):
    nv = w.d.shape[0]
    for j in range(nv):
        w.z[j] = w.r[j]
    lu_solve(newton.J, newton.pivot, nv, w.z)
    if con is not None:
        correct(w, con)
        keep_impulses(con)
    for j in range(nv):
        w.d_old[j], w.step[j] = w.d[j], w.z[j]
    return 0.0  # its size is of no use here


@inlined
def move(s, fraction):
    move_unknowns(s.a.w.d, s.a.w.d_old, s.a.w.step, s.a.con, fraction)
    stop_at_kinks(s.a.w.actuation, s.a.m, s.a.w, s.a.options.h, 1.0, s.a.w.d_old, s.a.w.d)


@inlined
def restart(s):
    back_to_last(s.a.w.d, s.a.w.d_last, s.a.con)


CLOSE = 100.0  # of what is allowed: a residual from which full corrections lead on, whether it shrinks at once or not


@inlined
def shrinks(s, new, old, fraction, correction, manner):
    """The matrix of ball and free joints is of first order in the increment: all corrections together shrink the residual, but one alone
    may let the largest entry grow, and a part of it is then no better."""
    if has_balls(s.a.frames) and fraction == 1.0 and new < CLOSE:
        return True
    return residual_shrinks(s, new, old, fraction, correction, manner) or turns(s.a.w.actuation, s.a.m, new, 10.0 * old)


EQUATIONS = Equations(evaluate, choose, solve, move, learn_rate, shrinks, restart, (CAREFUL, CAREFUL))


# ------------------------------------------------------------------------------------------------------------------ a step


@inlined
def begin(s):
    begin_at(s.a.m, s.a.w, s.a.end, s.a.con, s.a.memory)
    begin_actuation(s.a.w.actuation, s.a.options.h)


@inlined
def begin_at(m, w, end, con, memory):
    hold_node(m, w, end, con, memory[TIME])


@inlined
def hold_node(m, w, end, con, t):
    """The constraints at the node."""
    if con is not None:
        set_node(m, w, 1.0, 0.0, 0.0, end.load)
        constrain_node(m, w, con, t)


@inlined
def step(s, tau, row):
    a = s.a
    start_step(a.w, a.options.h, tau, row)
    guess(a.w.d, a.w.history, a.con, a.memory)
    count, size = solve_equations(EQUATIONS, s, a.memory, a.options.tol, a.options.most)
    return count, finish_step(a, a.end, a.con, tau, row, size)


@inlined
def finish_step(a, end, con, tau, row, size):
    """Go to the end of the step if it is solved, back to its start if not; returns the status."""
    if not (size <= 1.0):
        give_up(a.w, a.memory)
        back_to_last(a.w.d, a.w.d_last, con)
        return STALLED if size < UNBOUNDED else NOT_FINITE
    tick(a.memory, a.options.h)
    arrive(a, end, con, a.memory[TIME], tau, row)
    change_charts(a, end, con)
    return FINISHED


@inlined
def change_charts(a, end, con):
    """Joints whose coordinates have become nearly singular go on in others."""
    if switch_charts(a.w.charts, a.m, a.w, a.w.q, a.w.d, a.w.target):  # increments and factors of the past are of no use there
        a.memory[HISTORY] = 0.0
        a.memory[RATE] = ALWAYS_NEW
        begin_at(a.m, a.w, end, con, a.memory)


@inlined
def arrive(a, end, con, t, tau, row):
    """Move to the end of the step, at time t: new coordinates, and the momentum that arrives there."""
    m, w, h = a.m, a.w, a.options.h
    set_arriving(a, tau, row)
    advance_coordinates(m, w)
    arrive_driven(w.actuation, w.target, h, h)
    hold_node(m, w, end, con, t)


@inlined
def set_arriving(a, tau, row):
    """w.target = the momentum at the end of the step."""
    m, lag, w, h = a.m, a.lag, a.w, a.options.h
    for j in range(w.d.shape[0]):
        # what is left of the residual enters the next step, so that errors of the solver do not add up
        w.target[j] = lag.v[j] + a.options.alpha * h * lag.q[j] + 0.5 * h * (a.newton.force[j] + tau[row, j]) - w.r[j]
    if has_balls(a.frames):
        balls.arrive(m, a.frames, lag, w, h, a.newton.force, tau, row)


@inlined
def write(s, record):
    write_step(s.a.w.q, s.a.w.target, s.a.con, s.a.memory, record)


METHOD = Method(begin, step, write)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, Step(COMPOSITE, a), a.memory, record, tau, steps, end)


@entry
def step_derivatives(a, t, J):
    """Everything at the step (w.q, w.d) with the momentum w.target: residual in w.r, forces in n.force, derivatives in s, J."""
    residual(COMPOSITE, a, t)
    jacobian(COMPOSITE, a, J)


@entry
def end_momenta(a, t, tau, leaving):
    """Momenta at both ends of the step (w.q, w.d), the joint forces tau (1, nv) between them: `leaving` and, in w.target, what arrives."""
    for j in range(leaving.shape[0]):
        a.w.target[j] = 0.5 * a.options.h * tau[0, j]
    residual(COMPOSITE, a, t)
    for j in range(leaving.shape[0]):
        leaving[j] = a.w.r[j]
        a.w.r[j] = 0.0
    set_arriving(a, tau, 0)
