"""A point that stays in a plane."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..checks import names, number
from ..errors import MechanismError
from ..joints.base import unit_vector
from .base import Constraint
from .rows import POINT, Row


class PointOnPlane(Constraint):
    """The origin of frame `point` stays at `height` metres along `normal` from the origin of frame `plane` (whose axes `normal` is in).

    >>> import leastaction as la
    >>> mech = la.examples.chain(2)
    >>> _ = mech.add_constraint(la.PointOnPlane("tip", "world", normal=(0, 0, 1), height=-1.5))  # the tip slides on a table
    """

    def __init__(self, point: str, plane: str = "world", normal: ArrayLike = (0.0, 0.0, 1.0), height: float = 0.0):
        names(type(self).__name__, point, plane)
        self.point, self.plane = point, plane
        where = f"PointOnPlane({point!r}, {plane!r})"
        self.normal = unit_vector(normal, f"{where}: normal")
        self.height = number(height, f"{where}: height", MechanismError)

    def apply(self, builder) -> None:
        row = Row(POINT, "height", tuple(self.normal.tolist()), value=self.height)
        builder.add_rows(f"PointOnPlane({self.point!r}, {self.plane!r})", self.plane, self.point, (row,))
