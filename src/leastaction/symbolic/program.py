"""What the kernels ask of a joint, as graphs.

With the pose X = (R, p) of the coordinates q, unit directions e_j, an increment or rate d:

    pose           X
    place          X and the columns  S_j = (X^-1 dX/dq_j)
    displacement   X(q)^-1 X(q + d), every digit of a small d kept
    bias           (dS/dt) d for the rate d
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .graph import Graph, Node
from .transform import Transform

Vector = list[Node]


@dataclass
class Block:
    """A piece of straight code: what it writes where."""

    graph: Graph
    writes: list[tuple[str, Node]] = field(default_factory=list)  #: where to, value

    def write(self, target: str, start: int, values: Vector) -> None:
        """`target` is a format such as "out[{}]" of a running number."""
        self.writes += [(target.format(start + k), n) for k, n in enumerate(values)]


class PoseGraph:
    """R (as three columns) and p of a transform, and what follows from them."""

    def __init__(self, graph: Graph, transform: Transform, coordinates: list[str]):
        self.graph = g = graph
        self.q = [g.input(name) for name in coordinates]
        columns = [[g.one if r == c else g.zero for r in range(3)] for c in range(3)]
        p = [g.zero] * 3
        for R, t in transform.factors:
            moved = self._times(columns, [g.of(x) for x in t])
            p = [g.add(a, b) for a, b in zip(p, moved, strict=True)]
            columns = [self._times(columns, [g.of(R[r, c]) for r in range(3)]) for c in range(3)]
        self.columns, self.p = columns, p

    def _times(self, columns: list[Vector], x: Vector) -> Vector:
        return [self.graph.dot([column[r] for column in columns], x) for r in range(3)]

    def _into_body(self, x: Vector) -> Vector:
        """R' x."""
        return [self.graph.dot(column, x) for column in self.columns]

    @property
    def rows(self) -> Vector:
        """The rotation row by row, then the position."""
        return [column[r] for r in range(3) for column in self.columns] + self.p

    def _moved(self, how) -> tuple[list[Vector], Vector]:
        return [[how(x) for x in column] for column in self.columns], [how(x) for x in self.p]

    def _spin(self, columns: list[Vector]) -> Vector:
        """R' dR is skew: three of its entries say everything."""
        x, y, z = self.columns
        return [self.graph.dot(z, columns[1]), self.graph.dot(x, columns[2]), self.graph.dot(y, columns[0])]

    def column(self, j: int) -> Vector:
        """S_j as (angular, linear)."""
        seeds, known = {self.q[j]: self.graph.one}, _nothing()
        columns, p = self._moved(lambda n: self.graph.tangent(n, seeds, known))
        return self._spin(columns) + self._into_body(p)

    def pose(self) -> Block:
        block = Block(self.graph)
        block.write("out[{}]", 0, self.rows)
        return block

    def place(self) -> Block:
        block = self.pose()
        for j in range(len(self.q)):
            block.write("S[{}]", 6 * j, self.column(j))
        return block

    def displacement(self, increments: list[str]) -> Block:
        """E0 to E8 = R' (R(q + d) - R(q)) row by row; out[4:] the translation."""
        g = self.graph
        seeds, known = dict(zip(self.q, map(g.input, increments), strict=True)), _nothing()
        columns, p = self._moved(lambda n: g.difference(n, seeds, known))
        E = [self._into_body(column) for column in columns]
        block = Block(g)
        block.write("E{}", 0, [E[c][r] for r in range(3) for c in range(3)])
        block.write("out[{}]", 4, self._into_body(p))
        return block

    def bias(self, rates: list[str]) -> Block:
        """Second derivative along the rates: R' R'' = [dw/dt] + [w]^2, and R' p'' - w x v."""
        g = self.graph
        seeds = dict(zip(self.q, map(g.input, rates), strict=True))
        first, second = _nothing(), _nothing()
        columns, p = self._moved(lambda n: g.tangent(n, seeds, first))
        w, v = self._spin(columns), self._into_body(p)
        columns = [[g.tangent(n, seeds, second) for n in column] for column in columns]
        turn, move = self._spin(columns), self._into_body([g.tangent(n, seeds, second) for n in p])
        cross = [g.sub(g.mul(w[1], v[2]), g.mul(w[2], v[1])), g.sub(g.mul(w[2], v[0]), g.mul(w[0], v[2])),
                 g.sub(g.mul(w[0], v[1]), g.mul(w[1], v[0]))]  # fmt: skip
        square = [g.mul(w[2], w[1]), g.mul(w[0], w[2]), g.mul(w[1], w[0])]
        block = Block(g)
        block.write("out[{}]", 0, [g.sub(a, b) for a, b in zip(turn, square, strict=True)])
        block.write("out[{}]", 3, [g.sub(a, b) for a, b in zip(move, cross, strict=True)])
        return block


def _nothing() -> dict[Node, Node]:
    """What is known at first."""
    return {}
