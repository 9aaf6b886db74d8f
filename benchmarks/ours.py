"""leastaction behind the same interface as the peers: the full variational step, and single kernels."""

from __future__ import annotations

import numpy as np

import leastaction as la
from leastaction.compiling.records import allocate
from leastaction.kernels.tree.dense_jacobian import Columns
from leastaction.lie.retractions import NAMES as RETRACTIONS
from leastaction.yardsticks.scalable import ScalableVariational

from . import probe
from .peers.base import Array
from .timing import clock

WARM_UP_STEPS = 300  # the guess extrapolates the last steps, and the first motion from rest is not typical


class Step:
    """Full steps of the variational integrator, warm, in one compiled call.

    Every measurement repeats the same steps of the same simulation: the number of Newton corrections depends on the motion.
    few: so few steps are timed that the call from Python counts; what a call of one step takes is subtracted.
    """

    def __init__(
        self, model: la.Model, dt: float, integrator: la.Integrator | None = None, warm_up: int = WARM_UP_STEPS, few: bool = False
    ):
        self.model, self.dt, self.warm_up, self.few = model, dt, warm_up, few
        self.integrator = la.Variational(tol=1e-10) if integrator is None else integrator
        self.evaluations = float("nan")  #: residual evaluations per step in the last measurement

    def set_state(self, q: Array, v: Array) -> None:
        self.state = self.model.state(q, v)

    def timed(self, reps: int) -> float:
        simulator = la.Simulator(self.model, self.state, dt=self.dt, integrator=self.integrator)
        simulator.run(self.warm_up, record_every=self.warm_up, progress=False)
        began = clock()
        run = simulator.run(reps, record_every=reps, progress=False)
        seconds = clock() - began
        self.evaluations = float(np.mean(run.iterations))
        return (seconds - self._single(simulator)) / (reps - 1) if self.few else seconds / reps

    def _single(self, simulator: la.Simulator) -> float:
        """Seconds of a call of one step, the least of some."""
        taken = []
        for _ in range(10):
            began = clock()
            simulator.run(1, progress=False)
            taken.append(clock() - began)
        return min(taken)


class Kernel:
    """One kernel, repeated inside compiled code."""

    def __init__(self, model: la.Model, dt: float, what: int, retraction: str = "exp"):
        self.model, self.dt, self.what, self.retraction = model, dt, what, RETRACTIONS[retraction]
        self.scratch = np.zeros((len(model.bodies) + 1, 6))
        self.out = np.zeros(model.nv)
        self.columns = allocate(Columns, {"n": len(model.bodies), "nv": model.nv if what == probe.DENSE_SOLVE else 0})
        self.pivot = np.zeros(model.nv, dtype=np.int64)

    def set_state(self, q: Array, v: Array) -> None:
        self.q, self.v, self.tau = q.copy(), v.copy(), np.zeros(self.model.nv)
        self.work = self.model.make_work()
        self.work.q[:] = q
        self.work.d[:] = self.dt * v
        for needed in (probe.SET_NODE, probe.RESIDUAL, probe.MASS_FACTOR if self.what == probe.MASS_SOLVE else probe.NEWTON_MATRIX):
            self._repeat(needed, 1)

    def timed(self, reps: int) -> float:
        began = clock()
        self._repeat(self.what, reps)
        return (clock() - began) / reps

    def _repeat(self, what: int, reps: int) -> None:
        probe.repeat(
            what, reps, self.model.tree, self.work, self.columns, self.pivot, self.dt, self.retraction, self.q, self.v, self.tau,
            self.scratch, self.out,
        )  # fmt: skip


class SviResidual:
    """Johnson and Murphey's residual, repeated inside compiled code; `evaluation` and `primitive` as in ScalableVariational."""

    def __init__(self, model: la.Model, dt: float, evaluation: str, primitive: bool):
        self.svi, self.dt = ScalableVariational(model, evaluation, primitive), dt
        self.p, self.out = np.zeros(model.nv), np.zeros(model.nv)

    def set_state(self, q: Array, v: Array) -> None:
        self.q, self.d = q.copy(), self.dt * v

    def timed(self, reps: int) -> float:
        svi = self.svi
        began = clock()
        probe.repeat_svi(reps, svi.frames, svi.scratch, self.q, self.d, self.p, self.dt, svi.evaluation, self.out)
        return (clock() - began) / reps
