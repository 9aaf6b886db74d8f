"""State: time, coordinates and momenta of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checks import instance, number, numbers, same
from .errors import StateError
from .model import Coordinates, Model, checked_model

#: (t, q, what the integrator recorded beside it) -> momenta, velocities
Evaluate = Callable[[float, NDArray[np.float64], NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]


@dataclass(frozen=True, repr=False, eq=False)
class State:
    """t (s), coordinates q, momenta p = M(q) v.  `state["joint"]` gives the coordinates of one joint.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> state = model.state(q={"link2": 0.5}, v={"link1": 1.0})
    >>> state["link2"], state.v.round(6)
    (array([0.5]), array([1., 0.]))
    """

    model: Model
    t: float
    q: NDArray[np.float64]
    p: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Whatever was given, kernels get arrays they can read, which nobody else can change."""
        checked_model(self.model)
        object.__setattr__(self, "t", number(self.t, "t of the state", StateError))
        for name, size in (("q", self.model.nq), ("p", self.model.nv)):
            given = numbers(getattr(self, name), f"{name} of the state", StateError, (size,), finite=False)
            object.__setattr__(self, name, given)

    @classmethod
    def with_velocity(cls, model: Model, t: float, q: NDArray[np.float64], p: NDArray[np.float64], v: NDArray[np.float64]) -> State:
        """A state whose velocities are known already."""
        state = cls(model, t, q, p)
        state.__dict__["v"] = numbers(v, "v of the state", StateError, (model.nv,), finite=False)  # where cached_property looks first
        return state

    @classmethod
    def of_node(cls, model: Model, t: float, q: NDArray[np.float64], recorded: NDArray[np.float64], evaluate: Evaluate) -> State:
        """A node of a run: evaluate(t, q, recorded) gives its momenta and velocities when they are first asked for.

        Both arrays belong to the state from now on.
        """
        state = object.__new__(cls)
        own = state.__dict__
        own["model"], own["t"], own["q"], own["_recorded"], own["_evaluate"] = model, t, q, recorded, evaluate
        return state

    def __getattr__(self, name: str) -> Any:
        """The momenta of a node, which nobody has asked for yet."""
        own = self.__dict__
        if name != "p" or "_evaluate" not in own:
            raise AttributeError(f"a State has no {name!r}; it has model, t, q, p, v and energy")
        own["p"], own["v"] = own["_evaluate"](self.t, self.q, own["_recorded"])
        return own["p"]

    def __getstate__(self) -> dict[str, Any]:
        """Where it is taken the numbers are enough."""
        if "p" not in self.__dict__:
            self.__getattr__("p")
        return {name: value for name, value in self.__dict__.items() if name not in ("_recorded", "_evaluate")}

    def continuing(self, continuation: Any) -> State:
        """The same state with what an integrator remembered there (integrators/memory.py): a run that starts from it goes on as if it
        had never stopped."""
        state = State.with_velocity(self.model, self.t, self.q, self.p, self.v)
        state.__dict__["continuation"] = continuation
        return state

    @property
    def continues(self) -> bool:
        """Does it carry what an integrator remembered?  A run from it with the same integrator and dt then goes on bit for bit."""
        known = self.__dict__.get("continuation")
        return known is not None and known.memory is not None

    @cached_property
    def v(self) -> NDArray[np.float64]:
        """Velocities M(q)^-1 p."""
        if "p" not in self.__dict__:  # of a node; both are computed together
            self.__getattr__("p")
            return self.__dict__["v"]
        if not np.any(self.p):
            return np.zeros(self.model.nv)
        from . import dynamics

        return dynamics.velocity(self.model, self.q, self.p)

    @property
    def energy(self) -> float:
        from . import dynamics

        return dynamics.energy(self.model, self.q, self.v)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self.t == other.t and same(self.q, other.q) and same(self.p, other.p) and self.model == other.model

    def __hash__(self) -> int:
        return hash((self.model, self.t))

    def __getitem__(self, joint_name: str) -> NDArray[np.float64]:
        return self.q[self.model.q_slice(joint_name)]

    def __repr__(self) -> str:
        return f"<State of {self.model.name!r} at t = {self.t:g} s>"


def checked_state(value: Any, model: Model) -> State:
    """The state, if it is one of this model or of an equal one."""
    state: State = instance(value, State, "state", "make a State with model.state(q=..., v=...)")
    if state.model != model:
        raise StateError(
            f"the state belongs to another compilation, {state.model!r}, not to this {model!r}; make it with model.state(...)"
        )
    return state


def make_state(model: Model, q: Coordinates, v: Coordinates, p: Coordinates, t: float) -> State:
    if v is not None and p is not None:
        raise StateError("give the velocities v or the momenta p, not both")
    t = number(t, "t", StateError)
    coordinates = model.coordinates(q)
    if p is not None:
        return State(model, t, coordinates, model.velocities(p, "p"))
    velocities = model.velocities(v)
    if not np.any(velocities):
        return State(model, t, coordinates, np.zeros(model.nv))
    from . import dynamics

    return State.with_velocity(model, t, coordinates, dynamics.momentum(model, coordinates, velocities), velocities)
