"""Symmetric composition of variational steps in joint coordinates: what stages.py needs to know of them."""

from typing import NamedTuple

from ...compiling.decorators import entry, inlined, kernel
from ...compiling.records import allocate, floats
from ..constraints.ties import Ties
from ..solving.memory import HISTORY, TIME
from ..solving.newton import solve_equations
from ..tree.charts import switch_charts
from ..tree.layout import FACTOR_COLUMNS, LINEAR_COLUMNS, Middle, Tree, Work
from ..tree.step import SWEEPS, arrive, begin, start_step
from .loop import Method, make_steps
from .stages import Course, Staged, StageTies, add_impulses, guess, keep_impulses, make_composed_step, ties_of_stage
from .variational import EQUATIONS, Options, Step, guess_impulses, hold_node, write_step


class Stages(NamedTuple):
    """What each of the s stages remembers from one composed step to the next, and the start of the present one."""

    course: Course
    S1: floats("s", "nv", 6)
    factor: floats("s", "nv", int(FACTOR_COLUMNS))
    linear: floats("s", "n+1", int(LINEAR_COLUMNS))
    q_start: floats("nq")  # coordinates at its start
    target_start: floats("nv")  # target momentum there, half kick of the first stage included
    ties: StageTies  # None where there are no constraints


class Arrays(NamedTuple):
    """Memory of a simulation, as Python hands it over."""

    m: Tree
    w: Work
    mid: Middle | None
    con: Ties | None  # at the nodes; lam: impulses of all stages together
    stages: Stages
    options: Options


class Composed(NamedTuple):
    """The same with the sweeps to use."""

    sweeps: tuple
    m: Tree
    w: Work
    mid: Middle | None
    con: Ties | None
    stages: Stages
    options: Options


def make_stages(course: Course, n: int, nq: int, nv: int, rows: int = 0) -> Stages:
    """rows: of the constraints."""
    without = {} if rows else {"ties": None}
    return allocate(Stages, {"s": len(course.gamma), "n": n, "nq": nq, "nv": nv, "m": rows}, course=course, **without)


@kernel
def work_of_stage(w, stages, i):
    """Work that shares the node with all stages and has the increments and the factorisation of stage i."""
    return Work(
        w.row, w.q, stages.course.d[i], w.d_old, w.d_last, w.r, w.z, w.step, w.target, w.target_last, w.load, w.history, w.S0,
        stages.S1[i], stages.factor[i], stages.linear[i], w.art, w.world, w.x, w.jet, w.laws,
        w.actuation, w.charts,
    )  # fmt: skip


@inlined
def begin_composed(s):
    begin(s.sweeps, s.m, s.w, s.mid, s.stages.course.gamma[0] * s.options.h)
    hold_node(s.m, s.w, s.con, s.stages.course.memory[0, TIME])


@inlined
def remember(s):
    keep_node(s.w, s.stages)
    keep_impulses(s.con, s.stages.ties, False)


@kernel
def keep_node(w, stages):
    for j in range(w.q.shape[0]):
        stages.q_start[j] = w.q[j]
    for j in range(w.target.shape[0]):
        stages.target_start[j] = w.target[j]


@inlined
def restore_node(w, stages):
    for j in range(w.q.shape[0]):
        w.q[j] = stages.q_start[j]
    for j in range(w.target.shape[0]):
        w.target[j] = stages.target_start[j]


@inlined
def back(s, t):
    restore_node(s.w, s.stages)
    s.sweeps.set_node(s.m, s.w, s.options.h, 0.0, 0.0, s.w.r)
    keep_impulses(s.con, s.stages.ties, True)
    hold_node(s.m, s.w, s.con, t)


@inlined
def stage_options(options, length):
    return Options(length, options.tol, options.retraction, options.most, options.patient)


@inlined
def solve_stage(s, i, length, tau, row):
    """Between two stages the potential kicks with half of each: target = p + (gamma_i h / 2) forces at the start of stage i."""
    stages, memory = s.stages, s.stages.course.memory[i]
    con = ties_of_stage(s.con, stages.ties, i)
    stage = Step(s.sweeps, s.m, work_of_stage(s.w, stages, i), s.mid, con, memory, stage_options(s.options, length))
    start_step(stage.w, length, tau, row)
    guess(stages.course, i, stage.w.d)
    guess_impulses(con, int(memory[HISTORY]))
    return solve_equations(EQUATIONS, stage, memory, s.options.tol, s.options.most)


@inlined
def arrive_after(s, i, length, following, t, tau, row):
    arrive(s.sweeps, s.m, work_of_stage(s.w, s.stages, i), s.mid, length, 0.5 * (length + following), t)
    for j in range(s.w.target.shape[0]):
        s.w.target[j] += 0.5 * length * tau[row, j]
    hold_node(s.m, s.w, s.con, t)


@inlined
def finish(s):
    add_impulses(s.con, s.stages.ties)
    changed = switch_charts(s.w.charts, s.m, s.w, s.w.q, s.stages.course.d[s.stages.course.d.shape[0] - 1], s.w.target) > 0
    if changed:
        hold_node(s.m, s.w, s.con, s.stages.course.memory[0, TIME])
    return changed


STAGED = Staged(remember, solve_stage, arrive_after, back, finish)


@inlined
def step(s, tau, row):
    return make_composed_step(STAGED, s, s.stages.course, s.options.h, tau, row)


@inlined
def write(s, record):
    write_step(s.w.q, s.w.target, s.con, s.stages.course.memory[0], record)


METHOD = Method(begin_composed, step, write)


@entry
def run(a, record, tau, steps, end):
    s = Composed(SWEEPS, a.m, a.w, a.mid, a.con, a.stages, a.options)
    return make_steps(METHOD, s, a.stages.course.memory[0], record, tau, steps, end)
