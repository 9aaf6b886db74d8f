"""The linear-time variational integrator of trees (Lee, Liu, Park, Srinivasa 2016)."""

from __future__ import annotations

import numpy as np

from ..errors import StateError
from ..kernels import evaluate
from ..kernels import variational as kernels
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Model
from ..state import State
from .base import Advance, Integrator


class Variational(Integrator):
    """Discretises the action: bounded energy, exact momentum, O(n) per step, order 2.

    retraction  "cayley" or "exp": how a rigid displacement becomes a velocity
    tol         largest residual relative to the momenta of the step
    """

    order = 2
    symplectic = True

    def __init__(self, retraction: str = "cayley", tol: float = 1e-10, max_evaluations: int = 50):
        self.retraction = _choice(retraction, RETRACTIONS, "retraction")
        if not tol > 0.0:
            raise StateError(f"tol = {tol!r}; it needs a positive number, for example 1e-10")
        self.tol = float(tol)
        self.max_evaluations = int(max_evaluations)

    def start(self, model: Model, state: State, dt: float) -> _Stepper:
        return _Stepper(self, model, state, dt)

    def recording(self, dt: float) -> tuple[int, float]:
        return evaluate.KICKED_MOMENTUM, 0.5 * dt


class _Stepper:
    def __init__(self, integrator: Variational, model: Model, state: State, dt: float):
        self.integrator, self.model, self.dt = integrator, model, dt
        self.work = model.make_work()
        self.work.q[:] = state.q
        self.work.target[:] = state.p
        self.work.d[:] = dt * state.v
        self.memory = np.zeros(kernels.MEMORY)
        self.memory[kernels.RATE] = kernels.ALWAYS_NEW
        self.memory[kernels.TIME] = state.t

    def record(self, out_q, out_momentum) -> None:
        out_q[0], out_momentum[0] = self.work.q, self.work.target

    def advance(self, steps, tau, stride, out_q, out_momentum, evaluations) -> Advance:
        i = self.integrator
        made, status = kernels.run(
            self.model.tree, self.work, self.memory, self.dt, steps, tau, i.tol, RETRACTIONS[i.retraction], kernels.EXTRAPOLATE,
            i.max_evaluations, stride, out_q, out_momentum, evaluations,
        )  # fmt: skip
        return Advance(made, "" if status == kernels.CONVERGED else "not solved", float(self.memory[kernels.LAST_RESIDUAL]))


def _choice(value: str, known, what: str) -> str:
    if value not in known:
        raise StateError(f"{what} = {value!r}; it is one of {', '.join(repr(k) for k in known)}")
    return value
