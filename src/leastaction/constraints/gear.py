"""Two joints that turn (or slide) together."""

from __future__ import annotations

from ..checks import names, number
from ..errors import MechanismError
from .base import Constraint


class Gear(Constraint):
    """q1 = ratio * q2 + offset between the coordinates of two joints with one degree of freedom each.

    Revolute, prismatic and helical joints in any combination: with a revolute and a prismatic joint it is a rack and pinion.

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> for name in ("small", "large"):
    ...     _ = mech.add_body(name, joint=la.Revolute(axis=(0, 0, 1)), mass=1.0, inertia=(0.01, 0.01, 0.02))
    >>> _ = mech.add_constraint(la.Gear("small", "large", ratio=-2.0))
    >>> model = mech.compile()
    >>> model.assemble({"large": 0.4}, hold=["large"]).round(6)  # rad
    array([-0.8,  0.4])
    """

    def __init__(self, joint1: str, joint2: str, ratio: float, offset: float = 0.0):
        names(type(self).__name__, joint1, joint2)
        where = f"Gear({joint1!r}, {joint2!r})"
        self.joint1, self.joint2 = joint1, joint2
        self.ratio = number(ratio, f"{where}: ratio", MechanismError)
        self.offset = number(offset, f"{where}: offset", MechanismError)
        if joint1 == joint2:
            raise MechanismError(f"{where} couples a joint with itself; give two joints")

    def apply(self, builder) -> None:
        builder.add_gear(f"Gear({self.joint1!r}, {self.joint2!r})", self.joint1, self.joint2, self.ratio, self.offset)
