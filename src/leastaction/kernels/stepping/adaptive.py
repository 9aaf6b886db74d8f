"""Variational steps of changing length in joint coordinates: what control.py needs to know of them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, inlined
from ..constraints.ties import Ties
from ..solving.guess import continue_polynomial
from ..solving.memory import ALWAYS_NEW, HISTORY, RATE, TIME
from ..solving.newton import solve_equations
from ..tree.charts import switch_charts
from ..tree.layout import Middle, Tree, Work
from ..tree.step import SWEEPS, arrive, begin, give_up
from .control import LAST_STEP, Controlled, Controller, make_controlled_step, scale_impulses, to_velocity
from .loop import Method, make_steps
from .variational import EQUATIONS, Options, Step, hold_node, restore_impulses, write_step


class Arrays(NamedTuple):
    """Memory of a simulation.  w.target is the momentum p itself at a node; w.d the mean velocity of the last step, which is smooth."""

    m: Tree
    w: Work
    mid: Middle | None
    con: Ties | None
    controller: Controller
    memory: NDArray[np.float64]
    options: Options  # h is the step where the density is 1


class Adaptive(NamedTuple):
    """The same with the sweeps to use."""

    sweeps: Any
    m: Tree
    w: Work
    mid: Middle | None
    con: Ties | None
    controller: Controller
    memory: NDArray[np.float64]
    options: Options


@inlined
def begin_step(s):
    begin(s.sweeps, s.m, s.w, s.mid, 0.0)
    hold_node(s.m, s.w, s.con, s.memory[TIME])


@inlined
def node(s):
    return s.w.q, s.w.target


@inlined
def solve_step(s, h, tau, row):
    kick(s.w, s.mid, s.controller, int(s.memory[HISTORY]), h, tau, row)
    scale_impulses(s.con, h, s.controller.clock[LAST_STEP])
    length = Options(h, s.options.tol, s.options.retraction, s.options.most, s.options.patient)
    one = Step(s.sweeps, s.m, s.w, s.mid, s.con, s.memory, length)
    return solve_equations(EQUATIONS, one, s.memory, s.options.tol, s.options.most)


@inlined
def back(s, h):
    give_up(s.w, s.memory)
    restore_impulses(s.con)
    to_velocity(s.w.d, h)


@inlined
def arrive_after(s, h, t, tau, row):
    arrive(s.sweeps, s.m, s.w, s.mid, h, 0.5 * h, t)
    for j in range(s.w.d.shape[0]):
        s.w.target[j] += 0.5 * h * tau[row, j]
    if switch_charts(s.w.charts, s.m, s.w, s.w.q, s.w.d, s.w.target):
        s.memory[HISTORY], s.memory[RATE] = 0.0, ALWAYS_NEW
    hold_node(s.m, s.w, s.con, t)
    to_velocity(s.w.d, h)


@inlined
def kick(w, mid, control, known, h, tau, row):
    """The left half impulse, and the guess of the increment from the mean velocities of the last steps."""
    for j in range(w.d.shape[0]):
        w.target_last[j] = w.target[j]
        w.target[j] += 0.5 * h * ((control.force[j] if mid is None else 0.0) + tau[row, j])
    guess_increment(w, known, h)


@inlined
def guess_increment(w, known, h):
    """d = increment over h from the mean velocities of the last steps, which are in d."""
    for j in range(w.d.shape[0]):
        w.d_last[j] = h * w.d[j]
    continue_polynomial(w.d, w.history, known, 0, w.d.shape[0], True, False)
    for j in range(w.d.shape[0]):
        w.d[j] *= h


CONTROLLED = Controlled(node, solve_step, arrive_after, back)


@inlined
def step(s, tau, row):
    return make_controlled_step(CONTROLLED, s, s.controller, s.memory, s.options.h, tau, row)


@inlined
def write(s, record):
    write_step(s.w.q, s.w.target, s.con, s.memory, record)


METHOD = Method(begin_step, step, write)


@entry
def run(a, record, tau, steps, end):
    """Make `steps` steps or as many as it takes to reach the time `end`; returns (steps made, status)."""
    s = Adaptive(SWEEPS, a.m, a.w, a.mid, a.con, a.controller, a.memory, a.options)
    return make_steps(METHOD, s, a.memory, record, tau, steps, end)
