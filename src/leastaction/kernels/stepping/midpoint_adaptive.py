"""Steps of changing length in generalised coordinates (alpha = 1/2): what control.py needs to know of them."""

from typing import NamedTuple

from ...compiling.decorators import entry, inlined
from ..solving.memory import HISTORY
from ..solving.newton import solve_equations
from ..tree.layout import Tree
from ..tree.step import give_up
from .adaptive import guess_increment
from .control import LAST_STEP, Controlled, Controller, make_controlled_step, scale_impulses, to_velocity
from .loop import Method, make_steps
from .midpoint import COMPOSITE, EQUATIONS, Arrays, Options, Step, arrive, begin_at, change_charts
from .variational import restore_impulses, write_step


class Adaptive(NamedTuple):
    """Memory of a simulation.  plain.w.d is the mean velocity of the last step, which is smooth."""

    m: Tree
    plain: Arrays  # of a plain step; options.h is the step where the density is 1
    controller: Controller


@inlined
def of_length(a, con, h):
    """The plain step with another length."""
    options = Options(h, a.options.tol, a.options.alpha, a.options.most)
    return Arrays(a.m, a.frames, a.lag, a.w, a.newton, a.end, con, a.memory, options, a.tables)


@inlined
def begin(s):
    begin_at(s.m, s.plain.w, s.plain.end, s.plain.con, s.plain.memory)


@inlined
def node(s):
    return s.plain.w.q, s.plain.w.target


@inlined
def solve_step(s, h, tau, row):
    w, memory = s.plain.w, s.plain.memory
    for j in range(w.d.shape[0]):
        w.target_last[j] = w.target[j]
        w.target[j] += 0.5 * h * tau[row, j]
    guess_increment(w, int(memory[HISTORY]), h)
    scale_impulses(s.plain.con, h, s.controller.clock[LAST_STEP])
    a = of_length(s.plain, s.plain.con, h)
    return solve_equations(EQUATIONS, Step(COMPOSITE, a), memory, a.options.tol, a.options.most)


@inlined
def back(s, h):
    give_up(s.plain.w, s.plain.memory)
    restore_impulses(s.plain.con)
    to_velocity(s.plain.w.d, h)


@inlined
def arrive_after(s, h, t, tau, row):
    arrive(of_length(s.plain, s.plain.con, h), s.plain.end, s.plain.con, t, tau, row)
    change_charts(s.plain, s.plain.end, s.plain.con)
    to_velocity(s.plain.w.d, h)


CONTROLLED = Controlled(node, solve_step, arrive_after, back)


@inlined
def step(s, tau, row):
    return make_controlled_step(CONTROLLED, s, s.controller, s.plain.memory, s.plain.options.h, tau, row)


@inlined
def write(s, record):
    write_step(s.plain.w.q, s.plain.w.target, s.plain.con, s.plain.memory, record)


METHOD = Method(begin, step, write)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, a, a.plain.memory, record, tau, steps, end)
