"""Dry friction in joints."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..checks import name as checked_name
from .base import Force


class DryFriction(Force):
    """Coulomb friction in a joint: while it moves, a constant force against the motion; at rest, what holds it, up to that force.

    `torque` in N m or N, one number or one per degree of freedom, for joints with plain coordinates.  A joint that is held stays where it
    is exactly; there is no creep, and no speed below which it is something else.

    >>> import leastaction as la
    >>> mech = la.examples.chain(1)
    >>> _ = mech.add_force(la.DryFriction("link1", 5.0))
    >>> run = la.simulate(mech.compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})  # gravity pulls with 2.35 N m
    >>> bool((run.q == 0.5).all())
    True
    """

    def __init__(self, joint: str, torque: ArrayLike):
        self.joint = checked_name(joint, "DryFriction: joint")
        self.torque = torque

    def apply(self, builder) -> None:
        builder.add_friction(self.joint, self.torque)
