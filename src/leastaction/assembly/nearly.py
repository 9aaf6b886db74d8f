"""Loops whose rows follow from each other only nearly: axes out of line by what a file with six digits rounds off.

A planar four-bar that a revolute joint closes has three rows too many.  Rounded numbers make all of them independent: then nothing
satisfies them, or the mechanism is locked.  Such rows are left out as redundant ones are, if the others imply them up to the `slack` of the
mechanism, and the frames of the loop are moved by as little, so that it is closed where it starts.   docs/constraints.md

Everything is measured in radians: rows and sliding joints that are lengths are divided by the size of the mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..constraints.base import GEAR, JOINT, ROWS, Closure
from ..coordinates import ties as tree
from ..kernels.maximal.evaluate import advance
from ..model import Model
from ..pose import Pose

if TYPE_CHECKING:
    from .equations import TreeClosing

Array = NDArray[np.float64]
Chosen = NDArray[np.bool_]

STEEPNESS = 10.0  # times the slack: singular values below it may be those of rows that nearly follow from others
_AROUND = (0.05, 0.05, 0.3, 0.3)  # rad: how far the configurations are in which rows are compared
_STRIDE, _STRIDES = 0.3, 12  # rad, and how many to either side: how far rows that are kept should still be a good choice
GOOD = 0.4  # of the best choice: rows that are kept and restrict less than this should be chosen anew
_SETTLED = 1e-11  # rad: what is left after a correction of this size is rounding
_MOST = 60  # corrections


@dataclass(frozen=True)
class Nearly:
    """Rows that are enough, up to the slack."""

    kept: Chosen  #: (m,)
    closures: tuple[Closure, ...]  #: all of them, their frames moved so that they hold
    sizes: Array  #: (m,) largest error of every row in the configurations looked at, m or rad


class Measured:
    """A closing whose rows on positions are measured in radians."""

    def __init__(self, closing: TreeClosing, q: Array):
        self.closing, self.positions = closing, closing.holonomic()
        model = closing.model
        rows = tree.units(closing.ties)
        size = float(rows.max(initial=0.0)) or 1.0
        self.columns = np.where(_turning(model), 1.0, size)
        functions = closing.ties.row_kind < 0
        if functions.any():  # gears and functions of coordinates have the unit that their slope gives them
            rows[functions] = np.maximum(np.linalg.norm(closing.jacobian(q)[functions] * self.columns, axis=1), 1e-300)
        self.rows = rows[self.positions]

    def errors(self, q: Array) -> Array:
        return self.closing.errors(q)[self.positions] / self.rows

    def jacobian(self, q: Array) -> Array:
        return self.closing.jacobian(q)[self.positions] * self.columns / self.rows[:, None]

    def settle(self, q: Array, rows: Chosen | slice = slice(None), held: Chosen | None = None, least: float = 1e-9) -> Array:
        """Where corrections along all motions that change the rows by `least` or more (rad per rad) come to rest."""
        q = q.copy()
        for _ in range(_MOST):
            jacobian = self.jacobian(q)[rows]
            if held is not None:
                jacobian[:, held] = 0.0
            left, values, right = np.linalg.svd(jacobian, full_matrices=False)
            large = values > least
            step = -((left[:, large].T @ self.errors(q)[rows]) / values[large]) @ right[large]
            size = float(np.abs(step).max(initial=0.0))
            advance(self.closing.model.tree, q, self.columns * step * min(1.0, 0.5 / max(size, 1e-300)))
            if size < _SETTLED:
                break
        return q


def _turning(model: Model) -> Chosen:
    """(nv,) which velocities are angular."""
    turning: list[bool] = []
    for body in model.bodies:
        joint = body.joint
        turning += joint.angular if joint.nq == joint.nv else [True] * 3 + [False] * (joint.nv - 3)  # ball and free joints
    return np.array(turning, dtype=bool)


def settle(closing: TreeClosing, q: Array, held: Chosen) -> tuple[Array, float]:
    """Coordinates that satisfy rows up to those that nearly follow from others, and the largest error there, rad."""
    measured = Measured(closing, q)
    found = measured.settle(q, held=held, least=STEEPNESS * closing.model.slack)
    return found, float(np.abs(measured.errors(found)).max(initial=0.0))


def independent(closing: TreeClosing, samples: Sequence[Array], kept: Chosen) -> bool:
    """Are the kept rows on positions independent beyond doubt, in one of the configurations?"""
    slack = closing.model.slack
    measured = Measured(closing, samples[0])
    rows = kept[measured.positions]
    return slack == 0.0 or any(_rank(measured.jacobian(x)[rows], slack) == int(rows.sum()) for x in samples)


def _rank(jacobian: Array, slack: float) -> int:
    return int(np.sum(np.linalg.svd(jacobian, compute_uv=False) > STEEPNESS * slack))


def find(closing: TreeClosing, q: Array, choose) -> Nearly | None:
    """Rows that are enough up to the slack; None if there are none, or if q is further than that from satisfying all rows.

    choose   (Jacobians of samples, rank) -> (m,) which rows to keep
    """
    model, t = closing.model, closing.t
    slack, measured = model.slack, Measured(closing, q)
    if np.abs(measured.errors(q)).max() > slack:
        return None
    around = [measured.settle(x, least=STEEPNESS * slack) for x in _around(model, q)]
    samples = [q, *(x for x in around if np.abs(measured.errors(x)).max() <= slack)]
    jacobians = [measured.jacobian(x) for x in samples]
    ranks = [_rank(j, slack) for j in jacobians]
    rank = max(ranks)
    if len(samples) == 1 or rank == 0:
        return None
    chosen = choose([j for j, r in zip(jacobians, ranks, strict=True) if r == rank], rank)
    fitted = fit(model, model.closures, q, t)
    loose = Measured(closing.with_closures(fitted), q)
    # rows that are left out have to follow where only the others are kept, near and far
    sizes = np.zeros(len(measured.positions))
    for x in samples[1:]:
        x = loose.settle(x, rows=chosen)
        errors = np.abs(loose.errors(x))
        if errors[chosen].max() < 1e-9:
            sizes[measured.positions] = np.maximum(sizes[measured.positions], np.maximum(errors, np.abs(measured.errors(x))) * loose.rows)
    if not sizes.any() or (sizes[measured.positions] / measured.rows).max() > slack:
        return None
    kept = ~measured.positions
    kept[measured.positions] = chosen
    return Nearly(kept, fitted, sizes)


class Choice:
    """How good a choice of rows is, of which others follow."""

    def __init__(self, closing: TreeClosing, q: Array, kept: Chosen):
        self._measured, self._q = Measured(closing, q), q
        self._kept = kept[self._measured.positions]

    def worth(self, q: Array) -> float:
        """What the rows that are kept restrict least, over what all rows do: 1 where no choice would be better.

        Two of the rows of a Bennett linkage hold it as well as all five, but none do so on the whole way round.
        """
        jacobian, rank = self._measured.jacobian(q), int(self._kept.sum())
        if rank == 0:  # rows on velocities only
            return 1.0
        of_all = float(np.linalg.svd(jacobian, compute_uv=False)[rank - 1])
        return float(np.linalg.svd(jacobian[self._kept], compute_uv=False)[-1]) / of_all if of_all > 1e-6 else 1.0

    def misfit(self, q: Array) -> float:
        """Largest error of all rows as they are described, rad, also of those that are left out."""
        return float(np.abs(self._measured.errors(q)).max(initial=0.0))

    @property
    def lasts(self) -> bool:
        """Is it a good one as far as one can see from where it was made?"""
        measured, slack = self._measured, self._measured.closing.model.slack
        if not 0 < int(self._kept.sum()) < len(self._kept):
            return True
        rng, least = np.random.default_rng(0), max(STEEPNESS * slack, 1e-9)
        for direction in (1.0, -1.0):
            x, along = self._q, direction * rng.normal(size=measured.closing.model.nv)
            for _ in range(_STRIDES):  # along a motion that the rows allow
                _, values, right = np.linalg.svd(measured.jacobian(x))
                allowed = right[int(np.sum(values > least)) :]
                along = allowed.T @ (allowed @ along)
                size = float(np.abs(along).max(initial=0.0))
                if size == 0.0:
                    return True  # nothing moves
                along /= size
                moved = x.copy()
                advance(measured.closing.model.tree, moved, _STRIDE * measured.columns * along)
                x = measured.settle(moved, least=least)
                if np.abs(measured.errors(x)).max() > max(slack, 1e-9):
                    break  # beyond where the mechanism can go
                if self.worth(x) < GOOD:
                    return False
        return True


def _around(model: Model, q: Array) -> list[Array]:
    rng = np.random.default_rng(0)
    samples = []
    for size in _AROUND:
        moved = q.copy()
        advance(model.tree, moved, size * rng.normal(size=model.nv))
        samples.append(moved)
    return samples


def fit(model: Model, closures: tuple[Closure, ...], q: Array, t: float) -> tuple[Closure, ...]:
    """The closures with frame b of each moved, and offsets of gears changed, so that they hold at q."""
    for _ in range(3):
        ties = tree.evaluate(model, tree.make_ties(model, closures), q, t)
        fitted, row, pair = [], 0, 0
        for closure in closures:
            errors = ties.value[row : row + closure.size]
            row += closure.size
            if closure.kind in (ROWS, JOINT):
                slopes = ties.G[2 * pair + 1, : closure.size]
                closure = replace(closure, b=(closure.b[0], _moved(closure.b[1], np.linalg.lstsq(slopes, -errors, rcond=1e-9)[0])))
            elif closure.kind == GEAR:
                ratio, offset = closure.numbers
                closure = replace(closure, numbers=(ratio, offset + float(errors[0])))
            pair += closure.kind in (ROWS, JOINT) or closure.kind in tree.VELOCITY_KINDS
            fitted.append(closure)
        closures = tuple(fitted)
    return closures


def _moved(pose: Pose, twist: Array) -> Pose:
    """A pose moved by a small twist (angular, linear) of the body it is on."""
    x, y, z = 0.5 * twist[:3]
    cayley = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turn = np.linalg.solve(np.eye(3) - cayley, np.eye(3) + cayley)
    return Pose(turn @ pose.p + twist[3:], rotation=turn @ pose.R)
