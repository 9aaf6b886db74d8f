"""Variational integrators in joint velocities (Kobilarov 2014): trees in generalised coordinates, and floating bases on SE(3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..checks import number, whole_number
from ..compiling.decorators import Direct
from ..dynamics import massless_joint
from ..errors import StateError
from ..kernels.stepping import trapezoid as kernels
from ..kernels.tree import evaluate, layout
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Model
from ..state import State
from .base import Advance, Integrator


class Trapezoid(Integrator):
    """Trapezoidal rule of the action in joint coordinates: Ld = h/2 [L(q_k, v) + L(q_{k+1}, v)], v = (q_{k+1} - q_k) / h.

    Kobilarov's (21)-(25): order 2, symplectic, O(n) residuals.  Ball and free joints move by the Cayley map, as in FloatingBase.
    It is the integrator whose solvability leastaction.solvability can certify.  Variational is faster and takes bodies instead of
    joint coordinates as what moves steadily within a step.

    tol              largest residual relative to the largest momentum of the step
    max_evaluations  of the residual, those for the Jacobian not counted
    """

    order = 2
    symplectic = True
    self_adjoint = True
    retraction = "cayley"

    def __init__(self, tol: float = 1e-11, max_evaluations: int = 50):
        self.tol = number(tol, "tol", StateError)
        if not 0.0 < self.tol < 1.0:
            raise StateError(f"tol = {tol!r}; it needs a number between 0 and 1, for example 1e-11")
        self.max_evaluations = whole_number(max_evaluations, 2, "max_evaluations")

    def start(self, model: Model, state: State, dt: float) -> _Stepper:
        return self.start_composed(model, state, dt, np.ones(1))

    @property
    def has_composed_code(self) -> bool:
        return True

    def start_composed(self, model: Model, state: State, dt: float, gammas: NDArray[np.float64]) -> _Stepper:
        self.refuse_constraints(model)
        self.refuse_charts(model)
        return _Stepper(self, model, state, dt, gammas)

    def recording(self, dt: float) -> tuple[int, float]:
        return evaluate.KICKED_MOMENTUM, 0.0


class FloatingBase(Trapezoid):
    """The same on SE(3) x R^m, Kobilarov's (62)-(65): a free joint moves by the retraction tau(h xi), xi its body twist.

    retraction  "cayley" or "exp", of SE(3) for free joints and of SO(3) for ball joints

    The momentum map (65) of a floating tree without gravity is kept to rounding: it is run.momentum.
    """

    def __init__(self, retraction: str = "cayley", tol: float = 1e-11, max_evaluations: int = 50):
        if retraction not in RETRACTIONS:
            raise StateError(f"retraction = {retraction!r}; it is one of {', '.join(map(repr, RETRACTIONS))}")
        super().__init__(tol, max_evaluations)
        self.retraction = retraction


class _Stepper:
    def __init__(self, integrator: Trapezoid, model: Model, state: State, dt: float, gammas: NDArray[np.float64]):
        self.integrator, self.model, self.dt, self.gammas = integrator, model, dt, np.array(gammas)
        self._run = Direct(kernels.run)
        self.work, self.end = model.make_work(), model.make_work()
        self.work.q[:] = state.q
        self.work.target[:] = state.p
        self.memory = np.zeros(layout.MEMORY)
        self.memory[layout.TIME] = state.t
        self.trapezoid = kernels.make_trapezoid(model.nq, model.nv)
        self.trapezoid.v[:] = state.v

    def record(self, out_q, out_momentum) -> None:
        out_q[0], out_momentum[0] = self.work.q, self.work.target

    def advance(self, steps, tau, stride, out_q, out_momentum, evaluations) -> Advance:
        i = self.integrator
        made, status = self._run(
            self.model.tree, self.work, self.end, self.trapezoid, self.gammas, self.memory, self.dt, steps, tau, i.tol,
            RETRACTIONS[i.retraction], i.max_evaluations, stride, out_q, out_momentum, evaluations,
        )  # fmt: skip
        residual = float(self.memory[layout.LAST_RESIDUAL])
        return Advance(made, "" if status == kernels.CONVERGED else self._explain(residual), residual)

    def _explain(self, residual: float) -> str:
        singular = massless_joint(self.model, self.work.q)
        if singular:
            return (
                f"joint {singular!r} moves no inertia in this configuration, so its motion is undefined; "
                "give the bodies it moves some inertia about its axis"
            )
        scale = float(self.memory[layout.SCALE])
        return (
            f"the residual stays at {residual:.3g} ({residual / scale if scale else np.inf:.2g} of the largest momentum {scale:.3g}) after "
            f"{self.integrator.max_evaluations} evaluations at most; try a smaller dt (see leastaction.solvability), or a larger tol "
            f"(now {self.integrator.tol:g})"
        )
