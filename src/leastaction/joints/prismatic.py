"""Prismatic joint: slides along one axis.  Canonical axis z."""

import numpy as np

from ..compiling.decorators import inlined
from ..lie.algebra import IDENTITY, ZERO3
from . import reference
from .base import AxisJoint
from .columns import set_column
from .primitives import SLIDE_Z, Primitive
from .rows import NO_ROTATION, SAME_POINT


class Prismatic(AxisJoint):
    """Slides by the length q along `axis` (given in the body frame = joint frame).

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("lift", joint=la.Prismatic(axis=(0, 0, 1)), mass=2.0, inertia=(0.1, 0.1, 0.1))
    >>> la.simulate(mech.compile(), dt=1e-2, duration=1.0)["lift"][-1].round(3)  # m: it falls by g/2
    array([-4.905])
    """

    nq = nv = 1
    coordinates = ("position",)
    angular = (False,)
    orthonormal = True

    def columns_at_zero(self):
        return np.eye(6)[[5]]

    def constraint_rows(self):
        return (*SAME_POINT[:2], *NO_ROTATION)

    def primitives(self):
        return (Primitive(SLIDE_Z),)

    def reference_pose(self, q):
        return reference.rigid(np.eye(3), q * self.axis)

    def reference_coordinates(self, R, p):
        return p[..., 2:]


@inlined
def pose(param, i, q, k, d, v, f):
    return IDENTITY, (0.0, 0.0, q[k] + f * d[v])


@inlined
def displacement(param, i, q, k, d, v):
    return 1.0, ZERO3, (0.0, 0.0, d[v])


@inlined
def columns(param, i, q, k, d, v, f, S):
    set_column(S, v, 5, 1.0)


@inlined
def coordinates_of(param, i, R, p, old, k, out):
    out[k] = p[2]
