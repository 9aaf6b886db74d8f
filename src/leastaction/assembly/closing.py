"""Constraints of a model at work: consistent coordinates and velocities, starts that satisfy them, which rows are redundant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..checks import listed
from ..constraints.base import SPHERE, Closure
from ..coordinates import ties as tree
from ..dynamics import Evaluation, Evaluator, momentum
from ..errors import MechanismError, StateError
from ..joints.rows import DOT, Row
from ..kernels.maximal import evaluate as kernels
from ..kernels.stepping.evaluation import KICKED_MOMENTUM, VELOCITY
from ..model import Model
from . import nearly
from .equations import Closing, TreeClosing

Array = NDArray[np.float64]

_DEPENDENT = 1e-9  # singular values relative to the largest below which rows count as dependent
_CLOSED = 1e-8  # m or rad: what a start may miss the constraints by
_KNOWN = 8  # starts of a model whose rows are remembered: a run asks several times
_NEARLY = 1e-2  # rad: loops that do not close by less may be meant to


@dataclass(frozen=True)
class Reduction:
    """Closures with independent rows, and the names of the rows left out."""

    closures: tuple[Closure, ...]
    dropped: tuple[str, ...]
    kept: NDArray[np.bool_]  #: which rows of the model's closures are still there
    relaxed: bool = False  #: do rows that are left out follow from the others only nearly?  Then frames of the closures were moved
    choice: nearly.Choice | None = None  #: how good the rows that are kept are; None: there was no choice

    @cached_property
    def lasts(self) -> bool:
        """Are the rows a good choice elsewhere too?"""
        return self.choice is None or self.choice.lasts


def assemble(model: Model, q: Array, hold: tuple[str, ...] = (), t: float = 0.0, tol: float = 1e-12) -> Array:
    """Coordinates near q that satisfy the constraints: Gauss-Newton with the smallest change of the joints not held."""
    if not model.closures:
        return q
    closing = TreeClosing(model, t)
    try:
        return _assemble(closing, q, hold, tol)
    except StateError as error:
        found, worst = nearly.settle(closing, q, _held(model, hold)) if model.slack else (q, np.inf)
        if worst <= model.slack:
            return found
        if worst < _NEARLY:
            raise StateError(
                f"{error}. They can be satisfied up to {worst:.2g} rad (lengths over the size of the mechanism), more than its slack of "
                f"{model.slack:g}: if its loops are out of line by that much, mechanism.slack = {_rounded_up(3.0 * worst):g} lets them run"
            ) from None
        raise


def _rounded_up(x: float) -> float:
    """To one digit."""
    unit = 10.0 ** np.floor(np.log10(x))
    return float(np.ceil(x / unit) * unit)


def _held(model: Model, hold: tuple[str, ...]) -> NDArray[np.bool_]:
    held = np.zeros(model.nv, dtype=bool)
    for name in hold:
        held[model.v_slice(name)] = True
    return held


def _assemble(closing: TreeClosing | Closing, q: Array, hold: tuple[str, ...] = (), tol: float = 1e-12) -> Array:
    model, held = closing.model, _held(closing.model, hold)
    positions = closing.holonomic()
    q = q.copy()
    best, stalled = np.inf, 0
    for _ in range(100):
        errors = closing.errors(q)[positions]
        worst = float(np.abs(errors).max(initial=0.0))
        if worst < tol or (worst < 1e-10 and worst > 0.5 * best):
            return q
        stalled = stalled + 1 if worst > 0.99 * best else 0
        best = min(best, worst)
        if stalled > 20:
            break
        jacobian = closing.jacobian(q)[positions]
        jacobian[:, held] = 0.0
        step = np.linalg.lstsq(jacobian, -errors, rcond=1e-8)[0]
        step *= min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        kernels.advance(model.tree, q, step)
    # where least squares come to rest, what is left over cannot be moved: rows with a large share in it contradict each other
    names = [n for n, p in zip(closing.row_names(), positions, strict=True) if p]
    off = [f"{names[k]} by {errors[k]:.3g}" for k in np.argsort(-np.abs(errors)) if abs(errors[k]) > 0.1 * worst]
    held_too = f" while {listed(hold)} {'are' if len(hold) > 1 else 'is'} held" if hold else ""
    raise StateError(
        f"the constraints cannot be satisfied from here{held_too}: off are {'; '.join(off[:6])}. Start closer to an assembled "
        f"configuration, {'hold fewer joints, ' if hold else ''}or correct what contradicts itself"
    )


def report_moves(model: Model, before: Array, after: Array) -> str:
    """Which joints moved from one configuration to another, one line each."""
    lines = []
    for name in model.joint_names:
        part = model.q_slice(name)
        if np.abs(after[part] - before[part]).max() > 1e-12:
            lines.append(f"{name}: {np.array2string(before[part], precision=6)} -> {np.array2string(after[part], precision=6)}")
    return "\n".join(lines) or "nothing moved"


def project_velocity(model: Model, q: Array, v: Array, t: float = 0.0) -> Array:
    """Velocities closest to v, in the kinetic energy, that the constraints allow."""
    if not model.closures:
        return v
    return ClosedEvaluator(model)(KICKED_MOMENTUM, 0.0, q[None], momentum(model, q, v)[None], np.array([t])).v[0]


class ClosedEvaluator:
    """`dynamics.Evaluator` whose velocities obey the constraints of the model; the same thing for a tree.

    begun: (q, t) where rows that others imply are found first; at the first node it is asked for if left out
    """

    def __init__(self, model: Model, begun: tuple[Array, float] | None = None):
        self.model, self._begun = model, begun
        self._evaluator = Evaluator(model)
        self._ties: tree.Ties | None = None
        self._choice: nearly.Choice | None = None
        self._relaxed = False

    def __call__(self, what: int, half_step: float, q: Array, recorded: Array, t: Array) -> Evaluation:
        """As Evaluator, at the times t (T,)."""
        if not self.model.closures or what == VELOCITY:
            return self._evaluator(what, half_step, q, recorded)
        if self._ties is None:
            self._choose(*(self._begun or (q[0], float(t[0]))))
        if self._choice is None:
            return self._evaluator(what, half_step, q, recorded, t, self._ties)
        parts, begun = [], 0
        for k in range(len(t)):  # as long as the rows are a good choice
            if self._choice.worth(q[k]) < nearly.GOOD:
                if k > begun:
                    parts.append(self._evaluator(what, half_step, q[begun:k], recorded[begun:k], t[begun:k], self._ties))
                begun = k
                self._choose(q[k], float(t[k]))
        parts.append(self._evaluator(what, half_step, q[begun:], recorded[begun:], t[begun:], self._ties))
        return Evaluation(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _choose(self, q: Array, t: float) -> None:
        reduction = reduce(self.model, q, t)
        if self._relaxed and not reduction.relaxed:  # further off than the slack, where all rows together would lock it
            settled, _ = nearly.settle(TreeClosing(self.model, t), q, _held(self.model, ()))
            reduction = reduce(self.model, settled, t)
        self._relaxed = reduction.relaxed
        self._ties = tree.make_ties(self.model, reduction.closures)
        if self._choice is not None or not reduction.lasts:
            self._choice = reduction.choice


_on_the_way = ContextVar("on the way", default=False)


@contextmanager
def on_the_way() -> Iterator[None]:
    """Inside, what starts is part of a run that was checked: explicit integrators let constraints drift, and the user cannot help it."""
    token = _on_the_way.set(True)
    try:
        yield
    finally:
        _on_the_way.reset(token)


def check_start(model: Model, q: Array, v: Array, t: float = 0.0) -> None:
    """A start that violates the constraints is an error that names the worst row."""
    if not model.closures or _on_the_way.get():
        return
    violated = _violation(TreeClosing(model, t), q, v)
    if violated and model.slack and (reduction := reduce(model, q, t)).relaxed:
        violated = _violation(TreeClosing(model, t, reduction.closures), q, v)
    if violated:
        raise StateError(violated)


def _violation(closing: TreeClosing, q: Array, v: Array) -> str:
    """A sentence on the row that is violated most; empty if none is."""
    names = closing.row_names()
    for values, what, remedy in (
        (closing.errors(q), "is off by", "q = model.assemble(q)"),
        (closing.rates(q, v), "changes at the rate", "v = model.project_velocity(q, v)"),
    ):
        worst = int(np.argmax(np.abs(values)))
        limit = _CLOSED * (1.0 if what == "is off by" else max(1.0, float(np.abs(v).max())))
        if abs(values[worst]) > limit:
            locked = "" if what == "is off by" else _say_if_locked(closing.model, q, v, closing.t)
            return f"the start violates {names[worst]}, which {what} {values[worst]:.3g}; make it consistent with {remedy}{locked}"
    return ""


def _say_if_locked(model: Model, q: Array, v: Array, t: float) -> str:
    """A sentence if the constraints allow next to nothing of the motion v."""
    before, after = (float(x @ momentum(model, q, x)) for x in (v, project_velocity(model, q, v, t)))
    if after > 1e-3 * before:
        return ""
    return (
        f". Of this motion the constraints allow next to nothing ({after / before:.1g} of its kinetic energy): here they lock the "
        "mechanism. Wheels without slip roll only about one common point"
    )


def explain_dependent(model: Model, q: Array, t: float, limit: float = 1e-3) -> str:
    """Which constraint rows have (nearly) become dependent at q, and what to do; empty if there are none."""
    reduction = reduce(model, q, t)
    rows = tree.evaluate(model, tree.make_ties(model, reduction.closures), q, t).J0
    left, values, _ = np.linalg.svd(rows)
    if len(rows) <= model.nv and values[-1] > limit * values[0]:
        return ""
    names = tree.row_names(reduction.closures)
    share = np.abs(left[:, -1])
    named = [names[k] for k in np.argsort(-share) if share[k] > 0.3 * share.max()]
    return (
        f"the constraints are nearly dependent in this configuration, where the mechanism can go on in more than one way (links in line?): "
        f"{listed(named[:6])}; start so that it does not pass there, or try a smaller dt"
    )


def tie(model: Model, q: Array, v: Array, t: float, dt: float) -> tuple[tree.Ties, tuple[str, ...]]:
    """The constraints of a simulation in joint coordinates that starts here, and the names of the rows that others imply."""
    check_start(model, q, v, t)
    reduction = reduce(model, q, t)
    ties = tree.make_ties(model, reduction.closures)
    ties.momentum[0] = tree.least_momentum(model, ties) / abs(dt)
    return ties, reduction.dropped


def reduce(model: Model, q: Array, t: float = 0.0) -> Reduction:
    """Find rows that others imply, at q and at neighbouring configurations that satisfy the constraints, and leave them out.

    A row is redundant where a combination of rows vanishes for every joint motion.  At a single configuration that can also be a
    passing singularity (links in line), so neighbours decide.  Rows on positions are kept before rows on velocities, which would let
    them drift.  Rows on velocities that depend on each other at q and not beside it contradict each other: the mechanism would lock.
    Rows on positions that follow from others up to the slack of the mechanism are left out too (nearly.py).
    """
    if not model.closures:
        return Reduction((), (), np.ones(0, dtype=bool))
    known: dict[tuple[bytes, float], Reduction] = model.__dict__.setdefault("_reductions", {})
    found = known.get((q.tobytes(), t))
    if found is None:
        if len(known) >= _KNOWN:
            known.clear()
        known[q.tobytes(), t] = found = _reduce(model, q, t)
    return found


def _reduce(model: Model, q: Array, t: float) -> Reduction:
    closing = TreeClosing(model, t)
    positions = closing.holonomic()
    if model.slack and np.abs(closing.errors(q)).max() > _CLOSED:
        relaxed = _relaxed(closing, q, positions)
        if relaxed is not None:
            return relaxed
    samples = _neighbours(closing, q)
    jacobians = [closing.jacobian(x) for x in samples]
    names = closing.row_names()
    kept = _kept(jacobians, positions)
    if not kept.all() and kept.any() and nearly.Choice(closing, q, kept).worth(q) < 2.0 * nearly.GOOD:
        kept = _kept(jacobians, positions, 1.0)
    if not kept.any():
        raise MechanismError(f"the constraints {listed(names)} hold by themselves: nothing they restrict can move; leave them out")
    if not positions.all():
        _refuse_locking(jacobians, kept, positions, names)
        _refuse_contradiction(jacobians, [closing.right_sides(x) for x in samples], kept & ~positions, kept, names)
    relaxed = _relaxed(closing, q, positions) if positions.all() and not nearly.independent(closing, samples, kept) else None
    return _reduction(closing, q, model.closures, names, kept, False) if relaxed is None else relaxed


def _relaxed(closing: TreeClosing, q: Array, positions: NDArray[np.bool_]) -> Reduction | None:
    """Without rows that nearly follow from others; None if there are none.  Rows on velocities are left as they are."""
    found = nearly.find(closing, q, lambda js, rank: _independent_rows(js, rank, *_none_and_all(js[0]))) if positions.all() else None
    if found is None:
        return None
    named = zip(closing.row_names(), found.sizes, _rows(closing.closures), strict=True)
    return _reduction(closing, q, found.closures, [_with_size(*row) for row in named], found.kept, True)


def _reduction(
    closing: TreeClosing, q: Array, all_closures: tuple[Closure, ...], names: list[str], kept: NDArray[np.bool_], relaxed: bool
) -> Reduction:
    """Closures with those of their rows that are kept."""
    dropped = tuple(name for name, k in zip(names, kept, strict=True) if not k)
    closures, row = [], 0
    for closure in all_closures:
        rows = tuple(r for k, r in enumerate(closure.rows) if kept[row + k])
        row += closure.size
        if rows:
            if len(rows) != closure.size and closure.kind == SPHERE:
                raise MechanismError(f"{closure.name} is partly implied by the other constraints ({listed(dropped)}); restrict less")
            closures.append(replace(closure, rows=rows))
    choice = None if kept.all() else nearly.Choice(closing, q, kept)
    return Reduction(tuple(closures), dropped, kept, relaxed, choice)


def _rows(closures: tuple[Closure, ...]) -> list[Row]:
    return [row for closure in closures for row in closure.rows]


def _with_size(name: str, size: float, row: Row) -> str:
    """A row that is left out, and by how much it is off, if it is."""
    return name if size < _CLOSED else f"{name} (nearly: off by {size:.1e} {'rad' if row.kind == DOT else 'm'} around the start)"


def _none_and_all(rows: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    return np.zeros(len(rows), dtype=bool), np.ones(len(rows), dtype=bool)


def _kept(jacobians: list[Array], positions: NDArray[np.bool_], nearly_as_good: float = 0.3) -> NDArray[np.bool_]:
    """Independent rows, those on positions first."""
    kept = np.zeros(len(positions), dtype=bool)
    for rows in (positions, np.ones(len(positions), dtype=bool)):
        ranks = [_rank(j, rows) for j in jacobians]
        rank = max(ranks)
        if rank == int(rows.sum()):
            kept = rows.copy()
        elif rank > int(kept.sum()):
            kept = _independent_rows([j for j, r in zip(jacobians, ranks, strict=True) if r == rank], rank, kept, rows, nearly_as_good)
        if rows.all():
            break
    return kept


def _refuse_locking(jacobians: list[Array], kept: NDArray[np.bool_], positions: NDArray[np.bool_], names: list[str]) -> None:
    """Kept rows that are dependent at the first configuration, because of those on velocities, are an error that names them."""
    here = jacobians[0]
    missing = int(kept.sum()) - _rank(here, kept)
    if missing == 0 or missing == int((kept & positions).sum()) - _rank(here, kept & positions):
        return
    null = np.linalg.svd(here[kept])[0][:, -missing:]
    share = np.abs(null).max(axis=1) * ~positions[kept]
    named = [name for name, s in zip(np.array(names)[kept].tolist(), share.tolist(), strict=True) if s > 0.1 * share.max()]
    raise MechanismError(
        f"{listed(named)} are inconsistent, not redundant: they depend on each other in this configuration and contradict each other "
        "beside it, so that the mechanism would lock as soon as it leaves it (ideal wheels whose axes do not always meet in one point, as "
        "with a trapezoid steering linkage; or a singular position). Couple them exactly, for example by a "
        "SymbolicConstraint, leave one of them out, or start from another configuration"
    )


def _refuse_contradiction(
    jacobians: list[Array], right: list[Array], speeds: NDArray[np.bool_], kept: NDArray[np.bool_], names: list[str]
) -> None:
    """Rows A v = b that are left out because others imply A v, but say another b."""
    if kept.all() or not any(b.any() for b in right):
        return
    for J, b in zip(jacobians, right, strict=True):
        wanted = J[~kept] @ np.linalg.lstsq(J[kept], b[kept], rcond=1e-9)[0]
        off = np.abs(wanted - b[~kept])
        if speeds.any() and off.max(initial=0.0) > 1e-8 * max(1.0, float(np.abs(b).max())):
            name = np.array(names)[~kept][int(np.argmax(off))]
            raise MechanismError(
                f"{name} contradicts the other constraints: they say already how fast it moves, which differs by {off.max():.3g}; "
                "correct its right-hand side or leave it out"
            )


def _neighbours(closing: TreeClosing | Closing, q: Array, count: int = 3, size: float = 0.05) -> list[Array]:
    """q and a few assembled configurations around it."""
    rng = np.random.default_rng(0)
    samples = [q]
    for _ in range(count):
        moved = q.copy()
        kernels.advance(closing.model.tree, moved, size * rng.normal(size=closing.model.nv))
        try:
            samples.append(_assemble(closing, moved))
        except StateError:
            continue  # a mechanism that cannot move there
    return samples


def _rank(jacobian: Array, rows: NDArray[np.bool_]) -> int:
    """Of some rows; what counts as zero is measured by all of them, for those alone may be nothing but rounding."""
    largest = float(np.linalg.norm(jacobian, 2))
    return int(np.sum(np.linalg.svd(jacobian[rows], compute_uv=False) > _DEPENDENT * max(largest, 1e-300)))


def _independent_rows(
    jacobians: list[Array], rank: int, kept: NDArray[np.bool_], rows: NDArray[np.bool_], nearly_as_good: float = 1.0
) -> NDArray[np.bool_]:
    """Greedy, beside the rows kept already: always the row that is least explained, in the worst of the configurations, by those taken."""
    left = np.stack(jacobians)
    scale = np.abs(left).max()
    kept = kept.copy()
    for k in range(len(left)):
        basis = np.linalg.qr(left[k, kept].T)[0]
        left[k] -= (left[k] @ basis) @ basis.T
    while int(kept.sum()) < rank:
        sizes = np.linalg.norm(left, axis=2).min(axis=0)
        sizes[kept | ~rows] = -1.0
        best = int(np.argmax(sizes >= nearly_as_good * sizes.max()))  # the first of those that are nearly as good
        if sizes[best] < _DEPENDENT * scale:
            break
        kept[best] = True
        direction = left[:, best] / np.linalg.norm(left[:, best], axis=1, keepdims=True)
        left = left - np.einsum("srn,sn->sr", left, direction)[:, :, None] * direction[:, None, :]
    return kept
