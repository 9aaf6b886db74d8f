"""Explicit integrators of the continuous equations of motion: what users compare the variational ones with."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..assembly.closing import tie
from ..compiling.records import allocate
from ..coordinates import ties as tree
from ..dynamics import explain_singular
from ..kernels.solving.memory import TIME, make_memory
from ..kernels.stepping import explicit as kernels
from ..kernels.stepping.record import Record, put_node
from ..kernels.tree.layout import Charts
from ..model import Model
from ..state import State
from .base import VELOCITY, CompiledStepper, Integrator, Starts


class Explicit(Integrator):
    """Base class: every force is taken at a known state, joint forces tau are held constant over a step.

    Constraints are kept on the level of accelerations only: their errors grow, which is what to compare with.  Errors of constraints on
    velocities, in m/s or rad/s, are reported with the others.
    """

    symplectic = False
    linearisable = True
    method: ClassVar[int]  #: number in kernels/stepping/explicit.py

    def start(self, model: Model, state: State, dt: float) -> ExplicitStepper:
        self.refuse_dry_friction(model, "it takes forces at the start of a step, where the one that holds a joint is not known")
        return ExplicitStepper(self, model, state, dt)

    def recording(self, dt: float) -> tuple[int, float]:
        return VELOCITY, 0.0


class SemiImplicitEuler(Explicit):
    """v += h a(q, v), then q moves with the new velocity.  Order 1, one force evaluation; the method of most game engines.

    Symplectic only where the mass matrix is constant: on mechanisms its energy drifts.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-2, duration=5.0, q={"upper": 1.0}, integrator=la.SemiImplicitEuler())
    >>> bool(abs(run.energy - run.energy[0]).max() < 1)  # J
    True
    """

    order = 1
    method = kernels.SEMI_IMPLICIT_EULER


class Heun(Explicit):
    """Explicit trapezoidal rule on coordinates.  Order 2, two force evaluations.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-2, duration=5.0, q={"upper": 1.0}, integrator=la.Heun())
    >>> bool(abs(run.energy - run.energy[0]).max() < 0.1)  # J
    True
    """

    order = 2
    method = kernels.HEUN


class RK4(Explicit):
    """The classical Runge-Kutta method on coordinates; quaternions are normalised.  Order 4, four force evaluations.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-2, duration=5.0, q={"upper": 1.0}, integrator=la.RK4())
    >>> bool(abs(run.energy - run.energy[0]).max() < 1e-4)  # J
    True
    """

    order = 4
    method = kernels.RK4


class RKMK4(Explicit):
    """Runge-Kutta-Munthe-Kaas: RK4 on the Lie group of ball and free joints.  Order 4, four force evaluations.

    Equal to RK4 on mechanisms without ball and free joints.

    >>> import leastaction as la
    >>> model = la.examples.heavy_top().compile()
    >>> run = la.simulate(model, dt=1e-3, steps=100, v={"top": (0, 0, 50.0)}, integrator=la.RKMK4())
    >>> bool(abs((run["top"] ** 2).sum(axis=1) - 1.0).max() < 1e-12)  # quaternions stay unit quaternions
    True
    """

    order = 4
    method = kernels.RKMK4


class ExplicitStepper(CompiledStepper):
    integrator: Explicit

    def __init__(self, integrator: Explicit, model: Model, state: State, dt: float):
        super().__init__(integrator, model, dt)
        self.memory = make_memory(state.t)
        self.stage = allocate(kernels.Stage, {"n": len(model.bodies), "nq": model.nq, "nv": model.nv})
        self.stage.q[:] = state.q
        self.stage.v[:] = state.v
        self.ties: tree.Ties | None = None
        if model.closures:
            self.ties, self.redundant = tie(model, state.q, state.v, state.t, dt)
            self.keeps_constraints = True
        self.arrays = kernels.Arrays(model.tree, model.make_work(Charts), self.ties, self.stage, self.memory, integrator.method, dt)
        self.compile(kernels.run)

    def place_starts(self, many: Starts):
        if self.ties is not None:
            return None
        return [*self.place_times(many, self.memory), (self.stage.q, many.q), (self.stage.v, many.v)]

    @property
    def present(self):
        return self.stage.q, self.stage.v

    def write(self, record: Record) -> None:
        t, error = float(self.memory[TIME]), 0.0
        if self.ties is not None:
            found = tree.evaluate(self.model, self.ties, self.stage.q, t)
            slips = (found.J0 @ self.stage.v + found.rate)[found.only_speed > 0]
            error = float(np.abs([*found.value, *slips]).max(initial=0.0))
        put_node(record, t, self.stage.q, self.stage.v, error)

    def explain(self, status: int, residual: float) -> str:
        singular = explain_singular(self.model, self.stage.q, limit=100.0)
        if singular:
            return singular
        fastest = float(np.abs(self.stage.v).max())
        return (
            f"the state is no longer finite (largest velocity before the step {fastest:.3g}); {type(self.integrator).__name__} is "
            f"explicit and unstable when dt is too long for the fastest motion or the stiffest spring or damper. "
            f"Try a smaller dt, for example {0.1 * self.dt:g} s, or integrator=Variational()"
            + ("; or is a force of your own (CustomForce, a law on a body) not finite there?" if self.model.calls_user_functions else "")
        )
