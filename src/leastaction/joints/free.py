"""Free joint: a floating body.  q = (x, y, z, w, x, y, z), v = body twist (omega, v).

The increment over a step is d = (Cayley vector of the rotation, translation in the axes of the step's start): joints/rotation.py.
"""

import numpy as np

from ..compiling.decorators import inlined
from ..lie import retractions
from ..lie.algebra import ZERO3, add, axpy, cross, dot, matvec, quat_to_matrix, scale, set_vector, sub, tmatvec, transposed, vector
from ..lie.rotations import cayley_quaternion, cayley_vector, half_quaternion
from . import reference, rotation
from .base import NOT_DRAWN
from .columns import set_column
from .group import GroupJoint, rotation_of_increment


class Free(GroupJoint):
    """Floating body.  q = (x, y, z, w, x, y, z): position, unit quaternion scalar first; v = (omega, v) in the body frame.

    >>> import leastaction as la
    >>> mech = la.Mechanism(gravity=(0, 0, -9.81))
    >>> _ = mech.add_body("stone", joint=la.Free(), mass=1.0, inertia=(0.01, 0.02, 0.03))
    >>> run = la.simulate(mech.compile(), dt=1e-2, duration=1.0, v={"stone": (0, 0, 0, 2.0, 0, 0)})
    >>> run["stone"][-1, :3].round(3)  # m
    array([ 2.   ,  0.   , -4.905])
    """

    nq = 7
    nv = 6
    coordinates = ("x", "y", "z", "qw", "qx", "qy", "qz")
    angular = (True, True, True, False, False, False)
    drawn = NOT_DRAWN

    def neutral(self):
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def columns_at_zero(self):
        return np.eye(6)

    def constraint_rows(self):
        return ()

    # translations beside the rotations of GroupJoint

    def reference_pose(self, q):
        return reference.rigid(reference.quaternion_matrix(q[..., 3:]), q[..., :3])

    def reference_coordinates(self, R, p):
        return np.concatenate([p, reference.quaternion_of(R)], -1)

    def reference_advance(self, q, d):
        moved = q[..., :3] + reference.times(reference.quaternion_matrix(q[..., 3:]), d[..., 3:])
        return np.concatenate([moved, super().reference_advance(q, d)], -1)

    def reference_increment(self, q0, q1):
        back = np.swapaxes(reference.quaternion_matrix(q0[..., 3:]), -1, -2)
        return np.concatenate([super().reference_increment(q0, q1), reference.times(back, q1[..., :3] - q0[..., :3])], -1)

    def reference_middle(self, q0, q1):
        return np.concatenate([(q0[..., :3] + q1[..., :3]) / 2, super().reference_middle(q0, q1)], -1)

    def coordinate_rates(self, q, velocity):
        return np.concatenate([reference.quaternion_matrix(q[3:]) @ velocity[3:], super().coordinate_rates(q, velocity)])

    def increment_rate(self, d, velocity):
        return np.concatenate([super().increment_rate(d, velocity), rotation_of_increment(d) @ velocity[3:]])

    def increment_derivatives(self, d, at_end):
        D = rotation_of_increment(d)
        turn, turn0, turn1 = super().increment_derivatives(d, at_end)
        by_start, by_end = np.zeros((6, 6)), np.zeros((6, 6))
        by_start[:3, :3], by_end[:3, :3] = turn0, turn1
        if at_end:
            move = D.T @ d[3:]
            by_end[3:, :3], by_end[3:, 3:], by_start[3:, 3:] = reference.hat(move), np.eye(3), -D.T
        else:
            move = d[3:]
            by_start[3:, :3], by_start[3:, 3:], by_end[3:, 3:] = reference.hat(move), -np.eye(3), D
        return np.concatenate([turn, move]), by_start, by_end

    def spring_stiffness(self, q, rest, stiffness):
        """Of k/2 |x - rest|^2 in body axes: k (1, stretch^)."""
        out = np.zeros((6, 6))
        out[:3, :3] = super().spring_stiffness(q, rest, stiffness)
        stretch = reference.quaternion_matrix(q[3:]).T @ (q[:3] - rest[:3])
        out[3:, 3:], out[3:, :3] = stiffness[3] * np.eye(3), stiffness[3] * reference.hat(stretch)
        return out


@inlined
def pose(param, i, q, k, d, v, f):
    position = (q[k], q[k + 1], q[k + 2])
    w, u = rotation.quaternion_at(q, k + 3, d, v, f)
    R = quat_to_matrix(w, u)
    if f != 0.0:
        w, u = rotation.load_quaternion(q, k + 3)
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
        rotation.tangent_columns(d, v, S, v)
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
def mid_columns(param, i, q, k, d, v, nv, S0, S1, S2):
    # the midpoint is half the rotation and the mean position: translations are halved and seen in its axes
    columns(param, i, q, k, d, v, 0.0, S0)
    columns(param, i, q, k, d, v, 1.0, S1)
    columns(param, i, q, k, d, v, 0.0, S2)
    rotation.turn_to_midpoint(d, v, S0, S1, S2)
    w, u = cayley_quaternion(d, v)
    w, u = half_quaternion(w, u)
    half = quat_to_matrix(w, u)
    rotate_translation_columns(half, v, 0.5, S0)
    rotate_translation_columns(half, v, 0.5, S1)
    rotate_translation_columns(transposed(half), v, 0.5, S2)


@inlined
def coordinates_of(param, i, R, p, old, k, out):
    set_vector(out, k, p)
    rotation.rotation_of(R, old, k + 3, out)


@inlined
def advance(q, k, d, v, nv):
    w, u = rotation.load_quaternion(q, k + 3)
    shift = matvec(quat_to_matrix(w, u), (d[v + 3], d[v + 4], d[v + 5]))
    q[k] += shift[0]
    q[k + 1] += shift[1]
    q[k + 2] += shift[2]
    rotation.advance_rotation(q, k + 3, d, v)


@inlined
def spring(q, k, rest, d, v, nv, f, stiffness, g):
    """Isotropic rotational spring and isotropic translational spring to the rest pose."""
    energy = rotation.rotation_spring(q, k + 3, rest, d, v, f, stiffness, g)
    R, position = pose(rest, 0, q, k, d, v, f)
    stretch = sub(position, (rest[k], rest[k + 1], rest[k + 2]))
    force = tmatvec(R, scale(stiffness[v + 3], stretch))
    for j in range(3):
        g[v + 3 + j] += force[j]
    return energy + 0.5 * stiffness[v + 3] * dot(stretch, stretch)


@inlined
def mid_curvature(param, q, k, d, v, nv, S1, G, i, E, scratch):
    rotation.mid_rotation_curvature(d, v, G, i, E)
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
def spring_curvature(q, k, rest, d, v, nv, stiffness, S0, S1, E):
    rotation.rotation_spring_curvature(q, k + 3, rest, d, v, nv, stiffness, S0, S1, E)
    translation_spring_curvature(q, k, rest, d, v, stiffness, S0, S1, E)


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
def rate(q, k, velocity, v, nv, out):
    w, u = rotation.load_quaternion(q, k + 3)
    set_vector(out, k, matvec(quat_to_matrix(w, u), vector(velocity, v + 3)))
    rotation.rotation_rate(q, k + 3, velocity, v, out)


@inlined
def normalise(q, k):
    w, u = rotation.load_quaternion(q, k + 3)
    rotation.store_normalised(q, k + 3, w, u)


@inlined
def carry(d, v, nv, r, target):
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
def increment(q0, q1, k, v, nv, at_end, out):
    rotation.turn_between(q0, q1, k + 3, v, out)
    axes = q1 if at_end else q0
    w, u = rotation.load_quaternion(axes, k + 3)
    set_vector(out, v + 3, tmatvec(quat_to_matrix(w, u), sub(vector(q1, k), vector(q0, k))))


@inlined
def end_increment(d, v, nv, out):
    """The rotation vector is the same in both axes, the translation is not."""
    set_vector(out, v, vector(d, v))
    w, u = cayley_quaternion(d, v)
    set_vector(out, v + 3, tmatvec(quat_to_matrix(w, u), vector(d, v + 3)))


@inlined
def increment_slope(d, v, j, a, l):
    if j < v + 3:
        return rotation.turn_slope(d, v, j - v), ZERO3
    w, u = cayley_quaternion(d, v)
    R = quat_to_matrix(w, u)
    r = 3 * (j - v - 3)
    return ZERO3, (R[r], R[r + 1], R[r + 2])


@inlined
def retract(retraction, x, v, nv, d):
    """A screw motion, for the exponential."""
    w, u, shift = retractions.displacement(retraction, vector(x, v), vector(x, v + 3))
    set_vector(d, v, cayley_vector(w, u))
    set_vector(d, v + 3, shift)


@inlined
def retraction_cotangent(retraction, x, v, nv, sign, p):
    phi, rho = scale(sign, vector(x, v)), scale(sign, vector(x, v + 3))
    a, l = retractions.cotangent(retraction, phi, rho, vector(p, v), vector(p, v + 3))
    set_vector(p, v, a)
    set_vector(p, v + 3, l)


@inlined
def rotate_and_slide(x, v, nv, d):
    w, u, _ = retractions.displacement(retractions.EXP, vector(x, v), ZERO3)
    set_vector(d, v, cayley_vector(w, u))
    set_vector(d, v + 3, vector(x, v + 3))


@inlined
def canonical_rate(x, v, nv, velocity, out):
    """V + [x, V]/2 + [x, [x, V]]/12."""
    phi, rho, omega, vel = vector(x, v), vector(x, v + 3), vector(velocity, v), vector(velocity, v + 3)
    y, yl = cross(phi, omega), add(cross(phi, vel), cross(rho, omega))
    z, zl = cross(phi, y), add(cross(phi, yl), cross(rho, y))
    for j in range(3):
        out[v + j] = omega[j] + 0.5 * y[j] + z[j] / 12.0
        out[v + 3 + j] = vel[j] + 0.5 * yl[j] + zl[j] / 12.0
