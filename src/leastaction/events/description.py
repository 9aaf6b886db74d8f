"""Events as users describe them, and what is found of them in a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import listed, number, shown, takes_two
from ..compiling.decorators import Direct
from ..errors import StateError
from ..kernels.tree import evaluate
from ..model import Model
from ..state import State

Array = NDArray[np.float64]
Function = Callable[[float, State], Any]

DIRECTIONS = ("both", "rising", "falling")
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of a joint, less a value."""

    name: str
    value: float

    def bind(self, model: Model) -> Callable[[Array], Array]:
        """Its values (T,) at coordinates q (T, nq)."""
        if self.name not in model.coordinate_names:
            raise StateError(f"there is no coordinate {self.name!r} to pass {self.value:g}; there are {listed(model.coordinate_names)}")
        column = model.coordinate_names.index(self.name)
        return lambda q: q[:, column] - self.value

    def __str__(self) -> str:
        return f"{self.name} passes {self.value:g}"


@dataclass(frozen=True)
class Height:
    """A coordinate of the origin of a body or frame in the world, less a value."""

    frame: str
    axis: int
    value: float

    def bind(self, model: Model) -> Callable[[Array], Array]:
        """Its values (T,) at coordinates q (T, nq)."""
        if self.frame not in model.frames:
            raise StateError(f"there is no body or frame {self.frame!r} that could cross {self}; there are {listed(model.frames)}")
        row, local = model.frames[self.frame]
        tree, work, place, axis = model.tree, model.make_work(), Direct(evaluate.world), self.axis
        pose = work.world[row]

        def values(q: Array) -> Array:
            poses = np.empty((len(q), 12))
            for k, coordinates in enumerate(q):
                place(tree, work, coordinates)
                poses[k] = pose
            return poses[:, 9 + axis] + poses[:, 3 * axis : 3 * axis + 3] @ local.p - self.value

        return values

    def __str__(self) -> str:
        return f"{self.frame} crosses {AXES[self.axis]} = {self.value:g}"


class Event:
    """A condition to watch for in a run: where a function f(t, state) passes zero.  docs/events.md

    condition   function (t, state) -> number, called at every node; `la.passes` and `la.crosses` make events that cost less
    name        of what is found in run.events; by default the name of the function
    direction   "rising": from below zero, "falling": from above, "both"
    terminal    the run ends there
    tol         s, to which the time is located

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> stretched = la.Event(lambda t, state: state["lower"][0] - state["upper"][0], name="stretched")
    >>> run = la.simulate(model, dt=1e-2, duration=2.0, q={"upper": 1.0}, when=stretched)
    >>> [event.name for event in run.events]
    ['stretched', 'stretched', 'stretched', 'stretched']
    """

    def __init__(
        self,
        condition: Function | Coordinate | Height,
        *,
        name: str | None = None,
        direction: str = "both",
        terminal: bool = False,
        tol: float = 1e-10,
    ):
        own = isinstance(condition, (Coordinate, Height))
        if not own and not callable(condition):
            wanted = "give a function (t, state) -> number, or use la.passes(joint, value)"
            raise StateError(f"condition = {shown(condition)} of an Event; {wanted}")
        if not own:
            takes_two(condition, "condition", "(t, state)")
        if name is not None and (not isinstance(name, str) or not name):
            raise StateError(f"name = {shown(name)} of an Event; give a text, for example name='bottom'")
        self.condition = condition
        self.name = str(name or (condition if own else getattr(condition, "__name__", type(condition).__name__)))
        self.direction = direction
        if not isinstance(direction, str) or direction not in DIRECTIONS:
            raise StateError(f"direction = {shown(direction)} of event {self.name!r}; it is one of {', '.join(map(repr, DIRECTIONS))}")
        if not isinstance(terminal, (bool, np.bool_)):
            raise StateError(f"terminal = {shown(terminal)} of event {self.name!r}; give True, so that the run ends there, or False")
        self.terminal = bool(terminal)
        self.tol = number(tol, f"tol of event {self.name!r}", StateError)
        if self.tol <= 0.0:
            raise StateError(f"tol = {shown(tol)} of event {self.name!r}; it needs a positive number of seconds, for example 1e-10")

    @property
    def called(self) -> Function | None:
        """The function of the user, if it is one that has to be called at every node."""
        return None if isinstance(self.condition, (Coordinate, Height)) else self.condition

    def ask(self, t: float, state: State) -> float:
        """What the function of the user says."""
        assert self.called is not None
        value = self.called(t, state)
        if type(value) in (float, np.float64) and isfinite(value):
            return value
        kind = getattr(value, "dtype", np.dtype(type(value)) if isinstance(value, (bool, int, float)) else None)
        if kind is None or kind.kind not in "fiu" or np.size(value) != 1:
            hint = "; it is watched where it passes zero, so for x > 1 return x - 1" if kind is not None and kind.kind == "b" else ""
            raise StateError(f"event {self.name!r}: its function returned {shown(value)} at t = {t:g} s, not a number{hint}")
        found = float(np.reshape(value, ()))
        if not isfinite(found):
            raise StateError(f"event {self.name!r}: its function returned {found} at t = {t:g} s; it needs a finite number at every node")
        return found

    def __repr__(self) -> str:
        return f"<Event {self.name!r}, {self.direction}{', terminal' * self.terminal}>"


def passes(
    joint: str, value: float, *, name: str | None = None, direction: str = "both", terminal: bool = False, tol: float = 1e-10
) -> Event:
    """Watch for a joint that passes a value, rad or m.  Of a joint with several coordinates name one, as in model.coordinate_names.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-2, duration=5.0, q={"upper": 1.0}, when=la.passes("upper", 0.0, terminal=True))
    >>> run.message
    "stopped at t = 0.672814 s: event 'upper passes 0', falling"
    """
    if not isinstance(joint, str):
        raise StateError(f"joint = {shown(joint)}; la.passes needs the name of a joint, for example la.passes('elbow', 0.5)")
    condition = Coordinate(joint, number(value, f"value that {joint!r} passes", StateError))
    return Event(condition, name=name, direction=direction, terminal=terminal, tol=tol)


def crosses(
    frame: str,
    *,
    x: float | None = None,
    y: float | None = None,
    z: float | None = None,
    name: str | None = None,
    direction: str = "both",
    terminal: bool = False,
    tol: float = 1e-10,
) -> Event:
    """Watch for a body or frame whose origin crosses a plane x = ..., y = ... or z = ... of the world, m.

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("ball", joint=la.Prismatic(axis=(0, 0, 1)), mass=1.0)
    >>> run = la.simulate(mech.compile(), dt=1e-2, duration=1.0, q={"ball": 1.0}, when=la.crosses("ball", z=0.0, terminal=True))
    >>> bool(abs(run.t[-1] - (2.0 / 9.81) ** 0.5) < 1e-9)
    True
    """
    given = [(axis, value) for axis, value in enumerate((x, y, z)) if value is not None]
    if not isinstance(frame, str) or len(given) != 1:
        raise StateError(f"la.crosses({shown(frame)}, ...) needs the name of a body or frame and one of x, y and z, for example z=0.0")
    axis, value = given[0]
    condition = Height(frame, axis, number(value, f"{AXES[axis]} that {frame!r} crosses", StateError))
    return Event(condition, name=name, direction=direction, terminal=terminal, tol=tol)


def checked_events(when: Any) -> tuple[Event, ...]:
    """What was given as when=: an event, a function, or several of them."""
    several = list(when) if isinstance(when, (list, tuple)) else [when]
    for given in several:
        if not isinstance(given, Event) and (not callable(given) or isinstance(given, type)):
            wanted = "give an event, for example la.passes('elbow', 0.5), a function (t, state) -> number, or a list of them"
            raise StateError(f"when = {shown(given)}; {wanted}")
    return tuple(given if isinstance(given, Event) else Event(given) for given in several)


@dataclass(frozen=True, repr=False)
class Occurrence:
    """An event that was found.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-2, duration=1.0, q={"upper": 1.0}, when=la.passes("upper", 0.0))
    >>> round(run.events[0].t, 3)  # s
    0.673
    """

    name: str  #: of the event
    t: float  #: s
    state: State  #: there: the end of a shorter step from the node before
    rising: bool  #: did the condition pass zero from below?
    terminal: bool = False  #: did the run end there?

    def __repr__(self) -> str:
        return f"<{self.in_words} at t = {self.t:g} s>"

    @property
    def in_words(self) -> str:
        return f"event {self.name!r}, {'rising' if self.rising else 'falling'}"
