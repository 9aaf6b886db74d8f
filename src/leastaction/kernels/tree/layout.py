"""The arrays kernels work on, and what stands where.

Row 0 of every per-body array is the world, body i is row i, parents come before children.  Body frames are the joints'
canonical frames: origin in the joint, z along the axis of a revolute joint.

m: Tree, what does not change.  w: Work, what does.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.records import allocate, floats, integers
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
LAW_BODY, LAW_ADDRESS, LAW_SLOPES, LAW_BASE = _i(0), _i(1), _i(2), _i(3)
LAW_PLACE = _i(4)  # no column: neither body, but the place itself
LAW_R, LAW_P, LAW_BASE_R, LAW_BASE_P = _i(0), _i(9), _i(12), _i(21)
LAW_COLUMNS = _i(24)

# columns of Tree.pair, springs between two points
PAIR_A, PAIR_B, PAIR_STIFFNESS, PAIR_LENGTH = _i(0), _i(3), _i(6), _i(7)
PAIR_COLUMNS = _i(8)

# columns of Tree.servo
SERVO_KP, SERVO_KD, SERVO_LOW, SERVO_HIGH = _i(0), _i(1), _i(2), _i(3)
SERVO_COLUMNS = _i(4)

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
MU = _i(28)  # 6  momentum of the body at the start of the step, body axes
F = _i(34)  # 6  wrench or momentum passed towards the root (angular, linear)
ETA = _i(40)  # 6  twist or variation passed towards the leaves
ROW_COLUMNS = _i(46)

# columns of Work.factor, one row per degree of freedom:  u = A s+, w = A' s, 1/d
U, W, DINV = _i(0), _i(6), _i(12)
FACTOR_COLUMNS = _i(13)

# columns of Work.linear, one row per body: the poses a factorisation was made at, and the articulated blocks
L_R, L_P, L_R1, L_P1 = _i(0), _i(9), _i(12), _i(21)  # X at the start and at the end of the step
LINEAR_COLUMNS = _i(24)
AA, AL, LA, LL = _i(0), _i(1), _i(2), _i(3)  # 3x3 blocks of Work.art: entry 3 r + c of all four, then the next


QUADRATURES = ("trapezoid", "midpoint")


class Tree(NamedTuple):
    """A compiled mechanism as the kernels see it."""

    link: integers("n+1", LINK_COLUMNS)  # parent row, joint kind, first coordinate, first dof, their number, two charts?
    body: floats("n+1", BODY_COLUMNS)
    param: floats("n+1", "parameters")  # of the joints
    gravity: floats(3)  # world axes, m/s^2
    has_charts: int
    has_springs: int
    has_dampers: int
    has_armature: int
    has_friction: int
    stiffness: floats("nv")  # joint springs
    rest: floats("nq")  # their rest coordinates
    damping: floats("nv")  # viscous dampers
    felt: floats("unequal")  # inertia that degrees of freedom feel, where they are very unequal; otherwise empty: solving/sizes.py
    armature: floats("nv")  # inertia of rotors that turn with a coordinate: kinetic energy armature v^2 / 2
    friction: floats("nv")  # dry friction: the force up to which a coordinate at rest is held, and that opposes it when it moves
    servo_on: integers("servos", 2)  # degree of freedom that a servo drives, and its coordinate
    servo: floats("servos", SERVO_COLUMNS)  # kp, kd, lowest and highest force
    wrench_on: integers("wrenches", 2)  # body row, BODY_FIXED or WORLD_FIXED
    wrench: floats("wrenches", WRENCH_COLUMNS)  # force, moment, point, canonical body axes (or world axes)
    custom: integers("customs")  # addresses of compiled user forces
    law_on: integers("laws", 4)  # laws on a body: its row, address, does it know its slopes? row of the body it is seen from, or -1
    law_at: floats("laws", LAW_COLUMNS)  # poses of the place a law acts at and of the one it is seen from, in canonical body frames
    law_param: floats("laws", "law_parameters")
    pair_on: integers("pairs", 3)  # springs between two points: body rows a and b, address of the energy of the distance or 0
    pair: floats("pairs", PAIR_COLUMNS)  # points a and b in canonical body axes, m; stiffness, N/m, and length, m, if linear
    energy_on: integers("energies+1", 2)  # potentials of coordinates: address, first row of energy_at; a last row ends the last one
    energy_at: integers("energy_arguments", 2)  # the coordinates they depend on: entry of q, entry of v
    energy_param: floats("pairs+energies", "energy_parameters")  # parameters of generated energies


def with_laws(m: Tree, kept: NDArray[np.bool_]) -> Tree:
    """The mechanism with these of its laws on bodies only."""
    return m._replace(law_on=m.law_on[kept], law_at=m.law_at[kept], law_param=m.law_param[kept])


class Laws(NamedTuple):
    """Memory of the laws on bodies."""

    twist: floats("n+1", 6)  # of the bodies, body axes: written by the system before `law_wrenches`
    wrench: floats("n+1", 6)  # what all laws do to the bodies, at their origins, body axes
    place: floats("laws", 12)  # pose of the place of each law where it was last evaluated, in the world or where it is seen from
    rate: floats("laws", 6)  # its twist there
    time: floats("laws")
    slope: floats("laws", 72)  # (6, 12) derivative of W in the pose of the place (turned, then moved, in its axes) and in its twist
    damping: floats(6, 6)  # derivative of the wrench on a body in its twist
    left: floats("couplings", "nv")  # rows of laws between two bodies, see law_couplings.py
    right: floats("couplings", "nv")
    Y: floats("couplings", "nv")  # J^-1 left
    C: floats("couplings", "couplings")
    pivot: integers("couplings")
    c: floats("couplings")
    saved: floats("nv")  # scratch
    unit: floats("n+1", 6)  # scratch
    factors: floats(2, 6)  # scratch


class Actuation(NamedTuple):
    """Memory of servos and dry friction: kernels/tree/actuation.py."""

    aim: floats("2*servos")  # targets of the servos in the step: coordinates, then velocities
    drive: floats("nv")  # forces of servos and dry friction in the step
    size: floats(1)  # largest part of an impulse of them
    push: floats("nv")  # what the momentum at the node has of their impulse already
    kick: floats(1)  # time that impulse stands for, s
    slope: floats("nv")  # by how much the impulse falls as d grows; infinite where a joint sticks
    slope_used: floats("nv")  # the same in the factorisation at hand
    grip: floats("nv")  # impulses of dry friction
    pull: floats("nv")  # residual of joints with dry friction that are at rest
    stopped: floats("nv")  # 1 where the last correction brought a joint with dry friction to rest
    turned: floats(1)  # 1 if it did so anywhere, ended between the limits of a servo, or if a joint at rest is let go now


class Charts(NamedTuple):
    """Scratch of joints/charts.py."""

    rows: floats(SCRATCH_ROWS, 6)
    numbers: floats(SCRATCH)


class Work(NamedTuple):
    """Memory of one simulation.  Each kernel says what it reads and writes."""

    row: floats("n+1", ROW_COLUMNS)
    q: floats("nq")  # coordinates at the start of the step
    d: floats("nv")  # increment over the step: the unknown
    d_old: floats("nv")  # increment before the last correction
    d_last: floats("nv")  # increment of the last step
    r: floats("nv")  # residual, kg m/s or kg m^2/s
    z: floats("nv")  # solution of the last linear system
    step: floats("nv")  # correction being tried
    target: floats("nv")  # momentum the step has to start with, half kick included
    target_last: floats("nv")  # the same before the joint forces of the step were added
    load: floats("nv")  # scratch for joint-space forces
    history: floats(6, "nv")  # backward differences of the increments of the last steps
    S0: floats("nv", 6)  # joint columns at the start of the step
    S1: floats("nv", 6)  # at its end
    factor: floats("nv", FACTOR_COLUMNS)
    linear: floats("n+1", LINEAR_COLUMNS)
    art: floats("n+1", 36)  # articulated blocks AA, AL, LA, LL
    world: floats("n+1", 12)  # pose in the world: rotation, position; only where a force needs it
    x: floats("most")  # what a generated energy is evaluated at; most: the most coordinates of one
    jet: floats(1, "1 + most + most**2")  # its value, gradient and Hessian
    laws: Laws  # None where there are none: Numba then compiles without them
    actuation: Actuation  # the same for servos and dry friction
    charts: Charts  # and for joints with two charts; both None in a plain model and for kernels that do not need them (Model.make_work)


def make_work(n: int, nq: int, nv: int, most: int = 1, laws: int = 0, between: int = 0) -> Work:
    """most: largest number of coordinates a potential depends on; laws: number of laws on bodies, of which `between` couple two bodies."""
    without = {} if laws else {"laws": None}
    sizes = {"n": n, "nq": nq, "nv": nv, "most": most, "laws": laws, "couplings": 6 * between}
    work = allocate(Work, sizes, actuation=None, charts=None, **without)
    work.row[0, [R, R + 4, R + 8, DW]] = 1.0
    work.world[0, [0, 4, 8]] = 1.0
    return work


class Middle(NamedTuple):
    """Memory of the midpoint quadrature (kernels/tree/midpoint_quadrature.py)."""

    row: floats("n+1", 15)  # pose in the parent, gravity, columns R, P, GRAVITY as in Work.row
    wrench: floats("n+1", 6)  # wrench on the body and everything beyond it
    world: floats("n+1", 12)  # rotation and position in the world; only where a force needs it
    S0: floats("nv", 6)  # midpoint twist per variation of the start
    S1: floats("nv", 6)  # ... of the increment
    S2: floats("nv", 6)  # ... of the end
    start: floats("nv")  # midpoint forces on the start of the step
    end: floats("nv")  # on its end
    size: floats("nv")  # magnitude of what cancels in `start`
    A: floats("n+1", 12, 12)  # articulated blocks
    U: floats("nv", 12)
    W: floats("nv", 12)
    B: floats("nv", 6)  # inverse joint blocks
    H: floats(6, 6)  # scratch
    E: floats(6, 6)  # scratch
    X0: floats(6, 6)  # scratch
    T: floats(12, 12)  # scratch
    b: floats("n+1", 12)  # wrenches of the solve
    y: floats("n+1", 12)  # variations of the solve
    t: floats("nv")  # scratch
    q: floats("nq")  # coordinates half way, those without quaternions
    left: floats("rows", "nv")  # rows of potentials between bodies, see midpoint_potentials.py
    right: floats("rows", "nv")
    Y: floats("rows", "nv")  # J^-1 left
    C: floats("rows", "rows")
    pivot: integers("rows")
    c: floats("rows")  # scratch
    moves: floats(3, "nv")  # scratch
    unit: floats("n+1", 6)  # scratch
    saved: floats("nv")  # scratch


def make_middle(n: int, nq: int, nv: int, gravity: NDArray[np.float64], rows: int = 0) -> Middle:
    """rows: three per spring between points, one per coordinate of a potential."""
    middle = allocate(Middle, {"n": n, "nq": nq, "nv": nv, "rows": rows})
    middle.row[0, GRAVITY : GRAVITY + 3] = gravity
    middle.world[0, [0, 4, 8]] = 1.0
    return middle
