"""What the midpoint quadrature couples in maximal coordinates, and where that stands in the fronts.   kernels/maximal/half_way.py"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations, product

from ..kernels.maximal import layout as M
from ..kernels.maximal.layout import Half, make_half
from ..kernels.tree import layout as L
from ..model import Model
from .elimination import Graph, Tables


def body_of_coordinate(model: Model, v: int) -> int:
    """Row of the body whose joint has the velocity at place v."""
    link = model.tree.link
    return next(i for i in range(1, len(link)) if link[i, L.VI] <= v < link[i, L.VI] + link[i, L.NV])


def coupled_by_potentials(model: Model, graph: Graph) -> list[tuple[int, int]]:
    """Groups that springs between points and energies of coordinates couple."""
    springs = [(graph.half_way(int(a)), graph.half_way(int(b))) for a, b, _ in model.tree.pair_on if a > 0 and b > 0]
    moved = [{k for i in joints for k in (i, graph.parent[i]) if k} for joints in _joints_of_energies(model)]
    return springs + [(a - 1, b - 1) for bodies in moved for a, b in combinations(sorted(bodies), 2)]


def half_way(model: Model, graph: Graph, tables: Tables, sizes: Mapping[str, int]) -> Half:
    """The memory of the midpoint quadrature."""

    def body(i: int) -> int | None:
        return i - 1 if i > 0 else None

    def middle(i: int) -> int | None:
        return graph.half_way(i) if i > 0 else None

    joints, springs, energies = [], [], []
    for i in range(1, graph.n + 1):
        p = graph.parent[i]
        E, PE, Mid, PM = body(i), body(p), middle(i), middle(p)
        blocks = {
            M.E_E: (E, E), M.E_PE: (E, PE), M.PE_E: (PE, E), M.PE_PE: (PE, PE), M.E_M: (E, Mid), M.PE_M: (PE, Mid), M.M_E: (Mid, E),
            M.M_PE: (Mid, PE), M.M_M: (Mid, Mid), M.M_PM: (Mid, PM), M.PM_M: (PM, Mid), M.PM_E: (PM, E), M.PM_PE: (PM, PE),
        }  # fmt: skip
        joints.append(_places(tables, [blocks[k] for k in range(M.BLOCKS)]))
    for a, b, _ in model.tree.pair_on.tolist():
        ends = middle(a), middle(b)
        springs.append(_places(tables, product(ends, ends)))
    for moved in _joints_of_energies(model):
        for i, j in product(moved, repeat=2):
            on, by = (body(i), body(graph.parent[i])), (body(j), body(graph.parent[j]))
            energies.append(_places(tables, product(on, by)))
    counts = {"pairs": len(springs), "curvatures": len(energies)}
    return make_half({**sizes, **counts}, model.gravity, joint=joints, spring=springs, energy=energies)


def _joints_of_energies(model: Model) -> list[list[int]]:
    """For every energy the bodies whose joints have the coordinates it depends on."""
    first = model.tree.energy_on[:, L.UP]
    places = model.tree.energy_at[:, L.UV]
    return [[body_of_coordinate(model, int(v)) for v in places[a:b]] for a, b in zip(first[:-1], first[1:], strict=True)]


def _places(tables: Tables, blocks: Iterable[tuple[int | None, int | None]]) -> list[int]:
    """Offset and stride of every block, -1 where it belongs to the world."""
    found: list[int] = []
    for a, b in blocks:
        if a is None or b is None:
            found += [-1, -1]
        else:
            at, stride, row, column = tables.block(a, b)
            found += [at + column * stride + row, stride]
    return found
