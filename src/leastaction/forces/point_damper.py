"""Viscous damper between two points."""

from __future__ import annotations

import math

import numpy as np

from ..checks import name as checked_name
from ..checks import number, shown
from ..errors import MechanismError
from .base import Force


class PointDamper(Force):
    """Damper between the origins of two bodies or frames: the force -c times the rate of their distance, along the line between them.

    `damping` in N s/m, >= 0.  One of the two may stand still.  What it takes is in `run.dissipated`.  With a `LinearSpring` between the
    same points it is a strut.  Where the points meet it has no direction, and a simulation that gets there says so.

    >>> import leastaction as la
    >>> mech = la.examples.chain(2)
    >>> _ = mech.add_frame("hook", placement=la.Pose(xyz=(1, 0, 0)))
    >>> _ = mech.add_force(la.LinearSpring("tip", "hook", stiffness=50.0, length=0.5))
    >>> _ = mech.add_force(la.PointDamper("tip", "hook", damping=3.0))
    """

    def __init__(self, a: str, b: str, damping: float):
        self.a, self.b = (checked_name(x, f"PointDamper: frame {i}") for i, x in enumerate((a, b), start=1))
        where = f"PointDamper({a!r}, {b!r})"
        self.damping = number(damping, f"{where}: damping", MechanismError)
        if self.damping < 0.0:
            raise MechanismError(f"{where}: damping = {shown(damping)} N s/m; it needs a number >= 0")

    def apply(self, builder) -> None:
        name = f"PointDamper({self.a!r}, {self.b!r})"
        builder.add_body_force(
            name, self.a, along_the_line, (self.damping,), slopes=along_the_line_slopes, seen_from=self.b, dissipates=True
        )

    def reference_wrench(self, t: float, T: np.ndarray, V: np.ndarray) -> np.ndarray:
        line = T[:3, :3].T @ T[:3, 3]
        return np.concatenate([np.zeros(3), -self.damping * line * (line @ V[3:]) / (line @ line)])


def along_the_line(t, R, x, V, p, W):
    """p: damping.  The other point is the origin that x is seen from."""
    length = math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    nx = (R[0, 0] * x[0] + R[1, 0] * x[1] + R[2, 0] * x[2]) / length
    ny = (R[0, 1] * x[0] + R[1, 1] * x[1] + R[2, 1] * x[2]) / length
    nz = (R[0, 2] * x[0] + R[1, 2] * x[1] + R[2, 2] * x[2]) / length
    force = -p[0] * (nx * V[3] + ny * V[4] + nz * V[5])
    W[3] += force * nx
    W[4] += force * ny
    W[5] += force * nz


def along_the_line_slopes(t, R, x, V, p, D):
    """As the place turns by zeta and moves by delta the line, in its axes, changes by line x zeta + delta."""
    length = math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    n = (
        (R[0, 0] * x[0] + R[1, 0] * x[1] + R[2, 0] * x[2]) / length,
        (R[0, 1] * x[0] + R[1, 1] * x[1] + R[2, 1] * x[2]) / length,
        (R[0, 2] * x[0] + R[1, 2] * x[1] + R[2, 2] * x[2]) / length,
    )
    rate = n[0] * V[3] + n[1] * V[4] + n[2] * V[5]
    for k in range(6):
        if k < 3:  # n x unit vector
            dn = (0.0, n[2], -n[1]) if k == 0 else (-n[2], 0.0, n[0]) if k == 1 else (n[1], -n[0], 0.0)
        else:
            dn = (
                ((1.0 if k == 3 else 0.0) - n[0] * n[k - 3]) / length,
                ((1.0 if k == 4 else 0.0) - n[1] * n[k - 3]) / length,
                ((1.0 if k == 5 else 0.0) - n[2] * n[k - 3]) / length,
            )
        drate = dn[0] * V[3] + dn[1] * V[4] + dn[2] * V[5]
        for a in range(3):
            D[3 + a, k] = -p[0] * (drate * n[a] + rate * dn[a])
    for a in range(3):
        for b in range(3):
            D[3 + a, 9 + b] = -p[0] * n[a] * n[b]
