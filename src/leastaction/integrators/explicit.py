"""Explicit integrators of the continuous equations of motion: what users compare the variational ones with."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..assembly.closing import tie
from ..compiling.decorators import Direct
from ..coordinates import ties as tree
from ..dynamics import explain_singular
from ..kernels.stepping import explicit as kernels
from ..kernels.tree import evaluate
from ..model import Model
from ..state import State
from .base import Advance, Integrator


class Explicit(Integrator):
    """Base class: every force is taken at a known state, joint forces tau are held constant over a step.

    Constraints are kept on the level of accelerations only: their errors grow, which is what to compare with.
    """

    symplectic = False
    method: ClassVar[int]  #: number in kernels/explicit.py

    def start(self, model: Model, state: State, dt: float) -> _Stepper:
        if not tree.in_tree(model.closures):
            self.refuse_constraints(model)
        return _Stepper(self, model, state, dt)

    def recording(self, dt: float) -> tuple[int, float]:
        return evaluate.VELOCITY, 0.0

    def extras(self, model: Model) -> dict[str, tuple[int, ...]]:
        return {"constraint_error": ()} if model.closures else {}


class SemiImplicitEuler(Explicit):
    """v += h a(q, v), then q moves with the new velocity.  Order 1, one force evaluation; the method of most game engines.

    Symplectic only where the mass matrix is constant: on mechanisms its energy drifts.
    """

    order = 1
    method = kernels.SEMI_IMPLICIT_EULER


class Heun(Explicit):
    """Explicit trapezoidal rule on coordinates.  Order 2, two force evaluations."""

    order = 2
    method = kernels.HEUN


class RK4(Explicit):
    """The classical Runge-Kutta method on coordinates; quaternions are normalised.  Order 4, four force evaluations."""

    order = 4
    method = kernels.RK4


class RKMK4(Explicit):
    """Runge-Kutta-Munthe-Kaas: RK4 on the Lie group of ball and free joints.  Order 4, four force evaluations.

    Equal to RK4 on mechanisms without ball and free joints.
    """

    order = 4
    method = kernels.RKMK4


class _Stepper:
    def __init__(self, integrator: Explicit, model: Model, state: State, dt: float):
        self.integrator, self.model, self.dt = integrator, model, dt
        self._run = Direct(kernels.run)
        self.work = model.make_work()
        self.stage = kernels.make_stage(len(model.bodies), model.nq, model.nv)
        self.stage.q[:] = state.q
        self.stage.v[:] = state.v
        self.clock = np.array([state.t, 0.0])
        self.ties: tree.Ties | None = None
        self.dropped: tuple[str, ...] = ()  #: names of redundant constraint rows
        self.extra = {"constraint_error": np.zeros(1)}  #: rows of the recording, see Integrator.extras
        if model.closures:
            self.ties, self.dropped = tie(model, state.q, state.v, state.t, dt)

    def record(self, out_q, out_momentum) -> None:
        out_q[0], out_momentum[0] = self.stage.q, self.stage.v
        if self.ties is not None:
            found = tree.evaluate(self.model, self.ties, self.stage.q, self.clock[kernels.START] + self.clock[kernels.COUNT] * self.dt)
            self.extra["constraint_error"][:1] = np.abs(found.value).max(initial=0.0)

    def advance(self, steps, tau, stride, out_q, out_momentum, evaluations) -> Advance:
        made, status = self._run(
            self.model.tree, self.work, self.ties, self.stage, self.clock, self.integrator.method, self.dt, steps, tau, stride,
            out_q, out_momentum, self.extra["constraint_error"], evaluations,
        )  # fmt: skip
        return Advance(made) if status == kernels.FINISHED else Advance(made, self._explain(), float("inf"))

    def _explain(self) -> str:
        singular = explain_singular(self.model, self.stage.q, limit=100.0)
        if singular:
            return singular
        fastest = float(np.abs(self.stage.v).max())
        return (
            f"the state is no longer finite (largest velocity before the step {fastest:.3g}); {type(self.integrator).__name__} is "
            f"explicit and unstable when dt is too long for the fastest motion or the stiffest spring or damper. "
            f"Try a smaller dt, for example {0.1 * self.dt:g} s, or integrator=Variational()"
            + ("; or is a CustomForce not finite there?" if len(self.model.tree.custom) else "")
        )
