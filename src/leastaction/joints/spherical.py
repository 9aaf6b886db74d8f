"""Spherical (ball) joint.  q = unit quaternion (w, x, y, z), v = angular velocity in the body frame.

The increment d over a step is the Cayley vector of the rotation q_k^-1 q_{k+1} = (1, d/2) / |(1, d/2)|.
"""

import math

import numpy as np

from ..compiling.decorators import inlined
from ..lie.algebra import ZERO3, axpy, cross, dot, quat_mul, quat_to_matrix, scale, tmatvec
from ..lie.retraction_exp import gammas, half_angle_ratio
from .base import Joint
from .revolute import set_column


class Spherical(Joint):
    """Ball joint.  q = (w, x, y, z) unit quaternion, scalar first; v = angular velocity in the body frame."""

    kind = 6
    has_quaternion = True
    nq = 4
    nv = 3
    coordinates = ("w", "x", "y", "z")
    angular = (True, True, True)

    def neutral(self):
        return np.array([1.0, 0.0, 0.0, 0.0])

    def columns_at_zero(self):
        return np.eye(6)[:3]


@inlined
def load_quaternion(q, k):
    return q[k], (q[k + 1], q[k + 2], q[k + 3])


@inlined
def cayley_quaternion(d, v):
    """Quaternion of the increment d[v:v+3]."""
    n = 1.0 / math.sqrt(4.0 + d[v] * d[v] + d[v + 1] * d[v + 1] + d[v + 2] * d[v + 2])
    return 2.0 * n, (n * d[v], n * d[v + 1], n * d[v + 2])


@inlined
def quaternion_at(q, k, d, v, f):
    """Quaternion at the fraction f (0, 1/2, 1) of the step; half means half the rotation angle."""
    w, u = load_quaternion(q, k)
    if f == 0.0:
        return w, u
    wd, ud = cayley_quaternion(d, v)
    if f == 0.5:
        wd, ud = half_quaternion(wd, ud)
    return quat_mul(w, u, wd, ud)


@inlined
def half_quaternion(w, u):
    """Square root of a unit quaternion with w >= 0."""
    n = 1.0 / math.sqrt(2.0 + 2.0 * w)
    return n * (1.0 + w), scale(n, u)


@inlined
def pose(param, i, q, k, d, v, f):
    w, u = quaternion_at(q, k, d, v, f)
    return quat_to_matrix(w, u), ZERO3


@inlined
def displacement(param, i, q, k, d, v):
    w, u = cayley_quaternion(d, v)
    return w, u, ZERO3


@inlined
def columns(param, i, q, k, d, v, f, S):
    for j in range(3):
        set_column(S, v + j, j, 1.0)
    if f != 0.0:
        tangent_columns(d, v, S, v)


@inlined
def tangent_columns(d, v, S, row):
    """S[row+j, :3] = left-trivialised tangent of the Cayley map: (1 - d^/2) e_j / (1 + |d|^2/4)."""
    x, y, z = d[v], d[v + 1], d[v + 2]
    g = 4.0 / (4.0 + x * x + y * y + z * z)
    S[row, 0], S[row, 1], S[row, 2] = g, -0.5 * g * z, 0.5 * g * y
    S[row + 1, 0], S[row + 1, 1], S[row + 1, 2] = 0.5 * g * z, g, -0.5 * g * x
    S[row + 2, 0], S[row + 2, 1], S[row + 2, 2] = -0.5 * g * y, 0.5 * g * x, g


@inlined
def cayley_rate(d, turn):
    """Change of the increment d that turns its end by `turn` (body axes there): inverse of `tangent_columns`."""
    y = cross(d, turn)
    s = 0.25 * dot(d, turn)
    return (
        turn[0] + 0.5 * y[0] + s * d[0],
        turn[1] + 0.5 * y[1] + s * d[1],
        turn[2] + 0.5 * y[2] + s * d[2],
    )


@inlined
def half_turn_vector(d, v):
    """n tan(angle/4) of the increment; the midpoint turns by (1 -+ c^)/2 times the variation of start and end."""
    w, u = cayley_quaternion(d, v)
    return scale(1.0 / (1.0 + w), u)


@inlined
def mid_columns(param, i, q, k, d, v, S0, S1, S2):
    columns(param, i, q, k, d, v, 0.0, S0)
    columns(param, i, q, k, d, v, 1.0, S1)
    columns(param, i, q, k, d, v, 0.0, S2)
    turn_to_midpoint(d, v, S0, S1, S2)


@inlined
def turn_to_midpoint(d, v, S0, S1, S2):
    """Angular parts of start columns (S0) and end columns (S1, S2) -> what they do to the midpoint."""
    mid_rotation_columns(d, v, -1.0, S0)
    mid_rotation_columns(d, v, 1.0, S1)
    mid_rotation_columns(d, v, 1.0, S2)


@inlined
def mid_rotation_columns(d, v, sign, S):
    """(1 - c^)/2 of start columns (sign -1), (1 + c^)/2 of end columns (sign +1)."""
    c = half_turn_vector(d, v)
    for j in range(v, v + 3):
        a = (S[j, 0], S[j, 1], S[j, 2])
        b = axpy(sign, cross(c, a), a)
        S[j, 0], S[j, 1], S[j, 2] = 0.5 * b[0], 0.5 * b[1], 0.5 * b[2]


@inlined
def store_normalised(q, k, w, u):
    n = 1.0 / math.sqrt(w * w + dot(u, u))
    q[k] = n * w
    q[k + 1] = n * u[0]
    q[k + 2] = n * u[1]
    q[k + 3] = n * u[2]


@inlined
def advance(q, k, d, v):
    w, u = load_quaternion(q, k)
    wd, ud = cayley_quaternion(d, v)
    w, u = quat_mul(w, u, wd, ud)
    store_normalised(q, k, w, u)


@inlined
def rotation_spring(q, k, rest, d, v, f, stiffness, g, row):
    """Isotropic spring k/2 |log(rest^-1 q)|^2; its gradient in body axes is k log(rest^-1 q)."""
    w, u = quaternion_at(q, k, d, v, f)
    wr, ur = load_quaternion(rest, k)
    w, u = quat_mul(wr, scale(-1.0, ur), w, u)
    phi = scale(half_angle_ratio(w, u), u)
    for j in range(3):
        g[row + j] += stiffness[row + j] * phi[j]
    return 0.5 * stiffness[row] * dot(phi, phi)


@inlined
def spring(q, k, rest, d, v, f, stiffness, g):
    return rotation_spring(q, k, rest, d, v, f, stiffness, g, v)


@inlined
def half_turn_derivative(d, v, l, g):
    """(dc/dd_l) x g with c = n tan(angle/4) = kappa(|d|^2) d."""
    x = (d[v], d[v + 1], d[v + 2])
    r = math.sqrt(4.0 + dot(x, x))
    kappa = 1.0 / (r + 2.0)
    slope = -kappa * kappa / r  # 2 d kappa / d |d|^2
    e = (1.0 if l == 0 else 0.0, 1.0 if l == 1 else 0.0, 1.0 if l == 2 else 0.0)
    return axpy(slope * d[v + l], cross(x, g), scale(kappa, cross(e, g)))


@inlined
def mid_curvature(d, v, G, i, E):
    """S0'g = (g + c x g)/2"""
    g = (G[i, 0], G[i, 1], G[i, 2])
    for l in range(3):
        y = half_turn_derivative(d, v, l, g)
        for j in range(3):
            E[j, l] += 0.5 * y[j]


@inlined
def rate(q, k, qd, v, out):
    w, u = load_quaternion(q, k)
    w, u = quat_mul(w, u, 0.0, (0.5 * qd[v], 0.5 * qd[v + 1], 0.5 * qd[v + 2]))
    out[k], out[k + 1], out[k + 2], out[k + 3] = w, u[0], u[1], u[2]


@inlined
def normalise(q, k):
    w, u = load_quaternion(q, k)
    store_normalised(q, k, w, u)


@inlined
def spring_curvature(q, k, rest, d, v, nv, stiffness, S0, S1, E):
    """Rotational spring at the midpoint: derivative of its force k log(rest^-1 q) and of the map S0 it acts through."""
    w, u = quaternion_at(q, k, d, v, 0.5)
    wr, ur = load_quaternion(rest, k)
    w, u = quat_mul(wr, scale(-1.0, ur), w, u)
    phi = scale(half_angle_ratio(w, u), u)
    gam, _ = gammas(dot(phi, phi))
    force = scale(stiffness[v], phi)
    for l in range(nv):
        turn = (S1[v + l, 0], S1[v + l, 1], S1[v + l, 2])
        y = cross(phi, turn)
        z = cross(phi, y)
        change = scale(stiffness[v], axpy(gam, z, axpy(0.5, y, turn)))
        bend = half_turn_derivative(d, v, l, force) if l < 3 else ZERO3
        for j in range(3):
            E[j, l] += S0[v + j, 0] * change[0] + S0[v + j, 1] * change[1] + S0[v + j, 2] * change[2] + 0.5 * bend[j]


@inlined
def carry(d, v, r, target):
    """target -= r, turned from the axes of the step's start into those of its end."""
    w, u = cayley_quaternion(d, v)
    moment = tmatvec(quat_to_matrix(w, u), (r[v], r[v + 1], r[v + 2]))
    for j in range(3):
        target[v + j] -= moment[j]
