"""The constraints of a model as functions of joint coordinates: errors, Jacobian, rates, in joint or in maximal coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..checks import listed
from ..compiling.decorators import Direct
from ..constraints.base import Closure
from ..coordinates import ties as tree
from ..coordinates.network import Network
from ..errors import StateError
from ..kernels.constraints import velocities as constrained
from ..kernels.maximal import evaluate as kernels
from ..kernels.maximal import layout as M
from ..model import Model

Array = NDArray[np.float64]


class TreeClosing:
    """Evaluates the constraints of a model at joint coordinates and a time."""

    def __init__(self, model: Model, t: float = 0.0, closures: tuple[Closure, ...] | None = None):
        self.model, self.t = model, t
        self.closures = model.closures if closures is None else closures
        self.ties, self.work = tree.make_ties(model, self.closures), model.make_work()
        self._constrain = Direct(constrained.constraint_values)

    def with_closures(self, closures: tuple[Closure, ...]) -> TreeClosing:
        """The same of other constraints."""
        return TreeClosing(self.model, self.t, closures)

    def place(self, q: Array) -> None:
        self._constrain(self.model.tree, self.work, self.ties, self.t, np.ascontiguousarray(q))

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

    def right_sides(self, q: Array) -> Array:
        """(m,) b of rows A v = b: what J0 v has to be."""
        self.place(q)
        return -self.ties.rate

    def holonomic(self) -> NDArray[np.bool_]:
        """(m,) which rows restrict positions."""
        return np.array([kept for closure in self.closures for kept in closure.holds_positions], dtype=bool)

    def row_names(self) -> list[str]:
        return tree.row_names(self.closures)


class Closing:
    """Evaluates the constraints of a network at joint coordinates: the same by the kernels of `Maximal`."""

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
        if net.special is not None:
            rates[net.con[net.special.function[:, M.FN_CON], M.FIRST_ROW] - self.first] += self.flow.drift
        return rates

    def holonomic(self) -> NDArray[np.bool_]:
        """(m,) which rows restrict positions."""
        return np.array([kept for closure in self.network.closures for kept in closure.holds_positions], dtype=bool)

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
