"""Variational integrators in joint velocities (Kobilarov 2014): trees in generalised coordinates, and floating bases on SE(3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import explain_dependent
from ..dynamics import explain_singular
from ..dynamics.discrete import increment
from ..kernels.solving.memory import TIME, make_memory
from ..kernels.stepping import trapezoid as kernels
from ..kernels.stepping.record import Record
from ..kernels.stepping.variational import Options
from ..kernels.tree.layout import Actuation, Charts
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Model
from ..state import State
from .base import KICKED_MOMENTUM, CompiledStepper, Integrator, Starts, checked_choice, checked_evaluations, checked_tolerance
from .variational import put_tied_node, tied


class Trapezoid(Integrator):
    """Trapezoidal rule of the action in joint coordinates: Ld = h/2 [L(q_k, v) + L(q_{k+1}, v)], v = (q_{k+1} - q_k) / h.

    Kobilarov's (21)-(25): order 2, symplectic, O(n) residuals.  Ball and free joints move by the Cayley map, as in FloatingBase.
    It is the integrator whose solvability leastaction.solvability can certify.  Variational is faster and takes bodies instead of
    joint coordinates as what moves steadily within a step.

    tol              largest residual relative to the largest momentum of the step
    max_evaluations  of the residual, those for the Jacobian not counted

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-2, duration=5.0, q={"upper": 1.0}, integrator=la.Trapezoid())
    >>> bool(abs(run.energy - run.energy[0]).max() < 1e-2)  # J
    True
    """

    order = 2
    symplectic = True
    linearisable = True
    self_adjoint = True
    retraction = "cayley"

    def __init__(self, tol: float = 1e-11, max_evaluations: int = 50):
        self.tol = checked_tolerance(tol, "1e-11")
        self.max_evaluations = checked_evaluations(max_evaluations)

    def start(self, model: Model, state: State, dt: float) -> TrapezoidStepper:
        return self.start_composed(model, state, dt, np.ones(1))

    @property
    def has_composed_code(self) -> bool:
        return True

    def start_composed(self, model: Model, state: State, dt: float, gammas: NDArray[np.float64]) -> TrapezoidStepper:
        self.refuse_overheld(model, state)
        return TrapezoidStepper(self, model, state, dt, gammas)

    def longest_turn(self, model: Model) -> float:
        usual = super().longest_turn(model)  # infinite without ball and free joints
        return 1.0 if usual < np.inf and self.retraction == "cayley" else usual

    @property
    def shared_tolerance(self) -> float:
        return self.tol

    def recording(self, dt: float) -> tuple[int, float]:
        return KICKED_MOMENTUM, 0.0

    def step_jacobian(self, model: Model, q0, q1, dt: float) -> NDArray[np.float64]:
        memory = kernels.make_trapezoid(model.nq, model.nv)
        memory.q_start[:], memory.v[:] = q0, increment(model, q0, q1) / dt
        still, retraction = np.zeros(model.nv), RETRACTIONS[self.retraction]
        kernels.jacobian(model.tree, model.make_work(), model.make_work(), memory, dt, 0.0, still, retraction)
        return memory.J


class FloatingBase(Trapezoid):
    """The same on SE(3) x R^m, Kobilarov's (62)-(65): a free joint moves by the retraction tau(h xi), xi its body twist.

    retraction  "cayley" or "exp", of SE(3) for free joints and of SO(3) for ball joints

    The momentum map (65) of a floating tree without gravity is kept to rounding: it is run.momentum.

    >>> import leastaction as la
    >>> model = la.examples.t_handle().compile()
    >>> run = la.simulate(model, dt=1e-3, steps=100, v={"handle": (12.0, 0.02, 0, 0, 0, 0)}, integrator=la.FloatingBase())
    >>> bool(abs(run.momentum - run.momentum[0]).max() < 1e-10)
    True
    """

    def __init__(self, retraction: str = "cayley", tol: float = 1e-11, max_evaluations: int = 50):
        super().__init__(tol, max_evaluations)
        self.retraction = checked_choice(retraction, RETRACTIONS, "retraction")


class TrapezoidStepper(CompiledStepper):
    integrator: Trapezoid

    def __init__(self, integrator: Trapezoid, model: Model, state: State, dt: float, gammas: NDArray[np.float64]):
        super().__init__(integrator, model, dt)
        self.work, self.memory = model.make_work(Actuation, Charts), make_memory(state.t)
        self.work.q[:] = state.q
        self.work.target[:] = state.p
        self.ties = tied(self, state)
        self.trapezoid = kernels.make_trapezoid(model.nq, model.nv, self.multipliers)
        self.trapezoid.v[:] = state.v
        numbers = Options(dt, integrator.tol, RETRACTIONS[integrator.retraction], integrator.max_evaluations, 0)
        self.arrays = kernels.Arrays(
            model.tree, self.work, model.make_work(), self.trapezoid, self.ties, np.array(gammas, dtype=float), self.memory, numbers
        )  # fmt: skip
        self.compile(kernels.run)

    def place_starts(self, many: Starts):
        if self.ties is not None:  # which rows are kept depends on the start
            return None
        places = [(self.work.q, many.q), (self.work.target, many.p), (self.trapezoid.v, many.v)]
        return [*self.place_times(many, self.memory), *places]

    @property
    def present(self):
        return self.work.q, self.work.target

    def write(self, record: Record) -> None:
        put_tied_node(record, self.memory, self.work, self.ties, self.trapezoid.impulse)

    def explain(self, status: int, residual: float) -> str:
        i = self.integrator
        singular = explain_singular(self.model, self.work.q)
        if not singular and self.ties is not None:
            singular = explain_dependent(self.model, self.work.q, self.memory[TIME])
        remedies = ["a smaller dt (see leastaction.solvability)"]
        return singular or self.in_words(status, residual, remedies, i.max_evaluations, i.tol, "the largest momentum")
