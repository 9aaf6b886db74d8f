"""Constant force and moment on a body."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import MechanismError
from .base import Force


class Wrench(Force):
    """`force` (N) acting at `point` (m, in the body frame) and `moment` (N m) on a body or frame.

    frame="world": force and moment keep their direction in space; frame="body": they turn with the body.
    """

    def __init__(
        self,
        body: str,
        force: ArrayLike = (0.0, 0.0, 0.0),
        moment: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike = (0.0, 0.0, 0.0),
        frame: str = "world",
    ):
        if frame not in ("world", "body"):
            raise MechanismError(f"Wrench on {body!r}: frame = {frame!r}; it is 'world' or 'body'")
        self.body = body
        self.force = _three(force, f"Wrench on {body!r}: force")
        self.moment = _three(moment, f"Wrench on {body!r}: moment")
        self.point = _three(point, f"Wrench on {body!r}: point")
        self.frame = frame

    def apply(self, builder) -> None:
        builder.add_wrench(self.body, self.force, self.moment, self.point, self.frame)


def _three(value: ArrayLike, what: str) -> np.ndarray:
    v = np.asarray(value, dtype=float)
    if v.shape != (3,) or not np.all(np.isfinite(v)):
        raise MechanismError(f"{what} = {value!r}; it needs three finite numbers")
    return v
