"""Looks after the limits of joints while steps are made: after every chunk of compiled steps, so that no kernel knows of them."""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import NDArray

from ..checks import listed
from ..errors import StateError
from ..kernels.stepping.record import EVERY, ROWS, STEPS, Record, rewind
from ..kernels.tree.layout import QI
from ..limits import Limit, Range
from ..model import Model
from .base import Advance, Stepper

Array = NDArray[np.float64]

_ROUNDING = 1e-9  # rad or m: a joint this far beyond its limit stands at it
BLOCK = 4096  # steps looked at together where not all of them are recorded


class LimitWatch:
    """The limits of a model as arrays; false if there are none."""

    def __init__(self, model: Model):
        self.limits: list[Limit] = [limit for limit in model.limits if isfinite(limit.lower) or isfinite(limit.upper)]
        self.limits += _ranges(model)
        self._model = model
        self._fine: Record | None = None
        if not self.limits:
            return
        first = dict(zip(model.joint_names, model.tree.link[1:, QI].tolist(), strict=True))
        self._columns = np.array([first[limit.joint] + limit.place for limit in self.limits])
        self._lower = np.array([limit.lower - _ROUNDING for limit in self.limits])
        self._upper = np.array([limit.upper + _ROUNDING for limit in self.limits])

    def __bool__(self) -> bool:
        return bool(self.limits)

    @property
    def arrays(self) -> tuple[NDArray[np.int64], Array, Array]:
        """Coordinates that have limits, and between what they have to stay."""
        return self._columns, self._lower, self._upper

    def passed(self, q: Array) -> NDArray[np.bool_]:
        """(..., number of limits): is the joint beyond its limit at q (..., nq)?"""
        part = q[..., self._columns]
        return (part < self._lower) | (part > self._upper)

    def first(self, q: Array) -> int:
        """The first of the nodes q (T, nq) with a joint beyond its limit; -1 if there is none."""
        rows = np.flatnonzero(self.passed(q).any(axis=1))
        return int(rows[0]) if len(rows) else -1

    def beyond(self, q: Array) -> list[Limit]:
        """The limits that are passed at the node q (nq,)."""
        return [self.limits[k] for k in np.flatnonzero(self.passed(q))]

    def check_start(self, q: Array) -> None:
        """A start beyond a limit is an error that says where it could be instead."""
        if not (beyond := self.beyond(q)):
            return
        words = "; ".join(self.in_words(limit, q, "is") for limit in beyond)
        nearest = {
            limit.joint: float(np.clip(q[self._model.q_slice(limit.joint)][limit.place], limit.lower, limit.upper)) for limit in beyond
        }
        raise StateError(f"at the start {words}; start elsewhere, for example q={nearest}, or with limits='ignore'")

    def in_words(self, limit: Limit, q: Array, verb: str = "went") -> str:
        """joint 'elbow' went beyond its upper limit 2 rad, to 2.01 rad"""
        at = self._model.q_slice(limit.joint).start + limit.place
        if isinstance(limit, Range):
            left = "left" if verb == "went" else "is outside"
            return f"joint {limit.joint!r} {left} its range {limit.lower:g} <= {limit.coordinate} <= {limit.upper:g}, at {q[at]:.6g}"
        body = next(b for b in self._model.bodies if b.joint_name == limit.joint)
        unit = "rad" if body.joint.angular[0] else "m"
        which, value = ("upper", limit.upper) if q[at] > limit.upper else ("lower", limit.lower)
        room = " (its limits leave it no room)" if limit.lower == limit.upper else ""
        there = "to" if verb == "went" else "at"
        return f"joint {limit.joint!r} {verb} beyond its {which} limit {value:g} {unit}, {there} {q[at]:.6g} {unit}{room}"

    def remark(self, t: Array, q: Array) -> str:
        """Which joints passed their limits at recorded nodes, and when; empty if none did."""
        passed = self.passed(q)
        first = {self.limits[k].joint: t[passed[:, k].argmax()] for k in np.flatnonzero(passed.any(axis=0))}
        if not first:
            return ""
        order = sorted(first, key=lambda joint: first[joint])
        joints = f"joint{'s' * (len(order) > 1)} {listed(order)}"
        return f"limits are ignored, and {joints} went beyond, the first at t = {first[order[0]]:g} s"

    def look(self, made: Record, tau: Array, result: Advance) -> Advance:
        """The outcome of one step that a record holds."""
        if self.passed(made.q[0]).any():
            self.ended(result, made.q[0])
        return result

    def advance(self, stepper: Stepper, steps: int, tau: Array, record: Record, end: float) -> Advance:
        """`stepper.advance`, which ends with the first node beyond a limit; that node is recorded in any case.

        The stepper may have gone further.
        """
        if int(record.cursor[EVERY]) == 1:
            return self._advance_fine(stepper, steps, tau, record, end)
        if self._fine is None:
            self._fine = stepper.make_record(BLOCK, BLOCK)
        done = 0
        while done < steps:
            size = min(BLOCK, steps - done)
            rewind(self._fine)
            forces = tau if len(tau) == 1 else tau[done : done + size]
            result = self._advance_fine(stepper, size, forces, self._fine, end)
            thin(self._fine, record, bool(result.limit))
            done += result.steps
            if result.failure or result.limit or result.steps < size:
                return Advance(done, result.failure, result.residual, result.limit, outside=result.outside)
        return Advance(done)

    def _advance_fine(self, stepper: Stepper, steps: int, tau: Array, record: Record, end: float) -> Advance:
        begun, written = int(record.cursor[STEPS]), int(record.cursor[ROWS])
        result = stepper.advance(steps, tau, record, end)
        row = self.first(record.q[written : int(record.cursor[ROWS])])
        if row < 0:
            return result
        record.cursor[STEPS], record.cursor[ROWS] = begun + row + 1, written + row + 1
        return self.ended(Advance(row + 1), record.q[written + row])

    def ended(self, result: Advance, q: Array) -> Advance:
        """The steps that led to the node q, which is beyond a limit."""
        limit = self.beyond(q)[0]
        result.limit, result.outside = self.in_words(limit, q), isinstance(limit, Range) and limit.error
        return result


def _ranges(model: Model) -> list[Limit]:
    """What the joints say themselves."""
    return [
        Range(body.joint_name, *limits, coordinate=body.joint.coordinates[k], index=k, error=body.joint.leave == "error")
        for body in model.bodies if body.joint.leave != "continue"
        for k, limits in enumerate(body.joint.ranges) if limits is not None
    ]  # fmt: skip


def thin(fine: Record, record: Record, with_last: bool) -> None:
    """Add every node of `fine` that `record` is to keep, and the last one if wanted."""
    made, begun, written = int(fine.cursor[STEPS]), int(record.cursor[STEPS]), int(record.cursor[ROWS])
    record.evaluations[begun : begun + made] = fine.evaluations[:made]
    kept = np.flatnonzero((begun + 1 + np.arange(made)) % int(record.cursor[EVERY]) == 0)
    if with_last and made and (not len(kept) or kept[-1] != made - 1):
        kept = np.append(kept, made - 1)
    rows = slice(written, written + len(kept))
    for name in ("t", "q", "p", "error", "multipliers"):
        getattr(record, name)[rows] = getattr(fine, name)[kept]
    record.cursor[STEPS], record.cursor[ROWS] = begun + made, written + len(kept)
