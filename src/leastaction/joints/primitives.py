"""Motions by one coordinate: what joints with plain coordinates are products of (Johnson and Murphey 2009, Kobilarov 2014)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: rotation about an axis, translation along one, a screw about z
TURN_X, TURN_Y, TURN_Z, SLIDE_X, SLIDE_Y, SLIDE_Z, SCREW_Z = range(7)
#: those about or along z
ON_Z = (TURN_Z, SLIDE_Z, SCREW_Z)


class Primitive(NamedTuple):
    """A motion about or along an axis of the canonical frame by one coordinate."""

    motion: int
    pitch: float = 0.0  #: metres per radian of SCREW_Z

    def screw(self) -> NDArray[np.float64]:
        """Twist (angular, linear) xi of the motion exp(xi q)."""
        if self.motion == SCREW_Z:
            return np.array([0.0, 0.0, 1.0, 0.0, 0.0, self.pitch])
        return np.eye(6)[self.motion]
