"""A nut on a thread: what a screw adds to frames that share an axis already."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks import names, number
from ..errors import MechanismError
from ..joints.base import frame_with_z, unit_vector
from .base import Constraint
from .rows import SCREW, Row


class Screw(Constraint):
    """Frame b advances along `axis` (of both frames) by `pitch` metres for every turn against frame a.

    One row: the axes must be kept together by joints or other constraints, as a cylindrical joint does.  For all five rows of a
    screw use Close(Helical(axis, pitch), a, b).

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("spindle", joint=la.Cylindrical(axis=(0, 0, 1)), mass=1.0, inertia=(0.01, 0.01, 0.02))
    >>> _ = mech.add_constraint(la.Screw("world", "spindle", axis=(0, 0, 1), pitch=0.01))
    """

    def __init__(self, a: str, b: str, pitch: float, axis: ArrayLike = (0.0, 0.0, 1.0)):
        names(type(self).__name__, a, b)
        where = f"Screw({a!r}, {b!r})"
        self.a, self.b = a, b
        self.pitch = number(pitch, f"{where}: pitch", MechanismError)
        self.axis = unit_vector(axis, f"{where}: axis")

    def apply(self, builder) -> None:
        row = Row(SCREW, "advance", value=self.pitch / (2.0 * np.pi))
        builder.add_rows(f"Screw({self.a!r}, {self.b!r})", self.a, self.b, (row,), frame_with_z(self.axis))
