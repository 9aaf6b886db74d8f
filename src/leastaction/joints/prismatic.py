"""Prismatic joint: slides along one axis.  Canonical axis z."""

import numpy as np

from ..compiling.decorators import inlined
from ..lie.algebra import IDENTITY, ZERO3
from .base import Joint, frame_with_z, unit_vector
from .revolute import set_column


class Prismatic(Joint):
    """Slides by the length q along `axis` (given in the body frame = joint frame)."""

    kind = 1
    nq = nv = 1
    coordinates = ("position",)
    angular = (False,)

    def __init__(self, axis=(0.0, 0.0, 1.0)):
        self.axis = unit_vector(axis, "Prismatic axis")

    def frame(self):
        return frame_with_z(self.axis)

    def columns_at_zero(self):
        return np.eye(6)[[5]]


@inlined
def pose(param, i, q, k, d, v, f):
    return IDENTITY, (0.0, 0.0, q[k] + f * d[v])


@inlined
def displacement(param, i, q, k, d, v):
    return 1.0, ZERO3, (0.0, 0.0, d[v])


@inlined
def columns(param, i, q, k, d, v, f, S):
    set_column(S, v, 5, 1.0)
