"""The arrays of the maximal-coordinate kernels, and what stands where.

Every body has six degrees of freedom; its frame stands in its centre of mass, with the axes of the tree's kernels.  Row 0 of
per-body arrays is the world.  Constraints 0 to n-1 are the joints of the tree (joint of body i: constraint i - 1), closures follow.

b: Net, what does not change.  s: Flow, what does.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...joints.charts import SCRATCH, SCRATCH_ROWS
from ..tree import layout

_i = np.int64

# columns of Net.con, one row per constraint
BODY_A, BODY_B = _i(0), _i(1)  # rows of the bodies; of a gear: constraint numbers of its two joints
FIRST_ROW, ROWS = _i(2), _i(3)
FIRST_SLOT, SLOTS = _i(4), _i(5)
CON_KIND = _i(6)
CON_COLUMNS = 7

# kinds of constraints: rows between two frames; the others have files of their own (POSE: symbolic joints)
TWO_FRAMES, GEAR, SKATE, ROLLING, POSE = range(5)

# columns of Net.place, one row per constraint: frame a in body A, frame b in body B
A_P, A_R, B_P, B_R = _i(0), _i(3), _i(12), _i(15)
PLACE_COLUMNS = 24

# columns of Net.row: direction in body A, direction in body B, value; kinds as in constraints/rows.py
ROW_U, ROW_W, ROW_VALUE = _i(0), _i(3), _i(6)
ROW_COLUMNS = 7
POINT, DOT, DISTANCE, SCREW = range(4)

# columns of Net.slot: one row per pair (constraint, body) and where its block stands in the fronts
SLOT_BODY, SLOT_CON, SLOT_AT, SLOT_STRIDE, SLOT_C, SLOT_B = _i(0), _i(1), _i(2), _i(3), _i(4), _i(5)
SLOT_COLUMNS = 6

# columns of Net.front: offset of its matrix (stored column by column), pivots, size, offset of its unknowns in Net.index, parent front
# (or -1), numbers from one column to the next
F_AT, F_PIVOTS, F_SIZE, F_INDEX, F_PARENT, F_STRIDE = _i(0), _i(1), _i(2), _i(3), _i(4), _i(5)
FRONT_COLUMNS = 6

# columns of Flow.node and Flow.end: pose in the world
POSE_R, POSE_X, POSE_W, POSE_U = _i(0), _i(9), _i(12), _i(13)
POSE_COLUMNS = 16

# columns of Flow.disp: displacement over the step in the axes of its start
D_W, D_U, D_R, D_MOVE = _i(0), _i(1), _i(4), _i(13)  # quaternion, rotation; translation in world axes
DISP_COLUMNS = 16

QUATERNION = 2  # number of the retraction beside those of lie/retractions.py

# what a simulation in maximal coordinates remembers between calls of the time loop, after the numbers of kernels/layout.py: how much the
# first correction by a new factorisation shrank the residual; rate of the later ones over the size of the first; size of the first
RATE_EXACT, CURVATURE, FIRST_CORRECTION = range(layout.MEMORY, layout.MEMORY + 3)
MEMORY = layout.MEMORY + 3


class Net(NamedTuple):
    """A mechanism as bodies and constraints."""

    body: NDArray[np.float64]  # (n+1, BODY_COLUMNS) mass and inertia about the centre of mass; layout.MASS, MOMENT (0), INERTIA
    com: NDArray[np.float64]  # (n+1, 3) centre of mass in the frame of the tree kernels, m
    con: NDArray[np.int64]  # (nc, CON_COLUMNS)
    place: NDArray[np.float64]  # (nc, PLACE_COLUMNS)
    row_kind: NDArray[np.int64]  # (m,)
    row: NDArray[np.float64]  # (m, ROW_COLUMNS)
    symbolic: NDArray[np.int64]  # constraints of the kind POSE
    slot: NDArray[np.int64]  # (ns, SLOT_COLUMNS)
    block: NDArray[np.int64]  # (n+1, 2) where the 6x6 block of a body stands in the fronts: offset of its corner, stride
    damped: NDArray[np.int64]  # (k, 9) body and, for (c,c), (c,p), (p,c), (p,p), offset and stride of the 6x6 block
    front: NDArray[np.int64]  # (nf, FRONT_COLUMNS) in the order of elimination
    index: NDArray[np.int64]  # unknowns of each front: pivots, then what they are coupled to
    extend: NDArray[np.int64]  # for each of the latter its place in the parent front (same offsets as index)
    extent: float  # m, largest distance of a joint from the centre of mass of its bodies


class Jets(NamedTuple):
    """Scratch of kernels/forces/potentials.py, as in layout.Work."""

    x: NDArray[np.float64]  # (c,) what a generated energy is evaluated at, c the most coordinates of one
    jet: NDArray[np.float64]  # (1, 1 + c + c^2) the energy, its gradient and Hessian


class Flow(NamedTuple):
    """Memory of one simulation in maximal coordinates."""

    node: NDArray[np.float64]  # (n+1, POSE_COLUMNS) poses at the start of the step
    end: NDArray[np.float64]  # (n+1, POSE_COLUMNS) at its end
    apart: NDArray[np.float64]  # (nc, 3) from the centre of body A to the point of body B, world axes, at the start of the step
    apart_end: NDArray[np.float64]  # (nc, 3) at its end
    off: NDArray[np.float64]  # (m,) values of dot products of directions at the start of the step
    d: NDArray[np.float64]  # (6n + m,) unknowns: displacements (Cayley vector, translation) of bodies 1..n, then multipliers
    d_old: NDArray[np.float64]  # before the last correction
    d_last: NDArray[np.float64]  # of the last step
    step: NDArray[np.float64]  # correction being tried
    history: NDArray[np.float64]  # (6, 6n + m) backward differences of the unknowns over the last steps
    r: NDArray[np.float64]  # (6n + m,) residual: momenta, then constraints
    z: NDArray[np.float64]  # (6n + m,) solution of the linear system
    disp: NDArray[np.float64]  # (n+1, DISP_COLUMNS)
    mu: NDArray[np.float64]  # (n+1, 6) momenta leaving the start of the step, body axes
    x: NDArray[np.float64]  # (n+1, 6) retraction coordinates
    target: NDArray[np.float64]  # (n+1, 6) momenta the step has to start with
    target_last: NDArray[np.float64]  # before the joint forces of the step were added
    G0: NDArray[np.float64]  # (ns, 6, 6) constraint rows at the start: directions of constraint impulses
    G1: NDArray[np.float64]  # (ns, 6, 6) derivatives of the constraints in the end poses
    values: NDArray[np.float64]  # fronts, one after the other
    column: NDArray[np.float64]  # scratch as long as the longest column of a front
    swap: NDArray[np.int64]  # (6n + m,) row exchanges, by place in Net.index
    q: NDArray[np.float64]  # (nq,) joint coordinates at the start of the step
    q_end: NDArray[np.float64]  # (nq,) at its end
    dq: NDArray[np.float64]  # (nv,) joint increments
    load: NDArray[np.float64]  # (nv,) scratch for joint forces
    load_row: NDArray[np.float64]  # (1, nv) the same memory
    rate: NDArray[np.float64]  # (nv,) scratch for joint velocities
    zero: NDArray[np.float64]  # (nv,) zeros
    S: NDArray[np.float64]  # (nv, 6) joint columns
    Z: NDArray[np.float64]  # (nv, 4, 6) dual columns at start and end of damped joints, for child and parent
    wrench: NDArray[np.float64]  # (n+1, 6) scratch
    # of symbolic joints (maximal_symbolic.py)
    basis: NDArray[np.float64]  # (n+1, 6, 6) twists the joint of a body allows at the start of the step, then those it forbids
    dual: NDArray[np.float64]  # (nv, 6) dual columns
    small: NDArray[np.float64]  # (6, 6) scratch
    small_swap: NDArray[np.int64]  # (6,) scratch
    small_row: NDArray[np.float64]  # (6,) scratch
    inverse: NDArray[np.float64]  # (6, 6) scratch
    charts: NDArray[np.float64]  # (SCRATCH_ROWS, 6) scratch of joints/charts.py
    chart: NDArray[np.float64]  # (SCRATCH,) the same
    jets: Jets
    # of laws on bodies (laws.py)
    laws: layout.Laws
    law_world: NDArray[np.float64]  # (n+1, 12) poses of the bodies' origins, as in layout.Work.world; only if there are laws
    law_end: NDArray[np.float64]  # (n+1, 6) mean twists of the step in the axes of its end; likewise


def make_flow(
    n: int, nq: int, nv: int, m: int, nc: int, slots: int, size: int, longest: int, pivots: int, most: int, laws: int = 0
) -> Flow:  # fmt: skip
    """Memory for n bodies, m rows of nc constraints; most: largest number of coordinates a potential depends on;
    laws: number of laws on bodies."""

    def zeros(*shape):
        return np.zeros(shape)

    unknowns = 6 * n + m
    load = zeros(nv)
    flow = Flow(
        node=zeros(n + 1, POSE_COLUMNS), end=zeros(n + 1, POSE_COLUMNS), apart=zeros(nc, 3), apart_end=zeros(nc, 3), off=zeros(m),
        d=zeros(unknowns), d_old=zeros(unknowns), d_last=zeros(unknowns), step=zeros(unknowns), history=zeros(6, unknowns),
        r=zeros(unknowns), z=zeros(unknowns), disp=zeros(n + 1, DISP_COLUMNS), mu=zeros(n + 1, 6), x=zeros(n + 1, 6),
        target=zeros(n + 1, 6), target_last=zeros(n + 1, 6), G0=zeros(slots, 6, 6), G1=zeros(slots, 6, 6), values=zeros(size),
        column=zeros(longest), swap=np.zeros(pivots, dtype=np.int64), q=zeros(nq), q_end=zeros(nq), dq=zeros(nv), load=load,
        load_row=load.reshape(1, nv), rate=zeros(nv), zero=zeros(nv), S=zeros(nv, 6), Z=zeros(nv, 4, 6), wrench=zeros(n + 1, 6),
        basis=zeros(n + 1, 6, 6), dual=zeros(nv, 6), small=zeros(6, 6), small_swap=np.zeros(6, dtype=np.int64), small_row=zeros(6),
        inverse=zeros(6, 6), charts=zeros(SCRATCH_ROWS, 6), chart=zeros(SCRATCH), jets=Jets(zeros(most), zeros(1, 1 + most + most**2)),
        laws=layout.make_laws(n, laws), law_world=zeros(n + 1 if laws else 0, 12), law_end=zeros(n + 1 if laws else 0, 6),
    )  # fmt: skip
    for poses in (flow.node, flow.end):
        poses[0, [POSE_R, POSE_R + 4, POSE_R + 8, POSE_W]] = 1.0
    return flow
