"""The linear-time variational integrator of trees (Lee, Liu, Park, Srinivasa 2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import explain_dependent, tie
from ..checks import shown
from ..coordinates import ties as tree
from ..dynamics import discrete, explain_singular
from ..errors import StateError
from ..kernels.solving.memory import SCALE, SIZE, TIME, make_memory
from ..kernels.stepping import composition
from ..kernels.stepping import variational as kernels
from ..kernels.stepping.loop import NOT_FINITE
from ..kernels.stepping.record import Record, put_node
from ..kernels.stepping.stages import Course, make_course
from ..kernels.tree.layout import QUADRATURES, Actuation, Charts, Work
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Model
from ..specialise import Specialised
from ..state import State
from .base import (
    KICKED_MOMENTUM,
    CompiledStepper,
    InStages,
    Integrator,
    Starts,
    checked_choice,
    checked_evaluations,
    checked_tolerance,
    remedies_for_steps,
)
from .memory import Memory

_ROUNDING = 1e-14  # of the largest momentum: a residual this small cannot be made smaller


class Variational(Integrator):
    """Discretises the action: bounded energy, exact momentum, O(n) per step, order 2.

    retraction  "exp" or "cayley": how a rigid displacement becomes a velocity
    quadrature  "trapezoid": potentials at both ends of the step; "midpoint": half way, stable for stiff springs and hanging
                chains at large steps, at a higher cost
    tol         largest residual relative to the largest momentum of the whole mechanism in the step; a light part beside one a
                million times heavier is solved that much less accurately: give a smaller tol, or the part a model of its own

    solver="newton" and guess="extrapolate" are what it does; the solvers and guesses of the papers, to compare with, are in
    `leastaction.yardsticks`.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-2, duration=5.0, q={"upper": 1.0}, integrator=la.Variational())
    >>> bool(abs(run.energy - run.energy[0]).max() < 1e-2)  # J
    True
    """

    order = 2
    symplectic = True
    linearisable = True
    self_adjoint = True

    def __init__(
        self,
        retraction: str = "exp",
        solver: str = "newton",
        guess: str = "extrapolate",
        quadrature: str = "trapezoid",
        tol: float = 1e-10,
        max_evaluations: int = 50,
    ):
        self.retraction = checked_choice(retraction, RETRACTIONS, "retraction")
        self._check_yardstick(solver=(solver, "newton"), guess=(guess, "extrapolate"))
        self.quadrature = checked_choice(quadrature, QUADRATURES, "quadrature")
        self.tol = checked_tolerance(tol)
        self.max_evaluations = checked_evaluations(max_evaluations)

    @staticmethod
    def _check_yardstick(**choices: tuple[str, str]) -> None:
        for name, (value, own) in choices.items():
            if not isinstance(value, str) or value != own:
                raise StateError(
                    f"{name} = {shown(value)}; Variational has {name}={own!r}. The others, to compare with, are in leastaction.yardsticks: "
                    "from leastaction.yardsticks import Lee2016"
                )

    def start(self, model: Model, state: State, dt: float) -> VariationalStepper:
        self.refuse_overheld(model, state)
        return VariationalStepper(self, model, state, dt)

    @property
    def has_composed_code(self) -> bool:
        return True

    def start_composed(self, model: Model, state: State, dt: float, gammas: NDArray[np.float64]) -> ComposedStepper:
        return ComposedStepper(self, model, state, dt, gammas)

    def longest_turn(self, model: Model) -> float:
        return np.pi if self.retraction == "exp" else 1.0  # where cayley is 20 % too slow

    @property
    def shared_tolerance(self) -> float:
        return self.tol

    def recording(self, dt: float) -> tuple[int, float]:
        return KICKED_MOMENTUM, 0.5 * dt if self.quadrature == "trapezoid" else 0.0

    def step_jacobian(self, model: Model, q0, q1, dt: float) -> NDArray[np.float64]:
        return dt * discrete.jacobian(model, q0, q1, dt, retraction=self.retraction, quadrature=self.quadrature)

    def why_general(self, model: Model) -> str:
        if self.quadrature != "trapezoid":
            return "it is written for the trapezoidal quadrature"
        if model.closures:
            return "it is written for mechanisms without constraints"
        if model.is_actuated:
            return "it is written for mechanisms without servos and dry friction"
        return "functions of the user act on bodies" if len(model.tree.law_on) else ""

    def numbers(self, dt: float, patient: bool = False) -> kernels.Options:
        """The options as the kernels take them."""
        return kernels.Options(dt, self.tol, RETRACTIONS[self.retraction], self.max_evaluations, int(patient))


class VariationalStepper(CompiledStepper):
    integrator: Variational
    general: Any  #: the entry point for all mechanisms
    switched: bool = False  #: has it gone over to code for its mechanism on the way?

    def __init__(self, integrator: Variational, model: Model, state: State, dt: float):
        super().__init__(integrator, model, dt)
        self.work, self.memory = model.make_work(Actuation, Charts), np.zeros(SIZE)
        self.middle = model.make_middle() if integrator.quadrature == "midpoint" else None
        self.ties = tied(self, state)
        self.restart(state)
        self.set_up()

    def restart(self, state: State) -> None:
        """Go on from another state, with the same rows of the constraints."""
        restart_tree(self.work, self.memory, self.ties, state, self.dt)

    def place_starts(self, many: Starts):
        if self.ties is not None:  # which rows are kept depends on the start
            return None
        return [*self.place_times(many, self.memory), *place_in_tree(self.work, many, self.dt * many.v)]

    @property
    def present(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.work.q, self.work.target

    @property
    def closure_rows(self) -> int:
        """Rows of the constraints that are kept."""
        return self.multipliers

    def set_up(self) -> None:
        """The arrays and the compiled loop: made for this mechanism after model.specialise(), or the one for all."""
        self.arrays = kernels.Arrays(self.model.tree, self.work, self.middle, self.ties, self.memory, self.integrator.numbers(self.dt))
        self.general = kernels.run
        self.compile(self.own_code(self.model.specialised) or self.general)

    def own_code(self, special: Specialised | None) -> Callable | None:
        """The entry point made for this mechanism, if there is one."""
        if special is None or self.integrator.why_general(self.model):
            return None
        return special.run(self.integrator.retraction)

    def switch_to(self, special: Specialised) -> bool:
        """Go on with code made for this mechanism; False if there is none."""
        own = self.own_code(special)
        if own is not None:
            self.compile(own)
            self.switched = True
        return self.switched

    def remember(self) -> Memory | None:
        memory = super().remember()
        return memory | {"specialised": np.ones(1)} if memory is not None and self.switched else memory

    def recall(self, memory: Memory) -> None:
        if "specialised" in memory and not self.switched:
            self.switch_to(Specialised(self.model.tree, self.model.make_work()))
        elif "specialised" not in memory and self.switched:
            self.compile(self.general)
            self.switched = False
        super().recall(memory)

    def write(self, record: Record) -> None:
        put_tied_node(record, self.memory, self.work, self.ties)

    def explain(self, status: int, residual: float) -> str:
        singular = explain_singular(self.model, self.work.q, limit=100.0)
        if singular:
            return singular
        if self.ties is not None and (dependent := explain_dependent(self.model, self.work.q, self.memory[TIME])):
            return dependent
        scale, tol = float(self.memory[SCALE]), self.integrator.tol
        if status != NOT_FINITE and residual < _ROUNDING * scale:
            return (
                f"the residual stays at {residual:.3g}, {residual / scale:.2g} of the largest momentum {scale:.3g}, which is rounding: "
                f"tol = {tol:g} cannot be reached; give tol=1e-12 or larger"
            )
        return self.in_words(status, residual, self.remedies(), self.integrator.max_evaluations, tol, "the largest momentum")

    def remedies(self) -> list[str]:
        """What to try when a step is not solved."""
        return remedies_for_steps(self.integrator.quadrature)


def tied(stepper: CompiledStepper, state: State) -> tree.Ties | None:
    """The constraints of a simulation in joint coordinates that starts here; what its stepper says of them."""
    model, tol = stepper.model, stepper.integrator.shared_tolerance
    if not model.closures:
        return None
    ties, stepper.redundant = tie(model, state.q, state.v, state.t, stepper.dt)
    ties.least[:] *= tree.rounding(tol)
    stepper.multipliers, stepper.keeps_constraints = len(ties.lam), True
    return ties


def restart_tree(work: Work, memory: NDArray[np.float64], ties: tree.Ties | None, state: State, dt: float) -> None:
    """The memory of a simulation in joint coordinates as if it began here."""
    work.q[:], work.target[:], work.d[:] = state.q, state.p, dt * state.v
    memory[:] = make_memory(state.t)
    if ties is not None:
        ties.lam[:] = 0.0


def place_in_tree(work: Work, many: Starts, d: NDArray[np.float64]) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """What `restart_tree` writes to Work, for many starts; d: (batch, nv) first increments."""
    return [(work.q, many.q), (work.target, many.p), (work.d, d)]


def put_tied_node(
    record: Record, memory: NDArray[np.float64], work: Work, ties: tree.Ties | None, impulses: NDArray[np.float64] | None = None
) -> None:
    """The present node of a simulation in joint coordinates as the next row of the record; impulses: of the step, if not `ties.lam`."""
    if ties is None:
        put_node(record, float(memory[TIME]), work.q, work.target)
    else:
        error = float(np.abs(ties.value).max(initial=0.0))
        put_node(record, float(memory[TIME]), work.q, work.target, error, ties.lam if impulses is None else impulses)


class ComposedStepper(InStages, VariationalStepper):
    def set_up(self) -> None:
        model = self.model
        self.course = make_course(self.gammas, float(self.memory[TIME]), model.nv)
        self.course.d[:] = np.outer(self.gammas, self.work.d)
        self.memory = self.course.memory[0]
        stages = composition.make_stages(self.course, len(model.bodies), model.nq, model.nv, self.multipliers)
        stages.S1[:] = self.work.S1
        numbers = self.integrator.numbers(self.dt, patient=True)
        self.arrays = composition.Arrays(model.tree, self.work, self.middle, self.ties, stages, numbers)
        self.general = composition.run
        self.compile(self.own_code(model.specialised) or self.general)

    def own_code(self, special: Specialised | None) -> Callable | None:
        if special is None or self.integrator.why_general(self.model):
            return None
        return special.run_composed(self.integrator.retraction)

    def place_starts(self, many: Starts):
        return None if self.ties is not None else place_stages(self, self.course, many)


def place_stages(stepper, course: Course, many: Starts) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """For `la.rollout`: what many starts write to the memory of a composition in joint coordinates."""
    d = stepper.dt * many.v
    stages = course.gamma[:, None] * d[:, None, :]
    times = [place for memory in course.memory for place in stepper.place_times(many, memory)]
    return [*times, *place_in_tree(stepper.work, many, d), (course.d, stages.reshape(len(d), -1))]
