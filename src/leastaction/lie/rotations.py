"""Angles, unit quaternions (w, u) and Cayley vectors 2 tan(angle/2) n of rotations, on tuples of floats.

Rotation matrices are nine numbers, row by row.
"""

import math

from ..compiling.decorators import inlined
from .algebra import cross, dot, scale
from .trig import sincos


@inlined
def rot_z(angle):
    """Rotation matrix about z."""
    s, c = sincos(angle)
    return c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0


@inlined
def angle_about_z(R):
    """Angle of a rotation about z; of one close to it, that of its best fit."""
    return math.atan2(R[3] - R[1], R[0] + R[4])


@inlined
def near(angle, old):
    """The angle, plus as many turns as bring it closest to the old one."""
    return angle + 2.0 * math.pi * math.floor((old - angle) / (2.0 * math.pi) + 0.5)


@inlined
def matrix_to_quaternion(R):
    """Unit quaternion of a rotation; the largest of its parts by a square root, the others by division."""
    a, b, c, d = 1.0 + R[0] + R[4] + R[8], 1.0 + R[0] - R[4] - R[8], 1.0 - R[0] + R[4] - R[8], 1.0 - R[0] - R[4] + R[8]
    x, y, z = R[7] - R[5], R[2] - R[6], R[3] - R[1]
    f, g, h = R[3] + R[1], R[6] + R[2], R[7] + R[5]
    if a >= b and a >= c and a >= d:
        n = 0.5 / math.sqrt(a)
        return n * a, (n * x, n * y, n * z)
    if b >= c and b >= d:
        n = 0.5 / math.sqrt(b)
        return n * x, (n * b, n * f, n * g)
    if c >= d:
        n = 0.5 / math.sqrt(c)
        return n * y, (n * f, n * c, n * h)
    n = 0.5 / math.sqrt(d)
    return n * z, (n * g, n * h, n * d)


@inlined
def half_quaternion(w, u):
    """Square root of a unit quaternion with w >= 0."""
    n = 1.0 / math.sqrt(2.0 + 2.0 * w)
    return n * (1.0 + w), scale(n, u)


@inlined
def cayley_quaternion(d, v):
    """Unit quaternion of the Cayley vector d[v:v+3]."""
    n = 1.0 / math.sqrt(4.0 + d[v] * d[v] + d[v + 1] * d[v + 1] + d[v + 2] * d[v + 2])
    return 2.0 * n, (n * d[v], n * d[v + 1], n * d[v + 2])


@inlined
def cayley_vector(w, u):
    """Cayley vector of a unit quaternion; half a turn, which has none, gives an enormous one."""
    return scale(2.0 / w if w != 0.0 else 1e100, u)


@inlined
def cayley_rate(d, turn):
    """Change of the Cayley vector d that turns its end by `turn` (body axes there): (1 + d^/2 + d d'/4) turn."""
    y = cross(d, turn)
    s = 0.25 * dot(d, turn)
    return (
        turn[0] + 0.5 * y[0] + s * d[0],
        turn[1] + 0.5 * y[1] + s * d[1],
        turn[2] + 0.5 * y[2] + s * d[2],
    )
