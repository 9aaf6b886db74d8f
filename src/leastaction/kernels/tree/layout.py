"""The arrays kernels work on, and what stands where.

Row 0 of every per-body array is the world, body i is row i, parents come before children.  Body frames are the joints'
canonical frames: origin in the joint, z along the axis of a revolute joint.

m: Tree, what does not change.  w: Work, what does.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.records import allocate, floats
from ...joints.charts import SCRATCH, SCRATCH_ROWS

# np.int64, not int: Numba compiles a function anew for every plain int it is called with
_i = np.int64

# columns of Tree.link
PARENT, KIND, QI, VI, NV, CHARTED = _i(0), _i(1), _i(2), _i(3), _i(4), _i(5)
LINK_COLUMNS = _i(6)

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

# columns of Tree.law_on and Tree.law_at, functions of the user that act on a body
LAW_BODY, LAW_ADDRESS, LAW_SLOPES = _i(0), _i(1), _i(2)
LAW_R, LAW_P = _i(0), _i(9)
LAW_COLUMNS = _i(12)

# columns of Tree.pair, springs between two points
PAIR_A, PAIR_B, PAIR_STIFFNESS, PAIR_LENGTH = _i(0), _i(3), _i(6), _i(7)
PAIR_COLUMNS = _i(8)

# columns of Tree.energy_on and Tree.energy_at, potentials of coordinates
UP = _i(1)
UQ, UV = _i(0), _i(1)

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
MU = _i(40)  # 6  momentum of the body at the start of the step, body axes
ROW_COLUMNS = _i(46)

# columns of Work.factor, one row per degree of freedom:  u = A s+, w = A' s, 1/d
U, W, DINV = _i(0), _i(6), _i(12)
FACTOR_COLUMNS = _i(13)

# columns of Work.linear, one row per body: the poses a factorisation was made at, and the articulated blocks
L_R, L_P, L_R1, L_P1 = _i(0), _i(9), _i(12), _i(21)  # X at the start and at the end of the step
LINEAR_COLUMNS = _i(24)
AA, AL, LA, LL = _i(0), _i(9), _i(18), _i(27)  # 3x3 blocks of Work.art


# what a simulation remembers between calls of the time loop
STARTED, HISTORY, TIME, SCALE, LAST_RESIDUAL, RATE, RATE_AGED, RATE_FIRST, AGE = range(9)
MEMORY = 9
ALWAYS_NEW = 1e300  # as memory[RATE]: the factorisation at hand is of no use

# guesses of the increment: zero, the last one (explicit Euler), semi-implicit Euler, polynomial extrapolation
IG1, IG2, IG3, EXTRAPOLATE = range(4)

QUADRATURES = ("trapezoid", "midpoint")

# solvers of kernels/comparison.py
NEWTON, RIQN, BROYDEN, DENSE = range(4)


class Tree(NamedTuple):
    """A compiled mechanism as the kernels see it."""

    link: NDArray[np.int64]  # (n+1, LINK_COLUMNS) parent row, joint kind, first coordinate, first dof, their number, two charts?
    body: NDArray[np.float64]  # (n+1, BODY_COLUMNS)
    param: NDArray[np.float64]  # (n+1, at least PARAMETERS) of the joints
    gravity: NDArray[np.float64]  # (3,) world axes, m/s^2
    has_charts: int
    has_springs: int
    has_dampers: int
    stiffness: NDArray[np.float64]  # (nv,) joint springs
    rest: NDArray[np.float64]  # (nq,) their rest coordinates
    damping: NDArray[np.float64]  # (nv,) viscous dampers
    wrench_on: NDArray[np.int64]  # (k, 2) body row, BODY_FIXED or WORLD_FIXED
    wrench: NDArray[np.float64]  # (k, WRENCH_COLUMNS) force, moment, point, canonical body axes (or world axes)
    custom: NDArray[np.int64]  # addresses of compiled user forces
    law_on: NDArray[np.int64]  # (k, 3) laws on a body: its row, address of the function, does it know its slopes?
    law_at: NDArray[np.float64]  # (k, LAW_COLUMNS) pose of the place a law acts at, in the canonical body frame
    law_param: NDArray[np.float64]  # (k, ...) parameters of the laws
    pair_on: NDArray[np.int64]  # (k, 3) springs between two points: body rows a and b, address of the energy of the distance or 0
    pair: NDArray[np.float64]  # (k, PAIR_COLUMNS) points a and b in canonical body axes, m; stiffness, N/m, and length, m, if linear
    energy_on: NDArray[np.int64]  # (u+1, 2) potentials of coordinates: address, first row of energy_at; a last row ends the last one
    energy_at: NDArray[np.int64]  # (..., 2) the coordinates they depend on: entry of q, entry of v
    energy_param: NDArray[np.float64]  # (k+u, ...) parameters of generated energies


class Laws(NamedTuple):
    """Memory of the k laws on n bodies; none at all where there are no laws."""

    twist: floats("n+1", 6)  # of the bodies, body axes: written by the system before `law_wrenches`
    wrench: floats("n+1", 6)  # what all laws do to the bodies, at their origins, body axes
    place: floats("k", 12)  # pose of the place of each law where it was last evaluated
    rate: floats("k", 6)  # its twist
    time: floats("k")
    slope: floats("k", 72)  # (6, 12) derivative of W in the pose of the place (turned, then moved, in its axes) and in its twist
    damping: floats(6, 6)  # derivative of the wrench on a body in its twist


def make_laws(n: int, laws: int) -> Laws:
    return allocate(Laws, {"n": n if laws else -1, "k": laws})


class Work(NamedTuple):
    """Memory of one simulation.  Each kernel says what it reads and writes."""

    row: NDArray[np.float64]  # (n+1, ROW_COLUMNS)
    q: NDArray[np.float64]  # (nq,) coordinates at the start of the step
    d: NDArray[np.float64]  # (nv,) increment over the step: the unknown
    d_old: NDArray[np.float64]  # (nv,) increment before the last correction
    d_last: NDArray[np.float64]  # (nv,) increment of the last step
    r: NDArray[np.float64]  # (nv,) residual, kg m/s or kg m^2/s
    z: NDArray[np.float64]  # (nv,) solution of the last linear system
    step: NDArray[np.float64]  # (nv,) correction being tried
    target: NDArray[np.float64]  # (nv,) momentum the step has to start with, half kick included
    target_last: NDArray[np.float64]  # (nv,) the same before the joint forces of the step were added
    load: NDArray[np.float64]  # (nv,) scratch for joint-space forces
    history: NDArray[np.float64]  # (6, nv) backward differences of the increments of the last steps
    S0: NDArray[np.float64]  # (nv, 6) joint columns at the start of the step
    S1: NDArray[np.float64]  # (nv, 6) at its end
    factor: NDArray[np.float64]  # (nv, FACTOR_COLUMNS)
    linear: NDArray[np.float64]  # (n+1, LINEAR_COLUMNS)
    art: NDArray[np.float64]  # (n+1, 36) articulated blocks AA, AL, LA, LL
    world: NDArray[np.float64]  # (n+1, 12) pose in the world: rotation, position; only where a force needs it
    charts: NDArray[np.float64]  # (SCRATCH_ROWS, 6) scratch of joints/charts.py
    chart: NDArray[np.float64]  # (SCRATCH,) the same
    x: NDArray[np.float64]  # (c,) what a generated energy is evaluated at, c the most coordinates of one
    jet: NDArray[np.float64]  # (1, 1 + c + c^2) its value, gradient and Hessian
    laws: Laws


def make_work(n: int, nq: int, nv: int, most: int = 1, laws: int = 0) -> Work:
    """most: largest number of coordinates a potential depends on; laws: number of laws on bodies."""

    def zeros(*shape):
        return np.zeros(shape)

    work = Work(
        row=zeros(n + 1, ROW_COLUMNS), q=zeros(nq), d=zeros(nv), d_old=zeros(nv), d_last=zeros(nv), r=zeros(nv),
        z=zeros(nv), step=zeros(nv), target=zeros(nv), target_last=zeros(nv), load=zeros(nv),
        history=zeros(6, nv), S0=zeros(nv, 6), S1=zeros(nv, 6),
        factor=zeros(nv, FACTOR_COLUMNS), linear=zeros(n + 1, LINEAR_COLUMNS), art=zeros(n + 1, 36), world=zeros(n + 1, 12),
        charts=zeros(SCRATCH_ROWS, 6), chart=zeros(SCRATCH), x=zeros(most), jet=zeros(1, 1 + most + most**2),
        laws=make_laws(n, laws),
    )  # fmt: skip
    work.row[0, [R, R + 4, R + 8, DW]] = 1.0
    work.world[0, [0, 4, 8]] = 1.0
    return work


class Middle(NamedTuple):
    """Memory of the midpoint quadrature (kernels/midpoint.py)."""

    row: NDArray[np.float64]  # (n+1, 15) pose in the parent, gravity, columns R, P, GRAVITY as in Work.row
    wrench: NDArray[np.float64]  # (n+1, 6) wrench on the body and everything beyond it
    world: NDArray[np.float64]  # (n+1, 12) rotation and position in the world; only where a force needs it
    S0: NDArray[np.float64]  # (nv, 6) midpoint twist per variation of the start
    S1: NDArray[np.float64]  # (nv, 6) ... of the increment
    S2: NDArray[np.float64]  # (nv, 6) ... of the end
    start: NDArray[np.float64]  # (nv,) midpoint forces on the start of the step
    end: NDArray[np.float64]  # (nv,) on its end
    size: NDArray[np.float64]  # (nv,) magnitude of what cancels in `start`
    A: NDArray[np.float64]  # (n+1, 12, 12) articulated blocks
    U: NDArray[np.float64]  # (nv, 12)
    W: NDArray[np.float64]  # (nv, 12)
    B: NDArray[np.float64]  # (nv, 6) inverse joint blocks
    H: NDArray[np.float64]  # (6, 6) scratch
    E: NDArray[np.float64]  # (6, 6) scratch
    X0: NDArray[np.float64]  # (6, 6) scratch
    T: NDArray[np.float64]  # (12, 12) scratch
    b: NDArray[np.float64]  # (n+1, 12) wrenches of the solve
    y: NDArray[np.float64]  # (n+1, 12) variations of the solve
    t: NDArray[np.float64]  # (nv,) scratch
    q: NDArray[np.float64]  # (nq,) coordinates half way, those without quaternions
    left: NDArray[np.float64]  # (k, nv) rows of potentials between bodies, see midpoint_potentials.py
    right: NDArray[np.float64]  # (k, nv)
    Y: NDArray[np.float64]  # (k, nv) J^-1 left
    C: NDArray[np.float64]  # (k, k)
    pivot: NDArray[np.int64]  # (k,)
    c: NDArray[np.float64]  # (k,) scratch
    moves: NDArray[np.float64]  # (3, nv) scratch
    unit: NDArray[np.float64]  # (n+1, 6) scratch
    saved: NDArray[np.float64]  # (nv,) scratch


def make_middle(n: int, nq: int, nv: int, gravity: NDArray[np.float64], rows: int = 0) -> Middle:
    """rows: three per spring between points, one per coordinate of a potential."""

    def zeros(*shape):
        return np.zeros(shape)

    middle = Middle(
        row=zeros(n + 1, 15), wrench=zeros(n + 1, 6), world=zeros(n + 1, 12), S0=zeros(nv, 6), S1=zeros(nv, 6), S2=zeros(nv, 6),
        start=zeros(nv), end=zeros(nv), size=zeros(nv),
        A=zeros(n + 1, 12, 12), U=zeros(nv, 12), W=zeros(nv, 12), B=zeros(nv, 6), H=zeros(6, 6),
        E=zeros(6, 6), X0=zeros(6, 6), T=zeros(12, 12), b=zeros(n + 1, 12), y=zeros(n + 1, 12),
        t=zeros(nv), q=zeros(nq), left=zeros(rows, nv), right=zeros(rows, nv), Y=zeros(rows, nv), C=zeros(rows, rows),
        pivot=np.zeros(rows, dtype=np.int64), c=zeros(rows), moves=zeros(3, nv), unit=zeros(n + 1, 6), saved=zeros(nv),
    )  # fmt: skip
    middle.row[0, GRAVITY : GRAVITY + 3] = gravity
    middle.world[0, [0, 4, 8]] = 1.0
    return middle


class Comparison(NamedTuple):
    """Memory of the solvers that the O(n) Newton is compared with (kernels/comparison.py)."""

    solver: int  # NEWTON, RIQN, BROYDEN or DENSE
    J: NDArray[np.float64]  # (nv, nv) dense Jacobian
    pivot: NDArray[np.int64]  # (nv,)
    steps: NDArray[np.float64]  # (max_evaluations + 1, nv) corrections of Broyden's method
    scratch: NDArray[np.float64]  # (n+1, 12) variations
    forces: NDArray[np.float64]  # (n+1, 12) their wrenches


def make_comparison(solver: int, n: int, nv: int, max_evaluations: int) -> Comparison:
    dense = nv if solver == DENSE else 0
    rows = max_evaluations + 1 if solver == BROYDEN else 0
    return Comparison(
        solver=solver, J=np.zeros((dense, dense)), pivot=np.zeros(dense, dtype=np.int64), steps=np.zeros((rows, nv)),
        scratch=np.zeros((n + 1, 12)), forces=np.zeros((n + 1, 12)),
    )  # fmt: skip
