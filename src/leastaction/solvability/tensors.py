"""The mass matrix of a tree and its derivatives: exact at a configuration, and bounded over a box of configurations.

Every joint with plain coordinates is a product of screws exp(s_1 q_1) exp(s_2 q_2) ..., s constant.  In the frame of body i the
columns of its Jacobian are J_j = Ad s_j, and only screws k beyond j move them:  dJ_j/dq_k = [J_j, J_k].  Derivatives of any order
are iterated brackets, M = sum_i J' G_i J and its derivatives follow from the product rule.

The same recursion bounds them: of a twist only the lengths (angular, linear) are kept, and |[x, y]| is at most
(|x_w| |y_w|, |x_w| |y_v| + |x_v| |y_w|).  The lengths of the columns over a box come from the distances between joints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import listed
from ..compiling.records import allocate
from ..errors import StateError
from ..joints.base import Joint
from ..joints.free import Free
from ..joints.spherical import Spherical
from ..kernels.solvability.layout import BALL, FLOATING, SCREWS, Screws
from ..kernels.tree.layout import INERTIA, MASS, MOMENT, PARENT, PLACE_P, PLACE_R, QI, VI
from ..model import Model, checked_model

Array = NDArray[np.float64]

_ABOVE = 1.0 + 1e-15  # lengths are rounded up


def screws(joint: Joint, on_world: bool) -> tuple[int, Array]:
    """What it is (kernels/solvability/layout.py), and (nv, 6) twists (angular, linear), canonical frame, parent first: of the screws the
    joint is a product of, or the columns of a ball or free joint.
    """
    motions = joint.primitives()
    if motions is not None:
        return SCREWS, np.array([motion.screw() for motion in motions]).reshape(-1, 6)
    if isinstance(joint, Spherical) or (isinstance(joint, Free) and on_world):
        return BALL if isinstance(joint, Spherical) else FLOATING, joint.columns_at_zero()
    if isinstance(joint, Free):
        raise StateError(
            f"joint {joint!r} on another body has no certified bounds, only one on the world has; use joints with plain coordinates "
            "in its place; leastaction.solvability.report(...) tries steps of Variational instead"
        )
    raise StateError(
        f"joint {joint!r} has no certified bounds: they need a product of screws in plain coordinates, a Spherical joint or a Free one; "
        "leastaction.solvability.report(...) tries steps of Variational instead"
    )


def _structure() -> Array:
    """C (6, 6, 6) with [x, y]_a = C_abc x_b y_c."""
    C = np.zeros((6, 6, 6))
    for a, b, c, sign in [(0, 1, 2, 1), (1, 2, 0, 1), (2, 0, 1, 1), (0, 2, 1, -1), (1, 0, 2, -1), (2, 1, 0, -1)]:
        C[a, b, c] = C[3 + a, b, 3 + c] = C[3 + a, 3 + b, c] = sign
    return C


BRACKET = _structure()
#: the same for the lengths (angular, linear) of twists
LENGTH_BRACKET = np.zeros((2, 2, 2))
LENGTH_BRACKET[0, 0, 0] = LENGTH_BRACKET[1, 0, 1] = LENGTH_BRACKET[1, 1, 0] = 1.0


def mass_derivatives(C: Array, J: Array, G: Array, order: int) -> list[Array]:
    """[M, M1, M2, ...] up to the given order of one body: Mk[a, b, k, l, ...] = derivative of M[a, b] in q_k, q_l, ...

    J (d, n) columns from the root to the body, G (d, d) metric, C (d, d, d) bracket.
    """
    beyond = np.triu(np.ones((J.shape[1],) * 2), 1)  # [j, k] = 1 where screw k is beyond j
    D = [J]  # derivatives of the columns: D[2][:, j, k, l] = d^2 J_j / dq_k dq_l
    for more in range(order):
        indices = "lmno"[:more]
        total = np.zeros((len(J),) + (J.shape[1],) * (2 + more), J.dtype)
        for left, right in _shares(indices):  # d/dq_l ... of [J_j, J_k]
            bracket = np.tensordot(C, D[len(left)], ([1], [0]))  # indices a, c, j, left
            total += np.einsum(f"acj{left},ck{right}->ajk{indices}", bracket, D[len(right)])
        D.append(total * beyond.reshape(beyond.shape + (1,) * more))
    momenta = [np.tensordot(G, d, (1, 0)) for d in D]
    result = []
    for count in range(order + 1):
        indices = "klmn"[:count]
        parts = [np.einsum(f"xa{l},xb{r}->ab{indices}", D[len(l)], momenta[len(r)]) for l, r in _shares(indices)]
        result.append(np.sum(parts, axis=0))
    return result


def directional_derivatives(C: Array, J: Array, G: Array, direction: Array, order: int) -> list[Array]:
    """The same contracted with one direction (n,) in every derivative, [M, M1 d, M2 d d, ...], each (n, n), in O(n^2)."""
    weight = np.triu(np.ones((J.shape[1],) * 2), 1) * direction  # [j, k] = d_k where screw k is beyond j
    D = [J]
    for more in range(order):
        parts = [comb(more, i) * np.einsum("abc,bj,ck,jk->aj", C, D[i], D[more - i], weight) for i in range(more + 1)]
        D.append(np.sum(parts, axis=0))
    return [np.sum([comb(m, i) * D[i].T @ G @ D[m - i] for i in range(m + 1)], axis=0) for m in range(order + 1)]


@lru_cache(maxsize=8)
def _shares(indices: str) -> list[tuple[str, str]]:
    """All ways to share out derivatives between the two factors of a product."""
    n = len(indices)
    return [
        ("".join(indices[c] for c in range(n) if number >> c & 1), "".join(indices[c] for c in range(n) if not number >> c & 1))
        for number in range(2**n)
    ]


@dataclass
class _Body:
    path: NDArray[np.int64]  # degrees of freedom from the root to the body
    mass: float
    com: Array  # in the body frame
    inertia: Array  # (3, 3) about the com


class MassTensors:
    """M(q) of a model and its derivatives.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> la.solvability.MassTensors(model).at(state.q, 0)[0].shape  # M itself
    (2, 2)
    """

    def __init__(self, model: Model):
        self.model, self.nv = checked_model(model), model.nv
        tree = model.tree
        found = [screws(b.joint, int(tree.link[i, PARENT]) == 0) for i, b in enumerate(model.bodies, start=1)]
        self.kinds = [SCREWS, *(kind for kind, _ in found)]
        self.screws = np.concatenate([columns for _, columns in found])
        self.angular = np.linalg.norm(self.screws[:, :3], axis=1)
        self.linear = np.linalg.norm(self.screws[:, 3:], axis=1)
        self.first = [int(x) for x in tree.link[:, VI]]
        self.parent = [int(x) for x in tree.link[:, PARENT]]
        self.count = [0] + [b.joint.nv for b in model.bodies]
        self.bodies: dict[int, _Body] = {}
        for i in range(1, len(model.bodies) + 1):
            mass = float(tree.body[i, MASS])
            xx, xy, xz, yy, yz, zz = tree.body[i, INERTIA : INERTIA + 6]
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            com = tree.body[i, MOMENT : MOMENT + 3] / mass if mass > 0.0 else np.zeros(3)
            inertia = inertia - mass * (com @ com * np.eye(3) - np.outer(com, com))
            if mass > 0.0 or np.any(inertia):
                self.bodies[i] = _Body(np.array(self._path(i)), mass, com, inertia)

    @cached_property
    def record(self) -> Screws:
        """The same for compiled code."""
        tree, n = self.model.tree, len(self.model.bodies)
        groups = [i for i, kind in enumerate(self.kinds) if kind != SCREWS]
        record = allocate(Screws, {"n": n, "nv": self.nv, "g": len(groups)})
        record.kind[:], record.groups[:] = self.kinds, groups
        record.screw[:], record.armature[:], record.damping[:] = self.screws, tree.armature, tree.damping
        record.length[:, 0], record.length[:, 1] = self.angular * _ABOVE, self.linear * _ABOVE
        record.place[1:, :3] = tree.body[1:, PLACE_P : PLACE_P + 3]
        record.place[1:, 3:] = tree.body[1:, PLACE_R : PLACE_R + 9]
        record.stretch[:] = np.linalg.norm(record.place[:, :3], axis=1) * _ABOVE
        record.parent[1:], record.first[1:], record.count[1:] = self.parent[1:], self.first[1:], self.count[1:]
        for i in range(1, n + 1):
            record.depth[i] = record.depth[record.parent[i]] + record.count[i]
            own = np.arange(self.first[i], self.first[i] + self.count[i])
            at = int(tree.link[i, QI])
            plain = self.kinds[i] == SCREWS
            record.lead[own] = own if plain else self.first[i]
            record.at[own] = at + own - self.first[i] if plain else at + self.model.bodies[i - 1].joint.nq - 4
        for i, body in self.bodies.items():
            record.mass[i], record.com[i], record.inertia[i] = body.mass, body.com, body.inertia[np.triu_indices(3)]
            record.metric[i] = np.linalg.eigvalsh(body.inertia)[-1] + 1e-14 * np.abs(body.inertia).max(), body.mass
        return record

    def _path(self, i: int) -> list[int]:
        above = self._path(self.parent[i]) if self.parent[i] > 0 else []
        return above + list(range(self.first[i], self.first[i] + self.count[i]))

    @property
    def plain(self) -> bool:
        """Are all coordinates plain?  Only then are there tensors of every order."""
        return all(kind == SCREWS for kind in self.kinds)

    def need_plain(self) -> None:
        """StateError where there are no tensors: of ball and free joints compiled code knows what certificates need."""
        if not self.plain:
            bound = [b.joint_name for b in self.model.bodies if b.joint.has_quaternion]
            raise StateError(
                f"constants of the paper, tensors and third derivatives are known for plain coordinates, which joint {listed(bound)} does "
                "not have; use certify(StepEquation(model, state), h) or certified(model, state)"
            )

    def at(self, q: Array, order: int) -> list[Array]:
        """[M, M1, ...] at the coordinates q (nv,), exact up to rounding; of long doubles in them."""
        self.need_plain()
        total = self._zeros(order, q.dtype)
        total[0] += np.diag(self.model.tree.armature)
        for i, body in self.bodies.items():
            J = self._columns(q, i)
            G = np.zeros((6, 6), q.dtype)
            G[:3, :3], G[3:, 3:] = body.inertia, body.mass * np.eye(3)
            self._add(total, body.path, mass_derivatives(BRACKET, J, G, order))
        return total

    def magnitude(self, q: Array, radius: Array) -> float:
        """A bound of what is added up to the entries of M in the box: rounding changes none of them by more than a part of it."""
        return sum(float(np.sum((G @ full).T @ full)) for _, _, G, full in self._lengths(q, radius)) + float(self.model.tree.armature.sum())

    def bounds(self, q: Array, radius: Array, order: int) -> list[Array]:
        """[M, M1, ...] of absolute bounds of every entry for all coordinates within `radius` (nv,) of q."""
        total = self._zeros(order)
        total[0] += np.diag(self.model.tree.armature)
        for body, lengths, G, _ in self._lengths(q, radius):
            self._add(total, body.path, mass_derivatives(LENGTH_BRACKET, lengths, G, order))
        return total

    def directional_bounds(self, q: Array, radius: Array, direction: Array, order: int) -> list[Array]:
        """The same contracted with a direction (nv,) of numbers >= 0 in every derivative, each (nv, nv)."""
        total = [np.zeros((self.nv, self.nv)) for _ in range(order + 1)]
        total[0] += np.diag(self.model.tree.armature)
        for body, lengths, G, _ in self._lengths(q, radius):
            self._add(total, body.path, directional_derivatives(LENGTH_BRACKET, lengths, G, direction[body.path], order))
        return total

    def _lengths(self, q: Array, radius: Array) -> Iterator[tuple[_Body, Array, Array, Array]]:
        """Of every body the largest lengths (2, n) of the columns of its Jacobian in the box, a metric that bounds its inertia, and
        the largest lengths wherever joints that turn are.
        """
        self.need_plain()
        extent = np.abs(q) + radius  # how far slides reach
        for i, body in self.bodies.items():
            lengths = np.stack([self.angular[body.path], self._speeds(i, body, extent)])
            here = np.linalg.norm(self._columns(q, i)[3:], axis=0)
            # either the longest anywhere, or the length at q and how much it can change on the way
            change = np.triu(np.outer(lengths[0], lengths[1]) + np.outer(lengths[1], lengths[0]), 1)
            near = lengths.copy()
            near[1] = np.minimum(lengths[1], here + change @ radius[body.path])
            yield body, near, np.diag([np.linalg.eigvalsh(body.inertia)[-1], body.mass]), lengths

    def _speeds(self, i: int, body: _Body, extent: Array) -> Array:
        """Longest velocity of the com of body i per unit rate of every screw on its path, whatever the other coordinates are."""
        speeds, row, reach = {}, i, float(np.linalg.norm(body.com))
        while row > 0:
            for j in reversed(range(self.first[row], self.first[row] + self.count[row])):
                speeds[j] = self.linear[j] + self.angular[j] * reach
                reach += self.linear[j] * extent[j]
            reach += float(np.linalg.norm(self.model.tree.body[row, PLACE_P : PLACE_P + 3]))
            row = self.parent[row]
        return np.array([speeds[j] for j in body.path])

    def _columns(self, q: Array, i: int) -> Array:
        """(6, n) Jacobian of body i at its com, in its frame.  From the body to the root, so that no digits are lost far from there."""
        tree, row, columns = self.model.tree, i, []
        R, c = np.eye(3, dtype=q.dtype), self.bodies[i].com.astype(q.dtype)  # the body and its com seen from the frame reached
        while row > 0:
            for j in reversed(range(self.first[row], self.first[row] + self.count[row])):
                w, v = self.screws[j, :3], self.screws[j, 3:]
                columns.append(np.concatenate([R.T @ w, R.T @ (v + np.cross(w, c))]))
                turn = _turn(w, q[j])
                R, c = turn @ R, turn @ c + v * q[j]  # along the axis, if there is one
            fixed = tree.body[row, PLACE_R : PLACE_R + 9].reshape(3, 3)
            R, c = fixed @ R, tree.body[row, PLACE_P : PLACE_P + 3] + fixed @ c
            row = self.parent[row]
        return np.array(columns[::-1], dtype=q.dtype).reshape(-1, 6).T

    def _zeros(self, order: int, dtype: Any = np.float64) -> list[Array]:
        return [np.zeros((self.nv,) * (2 + k), dtype) for k in range(order + 1)]

    @staticmethod
    def _add(total: list[Array], path: NDArray[np.int64], parts: list[Array]) -> None:
        for whole, part in zip(total, parts, strict=True):
            whole[np.ix_(*[path] * part.ndim)] += part


def _turn(axis: Array, angle: float) -> Array:
    """Rotation about a unit axis; about no axis, none."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K
