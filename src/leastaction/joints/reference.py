"""Rotations, rigid displacements and unit quaternions straight from their definitions, for what compiled code is tested against.

Slow and plain on purpose: nothing here shares a formula with `leastaction.lie`.  Every function takes arrays with any
leading shape and any number type: float, complex (for complex-step derivatives: only analytic operations, no abs or
conj of the numbers themselves) and object arrays of mpmath numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  #: float, complex or mpmath numbers


def elementwise(name: str, mpmath_name: str):
    """The function of NumPy, or of mpmath for object arrays."""

    def apply(x: Array) -> Array:
        x = np.asarray(x)
        if x.dtype != object:
            return getattr(np, name)(x)
        import mpmath

        return np.frompyfunc(getattr(mpmath, mpmath_name), 1, 1)(x)

    return apply


sin, cos, sqrt = elementwise("sin", "sin"), elementwise("cos", "cos"), elementwise("sqrt", "sqrt")


def real(x: Array) -> NDArray[np.float64]:
    """Real part as floats, to decide on which branch a number lies."""
    x = np.asarray(x)
    return np.real(x).astype(float)


def dot(a: Array, b: Array) -> Array:
    return (a * b).sum(axis=-1)


def times(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0]


def hat(a: Array) -> Array:
    """Matrix of the cross product with a, (..., 3) -> (..., 3, 3)."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    o = 0 * x
    return np.stack([np.stack([o, -z, y], -1), np.stack([z, o, -x], -1), np.stack([-y, x, o], -1)], -2)


def vee(m: Array) -> Array:
    """Vector of the antisymmetric part of m; inverse of `hat`."""
    return np.stack([m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]], -1) / 2


def rigid(rotation: Array, position: Array) -> Array:
    """4x4 matrix of a rotation and a position."""
    shape = np.broadcast_shapes(rotation.shape[:-2], position.shape[:-1])
    result = np.zeros((*shape, 4, 4), dtype=np.result_type(rotation.dtype, position.dtype))
    result[..., :3, :3] = rotation
    result[..., :3, 3] = position
    result[..., 3, 3] = 1
    return result


def rigid_inverse(T: Array) -> Array:
    transposed = np.swapaxes(T[..., :3, :3], -1, -2)
    return rigid(transposed, -times(transposed, T[..., :3, 3]))


def turn(axis: NDArray[np.float64], angle: Array) -> Array:
    """Rotation by `angle` about the unit vector `axis` (Rodrigues)."""
    k = hat(np.asarray(axis, dtype=float))
    a = np.asarray(angle)[..., None, None]
    return np.eye(3) + sin(a) * k + (1 - cos(a)) * (k @ k)


def angle_of(sine: Array, cosine: Array) -> Array:
    """Angle of a direction, real or complex: arctan2 is not for complex numbers, arctan of what is left after turning back is."""
    whole = np.arctan2(sine.real, cosine.real)
    s, c = sine * np.cos(whole) - cosine * np.sin(whole), cosine * np.cos(whole) + sine * np.sin(whole)
    return whole + np.arctan(s / c)


def angle_about_z(R: Array) -> Array:
    """Angle of a rotation (..., 3, 3) about z; of one close to it, that of its best fit."""
    return angle_of(R[..., 1, 0] - R[..., 0, 1], R[..., 0, 0] + R[..., 1, 1])


# ----------------------------------------------------------------------------- unit quaternions (w, x, y, z)


def quaternion_product(a: Array, b: Array) -> Array:
    w1, u1, w2, u2 = a[..., 0], a[..., 1:], b[..., 0], b[..., 1:]
    w = w1 * w2 - dot(u1, u2)
    u = w1[..., None] * u2 + w2[..., None] * u1 + times(hat(u1), u2)
    return np.concatenate([w[..., None], u], -1)


def quaternion_inverse(a: Array) -> Array:
    return a * np.array([1.0, -1.0, -1.0, -1.0])


def quaternion_matrix(a: Array) -> Array:
    """Rotation matrix: v -> a v a^-1 written out."""
    w, k = a[..., 0, None, None], hat(a[..., 1:])
    return np.eye(3) + 2 * w * k + 2 * (k @ k)


def shorter(a: Array) -> Array:
    """The same rotation with w >= 0, the one below half a turn."""
    return np.where(real(a[..., :1]) < 0, -a, a)


def quaternion_half(a: Array) -> Array:
    """Half of the rotation: the square root with w > 0."""
    a = shorter(a)
    half = a + np.array([1.0, 0.0, 0.0, 0.0])  # the bisector of a and the identity
    return half / sqrt(dot(half, half))[..., None]


def quaternion_of(R: Array) -> Array:
    """(w, x, y, z) of a rotation below half a turn."""
    w = sqrt(1 + R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2]) / 2
    return np.concatenate([w[..., None], vee(R) / (2 * w[..., None])], -1)


def cayley_rotation(d: Array) -> Array:
    """Unit quaternion of the Cayley vector d = 2 tan(angle/2) axis; exp(d) to first order.  d may be purely imaginary."""
    a = np.concatenate([np.ones_like(d[..., :1]), d / 2], -1)
    return a / sqrt(dot(a, a))[..., None]
