"""Symmetric composition of steps in maximal coordinates: what stages.py needs to know of them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, inlined
from ...compiling.records import allocate, floats, integers
from ..maximal.constraints import force_directions
from ..maximal.layout import POSE_COLUMNS, Flow, Net
from ..solving.guess import continue_polynomial
from ..solving.memory import HISTORY
from ..solving.newton import solve_equations
from ..tree.layout import Tree
from .loop import Method, make_steps
from .maximal import EQUATIONS, Arrays, Options, apply_forces, copy_rows, go_on, push_by_motors, write_bodies
from .stages import Course, Staged, guess, make_composed_step


class Stages(NamedTuple):
    """What each of the s stages remembers from one composed step to the next, and the start of the present one."""

    course: Course
    values: floats("s", "size")  # factorised fronts
    swap: integers("s", "indices")
    node_start: floats("n+1", POSE_COLUMNS)  # as in Flow, at the start of the composed step
    apart_start: floats("nc", 3)
    off_start: floats(1, "m")
    q_start: floats(1, "nq")
    target_start: floats("n+1", 6)


class Composed(NamedTuple):
    """Memory of a simulation."""

    m: Tree
    net: Net
    flow: Flow  # at the nodes; the multipliers in d: impulses of all stages together
    stages: Stages
    units: NDArray[np.float64]
    options: Options


def make_stages(course: Course, flow: Flow) -> Stages:
    sizes = {
        "s": len(course.gamma), "size": len(flow.values), "indices": len(flow.swap), "n": len(flow.node) - 1, "nc": len(flow.apart),
        "m": len(flow.off), "nq": len(flow.q),
    }  # fmt: skip
    return allocate(Stages, sizes, course=course)


@inlined
def flow_of_stage(flow, stages, i):
    """Flow that shares the node with all stages and has the unknowns and the factorisation of stage i."""
    return Flow(
        flow.node, flow.end, flow.apart, flow.apart_end, flow.off, stages.course.d[i], flow.d_old, flow.d_last, flow.step, flow.history,
        flow.r, flow.z, flow.disp, flow.mu, flow.x, flow.target, flow.target_last, flow.G0, flow.G1, stages.values[i], flow.column,
        stages.swap[i], flow.q, flow.q_end, flow.dq, flow.load, flow.load_row, flow.rate, flow.zero, flow.S, flow.Z, flow.wrench,
        flow.basis, flow.dual, flow.small, flow.small_swap, flow.small_row, flow.inverse, flow.charts, flow.chart, flow.jets, flow.laws,
        flow.law_world, flow.law_end, flow.time, flow.argument, flow.argument_rate, flow.slope, flow.drift, flow.loops,
        flow.actuation, flow.rough, flow.half,
    )  # fmt: skip


@inlined
def begin_composed(s):
    apply_forces(s.m, s.net, s.flow, 0.5 * s.stages.course.gamma[0] * s.options.h)


@inlined
def remember(s):
    copy_rows(s.flow.node, s.stages.node_start)
    copy_rows(s.flow.apart, s.stages.apart_start)
    copy_rows(s.flow.target, s.stages.target_start)
    for j in range(s.flow.off.shape[0]):
        s.stages.off_start[0, j] = s.flow.off[j]
    for j in range(s.flow.q.shape[0]):
        s.stages.q_start[0, j] = s.flow.q[j]


@inlined
def back(s, t):
    copy_rows(s.stages.node_start, s.flow.node)
    copy_rows(s.stages.apart_start, s.flow.apart)
    copy_rows(s.stages.target_start, s.flow.target)
    for j in range(s.flow.off.shape[0]):
        s.flow.off[j] = s.stages.off_start[0, j]
    for j in range(s.flow.q.shape[0]):
        s.flow.q[j] = s.stages.q_start[0, j]
    s.flow.time[0] = t
    force_directions(s.m, s.net, s.flow)


@inlined
def solve_stage(s, i, length, tau, row):
    course, memory, flow = s.stages.course, s.stages.course.memory[i], flow_of_stage(s.flow, s.stages, i)
    options = Options(length, s.options.tol, s.options.retraction, s.options.most)
    push_by_motors(s.m, s.net, flow, length, tau, row)
    for j in range(flow.d.shape[0]):
        flow.d_last[j] = flow.d[j]
    guess(course, i, flow.d)
    continue_polynomial(flow.d, course.differences[i], int(memory[HISTORY]), course.lead.shape[0], flow.d.shape[0], False, False)
    return solve_equations(EQUATIONS, Arrays(s.m, s.net, flow, memory, s.units, options), memory, s.options.tol, s.options.most)


@inlined
def arrive_after(s, i, length, following, t, tau, row):
    go_on(s.m, s.net, flow_of_stage(s.flow, s.stages, i), length, 0.5 * (length + following), t, tau, row)


@inlined
def finish(s):
    """The impulses of the composed step: those of all its stages."""
    course = s.stages.course
    for j in range(course.lead.shape[0], course.d.shape[1]):
        s.flow.d[j] = 0.0
        for i in range(course.d.shape[0]):
            s.flow.d[j] += course.d[i, j]
    return False  # its unknowns do not know of charts


STAGED = Staged(remember, solve_stage, arrive_after, back, finish)


@inlined
def step(s, tau, row):
    return make_composed_step(STAGED, s, s.stages.course, s.options.h, tau, row)


@inlined
def write(s, record):
    write_bodies(s.m, s.net, s.flow, s.stages.course.memory[0], record, 1.0)


METHOD = Method(begin_composed, step, write)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, a, a.stages.course.memory[0], record, tau, steps, end)
