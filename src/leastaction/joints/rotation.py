"""Rotations kept as unit quaternions: what ball and free joints share.

q[k:k+4] is the quaternion (w, x, y, z) at the start of a step; the increment d[v:v+3] over the step is the Cayley vector of
q_k^-1 q_{k+1} = (1, d/2) / |(1, d/2)|.  Velocities are angular velocities in body axes.
"""

import math

from ..compiling.decorators import inlined
from ..lie.algebra import ZERO3, axpy, cross, dot, quat_mul, scale, set_vector, vector
from ..lie.retraction_exp import gammas, half_angle_ratio
from ..lie.rotations import cayley_quaternion, cayley_vector, half_quaternion, matrix_to_quaternion


@inlined
def load_quaternion(q, k):
    return q[k], (q[k + 1], q[k + 2], q[k + 3])


@inlined
def store_normalised(q, k, w, u):
    n = 1.0 / math.sqrt(w * w + dot(u, u))
    q[k] = n * w
    set_vector(q, k + 1, scale(n, u))


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
def advance_rotation(q, k, d, v):
    w, u = load_quaternion(q, k)
    wd, ud = cayley_quaternion(d, v)
    w, u = quat_mul(w, u, wd, ud)
    store_normalised(q, k, w, u)


@inlined
def rotation_rate(q, k, velocity, v, out):
    """Quaternions turn by q (x) (0, omega)/2."""
    w, u = load_quaternion(q, k)
    w, u = quat_mul(w, u, 0.0, scale(0.5, vector(velocity, v)))
    out[k] = w
    set_vector(out, k + 1, u)


@inlined
def rotation_of(R, old, k, out):
    """out[k:k+4] = quaternion of R with the sign closest to old[k:]."""
    w, u = matrix_to_quaternion(R)
    sign = 1.0 if w * old[k] + dot(u, vector(old, k + 1)) >= 0.0 else -1.0
    store_normalised(out, k, sign * w, scale(sign, u))


@inlined
def turn_between(q0, q1, k, v, out):
    """out[v:v+3] = Cayley vector of q0^-1 q1."""
    w, u = quat_mul(q0[k], scale(-1.0, vector(q0, k + 1)), q1[k], vector(q1, k + 1))
    set_vector(out, v, cayley_vector(w, u))


@inlined
def unit(j):
    return 1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0


@inlined
def turn_slope(d, v, j):
    """Derivative of component j of the Cayley vector in the rotation of its end: row j of 1 + d^/2 + d d'/4."""
    x, e = vector(d, v), unit(j)
    return axpy(0.25 * d[v + j], x, axpy(-0.5, cross(x, e), e))


@inlined
def tangent_columns(d, v, S, row):
    """S[row+j, :3] = left-trivialised tangent of the Cayley map: (1 - d^/2) e_j / (1 + |d|^2/4)."""
    x, y, z = d[v], d[v + 1], d[v + 2]
    g = 4.0 / (4.0 + x * x + y * y + z * z)
    S[row, 0], S[row, 1], S[row, 2] = g, -0.5 * g * z, 0.5 * g * y
    S[row + 1, 0], S[row + 1, 1], S[row + 1, 2] = 0.5 * g * z, g, -0.5 * g * x
    S[row + 2, 0], S[row + 2, 1], S[row + 2, 2] = -0.5 * g * y, 0.5 * g * x, g


# ------------------------------------------------------------------------------------------------ the midpoint


@inlined
def half_turn_vector(d, v):
    """n tan(angle/4) of the increment; the midpoint turns by (1 -+ c^)/2 times the variation of start and end."""
    w, u = cayley_quaternion(d, v)
    return scale(1.0 / (1.0 + w), u)


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
def half_turn_derivative(d, v, l, g):
    """(dc/dd_l) x g with c = n tan(angle/4) = kappa(|d|^2) d."""
    x = vector(d, v)
    r = math.sqrt(4.0 + dot(x, x))
    kappa = 1.0 / (r + 2.0)
    slope = -kappa * kappa / r  # 2 d kappa / d |d|^2
    return axpy(slope * d[v + l], cross(x, g), scale(kappa, cross(unit(l), g)))


@inlined
def mid_rotation_curvature(d, v, G, i, E):
    """S0'g = (g + c x g)/2"""
    g = (G[i, 0], G[i, 1], G[i, 2])
    for l in range(3):
        y = half_turn_derivative(d, v, l, g)
        for j in range(3):
            E[j, l] += 0.5 * y[j]


# ------------------------------------------------------------------------------------------------ springs


@inlined
def rotation_spring(q, k, rest, d, v, f, stiffness, g):
    """Isotropic spring k/2 |log(rest^-1 q)|^2; its gradient in body axes is k log(rest^-1 q)."""
    w, u = quaternion_at(q, k, d, v, f)
    wr, ur = load_quaternion(rest, k)
    w, u = quat_mul(wr, scale(-1.0, ur), w, u)
    phi = scale(half_angle_ratio(w, u), u)
    for j in range(3):
        g[v + j] += stiffness[v + j] * phi[j]
    return 0.5 * stiffness[v] * dot(phi, phi)


@inlined
def rotation_spring_curvature(q, k, rest, d, v, nv, stiffness, S0, S1, E):
    """At the midpoint: derivative of the force k log(rest^-1 q) and of the map S0 it acts through."""
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
