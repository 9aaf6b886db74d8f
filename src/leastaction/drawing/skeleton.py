"""What to draw of a mechanism: points on bodies, lines between them, spheres for masses; and where they are at given coordinates."""

from __future__ import annotations

import numpy as np

from ..constraints.base import JOINT, ROWS
from ..errors import StateError
from ..joints.base import AS_RAIL, NOT_DRAWN
from ..kernels.tree import evaluate
from ..model import Model
from ..pose import Pose
from .runs import Array

LINK, GROUND, RAIL, CONSTRAINT, SPRING = "link", "ground", "rail", "constraint", "spring"


class Skeleton:
    """Points fixed to bodies, and what connects them."""

    def __init__(self, model: Model):
        self.model = model
        self.rows: list[int] = []  #: kernel row of each point
        self._local: list[Array] = []  #: in the frame of that row, m
        self.lines: list[tuple[int, int, str, int]] = []  #: two points, kind of line, kernel row that owns it
        self.masses: list[tuple[int, float]] = []  #: point, kg
        self.joints: list[int] = []  #: points
        self.anchors: list[int] = []  #: points where something hangs on the world
        self._add_parts()
        for closure in model.closures:
            if closure.kind in (ROWS, JOINT):
                self._add_line(closure.a, closure.b, CONSTRAINT)
        tree = model.tree
        for (a, b, _), numbers in zip(tree.pair_on, tree.pair, strict=True):
            self._add_line((int(a), Pose(numbers[:3])), (int(b), Pose(numbers[3:6])), SPRING)
        self.local = np.array(self._local).reshape(-1, 3)
        self._work = model.make_work()

    def _add_parts(self) -> None:
        origin = {"world": self._point(0, Pose())}
        moving = {b.name: b.joint for b in self.model.bodies}
        carrying = {part.parent for part in self.model.parts}
        for part in _parents_first(self.model):
            row, pose = part.place
            base = self._point(*part.base)
            own = self._point(row, pose)
            origin[part.name] = own
            joint = moving.get(part.name)
            if row == 0 and part.name not in carrying and part.mass == 0.0:  # a hook in the world
                self.anchors.append(own)
            elif joint is None or joint.drawn == AS_RAIL:
                self.lines.append((origin[part.parent], base, LINK if part.base[0] else GROUND, part.base[0]))
            if joint is not None:
                self.joints.append(own)
                if part.base[0] == 0 and joint.drawn != NOT_DRAWN:
                    self.anchors.append(base)
                if joint.drawn == AS_RAIL:
                    self.lines.append((base, own, RAIL, row))
            if part.mass > 0.0:
                com = self._point(row, pose @ Pose(part.com))
                self.lines.append((own, com, LINK, row))
                self.masses.append((com, part.mass))

    def _point(self, row: int, pose: Pose) -> int:
        self.rows.append(row)
        self._local.append(pose.p)
        return len(self.rows) - 1

    def _add_line(self, a: tuple[int, Pose], b: tuple[int, Pose], kind: str) -> None:
        self.lines.append((self._point(*a), self._point(*b), kind, 0))

    def points(self, q: Array) -> Array:
        """(points, 3) in the world, m."""
        evaluate.world(self.model.tree, self._work, q)
        return self.placed(self._work.world)

    def placed(self, poses: Array) -> Array:
        """The same for the poses (bodies + 1, 12) of the rows: rotation, position."""
        world = poses[self.rows]
        return world[:, 9:] + np.einsum("pij,pj->pi", world[:, :9].reshape(-1, 3, 3), self.local)


def _parents_first(model: Model) -> list:
    """The parts, each after the one it hangs on."""
    if not model.parts:
        raise StateError(f"model {model.name!r} does not know its parts; make it with Mechanism.compile()")
    children: dict[str, list] = {}
    for part in model.parts:
        children.setdefault(part.parent, []).append(part)
    ordered, stack = [], ["world"]
    while stack:
        for part in children.get(stack.pop(), []):
            ordered.append(part)
            stack.append(part.name)
    return ordered
