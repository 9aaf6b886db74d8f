"""Members that are simulated one by one: loops, maximal coordinates, the guard, integrators written in Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import ConvergenceError, LeastActionError
from ..integrators.base import Advance
from ..kernels.stepping.loop import FINISHED, STALLED
from ..kernels.stepping.members import BEYOND_LIMIT, BLOCK, EVALUATIONS, KEPT, MADE, STATUS, STOPPED, Nodes
from ..simulator import Simulator
from ..trajectory import Trajectory
from .asked import Asked


class _Interrupted(Exception):
    """Somebody wants an end."""


class _Interruptible(Simulator):
    """A simulator that looks every few hundred steps whether it is to stop."""

    stop: NDArray[np.int64]

    def _advance(self, size, tau, record, end):
        done = 0
        while True:
            if self.stop[0]:
                raise _Interrupted
            part = min(BLOCK, size - done)
            result = super()._advance(part, tau if len(tau) == 1 else tau[done : done + part], record, end)
            done += result.steps
            if result.failure or result.limit or result.steps < part or done == size:
                return Advance(done, result.failure, result.residual, result.limit)


class Singly:
    """All members of a batch, or those of one group."""

    lanes = 1

    def __init__(self, asked: Asked, nodes: Nodes, violations: NDArray[np.float64] | None, stop: NDArray[np.int64]):
        self.asked, self.nodes, self.violations, self.stop = asked, nodes, violations, stop
        self.size = len(asked.dt)

    def worker(self) -> Singly:
        """For one thread: members share nothing."""
        return self

    def __call__(self, first: int, last: int) -> dict[int, str]:
        """Run some of the members; returns why those failed that did."""
        failed: dict[int, str] = {}
        for k in range(first, last):
            if self.stop[0]:
                break
            self._run(k, failed)
        return failed

    def _run(self, k: int, failed: dict[int, str]) -> None:
        asked, run, status = self.asked, None, FINISHED
        try:
            run = self._simulate(k)
            if run.steps < asked.steps:
                status = BEYOND_LIMIT
        except _Interrupted:
            status = STOPPED
        except ConvergenceError as error:
            status, run, failed[k] = STALLED, error.trajectory, str(error)
        except LeastActionError as error:  # of its start
            status, failed[k] = STALLED, str(error)
        self._keep(k, run, status)

    def _simulate(self, k: int) -> Trajectory:
        asked = self.asked
        limits = "ignore" if asked.watch is None else "stop"
        simulator = _Interruptible(
            asked.model_of(k), asked.start(k), dt=float(asked.dt[k]), integrator=asked.integrator, guard=asked.guard, limits=limits
        )  # fmt: skip
        simulator.stop = self.stop
        forces = asked.forces(k)
        tau = forces[0] if len(forces) == 1 else forces
        return simulator.run(asked.steps, tau=tau, record_every=max(asked.every, 1), progress=False)

    def _keep(self, k: int, run: Trajectory | None, status: int) -> None:
        """What the batch keeps of a run; NaN after its end."""
        nodes, last = self.nodes, not self.asked.with_first
        kept = 0 if run is None else 1 if last else len(run)
        if run is not None:
            for target, source in ((nodes.t, run.t), (nodes.q, run.q), (nodes.p, run.recorded)):
                target[k, :kept] = source[-1:] if last else source
            if self.violations is not None:
                self.violations[k, :kept] = run.constraint_error[-1:] if last else run.constraint_error
        for target in (nodes.t, nodes.q, nodes.p, self.violations):
            if target is not None:
                target[k, kept:] = np.nan
        nodes.end[k, [MADE, KEPT, STATUS]] = 0 if run is None else run.steps, kept, status
        nodes.end[k, EVALUATIONS] = 0 if run is None else run.iterations.sum()
