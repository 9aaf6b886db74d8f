"""Helical joint: a screw.  Canonical axis z."""

import numpy as np

from ..compiling.decorators import inlined
from ..lie.algebra import ZERO3, load3
from ..lie.rotations import angle_about_z, near, rot_z
from ..lie.trig import half_sincos
from . import reference
from .base import AxisJoint, finite, two_directions
from .columns import set_column
from .primitives import SCREW_Z, Primitive
from .rows import SAME_POINT, SAME_Z_AXIS, SCREW, Row


class Helical(AxisJoint):
    """Turns by the angle q about `axis` and moves along it by `pitch` metres per turn.

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("nut", joint=la.Helical(axis=(0, 0, 1), pitch=0.01), mass=0.1, inertia=(1e-5, 1e-5, 2e-5))
    >>> model = mech.compile()
    >>> la.dynamics.pose(model, model.coordinates({"nut": 6.2832}), "nut").p.round(4)  # one turn
    array([0.  , 0.  , 0.01])
    """

    nq = nv = 1
    coordinates = ("angle",)
    angular = (True,)

    def __init__(self, axis=(0.0, 0.0, 1.0), pitch=0.01):
        super().__init__(axis)
        self.pitch = finite(pitch, "Helical pitch")

    def parameters(self):
        return (self.pitch / (2.0 * np.pi),)

    def columns_at_zero(self):
        return np.eye(6)[[2]] + self.pitch / (2.0 * np.pi) * np.eye(6)[[5]]

    def constraint_rows(self):
        return (*SAME_POINT[:2], *SAME_Z_AXIS, Row(SCREW, "advance", value=self.parameters()[0]))

    def primitives(self):
        return (Primitive(SCREW_Z, self.parameters()[0]),)

    @classmethod
    def sample(cls, rng):
        return cls(two_directions(rng)[0], pitch=rng.normal())

    def reference_pose(self, q):  # pitch is metres per turn
        return reference.rigid(reference.turn(self.axis, q[..., 0]), q / (2 * np.pi) * self.pitch * self.axis)

    def reference_coordinates(self, R, p):
        return reference.angle_about_z(R)[..., None]

    def dual_columns(self, S):
        """A moment alone: the coordinate is the angle."""
        return np.eye(6)[[2]]


@inlined
def pose(param, i, q, k, d, v, f):
    angle = q[k] + f * d[v]
    return rot_z(angle), (0.0, 0.0, param[i, 0] * angle)


@inlined
def displacement(param, i, q, k, d, v):
    s, c = half_sincos(d[v])
    return c, (0.0, 0.0, s), (0.0, 0.0, param[i, 0] * d[v])


@inlined
def columns(param, i, q, k, d, v, f, S):
    set_column(S, v, 2, 1.0)
    S[v, 5] = param[i, 0]


@inlined
def coordinates_of(param, i, R, p, old, k, out):
    out[k] = near(angle_about_z(R), old[k])


@inlined
def dual_column(S, dual, j):
    """A moment alone: the coordinate is the angle."""
    return load3(S, j, 0), ZERO3
