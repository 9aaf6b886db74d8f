"""Helical joint: a screw.  Canonical axis z."""

import numpy as np

from ..compiling.decorators import inlined
from ..lie.trig import half_sincos
from .base import Joint, finite, frame_with_z, unit_vector
from .revolute import rot_z, set_column


class Helical(Joint):
    """Turns by the angle q about `axis` and moves along it by `pitch` metres per turn."""

    kind = 2
    nq = nv = 1
    coordinates = ("angle",)
    angular = (True,)

    def __init__(self, axis=(0.0, 0.0, 1.0), pitch=0.01):
        self.axis = unit_vector(axis, "Helical axis")
        self.pitch = finite(pitch, "Helical pitch")

    def frame(self):
        return frame_with_z(self.axis)

    def parameters(self):
        return (self.pitch / (2.0 * np.pi),)

    def columns_at_zero(self):
        return np.eye(6)[[2]] + self.pitch / (2.0 * np.pi) * np.eye(6)[[5]]


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
