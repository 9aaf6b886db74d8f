"""Revolute joint: turns about one axis.  Canonical axis z."""

import numpy as np

from ..compiling.decorators import inlined
from ..lie.algebra import ZERO3
from ..lie.rotations import angle_about_z, near, rot_z
from ..lie.trig import half_sincos
from . import reference
from .base import ABOUT_Z, AxisJoint
from .columns import set_column
from .primitives import TURN_Z, Primitive
from .rows import SAME_POINT, SAME_Z_AXIS


class Revolute(AxisJoint):
    """Turns by the angle q about `axis` (given in the body frame = joint frame).

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("door", joint=la.Revolute(axis=(0, 0, 1)), mass=10.0, com=(0.4, 0, 0), inertia=(0.1, 0.5, 0.6))
    >>> model = mech.compile()
    >>> la.dynamics.pose(model, model.coordinates({"door": 0.5}), "door").R.round(3)
    array([[ 0.878, -0.479,  0.   ],
           [ 0.479,  0.878,  0.   ],
           [ 0.   ,  0.   ,  1.   ]])
    """

    nq = nv = 1
    coordinates = ("angle",)
    angular = (True,)
    orthonormal = True
    turns = ABOUT_Z

    def columns_at_zero(self):
        return np.eye(6)[[2]]

    def constraint_rows(self):
        return (*SAME_POINT, *SAME_Z_AXIS)

    def primitives(self):
        return (Primitive(TURN_Z),)

    def reference_pose(self, q):
        return reference.rigid(reference.turn(self.axis, q[..., 0]), np.zeros(3))

    def reference_coordinates(self, R, p):
        return reference.angle_about_z(R)[..., None]


@inlined
def pose(param, i, q, k, d, v, f):
    return rot_z(q[k] + f * d[v]), ZERO3


@inlined
def displacement(param, i, q, k, d, v):
    s, c = half_sincos(d[v])
    return c, (0.0, 0.0, s), ZERO3


@inlined
def columns(param, i, q, k, d, v, f, S):
    set_column(S, v, 2, 1.0)


@inlined
def coordinates_of(param, i, R, p, old, k, out):
    out[k] = near(angle_about_z(R), old[k])
