"""Drag of a body in a fluid."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..checks import name as checked_name
from ..checks import numbers, shown
from ..errors import MechanismError
from .base import Force


class Drag(Force):
    """Drag in a fluid: the force -(linear + quadratic |u|) u at a point that moves through the fluid with the velocity u.

    body        name of a body or frame
    linear      N s/m, one number or three, for the axes of the body or frame; >= 0
    quadratic   N s^2/m^2, likewise; rho/2 times the coefficient of drag times the area
    point       m, where it acts, in the axes of the body or frame: the centre of pressure
    fluid       m/s, velocity of the fluid in world axes; at rest if left out

    >>> import leastaction as la
    >>> mech = la.examples.chain(2)
    >>> _ = mech.add_force(la.Drag("tip", linear=0.1, quadratic=(0.5, 0.5, 0.02), fluid=(3.0, 0.0, 0.0)))
    """

    def __init__(
        self,
        body: str,
        linear: ArrayLike = 0.0,
        quadratic: ArrayLike = 0.0,
        point: ArrayLike = (0.0, 0.0, 0.0),
        fluid: ArrayLike = (0.0, 0.0, 0.0),
    ):
        self.body = checked_name(body, "Drag: body")
        self.linear = _per_axis(linear, f"Drag on {body!r}: linear")
        self.quadratic = _per_axis(quadratic, f"Drag on {body!r}: quadratic")
        self.point = numbers(point, f"Drag on {body!r}: point", MechanismError, (3,))
        self.fluid = numbers(fluid, f"Drag on {body!r}: fluid", MechanismError, (3,))

    def apply(self, builder) -> None:
        parameters = np.concatenate([self.linear, self.quadratic, self.fluid])
        builder.add_body_force(f"Drag on {self.body!r}", self.body, drag, parameters, point=self.point, slopes=drag_slopes)

    def reference_wrench(self, t: float, T: np.ndarray, V: np.ndarray) -> np.ndarray:
        u = V[3:] - T[:3, :3].T @ self.fluid
        return np.concatenate([np.zeros(3), -(self.linear + self.quadratic * np.linalg.norm(u)) * u])


def drag(t, R, x, V, p, W):
    """p: linear (3), quadratic (3), velocity of the fluid (3)."""
    ux = V[3] - R[0, 0] * p[6] - R[1, 0] * p[7] - R[2, 0] * p[8]
    uy = V[4] - R[0, 1] * p[6] - R[1, 1] * p[7] - R[2, 1] * p[8]
    uz = V[5] - R[0, 2] * p[6] - R[1, 2] * p[7] - R[2, 2] * p[8]
    speed = math.sqrt(ux * ux + uy * uy + uz * uz)
    W[3] -= (p[0] + p[3] * speed) * ux
    W[4] -= (p[1] + p[4] * speed) * uy
    W[5] -= (p[2] + p[5] * speed) * uz


def drag_slopes(t, R, x, V, p, D):
    """The fluid, seen from the body, turns by w x zeta as the body turns by zeta, so u changes by -w x zeta."""
    w = (
        R[0, 0] * p[6] + R[1, 0] * p[7] + R[2, 0] * p[8],
        R[0, 1] * p[6] + R[1, 1] * p[7] + R[2, 1] * p[8],
        R[0, 2] * p[6] + R[1, 2] * p[7] + R[2, 2] * p[8],
    )
    u = (V[3] - w[0], V[4] - w[1], V[5] - w[2])
    speed = math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    for a in range(3):
        for b in range(3):
            slope = -p[3 + a] * u[a] * u[b] / speed if speed > 0.0 else 0.0
            if a == b:
                slope -= p[a] + p[3 + a] * speed
            D[3 + a, 9 + b] = slope
    for a in range(3):  # D_V times the matrix of -w x
        d0, d1, d2 = D[3 + a, 9], D[3 + a, 10], D[3 + a, 11]
        D[3 + a, 0] = d2 * w[1] - d1 * w[2]
        D[3 + a, 1] = d0 * w[2] - d2 * w[0]
        D[3 + a, 2] = d1 * w[0] - d0 * w[1]


def _per_axis(value: ArrayLike, what: str) -> np.ndarray:
    given = numbers(value, what, MechanismError)
    if given.shape not in ((), (3,)) or np.any(given < 0.0):
        raise MechanismError(f"{what} = {shown(value)}; it needs one number >= 0, or three, one for each axis")
    return np.broadcast_to(given, (3,)).copy()
