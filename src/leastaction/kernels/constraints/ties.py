"""Constraints of a tree: values h(q) and the dense Jacobian Dh (rows x nv) at a node and at the end of a step.

Rows between two frames are those of kernels/maximal/rows.py, here between bodies that hang on a tree: their derivative in the pose of a
body is a wrench, and moving it towards the root gives the derivative in the joints.  What the joints of both bodies have in
common cancels, so the walk ends at their common ancestor (not for rows along directions of the world).  Other rows
are functions of coordinates: linear ones (gears) and generated ones (symbolic/constraint_module.py).  Rows that
restrict velocities are in speeds.py.
"""

from typing import NamedTuple

import numpy as np

from ...compiling.address import call_joint
from ...compiling.decorators import kernel
from ...compiling.records import floats, integers
from ...joints import dispatch
from ...lie.algebra import add, load3, load9, matmul, matvec, quat_rotate_minus, quat_to_matrix, store3, store9, sub
from ..maximal.closing import loop_gradients, loop_nodes, loop_values
from ..maximal.layout import (
    B_P,
    BODY_A,
    BODY_B,
    CLOSING,
    CON_COLUMNS,
    CON_KIND,
    FIRST_ROW,
    FIRST_SLOT,
    PLACE_COLUMNS,
    POSE_COLUMNS,
    POSE_R,
    POSE_X,
    ROW_COLUMNS,
    ROWS,
    TWO_FRAMES,
    Loops,
)
from ..maximal.rows import two_frame_gradient, two_frame_values
from ..tree.layout import DT, DU, DW, KIND, L_P1, L_R1, NV, PARENT, VI, P, R
from ..tree.loads import world_poses
from ..tree.spatial import column_dot, wrench_to_parent
from .speeds import Speeds, speed_gradients, speed_nodes, speed_values, velocity_rows

_i = np.int64

# what a generated row can be asked for: see symbolic/constraint_module.py
VALUE, GRADIENT, SECOND = range(3)

# columns of Ties.gear: row, places of the two coordinates in q and v
GEAR_ROW, GEAR_Q1, GEAR_V1, GEAR_Q2, GEAR_V2 = _i(0), _i(1), _i(2), _i(3), _i(4)
# columns of Ties.call: row, address of the compiled function, first argument, number of arguments
CALL_ROW, CALL_ADDRESS, CALL_FIRST, CALL_COUNT = _i(0), _i(1), _i(2), _i(3)

RANK = 0  # of the Schur complement, in Ties.rank


class Ties(NamedTuple):
    """Constraints of a tree: m rows, what they are and the memory to solve with them."""

    # what does not change
    con: integers("nc", CON_COLUMNS)  # constraints between two frames, as in maximal/layout.py; BODY_A, BODY_B are anchors
    place: floats("nc", PLACE_COLUMNS)
    row_kind: integers("m")  # only of rows between frames
    row: floats("m", ROW_COLUMNS)
    anchor: integers("na")  # body rows that constraints act on; anchor 0 is the world
    top: integers("nc")  # common ancestor of the two bodies; 0 if directions of the world matter
    only_speed: integers("m")  # does a row restrict nothing but velocities?
    speeds: Speeds  # None in a plain model (Model.is_plain): Numba then compiles without them
    gear: integers("ng", 5)
    ratio: floats("ng", 2)  # ratio, offset:  q1 = ratio q2 + offset
    call: integers("ns", 4)
    argument: integers("nx", 2)  # places of the arguments of generated rows in q and v
    least: floats("m")  # smallest displacement errors are compared with, in the unit of the row
    momentum: floats(1)  # the same for momenta
    # memory
    start: floats("na", POSE_COLUMNS)  # poses of the anchors in the world at the start of the step
    end: floats("na", POSE_COLUMNS)  # at its end
    apart: floats("nc", 3)  # from the origin of body A to the point of body B, world axes, at the start of the step
    apart_end: floats("nc", 3)  # at its end
    G: floats("2*nc", 6, 6)  # derivatives in the poses of the bodies
    J0: floats("m", "nv")  # Dh at the start: directions of the constraint impulses
    J1: floats("m", "nv")  # Dh at the end, per unit of the increment
    Y: floats("m", "nv")  # what a unit impulse of each row does to the increment
    S: floats("m", "m")  # Schur complement J1 Y', factorised
    swap: integers(2, "m")  # exchanges of its rows and columns
    rank: integers(1)
    value: floats("m")  # h, of rows on velocities over the step
    rate: floats("m")  # partial derivative of h in time; -b of rows A v = b
    size: floats("m")  # displacement errors are compared with
    lam: floats("m")  # multipliers: impulses
    lam_old: floats("m")  # before the last correction
    lam_last: floats("m")  # of the last step
    step: floats("m")  # correction being tried
    history: floats(6, "m")
    keep: floats("nv")  # scratch
    x: floats("nx")  # arguments of generated rows
    x_rate: floats("nx")  # their rates
    slope: floats("2*nx")  # derivatives in them, of velocity constraints in the rates, then in the arguments
    loops: Loops  # joints given by their pose; None where there are none


@kernel
def row_values(m, w, con, poses, apart, t, f):
    """c.value = h at the poses of the anchors and the coordinates q + f d."""
    for k in range(con.con.shape[0]):
        if con.con[k, CON_KIND] == TWO_FRAMES:
            two_frame_values(con, poses, apart, k, con.value, con.con[k, FIRST_ROW])
    for g in range(con.gear.shape[0]):
        first = w.q[con.gear[g, GEAR_Q1]] + f * w.d[con.gear[g, GEAR_V1]]
        second = w.q[con.gear[g, GEAR_Q2]] + f * w.d[con.gear[g, GEAR_V2]]
        con.value[con.gear[g, GEAR_ROW]] = first - con.ratio[g, 0] * second - con.ratio[g, 1]
    loop_values(con.loops, con, poses, apart, f != 0.0, con.value, 0)
    set_arguments(w, con, f)
    for s in range(con.call.shape[0]):
        k = con.call[s, CALL_FIRST]
        con.value[con.call[s, CALL_ROW]] = call_joint(con.call[s, CALL_ADDRESS], VALUE, m.param, 0, con.x, k, con.x_rate, k, t, None)[0]


@kernel
def set_arguments(w, con, f):
    for e in range(con.argument.shape[0]):
        con.x[e] = w.q[con.argument[e, 0]] + f * w.d[con.argument[e, 1]]


@kernel
def gradients(m, w, con, poses, apart, X, at_R, at_P, S, t, h, J):
    """J = Dh (m, nv); X[:, at_R:] and X[:, at_P:] are the poses in the parents, S the joint columns.  Also c.rate.

    h: length of the step that ends here, zero at a node.
    """
    for a in range(J.shape[0]):
        con.rate[a] = 0.0
        for j in range(J.shape[1]):
            J[a, j] = 0.0
    loop_gradients(con.loops, con, poses, apart, h != 0.0, con.G)
    for k in range(con.con.shape[0]):
        if con.con[k, CON_KIND] == TWO_FRAMES:
            two_frame_gradient(con, poses, apart, k, con.G)
        elif con.con[k, CON_KIND] != CLOSING:
            velocity_rows(con.speeds, w, con, k, h)
        for side in range(2):
            pull_back(m, con, k, side, X, at_R, at_P, S, J)
    for g in range(con.gear.shape[0]):
        J[con.gear[g, GEAR_ROW], con.gear[g, GEAR_V1]] += 1.0
        J[con.gear[g, GEAR_ROW], con.gear[g, GEAR_V2]] -= con.ratio[g, 0]
    for s in range(con.call.shape[0]):
        a, k = con.call[s, CALL_ROW], con.call[s, CALL_FIRST]
        con.rate[a] = call_joint(con.call[s, CALL_ADDRESS], GRADIENT, m.param, 0, con.x, k, con.x_rate, k, t, con.slope)[0]
        for e in range(k, k + con.call[s, CALL_COUNT]):
            J[a, con.argument[e, 1]] += con.slope[e]
    speed_gradients(con.speeds, m, w, con, t, h, J)


@kernel
def pull_back(m, con, k, side, X, at_R, at_P, S, J):
    """Add what the joints between body A (side 0) or B (1) of constraint k and their common ancestor contribute."""
    link, top = m.link, con.top[k]
    body = con.anchor[con.con[k, BODY_B if side else BODY_A]]
    slot = con.con[k, FIRST_SLOT] + side
    for e in range(con.con[k, ROWS]):
        a = con.con[k, FIRST_ROW] + e
        moment = (con.G[slot, e, 0], con.G[slot, e, 1], con.G[slot, e, 2])
        force = (con.G[slot, e, 3], con.G[slot, e, 4], con.G[slot, e, 5])
        i = body
        while i != top:
            v = link[i, VI]
            if dispatch.turns_about_z(link[i, KIND]):
                J[a, v] += moment[2]
            else:
                for j in range(v, v + link[i, NV]):
                    J[a, j] += column_dot(S, j, moment, force)
            moment, force = wrench_to_parent(load9(X, i, at_R), load3(X, i, at_P), moment, force)
            i = link[i, PARENT]


@kernel
def place_anchors(m, w, con):
    """c.start = poses of the anchors at the node, and c.apart.  Reads R, P; writes Work.world."""
    world_poses(m, w)
    for a in range(1, con.anchor.shape[0]):
        i = con.anchor[a]
        store9(con.start, a, POSE_R, load9(w.world, i, 0))
        store3(con.start, a, POSE_X, load3(w.world, i, 9))
    for k in range(con.con.shape[0]):
        A, B = con.con[k, BODY_A], con.con[k, BODY_B]
        point = matvec(load9(con.start, B, POSE_R), load3(con.place, k, B_P))
        store3(con.apart, k, 0, add(sub(load3(con.start, B, POSE_X), load3(con.start, A, POSE_X)), point))


@kernel
def constrain_node(m, w, con, t):
    """c.value and c.J0 at the node w.q, which `set_node` has set; returns the largest |h|."""
    place_anchors(m, w, con)
    loop_nodes(con.loops, con, con.start, con.apart)
    row_values(m, w, con, con.start, con.apart, t, 0.0)
    speed_nodes(con.speeds, con)
    gradients(m, w, con, con.start, con.apart, w.row, R, P, w.S0, t, 0.0, con.J0)
    top = 0.0
    for a in range(con.value.shape[0]):
        top = max(top, abs(con.value[a]))
    return top


@kernel
def largest_slip(con, v):
    """Largest |A v - b| of the rows that restrict nothing but velocities, at the node of J0."""
    top = 0.0
    for a in range(con.only_speed.shape[0]):
        if con.only_speed[a]:
            slip = con.rate[a]
            for j in range(v.shape[0]):
                slip += con.J0[a, j] * v[j]
            top = max(top, abs(slip))
    return top


@kernel
def constrain_end(m, w, con, t, h):
    """c.value at the end t of the step of length h with the displacements of the last residual: O(1) for each constraint."""
    for a in range(1, con.anchor.shape[0]):
        i = con.anchor[a]
        Q = load9(con.start, a, POSE_R)
        store9(con.end, a, POSE_R, matmul(Q, quat_to_matrix(w.row[i, DW], load3(w.row, i, DU))))
    for k in range(con.con.shape[0]):  # what the step adds is small: little is lost by rounding however long the mechanism is
        A, B = con.con[k, BODY_A], con.con[k, BODY_B]
        i, j = con.anchor[A], con.anchor[B]
        point = load3(con.place, k, B_P)
        moved = add(load3(w.row, j, DT), quat_rotate_minus(w.row[j, DW], load3(w.row, j, DU), point))
        moved = sub(matvec(load9(con.start, B, POSE_R), moved), matvec(load9(con.start, A, POSE_R), load3(w.row, i, DT)))
        store3(con.apart_end, k, 0, add(load3(con.apart, k, 0), moved))
    row_values(m, w, con, con.end, con.apart_end, t, 1.0)
    speed_values(con.speeds, m, w, con, t, h)


@kernel
def end_jacobian(m, w, con, t, h):
    """c.J1 where `assemble` has put the poses and columns of the end."""
    gradients(m, w, con, con.end, con.apart_end, w.linear, L_R1, L_P1, w.S1, t, h, con.J1)
