"""Model -> Net: the same mechanism as bodies and constraints instead of a tree, for the maximal-coordinate kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..compiling.records import allocate
from ..constraints import base
from ..constraints.base import Closure
from ..constraints.rows import WORLD, Row
from ..errors import MechanismError
from ..joints import SymbolicJoint
from ..joints.dispatch import PARAMETERS
from ..kernels.maximal import layout as M
from ..kernels.maximal.layout import Flow, Loops, Net, Rough, Special, make_flow
from ..kernels.tree import layout as L
from ..model import Model
from ..pose import Pose
from .elimination import Graph, Tables, eliminate, tabulate
from .half_way import body_of_coordinate, coupled_by_potentials, half_way

Array = NDArray[np.float64]


#: constraints on velocities between bodies, and what the kernels call them
VELOCITY_KINDS = {base.SKATE: M.SKATE, base.ROLLING: M.ROLLING, base.BALL: M.BALL, base.SPHERE: M.SPHERE, base.ELLIPSOID: M.ELLIPSOID}


@dataclass(frozen=True)
class Network:
    """Arrays of a mechanism in maximal coordinates, and what they were made of."""

    model: Model
    net: Net
    graph: Graph
    tables: Tables
    closures: tuple[Closure, ...]  #: with the rows that are kept
    sizes: Mapping[str, int]  #: of the arrays of the net

    def make_flow(self) -> Flow:
        most = int(np.diff(self.model.tree.energy_on[:, L.UP]).max(initial=1))
        longest = int(self.net.front[:, M.F_STRIDE].max())
        sizes = {"nq": self.model.nq, "nv": self.model.nv, "size": self.tables.size, "longest": longest, "most": most}
        loops = make_loops(self.closures, [c for c, row in enumerate(self.net.con) if row[M.CON_KIND] == M.CLOSING])
        acting = {"laws": len(self.model.tree.law_on), "couplings": 0, "servos": len(self.model.servos)}
        sizes |= {**self.sizes, **acting, "beside": 12 * self.graph.n * self.graph.middle}
        half = half_way(self.model, self.graph, self.tables, sizes) if self.graph.middle else None
        return make_flow(sizes, loops, _make_rough(self) if self.graph.rough else None, half)

    def dense_matrix(self, flow: Flow) -> Array:
        """The Newton matrix as it was assembled in the fronts of `flow`, before they are factorised; to compare the elimination with."""
        out = np.zeros((len(flow.z), len(flow.z)))
        for at, _, size, first, _, stride in self.net.front:
            where = self.net.index[first : first + size]
            out[np.ix_(where, where)] += flow.values[at : at + size * stride].reshape(size, stride)[:, :size].T  # stored column by column
        return out


def build(
    model: Model, closures: Sequence[Closure] | None = None, order: str = "fill-reducing", rough: bool = False, middle: bool = False
) -> Network:
    """Bodies, joints and the given closures (those of the model if left out).

    rough   with rows that hold joints with dry friction, behind all others
    middle  for the midpoint quadrature of potentials
    """
    closures = model.closures if closures is None else tuple(closures)
    n = len(model.bodies)
    com = centres_of_mass(model)
    con: list[list[int]] = []
    place: list[Array] = []
    kinds: list[int] = []
    rows: list[list[float]] = []
    slots: list[tuple[int, int]] = []  # (body, constraint)
    functions: list[list[int]] = []
    arguments: list[list[int]] = []
    placements: list[Pose] = []

    def add(a: int, b: int, pose_a: Pose, pose_b: Pose, kind: int, on: Sequence[int]) -> int:
        """A constraint without rows yet; poses in the frames of the tree."""
        con.append([a, b, len(rows), 0, len(slots), len(on), kind])
        slots.extend((i, len(con) - 1) for i in on)
        at_a = pose_a.p - com[a] if kind != M.GEAR else pose_a.p
        at_b = pose_b.p - com[b] if kind != M.GEAR else pose_b.p
        place.append(np.concatenate([at_a, pose_a.R.ravel(), at_b, pose_b.R.ravel()]))
        return len(con) - 1

    def add_row(kind: int, u, w, value: float) -> None:
        con[-1][3] += 1
        kinds.append(kind)
        rows.append([*u, *w, value])

    def add_frame_rows(a: int, b: int, pose_a: Pose, pose_b: Pose, equations: Sequence[Row]) -> None:
        add(a, b, pose_a, pose_b, M.TWO_FRAMES, (a, b))
        for row in equations:
            add_row(row.kind, row.u if row.kind == WORLD else pose_a.R @ row.u, pose_b.R @ row.w, row.value)

    for i, body in enumerate(model.bodies, start=1):
        link, values = model.tree.link[i], model.tree.body[i]
        placed = Pose(values[L.PLACE_P : L.PLACE_P + 3], rotation=values[L.PLACE_R : L.PLACE_R + 9].reshape(3, 3))
        placements.append(placed)
        if isinstance(body.joint, SymbolicJoint):
            add(int(link[L.PARENT]), i, placed, Pose(), M.POSE, (int(link[L.PARENT]), i))
            for _ in range(6 - body.joint.nv):
                add_row(-1, (0.0,) * 3, (0.0,) * 3, 0.0)
            continue
        try:
            equations = body.joint.constraint_rows()
        except MechanismError as error:
            raise MechanismError(f"joint {body.joint_name!r}: {error}, or use integrator=Variational()") from None
        add_frame_rows(int(link[L.PARENT]), i, placed, Pose(), equations)
    for closure in closures:
        (a, pose_a), (b, pose_b) = closure.a, closure.b
        if closure.kind == base.ROWS:
            add_frame_rows(a, b, pose_a, pose_b, closure.rows)
        elif closure.kind == base.JOINT:
            add(a, b, pose_a, pose_b, M.CLOSING, (a, b))
            for row in closure.rows:
                add_row(-1, (0.0,) * 3, (0.0,) * 3, row.value)
        elif closure.kind == base.GEAR:
            _add_gear(model, closure, add, add_row)
        elif closure.kind in (base.COORDINATES, base.SPEEDS):
            moved = [body_of_coordinate(model, v) for _, v in closure.arguments]
            slot = {i: len(slots) + 2 * k for k, i in enumerate(dict.fromkeys(moved))}
            c = add(0, 0, Pose(), Pose(), M.FUNCTION, [b for i in slot for b in (int(model.tree.link[i, L.PARENT]), i)])
            add_row(-1, (0.0,) * 3, (0.0,) * 3, 0.0)
            functions.append([c, closure.function.address, len(arguments), len(moved), int(closure.kind == base.SPEEDS)])
            arguments.extend([i, q, v, slot[i]] for i, (q, v) in zip(moved, closure.arguments, strict=True))
        else:
            add(a, b, pose_a, pose_b, VELOCITY_KINDS[closure.kind], (a, b))
            for row, (*directions, value) in zip(closure.rows, closure.row_numbers(), strict=True):
                add_row(row.kind, directions[:3], directions[3:], value)

    sticking = [i for i in range(1, n + 1) if _rubbing(model, i)] if rough else []
    for i in sticking:
        parent = int(model.tree.link[i, L.PARENT])
        add(parent, i, placements[i - 1], Pose(), M.ROUGH, (parent, i))
        for _ in _rubbing(model, i):
            add_row(-1, (0.0,) * 3, (0.0,) * 3, 0.0)

    acts_on = [{i for i, which in slots[c[M.FIRST_SLOT] : c[M.FIRST_SLOT] + c[M.SLOTS]]} for c in con]
    graph = Graph(
        parent=[0, *model.tree.link[1:, L.PARENT].tolist()],
        rows=[c[M.ROWS] for c in con],
        bodies=[tuple(sorted(bodies - {0})) for bodies in acts_on],
        damped=[i for i in range(1, n + 1) if _coupled(model, i)],
        light=[i for i in range(1, n + 1) if _is_light(model, i, com[i])],
        rough=sticking,
        middle=middle,
        grounded=[c for c, bodies in enumerate(acts_on) if 0 in bodies],
    )
    if middle:
        graph = replace(graph, beside=coupled_by_potentials(model, graph))
    tables = tabulate(graph, eliminate(graph, order))
    symbolic = [c for c, columns in enumerate(con) if columns[M.CON_KIND] == M.POSE]
    velocity = [c for c, columns in enumerate(con) if columns[M.CON_KIND] in VELOCITY_KINDS.values()]
    sizes = {
        "n": n, "nc": len(con), "m": len(rows), "ns": len(slots), "dampers": len(graph.damped), "nf": len(tables.front),
        "indices": len(tables.index), "velocities": len(velocity), "symbolics": len(symbolic), "functions": len(functions),
        "arguments": len(arguments),
    }  # fmt: skip
    special = allocate(Special, sizes, velocity=velocity, symbolic=symbolic, function=functions, argument=arguments)
    net = allocate(
        Net, sizes, body=_bodies(model, com), com=com, con=con, place=place, special=special if velocity or symbolic or functions else None,
        row_kind=kinds, row=rows, slot=_slots(tables, slots, n, graph), block=_blocks(tables, n), damped=_damped(tables, graph),
        front=tables.front, index=tables.index, extend=tables.extend, extent=_extent(np.array(place)),
    )  # fmt: skip
    return Network(model, net, graph, tables, closures, sizes)


def _make_rough(network: Network) -> Rough:
    """Memory of the joints with dry friction."""
    model, net, n = network.model, network.net, len(network.model.bodies)
    on = []
    for c, columns in enumerate(net.con):
        if columns[M.CON_KIND] == M.ROUGH:
            i = int(columns[M.BODY_B])
            at, stride, row, column = network.tables.block(n + c, n + c)
            for k, v in enumerate(_rubbing(model, i)):
                q = int(model.tree.link[i, L.QI] + v - model.tree.link[i, L.VI])
                unknown, diagonal = 6 * n + int(columns[M.FIRST_ROW]) + k, at + (column + k) * stride + row + k
                on.append([i, v, q, unknown, int(columns[M.FIRST_SLOT]), k, diagonal])
    return allocate(Rough, {"rubs": len(on)}, on=on)


def make_loops(closures: Sequence[Closure], con: Sequence[int]) -> Loops | None:
    """Memory of the joints given by their pose that close loops; con: their constraints."""
    joints = [closure.function for closure in closures if closure.kind == base.JOINT]
    if not joints:
        return None
    width = max(PARAMETERS, *(len(joint.parameters()) for joint in joints))
    loops = allocate(Loops, {"loops": len(joints), "loop_parameters": width}, con=list(con))
    for i, joint in enumerate(joints):
        loops.link[i] = 0, joint.kind, 7 * i, 6 * i, joint.nv, joint.charts > 1
        loops.param[i, : len(joint.parameters())] = joint.parameters()
        loops.q[7 * i : 7 * i + joint.nq] = joint.neutral()
    return loops


def _extent(place: Array) -> float:
    """Largest distance of a joint from the centre of mass of one of its bodies."""
    points = np.concatenate([place[:, M.A_P : M.A_P + 3], place[:, M.B_P : M.B_P + 3]])
    return max(float(np.abs(points).max(initial=0.0)), 1e-6)


def _add_gear(model: Model, closure: Closure, add, add_row) -> None:
    i, j = closure.joints
    link = model.tree.link
    ratio, offset = closure.numbers
    add(i - 1, j - 1, Pose(), Pose(), M.GEAR, (int(link[i, L.PARENT]), i, int(link[j, L.PARENT]), j))
    turns = [float(model.bodies[k - 1].joint.angular[0]) for k in (i, j)]
    add_row(-1, (*turns, float(link[i, L.QI])), (float(link[j, L.QI]), ratio, 0.0), offset)


def centres_of_mass(model: Model) -> Array:
    """(n+1, 3) in the frames of the tree; the frame's origin for a body without mass."""
    mass = model.tree.body[:, L.MASS, None]
    moment = model.tree.body[:, L.MOMENT : L.MOMENT + 3]
    return np.divide(moment, mass, out=np.zeros_like(moment), where=mass > 0.0)


def _inertia(model: Model, i: int, com: Array) -> Array:
    """(3, 3) about the centre of mass."""
    values = model.tree.body[i]
    inertia = np.zeros((3, 3))
    inertia[np.triu_indices(3)] = values[L.INERTIA : L.INERTIA + 6]
    inertia += np.triu(inertia, 1).T
    return inertia - values[L.MASS] * (com @ com * np.eye(3) - np.outer(com, com))


def _bodies(model: Model, com: Array) -> Array:
    out = np.zeros_like(model.tree.body)
    for i in range(1, len(out)):
        out[i, L.MASS] = model.tree.body[i, L.MASS]
        out[i, L.INERTIA : L.INERTIA + 6] = _inertia(model, i, com[i])[np.triu_indices(3)]
    return out


def _is_light(model: Model, i: int, com: Array) -> bool:
    """Can the body move in some way without moving mass?"""
    moments = np.linalg.eigvalsh(_inertia(model, i, com))
    size = float(np.abs(model.tree.body[i, L.INERTIA : L.INERTIA + 6]).max())
    return model.tree.body[i, L.MASS] == 0.0 or moments[0] <= 1e-9 * size


def _coupled(model: Model, i: int) -> bool:
    """Has the joint of body i a damper, a rotor or a servo?"""
    v, nv, tree = int(model.tree.link[i, L.VI]), int(model.tree.link[i, L.NV]), model.tree
    driven = (tree.servo_on[:, 0] >= v) & (tree.servo_on[:, 0] < v + nv)
    return bool(np.any(tree.damping[v : v + nv] != 0.0) or np.any(tree.armature[v : v + nv] != 0.0) or driven.any())


def _rubbing(model: Model, i: int) -> list[int]:
    """Places in v of the coordinates of joint i that have dry friction."""
    v, nv = int(model.tree.link[i, L.VI]), int(model.tree.link[i, L.NV])
    return [j for j in range(v, v + nv) if model.tree.friction[j] > 0.0]


def _slots(tables: Tables, slots: list[tuple[int, int]], n: int, graph: Graph) -> NDArray[np.int64]:
    out = np.zeros((len(slots), M.SLOT_COLUMNS), dtype=np.int64)
    for k, (i, c) in enumerate(slots):
        out[k, :2] = i, c
        if i > 0 and graph.rows[c]:
            out[k, 2:] = tables.block(n + c, i - 1)
    return out


def _blocks(tables: Tables, n: int) -> NDArray[np.int64]:
    out = np.zeros((n + 1, 2), dtype=np.int64)
    for i in range(1, n + 1):
        at, stride, row, column = tables.block(i - 1, i - 1)
        out[i] = at + column * stride + row, stride
    return out


def _damped(tables: Tables, graph: Graph) -> NDArray[np.int64]:
    out = np.full((len(graph.damped), 9), -1, dtype=np.int64)
    for k, i in enumerate(graph.damped):
        p = graph.parent[i]
        out[k, 0] = i
        for pair, (a, b) in enumerate(((i, i), (i, p), (p, i), (p, p))):
            if a > 0 and b > 0:
                at, stride, row, column = tables.block(a - 1, b - 1)
                out[k, 1 + 2 * pair : 3 + 2 * pair] = at + column * stride + row, stride
    return out
