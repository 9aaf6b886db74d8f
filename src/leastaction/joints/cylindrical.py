"""Cylindrical joint: turns about and slides along one axis.  Canonical axis z."""

import numpy as np

from ..compiling.decorators import inlined
from ..lie.rotations import angle_about_z, near, rot_z
from ..lie.trig import half_sincos
from . import reference
from .base import AxisJoint
from .columns import set_column
from .primitives import SLIDE_Z, TURN_Z, Primitive
from .rows import SAME_POINT, SAME_Z_AXIS


class Cylindrical(AxisJoint):
    """q = (angle about `axis`, position along `axis`).

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("piston", joint=la.Cylindrical(axis=(0, 0, 1)), mass=1.0, inertia=(0.01, 0.01, 0.02))
    >>> model = mech.compile()
    >>> la.dynamics.pose(model, model.coordinates({"piston": (0.3, 0.2)}), "piston").p  # turned by 0.3 rad, moved by 0.2 m
    array([0. , 0. , 0.2])
    """

    nq = nv = 2
    coordinates = ("angle", "position")
    angular = (True, False)
    orthonormal = True

    def columns_at_zero(self):
        return np.eye(6)[[2, 5]]

    def constraint_rows(self):
        return (*SAME_POINT[:2], *SAME_Z_AXIS)

    def primitives(self):
        return Primitive(TURN_Z), Primitive(SLIDE_Z)

    def reference_pose(self, q):
        return reference.rigid(reference.turn(self.axis, q[..., 0]), q[..., 1:] * self.axis)

    def reference_coordinates(self, R, p):
        return np.stack([reference.angle_about_z(R), p[..., 2]], -1)


@inlined
def pose(param, i, q, k, d, v, f):
    return rot_z(q[k] + f * d[v]), (0.0, 0.0, q[k + 1] + f * d[v + 1])


@inlined
def displacement(param, i, q, k, d, v):
    s, c = half_sincos(d[v])
    return c, (0.0, 0.0, s), (0.0, 0.0, d[v + 1])


@inlined
def columns(param, i, q, k, d, v, f, S):
    set_column(S, v, 2, 1.0)
    set_column(S, v + 1, 5, 1.0)


@inlined
def coordinates_of(param, i, R, p, old, k, out):
    out[k], out[k + 1] = near(angle_about_z(R), old[k]), p[2]
