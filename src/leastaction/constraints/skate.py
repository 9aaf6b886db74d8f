"""Knife edge: no velocity across it.  Nonholonomic."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..checks import names
from ..joints.base import unit_vector
from .base import Constraint


class Skate(Constraint):
    """The origin of `frame` does not move along `direction` (given in the frame): a skate, a knife edge, a wheel that cannot slip sideways.

    Only velocities are restricted, by the discrete Lagrange-d'Alembert principle.
    """

    def __init__(self, frame: str, direction: ArrayLike = (0.0, 1.0, 0.0)):
        names(type(self).__name__, frame)
        self.frame = frame
        self.direction = unit_vector(direction, f"Skate on {frame!r}: direction")

    def apply(self, builder) -> None:
        builder.add_skate(f"Skate({self.frame!r})", self.frame, self.direction)
