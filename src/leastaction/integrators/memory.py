"""What an integrator remembers from one step to the next, so that a run can go on elsewhere as if it had never stopped.

Guesses continue the last steps, factorisations serve several of them, clocks count: a start from q and p alone has none of that, and its
steps, solved to the same tolerance, differ in their last digits.  A `Continuation` is the start that was made then, and all memory now.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.constraints.ties import Ties
from ..kernels.lagrangian.frames import Frames
from ..kernels.maximal.layout import Loops, Net
from ..kernels.tree.layout import Tree
from ..model import Model
from ..state import State

if TYPE_CHECKING:
    from .base import Integrator, Stepper

Memory = dict[str, NDArray[Any]]  #: name -> array; all that a stepper remembers

_keeping = threading.Lock()  # a run may be looked at in one thread while its simulator goes on in another

_FIXED = (Tree, Net, Frames)  # what belongs to the model; addresses of compiled functions stand there, which hold in one process only
_FIXED_FIELDS: dict[type, tuple[str, ...]] = {
    Ties: Ties._fields[: Ties._fields.index("start")],
    Loops: Loops._fields[: Loops._fields.index("q")],
}


def arrays_of(record: Any, path: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Name and array of everything in a record of arrays that steps change."""
    for name, value in zip(record._fields, record, strict=True):
        if isinstance(value, _FIXED) or name in _FIXED_FIELDS.get(type(record), ()):
            continue
        if isinstance(value, np.ndarray):
            yield path + name, value
        elif hasattr(value, "_fields"):
            yield from arrays_of(value, f"{path}{name}.")


@dataclass(frozen=True, eq=False)
class Continuation:
    """Memory of a simulation at a node.  `Integrator.start` from `begun`, and then the memory, leads on bit for bit."""

    integrator: Integrator
    dt: float
    begun: State  #: from which the stepper was started; constraint rows that others imply were chosen there
    t: float  #: of the node
    q: NDArray[np.float64]  #: of the node
    source: Memory | Stepper | None  #: the memory, or the stepper whose it is while that stands at the node

    @property
    def memory(self) -> Memory | None:
        """All that the stepper remembered; None if it cannot say."""
        self.keep()
        return self.source  # type: ignore[return-value]

    def keep(self) -> None:
        """To be called before the stepper moves on: the memory is copied, unless it was already."""
        with _keeping:
            if self.source is not None and not isinstance(self.source, dict):
                object.__setattr__(self, "source", self.source.remember())

    def __getstate__(self) -> dict[str, Any]:
        self.keep()
        return self.__dict__

    def fits(self, integrator: Integrator, dt: float, state: State) -> bool:
        """Is it the memory of this integrator with this step, at this node?  States can be changed, and taken elsewhere."""
        here = dt == self.dt and state.t == self.t and np.array_equal(state.q, self.q) and integrator == self.integrator
        return here and self.memory is not None

    def start(self, model: Model) -> tuple[Stepper, State]:
        """The stepper that goes on, and from what it was started; model: the one of the state, or an equal one."""
        begun = self.begun if self.begun.model is model else unpacked(model, packed(self.begun))
        stepper = self.integrator.start(model, begun, self.dt)
        assert self.memory is not None  # it fits
        stepper.recall(self.memory)
        return stepper, begun


def packed(state: State) -> NDArray[np.float64]:
    """A state as one array."""
    return np.concatenate([[state.t], state.q, state.p, state.v])


def unpacked(model: Model, numbers: NDArray[np.float64]) -> State:
    """The state in an array from `packed`."""
    q, p, v = np.split(numbers[1:], [model.nq, model.nq + model.nv])
    return State.with_velocity(model, float(numbers[0]), q, p, v)


def with_prefix(prefix: str, memory: Memory) -> Memory:
    return {prefix + name: array for name, array in memory.items()}


def below_prefix(prefix: str, memory: Mapping[str, NDArray[Any]]) -> Memory:
    return {name.removeprefix(prefix): array for name, array in memory.items() if name.startswith(prefix)}
