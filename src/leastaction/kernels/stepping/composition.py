"""Symmetric composition of variational steps: one step of length h is a sequence of steps of the lengths gamma_i h.

Every stage keeps its own factorisation from one composed step to the next, and guesses its increment from what is smooth:
the mean velocity of stage i differs from that of the known stage nearest in time (the leader of i) by a smooth function of time.
That difference is small, so continuing it by a polynomial guesses far better than continuing the increments themselves.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.decorators import entry, kernel
from ..tree.drnea import set_node
from ..tree.layout import (
    ALWAYS_NEW,
    FACTOR_COLUMNS,
    HISTORY,
    LAST_RESIDUAL,
    LINEAR_COLUMNS,
    MEMORY,
    RATE,
    RATE_AGED,
    RATE_FIRST,
    SCALE,
    STARTED,
    TIME,
    Work,
)
from ..tree.step import arrive_with_kick, begin, start_step
from .variational import CONVERGED, NOT_FINITE, STALLED, solve_step


class Stages(NamedTuple):
    """What each of the s stages remembers from one composed step to the next, and the start of the present one."""

    gamma: NDArray[np.float64]  # (s,) lengths of the stages in units of the step; their sum is 1
    memory: NDArray[np.float64]  # (s, MEMORY) as in the plain time loop; time and start are kept by stage 0
    d: NDArray[np.float64]  # (s, nv) increments
    leader: NDArray[np.int64]  # (s,) the stage whose middle is nearest among those made before: of this step, or of the last one
    lead: NDArray[np.float64]  # (nv,) increment of the leader, scaled to the length of the present stage
    ahead: NDArray[np.float64]  # (s, DEPTH, nv) increments minus lead of the last composed steps, newest first
    S1: NDArray[np.float64]  # (s, nv, 6)
    factor: NDArray[np.float64]  # (s, nv, FACTOR_COLUMNS)
    linear: NDArray[np.float64]  # (s, n+1, LINEAR_COLUMNS)
    d_start: NDArray[np.float64]  # (s, nv) increments before the composed step
    q_start: NDArray[np.float64]  # (nq,) coordinates at its start
    target_start: NDArray[np.float64]  # (nv,) target momentum there, half kick of the first stage included


DEPTH = 6


def leaders(gamma: NDArray[np.float64]) -> NDArray[np.int64]:
    """For every stage the nearest in time of the stages before it in this step (ref < i) and of the last step (ref >= i)."""
    middle = np.cumsum(gamma) - 0.5 * gamma
    known = [np.where(np.arange(len(gamma)) < i, middle, middle - 1.0) for i in range(len(gamma))]
    return np.array([np.argmin(np.abs(times - middle[i])) for i, times in enumerate(known)], dtype=np.int64)


def make_stages(gamma: NDArray[np.float64], n: int, nq: int, nv: int) -> Stages:
    s = len(gamma)
    stages = Stages(
        gamma=np.array(gamma), memory=np.zeros((s, MEMORY)), d=np.zeros((s, nv)), leader=leaders(gamma), lead=np.zeros(nv),
        ahead=np.zeros((s, DEPTH, nv)),
        S1=np.zeros((s, nv, 6)), factor=np.zeros((s, nv, int(FACTOR_COLUMNS))), linear=np.zeros((s, n + 1, int(LINEAR_COLUMNS))),
        d_start=np.zeros((s, nv)), q_start=np.zeros(nq), target_start=np.zeros(nv),
    )  # fmt: skip
    stages.memory[:, RATE] = ALWAYS_NEW
    stages.memory[:, [RATE_FIRST, RATE_AGED]] = 0.01
    return stages


@kernel
def work_of_stage(w, stages, i):
    """Work that shares the node with all stages and has the increments and the factorisation of stage i."""
    return Work(
        w.row, w.q, stages.d[i], w.d_old, w.d_last, w.r, w.z, w.step, w.target, w.target_last, w.load, w.history, w.S0, stages.S1[i],
        stages.factor[i], stages.linear[i], w.art, w.world, w.charts, w.chart, w.x, w.jet, w.laws,
    )  # fmt: skip


@kernel
def guess(stages, i, d):
    """d = lead + its last differences to the leader, continued by a polynomial of degree -1 (zero) to DEPTH - 2.

    As in kernels/step.extrapolate a degree is raised as long as that would have guessed the last difference much better.
    """
    nv, known = d.shape[0], int(stages.memory[i, HISTORY])
    a = stages.ahead[i]
    ratio = stages.gamma[i] / stages.gamma[stages.leader[i]]
    e0, e1, e2, e3, e4, e5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(nv):
        a0, a1, a2, a3, a4, a5 = a[0, j], a[1, j], a[2, j], a[3, j], a[4, j], a[5, j]
        e0 = max(e0, abs(a0))
        e1 = max(e1, abs(a0 - a1))
        e2 = max(e2, abs(a0 - 2.0 * a1 + a2))
        e3 = max(e3, abs(a0 - 3.0 * (a1 - a2) - a3))
        e4 = max(e4, abs(a0 - 4.0 * (a1 + a3) + 6.0 * a2 + a4))
        e5 = max(e5, abs(a0 - 5.0 * (a1 - a4) + 10.0 * (a2 - a3) - a5))
    degree = -1
    if known >= 3 and e1 < 0.3 * e0:
        degree = 0
        if known >= 4 and e2 < 0.3 * e1:
            degree = 1
            if known >= 5 and e3 < 0.3 * e2:
                degree = 2
                if known >= 6 and e4 < 0.3 * e3:
                    degree = 3
                    if known >= 7 and e5 < 0.3 * e4:
                        degree = 4
    for j in range(nv):
        lead = ratio * stages.d[stages.leader[i], j]
        stages.lead[j] = lead
        if known == 0:
            continue  # d holds a first guess
        x = lead
        if degree == 0:
            x += a[0, j]
        elif degree == 1:
            x += 2.0 * a[0, j] - a[1, j]
        elif degree == 2:
            x += 3.0 * (a[0, j] - a[1, j]) + a[2, j]
        elif degree == 3:
            x += 4.0 * (a[0, j] + a[2, j]) - 6.0 * a[1, j] - a[3, j]
        elif degree == 4:
            x += 5.0 * (a[0, j] - a[3, j]) - 10.0 * (a[1, j] - a[2, j]) + a[4, j]
        d[j] = x


@kernel
def remember_difference(stages, i):
    a = stages.ahead[i]
    for j in range(a.shape[1]):
        for k in range(DEPTH - 1, 0, -1):
            a[k, j] = a[k - 1, j]
        a[0, j] = stages.d[i, j] - stages.lead[j]


@kernel
def remember_start(w, stages):
    for j in range(w.q.shape[0]):
        stages.q_start[j] = w.q[j]
    for j in range(w.target.shape[0]):
        stages.target_start[j] = w.target[j]
        for i in range(stages.d.shape[0]):
            stages.d_start[i, j] = stages.d[i, j]


@kernel
def back_to_start(m, w, stages, h, time):
    """As before the composed step, so that it can be tried again with other forces."""
    for j in range(w.q.shape[0]):
        w.q[j] = stages.q_start[j]
    for j in range(w.target.shape[0]):
        w.target[j] = stages.target_start[j]
        for i in range(stages.d.shape[0]):
            stages.d[i, j] = stages.d_start[i, j]
    set_node(m, w, h, 0.0, False, w.r)
    for i in range(stages.d.shape[0]):
        stages.memory[i, HISTORY] = 0.0
        stages.memory[i, RATE] = ALWAYS_NEW
    stages.memory[0, TIME] = time


@entry
def run(m, w, mid, stages, h, steps, tau, tol, retraction, max_evaluations, stride, out_q, out_target, evaluations):
    """Make `steps` composed steps of length h; arguments and result as kernels/variational.run.

    Between two stages the potential kicks with half of each: target = p + (gamma_i h / 2) forces at the start of stage i.
    """
    nv, count = w.target.shape[0], stages.gamma.shape[0]
    clock = stages.memory[0]
    if clock[STARTED] == 0.0:
        begin(m, w, mid, stages.gamma[0] * h)
        clock[STARTED] = 1.0
    for step in range(steps):
        row = step if tau.shape[0] > 1 else 0
        remember_start(w, stages)
        began = clock[TIME]
        evaluations[step] = 0
        for i in range(count):
            length, following = stages.gamma[i] * h, stages.gamma[(i + 1) % count] * h
            memory, ws = stages.memory[i], work_of_stage(w, stages, i)
            memory[TIME] = clock[TIME]
            start_step(ws, length, tau, row)
            guess(stages, i, ws.d)
            used, norm = solve_step(m, ws, mid, None, memory, length, tol, retraction, max_evaluations, True)
            evaluations[step] += used
            clock[LAST_RESIDUAL] = norm
            clock[SCALE] = memory[SCALE]
            if not (norm <= tol * memory[SCALE]):
                back_to_start(m, w, stages, h, began)
                return step, STALLED if norm < 1e300 else NOT_FINITE
            clock[TIME] += length
            memory[HISTORY] += 1.0
            remember_difference(stages, i)
            arrive_with_kick(m, ws, mid, length, 0.5 * (length + following), clock[TIME])
            for j in range(nv):
                w.target[j] += 0.5 * length * tau[row, j]
        clock[TIME] = began + h  # the sum of the stages without its rounding
        if (step + 1) % stride == 0:
            k = (step + 1) // stride - 1
            for j in range(w.q.shape[0]):
                out_q[k, j] = w.q[j]
            for j in range(nv):
                out_target[k, j] = w.target[j]
    return steps, CONVERGED
