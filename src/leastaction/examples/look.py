"""What mechanisms of `la.examples` look like: a few colours, bars between two points, rings."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..joints.base import frame_with_z
from ..mechanism import Mechanism
from ..pose import Pose
from ..shapes import Capsule

STEEL, DARK = (0.62, 0.66, 0.70), (0.25, 0.27, 0.30)
GOLD, RED, BLUE, GREEN = (0.87, 0.64, 0.20), (0.80, 0.27, 0.22), (0.20, 0.38, 0.68), (0.25, 0.58, 0.40)
_SIDES = 28  # of what is drawn as a ring


def add_bar(mech: Mechanism, body: str, a: ArrayLike, b: ArrayLike, radius: float, color: tuple[float, ...]) -> None:
    """A round bar on a body, between two points of its frame, m."""
    start, end = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    length = float(np.linalg.norm(end - start))
    mech.add_shape(body, Capsule(radius, length), Pose((start + end) / 2, rotation=frame_with_z((end - start) / length)), color=color)


def add_ring(mech: Mechanism, body: str, radius: float, axis: int, thickness: float, color: tuple[float, ...]) -> None:
    """A ring around the x, y or z axis (0, 1, 2) of a body, made of straight bars."""
    angles = np.linspace(0.0, 2 * np.pi, _SIDES + 1)
    points = np.zeros((_SIDES + 1, 3))
    points[:, (axis + 1) % 3], points[:, (axis + 2) % 3] = radius * np.cos(angles), radius * np.sin(angles)
    for a, b in zip(points[:-1], points[1:], strict=True):
        add_bar(mech, body, a, b, thickness, color)
