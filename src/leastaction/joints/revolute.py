"""Revolute joint: turns about one axis.  Canonical axis z."""

import numpy as np

from ..compiling.decorators import inlined
from ..lie.algebra import ZERO3
from ..lie.trig import half_sincos, sincos
from .base import Joint, frame_with_z, unit_vector


class Revolute(Joint):
    """Turns by the angle q about `axis` (given in the body frame = joint frame)."""

    kind = 0
    nq = nv = 1
    coordinates = ("angle",)
    angular = (True,)

    def __init__(self, axis=(0.0, 0.0, 1.0)):
        self.axis = unit_vector(axis, "Revolute axis")

    def frame(self):
        return frame_with_z(self.axis)

    def columns_at_zero(self):
        return np.eye(6)[[2]]


@inlined
def rot_z(angle):
    s, c = sincos(angle)
    return c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0


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
def set_column(S, j, axis, value):
    for a in range(6):
        S[j, a] = 0.0
    S[j, axis] = value

