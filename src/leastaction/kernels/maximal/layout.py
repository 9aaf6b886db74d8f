"""The arrays of the maximal-coordinate kernels, and what stands where.

Every body has six degrees of freedom; its frame stands in its centre of mass, with the axes of the tree's kernels.  Row 0 of
per-body arrays is the world.  Constraints 0 to n-1 are the joints of the tree (joint of body i: constraint i - 1), closures follow.

b: Net, what does not change.  s: Flow, what does.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling.records import allocate, floats, integers
from ...joints.charts import SCRATCH, SCRATCH_ROWS
from ..tree import layout

_i = np.int64

# columns of Net.con, one row per constraint
BODY_A, BODY_B = _i(0), _i(1)  # rows of the bodies; of a gear: constraint numbers of its two joints
FIRST_ROW, ROWS = _i(2), _i(3)
FIRST_SLOT, SLOTS = _i(4), _i(5)
CON_KIND = _i(6)
CON_COLUMNS = 7

# kinds of constraints: rows between two frames; the others have files of their own (POSE: symbolic joints; FUNCTION: of coordinates;
# SKATE to ELLIPSOID: velocities; CLOSING: symbolic joints that close loops; ROUGH: dry friction)
TWO_FRAMES, GEAR, POSE, FUNCTION, SKATE, ROLLING, BALL, SPHERE, ELLIPSOID, CLOSING, ROUGH = range(11)

# columns of Net.place, one row per constraint: frame a in body A, frame b in body B
A_P, A_R, B_P, B_R = _i(0), _i(3), _i(12), _i(15)
PLACE_COLUMNS = 24

# columns of Net.row: direction in body A (of WORLD: in the world), direction in body B, value; Net.row_kind is a kind of joints/rows.py.
# Of a ball on a sphere: U is how far their centres are apart, W is 1 outside of the sphere and -1 inside.  Of an ellipsoid: W are its half
# axes.  Of CLOSING: the value says which of the directions that the joint forbids it is
ROW_U, ROW_W, ROW_VALUE = _i(0), _i(3), _i(6)
ROW_COLUMNS = 7

# columns of Net.slot: one row per pair (constraint, body) and where its block stands in the fronts
SLOT_BODY, SLOT_CON, SLOT_AT, SLOT_STRIDE, SLOT_C, SLOT_B = _i(0), _i(1), _i(2), _i(3), _i(4), _i(5)
SLOT_COLUMNS = 6

# columns of Net.front: offset of its matrix (stored column by column), pivots, size, offset of its unknowns in Net.index, parent front
# (or -1), numbers from one column to the next
F_AT, F_PIVOTS, F_SIZE, F_INDEX, F_PARENT, F_STRIDE = _i(0), _i(1), _i(2), _i(3), _i(4), _i(5)
FRONT_COLUMNS = 6

# columns of Net.function: constraint, address of the compiled h(q, t) or g(q, v, t), first of its arguments, their number, is it g?
FN_CON, FN_ADDRESS, FN_FIRST, FN_COUNT, FN_SPEED = _i(0), _i(1), _i(2), _i(3), _i(4)
FUNCTION_COLUMNS = 5

# columns of Net.argument: body of the joint, place of the coordinate in q, in v, slot of the joint's parent (that of the body is next)
ARG_BODY, ARG_Q, ARG_V, ARG_SLOT = _i(0), _i(1), _i(2), _i(3)
ARGUMENT_COLUMNS = 4

# columns of Rough.on: body of the joint, place of the coordinate in v, in q, unknown of its impulse, slot of the joint's parent (that of
# the body is next), row of the constraint, place of its diagonal in the fronts
RUB_BODY, RUB_V, RUB_Q, RUB_AT, RUB_SLOT, RUB_ROW, RUB_DIAGONAL = _i(0), _i(1), _i(2), _i(3), _i(4), _i(5), _i(6)
RUB_COLUMNS = 7

# blocks of the Newton matrix in Half.joint, Half.spring and Half.energy, rows and columns: E the six unknowns of a body, M the twelve that
# it has half way (zeta, kappa), P those of its parent.  Each block: offset and stride, or -1.  Of springs and energies only the first four,
# with the two bodies (M) of the spring, or the bodies (E) of the one joint and those of the other, in place of body and parent
E_E, E_PE, PE_E, PE_PE, E_M, PE_M, M_E, M_PE, M_M, M_PM, PM_M, PM_E, PM_PE = range(13)
BLOCKS = 13

# columns of Flow.node and Flow.end: pose in the world
POSE_R, POSE_X, POSE_W, POSE_U = _i(0), _i(9), _i(12), _i(13)
POSE_COLUMNS = 16

# columns of Flow.disp: displacement over the step in the axes of its start
D_W, D_U, D_R, D_MOVE = _i(0), _i(1), _i(4), _i(13)  # quaternion, rotation; translation in world axes
DISP_COLUMNS = 16


class Loops(NamedTuple):
    """Joints given by their pose that close loops (closing.py): what they are, and their memory, named as in Tree and Flow."""

    con: integers("loops")  # their constraints
    link: integers("loops", layout.LINK_COLUMNS)  # KIND, QI, VI, NV, CHARTED; seven coordinates and six velocities for each
    param: floats("loops", "loop_parameters")
    q: floats("7*loops")  # coordinates at the start of the step
    q_end: floats("7*loops")  # at its end
    S: floats("6*loops", 6)  # columns
    basis: floats("loops", 6, 6)  # twists the joint allows at the start of the step, then those it forbids
    zero: floats("6*loops")  # zeros
    rate: floats("6*loops")  # scratch: velocities
    small: floats(6, 6)  # scratch
    small_swap: integers(6)  # scratch
    small_row: floats(6)  # scratch
    inverse: floats(6, 6)  # scratch
    charts: floats(SCRATCH_ROWS, 6)  # scratch of joints/charts.py
    chart: floats(SCRATCH)  # the same


class Rough(NamedTuple):
    """Joint coordinates with dry friction: friction.py."""

    on: integers("rubs", RUB_COLUMNS)
    inertia: floats("rubs")  # of the body about the joint, kg m^2 or kg
    slides: floats("rubs")  # which way in the last residual, 1 or -1; 0 where it sticks
    slides_before: floats("rubs")  # in the residual before
    slides_used: floats("rubs")  # in the factorisation at hand
    count: floats(1)  # evaluations of this attempt


class Way(NamedTuple):
    """A step as kernels/tree looks at it, named as in Work: arrays of Flow."""

    q: floats("nq")
    d: floats("nv")
    load: floats("nv")
    x: floats("most")
    jet: floats(1, "1 + most + most**2")


class Half(NamedTuple):
    """Memory of the midpoint quadrature (half_way.py); what is also in layout.Middle is named as there."""

    joint: integers("n", 2 * BLOCKS)  # where the blocks of every body stand in the fronts
    spring: integers("pairs", 8)  # of springs between points
    energy: integers("curvatures", 8)  # of pairs of coordinates that an energy depends on, energy by energy
    row: floats("n+1", 15)
    wrench: floats("n+1", 6)
    world: floats("n+1", 12)
    S0: floats("nv", 6)
    S1: floats("nv", 6)
    S2: floats("nv", 6)
    start: floats("nv")
    end: floats("nv")
    size: floats("nv")
    q: floats("nq")
    H: floats(6, 6)  # scratch
    E: floats(6, 6)  # scratch
    X0: floats(6, 6)  # scratch
    carry: floats(6, 6)  # scratch: row c is the twist of a body that moves with its parent, which has the unit twist c
    turned: floats(6)  # scratch
    unit: floats(6, 2, 6)  # scratch
    pushed: floats("n+1", 6)  # scratch
    kept: floats("nv")  # scratch


class Special(NamedTuple):
    """Constraints that few mechanisms have: constraints.py."""

    velocity: integers("velocities")  # those on velocities
    symbolic: integers("symbolics")  # of the kind POSE
    function: integers("functions", FUNCTION_COLUMNS)  # of the kind FUNCTION
    argument: integers("arguments", ARGUMENT_COLUMNS)  # of all functions


class Net(NamedTuple):
    """A mechanism as bodies and constraints."""

    body: floats("n+1", layout.BODY_COLUMNS)  # mass and inertia about the centre of mass; layout.MASS, MOMENT (0), INERTIA
    com: floats("n+1", 3)  # centre of mass in the frame of the tree kernels, m
    con: integers("nc", CON_COLUMNS)
    place: floats("nc", PLACE_COLUMNS)
    row_kind: integers("m")
    row: floats("m", ROW_COLUMNS)
    special: Special  # None where there is nothing of its kinds: Numba then compiles without them
    slot: integers("ns", SLOT_COLUMNS)
    block: integers("n+1", 2)  # where the 6x6 block of a body stands in the fronts: offset of its corner, stride
    damped: integers("dampers", 9)  # dampers and rotors: body and, for (c,c), (c,p), (p,c), (p,p), offset and stride of the 6x6 block
    front: integers("nf", FRONT_COLUMNS)  # in the order of elimination
    index: integers("indices")  # unknowns of each front: pivots, then what they are coupled to
    extend: integers("indices")  # for each of the latter its place in the parent front (same offsets as index)
    extent: float  # m, largest distance of a joint from the centre of mass of its bodies


class Jets(NamedTuple):
    """Scratch of kernels/forces/potentials.py, as in layout.Work."""

    x: floats("most")  # what a generated energy is evaluated at; most: the most coordinates of one
    jet: floats(1, "1 + most + most**2")  # the energy, its gradient and Hessian


class Flow(NamedTuple):
    """Memory of one simulation in maximal coordinates."""

    node: floats("n+1", POSE_COLUMNS)  # poses at the start of the step
    end: floats("n+1", POSE_COLUMNS)  # at its end
    apart: floats("nc", 3)  # from the centre of body A to the point of body B, world axes, at the start of the step
    apart_end: floats("nc", 3)  # at its end
    off: floats("m")  # values of dot products of directions at the start of the step
    d: floats("6*n + m")  # unknowns: displacements (Cayley vector, translation) of bodies 1..n, then multipliers
    d_old: floats("6*n + m")  # before the last correction
    d_last: floats("6*n + m")  # of the last step
    step: floats("6*n + m")  # correction being tried
    history: floats(6, "6*n + m")  # backward differences of the unknowns over the last steps
    r: floats("6*n + m + beside")  # residual: momenta, then constraints, then zeros for what only the linear system knows (half_way.py)
    z: floats("6*n + m + beside")  # solution of the linear system
    disp: floats("n+1", DISP_COLUMNS)
    mu: floats("n+1", 6)  # momenta leaving the start of the step, body axes
    x: floats("n+1", 6)  # retraction coordinates
    target: floats("n+1", 6)  # momenta the step has to start with
    target_last: floats("n+1", 6)  # before the joint forces of the step were added
    G0: floats("ns", 6, 6)  # constraint rows at the start: directions of constraint impulses
    G1: floats("ns", 6, 6)  # derivatives of the constraints in the end poses
    values: floats("size")  # fronts, one after the other
    column: floats("longest")  # scratch as long as the longest column of a front
    swap: integers("indices")  # row exchanges, by place in Net.index
    q: floats("nq")  # joint coordinates at the start of the step
    q_end: floats("nq")  # at its end
    dq: floats("nv")  # joint increments
    load: floats("nv")  # scratch for joint forces
    load_row: floats(1, "nv")  # the same memory
    rate: floats("nv")  # scratch for joint velocities
    zero: floats("nv")  # zeros
    S: floats("nv", 6)  # joint columns
    Z: floats("nv", 4, 6)  # dual columns at start and end of damped joints, for child and parent
    wrench: floats("n+1", 6)  # scratch
    # of symbolic joints (kernels/maximal/symbolic.py)
    basis: floats("n+1", 6, 6)  # twists the joint of a body allows at the start of the step, then those it forbids
    dual: floats("nv", 6)  # dual columns
    small: floats(6, 6)  # scratch
    small_swap: integers(6)  # scratch
    small_row: floats(6)  # scratch
    inverse: floats(6, 6)  # scratch
    charts: floats(SCRATCH_ROWS, 6)  # scratch of joints/charts.py
    chart: floats(SCRATCH)  # the same
    jets: Jets
    # of laws on bodies (laws.py)
    laws: layout.Laws  # None where there are none
    law_world: floats("(n+1)*(laws>0)", 12)  # poses of the bodies' origins, as in layout.Work.world; only if there are laws
    law_end: floats("(n+1)*(laws>0)", 6)  # mean twists of the step in the axes of its end; likewise
    # of constraints on joint coordinates (functions.py)
    time: floats(2)  # at which constraints hold: of the end of the step, s; its length, 0 at a node
    argument: floats("arguments")  # coordinates
    argument_rate: floats("arguments")  # their rates, for those on velocities
    slope: floats("2*arguments")  # derivatives in them; the second half is scratch
    drift: floats("functions")  # and in time
    loops: Loops  # None where no loop is closed by a joint given by its pose
    actuation: layout.Actuation  # None where there are neither servos nor dry friction
    rough: Rough  # None where there is no dry friction
    half: Half | None  # None where potentials act at both ends of the step


def make_flow(sizes: Mapping[str, int], loops: Loops | None = None, rough: Rough | None = None, half: Half | None = None) -> Flow:
    """Memory for n bodies, m rows of nc constraints with ns slots; most: largest number of coordinates a potential depends on."""
    load = np.zeros(sizes["nv"])
    without = {"laws": None} if not sizes["laws"] else {}
    if not sizes["servos"] and rough is None:
        without["actuation"] = None
    flow = allocate(Flow, sizes, load=load, load_row=load.reshape(1, -1), loops=loops, rough=rough, half=half, **without)
    for poses in (flow.node, flow.end):
        poses[0, [POSE_R, POSE_R + 4, POSE_R + 8, POSE_W]] = 1.0
    return flow


def make_half(sizes: Mapping[str, int], gravity: NDArray[np.float64], **tables) -> Half:
    """tables: joint, spring, energy."""
    half = allocate(Half, sizes, **tables)
    half.row[0, layout.GRAVITY : layout.GRAVITY + 3] = gravity
    half.world[0, [0, 4, 8]] = 1.0
    return half
