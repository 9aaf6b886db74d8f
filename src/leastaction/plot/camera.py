"""How the world is seen in a picture on paper."""

from __future__ import annotations

import numpy as np

from ..checks import numbers
from ..drawing.runs import Array
from ..errors import StateError


class Camera:
    """Projection of the world on the picture: along an axis for mechanisms that stay in a plane, oblique otherwise."""

    def __init__(self, points: Array, view: tuple[float, float] | None):
        """points (..., 3) everything that will be shown; view: azimuth and elevation in degrees."""
        flat = points.reshape(-1, 3)
        extent = np.ptp(flat, axis=0)
        size = max(float(extent.max()), 1e-9)
        self.names: tuple[str, str] | None = None
        across = [1, 2, 0][int(np.argmin(extent[[1, 2, 0]]))]  # the x-z plane if there is a choice
        if view is None and extent[across] < 1e-9 * size:
            horizontal, vertical = {1: (0, 2), 2: (0, 1), 0: (1, 2)}[across]
            self.matrix = np.eye(3)[[horizontal, vertical]]
            self.toward = -np.eye(3)[1] if across == 1 else np.eye(3)[across]
            self.names = ("xyz"[horizontal], "xyz"[vertical])
        else:
            azimuth, elevation = np.radians((-60.0, 20.0) if view is None else numbers(view, "view", StateError, (2,)))
            right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
            self.toward = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
            self.matrix = np.array([right, np.cross(self.toward, right)])
        seen = flat @ self.matrix.T
        low, high = seen.min(axis=0), seen.max(axis=0)
        self.size = max(float((high - low).max()), 1e-9)
        margin = 0.12 * self.size
        self.low, self.high = low - margin, high + margin
        for axis in range(2):  # no picture is narrower than a third of its height
            short = self.size / 3 - (self.high - self.low)[axis]
            if short > 0.0:
                self.low[axis] -= short / 2
                self.high[axis] += short / 2

    def __call__(self, points: Array) -> Array:
        return points @ self.matrix.T
