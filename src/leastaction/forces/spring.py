"""Joint springs and viscous joint dampers."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..checks import name as checked_name
from .base import Force


class Spring(Force):
    """Joint spring with energy k/2 (q - rest)^2.

    `stiffness` in N m/rad or N/m, one number or one per degree of freedom.  A ball joint takes one number
    (energy k/2 angle^2 from the rest quaternion), a free joint two: (rotational, translational).
    `rest` are joint coordinates; the joint's zero position if left out.

    >>> import leastaction as la
    >>> mech = la.examples.chain(1)
    >>> _ = mech.add_force(la.Spring("link1", stiffness=100.0, rest=0.3))
    """

    def __init__(self, joint: str, stiffness: ArrayLike, rest: ArrayLike | None = None):
        self.joint = checked_name(joint, "Spring: joint")
        self.stiffness = stiffness
        self.rest = rest

    def apply(self, builder) -> None:
        builder.add_spring(self.joint, self.stiffness, self.rest)


class Damper(Force):
    """Viscous joint damper, force -c v.  `damping` in N m s/rad or N s/m, one number or one per degree of freedom.

    >>> import leastaction as la
    >>> mech = la.examples.chain(1)
    >>> _ = mech.add_force(la.Damper("link1", damping=2.0))
    >>> run = la.simulate(mech.compile(), dt=1e-2, duration=10.0, q={"link1": 0.5})
    >>> bool(abs(run["link1"][-1, 0]) < 0.05)  # it comes to rest
    True
    """

    def __init__(self, joint: str, damping: ArrayLike):
        self.joint = checked_name(joint, "Damper: joint")
        self.damping = damping

    def apply(self, builder) -> None:
        builder.add_damper(self.joint, self.damping)
