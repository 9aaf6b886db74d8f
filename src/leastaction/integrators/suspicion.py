"""Which nodes of a mechanism with loops are suspicious, and the nodes around them: what is looked at before anything is computed.

Constraints whose impulses jump, or a step that is hard to solve: it costs nothing to look for, and is all that most runs ever need.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.stepping.record import ROWS, STEPS, Record, add_step, copy_row, rewind
from .base import Stepper

Array = NDArray[np.float64]

_SUDDEN = 4.0  # times: impulses that change by more from one step to the next are suspicious
_HARD, _HARDER = 3, 0.75  # evaluations more than usual, and the part of the usual ones that has to be more, of a step that is suspicious
WINDOW = 12  # nodes before and after a suspicious one whose energies are compared
CALM = 3  # nodes around a suspicious one whose energies say little: close to a singular position they are off in any case
KNOWN = 4  # nodes before those that say what is usual; without them nothing is said
_COLUMNS = ("t", "q", "p", "multipliers")


def _middle(values: NDArray) -> float:
    """The median, of some of many values."""
    return float(np.median(values[:: len(values) // 64 + 1]))


def _are_hard(evaluations: NDArray, usual: float) -> NDArray:
    """Which steps took many more evaluations than usual; a composition makes many in every step, and now and then one more per stage."""
    return evaluations > usual + max(_HARD, _HARDER * usual)


class Nodes(NamedTuple):
    """Nodes around a suspicious one."""

    t: Array
    q: Array
    p: Array
    multipliers: Array
    tau: Array
    row: int  #: which of them is suspicious


class Block:
    """What is written to a record from now on."""

    def __init__(self, record: Record, tau: Array):
        self.record, self.tau = record, tau
        self.begun, self.written = int(record.cursor[STEPS]), int(record.cursor[ROWS])
        # joint forces of earlier steps are not known if they change, nor are nodes of another run
        self.earliest = max(self.written - (2 * WINDOW if len(tau) == 1 else 1), 0)

    @property
    def rows(self) -> int:
        return int(self.record.cursor[ROWS])

    def suspicious(self) -> list[int]:
        """Rows of the block where impulses jump, or whose step was hard to solve."""
        rows = self.rows
        if rows - self.earliest < 4 or rows == self.written:
            return []
        impulses = np.zeros(rows - self.earliest)
        for column in self.record.multipliers[self.earliest : rows].T:
            np.maximum(impulses, np.abs(column), out=impulses)
        np.maximum(impulses, 1e-2 * _middle(impulses) + 1e-300, out=impulses)
        if self.earliest == 0:
            impulses[0] = impulses[1]  # the first node has none
        sudden = ~((impulses[1:] < _SUDDEN * impulses[:-1]) & (_SUDDEN * impulses[1:] > impulses[:-1]))
        evaluations = self.record.evaluations[self.begun : self.begun + rows - self.written]
        hard = _are_hard(evaluations, _middle(evaluations))
        bad = {*(np.flatnonzero(sudden) + self.earliest + 1).tolist(), *(np.flatnonzero(hard) + self.written).tolist()}
        return sorted(k for k in bad if k >= self.written)

    def around(self, row: int, ahead: Record | None) -> Nodes:
        first, last = max(row - WINDOW, self.earliest), min(row + WINDOW + 1, self.rows)
        arrays = [getattr(self.record, name)[first:last] for name in _COLUMNS]
        tau = self.tau if len(self.tau) == 1 else np.concatenate([self.tau_after(k) for k in range(first, last - 1)])
        if ahead is not None and last - row <= WINDOW:
            more = int(ahead.cursor[ROWS])
            arrays = [np.concatenate([own, getattr(ahead, name)[:more]]) for own, name in zip(arrays, _COLUMNS, strict=True)]
            tau = tau if len(self.tau) == 1 else np.concatenate([tau, np.repeat(self.tau[-1:], more, axis=0)])
        t, q, p, multipliers = arrays
        return Nodes(t, q, p, multipliers, tau, row - first)

    def tau_after(self, row: int) -> Array:
        """(1, nv) joint forces of the step that starts in a row."""
        return self.tau if len(self.tau) == 1 else self.tau[min(max(row + 1 - self.written, 0), len(self.tau) - 1)][None]

    def cut(self, rows: int) -> None:
        """Forget rows, as if they had not been made."""
        self.record.cursor[ROWS], self.record.cursor[STEPS] = rows, self.begun + rows - self.written


class Recent(Block):
    """The last nodes of steps that are made one by one, of which the last one is looked at."""

    def __init__(self, record: Record, base: Stepper):
        super().__init__(record, np.zeros((0, 0)))
        base.write(record)
        self._forces: list[Array] = []
        self._left = 1  # steps until the rows are looked at

    def add(self, source: Record, tau: Array) -> None:
        if self.rows == len(self.record.t):
            self._forget()
        add_step(self.record, int(source.evaluations[0]))
        copy_row(source, 0, self.record)
        self._forces.append(tau.copy())
        self.written, self._left = self.rows - 1, self._left - 1

    def _forget(self) -> None:
        """All but the last nodes."""
        rows, kept = self.rows, 2 * WINDOW
        for array in (self.record.t, self.record.q, self.record.p, self.record.error, self.record.multipliers):
            array[:kept] = array[rows - kept : rows].copy()
        self.record.evaluations[: kept - 1] = self.record.evaluations[rows - kept : rows - 1].copy()
        self.record.cursor[ROWS], self.record.cursor[STEPS] = kept, kept - 1
        del self._forces[: rows - kept]

    def waits(self) -> bool:
        """Is it time to look at the rows?"""
        return self._left <= 0

    def wait(self, steps: int, other: Stepper | None) -> None:
        """Until then; other: the stepper that goes on with other rows, whose impulses say nothing of those before."""
        self._left = steps
        if other is not None:
            rewind(self.record)
            self._forces.clear()
            other.write(self.record)

    def suspicious(self) -> list[int]:
        rows = self.rows
        if rows <= KNOWN + CALM:
            return []
        impulses = np.abs(self.record.multipliers[1:rows]).max(axis=1)
        least = 1e-2 * float(np.median(impulses)) + 1e-300
        last, before = max(float(impulses[-1]), least), max(float(impulses[-2]), least)
        evaluations = self.record.evaluations[: rows - 1]
        if last < _SUDDEN * before and before < _SUDDEN * last and not _are_hard(evaluations[-1:], float(np.median(evaluations)))[0]:
            return []
        self.tau = np.array(self._forces)
        return [rows - 1]

    def tau_after(self, row: int) -> Array:
        return self.tau[min(row, len(self.tau) - 1)][None]
