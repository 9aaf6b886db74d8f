"""Constraints of a model in joint coordinates: arrays for the kernels, values h(q) and the Jacobian Dh (rows x nv)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..checks import number
from ..compiling.records import allocate
from ..constraints.base import COORDINATES, GEAR, JOINT, ON_VELOCITIES, ROWS, Closure
from ..errors import StateError
from ..joints.rows import DOT
from ..kernels.constraints import velocities as constrained
from ..kernels.constraints.speeds import Speeds
from ..kernels.constraints.ties import Ties
from ..kernels.maximal import layout as M
from ..kernels.tree import layout as L
from ..model import Model, takes_model
from .network import VELOCITY_KINDS, make_loops

if TYPE_CHECKING:
    from ..model import Coordinates

Array = NDArray[np.float64]

_LEAST = 1e-4  # of the size of a mechanism: smallest displacement that constraint errors are compared with
_ROUNDING = 4e-15  # of the size of a mechanism: constraint errors that cannot be made smaller


def on_positions(closures: Iterable[Closure]) -> bool:
    """Are all of them functions of joint coordinates and time, none of velocities?"""
    return not on_velocities(closures)


def on_velocities(closures: Iterable[Closure]) -> list[str]:
    """Names of those that restrict velocities."""
    return [c.name for c in closures if c.kind in ON_VELOCITIES]


def row_names(closures: Iterable[Closure]) -> list[str]:
    """What to call every row in messages."""
    return [f"{c.name}: {row.label}" if row.label else c.name for c in closures for row in c.rows]


def make_ties(model: Model, closures: Sequence[Closure] | None = None) -> Ties:
    """Arrays of the given closures (those of the model if left out)."""
    closures = model.closures if closures is None else closures
    link = model.tree.link
    con: list[list[int]] = []
    place, anchor, top = [], [0], []
    call: list[list[int]] = []
    speed: list[list[int]] = []
    gear, ratio, velocity, least = [], [], [], []
    argument: list[tuple[int, int]] = []
    kinds: list[int] = []
    rows: list[list[float]] = []

    def anchor_of(body: int) -> int:
        if body not in anchor:
            anchor.append(body)
        return anchor.index(body)

    for closure in closures:
        first = len(kinds)
        if closure.kind in (ROWS, JOINT) or closure.kind in VELOCITY_KINDS:
            (a, pose_a), (b, pose_b) = closure.a, closure.b
            if closure.kind in VELOCITY_KINDS:
                velocity.append(len(con))
            kind = M.CLOSING if closure.kind == JOINT else VELOCITY_KINDS.get(closure.kind, M.TWO_FRAMES)
            con.append([anchor_of(a), anchor_of(b), first, closure.size, 2 * len(con), 2, kind])
            place.append(np.concatenate([pose_a.p, pose_a.R.ravel(), pose_b.p, pose_b.R.ravel()]))
            top.append(0 if closure.turns_with_nobody else _common_ancestor(link, a, b))
            reach = _reach(model, a) + _reach(model, b) + float(np.linalg.norm(pose_a.p) + np.linalg.norm(pose_b.p))
            rows.extend(closure.row_numbers())
            for row in closure.rows:
                kinds.append(row.kind)
                least.append(1.0 if row.kind == DOT else reach or 1.0)
            continue
        kinds.append(-1)
        rows.append([0.0] * M.ROW_COLUMNS)
        least.append(1.0)
        if closure.kind == GEAR:
            gear.append([first, *(int(link[i, column]) for i in closure.joints for column in (L.QI, L.VI))])
            ratio.append(closure.numbers)
        else:
            calls = call if closure.kind == COORDINATES else speed
            calls.append([first, closure.function.address, len(argument), len(closure.arguments)])
            argument.extend(closure.arguments)
    only_speed = [not kept for closure in closures for kept in closure.holds_positions]
    sizes = {
        "nv": model.nv, "nc": len(con), "m": len(kinds), "na": len(anchor), "ng": len(gear), "ns": len(call), "nx": len(argument),
        "nw": len(velocity), "nu": len(speed),
    }  # fmt: skip
    speeds = allocate(Speeds, sizes, bodies=velocity, call=speed) if velocity or speed or not model.is_plain else None
    closing = [k for k, row in enumerate(con) if row[M.CON_KIND] == M.CLOSING]
    ties = allocate(
        Ties, sizes, loops=make_loops(closures, closing), con=con, place=place, row_kind=kinds, row=rows, anchor=anchor, top=top,
        speeds=speeds, gear=gear, only_speed=only_speed, ratio=ratio, call=call, argument=argument, least=_LEAST * np.array(least),
    )  # fmt: skip
    for poses in (ties.start, ties.end):
        poses[0, [M.POSE_R, M.POSE_R + 4, M.POSE_R + 8, M.POSE_W]] = 1.0
    return ties


def units(ties: Ties) -> Array:
    """(m,) what an error of every row is compared with: the size of the mechanism, m, or 1 rad."""
    return ties.least / _LEAST


def least_momentum(model: Model, ties: Ties) -> float:
    """Smallest momentum (times a second) that residuals are compared with: that of a motion too small to be seen."""
    mass, size = float(model.tree.body[:, L.MASS].sum()), float(ties.least.max(initial=0.0)) / _LEAST
    return 1e-6 * mass * size * min(size, 1.0)


def rounding(tol: float) -> float:
    """Factor for Ties.least with which a tolerance asks no more of the constraints than rounding allows."""
    return max(1.0, _ROUNDING / (_LEAST * tol))


@takes_model
def values(model: Model, q: Coordinates, t: float = 0.0) -> Array:
    """(m,) h(q) of all constraints of a model, m or rad; zero for rows on velocities."""
    return evaluate(model, make_ties(model), model.coordinates(q), number(t, "t", StateError)).value.copy()


@takes_model
def jacobian(model: Model, q: Coordinates, t: float = 0.0) -> Array:
    """(m, nv) Dh(q): the constraints allow the joint velocities v with jacobian @ v = 0 (if they do not depend on time)."""
    return evaluate(model, make_ties(model), model.coordinates(q), number(t, "t", StateError)).J0.copy()


def evaluate(model: Model, ties: Ties, q: Array, t: float = 0.0) -> Ties:
    """`ties` with value, J0 and rate at (q, t)."""
    constrained.constraint_values(model.tree, model.make_work(), ties, float(t), q)
    return ties


def _path(link: NDArray[np.int64], body: int) -> list[int]:
    """Rows from a body to the world, 0 included."""
    path = [int(body)]
    while path[-1] != 0:
        path.append(int(link[path[-1], L.PARENT]))
    return path


def _common_ancestor(link: NDArray[np.int64], a: int, b: int) -> int:
    others = set(_path(link, b))
    return next(i for i in _path(link, a) if i in others)


def _reach(model: Model, body: int) -> float:
    """How far from the world's origin a body can be: the lengths of all links on the way."""
    places = model.tree.body[_path(model.tree.link, body)[:-1], L.PLACE_P : L.PLACE_P + 3]
    return float(np.linalg.norm(places, axis=1).sum())
