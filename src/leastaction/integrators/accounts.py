"""Keeps the account of the energy while steps are made: after every block of compiled steps, so that no kernel knows of it.

Two want it: a run that does not record every node, since work is done at the others too, and one that is to end where its energy cannot be
explained (strict).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import ClosedEvaluator
from ..assembly.ledger import HEAT, WORK, Explanation, Ledger, calmer, in_words
from ..errors import LeastActionError
from ..kernels.stepping.record import EVERY, ROWS, STEPS, Record, add_step, copy_row, make_record, rewind
from ..model import Model
from ..state import State
from .base import KICKED_MOMENTUM, Advance, Integrator
from .watch import thin

Array = NDArray[np.float64]
Steps = Callable[[int, Array, Record, float], Advance]


class Past(Protocol):
    """What was made of a run before: a Trajectory."""

    ledger: Array | None

    @property
    def kinetic(self) -> Array: ...

    @property
    def potential(self) -> Array: ...


_BLOCK = 4096  # steps times degrees of freedom that are accounted for together: so far may a strict run go beyond its end before it is seen
_SINGLE = 256  # steps that are made one by one and accounted for together


class Accounts:
    """Work, heat and, if it is strict, energy of one simulation, node by node."""

    def __init__(self, model: Model, integrator: Integrator, dt: float, begun: State, strict: bool):
        """begun: where the stepper was started, and constraint rows that count are chosen."""
        self.strict = strict
        self._model, self._dt, self._remedy = model, dt, calmer(integrator)
        self._recording = integrator.recording(dt)
        self._evaluator = ClosedEvaluator(model)
        with suppress(LeastActionError):
            self._evaluator(*self._recording, begun.q[None], begun.p[None], np.array([begun.t]))
        self._ledger = Ledger(model, self._recording[0] == KICKED_MOMENTUM, begun.q, begun.t)
        self._explanation: Explanation | None = None
        self._before = (0.0, 0.0, 0.0)  # time, energy that is not explained, and energy, of the last node
        self._fine: Record | None = None
        self._singles: list[Array] = []  # inputs of the steps in self._fine, where they are made one by one

    def stands_at(self, now: Record) -> bool:
        return bool(self._t == now.t[0] and np.array_equal(self._q, now.q[0]))

    def begin(self, now: Record, made: Past | None = None) -> None:
        """Stand at this node; made: the run that goes on there."""
        v, kinetic, potential = self._evaluate(now.t[:1], now.q[:1], now.p[:1])
        self._t, self._q = float(now.t[0]), now.q[0].copy()
        self._ledger.begin(self._t, self._q, v[0], None if made is None or made.ledger is None else made.ledger[-1])
        self.suspect = False  #: is the energy of the last node off?
        if self.strict:
            kinetic, potential = (kinetic, potential) if made is None else (made.kinetic, made.potential)
            self._first = float(kinetic[0] + potential[0])
            self._explanation = Explanation(float(kinetic[0]), float(potential[0]))
            self._explanation.fails(np.zeros(len(kinetic)), kinetic, potential)

    def open(self, every: int) -> None:
        """A run begins here that records after so many steps."""
        self._every, self._made, self._known, self._ended = every, 0, True, False
        self._recent = np.stack([self._ledger.totals] * 2)  # the ledger at the last two nodes of the run
        self._kept = [self._recent[1:]]

    def table(self, rows: int) -> Array | None:
        """(rows, 2 + servos) the ledger at the recorded nodes of the run, the last one in any case; None if it could not be kept."""
        table = np.concatenate(self._kept)
        return None if not self._known else table if len(table) == rows else np.concatenate([table, self._recent[1:]])

    # ----------------------------------------------------------------------------------------------- many steps at a time

    def advance(self, make: Steps, steps: int, tau: Array, record: Record, end: float) -> Advance:
        """`make` steps, of which the account is kept; ends before the first node whose energy cannot be explained, if it is strict.

        That may be the last node of the steps before: then it is taken back, and -1 steps are made.  The stepper may have gone further.
        """
        size_of_block, done = max(1, _BLOCK // max(1, self._model.nv)), 0
        fine = self._room(record, size_of_block)
        while done < steps:
            size = min(size_of_block, steps - done)
            rewind(fine)
            forces = tau if len(tau) == 1 else tau[done : done + size]
            result = make(size, forces, fine, end)
            made = int(fine.cursor[STEPS])
            found = self._account(fine, forces if len(forces) == 1 else forces[:made])
            if found.unexplained:
                fine.cursor[STEPS] = fine.cursor[ROWS] = max(found.steps, 0)
                result = found
                if found.steps < 0:
                    take_back(record)
            thin(fine, record, bool(result.limit or result.unexplained))
            done += result.steps
            if result.ends or result.event or result.steps < size:
                result.steps = done
                return result
        return Advance(done)

    def _room(self, like: Record, rows: int) -> Record:
        if self._fine is None or len(self._fine.t) != rows:
            self._fine = make_record(rows, rows, like.q.shape[1], like.p.shape[1], like.multipliers.shape[1])
        return self._fine

    def _account(self, fine: Record, inputs: Array) -> Advance:
        """Add the nodes of a record, all of them.  Steps made: those before the first whose energy cannot be explained; -1 as above."""
        n = int(fine.cursor[ROWS])
        if n == 0:
            return Advance(0)
        t, q = fine.t[:n].copy(), fine.q[:n].copy()
        v, kinetic, potential = self._evaluate(t, q, fine.p[:n])
        try:
            with np.errstate(all="ignore"):
                added = self._ledger.add(t, q, v, inputs, fine.multipliers[:n].copy() if fine.multipliers.shape[1] else None)
        except LeastActionError:
            if self.strict:
                raise
            self._known = False  # a run does not end because its work is not known
            return Advance(n)
        cut, result = n, Advance(n)
        if self._explanation is not None:
            with np.errstate(all="ignore"):
                balance = kinetic + potential - self._first - added[:, WORK] + added[:, HEAT]
            bad = self._explanation.fails(balance, kinetic, potential)
            pairs = bad & np.append(self.suspect, bad[:-1])  # the second of two
            lost = ~np.isfinite(balance) & bad
            if pairs.any() or lost.any():
                second = int(np.argmax(pairs)) if pairs.any() else n
                cut = max(min(second - 1, int(np.argmax(lost)) if lost.any() else n), -1 if self._made else 0)
                k = max(cut, 0)
                when, extra, energy = self._before if cut < 0 else (float(t[k]), float(balance[k]), float(kinetic[k] + potential[k]))
                result = Advance(cut, unexplained=in_words(when, extra, energy, self._first, self._dt, self._remedy), time=when)
            self._before = (float(t[-1]), float(balance[-1]), float(kinetic[-1] + potential[-1]))
            self.suspect = bool(bad[-1])
        rows = np.concatenate([self._recent, added])
        self._recent, self._ended = rows[cut : cut + 2] if cut > 0 else rows[[0, cut + 1]], bool(result.unexplained)
        self._kept.append(added[: max(cut, 0)][(self._every - 1 - self._made) % self._every :: self._every])
        if cut < 0 and self._made % self._every == 0:
            self._kept = [np.concatenate(self._kept)[:-1]]
        self._made += cut
        self._t, self._q = float(t[-1]), q[-1]
        return result

    def _evaluate(self, t: Array, q: Array, recorded: Array) -> tuple[Array, Array, Array]:
        """(v, kinetic, potential); NaN from the first node on that is beyond what numbers can hold."""
        try:
            node = self._evaluator(*self._recording, np.ascontiguousarray(q), np.ascontiguousarray(recorded), t)
            return node.v, node.energy[:, 0], node.energy[:, 1] + node.energy[:, 2] + self._model.fixed_potential
        except LeastActionError:
            n = len(t)
            v, kinetic, potential = np.full((n, self._model.nv), np.nan), np.full(n, np.nan), np.full(n, np.nan)
            if n > 1:
                half = n // 2
                for part in (slice(0, half), slice(half, n)):
                    v[part], kinetic[part], potential[part] = self._evaluate(t[part], q[part], recorded[part])
                    if not np.isfinite(v[part]).all():
                        break
            return v, kinetic, potential

    # ----------------------------------------------------------------------------------------------- one step at a time

    def add_single(self, now: Record, inputs: Array, record: Record) -> Advance:
        """Add the node of one step, which is not in the record yet; a strict run looks at it at once."""
        fine = self._room(now, 1 if self.strict else _SINGLE)
        if not self._singles:
            rewind(fine)
        add_step(fine, 0)
        copy_row(now, 0, fine)
        self._singles.append(inputs.copy())
        found = self.settle() if len(self._singles) == len(fine.t) else Advance(1)
        if found.unexplained and found.steps < 0:
            take_back(record)
        return found

    def settle(self) -> Advance:
        """Account for what was added singly."""
        if not self._singles:
            return Advance(0)
        assert self._fine is not None
        inputs, self._singles = np.array(self._singles), []
        return self._account(self._fine, inputs)

    def finish(self, now: Record, inputs: Array) -> None:
        """The run ends at this node; it may be the end of a shorter step, at an event."""
        self.settle()
        if self._t != now.t[0] and not self._ended:
            fine = self._room(now, 1)
            rewind(fine)
            add_step(fine, 0)
            copy_row(now, 0, fine)
            explanation, self._explanation = self._explanation, None  # nothing follows that could confirm it
            self._account(fine, inputs[None])
            self._explanation = explanation


def take_back(record: Record) -> None:
    """Forget the last step of a record."""
    made, every = int(record.cursor[STEPS]), int(record.cursor[EVERY])
    record.cursor[STEPS] = made - 1
    record.cursor[ROWS] -= made % every == 0
