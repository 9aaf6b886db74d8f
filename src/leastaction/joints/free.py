"""Free joint: a floating body.  q = (x, y, z, w, x, y, z), v = body twist (omega, v).

The increment over a step is d = (Cayley vector of the rotation, translation in the axes of the step's start).
"""

import numpy as np

from ..lie.algebra import axpy, cross, dot, matvec, quat_to_matrix, scale, sub, tmatvec
from ..lie.jit import inlined
from .base import Joint
from .revolute import set_column
from .spherical import cayley_quaternion, load_quaternion, mid_rotation_columns, quaternion_at, rotation_spring, tangent_columns
from .spherical import advance as advance_rotation
from .spherical import mid_curvature as mid_rotation_curvature
from .spherical import rate as rotation_rate


class Free(Joint):
    """Floating body.  q = (x, y, z, w, x, y, z): position, unit quaternion scalar first; v = (omega, v) in the body frame."""

    kind = 7
    nq = 7
    nv = 6
    coordinates = ("x", "y", "z", "qw", "qx", "qy", "qz")
    angular = (True, True, True, False, False, False)

    def neutral(self):
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


@inlined
def pose(param, i, q, k, d, v, f):
    position = (q[k], q[k + 1], q[k + 2])
    w, u = quaternion_at(q, k + 3, d, v, f)
    R = quat_to_matrix(w, u)
    if f != 0.0:
        w, u = load_quaternion(q, k + 3)
        position = axpy(f, matvec(quat_to_matrix(w, u), (d[v + 3], d[v + 4], d[v + 5])), position)
    return R, position


@inlined
def displacement(param, i, q, k, d, v):
    w, u = cayley_quaternion(d, v)
    return w, u, (d[v + 3], d[v + 4], d[v + 5])


@inlined
def columns(param, i, q, k, d, v, f, S):
    for j in range(6):
        set_column(S, v + j, j, 1.0)
    if f != 0.0:
        tangent_columns(d, v, S, v)
        w, u = cayley_quaternion(d, v)
        rotate_translation_columns(quat_to_matrix(w, u), v, 1.0, S)


@inlined
def rotate_translation_columns(R, v, factor, S):
    """S[v+3+j, 3:] = factor R' e_j."""
    for j in range(3):
        e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
        y = tmatvec(R, e)
        for r in range(3):
            S[v + 3 + j, 3 + r] = factor * y[r]


@inlined
def mid_columns(param, i, q, k, d, v, S0, S1):
    # the midpoint is half the rotation and the mean position: translations are halved and seen in its axes
    columns(param, i, q, k, d, v, 0.0, S0)
    columns(param, i, q, k, d, v, 1.0, S1)
    mid_rotation_columns(d, v, S0, S1)
    w, u = load_quaternion(q, k + 3)
    R0 = quat_to_matrix(w, u)
    w, u = quaternion_at(q, k + 3, d, v, 0.5)
    R = quat_to_matrix(w, u)
    for j in range(3):
        e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
        y = tmatvec(R, matvec(R0, e))
        for r in range(3):
            S0[v + 3 + j, 3 + r] = 0.5 * y[r]
            S1[v + 3 + j, 3 + r] = 0.5 * y[r]


@inlined
def advance(q, k, d, v):
    w, u = load_quaternion(q, k + 3)
    t = matvec(quat_to_matrix(w, u), (d[v + 3], d[v + 4], d[v + 5]))
    q[k] += t[0]
    q[k + 1] += t[1]
    q[k + 2] += t[2]
    advance_rotation(q, k + 3, d, v)


@inlined
def spring(q, k, rest, d, v, f, stiffness, g):
    """Isotropic rotational spring and isotropic translational spring to the rest pose."""
    energy = rotation_spring(q, k + 3, rest, d, v, f, stiffness, g, v)
    R, position = pose(rest, 0, q, k, d, v, f)
    stretch = sub(position, (rest[k], rest[k + 1], rest[k + 2]))
    force = tmatvec(R, scale(stiffness[v + 3], stretch))
    for j in range(3):
        g[v + 3 + j] += force[j]
    return energy + 0.5 * stiffness[v + 3] * dot(stretch, stretch)


@inlined
def mid_curvature(q, k, d, v, S1, G, i, E):
    mid_rotation_curvature(d, v, G, i, E)
    # S0_{3+j}.G = (R_k' R_mid g)_j / 2: the midpoint axes turn by the angular part of S1_l
    w, u = load_quaternion(q, k + 3)
    R0 = quat_to_matrix(w, u)
    w, u = quaternion_at(q, k + 3, d, v, 0.5)
    R = quat_to_matrix(w, u)
    g = (G[i, 3], G[i, 4], G[i, 5])
    for l in range(3):
        y = tmatvec(R0, matvec(R, cross((S1[v + l, 0], S1[v + l, 1], S1[v + l, 2]), g)))
        for j in range(3):
            E[3 + j, l] += 0.5 * y[j]


@inlined
def rate(q, k, qd, v, out):
    w, u = load_quaternion(q, k + 3)
    y = matvec(quat_to_matrix(w, u), (qd[v + 3], qd[v + 4], qd[v + 5]))
    out[k], out[k + 1], out[k + 2] = y[0], y[1], y[2]
    rotation_rate(q, k + 3, qd, v, out)
