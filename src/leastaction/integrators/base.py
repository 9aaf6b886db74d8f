"""What an integrator is: a description, and a stepper that holds the memory of one simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..checks import listed
from ..errors import StateError
from ..model import Model
from ..state import State


@dataclass
class Advance:
    """Outcome of `Stepper.advance`: steps made, and why it stopped early if it did."""

    steps: int
    failure: str = ""  #: empty, or what went wrong and what to try
    residual: float = 0.0


class Stepper(Protocol):
    """Memory of one simulation.  Arrays it fills have one row per recorded node."""

    def advance(
        self,
        steps: int,
        tau: NDArray[np.float64],
        stride: int,
        out_q: NDArray[np.float64],
        out_momentum: NDArray[np.float64],
        evaluations: NDArray[np.int64],
    ) -> Advance:
        """Make `steps` steps; write every stride-th node.  tau: (1, nv) or (steps, nv), constant over each step."""
        ...

    def record(self, out_q: NDArray[np.float64], out_momentum: NDArray[np.float64]) -> None:
        """Write the present node."""
        ...


class UnevenStepper(Stepper, Protocol):
    """A stepper that chooses the length of its steps and keeps the time."""

    end: float  #: no step starts at or after this time, s
    times: NDArray[np.float64]  #: of the nodes recorded by the last `advance`, s

    @property
    def t(self) -> float:
        """Time now, s."""
        ...

    def reversed(self, state: State) -> UnevenStepper:
        """The stepper that goes back from here; `state` is the present one with its velocities turned round."""
        ...


class Integrator:
    """Base class.  A new integrator is a new file with a subclass and its stepper."""

    order: ClassVar[int]
    symplectic: ClassVar[bool]
    plain_coordinates: ClassVar[bool] = False  #: does it refuse ball and free joints?
    uniform: ClassVar[bool] = True  #: are all steps dt long?  If not, its stepper is an UnevenStepper
    self_adjoint: ClassVar[bool] = False  #: does a step of -dt lead back exactly?  Needed by Composition and AdaptiveStep

    def refuse_constraints(self, model: Model) -> None:
        """To be called by integrators that know nothing of constraints."""
        if model.closures:
            names = listed([c.name for c in model.closures])
            raise StateError(
                f"{type(self).__name__} does not keep the constraints {names} of {model.name!r}; use integrator=Variational() or Maximal()"
            )

    def refuse_charts(self, model: Model) -> None:
        """To be called by integrators that cannot change the coordinates of a joint on the way."""
        charted = [b.joint_name for b in model.bodies if b.joint.charts > 1]
        if charted:
            raise StateError(
                f"{type(self).__name__} cannot change the charts of {listed(charted)}; use integrator=Variational(), or give them one chart"
            )

    def start(self, model: Model, state: State, dt: float) -> Stepper:
        raise TypeError(f"{type(self).__name__} does not say how it starts: override start(model, state, dt)")

    @property
    def has_composed_code(self) -> bool:
        """Does `start_composed` exist?  Without it Composition restarts the integrator for every stage, which is slow."""
        return False

    def start_composed(self, model: Model, state: State, dt: float, gammas: NDArray[np.float64]) -> Stepper:
        """Stepper of the composition with steps gammas[i] * dt; it records as this integrator does with the step gammas[0] * dt."""
        raise TypeError(f"{type(self).__name__} does not say how it is composed: override start_composed")

    def recording(self, dt: float) -> tuple[int, float]:
        """What the stepper records beside q: (KICKED_MOMENTUM, dt/2) or (VELOCITY, 0); see kernels.evaluate."""
        raise TypeError(f"{type(self).__name__} does not say what it records: override recording(dt)")

    def extras(self, model: Model) -> dict[str, tuple[int, ...]]:
        """What else the stepper records at every node: name -> shape.  Its dict `extra` gets arrays with these names to write to."""
        return {}

    def options(self) -> dict[str, Any]:
        return dict(vars(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.options().items())})"
