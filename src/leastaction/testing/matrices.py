"""Rigid displacements and retractions straight from their definitions: 4x4 matrices and power series, beside joints/reference.py.

Slow and plain on purpose: nothing here shares a formula with `leastaction.lie`.  Every function takes arrays with any
leading shape and any number type: float, complex (for complex-step derivatives: only analytic operations, no abs or
conj of the numbers themselves) and object arrays of mpmath numbers.
"""

from __future__ import annotations

import numpy as np

from ..joints.reference import (
    Array,
    cayley_rotation,
    cos,
    dot,
    elementwise,
    hat,
    quaternion_half,
    quaternion_inverse,
    quaternion_matrix,
    quaternion_product,
    real,
    rigid,
    rigid_inverse,
    shorter,
    sin,
    sqrt,
    times,
    turn,
    vee,
)

__all__ = [
    "Array", "cayley_rotation", "cos", "dot", "hat", "quaternion_half", "quaternion_inverse", "quaternion_matrix", "quaternion_product",
    "real", "rigid", "rigid_inverse", "shorter", "sin", "sqrt", "times", "turn", "vee",
]  # fmt: skip

_SERIES_TERMS = 60  # power series below: pi^60/60! = 1e-52

_arcsin, _arccos = elementwise("arcsin", "asin"), elementwise("arccos", "acos")


def solve(a: Array, b: Array) -> Array:
    """a^-1 b by Gaussian elimination.  No pivoting: every matrix here has a positive symmetric part."""
    a, b = np.array(a), np.array(np.broadcast_to(b, (*a.shape[:-2], *b.shape[-2:])))
    b = b.astype(np.result_type(a.dtype, b.dtype))
    n = a.shape[-1]
    for k in range(n):
        for r in range(n):
            if r != k:
                factor = a[..., r, k, None] / a[..., k, k, None]
                a[..., r, :] = a[..., r, :] - factor * a[..., k, :]
                b[..., r, :] = b[..., r, :] - factor * b[..., k, :]
    for k in range(n):
        b[..., k, :] = b[..., k, :] / a[..., k, k, None]
    return b


def angle_over_sine(sine_squared: Array, cosine: Array) -> Array:
    """angle / sin(angle) for angles in [0, pi)."""
    s2, c = np.broadcast_arrays(np.asarray(sine_squared), np.asarray(cosine))
    small, acute = real(s2) < 0.01, real(c) > 0.5
    near = small & acute
    total, coefficient, power = 0 * s2, s2**0, s2**0
    for k in range(_SERIES_TERMS):  # arcsin(s)/s = sum of (2k)! / (4^k k!^2 (2k+1)) s^2k
        total = total + coefficient * power / (2 * k + 1)
        coefficient, power = coefficient * (2 * k + 1) / (2 * k + 2), power * np.where(near, s2, 0 * s2)
    safe = sqrt(np.where(near, s2**0 / 4, s2))
    angle = np.where(acute, _arcsin(np.where(acute, safe, 0 * c)), _arccos(np.where(acute, 0 * c, c)))
    return np.where(near, total, angle / safe)


# ------------------------------------------------------------------------------------------- retractions of SE(3)


def twist_matrix(x: Array) -> Array:
    """4x4 matrix of a twist (omega, v)."""
    m = np.zeros((*x.shape[:-1], 4, 4), dtype=x.dtype)
    m[..., :3, :3] = hat(x[..., :3])
    m[..., :3, 3] = x[..., 3:]
    return m


def exp(x: Array) -> Array:
    """Displacement exp(x) by its power series."""
    m = twist_matrix(x)
    return _power_series(m, lambda k: 1)


def log(D: Array) -> Array:
    """Twist x = (phi, rho) with exp(x) = D, for angles below pi."""
    rotation = D[..., :3, :3]
    axis_sine = vee(rotation)
    cosine = (rotation[..., 0, 0] + rotation[..., 1, 1] + rotation[..., 2, 2] - 1) / 2
    phi = angle_over_sine(dot(axis_sine, axis_sine), cosine)[..., None] * axis_sine
    mean_rotation = _power_series(hat(phi), lambda k: k + 1)  # integral of exp(s phi^) over s in (0, 1)
    return np.concatenate([phi, solve(mean_rotation, D[..., :3, 3:])[..., 0]], -1)


def cayley(x: Array) -> Array:
    """Displacement (1 - x/2)^-1 (1 + x/2) of 4x4 matrices."""
    m = twist_matrix(x) / 2
    return solve(np.eye(4) - m, np.eye(4) + m)


def cayley_inverse(D: Array) -> Array:
    """Twist x with cayley(x) = D: x = 2 (D + 1)^-1 (D - 1)."""
    m = 2 * solve(D + np.eye(4), D - np.eye(4))
    return np.concatenate([vee(m[..., :3, :3]), m[..., :3, 3]], -1)


RETRACTIONS = {"exp": exp, "cayley": cayley}
INVERSE_RETRACTIONS = {"exp": log, "cayley": cayley_inverse}


def _power_series(m: Array, extra) -> Array:
    """Sum of m^k / (k! extra(k))."""
    term = m**0 * np.eye(m.shape[-1])
    total = term / extra(0)
    for k in range(1, _SERIES_TERMS):
        term = term @ m / k
        total = total + term / extra(k)
    return total


def quaternion_angle_squared(a: Array) -> Array:
    """Square of the angle of a rotation, angle <= pi."""
    a = shorter(a)
    half_sine_squared = dot(a[..., 1:], a[..., 1:])
    return 4 * half_sine_squared * angle_over_sine(half_sine_squared, a[..., 0]) ** 2
