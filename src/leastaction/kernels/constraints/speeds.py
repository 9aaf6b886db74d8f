"""Constraints of a tree that restrict velocities: those between bodies (kernels/maximal/nonholonomic.py) and those the user writes.

What a user writes is g(q, v, t) = A(q, t) v - b(q, t) = 0 (symbolic/constraint_module.py).  Over a step with the increment d it says

    h g(q + d/2, d/h, t + h/2) = 0

which changes its sign when the ends of the step are exchanged.  Impulses act along A(q, t) at the node.

`speeds` is Ties.speeds, None in most mechanisms: Numba then leaves out what is done with it.
"""

from typing import NamedTuple

from ...compiling.address import call_joint
from ...compiling.decorators import inlined, kernel
from ...compiling.records import integers
from ...lie.algebra import add, cross, load3, matvec, quat_rotate_minus, sub, tmatvec
from ..maximal.layout import B_P, BODY_A, BODY_B, FIRST_ROW
from ..maximal.nonholonomic import (
    seen_from_moving,
    seen_from_still,
    velocity_force,
    velocity_gradient,
    velocity_second_rates,
    velocity_values,
)
from ..maximal.rows import relative
from ..tree.layout import DT, DU, DW, ETA

# what a generated row can be asked for: see symbolic/constraint_module.py
VALUE, GRADIENT, SECOND = range(3)

# columns of Speeds.call: row, address of the compiled function, first argument, number of arguments
SPEED_ROW, SPEED_ADDRESS, SPEED_FIRST, SPEED_COUNT = range(4)

_NOTHING = (0.0, 0.0, 0.0)


class Speeds(NamedTuple):
    """Constraints that restrict velocities."""

    bodies: integers("nw")  # those between bodies: rows of Ties.con
    call: integers("nu", 4)  # those of the user


@inlined
def motion(w, con, k):
    """How body B of constraint k moves over the step, as seen from body A."""
    A, B = con.con[k, BODY_A], con.con[k, BODY_B]
    i, j = con.anchor[A], con.anchor[B]
    R, point = relative(con, con.start, con.apart, k)
    c, u = w.row[j, DW], load3(w.row, j, DU)
    moved = add(load3(w.row, j, DT), quat_rotate_minus(c, u, load3(con.place, k, B_P)))
    if i == 0:
        return seen_from_still(R, point, c, u, moved)
    return seen_from_moving(R, point, c, u, moved, w.row[i, DW], load3(w.row, i, DU), load3(w.row, i, DT))


@inlined
def relative_rates(w, con, k, A):
    """Of constraint k: rotation and point of B in A, turn of B against A and its rate (axes of B), rates of the point (axes of A)."""
    i, j = con.anchor[con.con[k, BODY_A]], con.anchor[con.con[k, BODY_B]]
    Q, point = relative(con, con.start, con.apart, k)  # of B in A
    b = load3(con.place, k, B_P)
    wa, va, wb, vb = load3(w.row, i, ETA), load3(w.row, i, ETA + 3), load3(w.row, j, ETA), load3(w.row, j, ETA + 3)
    da, aa, db, ab = load3(A, i, 0), load3(A, i, 3), load3(A, j, 0), load3(A, j, 3)
    seen = tmatvec(Q, wa)
    turn = sub(wb, seen)  # B against A, axes of B
    turn_rate = add(sub(db, tmatvec(Q, da)), cross(turn, seen))
    speed = add(vb, cross(wb, b))
    p1 = sub(matvec(Q, speed), add(va, cross(wa, point)))  # the point of B seen from A
    p2 = matvec(Q, add(cross(turn, speed), add(ab, cross(db, b))))
    return Q, point, turn, turn_rate, p1, sub(p2, add(aa, add(cross(da, point), cross(wa, p1))))


@kernel
def speed_nodes(speeds, con):
    """c.value of these rows at the node: heights; nothing has moved yet."""
    if speeds is not None:
        for e in range(speeds.bodies.shape[0]):
            k = speeds.bodies[e]
            R, point = relative(con, con.start, con.apart, k)
            velocity_values(con, k, (R, point, 1.0, _NOTHING, _NOTHING), con.value, con.con[k, FIRST_ROW])
        for s in range(speeds.call.shape[0]):
            con.value[speeds.call[s, SPEED_ROW]] = 0.0


@kernel
def speed_values(speeds, m, w, con, t, h):
    """c.value of these rows over the step of length h that ends at t."""
    if speeds is not None:
        for e in range(speeds.bodies.shape[0]):
            k = speeds.bodies[e]
            velocity_values(con, k, motion(w, con, k), con.value, con.con[k, FIRST_ROW])
        for s in range(speeds.call.shape[0]):
            con.value[speeds.call[s, SPEED_ROW]] = h * ask(speeds, m, w, con, s, VALUE, t - 0.5 * h, h)


@kernel
def ask(speeds, m, w, con, s, what, t, h):
    """What the s-th row of the user says: half way through the step of length h, at the node if h is zero."""
    k = speeds.call[s, SPEED_FIRST]
    for e in range(k, k + speeds.call[s, SPEED_COUNT]):
        d = w.d[con.argument[e, 1]] if h != 0.0 else 0.0
        con.x[e] = w.q[con.argument[e, 0]] + 0.5 * d
        con.x_rate[e] = d / h if h != 0.0 else 0.0
    return call_joint(speeds.call[s, SPEED_ADDRESS], what, m.param, 0, con.x, k, con.x_rate, k, t, con.slope)[0]


@kernel
def velocity_rows(speeds, w, con, k, h):
    """c.G of constraint k: forbidden displacements at the node if h is zero, else derivatives in the poses at the end of the step."""
    if speeds is not None:
        if h == 0.0:
            R, point = relative(con, con.start, con.apart, k)
            velocity_force(con, k, R, point, con.G)
        else:
            velocity_gradient(con, k, motion(w, con, k), con.G)


@kernel
def speed_gradients(speeds, m, w, con, t, h, J):
    """J and c.rate of the rows of the user; h as above, t at the end of the step."""
    if speeds is not None:
        for s in range(speeds.call.shape[0]):
            a, k, count = speeds.call[s, SPEED_ROW], speeds.call[s, SPEED_FIRST], speeds.call[s, SPEED_COUNT]
            con.rate[a] = ask(speeds, m, w, con, s, GRADIENT, t - 0.5 * h, h)
            for e in range(k, k + count):
                J[a, con.argument[e, 1]] += con.slope[e] + 0.5 * h * con.slope[e + count]


@kernel
def speed_rates(speeds, m, w, con, t, A):
    """c.rate of these rows when the joints do not accelerate; A: rates of the twists, body axes.  Needs c.x and c.x_rate of the node."""
    if speeds is not None:
        for e in range(speeds.bodies.shape[0]):
            k = speeds.bodies[e]
            Q, point, turn, turn_rate, p1, p2 = relative_rates(w, con, k, A)
            velocity_second_rates(con, k, Q, point, matvec(Q, turn), matvec(Q, turn_rate), p1, p2, con.rate)
        for s in range(speeds.call.shape[0]):
            k = speeds.call[s, SPEED_FIRST]
            rate = call_joint(speeds.call[s, SPEED_ADDRESS], SECOND, m.param, 0, con.x, k, con.x_rate, k, t, None)[0]
            con.rate[speeds.call[s, SPEED_ROW]] = rate
