"""Symmetric composition of variational steps: one step of length h is a sequence of steps of the lengths gamma_i h.

Every stage keeps its own factorisation from one composed step to the next, and guesses its increment from what is smooth:
the mean velocity of stage i differs from that of the known stage nearest in time (the leader of i) by a smooth function of time.
That difference is small, so continuing it by a polynomial guesses far better than continuing the increments themselves.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, inlined, kernel
from ...compiling.records import allocate, floats, integers
from ..constraints.ties import Ties
from ..solving.guess import ORDERS, continue_polynomial
from ..solving.memory import ALWAYS_NEW, HISTORY, LAST_RESIDUAL, RATE, SCALE, TIME, make_memory
from ..solving.memory import SIZE as MEMORY
from ..solving.newton import solve_equations
from ..solving.sizes import UNBOUNDED
from ..tree.layout import FACTOR_COLUMNS, LINEAR_COLUMNS, Middle, Tree, Work
from ..tree.step import SWEEPS, arrive, begin, start_step
from .loop import FINISHED, NOT_FINITE, STALLED, Method, make_steps, tick
from .variational import EQUATIONS, Options, Step, guess_impulses, hold_node, write_step


class StageTies(NamedTuple):
    """What each stage remembers of the constraints; fields as in Ties."""

    lam: floats("s", "m")
    lam_last: floats("s", "m")
    lam_start: floats("s", "m")  # before the composed step
    history: floats("s", ORDERS, "m")
    J1: floats("s", "m", "nv")
    Y: floats("s", "m", "nv")
    S: floats("s", "m", "m")
    swap: integers("s", 2, "m")
    rank: integers("s", 1)


class Stages(NamedTuple):
    """What each of the s stages remembers from one composed step to the next, and the start of the present one."""

    gamma: floats("s")  # lengths of the stages in units of the step; their sum is 1
    memory: floats("s", MEMORY)  # as of a plain step; the clock is kept by stage 0
    d: floats("s", "nv")  # increments
    leader: integers("s")  # the stage whose middle is nearest among those made before: of this step, or of the last one
    lead: floats("nv")  # increment of the leader, scaled to the length of the present stage
    ahead: floats("s", "nv")  # increments minus lead of the last composed step
    differences: floats("s", ORDERS, "nv")  # and their backward differences
    S1: floats("s", "nv", 6)
    factor: floats("s", "nv", int(FACTOR_COLUMNS))
    linear: floats("s", "n+1", int(LINEAR_COLUMNS))
    d_start: floats("s", "nv")  # increments before the composed step
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


def leaders(gamma: NDArray[np.float64]) -> NDArray[np.int64]:
    """For every stage the nearest in time of the stages before it in this step (ref < i) and of the last step (ref >= i)."""
    middle = np.cumsum(gamma) - 0.5 * gamma
    known = [np.where(np.arange(len(gamma)) < i, middle, middle - 1.0) for i in range(len(gamma))]
    return np.array([np.argmin(np.abs(times - middle[i])) for i, times in enumerate(known)], dtype=np.int64)


def make_stages(gamma: NDArray[np.float64], t: float, n: int, nq: int, nv: int, rows: int = 0) -> Stages:
    """rows: of the constraints."""
    without = {} if rows else {"ties": None}
    stages = allocate(
        Stages, {"s": len(gamma), "n": n, "nq": nq, "nv": nv, "m": rows}, gamma=np.array(gamma), leader=leaders(gamma), **without
    )  # fmt: skip
    stages.memory[:] = make_memory(t)
    return stages


@kernel
def work_of_stage(w, stages, i):
    """Work that shares the node with all stages and has the increments and the factorisation of stage i."""
    return Work(
        w.row, w.q, stages.d[i], w.d_old, w.d_last, w.r, w.z, w.step, w.target, w.target_last, w.load, w.history, w.S0, stages.S1[i],
        stages.factor[i], stages.linear[i], w.art, w.world, w.charts, w.chart, w.x, w.jet, w.laws,
        w.aim, w.drive, w.drive_size, w.push, w.kick, w.slope, w.slope_used, w.grip, w.pull, w.stopped, w.turned,
    )  # fmt: skip


@inlined
def ties_of_stage(con, kept, i):
    """Ties that share the node with all stages and have the multipliers and the bordered system of stage i."""
    if con is None:
        return None
    return Ties(
        con.con, con.place, con.row_kind, con.row, con.anchor, con.top, con.only_speed, con.velocity, con.gear, con.ratio, con.call,
        con.speed, con.argument, con.least, con.momentum, con.start, con.end, con.apart, con.apart_end, con.G, con.J0, kept.J1[i],
        kept.Y[i], kept.S[i], kept.swap[i], kept.rank[i], con.value, con.rate, con.size, kept.lam[i], con.lam_old, kept.lam_last[i],
        con.step, kept.history[i], con.keep, con.x, con.x_rate, con.slope,
    )  # fmt: skip


@inlined
def keep_impulses(con, kept, back):
    """Remember the multipliers before the composed step, or go back to them."""
    if con is not None:
        for i in range(kept.lam.shape[0]):
            for a in range(kept.lam.shape[1]):
                if back:
                    kept.lam[i, a] = kept.lam_start[i, a]
                else:
                    kept.lam_start[i, a] = kept.lam[i, a]


@inlined
def add_impulses(con, kept):
    """The impulses of the composed step: those of all its stages."""
    if con is not None:
        for a in range(kept.lam.shape[1]):
            con.lam[a] = 0.0
            for i in range(kept.lam.shape[0]):
                con.lam[a] += kept.lam[i, a]


@inlined
def guess(stages, i, d):
    """d = increment of the leader plus the last differences to it, continued by a polynomial."""
    known, ratio = int(stages.memory[i, HISTORY]), stages.gamma[i] / stages.gamma[stages.leader[i]]
    for j in range(d.shape[0]):
        stages.lead[j] = ratio * stages.d[stages.leader[i], j]
    if known == 0:
        return  # d holds a first guess
    ahead = stages.ahead[i]
    continue_polynomial(ahead, stages.differences[i], known, 0, d.shape[0], True, True)
    for j in range(d.shape[0]):
        d[j] = stages.lead[j] + ahead[j]


@inlined
def remember_difference(stages, i):
    for j in range(stages.lead.shape[0]):
        stages.ahead[i, j] = stages.d[i, j] - stages.lead[j]


@kernel
def remember_start(w, stages):
    for j in range(w.q.shape[0]):
        stages.q_start[j] = w.q[j]
    for j in range(w.target.shape[0]):
        stages.target_start[j] = w.target[j]
        for i in range(stages.d.shape[0]):
            stages.d_start[i, j] = stages.d[i, j]


@inlined
def back_to_start(sweeps, m, w, con, stages, h, time):
    """As before the composed step, so that it can be tried again with other forces."""
    for j in range(w.q.shape[0]):
        w.q[j] = stages.q_start[j]
    for j in range(w.target.shape[0]):
        w.target[j] = stages.target_start[j]
        for i in range(stages.d.shape[0]):
            stages.d[i, j] = stages.d_start[i, j]
    sweeps.set_node(m, w, h, 0.0, False, w.r)
    keep_impulses(con, stages.ties, True)
    hold_node(m, w, con, time)
    for i in range(stages.d.shape[0]):
        stages.memory[i, HISTORY] = 0.0
        stages.memory[i, RATE] = ALWAYS_NEW
    stages.memory[0, TIME] = time


@inlined
def begin_composed(s):
    begin(s.sweeps, s.m, s.w, s.mid, s.stages.gamma[0] * s.options.h)
    hold_node(s.m, s.w, s.con, s.stages.memory[0, TIME])


@inlined
def stage_options(options, length):
    return Options(length, options.tol, options.retraction, options.most, options.patient)


@inlined
def step(s, tau, row):
    """Between two stages the potential kicks with half of each: target = p + (gamma_i h / 2) forces at the start of stage i."""
    stages, h, clock = s.stages, s.options.h, s.stages.memory[0]
    count, known, began = stages.gamma.shape[0], clock[HISTORY], clock[TIME]
    remember_start(s.w, stages)
    keep_impulses(s.con, stages.ties, False)
    evaluations = 0
    for i in range(count):
        length, following = stages.gamma[i] * h, stages.gamma[(i + 1) % count] * h
        memory = stages.memory[i]
        con = ties_of_stage(s.con, stages.ties, i)
        stage = Step(s.sweeps, s.m, work_of_stage(s.w, stages, i), s.mid, con, memory, stage_options(s.options, length))
        memory[TIME] = clock[TIME]
        memory[HISTORY] = known
        start_step(stage.w, length, tau, row)
        guess(stages, i, stage.w.d)
        guess_impulses(con, int(known))
        used, size = solve_equations(EQUATIONS, stage, memory, s.options.tol, s.options.most)
        evaluations += used
        clock[LAST_RESIDUAL], clock[SCALE] = memory[LAST_RESIDUAL], memory[SCALE]
        if not (size <= 1.0):
            back_to_start(s.sweeps, s.m, s.w, s.con, stages, h, began)
            return evaluations, STALLED if size < UNBOUNDED else NOT_FINITE
        clock[TIME] += length
        remember_difference(stages, i)
        arrive(s.sweeps, s.m, stage.w, s.mid, length, 0.5 * (length + following), clock[TIME])
        for j in range(s.w.target.shape[0]):
            s.w.target[j] += 0.5 * length * tau[row, j]
        hold_node(s.m, s.w, s.con, clock[TIME])
    add_impulses(s.con, stages.ties)
    clock[HISTORY] = known
    tick(clock, h)
    return evaluations, FINISHED


@inlined
def write(s, record):
    write_step(s.w.q, s.w.target, s.con, s.stages.memory[0], record)


METHOD = Method(begin_composed, step, write)


@entry
def run(a, record, tau, steps, end):
    s = Composed(SWEEPS, a.m, a.w, a.mid, a.con, a.stages, a.options)
    return make_steps(METHOD, s, a.stages.memory[0], record, tau, steps, end)
