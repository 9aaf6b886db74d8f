"""Reactions as users see them: forces and moments by the name of a constraint, joint or body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..checks import listed, shown
from ..constraints.base import COORDINATES, GEAR, SPEEDS, Closure
from ..coordinates import ties as tree
from ..errors import StateError
from ..integrators import Integrator
from ..kernels.constraints.wrenches import constraint_wrenches
from ..kernels.tree.layout import PARENT
from ..model import Model
from .balance import Balance, Poses, accumulate, balance
from .redundant import smallest
from .replay import Nodes, is_balanced

Array = NDArray[np.float64]

_PARTS = ("moment x", "moment y", "moment z", "force x", "force y", "force z")
_NOTHING = 1e-6  # N or N m for a unit multiplier: what counts as no change


LOADS = ("name", "on", "by", "largest force", "at", "largest moment", "at", "not determined")


@dataclass(frozen=True, repr=False)
class Reaction:
    """What a joint or a constraint does to a body, at every recorded node, world axes.

    Of a joint it is the whole wrench that its parent gives the body through the joint, so also what motors, springs, dampers and dry
    friction do in it.

    >>> import leastaction as la
    >>> pin = la.simulate(la.examples.chain(1).compile(), dt=1e-2, duration=1.0).reactions["link1"]
    >>> pin.force.shape, pin.moment.shape
    ((101, 3), (101, 3))
    """

    name: str
    on: str  #: body that it acts on; the opposite acts on `by`
    by: str
    t: Array  #: (T,) s
    point: Array  #: (T, 3) where it acts, m: the origin of the body (joint) or of frame b (constraint)
    wrench: Array | None  #: (T, 6) moment about that point and force; None of constraints on coordinates
    multipliers: Array  #: (T, r) force of every row of the constraint, N for positions, N m for angles; of joints none
    rows: tuple[str, ...]  #: what the rows keep
    drive: Array  #: (T, nv) of a joint: its part along each freedom, which motors, springs, dampers, friction give it (and Gear, Cam, ...)
    undetermined: tuple[str, ...]  #: parts that other constraints could carry as well, the smallest multipliers were taken
    _axes: tuple[Model, Poses] = field(repr=False)

    @property
    def indeterminate(self) -> bool:
        """Is some part of it not determined by the motion?"""
        return bool(self.undetermined)

    @property
    def force(self) -> Array:
        """(T, 3) N, world axes."""
        return self._whole()[..., 3:]

    @property
    def moment(self) -> Array:
        """(T, 3) N m about `point`, world axes."""
        return self._whole()[..., :3]

    def in_axes_of(self, frame: str) -> tuple[Array, Array]:
        """(force, moment), each (T, 3), in the axes of a body or frame, the moment about the same `point`."""
        model, poses = self._axes
        if not isinstance(frame, str) or frame not in model.frames:
            raise StateError(f"there is no body or frame {shown(frame)} to see {self.name!r} from; there are {listed(model.frames)}")
        row, local = model.frames[frame]
        R = poses.R[:, row] @ local.R
        if self.force.ndim == 1:
            return R[0].T @ self.force, R[0].T @ self.moment
        return np.einsum("tji,tj->ti", R, self.force), np.einsum("tji,tj->ti", R, self.moment)

    def at(self, k: int) -> Reaction:
        """The same at recorded node k alone, without the time axis."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not -len(self.t) <= k < len(self.t):
            raise StateError(f"k = {shown(k)}; there are {len(self.t)} recorded nodes, 0 to {len(self.t) - 1} or counted from the end")
        model, poses = self._axes
        wrench = None if self.wrench is None else self.wrench[k]
        return replace(
            self, t=self.t[k], point=self.point[k], wrench=wrench, multipliers=self.multipliers[k], drive=self.drive[k],
            _axes=(model, Poses(poses.R[[k]], poses.x[[k]])),
        )  # fmt: skip

    def _whole(self) -> Array:
        if self.wrench is None:
            raise StateError(
                f"{self.name} acts on joint coordinates and has no force at a point; take its .multipliers, or the .drive of its joints"
            )
        return self.wrench

    def _repr_html_(self) -> str:
        from ..page import tables

        return tables.of_rows(f"reaction {self.name}", [LOADS, loads(self)], [f"on {self.on} by {self.by}, world axes"])

    def __repr__(self) -> str:
        unsure = f", not determined: {', '.join(self.undetermined)}" if self.undetermined else ""
        return f"<Reaction {self.name!r} on {self.on!r} by {self.by!r}{unsure}>"


class Reactions(Mapping[str, Reaction]):
    """`run.reactions["pin"]`: by the name of a constraint (or its number), of a joint or of a body.  Evaluated when first asked for.

    At a node: the impulse of the half steps on both sides of it, divided by the step; for `Variational`, `Midpoint` and `Maximal` by their
    discrete equations, so that momentum balances to the last digit, else, and with servos or dry friction, by the equations of motion in
    the state there.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0)  # two links of 1 kg hang at rest
    >>> run.reactions["link1"].force[0].round(3) + 0.0  # N
    array([ 0.  ,  0.  , 19.62])
    """

    def __init__(self, integrator: Integrator, nodes: Nodes, dt: float, single: bool = False):
        self._integrator, self._nodes, self._dt, self._single = integrator, nodes, dt, single
        self._model = nodes.model

    def __getitem__(self, key: str | int) -> Reaction:
        found = self._constraint(self._number(key)) if not isinstance(key, str) or key in self._names else self._joint(self._row(key))
        return found.at(0) if self._single else found

    def __iter__(self) -> Iterator[str]:
        return iter((*dict.fromkeys(self._names), *self._model.joint_names))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, key: object) -> bool:
        return key in self._names or key in self._model.joint_names or key in self._model.body_names

    def _repr_html_(self) -> str:
        from ..page import tables

        how = "from the discrete balance of momentum" if self.discrete else "from the equations of motion at the nodes"
        rows = [loads(self[name]) for name in self if self._is_one(name)]
        return tables.of_rows(f"reactions of {self._model.name}", [LOADS, *rows], [how])

    def _is_one(self, name: str) -> bool:
        """Is there one constraint, or one joint, of this name?"""
        return self._names.count(name) < 2

    def __repr__(self) -> str:
        return f"<Reactions of {self._model.name!r}: {listed(self)}>"

    @property
    def discrete(self) -> bool:
        """Do they follow from the discrete equations of the integrator?"""
        return is_balanced(self._integrator, self._nodes.model)

    @cached_property
    def _names(self) -> list[str]:
        return [c.name for c in self._model.closures]

    def _number(self, key: str | int) -> int:
        if isinstance(key, str):
            if self._names.count(key) > 1:
                places = [k for k, name in enumerate(self._names) if name == key]
                raise StateError(f"{len(places)} constraints are called {key!r}; take one by its number ({listed(map(str, places))}), "
                                 "or name them: add_constraint(..., name=...)")  # fmt: skip
            return self._names.index(key)
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)) or not -len(self._names) <= key < len(self._names):
            count = len(self._names)
            raise StateError(f"reactions[{shown(key)}]: there are {count} constraints; give a number below, or one of {listed(self)}")
        return int(key) % len(self._names)

    def _row(self, key: str) -> int:
        for names in (self._model.joint_names, self._model.body_names):
            if key in names:
                return names.index(key) + 1
        if key in self._model.frames and key != "world":
            row = self._model.frames[key][0]
            carrier = self._model.bodies[row - 1].name if row else "world"
            raise StateError(f"{key!r} is fixed to {carrier!r} and one with it: what holds it is not known; there are {listed(self)}")
        raise StateError(f"there is no constraint, joint or body {key!r}; there are {listed(self)}")

    # ------------------------------------------------------------------------------------------------------- evaluated once

    @cached_property
    def _balance(self) -> Balance:
        return balance(self._integrator, self._nodes, self._dt)

    @cached_property
    def _multipliers(self) -> tuple[Array, list[tuple[int, Array]]]:
        return smallest(self._nodes, self._balance.multipliers)

    @cached_property
    def _held(self) -> Array:
        """(T, constraints, 6) wrench of every constraint on its second body, world axes about the world's origin."""
        return self._wrenches(slice(None), self._multipliers[0], 1)

    @cached_property
    def _through(self) -> Array:
        """(T, n+1, 6) wrench through every joint, likewise."""
        return self._balance.through - self._carried(self._held, self._wrenches(slice(None), self._multipliers[0], 0))

    @cached_property
    def _free(self) -> list[tuple[int, Array, Array]]:
        """What undetermined multipliers add: (node, on the bodies of constraints, through joints), the first index a multiplier."""
        found = []
        for k, space in self._multipliers[1]:
            held, opposite = (self._wrenches(np.full(len(space), k), space, side) for side in (1, 0))
            found.append((k, held, self._carried(held, opposite)))
        return found

    def _wrenches(self, which, multipliers: Array, side: int) -> Array:
        """Of all constraints at the nodes `which` for the given multipliers, on their second bodies (side 1) or their first ones (0)."""
        model, nodes, poses = self._model, self._nodes, self._balance.poses
        R, x = poses.R[which], poses.x[which]
        out = np.zeros((len(multipliers), len(model.closures), 6))
        between = [c for c, closure in enumerate(model.closures) if _acts_at_a_point(closure)]
        if not between:
            return out
        on_body, rows = out.copy(), [(model.closures[c].a, model.closures[c].b)[side][0] for c in between]
        some = np.zeros((len(multipliers), len(between), 6))
        work, ties = model.make_work(), tree.make_ties(model)
        times, q = np.ascontiguousarray(nodes.t[which]), np.ascontiguousarray(nodes.q[which])
        constraint_wrenches(model.tree, work, ties, times, q, np.ascontiguousarray(multipliers), some, side)
        on_body[:, between] = some
        out[:, between] = Poses(R[:, rows], x[:, rows]).in_world(on_body[:, between])
        return out

    def _carried(self, held: Array, opposite: Array) -> Array:
        """What the wrenches of the constraints make the joints carry less."""
        on = np.zeros((len(held), len(self._model.bodies) + 1, 6))
        for c, closure in enumerate(self._model.closures):
            on[:, closure.b[0]] += held[:, c]
            on[:, closure.a[0]] += opposite[:, c]
        return accumulate(self._model, on)

    # ------------------------------------------------------------------------------------------------------------ reactions

    def _constraint(self, c: int) -> Reaction:
        model, closure, poses = self._model, self._model.closures[c], self._balance.poses
        first = sum(other.size for other in model.closures[:c])
        (a, _), (b, place) = closure.a, closure.b
        point = poses.x[:, b] + poses.R[:, b] @ place.p
        wrench, parts = None, set()
        if _acts_at_a_point(closure):
            wrench = _about(self._held[:, c], point)
            parts = {p for k, held, _ in self._free for p in _changed(_about(held[:, c], point[[k]]))}
        elif any(np.abs(space[:, first : first + closure.size]).max() > _NOTHING for _, space in self._multipliers[1]):
            parts = {"multipliers"}
        labels = tuple(row.label for row in closure.rows)
        values = self._multipliers[0][:, first : first + closure.size]
        return self._reaction(closure.name, b, a, point, wrench, values, labels, np.zeros((len(point), 0)), parts)

    def _joint(self, i: int) -> Reaction:
        model, poses, body = self._model, self._balance.poses, self._model.bodies[i - 1]
        point = poses.x[:, i]
        wrench = _about(self._through[:, i], point)
        parts = {p for k, _, through in self._free for p in _changed(_about(through[:, i], point[[k]]))}
        own = np.concatenate([np.einsum("tji,tj->ti", poses.R[:, i], w) for w in (wrench[:, :3], wrench[:, 3:])], axis=1)
        drive = np.einsum("tvc,tc->tv", self._balance.columns[:, model.v_slice(body.joint_name)], own)
        parent = int(model.tree.link[i, PARENT])
        return self._reaction(body.joint_name, i, parent, point, wrench, np.zeros((len(point), 0)), (), drive, parts)

    def _reaction(self, name: str, on: int, by: int, point, wrench, multipliers, rows, drive, parts: set[str]) -> Reaction:
        names = ("world", *self._model.body_names)
        undetermined = tuple(p for p in (*_PARTS, "multipliers") if p in parts)
        axes = (self._model, self._balance.poses)
        return Reaction(name, names[on], names[by], self._nodes.t, point, wrench, multipliers, rows, drive, undetermined, axes)


def loads(reaction: Reaction) -> tuple[str, ...]:
    """A row of a table: the largest force and moment, and when."""
    times = np.atleast_1d(reaction.t)
    cells: list[str] = []
    for wrench, unit in ((slice(3, 6), "N"), (slice(0, 3), "N m")):
        if reaction.wrench is None:
            cells += ["–", "–"]
            continue
        sizes = np.linalg.norm(np.atleast_2d(reaction.wrench)[:, wrench], axis=1)
        k = int(np.argmax(sizes))
        cells += [f"{sizes[k]:.4g} {unit}", f"{times[k]:.4g} s"]
    return (reaction.name, reaction.on, reaction.by, *cells, ", ".join(reaction.undetermined) or "–")


def _acts_at_a_point(closure: Closure) -> bool:
    return closure.kind not in (GEAR, COORDINATES, SPEEDS)


def _about(wrench: Array, point: Array) -> Array:
    """(T, 6) about the world's origin -> about the point (T, 3)."""
    return np.concatenate([wrench[:, :3] - np.cross(point, wrench[:, 3:]), wrench[:, 3:]], axis=1)


def _changed(wrenches: Array) -> list[str]:
    """Which parts of a reaction undetermined multipliers change."""
    return [part for part, size in zip(_PARTS, np.abs(wrenches).max(axis=0), strict=True) if size > _NOTHING]
