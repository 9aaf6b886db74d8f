"""Two points at a fixed distance: a massless rod with ball joints at its ends."""

from __future__ import annotations

from ..checks import names, number, shown
from ..errors import MechanismError
from .base import Constraint
from .rows import DISTANCE, Row


class Distance(Constraint):
    """The origins of frames a and b stay `length` (m, > 0) apart.

    >>> import leastaction as la
    >>> mech = la.examples.chain(2)
    >>> _ = mech.add_frame("hook", placement=la.Pose(xyz=(1, 0, 0)))
    >>> _ = mech.add_constraint(la.Distance("tip", "hook", length=1.8), name="wire")
    """

    def __init__(self, a: str, b: str, length: float):
        names(type(self).__name__, a, b)
        self.a, self.b = a, b
        self.length = number(length, f"Distance({a!r}, {b!r}): length", MechanismError)
        if self.length <= 0.0:
            raise MechanismError(f"Distance({a!r}, {b!r}): length = {shown(length)} m; it needs a number > 0, or use Coincident for 0")

    def apply(self, builder) -> None:
        builder.add_rows(f"Distance({self.a!r}, {self.b!r})", self.a, self.b, (Row(DISTANCE, "distance", value=self.length),))
