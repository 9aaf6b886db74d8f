"""Constraints of a model at joint coordinates: errors, Jacobian, which rows are redundant, consistent coordinates and velocities."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..checks import listed
from ..constraints.base import COORDINATES, GEAR, ROWS, SKATE, Closure
from ..coordinates import ties as tree
from ..coordinates.network import Network, build
from ..dynamics import Evaluation, Evaluator, momentum
from ..errors import MechanismError, StateError
from ..kernels.constraints import velocities as constrained
from ..kernels.maximal import evaluate as kernels
from ..kernels.maximal import layout as M
from ..kernels.stepping.evaluation import KICKED_MOMENTUM, VELOCITY
from ..model import Model

Array = NDArray[np.float64]

_DEPENDENT = 1e-9  # singular values relative to the largest below which rows count as dependent
_CLOSED = 1e-8  # m or rad: what a start may miss the constraints by


class TreeClosing:
    """Evaluates the constraints of a model at joint coordinates and a time."""

    def __init__(self, model: Model, t: float = 0.0):
        self.model, self.t = model, t
        self.ties, self.work = tree.make_ties(model), model.make_work()

    def place(self, q: Array) -> None:
        constrained.constraint_values(self.model.tree, self.work, self.ties, self.t, q)

    def errors(self, q: Array) -> Array:
        """(m,) values of the rows."""
        self.place(q)
        return _defined(self.ties.value.copy(), self)

    def jacobian(self, q: Array) -> Array:
        """(m, nv) how the rows change with joint increments."""
        self.place(q)
        return _defined(self.ties.J0.copy(), self)

    def rates(self, q: Array, v: Array) -> Array:
        """(m,) how fast the rows change when the joints move with v."""
        self.place(q)
        return self.ties.J0 @ v + self.ties.rate

    def holonomic(self) -> NDArray[np.bool_]:
        return np.ones(len(self.ties.value), dtype=bool)

    def row_names(self) -> list[str]:
        return tree.row_names(self.model.closures)


class Closing:
    """Evaluates the constraints of a network at joint coordinates: also those on velocities."""

    def __init__(self, network: Network, t: float = 0.0):
        self.network = network
        self.model = network.model
        self.flow = network.make_flow()
        self.flow.time[0] = t
        self.work = self.model.make_work()
        n = len(self.model.bodies)
        self.first = sum(network.graph.rows[:n])  #: rows before it belong to the joints of the tree
        self._values = np.zeros(len(network.net.row))

    def place(self, q: Array) -> None:
        kernels.node(self.model.tree, self.work, self.network.net, self.flow, q, self._values)

    def errors(self, q: Array) -> Array:
        """(m,) values of the rows; zero for rows on velocities."""
        self.place(q)
        return _defined(self._values[self.first :].copy(), self)

    def jacobian(self, q: Array) -> Array:
        """(m, nv) how the rows change with joint increments: joint velocities v are allowed if jacobian @ v = 0."""
        self.place(q)
        net, n, nv = self.network.net, len(self.model.bodies), self.model.nv
        out = np.zeros((len(net.row) - self.first, nv))
        moves = np.zeros((nv, n + 1, 6))
        for j, unit in enumerate(np.eye(nv)):
            kernels.twists_entry(self.model.tree, self.work, net, self.flow, q, unit, moves[j])
        for e in range(len(net.slot)):
            i, c = net.slot[e, :2]
            if i > 0 and c >= n:
                row, rows = net.con[c, M.FIRST_ROW] - self.first, net.con[c, M.ROWS]
                out[row : row + rows] += self.flow.G0[e, :rows] @ moves[:, i].T
        return _defined(out, self)

    def rates(self, q: Array, v: Array) -> Array:
        """(m,) how fast the rows change when the joints move with v."""
        rates = self.jacobian(q) @ v
        net = self.network.net
        rates[net.con[net.function[:, M.FN_CON], M.FIRST_ROW] - self.first] += self.flow.drift
        return rates

    def holonomic(self) -> NDArray[np.bool_]:
        """(m,) which rows restrict positions."""
        kept: list[bool] = []
        for closure in self.network.closures:
            kept.extend(closure.kind in (ROWS, GEAR, COORDINATES) or (closure.kind != SKATE and k == 0) for k in range(closure.size))
        return np.array(kept, dtype=bool)

    def row_names(self) -> list[str]:
        return tree.row_names(self.network.closures)


def _defined(rows: Array, closing: TreeClosing | Closing) -> Array:
    """The rows, unless one of them is not a number here."""
    if np.all(np.isfinite(rows)):
        return rows
    bad = ~np.all(np.isfinite(rows.reshape(len(rows), -1)), axis=1)
    names = [name for name, wrong in zip(closing.row_names(), bad.tolist(), strict=True) if wrong]
    raise StateError(
        f"{listed(names)} of the constraints of {closing.model.name!r} cannot be computed in this configuration (a rolling disc that lies "
        "flat, points that meet, a function outside of where it is defined); start from another one"
    )


def closing_of(model: Model, t: float = 0.0) -> TreeClosing | Closing:
    return TreeClosing(model, t) if tree.in_tree(model.closures) else Closing(build(model), t)


@dataclass(frozen=True)
class Reduction:
    """Closures with independent rows, and the names of the rows left out."""

    closures: tuple[Closure, ...]
    dropped: tuple[str, ...]
    kept: NDArray[np.bool_]  #: which rows of the model's closures are still there


def assemble(model: Model, q: Array, hold: tuple[str, ...] = (), t: float = 0.0, tol: float = 1e-12) -> Array:
    """Coordinates near q that satisfy the constraints: Gauss-Newton with the smallest change of the joints not held."""
    if not model.closures:
        return q
    return _assemble(closing_of(model, t), q, hold, tol)


def _assemble(closing: TreeClosing | Closing, q: Array, hold: tuple[str, ...] = (), tol: float = 1e-12) -> Array:
    model, held = closing.model, np.zeros(closing.model.nv, dtype=bool)
    for name in hold:
        held[model.v_slice(name)] = True
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


class Projector:
    """Joint velocities of joint momenta, consistent with the constraints."""

    def __init__(self, model: Model, q: Array, t: float):
        network = build(model, reduce(model, q, t).closures)
        self.model, self.net = model, network.net
        self.tree = model.tree._replace(damping=np.zeros(model.nv))  # rotors couple joints too, and they stay
        self.flow, self.work = network.make_flow(), model.make_work()

    def __call__(self, t: Array, q: Array, p: Array) -> Array:
        """t (T,), q (T, nq), p (T, nv) -> v (T, nv)."""
        v = np.empty((len(q), self.model.nv))
        kernels.consistent_velocities(self.tree, self.work, self.net, self.flow, t, q, p, v)
        return v


class ClosedEvaluator:
    """`dynamics.Evaluator` whose velocities obey the constraints of the model; the same thing for a tree."""

    def __init__(self, model: Model):
        self.model = model
        self._evaluator = Evaluator(model)
        self._project: Projector | None = None
        self._ties: tree.Ties | None = None

    def __call__(self, what: int, half_step: float, q: Array, recorded: Array, t: Array) -> Evaluation:
        """As Evaluator, at the times t (T,)."""
        if not self.model.closures or what == VELOCITY:
            return self._evaluator(what, half_step, q, recorded)
        if tree.in_tree(self.model.closures):
            if self._ties is None:
                self._ties = tree.make_ties(self.model, reduce(self.model, q[0], float(t[0])).closures)
            return self._evaluator(what, half_step, q, recorded, t, self._ties)
        if self._project is None:
            self._project = Projector(self.model, q[0], float(t[0]))
        return self._evaluator(VELOCITY, 0.0, q, self._project(t, q, self._evaluator(what, half_step, q, recorded).p))


def check_start(model: Model, q: Array, v: Array, t: float = 0.0) -> None:
    """A start that violates the constraints is an error that names the worst row."""
    if not model.closures:
        return
    closing = closing_of(model, t)
    names = closing.row_names()
    for values, what, remedy in (
        (closing.errors(q), "is off by", "q = model.assemble(q)"),
        (closing.rates(q, v), "changes at the rate", "v = model.project_velocity(q, v)"),
    ):
        worst = int(np.argmax(np.abs(values)))
        limit = _CLOSED * (1.0 if what == "is off by" else max(1.0, float(np.abs(v).max())))
        if abs(values[worst]) > limit:
            raise StateError(f"the start violates {names[worst]}, which {what} {values[worst]:.3g}; make it consistent with {remedy}")


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
    passing singularity (links in line), so neighbours decide.
    """
    if not model.closures:
        return Reduction((), (), np.ones(0, dtype=bool))
    closing = closing_of(model, t)
    samples = _neighbours(closing, q)
    jacobians = [closing.jacobian(x) for x in samples]
    ranks = [_rank(j) for j in jacobians]
    rank, names = max(ranks), closing.row_names()
    if rank == len(names):
        return Reduction(model.closures, (), np.ones(len(names), dtype=bool))
    if rank == 0:
        raise MechanismError(f"the constraints {listed(names)} hold by themselves: nothing they restrict can move; leave them out")
    kept = _independent_rows([j for j, r in zip(jacobians, ranks, strict=True) if r == rank], rank)
    dropped = tuple(name for name, k in zip(names, kept, strict=True) if not k)
    closures, row = [], 0
    for closure in model.closures:
        rows = tuple(r for k, r in enumerate(closure.rows) if kept[row + k])
        row += closure.size
        if rows:
            if len(rows) != closure.size and closure.kind != ROWS:
                raise MechanismError(f"{closure.name} is partly implied by the other constraints ({listed(dropped)}); restrict less")
            closures.append(replace(closure, rows=rows))
    return Reduction(tuple(closures), dropped, kept)


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


def _rank(jacobian: Array) -> int:
    values = np.linalg.svd(jacobian, compute_uv=False)
    return int(np.sum(values > _DEPENDENT * max(values[0], 1e-300))) if len(values) else 0


def _independent_rows(jacobians: list[Array], rank: int) -> NDArray[np.bool_]:
    """Greedy: always the row that is least explained, in the worst of the configurations, by those taken already."""
    left = np.stack(jacobians)
    scale = np.abs(left).max()
    kept = np.zeros(left.shape[1], dtype=bool)
    for _ in range(rank):
        sizes = np.linalg.norm(left, axis=2).min(axis=0)
        sizes[kept] = -1.0
        best = int(np.argmax(sizes > 0.3 * sizes.max()))  # the first of those that are nearly as good
        if sizes[best] < _DEPENDENT * scale:
            break
        kept[best] = True
        direction = left[:, best] / np.linalg.norm(left[:, best], axis=1, keepdims=True)
        left = left - np.einsum("srn,sn->sr", left, direction)[:, :, None] * direction[:, None, :]
    return kept
