"""Planar pendulum: angle'' = -frequency^2 sin(angle), exactly.

With k^2 = sin^2(angle/2) + (rate / 2 frequency)^2, which is constant, the pendulum
    swings    (k < 1)   sin(angle/2) = k sn(frequency t + u0 | k^2)
    turns over (k > 1)  angle/2 = +- am(k frequency t + u0 | 1/k^2)
and for k = 1 both tend to the motion that takes for ever to reach the top.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import StateError
from .scipy_import import scipy_module

Array = NDArray[np.float64]


def motion(times: ArrayLike, angle: float, rate: float, frequency: float) -> tuple[Array, Array]:
    """Angle (rad) and angular velocity (rad/s) at `times` (s) after (angle, rate).

    frequency   of small oscillations, rad/s: sqrt(m g l / I) with I the inertia about the pivot, l the distance of the com
    """
    special = scipy_module("special", "leastaction.reference.pendulum")
    t = np.asarray(times, dtype=float)
    if not frequency > 0.0:
        raise StateError(f"frequency = {frequency!r}; it needs a positive number of rad/s")
    turns = round(angle / (2.0 * np.pi))
    half = 0.5 * angle - np.pi * turns
    spin = 0.5 * rate / frequency
    k = float(np.hypot(np.sin(half), spin))
    if k == 0.0:
        return np.full_like(t, angle), np.zeros_like(t)
    if k < 1.0:
        start = special.ellipkinc(np.arctan2(np.sin(half), spin), k * k)
        sn, cn, _, _ = special.ellipj(frequency * t + start, k * k)
        return 2.0 * (np.arcsin(k * sn) + np.pi * turns), 2.0 * frequency * k * cn
    direction = np.sign(spin) if spin != 0.0 else 1.0
    start = special.ellipkinc(direction * half, 1.0 / (k * k))
    _, _, dn, amplitude = special.ellipj(k * frequency * t + start, 1.0 / (k * k))
    return 2.0 * (direction * amplitude + np.pi * turns), 2.0 * direction * frequency * k * dn


def period(amplitude: float, frequency: float) -> float:
    """Time of a full swing between -amplitude and amplitude (rad), s."""
    special = scipy_module("special", "leastaction.reference.pendulum")
    return float(4.0 / frequency * special.ellipk(np.sin(0.5 * amplitude) ** 2))
