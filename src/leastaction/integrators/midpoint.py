"""The variational integrator of generalised coordinates (Johnson and Murphey 2009, "trep")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..checks import listed, number, shown
from ..compiling.records import allocate
from ..coordinates.frames import make_frames
from ..dynamics import explain_singular
from ..errors import StateError
from ..kernels.lagrangian.layout import make_lagrangian
from ..kernels.solving.memory import TIME, make_memory
from ..kernels.stepping import midpoint as kernels
from ..kernels.stepping import midpoint_composition as composition
from ..kernels.stepping.record import Record
from ..kernels.stepping.stages import make_course
from ..kernels.tree.layout import Actuation, Charts
from ..model import Model
from ..state import State
from .base import KICKED_MOMENTUM, CompiledStepper, InStages, Integrator, Starts, checked_evaluations, checked_tolerance
from .variational import place_in_tree, place_stages, put_tied_node, restart_tree, tied


class Midpoint(Integrator):
    """Discretises the action in generalised coordinates: Ld = h L((1 - alpha) q_k + alpha q_{k+1}, (q_{k+1} - q_k)/h).

    Ball and free joints move by half their rotation to the middle (alpha = 1/2).  Potentials and forces act inside the step, so stiff
    springs and hanging chains stay stable; a step costs O(n^2) and a dense elimination, where `Variational` costs O(n).

    alpha        where in the step the Lagrangian is evaluated; order 2 and reversible for 1/2, else order 1
    tol          largest residual relative to the largest momentum or impulse of the step

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-2, duration=5.0, q={"upper": 1.0}, integrator=la.Midpoint())
    >>> bool(abs(run.energy - run.energy[0]).max() < 1e-2)  # J
    True
    """

    symplectic = True
    linearisable = True

    def __init__(self, alpha: float = 0.5, tol: float = 1e-10, max_evaluations: int = 50):
        self.alpha = number(alpha, "alpha", StateError)
        if not 0.0 <= self.alpha <= 1.0:
            raise StateError(f"alpha = {shown(alpha)}; it needs a number from 0 to 1, 1/2 for order 2")
        self.tol = checked_tolerance(tol)
        self.max_evaluations = checked_evaluations(max_evaluations)

    @property
    def order(self) -> int:  # type: ignore[override]
        return 2 if self.alpha == 0.5 else 1

    @property
    def plain_coordinates(self) -> bool:  # type: ignore[override]
        return self.alpha != 0.5

    @property
    def self_adjoint(self) -> bool:  # type: ignore[override]
        return self.alpha == 0.5

    @property
    def has_composed_code(self) -> bool:
        return True

    def start(self, model: Model, state: State, dt: float) -> MidpointStepper:
        self.refuse_model(model)
        self.refuse_overheld(model, state)
        return MidpointStepper(self, model, state, dt)

    def start_composed(self, model: Model, state: State, dt: float, gammas: NDArray[np.float64]) -> ComposedMidpointStepper:
        self.refuse_model(model)
        return ComposedMidpointStepper(self, model, state, dt, gammas)

    def refuse_model(self, model: Model) -> None:
        """What its equations do not describe."""
        if self.alpha != 0.5 and (turning := [b.joint_name for b in model.bodies if b.joint.has_quaternion]):
            named = f"the ball or free joint {listed(turning)}"
            raise StateError(f"Midpoint(alpha={self.alpha:g}) cannot move {named}; use alpha=0.5, or Variational()")

    def longest_turn(self, model: Model) -> float:
        return 1.0 if super().longest_turn(model) < np.inf else np.inf  # ball joints, which move by cayley

    @property
    def shared_tolerance(self) -> float:
        return self.tol

    def recording(self, dt: float) -> tuple[int, float]:
        return KICKED_MOMENTUM, 0.0

    def numbers(self, dt: float) -> kernels.Options:
        """The options as the kernels take them."""
        return kernels.Options(dt, self.tol, self.alpha, self.max_evaluations)


class MidpointStepper(CompiledStepper):
    integrator: Midpoint

    def __init__(self, integrator: Midpoint, model: Model, state: State, dt: float):
        super().__init__(integrator, model, dt)
        self.work, self.memory = model.make_work(Actuation, Charts), make_memory(state.t)
        self.ties = tied(self, state)
        self.restart(state)
        self.set_up()

    def set_up(self) -> None:
        """The arrays and the compiled loop."""
        self.arrays = midpoint_arrays(self.model, self.work, self.ties, self.memory, self.integrator.numbers(self.dt))
        self.compile(kernels.run)

    def restart(self, state: State) -> None:
        """Go on from another state, with the same rows of the constraints."""
        restart_tree(self.work, self.memory, self.ties, state, self.dt)

    def place_starts(self, many: Starts):
        if self.ties is not None:  # which rows are kept depends on the start
            return None
        return [*self.place_times(many, self.memory), *place_in_tree(self.work, many, self.dt * many.v)]

    @property
    def present(self):
        return self.work.q, self.work.target

    @property
    def closure_rows(self) -> int:
        """Rows of the constraints that are kept."""
        return self.multipliers

    def write(self, record: Record) -> None:
        put_tied_node(record, self.memory, self.work, self.ties)

    def explain(self, status: int, residual: float) -> str:
        i = self.integrator
        singular = explain_singular(self.model, self.work.q, limit=100.0)
        return singular or self.in_words(status, residual, ["a smaller dt"], i.max_evaluations, i.tol, "the largest momentum")


class ComposedMidpointStepper(InStages, MidpointStepper):
    def set_up(self) -> None:
        model = self.model
        self.course = make_course(self.gammas, float(self.memory[TIME]), model.nv)
        self.course.d[:] = np.outer(self.gammas, self.work.d)
        plain = midpoint_arrays(model, self.work, self.ties, self.memory, self.integrator.numbers(self.dt))
        self.memory = self.course.memory[0]
        stages = composition.make_stages(self.course, model.nq, model.nv, self.multipliers)
        self.arrays = composition.Composed(
            plain.m, plain.frames, plain.lag, plain.w, plain.newton, plain.end, plain.con, stages, plain.options, plain.tables
        )  # fmt: skip
        self.compile(composition.run)

    def place_starts(self, many: Starts):
        return None if self.ties is not None else place_stages(self, self.course, many)


def midpoint_arrays(model: Model, work, ties, memory, numbers: kernels.Options, tables=None) -> kernels.Arrays:
    """What the compiled step works on."""
    frames = make_frames(model, every=tables is None)
    end = model.make_work() if ties is not None else None
    newton = allocate(kernels.Newton, {"nv": model.nv, "nq": model.nq})
    return kernels.Arrays(model.tree, frames, make_lagrangian(model.tree, frames), work, newton, end, ties, memory, numbers, tables)
