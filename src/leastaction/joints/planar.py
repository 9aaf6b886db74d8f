"""Planar joint: slides in a plane and turns about its normal.  Canonical normal z, X = (Rz(q2), (q0, q1, 0))."""

import numpy as np

from ..compiling.decorators import inlined
from ..errors import MechanismError
from ..lie.algebra import ZERO3
from ..lie.rotations import angle_about_z, near, rot_z
from ..lie.trig import half_sincos, sincos
from . import reference
from .base import AS_ANCHOR, Joint, frame_with_z, two_directions, unit_vector
from .columns import set_column
from .primitives import SLIDE_X, SLIDE_Y, TURN_Z, Primitive
from .rows import SAME_POINT, SAME_Z_AXIS


class Planar(Joint):
    """q = (x, y, angle): position in the plane with the given `normal` along `x_axis` and normal x x_axis; angle.

    >>> import leastaction as la
    >>> mech = la.Mechanism(gravity=(0, 0, 0))
    >>> _ = mech.add_body("puck", joint=la.Planar(normal=(0, 0, 1)), mass=1.0, inertia=(0.01, 0.01, 0.02))
    >>> run = la.simulate(mech.compile(), dt=1e-2, duration=1.0, v={"puck": (1.0, 0.5, 3.0)})
    >>> run["puck"][-1].round(2)  # m, m, rad
    array([1. , 0.5, 3. ])
    """

    nq = nv = 3
    coordinates = ("x", "y", "angle")
    angular = (False, False, True)
    orthonormal = True
    drawn = AS_ANCHOR

    def __init__(self, normal=(0.0, 0.0, 1.0), x_axis=None):
        self.normal = unit_vector(normal, "Planar normal")
        self.x_axis = None if x_axis is None else unit_vector(x_axis, "Planar x_axis")
        if self.x_axis is not None and np.linalg.norm(np.cross(self.normal, self.x_axis)) < 1e-6:
            raise MechanismError(f"Planar x_axis {x_axis!r} is parallel to the normal {normal!r}; give one in the plane")

    def frame(self):
        return frame_with_z(self.normal, self.x_axis)

    def columns_at_zero(self):
        return np.eye(6)[[3, 4, 2]]

    def constraint_rows(self):
        return (SAME_POINT[2], *SAME_Z_AXIS)

    def primitives(self):
        return Primitive(SLIDE_X), Primitive(SLIDE_Y), Primitive(TURN_Z)

    @classmethod
    def sample(cls, rng):
        return cls(*two_directions(rng))

    def reference_pose(self, q):
        hint = self.frame()[:, 0] if self.x_axis is None else self.x_axis
        x = hint - self.normal * (self.normal @ hint)
        x = x / np.linalg.norm(x)
        y = np.cross(self.normal, x)
        return reference.rigid(reference.turn(self.normal, q[..., 2]), q[..., :1] * x + q[..., 1:2] * y)

    def reference_coordinates(self, R, p):
        return np.stack([p[..., 0], p[..., 1], reference.angle_about_z(R)], -1)


@inlined
def pose(param, i, q, k, d, v, f):
    return rot_z(q[k + 2] + f * d[v + 2]), (q[k] + f * d[v], q[k + 1] + f * d[v + 1], 0.0)


@inlined
def displacement(param, i, q, k, d, v):
    s, c = sincos(q[k + 2])
    hs, hc = half_sincos(d[v + 2])
    return hc, (0.0, 0.0, hs), (c * d[v] + s * d[v + 1], c * d[v + 1] - s * d[v], 0.0)


@inlined
def columns(param, i, q, k, d, v, f, S):
    s, c = sincos(q[k + 2] + f * d[v + 2])
    set_column(S, v, 3, c)
    S[v, 4] = -s
    set_column(S, v + 1, 3, s)
    S[v + 1, 4] = c
    set_column(S, v + 2, 2, 1.0)


@inlined
def coordinates_of(param, i, R, p, old, k, out):
    out[k], out[k + 1], out[k + 2] = p[0], p[1], near(angle_about_z(R), old[k + 2])


@inlined
def bias(param, i, q, k, rate, v):
    s, c = sincos(q[k + 2])
    w = rate[v + 2]
    return ZERO3, (w * (-s * rate[v] + c * rate[v + 1]), w * (-c * rate[v] - s * rate[v + 1]), 0.0)


@inlined
def mid_curvature(param, q, k, d, v, nv, S1, G, i, E, scratch):
    s, c = sincos(q[k + 2] + 0.5 * d[v + 2])
    E[0, 2] += 0.25 * (-s * G[i, 3] - c * G[i, 4])
    E[1, 2] += 0.25 * (c * G[i, 3] - s * G[i, 4])
