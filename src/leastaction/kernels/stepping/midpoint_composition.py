"""Symmetric composition of steps in generalised coordinates (alpha = 1/2): what stages.py needs to know of them."""

from typing import Any, NamedTuple

from ...compiling.decorators import entry, inlined
from ...compiling.records import allocate, floats, integers
from ..constraints.ties import Ties
from ..lagrangian.frames import Frames
from ..lagrangian.layout import Lagrangian
from ..solving.memory import HISTORY, TIME
from ..solving.newton import solve_equations
from ..tree.charts import switch_charts
from ..tree.layout import Tree, Work
from ..tree.step import start_step
from .composition import remember, restore_node, write
from .loop import Method, make_steps
from .midpoint import COMPOSITE, EQUATIONS, Arrays, Newton, Options, Step, arrive, begin_at
from .stages import Course, Staged, StageTies, add_impulses, guess, keep_impulses, make_composed_step, ties_of_stage
from .variational import guess_impulses


class Stages(NamedTuple):
    """What each of the s stages remembers from one composed step to the next, and the start of the present one."""

    course: Course
    J: floats("s", "nv", "nv")  # factors of the Jacobian
    pivot: integers("s", "nv")
    q_start: floats("nq")
    target_start: floats("nv")
    ties: StageTies  # None where there are no constraints


class Composed(NamedTuple):
    """Memory of a simulation."""

    m: Tree
    frames: Frames
    lag: Lagrangian
    w: Work
    newton: Newton
    end: Work | None
    con: Ties | None
    stages: Stages
    options: Options
    tables: Any = None


def make_stages(course: Course, nq: int, nv: int, rows: int = 0) -> Stages:
    """rows: of the constraints."""
    without = {} if rows else {"ties": None}
    return allocate(Stages, {"s": len(course.gamma), "nq": nq, "nv": nv, "m": rows}, course=course, **without)


@inlined
def stage(s, con, i, length):
    """A plain step that shares the node with all stages and has the unknowns and the factorisation of stage i."""
    w, n, stages = s.w, s.newton, s.stages
    own = Work(
        w.row, w.q, stages.course.d[i], w.d_old, w.d_last, w.r, w.z, w.step, w.target, w.target_last, w.load, w.history, w.S0, w.S1,
        w.factor, w.linear, w.art, w.world, w.x, w.jet, w.laws,
        w.actuation, w.charts,
    )  # fmt: skip
    newton = Newton(n.middle, n.velocity, n.force, n.custom, stages.J[i], stages.pivot[i])
    options = Options(length, s.options.tol, s.options.alpha, s.options.most)
    return Arrays(s.m, s.frames, s.lag, own, newton, s.end, con, stages.course.memory[i], options, s.tables)


@inlined
def begin_composed(s):
    begin_at(s.m, s.w, s.end, s.con, s.stages.course.memory[0])


@inlined
def back(s, t):
    restore_node(s.w, s.stages)
    keep_impulses(s.con, s.stages.ties, True)
    s.stages.course.memory[0, TIME] = t
    begin_at(s.m, s.w, s.end, s.con, s.stages.course.memory[0])


@inlined
def solve_stage(s, i, length, tau, row):
    con = ties_of_stage(s.con, s.stages.ties, i)
    a = stage(s, con, i, length)
    start_step(a.w, length, tau, row)
    guess(s.stages.course, i, a.w.d)
    guess_impulses(con, int(a.memory[HISTORY]))
    return solve_equations(EQUATIONS, Step(COMPOSITE, a), a.memory, s.options.tol, s.options.most)


@inlined
def arrive_after(s, i, length, following, t, tau, row):
    arrive(stage(s, s.con, i, length), s.end, s.con, t, tau, row)


@inlined
def finish(s):
    add_impulses(s.con, s.stages.ties)
    changed = switch_charts(s.w.charts, s.m, s.w, s.w.q, s.stages.course.d[s.stages.course.d.shape[0] - 1], s.w.target) > 0
    if changed:
        begin_composed(s)
    return changed


STAGED = Staged(remember, solve_stage, arrive_after, back, finish)


@inlined
def step(s, tau, row):
    return make_composed_step(STAGED, s, s.stages.course, s.options.h, tau, row)


METHOD = Method(begin_composed, step, write)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, a, a.stages.course.memory[0], record, tau, steps, end)
