"""Cylindrical joint: turns about and slides along one axis.  Canonical axis z."""

import numpy as np

from ..compiling.decorators import inlined
from ..lie.trig import half_sincos
from .base import Joint, frame_with_z, unit_vector
from .revolute import rot_z, set_column


class Cylindrical(Joint):
    """q = (angle about `axis`, position along `axis`)."""

    kind = 3
    nq = nv = 2
    coordinates = ("angle", "position")
    angular = (True, False)

    def __init__(self, axis=(0.0, 0.0, 1.0)):
        self.axis = unit_vector(axis, "Cylindrical axis")

    def frame(self):
        return frame_with_z(self.axis)

    def columns_at_zero(self):
        return np.eye(6)[[2, 5]]


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
