"""The arrays kernels work on, and what stands where.

Row 0 of every per-body array is the world, body i is row i, parents come before children.  Body frames are the joints'
canonical frames: origin in the joint, z along the axis of a revolute joint.

m: Tree, what does not change.  w: Work, what does.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# np.int64, not int: Numba compiles a function anew for every plain int it is called with
_i = np.int64

# columns of Tree.link
PARENT, KIND, QI, VI, NV = _i(0), _i(1), _i(2), _i(3), _i(4)

# columns of Tree.body
PLACE_R = _i(0)  # 9  rotation of the joint at zero coordinates, parent axes
PLACE_P = _i(9)  # 3  its origin in the parent, m
MASS = _i(12)  # 1  kg
MOMENT = _i(13)  # 3  mass times centre of mass, kg m
INERTIA = _i(16)  # 6  about the body origin (xx, xy, xz, yy, yz, zz), kg m^2
BODY_COLUMNS = _i(22)

# columns of Tree.wrench
W_FORCE, W_MOMENT, W_POINT = _i(0), _i(3), _i(6)
WRENCH_COLUMNS = _i(9)
BODY_FIXED, WORLD_FIXED = _i(0), _i(1)

# columns of Work.row
R = _i(0)  # 9  X(q_k): body axes in the parent
P = _i(9)  # 3  X(q_k): body origin in the parent, m
GRAVITY = _i(12)  # 3  gravity in body axes, m/s^2
DW = _i(15)  # 1  displacement over the step in the body frame at its start: scalar part of the quaternion,
DU = _i(16)  # 3  vector part,
DT = _i(19)  # 3  translation, m
X = _i(22)  # 6  its retraction coordinates (phi, rho)
F = _i(28)  # 6  wrench or momentum passed towards the root (angular, linear)
ETA = _i(34)  # 6  twist or variation passed towards the leaves
ROW_COLUMNS = _i(40)

# columns of Work.factor, one row per degree of freedom:  u = A s+, w = A' s, 1/d
U, W, DINV = _i(0), _i(6), _i(12)
FACTOR_COLUMNS = _i(13)

# columns of Work.linear, one row per body: the poses a factorisation was made at, and the articulated blocks
L_R, L_P, L_R1, L_P1 = _i(0), _i(9), _i(12), _i(21)  # X at the start and at the end of the step
LINEAR_COLUMNS = _i(24)
AA, AL, LA, LL = _i(0), _i(9), _i(18), _i(27)  # 3x3 blocks of Work.art


class Tree(NamedTuple):
    """A compiled mechanism as the kernels see it."""

    link: NDArray[np.int64]  # (n+1, 5) parent row, joint kind, first coordinate, first degree of freedom, their number
    body: NDArray[np.float64]  # (n+1, BODY_COLUMNS)
    param: NDArray[np.float64]  # (n+1, PARAMETERS) of the joints
    gravity: NDArray[np.float64]  # (3,) world axes, m/s^2
    has_springs: int
    has_dampers: int
    stiffness: NDArray[np.float64]  # (nv,) joint springs
    rest: NDArray[np.float64]  # (nq,) their rest coordinates
    damping: NDArray[np.float64]  # (nv,) viscous dampers
    wrench_on: NDArray[np.int64]  # (k, 2) body row, BODY_FIXED or WORLD_FIXED
    wrench: NDArray[np.float64]  # (k, WRENCH_COLUMNS) force, moment, point, canonical body axes (or world axes)
    custom: NDArray[np.int64]  # addresses of compiled user forces


class Work(NamedTuple):
    """Memory of one simulation.  Each kernel says what it reads and writes."""

    row: NDArray[np.float64]  # (n+1, ROW_COLUMNS)
    q: NDArray[np.float64]  # (nq,) coordinates at the start of the step
    d: NDArray[np.float64]  # (nv,) increment over the step: the unknown
    d_old: NDArray[np.float64]  # (nv,) increment before the last correction
    r: NDArray[np.float64]  # (nv,) residual, kg m/s or kg m^2/s
    z: NDArray[np.float64]  # (nv,) correction
    target: NDArray[np.float64]  # (nv,) momentum the step has to start with, half kick included
    load: NDArray[np.float64]  # (nv,) scratch for joint-space forces
    history: NDArray[np.float64]  # (4, nv) increments of the last steps, newest first
    S0: NDArray[np.float64]  # (nv, 6) joint columns at the start of the step
    S1: NDArray[np.float64]  # (nv, 6) at its end
    factor: NDArray[np.float64]  # (nv, FACTOR_COLUMNS)
    linear: NDArray[np.float64]  # (n+1, LINEAR_COLUMNS)
    art: NDArray[np.float64]  # (n+1, 36) articulated blocks AA, AL, LA, LL
    world: NDArray[np.float64]  # (n+1, 12) pose in the world: rotation, position; only where a force needs it


def make_work(n: int, nq: int, nv: int) -> Work:
    def zeros(*shape):
        return np.zeros(shape)

    work = Work(
        row=zeros(n + 1, ROW_COLUMNS), q=zeros(nq), d=zeros(nv), d_old=zeros(nv), r=zeros(nv), z=zeros(nv),
        target=zeros(nv), load=zeros(nv), history=zeros(4, nv), S0=zeros(nv, 6), S1=zeros(nv, 6),
        factor=zeros(nv, FACTOR_COLUMNS), linear=zeros(n + 1, LINEAR_COLUMNS), art=zeros(n + 1, 36), world=zeros(n + 1, 12),
    )  # fmt: skip
    work.row[0, [R, R + 4, R + 8, DW]] = 1.0
    work.world[0, [0, 4, 8]] = 1.0
    return work
