"""Looks after events while steps are made: after every block of compiled steps, so that no kernel knows of them.

The steps are those that are made without events, bit for bit: whatever is found is made again by a stepper of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..integrators.base import Advance, Integrator, Stepper
from ..integrators.watch import BLOCK, LimitWatch, thin
from ..kernels.stepping.record import ROWS, STEPS, Record, rewind
from ..model import Model
from ..state import Evaluate, State
from .description import Event, Occurrence
from .locating import Remaking, Shortened, crossing

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stop:
    """The end of a run at a terminal event."""

    occurrence: Occurrence
    step: Shortened | None  #: the shorter step that leads there; None: it is the end of the step itself
    length: float  #: of that step, s
    further: int = 0  #: steps that the stepper made beyond the node before it


class EventWatch:
    """The events of one simulation, and the limits that end it, if they do."""

    def __init__(self, events: tuple[Event, ...], model: Model, integrator: Integrator, evaluate: Evaluate, limits: LimitWatch | None):
        self.events, self.limits = events, limits
        self.occurred: list[Occurrence] = []  #: so far, in the order of time
        self._model, self._evaluate = model, evaluate
        self._vectorised = [(k, event.condition.bind(model)) for k, event in enumerate(events) if event.called is None]  # type: ignore[union-attr]
        self._called = [(k, event) for k, event in enumerate(events) if event.called is not None]
        self._rising = np.array([event.direction != "falling" for event in events])[:, None]
        self._falling = np.array([event.direction != "rising" for event in events])[:, None]
        self._terminal = np.array([event.terminal for event in events])[:, None]
        self._remake = Remaking(model, integrator)
        self._fine: Record | None = None

    def begin(self, now: Record) -> None:
        """The simulation stands at this node, from which it goes on."""
        self._last = self._node(now, 0)
        self._values = np.empty(len(self.events))
        for k, values in self._vectorised:
            self._values[k] = values(now.q[:1])[0]
        for k, event in self._called:
            self._values[k] = event.ask(self._last.t, self._last)

    def advance(self, stepper: Stepper, steps: int, tau: Array, record: Record, end: float) -> Advance:
        """`stepper.advance`, which ends with the first node beyond a limit, recorded in any case, or before a terminal event.

        The stepper may have gone further.
        """
        if self._fine is None:
            self._fine = stepper.make_record(BLOCK, BLOCK)
        done = 0
        while done < steps:
            size = min(BLOCK, steps - done)
            rewind(self._fine)
            forces = tau if len(tau) == 1 else tau[done : done + size]
            result = self.look(self._fine, forces, stepper.advance(size, forces, self._fine, end))
            thin(self._fine, record, bool(result.limit))
            done += result.steps
            if result.failure or result.limit or result.event or result.steps < size:
                return Advance(done, result.failure, result.residual, result.limit, result.event, result.outside)
        return Advance(done)

    def look(self, made: Record, tau: Array, result: Advance) -> Advance:
        """What happened in the steps whose nodes a record holds, all of them; it is cut where the run ends."""
        rows, limit = int(made.cursor[ROWS]), -1
        if self.limits is not None and (limit := self.limits.first(made.q[:rows])) >= 0:
            rows = limit + 1
        values = self._values_at(made, rows)
        rows = min(rows, values.shape[1] - 1)  # functions are not asked beyond a terminal event
        happened = self._crossings(values)
        for k in np.flatnonzero(happened.any(axis=0)):
            forces = tau if len(tau) == 1 else tau[k : k + 1]
            stop = self._in_step(made, int(k), forces, values[:, k : k + 2], np.flatnonzero(happened[:, k]), bool(k == limit))
            if stop is not None:
                further = int(made.cursor[STEPS]) - int(k)
                made.cursor[STEPS] = made.cursor[ROWS] = k
                return Advance(int(k) + 1, event=replace(stop, further=further))
        if rows:
            self._last, self._values = self._node(made, rows - 1), values[:, rows].copy()
        if limit < 0:
            return result
        made.cursor[STEPS] = made.cursor[ROWS] = rows
        assert self.limits is not None
        return self.limits.ended(Advance(rows), made.q[limit])

    def _node(self, record: Record, row: int) -> State:
        return State.of_node(self._model, float(record.t[row]), record.q[row].copy(), record.p[row].copy(), self._evaluate)

    def _values_at(self, made: Record, rows: int) -> Array:
        """(events, 1 + rows) at the last node and at those of the record; fewer if a terminal event makes the others meaningless."""
        values = np.full((len(self.events), rows + 1), np.nan)  # which passes nothing
        values[:, 0] = self._values
        for k, function in self._vectorised:
            values[k, 1:] = function(made.q[:rows])
        if not self._called:
            return values
        ends = np.flatnonzero((self._crossings(values) & self._terminal).any(axis=0))
        rows = int(ends[0]) + 1 if len(ends) else rows
        may_end = any(event.terminal for _, event in self._called)
        for row in range(rows):
            node = self._node(made, row)
            for k, event in self._called:
                values[k, row + 1] = event.ask(node.t, node)
            if may_end and (self._crossings(values[:, row : row + 2]) & self._terminal).any():
                return values[:, : row + 2]
        return values[:, : rows + 1]

    def _crossings(self, values: Array) -> NDArray[np.bool_]:
        """(events, steps): does the event happen in the step?"""
        before, after = values[:, :-1], values[:, 1:]
        return ((before < 0.0) & (after >= 0.0) & self._rising) | ((before > 0.0) & (after <= 0.0) & self._falling)

    def _in_step(self, made: Record, k: int, tau: Array, values: Array, which: NDArray[np.int64], limited: bool) -> Stop | None:
        """Locate the events that happen in step k; the one that ends the run, if there is one.

        limited   a joint goes beyond its limit in this step: what happens after that does not
        """
        start = self._last if k == 0 else self._node(made, k - 1)
        begun = State.with_velocity(self._model, start.t, start.q, start.p, start.v)
        found = [self._locate(self.events[e], int(e), begun, self._node(made, k), tau, *values[e]) for e in which]
        for stop in sorted(found, key=lambda stop: stop.occurrence.t):
            if limited and self.limits is not None and self.limits.passed(stop.occurrence.state.q).any():
                break
            self.occurred.append(stop.occurrence)
            if stop.occurrence.terminal:
                return stop
        return None

    def _locate(self, event: Event, e: int, start: State, end: State, tau: Array, first: float, last: float) -> Stop:
        """Where in the step from `start` to `end` an event happens whose condition is `first` and `last` there."""
        length, tried = end.t - start.t, {}
        vectorised = dict(self._vectorised).get(e)

        def value(seconds: float) -> float:
            tried[seconds] = step = self._remake(start, seconds, tau)
            return event.ask(step.state.t, step.state) if vectorised is None else float(vectorised(step.state.q[None])[0])

        seconds = crossing(value, length, first, last, max(event.tol, 4.0 * np.spacing(abs(end.t))))
        step = tried.get(seconds)
        state = State.with_velocity(self._model, end.t, end.q, end.p, end.v) if step is None else step.state
        return Stop(Occurrence(event.name, float(state.t), state, bool(first < 0.0), event.terminal), step, seconds)
