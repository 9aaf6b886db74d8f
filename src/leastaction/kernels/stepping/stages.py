"""A step made of stages: one step of length h is a sequence of steps of the lengths gamma_i h of a self-adjoint integrator.

Every stage keeps its own factorisation from one composed step to the next, and guesses its increment from what is smooth:
the mean velocity of stage i differs from that of the known stage nearest in time (the leader of i) by a smooth function of time.
That difference is small, so continuing it by a polynomial guesses far better than continuing the increments themselves.

What differs between integrators comes as a record of kernels, `Staged`; the record of their stages has at least the fields of `Course`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import inlined
from ...compiling.records import allocate, floats, integers
from ..constraints.ties import Ties
from ..solving.guess import ORDERS, continue_polynomial
from ..solving.memory import ALWAYS_NEW, HISTORY, LAST_RESIDUAL, RATE, SCALE, TIME, make_memory
from ..solving.memory import SIZE as MEMORY
from ..solving.sizes import UNBOUNDED
from .loop import FINISHED, NOT_FINITE, STALLED, tick


class Staged(NamedTuple):
    """What a composed step has to know of the integrator it is made of; s is that integrator's memory."""

    remember: Any  # (s): the start of the composed step
    solve: Any  # (s, i, length, tau, row) -> (evaluations, size of the residual; solved if not above 1): the equations of stage i
    arrive: Any  # (s, i, length, following, t, tau, row): on to the end of stage i, at time t; following: length of the next one
    back: Any  # (s, t): to the start of the composed step, at time t
    finish: Any  # (s) -> have joints changed their coordinates?  The composed step is made


class Course(NamedTuple):
    """What the guesses of the s stages need, and the start of the present composed step."""

    gamma: floats("s")  # lengths of the stages in units of the step; their sum is 1
    memory: floats("s", MEMORY)  # as of a plain step; the clock is kept by stage 0
    d: floats("s", "unknowns")  # increments, and multipliers where they are unknowns too
    leader: integers("s")  # the stage whose middle is nearest among those made before: of this step, or of the last one
    lead: floats("moving")  # increment of the leader, scaled to the length of the present stage
    ahead: floats("s", "unknowns")  # increments minus lead of the last composed step
    differences: floats("s", ORDERS, "unknowns")  # and their backward differences; those of multipliers themselves
    d_start: floats("s", "unknowns")  # d before the composed step


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


def leaders(gamma: NDArray[np.float64]) -> NDArray[np.int64]:
    """For every stage the nearest in time of the stages before it in this step (ref < i) and of the last step (ref >= i)."""
    middle = np.cumsum(gamma) - 0.5 * gamma
    known = [np.where(np.arange(len(gamma)) < i, middle, middle - 1.0) for i in range(len(gamma))]
    return np.array([np.argmin(np.abs(times - middle[i])) for i, times in enumerate(known)], dtype=np.int64)


def make_course(gamma: NDArray[np.float64], t: float, moving: int, multipliers: int = 0) -> Course:
    """For so many increments, and multipliers that are unknowns of the step."""
    sizes = {"s": len(gamma), "moving": moving, "unknowns": moving + multipliers}
    course = allocate(Course, sizes, gamma=np.array(gamma), leader=leaders(gamma))
    course.memory[:] = make_memory(t)
    return course


# ----------------------------------------------------------------------------------------------------------- constraints


@inlined
def ties_of_stage(con, kept, i):
    """Ties that share the node with all stages and have the multipliers and the bordered system of stage i."""
    if con is None:
        return None
    return Ties(
        con.con, con.place, con.row_kind, con.row, con.anchor, con.top, con.only_speed, con.speeds, con.gear, con.ratio, con.call,
        con.argument, con.least, con.momentum, con.start, con.end, con.apart, con.apart_end, con.G, con.J0, kept.J1[i],
        kept.Y[i], kept.S[i], kept.swap[i], kept.rank[i], con.value, con.rate, con.size, kept.lam[i], con.lam_old, kept.lam_last[i],
        con.step, kept.history[i], con.keep, con.x, con.x_rate, con.slope, con.loops,
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


# ----------------------------------------------------------------------------------------------------------------- guess


@inlined
def guess(stages, i, d):
    """d = increment of the leader plus the last differences to it, continued by a polynomial."""
    known, ratio = int(stages.memory[i, HISTORY]), stages.gamma[i] / stages.gamma[stages.leader[i]]
    moving = stages.lead.shape[0]
    for j in range(moving):
        stages.lead[j] = ratio * stages.d[stages.leader[i], j]
    if known == 0:
        return  # d holds a first guess
    ahead = stages.ahead[i]
    continue_polynomial(ahead, stages.differences[i], known, 0, moving, True, True)
    for j in range(moving):
        d[j] = stages.lead[j] + ahead[j]


@inlined
def remember_difference(stages, i):
    for j in range(stages.lead.shape[0]):
        stages.ahead[i, j] = stages.d[i, j] - stages.lead[j]


# ---------------------------------------------------------------------------------------------------------------- a step


@inlined
def make_composed_step(method, s, stages, h, tau, row):
    """One step of length h; returns (evaluations, status)."""
    clock = stages.memory[0]
    count, known, began = stages.gamma.shape[0], clock[HISTORY], clock[TIME]
    for i in range(count):
        for j in range(stages.d.shape[1]):
            stages.d_start[i, j] = stages.d[i, j]
    method.remember(s)
    evaluations = 0
    for i in range(count):
        length, following = stages.gamma[i] * h, stages.gamma[(i + 1) % count] * h
        memory = stages.memory[i]
        memory[TIME] = clock[TIME]
        memory[HISTORY] = known
        used, size = method.solve(s, i, length, tau, row)
        evaluations += used
        clock[LAST_RESIDUAL], clock[SCALE] = memory[LAST_RESIDUAL], memory[SCALE]
        if not (size <= 1.0):
            forget(stages)
            method.back(s, began)
            clock[TIME] = began
            return evaluations, STALLED if size < UNBOUNDED else NOT_FINITE
        clock[TIME] += length
        remember_difference(stages, i)
        method.arrive(s, i, length, following, clock[TIME], tau, row)
    changed = method.finish(s)
    clock[HISTORY] = known
    tick(clock, h)
    if changed:
        start_anew(stages)
    return evaluations, FINISHED


@inlined
def forget(stages):
    """Unknowns as before the composed step, so that it can be tried again with other forces."""
    for i in range(stages.d.shape[0]):
        for j in range(stages.d.shape[1]):
            stages.d[i, j] = stages.d_start[i, j]
    forget_past(stages)


@inlined
def start_anew(stages):
    """In other coordinates: only the increment of the last stage is written in them, and the others are guessed from it."""
    last = stages.d.shape[0] - 1
    for i in range(last):
        for j in range(stages.lead.shape[0]):
            stages.d[i, j] = stages.d[last, j] * stages.gamma[i] / stages.gamma[last]
    forget_past(stages)


@inlined
def forget_past(stages):
    for i in range(stages.d.shape[0]):
        stages.memory[i, HISTORY] = 0.0
        stages.memory[i, RATE] = ALWAYS_NEW
