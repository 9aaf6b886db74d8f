"""In which order the unknowns of a mechanism in maximal coordinates are eliminated, and what that couples.  Done once per model.

Unknowns come in groups: the six of every body and the multipliers of every constraint.  Two groups are coupled where the Newton
matrix has a block.  Eliminating a group couples all its neighbours with each other (fill-in).  A body and the joint that holds it to
its parent are eliminated together, leaves first in a tree, which needs no fill-in at all.

With loops the order is chosen greedily: always the group with the smallest front.  A closure can be eliminated once the bodies of its loop
are, those between the bodies it joins and their common ancestor; before that its pivot would be singular.  For chains of loops
(four-bars in a row, a scissor lift) fronts stay small and the cost stays proportional to the length.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

ORDERS = ("fill-reducing", "closures-last")


@dataclass(frozen=True)
class Graph:
    """A mechanism as groups of unknowns.  Body i is group i - 1, constraint c is group n + c; constraint i - 1 is the joint of body i."""

    parent: Sequence[int]  #: (n+1,) parent row of every body; entry 0 is not used
    rows: Sequence[int]  #: rows of every constraint, those of the tree first
    bodies: Sequence[tuple[int, ...]]  #: bodies each constraint acts on, world (0) left out
    damped: Sequence[int]  #: bodies whose joint couples them to their parent directly
    light: Sequence[int]  #: bodies with mass or inertia missing: their children go first
    rough: Sequence[int] = ()  #: bodies whose joint has dry friction; the last constraints are the rows that hold them
    middle: bool = False  #: has every body twelve unknowns for what it does half way (kernels/maximal/half_way.py)?
    beside: Sequence[tuple[int, int]] = ()  #: groups that potentials couple
    grounded: Sequence[int] = ()  #: constraints that act on the world, too

    @property
    def n(self) -> int:
        return len(self.parent) - 1

    @property
    def groups(self) -> int:
        return self.n + len(self.rows) + self.n * self.middle

    def half_way(self, i: int) -> int:
        """The group of what body i does half way; the last groups."""
        return self.n + len(self.rows) + i - 1

    def size(self, group: int) -> int:
        if group >= self.n + len(self.rows):
            return 12
        return 6 if group < self.n else self.rows[group - self.n]

    def first_unknown(self) -> NDArray[np.int64]:
        """Where each group starts among the unknowns: bodies, then multipliers, then what is half way."""
        return np.concatenate([[0], np.cumsum([self.size(g) for g in range(self.groups)])]).astype(np.int64)


@dataclass(frozen=True)
class Front:
    """Groups eliminated together, and those they are coupled to then."""

    pivots: tuple[int, ...]
    border: tuple[int, ...]


def _loop_bodies(graph: Graph, c: int) -> set[int]:
    """Bodies on the tree between those of a closure, without the common ancestor."""
    paths = []
    for i in graph.bodies[c]:
        path = [i]
        while path[-1] != 0:
            path.append(graph.parent[path[-1]])
        paths.append(path)
    if len(paths) == 1 or c in graph.grounded:
        paths.append([0])
    common = set(paths[0]).intersection(*paths[1:])
    return {i for path in paths for i in path if i not in common}


def eliminate(graph: Graph, order: str = "fill-reducing") -> list[Front]:
    """The fronts in the order of elimination."""
    n = graph.n
    neighbours: list[set[int]] = [set() for _ in range(graph.groups)]

    def couple(a: int, b: int) -> None:
        if a != b:
            neighbours[a].add(b)
            neighbours[b].add(a)

    for c, bodies in enumerate(graph.bodies):
        if graph.rows[c]:
            for i in bodies:
                couple(n + c, i - 1)
    for i in graph.damped:
        if graph.parent[i]:
            couple(i - 1, graph.parent[i] - 1)

    for a, b in graph.beside:
        couple(a, b)
    for i in range(1, n + 1) if graph.middle else ():
        for a, b in combinations([g for k in (i, graph.parent[i]) if k for g in (k - 1, graph.half_way(k))], 2):
            couple(a, b)

    # supernodes: bodies with their joints, then closures; `after` counts what has to be eliminated before
    closed = len(graph.rows) - len(graph.rough)
    closures = [c for c in range(n, closed) if graph.rows[c]]
    held = {i: (n + closed + k,) for k, i in enumerate(graph.rough)}
    middle = {i: (graph.half_way(i),) for i in range(1, n + 1) if graph.middle}
    nodes = [tuple(g for g in (i - 1, n + i - 1, *held.get(i, ()), *middle.get(i, ())) if graph.size(g)) for i in range(1, n + 1)]
    nodes += [(n + c,) for c in closures]
    after: list[set[int]] = [set() for _ in nodes]
    children: list[list[int]] = [[] for _ in range(n + 1)]
    for i in range(1, n + 1):
        children[graph.parent[i]].append(i)
    for i in range(1, n + 1) if not closures or order == "closures-last" else graph.light:
        after[i - 1] = {j - 1 for j in children[i]}
    for k, c in enumerate(closures, start=n):
        after[k] = set(range(n)) if order == "closures-last" else {i - 1 for i in _loop_bodies(graph, c)}

    waits_for_me: list[list[int]] = [[] for _ in nodes]
    for k, before in enumerate(after):
        for j in before:
            waits_for_me[j].append(k)

    def border(k: int) -> set[int]:
        return set().union(*(neighbours[g] for g in nodes[k])) - set(nodes[k])

    def cost(k: int) -> tuple[int, int]:
        inside = sum(graph.size(g) for g in nodes[k])
        return inside * (inside + sum(graph.size(g) for g in border(k))) ** 2, -k

    waiting = [len(before) for before in after]
    queue = [(*cost(k), k) for k in range(len(nodes)) if waiting[k] == 0]
    heapq.heapify(queue)
    node_of = {g: k for k, groups in enumerate(nodes) for g in groups}
    done = [False] * len(nodes)
    fronts = []
    while queue:
        *promised, k = heapq.heappop(queue)
        if done[k]:
            continue
        if tuple(promised) != cost(k):  # the graph has changed since: look again
            heapq.heappush(queue, (*cost(k), k))
            continue
        done[k] = True
        around = border(k)
        for a in around:
            neighbours[a] |= around
            neighbours[a] -= {a, *nodes[k]}
        fronts.append(Front(nodes[k], tuple(sorted(around))))
        for j in waits_for_me[k]:
            waiting[j] -= 1
            if waiting[j] == 0:
                heapq.heappush(queue, (*cost(j), j))
        for j in {node_of[a] for a in around}:
            if waiting[j] == 0 and not done[j]:
                heapq.heappush(queue, (*cost(j), j))
    return fronts


@dataclass(frozen=True)
class Tables:
    """The fronts as flat arrays; columns as in kernels/maximal/layout.py."""

    front: NDArray[np.int64]
    index: NDArray[np.int64]
    extend: NDArray[np.int64]
    size: int  #: numbers in all fronts
    home: dict[int, int]  #: group -> front that eliminates it
    at: list[dict[int, int]]  #: front -> group -> its first row there

    def block(self, a: int, b: int) -> tuple[int, int, int, int]:
        """Where the block of groups a (rows) and b (columns) stands: offset of its front, stride of its columns, row, column."""
        k = min(self.home[a], self.home[b])
        return int(self.front[k, 0]), int(self.front[k, 5]), self.at[k][a], self.at[k][b]


def tabulate(graph: Graph, fronts: list[Front]) -> Tables:
    first = graph.first_unknown()
    home = {g: k for k, f in enumerate(fronts) for g in f.pivots}
    at: list[dict[int, int]] = []
    index: list[int] = []
    table = np.zeros((len(fronts), 6), dtype=np.int64)
    offset = length = 0
    for k, f in enumerate(fronts):
        # what is eliminated first comes first, so that the border of a front is in the order of its parent
        border = sorted(f.border, key=lambda g: (home[g], g))
        places, row = {}, 0
        for g in (*f.pivots, *border):
            places[g] = row
            index.extend(range(first[g], first[g] + graph.size(g)))
            row += graph.size(g)
        at.append(places)
        stride = -(-row // 4) * 4  # columns are padded to multiples of four numbers
        table[k] = offset, sum(graph.size(g) for g in f.pivots), row, length, home[border[0]] if border else -1, stride
        offset += row * stride
        length += row
    extend = np.zeros(length, dtype=np.int64)
    for k, f in enumerate(fronts):
        parent, start = int(table[k, 4]), int(table[k, 3])
        for g in f.border:
            for j in range(graph.size(g)):
                extend[start + at[k][g] + j] = at[parent][g] + j
    return Tables(table, np.array(index, dtype=np.int64), extend, offset, home, at)
