"""Steps of changing length in maximal coordinates: what control.py needs to know of them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, inlined
from ..maximal.joints import joint_momenta
from ..maximal.layout import Flow, Net
from ..solving.guess import continue_polynomial
from ..solving.memory import HISTORY
from ..solving.newton import solve_equations
from ..tree.layout import Tree
from .control import LAST_STEP, Controlled, Controller, make_controlled_step, to_velocity
from .loop import Method, make_steps
from .maximal import EQUATIONS, Arrays, Options, apply_forces, copy_rows, go_on, push_by_motors, write_bodies


class Adaptive(NamedTuple):
    """Memory of a simulation.  flow.target are the momenta themselves at a node; flow.d mean velocities and forces of the last step."""

    m: Tree
    net: Net
    flow: Flow
    controller: Controller
    memory: NDArray[np.float64]
    units: NDArray[np.float64]
    options: Options  # h is the step where the density is 1


@inlined
def begin(s):
    """Momenta stand in `target` already."""


@inlined
def node(s):
    joint_momenta(s.m, s.net, s.flow, s.flow.q, s.flow.target, s.flow.load)
    return s.flow.q, s.flow.load


@inlined
def solve_step(s, h, tau, row):
    flow, known, first = s.flow, int(s.memory[HISTORY]), 6 * (s.flow.node.shape[0] - 1)
    copy_rows(flow.target, flow.target_last)
    apply_forces(s.m, s.net, flow, 0.5 * h)
    push_by_motors(s.m, s.net, flow, h, tau, row)
    for j in range(flow.d.shape[0]):
        flow.d_last[j] = h * flow.d[j]
    continue_polynomial(flow.d, flow.history, known, 0, first, True, False)
    continue_polynomial(flow.d, flow.history, known, first, flow.d.shape[0], True, False)
    for j in range(flow.d.shape[0]):
        flow.d[j] *= h
    options = Options(h, s.options.tol, s.options.retraction, s.options.most)
    return solve_equations(EQUATIONS, Arrays(s.m, s.net, flow, s.memory, s.units, options), s.memory, s.options.tol, s.options.most)


@inlined
def back(s, h):
    copy_rows(s.flow.target_last, s.flow.target)
    for j in range(s.flow.d.shape[0]):
        s.flow.d[j] = s.flow.d_last[j] / h


@inlined
def arrive_after(s, h, t, tau, row):
    go_on(s.m, s.net, s.flow, h, 0.5 * h, t, tau, row)
    to_velocity(s.flow.d, h)


CONTROLLED = Controlled(node, solve_step, arrive_after, back)


@inlined
def step(s, tau, row):
    return make_controlled_step(CONTROLLED, s, s.controller, s.memory, s.options.h, tau, row)


@inlined
def write(s, record):
    write_bodies(s.m, s.net, s.flow, s.memory, record, s.controller.clock[LAST_STEP])


METHOD = Method(begin, step, write)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, a, a.memory, record, tau, steps, end)
