"""What the rows of constraints say, in NumPy, real or complex: what kernels are compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..constraints.rows import DISTANCE, DOT, POINT, WORLD, Row
from ..joints.reference import angle_about_z
from . import matrices as mat


def row_value(row: Row, T: NDArray, axes: NDArray | None = None) -> NDArray:
    """Value of a row for the pose T (..., 4, 4), real or complex, of frame b in frame a: the definitions of constraints/rows.py.

    axes    (..., 3, 3) orientation of frame a in the world
    """
    R, p = T[..., :3, :3], T[..., :3, 3]
    if row.kind == WORLD:
        assert axes is not None, "a row along a direction of the world needs the axes of frame a"
        return mat.times(axes, p) @ np.array(row.u) - row.value
    if row.kind == POINT:
        return p @ np.array(row.u) - row.value
    if row.kind == DOT:
        return mat.times(R, np.array(row.w)) @ np.array(row.u)
    if row.kind == DISTANCE:
        return (mat.dot(p, p) - row.value**2) / (2 * row.value)
    angle = angle_about_z(R)
    turns = np.round((p[..., 2].real / row.value - np.real(angle)) / (2 * np.pi)) if row.value else 0.0
    return p[..., 2] - row.value * (angle + 2 * np.pi * turns)
