"""Knife edge: no velocity across it.  Nonholonomic."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..checks import names
from ..joints.base import unit_vector
from .base import Constraint


class Skate(Constraint):
    """The origin of `frame` does not move along `direction` (given in the frame): a skate, a knife edge, a wheel that cannot slip sideways.

    on   what it slides on: a body or frame that the velocity is seen from, the world if left out

    Only velocities are restricted, by the discrete Lagrange-d'Alembert principle.

    >>> import leastaction as la
    >>> sled = la.Mechanism(gravity=(0, 0, 0))
    >>> _ = sled.add_body("sled", joint=la.Planar(), mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    >>> _ = sled.add_constraint(la.Skate("sled", direction=(0, 1, 0)))
    >>> sled.compile().project_velocity(None, [1.0, 0.5, 0.0]).round(6)  # what is left when it cannot move along y
    array([1.      , 0.      , 0.789474])
    """

    def __init__(self, frame: str, direction: ArrayLike = (0.0, 1.0, 0.0), on: str = "world"):
        names(type(self).__name__, frame, on)
        self.frame, self.on = frame, on
        self.direction = unit_vector(direction, f"Skate on {frame!r}: direction")

    def apply(self, builder) -> None:
        builder.add_skate(f"Skate({self.frame!r})", self.frame, self.direction, self.on)
