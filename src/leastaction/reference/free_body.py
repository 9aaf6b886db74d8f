"""Rigid body without torque: its angular velocity in body axes, exactly (Landau and Lifshitz, Mechanics, section 37).

With the axes ordered so that the third one is the axis the angular velocity circles round,
    omega = (A1 cn, A2 sn, A3 dn)(rate t + u0 | m)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import StateError
from .scipy_import import scipy_module

Array = NDArray[np.float64]


def angular_velocity(times: ArrayLike, inertia: ArrayLike, omega: ArrayLike) -> Array:
    """Body angular velocity (T, 3) in rad/s at `times` (s) after `omega` (3,).

    inertia   principal moments (3,), kg m^2; the body axes are principal axes
    """
    special = scipy_module("special", "leastaction.reference.free_body")
    t = np.atleast_1d(np.asarray(times, dtype=float))
    I, w = np.asarray(inertia, dtype=float), np.asarray(omega, dtype=float)
    if I.shape != (3,) or not np.all(I > 0.0):
        raise StateError(f"inertia = {inertia!r}; it needs three positive principal moments, kg m^2")
    if w.shape != (3,) or not np.all(np.isfinite(w)):
        raise StateError(f"omega = {omega!r}; it needs three finite numbers, rad/s")
    if not np.any(np.cross(I * w, w)):  # spin about a principal axis
        return np.tile(w, (len(t), 1))
    order = np.argsort(I, kind="stable")
    # L^2 - 2 E I_middle decides whether omega circles round the axis of the largest or of the smallest moment
    if np.sum(I * (I - I[order[1]]) * w**2) < 0.0:
        order = order[::-1]
    (I1, I2, I3), (w1, w2, w3) = I[order], w[order]
    # |L^2 - 2 E I_3| and |L^2 - 2 E I_1| as sums without cancellation
    to_third = I1 * abs(I3 - I1) * w1**2 + I2 * abs(I3 - I2) * w2**2
    to_first = I3 * abs(I3 - I1) * w3**2 + I2 * abs(I2 - I1) * w2**2
    A1 = np.sqrt(to_third / (I1 * abs(I3 - I1)))
    A2 = np.sqrt(to_third / (I2 * abs(I3 - I2)))
    A3 = np.sqrt(to_first / (I3 * abs(I3 - I1)))
    m = min(abs(I2 - I1) * to_third / (abs(I3 - I2) * to_first), 1.0)
    rate = np.sqrt(abs(I3 - I2) * to_first / (I1 * I2 * I3))
    A3 = A3 if w3 >= 0.0 else -A3
    # Euler's equation of the second axis fixes its sign; an odd order of the axes is left-handed
    handed = 1.0 if tuple(order) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
    A2 *= handed * np.sign(I3 - I1) * np.sign(A3)
    start = special.ellipkinc(np.arctan2(w2 / A2, w1 / A1), m)
    sn, cn, dn, _ = special.ellipj(rate * t + start, m)
    result = np.empty((len(t), 3))
    result[:, order] = np.stack([A1 * cn, A2 * sn, A3 * dn], axis=1)
    return result
