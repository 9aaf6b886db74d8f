"""A disc that rolls on a plane without slipping.  Nonholonomic."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..checks import names, number, shown
from ..errors import MechanismError
from ..joints.base import unit_vector
from .base import Constraint


class Rolling(Constraint):
    """The rim of a disc touches a plane of the world and does not slip on it.

    frame    its origin is the centre of the disc
    radius   m
    axis     of the disc, in the frame
    normal   of the plane, in the world; `height` its distance from the world's origin along it, m

    The contact keeps its height (holonomic), its velocity along the plane is zero (nonholonomic).  The disc may lean, but not lie flat.
    """

    def __init__(
        self,
        frame: str,
        radius: float,
        axis: ArrayLike = (0.0, 1.0, 0.0),
        normal: ArrayLike = (0.0, 0.0, 1.0),
        height: float = 0.0,
    ):
        names(type(self).__name__, frame)
        where = f"Rolling on {frame!r}"
        self.frame = frame
        self.radius = number(radius, f"{where}: radius", MechanismError)
        if self.radius <= 0.0:
            raise MechanismError(f"{where}: radius = {shown(radius)} m; it needs a number > 0")
        self.axis = unit_vector(axis, f"{where}: axis")
        self.normal = unit_vector(normal, f"{where}: normal")
        self.height = number(height, f"{where}: height", MechanismError)

    def apply(self, builder) -> None:
        builder.add_rolling(f"Rolling({self.frame!r})", self.frame, self.radius, self.axis, self.normal, self.height)
