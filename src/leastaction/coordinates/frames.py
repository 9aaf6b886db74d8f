"""A model as a tree of frames, each moved by one coordinate (Johnson and Murphey 2009); see kernels/lagrangian/frames.py.

Joints with several coordinates become several frames with nothing in between.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..compiling.records import allocate
from ..errors import MechanismError
from ..joints import Free, Spherical
from ..joints.base import Joint
from ..joints.primitives import SLIDE_X, SLIDE_Y, SLIDE_Z, TURN_X, TURN_Y, TURN_Z, Primitive
from ..kernels.lagrangian import frames as kernels
from ..kernels.tree import layout as L
from ..model import Model
from ..pose import Pose

Array = NDArray[np.float64]

_STILL = Primitive(kernels.STILL)
_BALL = (Primitive(TURN_X), Primitive(TURN_Y), Primitive(TURN_Z))
_SLIDES = (Primitive(SLIDE_X), Primitive(SLIDE_Y), Primitive(SLIDE_Z))


def make_frames(model: Model, primitive: bool = False, every: bool = False) -> kernels.Frames:
    """The frames of a model.  Joints that are not rotations and translations by one coordinate each are refused by name.

    every   take all joints: ball and free ones from where they stand, those given by their pose by their columns
    """
    tree = model.tree
    builder = _Builder()
    for i, body in enumerate(model.bodies, start=1):
        motions, order = _motions(body.joint, every)
        if motions is None:
            raise MechanismError(
                f"joint {body.joint_name!r} is a {type(body.joint).__name__}, but integrators in generalised coordinates need joints that "
                "are rotations and translations by one coordinate each; use Variational(), or replace it by Universal, Revolute and "
                "Prismatic joints"
            )
        parent, coordinate, at_q = int(tree.link[i, L.PARENT]), int(tree.link[i, L.VI]), int(tree.link[i, L.QI])
        place = Pose(tree.body[i, L.PLACE_P : L.PLACE_P + 3], rotation=tree.body[i, L.PLACE_R : L.PLACE_R + 9].reshape(3, 3))
        at = builder.of_body[parent]
        if primitive:
            for step in _primitives(place):
                at = builder.add(at, _STILL, step)
            place = Pose()
        stands = body.joint.has_quaternion
        for k, (j, motion) in enumerate(zip(order, motions, strict=True)):
            at = builder.add(at, motion, place if k == 0 else Pose(), coordinate + j, -1 if stands else at_q + j)
            if k == 0 and stands:
                builder.stand(at, at_q, coordinate, i, free=len(motions) == 6)
            if k == 0 and motion.motion == kernels.CURVED:
                builder.curved[at] = i
        if body.joint.charts > 1:
            builder.kept.append(at_q + body.joint.nv)
        builder.of_body.append(at)
        inertia = tree.body[i, L.MASS : L.BODY_COLUMNS]
        if primitive and inertia[0] > 0.0:
            com = inertia[1:4] / inertia[0]
            for step in _primitives(Pose(com)):
                at = builder.add(at, _STILL, step)
            inertia = _about_com(inertia, com)
        builder.carry(at, inertia)
    return builder.finish(tree)


def _motions(joint: Joint, every: bool) -> tuple[tuple[Primitive, ...] | None, Sequence[int]]:
    """What moves the frames of a joint, and by which of its velocities; None: it cannot be written like that."""
    if every and isinstance(joint, Spherical):
        return _BALL, range(3)
    if every and isinstance(joint, Free):
        return _SLIDES + _BALL, (3, 4, 5, 0, 1, 2)
    motions = joint.primitives()
    if every and motions is None and not joint.has_quaternion:
        motions = (Primitive(kernels.CURVED),) * joint.nv
    return motions, range(joint.nv)


def _primitives(pose: Pose) -> list[Pose]:
    """Translations along x, y, z and rotations about z, y, x that make up a pose; those that do nothing are left out."""
    steps = [Pose(x * np.eye(3)[a]) for a, x in enumerate(pose.p) if x != 0.0]
    yaw = np.arctan2(pose.R[1, 0], pose.R[0, 0])
    rest = Pose(rpy=(0.0, 0.0, -yaw)).R @ pose.R  # = Ry(pitch) Rx(roll), at pitch = +-90 degrees too
    pitch, roll = np.arctan2(-rest[2, 0], rest[0, 0]), np.arctan2(-rest[1, 2], rest[1, 1])
    angles = ((0.0, 0.0, yaw), (0.0, pitch, 0.0), (roll, 0.0, 0.0))
    return steps + [Pose(rpy=rpy) for rpy in angles if any(rpy)]


def _about_com(inertia: Array, com: Array) -> Array:
    """(mass, moment, inertia about the origin) -> the same in a parallel frame at the centre of mass."""
    steiner = inertia[0] * (com @ com * np.eye(3) - np.outer(com, com))
    return np.concatenate([inertia[:1], np.zeros(3), inertia[4:] - steiner[np.triu_indices(3)]])


class _Builder:
    """Collects frames, then lays out the rows of their derivatives."""

    def __init__(self) -> None:
        self.parent, self.motion, self.coordinate, self.pitch = [0], [kernels.STILL], [-1], [0.0]
        self.place, self.ball, self.curved = [-1], [-1], [-1]
        self.balls: list[tuple[int, int, int, int]] = []
        self.kept: list[int] = []
        self.plain: list[tuple[int, int]] = []
        self.above: list[list[int]] = [[]]
        self.body = [np.zeros(L.BODY_COLUMNS)]
        self.of_body = [0]

    def stand(self, frame: int, q: int, v: int, row: int, free: bool) -> None:
        """From here on frames move from where a ball or free joint stands."""
        self.ball[frame] = len(self.balls)
        self.balls.append((q + 3, v, q, row) if free else (q, v, -1, row))

    def add(self, parent: int, primitive: Primitive, place: Pose, coordinate: int = -1, q: int = -1) -> int:
        row = np.zeros(L.BODY_COLUMNS)
        row[L.PLACE_R : L.PLACE_R + 9] = place.R.ravel()
        row[L.PLACE_P : L.PLACE_P + 3] = place.p
        self.parent.append(parent)
        self.motion.append(primitive.motion)
        self.coordinate.append(coordinate)
        self.place.append(q)
        self.ball.append(-1)
        self.curved.append(-1)
        if q >= 0:
            self.plain.append((q, coordinate))
        self.pitch.append(primitive.pitch)
        self.above.append(self.above[parent] + ([coordinate] if coordinate >= 0 else []))
        self.body.append(row)
        return len(self.parent) - 1

    def carry(self, frame: int, inertia: Array) -> None:
        self.body[frame][L.MASS : L.BODY_COLUMNS] = inertia

    def finish(self, tree: L.Tree) -> kernels.Frames:
        count = len(self.parent)
        depth = np.array([len(a) for a in self.above], dtype=np.int64)
        above = np.zeros((count, max(int(depth.max()), 1)), dtype=np.int64)
        for k, coordinates in enumerate(self.above):
            above[k, : len(coordinates)] = coordinates
        read, write = self._rows(depth)
        body = np.array(self.body)
        sizes = {"f": count, "n": len(tree.link) - 1, "nv": len(tree.stiffness), "deepest": max(int(depth.max()), 1)}
        sizes |= {"nq": len(tree.rest), "balls": len(self.balls), "plain": len(self.plain), "kept": len(self.kept)}
        return allocate(
            kernels.Frames, sizes,
            parent=self.parent, motion=self.motion, coordinate=self.coordinate, place=self.place, ball=self.ball, balls=self.balls,
            curved=self.curved, plain=self.plain, kept=self.kept, read=read, write=write, depth=depth, above=above, body=body,
            massive=np.any(body[:, L.MASS :] != 0.0, axis=1), of_body=self.of_body, pitch=self.pitch, gravity=tree.gravity,
            stiffness=tree.stiffness, rest=tree.rest,
        )  # fmt: skip

    def _rows(self, depth: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each frame finds its parent's rows, and where it puts its own: the last child takes the parent's over."""
        last_child = {p: k for k, p in enumerate(self.parent) if k > 0}
        path = list(range(len(self.parent)))  # first frame of the line of last children that a frame is on
        for k in range(1, len(self.parent)):
            if last_child[self.parent[k]] == k:
                path[k] = path[self.parent[k]]
        room: dict[int, int] = {}
        for k, start in enumerate(path):
            room[start] = max(room.get(start, 0), int(depth[k]))
        offset = dict(zip(room, np.concatenate([[0], np.cumsum(list(room.values()))[:-1]]), strict=True))
        write = np.array([offset[start] for start in path], dtype=np.int64)
        return write[self.parent], write
