"""Joints with two charts: the same configuration written in the coordinates another one is written in.

Two configurations can only be subtracted in one chart.  A simulation changes charts where it has to, so that two nodes of a run, or
the same node of two runs, may lie in different ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model import Model

Array = NDArray[np.float64]

_TURN = 2.0 * np.pi


def in_charts_of(model: Model, q: Array, reference: Array) -> Array:
    """q (nq,) with every joint in the chart that it has in `reference` (nq,), angles within half a turn of those there.

    Joints with one chart keep their coordinates, whole turns included.
    """
    written = q.copy()
    for body in model.bodies:
        joint = body.joint
        if joint.charts == 1:
            continue
        place = model.q_slice(body.joint_name)
        here = reference[place]
        if q[place][-1] != here[-1]:
            written[place] = joint.in_chart(q[place], int(here[-1]))  # type: ignore[attr-defined]
        part = written[place]
        for j, angular in enumerate(joint.angular):
            if angular:
                part[j] -= _TURN * np.round((part[j] - here[j]) / _TURN)
    return written
