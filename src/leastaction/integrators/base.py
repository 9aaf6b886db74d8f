"""What an integrator is: a description, and a stepper that holds the memory of one simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checks import listed, number, same, shown, whole_number
from ..compiling.decorators import Direct
from ..compiling.portable import Carrier
from ..coordinates import ties as tree
from ..errors import StateError
from ..forces.functions import explain_failure
from ..kernels.solving.memory import LAST_RESIDUAL, SCALE, START, TIME
from ..kernels.stepping.evaluation import KICKED_MOMENTUM, VELOCITY
from ..kernels.stepping.loop import FINISHED, FULL, NOT_FINITE
from ..kernels.stepping.record import Record, make_record
from ..model import Model
from ..state import State
from .memory import Memory, arrays_of

__all__ = ["KICKED_MOMENTUM", "VELOCITY", "Advance", "CompiledStepper", "Integrator", "Record", "Stepper", "make_record"]


@dataclass(slots=True)
class Advance:
    """Outcome of `Stepper.advance`: steps made, and why it stopped early if it did."""

    steps: int
    failure: str = ""  #: empty, or what went wrong and what to try
    residual: float = 0.0
    limit: str = ""  #: empty, or which joint went beyond its limit in the last step; see integrators/watch.py
    event: Any = None  #: or where within the last step, which does not count, the run ends; see events/watch.py
    outside: bool = False  #: was that where the joint is not described any more, and is that an error?
    unexplained: str = ""  #: empty, or from where on the energy cannot be explained; see integrators/accounts.py
    time: float = 0.0  #: of that node, s

    @property
    def ends(self) -> bool:
        """Does the run end here?"""
        return bool(self.failure or self.limit or self.unexplained)


class Starts(NamedTuple):
    """Where many simulations start, a row for each."""

    q: NDArray[np.float64]  #: (batch, nq)
    p: NDArray[np.float64]  #: (batch, nv)
    v: NDArray[np.float64]  #: (batch, nv)
    t: NDArray[np.float64]  #: (batch,) s


class Stepper:
    """Memory of one simulation.  Made by `Integrator.start`."""

    multipliers: int = 0  #: constraint rows whose impulses it records
    keeps_constraints: bool = False  #: does it record constraint errors?
    redundant: tuple[str, ...] = ()  #: names of constraint rows that others imply, and which it left out

    def __init__(self, integrator: Integrator, model: Model, dt: float):
        self.integrator, self.model, self.dt = integrator, model, dt

    def advance(self, steps: int, tau: NDArray[np.float64], record: Record, end: float = np.inf) -> Advance:
        """Make `steps` steps and write to the record.

        tau    (1, nv) or (steps, nv), constant over each step
        end    an integrator that chooses its steps starts none at or after this time
        """
        raise TypeError(f"{type(self).__name__} does not say how it moves: override advance(steps, tau, record, end)")

    def write(self, record: Record) -> None:
        """The present node as the next row of the record."""
        raise TypeError(f"{type(self).__name__} does not say where it is: override write(record)")

    def remember(self) -> Memory | None:
        """A copy of all it will need in later steps; None: it cannot say, and a run that is continued starts anew from q and p."""
        return None

    def recall(self, memory: Memory) -> None:
        """Be as another stepper was, started from the same state, when it said `remember`."""
        raise TypeError(f"{type(self).__name__} does not say how it goes on: override remember() and recall(memory)")

    def take_over(self, before: Stepper, further: int, length: float) -> None:
        """What `before` kept account of: without its last `further` steps, in place of which one of so many seconds led here."""

    def make_record(self, rows: int, steps: int, every: int = 1) -> Record:
        """An empty record of this stepper with room for so many nodes and steps."""
        return make_record(rows, steps, self.model.nq, self.model.nv, self.multipliers, every)


class CompiledStepper(Stepper):
    """A stepper whose steps are made in one compiled call, `run(arrays, record, tau, steps, end)`."""

    arrays: Any  #: what the compiled code works on
    memory: NDArray[np.float64]  #: of the solver, see kernels/solving/memory.py
    _listed: tuple[Any, list[tuple[str, NDArray[Any]]]] | None = None  # `arrays`, and what steps change there

    def compile(self, run) -> None:
        """Use this entry point."""
        self.entry = run
        self._run = Direct(run)

    def place_starts(self, many: Starts) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]] | None:
        """For `la.rollout`: parts of `arrays` with what starts write there, a row for each; the rest of `arrays` is the same for all.

        None: every start needs a stepper of its own.
        """
        return None

    @property
    def present(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For `la.rollout`: the parts of `arrays` that hold q of the present node and what is recorded beside it."""
        raise TypeError(f"{type(self).__name__} places starts but does not say where it is: override present")

    def place_times(self, many: Starts, memory: NDArray[np.float64]) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """The times of the starts, as `make_memory` writes them."""
        return [(memory[at : at + 1], many.t[:, None]) for at in (START, TIME)]

    def advance(self, steps: int, tau: NDArray[np.float64], record: Record, end: float = np.inf) -> Advance:
        made, status = self._run(self.arrays, record, tau, steps, end)
        residual = float(self.memory[LAST_RESIDUAL])
        if status == FULL:
            raise RuntimeError(f"the record of {self.integrator!r} has no room for {steps} more steps")
        return Advance(made, "" if status == FINISHED else self.explain(status, residual), residual)

    def remember(self) -> Memory | None:
        return {name: array.copy() for name, array in self._changing()}

    def recall(self, memory: Memory) -> None:
        for name, array in self._changing():
            array[...] = memory[name]

    def _changing(self) -> list[tuple[str, NDArray[Any]]]:
        """Name and array of everything that steps change; looked for once, for it takes as long as ten steps."""
        if self._listed is None or self._listed[0] is not self.arrays:
            self._listed = self.arrays, list(arrays_of(self.arrays))
        return self._listed[1]

    def explain(self, status: int, residual: float) -> str:
        """Why a step failed, and what to try."""
        raise TypeError(f"{type(self).__name__} does not explain its failures: override explain(status, residual)")

    def in_words(self, status: int, residual: float, remedies: list[str], most: int, tol: float, compared_with: str) -> str:
        """A step that was not solved; `compared_with` says what the residual is relative to."""
        if status == NOT_FINITE:
            for code in self.model.keep_alive:
                if failure := explain_failure(code):
                    return failure
            if self.model.calls_user_functions:
                remedies.append("forces of your own (CustomForce, laws on bodies) that are finite there")
            return f"the residual became infinite or NaN with {self.integrator!r}; try {', '.join(remedies)}"
        scale = float(self.memory[SCALE])
        remedies.append(f"a larger tol (now {tol:g})")
        return (
            f"the residual stays at {residual:.3g} ({residual / scale if scale else np.inf:.2g} of {compared_with} {scale:.3g}) "
            f"after {most} evaluations at most; try {', '.join(remedies)}"
        )


class InStages(CompiledStepper):
    """Added to the stepper of an integrator: a sequence of steps of the lengths gammas * dt, each with its own guess and factorisation."""

    def __init__(self, integrator: Integrator, model: Model, state: State, dt: float, gammas: NDArray[np.float64]):
        self.gammas = gammas
        super().__init__(integrator, model, state, dt)  # type: ignore[call-arg, arg-type]


class Integrator(Carrier):
    """Base class.  A new integrator is a new file with a subclass and its stepper.

    >>> import leastaction as la
    >>> issubclass(la.Maximal, la.Integrator)  # docs/extending.md shows how to write one of yours
    True
    """

    order: ClassVar[int]
    symplectic: ClassVar[bool]
    plain_coordinates: ClassVar[bool] = False  #: does it refuse ball and free joints?
    uniform: ClassVar[bool] = True  #: are all steps dt long?
    unguarded: ClassVar[str] = ""  #: if they are not: why guard=True is of no use, and what is
    linearisable: ClassVar[bool] = False  #: does `la.linearize` know its derivatives?
    in_the_world: ClassVar[bool] = False  #: are its unknowns positions of bodies in the world, not of joints?
    self_adjoint: ClassVar[bool] = False  #: does a step of -dt lead back exactly?  Needed by Composition and AdaptiveStep

    def refuse_constraints(self, model: Model) -> None:
        """To be called by integrators that know nothing of constraints."""
        if model.closures:
            names = listed([c.name for c in model.closures])
            raise StateError(
                f"{type(self).__name__} does not keep the constraints {names} of {model.name!r}; use integrator=Variational() or Maximal()"
            )

    def refuse_armature(self, model: Model) -> None:
        """To be called by integrators that know the inertia of bodies only."""
        geared = [b.joint_name for b in model.bodies if b.armature.any()]
        if geared:
            raise StateError(
                f"{type(self).__name__} knows the inertia of bodies only, and joint {listed(geared)} of {model.name!r} has an armature; "
                "use integrator=Variational(), or describe the rotor as a body with a Gear"
            )

    def refuse_dry_friction(self, model: Model, why: str) -> None:
        """To be called by integrators that cannot tell whether a joint sticks."""
        if sticking := model.joints_with_dry_friction:
            raise StateError(
                f"{type(self).__name__} cannot let joints stick: {why}, and joint {listed(sticking)} of {model.name!r} has dry friction; "
                "use integrator=Variational(), Midpoint(), Maximal() or Trapezoid()"
            )

    def refuse_overheld(self, model: Model, state: State) -> None:
        """To be called where there are constraints: if all joints with dry friction stick, each must still have a joint to act on."""
        sticking = model.joints_with_dry_friction
        if not sticking or not model.closures:
            return
        J = tree.jacobian(model, state.q)
        if np.linalg.matrix_rank(J[:, model.tree.friction == 0.0]) < np.linalg.matrix_rank(J):
            raise StateError(
                f"constraint {listed([c.name for c in model.closures])} couples joints that have dry friction ({listed(sticking)}), so "
                "that it is not determined which of them holds the others; give dry friction to fewer joints of each loop, as many as it "
                "has degrees of freedom, and to none whose motion is prescribed"
            )

    def refuse_servos(self, model: Model, why: str) -> None:
        """To be called by integrators that cannot take the force of a servo at the end of a step."""
        if model.servos:
            raise StateError(
                f"{type(self).__name__} does not take servos: {why}, and {model.name!r} has servo "
                f"{listed([s.name for s in model.servos])}; use integrator=Variational(), Midpoint(), Maximal() or Trapezoid(), "
                "or a control law with small gains in their place"
            )

    def start(self, model: Model, state: State, dt: float) -> Stepper:
        raise TypeError(f"{type(self).__name__} does not say how it starts: override start(model, state, dt)")

    def turn_round(self, stepper: Stepper, state: State) -> Stepper:
        """The stepper that goes back from where `stepper` is; `state` is that node with its velocities turned round."""
        return self.start(stepper.model, state, stepper.dt)

    def why_general(self, model: Model) -> str:
        """Why it has no code made for this mechanism alone, in words; "" if it can have some."""
        return f"{type(self).__name__} runs the same code for all mechanisms"

    @property
    def has_composed_code(self) -> bool:
        """Does `start_composed` exist?  Without it Composition restarts the integrator for every stage, which is slow."""
        return False

    def start_composed(self, model: Model, state: State, dt: float, gammas: NDArray[np.float64]) -> Stepper:
        """Stepper of the composition with steps gammas[i] * dt; it records as this integrator does with the step gammas[0] * dt."""
        raise TypeError(f"{type(self).__name__} does not say how it is composed: override start_composed")

    @property
    def single(self) -> Integrator:
        """The integrator whose one step, of the length it had, is a step of this one."""
        return self

    @property
    def innermost(self) -> Integrator:
        """The integrator whose steps are composed, adapted or guarded."""
        inner = getattr(self, "base", None)
        return inner.innermost if isinstance(inner, Integrator) else self

    def longest_turn(self, model: Model) -> float:
        """Turn of a body in a step, rad, from which on it is far from what the body does; infinite: turns of joints are counted."""
        return np.pi if any(body.joint.has_quaternion for body in model.bodies) else np.inf

    @property
    def shared_tolerance(self) -> float:
        """Residual that it allows, relative to the largest momentum of the whole mechanism; 0: none, or each part has its own measure."""
        return 0.0

    def recording(self, dt: float) -> tuple[int, float]:
        """What the stepper records beside q: (KICKED_MOMENTUM, kick), p + kick * forces(q), or (VELOCITY, 0)."""
        raise TypeError(f"{type(self).__name__} does not say what it records: override recording(dt)")

    def step_jacobian(self, model: Model, q0: NDArray[np.float64], q1: NDArray[np.float64], dt: float) -> NDArray[np.float64] | None:
        """dt times the derivative of the step's equations in q1, (nv, nv), close to the mass matrix for short steps; None: not known."""
        return None

    def __eq__(self, other: object) -> bool:
        return same(vars(self), vars(other)) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.order))

    def options(self) -> dict[str, Any]:
        return dict(vars(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.options().items())})"


def remedies_for_steps(quadrature: str) -> list[str]:
    """What to try where a step is not solved."""
    stiff = ['quadrature="midpoint" (for stiff springs and hanging chains)'] if quadrature == "trapezoid" else []
    return ["a smaller dt", *stiff]


def checked_tolerance(tol: float, example: str = "1e-10") -> float:
    value = number(tol, "tol", StateError)
    if not 0.0 < value < 1.0:
        raise StateError(f"tol = {shown(tol)}; it needs a number between 0 and 1, for example {example}")
    return value


def checked_evaluations(most: int) -> int:
    return whole_number(most, 2, "max_evaluations")


def checked_choice(value: str, known, what: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise StateError(f"{what} = {shown(value)}; it is one of {', '.join(repr(k) for k in known)}")
    return value
