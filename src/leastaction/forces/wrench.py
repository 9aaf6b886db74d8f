"""Constant force and moment on a body."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..checks import name as checked_name
from ..checks import numbers, shown
from ..errors import MechanismError
from .base import Force


class Wrench(Force):
    """`force` (N) acting at `point` (m, in the body frame) and `moment` (N m) on a body or frame.

    frame="world": force and moment keep their direction in space; frame="body": they turn with the body.

    >>> import leastaction as la
    >>> mech = la.examples.chain(2)
    >>> _ = mech.add_force(la.Wrench("link2", force=(5.0, 0, 0), point=(0, 0, -1)))  # a wind along x at the tip
    """

    def __init__(
        self,
        body: str,
        force: ArrayLike = (0.0, 0.0, 0.0),
        moment: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike = (0.0, 0.0, 0.0),
        frame: str = "world",
    ):
        checked_name(body, "Wrench: body")
        if not isinstance(frame, str) or frame not in ("world", "body"):
            raise MechanismError(f"Wrench on {body!r}: frame = {shown(frame)}; it is 'world' or 'body'")
        self.body = body
        self.force = numbers(force, f"Wrench on {body!r}: force", MechanismError, (3,))
        self.moment = numbers(moment, f"Wrench on {body!r}: moment", MechanismError, (3,))
        self.point = numbers(point, f"Wrench on {body!r}: point", MechanismError, (3,))
        self.frame = frame

    def apply(self, builder) -> None:
        builder.add_wrench(self.body, self.force, self.moment, self.point, self.frame)
