"""Memory of kernels/lagrangian/derivatives.py, and what stands where."""

from typing import NamedTuple

import numpy as np

from ...compiling.records import allocate, floats
from ..tree.layout import BODY_COLUMNS, Tree
from .frames import CURVED, Frames

# columns of Lagrangian.row
_i = np.int64
R, P = _i(0), _i(9)  # pose in the parent
V = _i(12)  # velocity, frame axes
H = _i(18)  # momentum of everything beyond the frame
W = _i(24)  # weight of everything beyond it
A = _i(30)  # applied wrenches beyond it
DOWN = _i(36)  # gravity, frame axes
WORLD_R, WORLD_P = _i(39), _i(48)  # pose in world axes about the first frame
ROW = _i(51)

# columns of Lagrangian.pair, world axes
PSI, RATE, MU, TURN, FALL = _i(0), _i(6), _i(12), _i(18), _i(24)  # Psi, Psi', u, w, turning of the weight (moment only)
PAIR = _i(27)


class Curved(NamedTuple):
    """Of joints whose columns change with their coordinates, at the middle of the step."""

    S: floats("nv", 6)  # columns, body axes
    slope: floats("nv", 6)  # d(S qd)/dq_l
    before: floats(1, 6)  # velocity before the joint whose turn it is, seen from its body
    along: floats("nv")  # scratch: velocities of largest entry 1
    rate: floats("nv")  # scratch: velocities


class Lagrangian(NamedTuple):
    """Memory of the evaluation, and its results at one configuration and velocity."""

    row: floats("f", ROW)
    composite: floats("f", BODY_COLUMNS)  # mass, moment and inertia of everything beyond a frame
    rate: floats("nv", 6)  # Psi' in the axes of its frame
    pair: floats("nv", PAIR)
    q: floats("nv")  # dL/dq
    v: floats("nv")  # dL/dqd: the momentum
    force: floats("nv")  # joint forces of applied wrenches
    qq: floats("nv", "nv")  # d2L/dq dq
    qv: floats("nv", "nv")  # d2L/dq_i dqd_j
    vv: floats("nv", "nv")  # d2L/dqd dqd: the mass matrix
    force_q: floats("nv", "nv")  # d force_i / dq_j
    size: floats(1)  # largest joint force, cancellation not counted
    moves: floats("nv", 3)  # scratch: what the coordinates move
    turned: floats("balls", 9)  # how ball and free joints stand
    half: floats("balls", 9)  # their rotation over half the step
    spring: floats("nv")  # scratch: gradient of their springs
    curved: Curved  # None where no joint has such columns


def make_lagrangian(tree: Tree, frames: Frames) -> Lagrangian:
    """Memory for f frames, the world included."""
    sizes = {"f": len(frames.parent), "nv": len(tree.stiffness), "balls": len(frames.balls)}
    s = allocate(Lagrangian, sizes, **({} if np.any(frames.motion == CURVED) else {"curved": None}))
    s.row[0, [WORLD_R, WORLD_R + 4, WORLD_R + 8]] = 1.0
    s.row[0, DOWN : DOWN + 3] = frames.gravity
    return s
