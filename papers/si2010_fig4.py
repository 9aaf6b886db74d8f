"""Si and Guenter 2010, Fig. 4: a board slides on a Bezier surface of 25 control points and carries a pendulum."""

from __future__ import annotations

import numpy as np

import leastaction as la

from .result import Result
from .si2010_motion import moving


def make(quick: bool) -> Result:
    board = np.array(
        [(-0.5, -0.15, 0), (0.5, -0.15, 0), (0.5, 0.15, 0), (-0.5, 0.15, 0), (-0.5, -0.15, 0), (0, 0, 0), (0, 0, 0.8)], dtype=float
    )
    pendulum = np.array([(0, 0, 0), (0, 0, -1)], dtype=float)
    return moving(
        la.examples.board_on_surface(),
        {"board": board, "pendulum": pendulum},
        "A board with a pendulum on a mast in a bowl; the surface is ours.",
        "A multibody system slides on a Bezier surface of 25 control points, its board tangent to the surface.",
        1.0 if quick else 5.0,
        view=(30, -60),
        v={"board": (0.0, 0.3, 1.0)},
    )
