"""Values and derivatives of constraints between bodies.

`end` and `node` are poses (Flow.end, Flow.node).  A derivative is a row of six numbers per body: how the value changes with the
left-trivialised variation eta = (angular, linear) of that body's pose.  Read as a wrench it is the constraint's impulse on the body.
"""

import math

from ...compiling.decorators import inlined, kernel
from ...joints.rows import DISTANCE, DOT, POINT, WORLD
from ...lie.algebra import add, cross, dot, load3, load9, matmul, matvec, quat_rotate_minus, scale, store3, sub, tmatmul, tmatvec
from ...lie.rotations import angle_about_z, near
from .layout import (
    A_P,
    A_R,
    B_P,
    B_R,
    BODY_A,
    BODY_B,
    CON_KIND,
    D_MOVE,
    D_U,
    D_W,
    FIRST_ROW,
    FIRST_SLOT,
    GEAR,
    POSE_R,
    POSE_X,
    ROW_U,
    ROW_VALUE,
    ROW_W,
    ROWS,
    TWO_FRAMES,
)


@inlined
def relative(net, poses, apart, c):
    """Of constraint c: rotation of body B in body A, and the point of B in A, axes of A."""
    A, B = net.con[c, BODY_A], net.con[c, BODY_B]
    RA, RB = load9(poses, A, POSE_R), load9(poses, B, POSE_R)
    return tmatmul(RA, RB), tmatvec(RA, load3(apart, c, 0))


@kernel
def measure(net, flow):
    """Flow.apart and Flow.off from the poses of the bodies."""
    for c in range(net.con.shape[0]):
        A, B = net.con[c, BODY_A], net.con[c, BODY_B]
        if net.con[c, CON_KIND] != GEAR:
            point = matvec(load9(flow.node, B, POSE_R), load3(net.place, c, B_P))
            store3(flow.apart, c, 0, add(sub(load3(flow.node, B, POSE_X), load3(flow.node, A, POSE_X)), point))
        if net.con[c, CON_KIND] == TWO_FRAMES:
            two_frame_values(net, flow.node, flow.apart, c, flow.off, net.con[c, FIRST_ROW])


@inlined
def measure_end(net, flow, c):
    """Flow.apart_end: what the step adds is small, so nothing is lost by rounding however far the bodies are from the origin."""
    A, B = net.con[c, BODY_A], net.con[c, BODY_B]
    turned = quat_rotate_minus(flow.disp[B, D_W], load3(flow.disp, B, D_U), load3(net.place, c, B_P))
    move = sub(load3(flow.disp, B, D_MOVE), load3(flow.disp, A, D_MOVE))
    store3(flow.apart_end, c, 0, add(load3(flow.apart, c, 0), add(move, matvec(load9(flow.node, B, POSE_R), turned))))


@inlined
def joint_frame(net, poses, apart, c):
    """Pose (R, p) of frame b in frame a."""
    R, point = relative(net, poses, apart, c)
    axes = load9(net.place, c, A_R)
    return matmul(tmatmul(axes, R), load9(net.place, c, B_R)), tmatvec(axes, sub(point, load3(net.place, c, A_P)))


@inlined
def column(m, j):
    return m[j], m[3 + j], m[6 + j]


@inlined
def angle_gradient(net, c, R):
    """Derivative of the angle about the common z axis: angular parts for bodies A and B.  R: rotation of B in A."""
    Fa, Fb = load9(net.place, c, A_R), load9(net.place, c, B_R)
    xa, ya = column(Fa, 0), column(Fa, 1)
    xb, yb = matvec(R, column(Fb, 0)), matvec(R, column(Fb, 1))  # in A
    sine, cosine = dot(ya, xb) - dot(xa, yb), dot(xa, xb) + dot(ya, yb)
    # u.R w changes by -omega_A.(R w x u), and by the opposite with omega_B seen in A
    d_sine = sub(cross(xb, ya), cross(yb, xa))
    d_cosine = add(cross(xb, xa), cross(yb, ya))
    n = 1.0 / (sine * sine + cosine * cosine)
    turn = sub(scale(cosine * n, d_sine), scale(sine * n, d_cosine))
    return scale(-1.0, turn), tmatvec(R, turn)


@inlined
def whole_turns(position, advance, angle):
    """Turns of a screw: those that fit its position best."""
    return math.floor((position / advance - angle) / (2.0 * math.pi) + 0.5) if advance != 0.0 else 0.0


@inlined
def two_frame_values(net, poses, apart, c, out, at):
    """out[at:] = values of the rows of constraint c."""
    R, point = relative(net, poses, apart, c)
    p = sub(point, load3(net.place, c, A_P))
    for k in range(net.con[c, ROWS]):
        j = net.con[c, FIRST_ROW] + k
        kind, value = net.row_kind[j], net.row[j, ROW_VALUE]
        if kind == POINT:
            out[at + k] = dot(load3(net.row, j, ROW_U), p) - value
        elif kind == DOT:
            out[at + k] = dot(load3(net.row, j, ROW_U), matvec(R, load3(net.row, j, ROW_W)))
        elif kind == DISTANCE:
            out[at + k] = 0.5 * (dot(p, p) - value * value) / value
        elif kind == WORLD:
            out[at + k] = dot(world_direction(net, poses, c, j), p) - value
        else:
            Y, shift = joint_frame(net, poses, apart, c)
            angle = angle_about_z(Y)
            out[at + k] = shift[2] - value * (angle + 2.0 * math.pi * whole_turns(shift[2], value, angle))


@inlined
def world_direction(net, poses, c, j):
    """Direction of row j of constraint c, which is one of the world, in the axes of body A."""
    return tmatvec(load9(poses, net.con[c, BODY_A], POSE_R), load3(net.row, j, ROW_U))


@inlined
def two_frame_ends(net, flow, c, out, at):
    """The same at the end of the step; dot products, like Flow.apart_end, by what the step adds to them.

    Rounding a direction by 1e-16 lifts the end of a chain of 500 links: without this the solver would chase rounding errors.
    """
    two_frame_values(net, flow.end, flow.apart_end, c, out, at)
    A, B = net.con[c, BODY_A], net.con[c, BODY_B]
    for k in range(net.con[c, ROWS]):
        j = net.con[c, FIRST_ROW] + k
        if net.row_kind[j] == DOT:
            u, du = direction(flow, A, load3(net.row, j, ROW_U))
            w, dw = direction(flow, B, load3(net.row, j, ROW_W))
            out[at + k] = flow.off[j] + dot(du, w) + dot(add(u, du), dw)


@inlined
def direction(flow, i, u):
    """A direction fixed in body i, in world axes at the start of the step, and how the step changes it."""
    R = load9(flow.node, i, POSE_R)
    return matvec(R, u), matvec(R, quat_rotate_minus(flow.disp[i, D_W], load3(flow.disp, i, D_U), u))


@inlined
def put(G, slot, k, angular, linear):
    G[slot, k, 0], G[slot, k, 1], G[slot, k, 2] = angular[0], angular[1], angular[2]
    G[slot, k, 3], G[slot, k, 4], G[slot, k, 5] = linear[0], linear[1], linear[2]


@inlined
def two_frame_gradient(net, poses, apart, c, G):
    """G[slot, k, :] = derivative of row k for bodies A (first slot) and B (second)."""
    R, point = relative(net, poses, apart, c)
    on_b = load3(net.place, c, B_P)
    p = sub(point, load3(net.place, c, A_P))
    slot = net.con[c, FIRST_SLOT]
    none = (0.0, 0.0, 0.0)
    for k in range(net.con[c, ROWS]):
        j = net.con[c, FIRST_ROW] + k
        kind = net.row_kind[j]
        if kind == DOT:
            u, w = load3(net.row, j, ROW_U), load3(net.row, j, ROW_W)
            put(G, slot, k, cross(u, matvec(R, w)), none)
            put(G, slot + 1, k, cross(w, tmatvec(R, u)), none)
        else:
            # a unit force along u through the point
            if kind == POINT:
                u = load3(net.row, j, ROW_U)
            elif kind == DISTANCE:
                u = scale(1.0 / net.row[j, ROW_VALUE], p)
            elif kind == WORLD:
                u = world_direction(net, poses, c, j)
            else:
                u = column(load9(net.place, c, A_R), 2)
            v = tmatvec(R, u)
            on_a, on_b_turn = cross(u, point), cross(on_b, v)
            if kind == WORLD:  # it does not turn with A, where the force acts at the point of frame a
                on_a = cross(u, load3(net.place, c, A_P))
            elif kind != POINT and kind != DISTANCE:
                turn_a, turn_b = angle_gradient(net, c, R)
                on_a = sub(on_a, scale(net.row[j, ROW_VALUE], turn_a))
                on_b_turn = sub(on_b_turn, scale(net.row[j, ROW_VALUE], turn_b))
            put(G, slot, k, on_a, scale(-1.0, u))
            put(G, slot + 1, k, on_b_turn, v)


# ------------------------------------------------------------------------------------------------ gears


@inlined
def coordinate(net, poses, apart, c, turning, old):
    """Coordinate of joint c with one degree of freedom: the angle closest to the old one, or the position."""
    Y, shift = joint_frame(net, poses, apart, c)
    return near(angle_about_z(Y), old) if turning else shift[2]


@kernel
def gear_value(net, flow, poses, apart, c):
    """q1 - ratio q2 - offset.  Row data: u = (first joint turns, second joint turns, place of q1), w = (place of q2, ratio, -)."""
    j = net.con[c, FIRST_ROW]
    turns1, turns2, k1 = net.row[j, ROW_U] != 0.0, net.row[j, ROW_U + 1] != 0.0, int(net.row[j, ROW_U + 2])
    k2, ratio = int(net.row[j, ROW_W]), net.row[j, ROW_W + 1]
    q1 = coordinate(net, poses, apart, net.con[c, BODY_A], turns1, flow.q[k1])
    q2 = coordinate(net, poses, apart, net.con[c, BODY_B], turns2, flow.q[k2])
    return q1 - ratio * q2 - net.row[j, ROW_VALUE]


@kernel
def gear_gradient(net, poses, apart, c, G):
    j, slot = net.con[c, FIRST_ROW], net.con[c, FIRST_SLOT]
    for which in range(2):
        joint = net.con[c, BODY_A + which]
        factor = 1.0 if which == 0 else -net.row[j, ROW_W + 1]
        R, point = relative(net, poses, apart, joint)
        if net.row[j, ROW_U + which] != 0.0:
            on_a, on_b = angle_gradient(net, joint, R)
            force_a, force_b = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        else:
            u = column(load9(net.place, joint, A_R), 2)
            force_a, force_b = scale(-1.0, u), tmatvec(R, u)
            on_a, on_b = cross(u, point), cross(load3(net.place, joint, B_P), force_b)
        put(G, slot + 2 * which, 0, scale(factor, on_a), scale(factor, force_a))
        put(G, slot + 2 * which + 1, 0, scale(factor, on_b), scale(factor, force_b))
