"""Free joint: a floating body.  q = (x, y, z, w, x, y, z), v = body twist (omega, v).

The increment over a step is d = (Cayley vector of the rotation, translation in the axes of the step's start).
"""

import numpy as np

from ..compiling.decorators import inlined
from ..lie.algebra import axpy, cross, dot, matvec, quat_to_matrix, scale, sub, tmatvec
from .base import Joint
from .revolute import set_column
from .spherical import advance as advance_rotation
from .spherical import (
    cayley_quaternion,
    half_quaternion,
    load_quaternion,
    quaternion_at,
    rotation_spring,
    tangent_columns,
    turn_to_midpoint,
)
from .spherical import mid_curvature as mid_rotation_curvature
from .spherical import rate as rotation_rate


class Free(Joint):
    """Floating body.  q = (x, y, z, w, x, y, z): position, unit quaternion scalar first; v = (omega, v) in the body frame."""

    kind = 7
    has_quaternion = True
    nq = 7
    nv = 6
    coordinates = ("x", "y", "z", "qw", "qx", "qy", "qz")
    angular = (True, True, True, False, False, False)

    def neutral(self):
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def columns_at_zero(self):
        return np.eye(6)


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
def mid_columns(param, i, q, k, d, v, S0, S1, S2):
    # the midpoint is half the rotation and the mean position: translations are halved and seen in its axes
    columns(param, i, q, k, d, v, 0.0, S0)
    columns(param, i, q, k, d, v, 1.0, S1)
    columns(param, i, q, k, d, v, 0.0, S2)
    turn_to_midpoint(d, v, S0, S1, S2)
    w, u = cayley_quaternion(d, v)
    w, u = half_quaternion(w, u)
    half = quat_to_matrix(w, u)
    rotate_translation_columns(half, v, 0.5, S0)
    rotate_translation_columns(half, v, 0.5, S1)
    rotate_translation_columns(transposed(half), v, 0.5, S2)


@inlined
def transposed(R):
    return R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]


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
def mid_curvature(d, v, S1, G, i, E):
    mid_rotation_curvature(d, v, G, i, E)
    translation_curvature(d, v, S1, (G[i, 3], G[i, 4], G[i, 5]), E)


@inlined
def translation_curvature(d, v, S1, g, E):
    """S0_{3+j}.g = (H g)_j / 2, H the half rotation: the midpoint axes turn by the angular part of S1_l."""
    w, u = cayley_quaternion(d, v)
    w, u = half_quaternion(w, u)
    half = quat_to_matrix(w, u)
    for l in range(3):
        y = matvec(half, cross((S1[v + l, 0], S1[v + l, 1], S1[v + l, 2]), g))
        for j in range(3):
            E[3 + j, l] += 0.5 * y[j]


@inlined
def translation_spring_curvature(q, k, rest, d, v, stiffness, S0, S1, E):
    """Translational spring at the midpoint: force k R'(x - rest) changes by k (twist - turn x stretch)."""
    R, position = pose(rest, 0, q, k, d, v, 0.5)
    stretch = tmatvec(R, sub(position, (rest[k], rest[k + 1], rest[k + 2])))
    for l in range(6):
        turn = (S1[v + l, 0], S1[v + l, 1], S1[v + l, 2])
        change = sub((S1[v + l, 3], S1[v + l, 4], S1[v + l, 5]), cross(turn, stretch))
        for j in range(3, 6):
            s = S0[v + j, 3] * change[0] + S0[v + j, 4] * change[1] + S0[v + j, 5] * change[2]
            E[j, l] += stiffness[v + 3] * s
    translation_curvature(d, v, S1, scale(stiffness[v + 3], stretch), E)


@inlined
def rate(q, k, qd, v, out):
    w, u = load_quaternion(q, k + 3)
    y = matvec(quat_to_matrix(w, u), (qd[v + 3], qd[v + 4], qd[v + 5]))
    out[k], out[k + 1], out[k + 2] = y[0], y[1], y[2]
    rotation_rate(q, k + 3, qd, v, out)


@inlined
def carry(d, v, r, target):
    """target -= Ad_D' r: a wrench at the start of the step, seen from its end."""
    w, u = cayley_quaternion(d, v)
    rot = quat_to_matrix(w, u)
    force = (r[v + 3], r[v + 4], r[v + 5])
    moment = sub((r[v], r[v + 1], r[v + 2]), cross((d[v + 3], d[v + 4], d[v + 5]), force))
    moment, force = tmatvec(rot, moment), tmatvec(rot, force)
    for j in range(3):
        target[v + j] -= moment[j]
        target[v + 3 + j] -= force[j]


@inlined
def end_increment(d, v, out):
    """The rotation vector is the same in both axes, the translation is not."""
    w, u = cayley_quaternion(d, v)
    t = tmatvec(quat_to_matrix(w, u), (d[v + 3], d[v + 4], d[v + 5]))
    out[v + 3], out[v + 4], out[v + 5] = t[0], t[1], t[2]
