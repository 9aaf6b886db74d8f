"""Spherical (ball) joint.  q = unit quaternion (w, x, y, z), v = angular velocity in the body frame.

The increment d over a step is the Cayley vector of the rotation q_k^-1 q_{k+1}: joints/rotation.py.
"""

import numpy as np

from ..compiling.decorators import inlined
from ..lie import retractions
from ..lie.algebra import ZERO3, cross, quat_to_matrix, scale, set_vector, tmatvec, vector
from ..lie.rotations import cayley_quaternion, cayley_vector
from . import reference, rotation
from .base import FREELY
from .columns import set_column
from .group import GroupJoint
from .rows import SAME_POINT


class Spherical(GroupJoint):
    """Ball joint.  q = (w, x, y, z) unit quaternion, scalar first; v = angular velocity in the body frame.

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("lamp", joint=la.Spherical(), mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    >>> model = mech.compile()
    >>> model.nq, model.nv  # a quaternion, an angular velocity
    (4, 3)
    """

    nq = 4
    nv = 3
    coordinates = ("w", "x", "y", "z")
    angular = (True, True, True)
    turns = FREELY

    def neutral(self):
        return np.array([1.0, 0.0, 0.0, 0.0])

    def columns_at_zero(self):
        return np.eye(6)[:3]

    def constraint_rows(self):
        return SAME_POINT

    def reference_pose(self, q):
        return reference.rigid(reference.quaternion_matrix(q), np.zeros(3))

    def reference_coordinates(self, R, p):
        return reference.quaternion_of(R)


@inlined
def pose(param, i, q, k, d, v, f):
    w, u = rotation.quaternion_at(q, k, d, v, f)
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
        rotation.tangent_columns(d, v, S, v)


@inlined
def coordinates_of(param, i, R, p, old, k, out):
    rotation.rotation_of(R, old, k, out)


@inlined
def mid_columns(param, i, q, k, d, v, nv, S0, S1, S2):
    columns(param, i, q, k, d, v, 0.0, S0)
    columns(param, i, q, k, d, v, 1.0, S1)
    columns(param, i, q, k, d, v, 0.0, S2)
    rotation.turn_to_midpoint(d, v, S0, S1, S2)


@inlined
def mid_curvature(param, q, k, d, v, nv, S1, G, i, E, scratch):
    rotation.mid_rotation_curvature(d, v, G, i, E)


@inlined
def advance(q, k, d, v, nv):
    rotation.advance_rotation(q, k, d, v)


@inlined
def increment(q0, q1, k, v, nv, at_end, out):
    rotation.turn_between(q0, q1, k, v, out)


@inlined
def end_increment(d, v, nv, out):
    """The rotation vector is the same in both axes."""
    set_vector(out, v, vector(d, v))


@inlined
def increment_slope(d, v, j, a, l):
    return rotation.turn_slope(d, v, j - v), ZERO3


@inlined
def carry(d, v, nv, r, target):
    """target -= r, turned from the axes of the step's start into those of its end."""
    w, u = cayley_quaternion(d, v)
    moment = tmatvec(quat_to_matrix(w, u), (r[v], r[v + 1], r[v + 2]))
    for j in range(3):
        target[v + j] -= moment[j]


@inlined
def rate(q, k, velocity, v, nv, out):
    rotation.rotation_rate(q, k, velocity, v, out)


@inlined
def normalise(q, k):
    w, u = rotation.load_quaternion(q, k)
    rotation.store_normalised(q, k, w, u)


@inlined
def spring(q, k, rest, d, v, nv, f, stiffness, g):
    return rotation.rotation_spring(q, k, rest, d, v, f, stiffness, g)


@inlined
def spring_curvature(q, k, rest, d, v, nv, stiffness, S0, S1, E):
    rotation.rotation_spring_curvature(q, k, rest, d, v, nv, stiffness, S0, S1, E)


@inlined
def retract(retraction, x, v, nv, d):
    w, u, _ = retractions.displacement(retraction, vector(x, v), ZERO3)
    set_vector(d, v, cayley_vector(w, u))


@inlined
def retraction_cotangent(retraction, x, v, nv, sign, p):
    a, _ = retractions.cotangent(retraction, scale(sign, vector(x, v)), ZERO3, vector(p, v), ZERO3)
    set_vector(p, v, a)


@inlined
def rotate_and_slide(x, v, nv, d):
    retract(retractions.EXP, x, v, nv, d)


@inlined
def canonical_rate(x, v, nv, velocity, out):
    """omega + phi x omega/2 + phi x (phi x omega)/12."""
    phi, omega = vector(x, v), vector(velocity, v)
    y = cross(phi, omega)
    z = cross(phi, y)
    for j in range(3):
        out[v + j] = omega[j] + 0.5 * y[j] + z[j] / 12.0
