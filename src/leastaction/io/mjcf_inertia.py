"""Masses as MuJoCo takes them: a moving body has some, and its moments are those of a body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..joints import Fixed
from ..mechanism import WORLD, Body, Mechanism
from ..pose import Pose, quaternion_of_rotation
from .xml_writing import tag

SMALLEST = 1e-15  # mjMINVAL: mass and moments of inertia of what moves must be larger
_ROUNDING = 1e-12  # of the largest moment: by so much the two others may miss it together


@dataclass(frozen=True)
class Heavy:
    """Mass, centre of mass and inertia about it."""

    mass: float
    com: NDArray[np.float64]
    inertia: NDArray[np.float64]

    @property
    def moments(self) -> NDArray[np.float64]:
        return np.asarray(np.linalg.eigvalsh(self.inertia), dtype=np.float64)

    @property
    def is_physical(self) -> bool:
        """Do its moments belong to a body, but for rounding?"""
        low, middle, high = self.moments
        return bool(low >= -_ROUNDING * high and low + middle >= high * (1.0 - _ROUNDING))

    @property
    def moves(self) -> bool:
        """Does MuJoCo let something of this mass move?"""
        return bool(self.mass > SMALLEST and self.moments[0] > SMALLEST)

    def element(self, indent: int) -> str:
        """<inertial>, with principal moments and their axes: MuJoCo's own way to these from a full matrix keeps twelve digits."""
        moments, axes = np.diag(self.inertia), np.eye(3)
        if not np.array_equal(np.diag(moments), self.inertia):
            moments, axes = np.linalg.eigh(self.inertia)
            axes[:, 0] *= np.sign(np.linalg.det(axes))
        moments = np.maximum(moments, 0.0)
        largest = int(np.argmax(moments))
        lack = 2 * moments[largest] - moments.sum()
        if lack > 0.0:  # of rounding: nothing else comes here
            moments = moments + np.where(np.arange(3) == largest, 0.0, lack + np.spacing(moments[largest]))
        quat = None if np.array_equal(axes, np.eye(3)) else quaternion_of_rotation(axes)
        return tag(indent, "inertial", pos=self.com, quat=quat, mass=self.mass, diaginertia=moments)


def rigid_group(body: Body, children: Mapping[str, list[Body]]) -> list[tuple[str, Pose]]:
    """A body and all that is fixed to it, with their poses in it."""
    found, stack = [], [(body, Pose())]
    while stack:
        one, pose = stack.pop()
        found.append((one.name, pose))
        stack.extend((child, pose @ child.placement) for child in children.get(one.name, []) if isinstance(child.joint, Fixed))
    return found


def inertias(mechanism: Mechanism, children: Mapping[str, list[Body]]) -> dict[str, Heavy]:
    """By name of the body.  Where one has an inertia that no body can have, as many robot files have it of small parts, all that moves
    with it is one body with one inertia."""
    heavy = {body.name: Heavy(body.mass, body.com, body.inertia) for body in mechanism.bodies.values()}
    for body in mechanism.bodies.values():
        group = [] if isinstance(body.joint, Fixed) and body.parent != WORLD else rigid_group(body, children)
        if len(group) > 1 and not all(heavy[name].is_physical for name, _ in group):
            whole = _together([(heavy[name], pose) for name, pose in group])
            heavy |= {name: Heavy(0.0, np.zeros(3), np.zeros((3, 3))) for name, _ in group}
            heavy[body.name] = whole
    return heavy


def _together(parts: list[tuple[Heavy, Pose]]) -> Heavy:
    mass = sum(part.mass for part, _ in parts)
    places = [pose.p + pose.R @ part.com for part, pose in parts]
    com = sum((part.mass * at for (part, _), at in zip(parts, places, strict=True)), np.zeros(3)) / (mass or 1.0)
    inertia = np.zeros((3, 3))
    for (part, pose), at in zip(parts, places, strict=True):
        d = at - com
        inertia += pose.R @ part.inertia @ pose.R.T + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Heavy(mass, com, 0.5 * (inertia + inertia.T))
