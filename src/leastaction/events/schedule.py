"""Functions of the user that are called while a run is made, every so many steps or seconds."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, inf
from typing import Any

import numpy as np

from ..checks import number, shown, takes_two, whole_number
from ..errors import StateError
from ..state import State

_ROUNDING = 1e-6  # of a step: a node this much before a time is at it


class Every:
    """Call a function (t, state) after every `steps` steps, or at the first node at or after every multiple of `seconds`.

    What it returns is None, or True to end the run.  Both are counted from the start of the simulation, whose own state it is not called
    with.

    >>> import leastaction as la
    >>> times = []
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-2, duration=1.0, every=la.Every(lambda t, state: times.append(round(t, 3)), seconds=0.25))
    >>> times
    [0.25, 0.5, 0.75, 1.0]
    """

    def __init__(self, function: Callable[[float, State], Any], *, steps: int | None = None, seconds: float | None = None):
        if not callable(function):
            raise StateError(f"function = {shown(function)} of Every is not a function; give one that takes (t, state)")
        takes_two(function, "function of Every", "(t, state)")
        if (steps is None) == (seconds is None):
            raise StateError("Every needs steps= or seconds=, one of them: la.Every(function, steps=100)")
        self.function = function
        self.steps = None if steps is None else whole_number(steps, 1, "steps of Every")
        self.seconds = None if seconds is None else number(seconds, "seconds of Every", StateError)
        if self.seconds is not None and self.seconds <= 0.0:
            raise StateError(f"seconds = {shown(seconds)} of Every; it needs a positive number of seconds, for example 0.1")

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __repr__(self) -> str:
        return f"<Every {f'{self.steps} steps' if self.steps else f'{self.seconds:g} s'}: {self.name!r}>"


def checked_callbacks(every: Any) -> tuple[Every, ...]:
    """What was given as every=: one or several."""
    several = list(every) if isinstance(every, (list, tuple)) else [every]
    for given in several:
        if not isinstance(given, Every):
            wanted = "give la.Every(function, steps=100), la.Every(function, seconds=0.1), or a list of them"
            raise StateError(f"every = {shown(given)}; {wanted}")
    return tuple(several)


class Schedule:
    """When callbacks are due in a run that began at the time `begun`."""

    def __init__(self, callbacks: tuple[Every, ...], begun: float, dt: float, uniform: bool):
        self.callbacks, self.begun, self.dt, self.uniform = callbacks, begun, dt, uniform

    def steps_left(self, made: int, t: float) -> int:
        """Steps until somebody is to be called at the latest, after so many that led to t."""
        left = [c.steps - made % c.steps for c in self.callbacks if c.steps]
        if self.uniform:
            left += [max(1, ceil((self._due(c.seconds, t) - t) / self.dt - _ROUNDING)) for c in self.callbacks if c.seconds]
        return min(left, default=2**62)

    def end(self, t: float) -> float:
        """Time at which somebody is to be called, where steps are of variable length."""
        return inf if self.uniform else min((self._due(c.seconds, t) for c in self.callbacks if c.seconds), default=inf)

    def _due(self, seconds: float, t: float) -> float:
        """The first time after t."""
        return self.begun + seconds * (self._count(seconds, t) + 1)

    def _count(self, seconds: float, t: float) -> int:
        return floor((t - self.begun + _ROUNDING * self.dt) / seconds)

    def call(self, made: int, before: float, t: float, state: Callable[[], State]) -> str:
        """Call whoever is due at the node at t, after so many steps, the last call of this having been at `before`; who wants an end?"""
        ended = ""
        for callback in self.callbacks:
            if callback.steps:
                due = made % callback.steps == 0
            else:
                assert callback.seconds is not None
                due = self._count(callback.seconds, t) > self._count(callback.seconds, before)
            if not due:
                continue
            answer = callback.function(t, state())
            if answer is None:
                continue
            if not isinstance(answer, (bool, np.bool_)):
                wanted = "it returns None, or True to end the run"
                raise StateError(f"the callback {callback.name!r} returned {shown(answer)} at t = {t:g} s; {wanted}")
            if answer:
                ended = ended or f"the callback {callback.name!r} returned True"
        return ended
