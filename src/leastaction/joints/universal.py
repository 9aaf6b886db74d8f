"""Universal (Cardan) joint: turns about a first axis, then about a second one orthogonal to it.

Canonical: X = Rx(q0) Ry(q1).
"""

import math

import numpy as np

from ..compiling.decorators import inlined
from ..errors import MechanismError
from ..lie.algebra import ZERO3, quat_mul
from ..lie.rotations import near
from ..lie.trig import half_sincos, sincos
from . import reference
from .base import Joint, two_directions, unit_vector
from .columns import set_column
from .primitives import TURN_X, TURN_Y, Primitive
from .rows import DOT, SAME_POINT, Row, X, Y


class Universal(Joint):
    """q = (angle about `axis1`, angle about `axis2`); the axes are orthogonal, `axis1` is fixed in the parent.

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("cross", joint=la.Universal((1, 0, 0), (0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    >>> model = mech.compile()
    >>> model.coordinate_names
    ['cross.angle1', 'cross.angle2']
    """

    nq = nv = 2
    coordinates = ("angle1", "angle2")
    angular = (True, True)
    orthonormal = True

    def __init__(self, axis1=(1.0, 0.0, 0.0), axis2=(0.0, 1.0, 0.0)):
        self.axis1 = unit_vector(axis1, "Universal axis1")
        self.axis2 = unit_vector(axis2, "Universal axis2")
        if abs(self.axis1 @ self.axis2) > 1e-9:
            raise MechanismError(
                f"Universal axes {axis1!r} and {axis2!r} are not orthogonal (cosine {self.axis1 @ self.axis2:.3g}); "
                "make axis2 orthogonal to axis1"
            )

    def frame(self):
        return np.column_stack([self.axis1, self.axis2, np.cross(self.axis1, self.axis2)])

    def columns_at_zero(self):
        return np.eye(6)[[0, 1]]

    def constraint_rows(self):
        return (*SAME_POINT, Row(DOT, "angle of the axes", X, Y))

    def primitives(self):
        return Primitive(TURN_X), Primitive(TURN_Y)

    @classmethod
    def sample(cls, rng):
        a, b = two_directions(rng)
        return cls(a, np.cross(a, b))

    def reference_pose(self, q):
        return reference.rigid(reference.turn(self.axis1, q[..., 0]) @ reference.turn(self.axis2, q[..., 1]), np.zeros(3))

    def reference_coordinates(self, R, p):
        angles = reference.angle_of(R[..., 2, 1], R[..., 1, 1]), reference.angle_of(R[..., 0, 2], R[..., 0, 0])
        return np.stack(angles, -1)


@inlined
def pose(param, i, q, k, d, v, f):
    s0, c0 = sincos(q[k] + f * d[v])
    s1, c1 = sincos(q[k + 1] + f * d[v + 1])
    return (c1, 0.0, s1, s0 * s1, c0, -s0 * c1, -c0 * s1, s0, c0 * c1), ZERO3


@inlined
def displacement(param, i, q, k, d, v):
    # Ry(-q1) Rx(d0) Ry(q1) Ry(d1): the first three turn the small x-rotation into the frame after q1
    s0, c0 = half_sincos(d[v])
    s1, c1 = half_sincos(d[v + 1])
    sq, cq = sincos(q[k + 1])
    w, u = quat_mul(c0, (cq * s0, 0.0, sq * s0), c1, (0.0, s1, 0.0))
    return w, u, ZERO3


@inlined
def columns(param, i, q, k, d, v, f, S):
    s1, c1 = sincos(q[k + 1] + f * d[v + 1])
    set_column(S, v, 0, c1)
    S[v, 2] = s1
    set_column(S, v + 1, 1, 1.0)


@inlined
def coordinates_of(param, i, R, p, old, k, out):
    out[k], out[k + 1] = near(math.atan2(R[7], R[4]), old[k]), near(math.atan2(R[2], R[0]), old[k + 1])


@inlined
def bias(param, i, q, k, rate, v):
    s1, c1 = sincos(q[k + 1])
    r = rate[v] * rate[v + 1]
    return (-s1 * r, 0.0, c1 * r), ZERO3


@inlined
def mid_curvature(param, q, k, d, v, nv, S1, G, i, E, scratch):
    s1, c1 = sincos(q[k + 1] + 0.5 * d[v + 1])
    E[0, 1] += 0.25 * (-s1 * G[i, 0] + c1 * G[i, 2])
