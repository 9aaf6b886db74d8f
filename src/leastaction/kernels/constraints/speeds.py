"""Constraints of a tree that restrict velocities: those between bodies (kernels/maximal/nonholonomic.py) and those the user writes.

What a user writes is g(q, v, t) = A(q, t) v - b(q, t) = 0 (symbolic/constraint_module.py).  Over a step with the increment d it says

    h g(q + d/2, d/h, t + h/2) = 0

which changes its sign when the ends of the step are exchanged.  Impulses act along A(q, t) at the node.
"""

from ...compiling.address import call_joint
from ...compiling.decorators import inlined, kernel
from ...lie.algebra import add, load3, quat_rotate_minus
from ..maximal.layout import B_P, BODY_A, BODY_B, FIRST_ROW
from ..maximal.nonholonomic import seen_from_moving, seen_from_still, velocity_force, velocity_gradient, velocity_values
from ..maximal.rows import relative
from ..tree.layout import DT, DU, DW

# what a generated row can be asked for: see symbolic/constraint_module.py
VALUE, GRADIENT, SECOND = range(3)

# columns of Ties.speed: row, address of the compiled function, first argument, number of arguments
SPEED_ROW, SPEED_ADDRESS, SPEED_FIRST, SPEED_COUNT = range(4)

_NOTHING = (0.0, 0.0, 0.0)


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


@kernel
def speed_nodes(con):
    """c.value of these rows at the node: heights; nothing has moved yet."""
    for e in range(con.velocity.shape[0]):
        k = con.velocity[e]
        R, point = relative(con, con.start, con.apart, k)
        velocity_values(con, k, (R, point, 1.0, _NOTHING, _NOTHING), con.value, con.con[k, FIRST_ROW])
    for s in range(con.speed.shape[0]):
        con.value[con.speed[s, SPEED_ROW]] = 0.0


@kernel
def speed_values(m, w, con, t, h):
    """c.value of these rows over the step of length h that ends at t."""
    for e in range(con.velocity.shape[0]):
        k = con.velocity[e]
        velocity_values(con, k, motion(w, con, k), con.value, con.con[k, FIRST_ROW])
    for s in range(con.speed.shape[0]):
        con.value[con.speed[s, SPEED_ROW]] = h * ask(m, w, con, s, VALUE, t - 0.5 * h, h)


@kernel
def ask(m, w, con, s, what, t, h):
    """What the s-th row of the user says: half way through the step of length h, at the node if h is zero."""
    k = con.speed[s, SPEED_FIRST]
    for e in range(k, k + con.speed[s, SPEED_COUNT]):
        d = w.d[con.argument[e, 1]] if h != 0.0 else 0.0
        con.x[e] = w.q[con.argument[e, 0]] + 0.5 * d
        con.x_rate[e] = d / h if h != 0.0 else 0.0
    return call_joint(con.speed[s, SPEED_ADDRESS], what, m.param, 0, con.x, k, con.x_rate, k, t, con.slope)[0]


@kernel
def velocity_rows(w, con, k, h):
    """c.G of constraint k: forbidden displacements at the node if h is zero, else derivatives in the poses at the end of the step."""
    if h == 0.0:
        R, point = relative(con, con.start, con.apart, k)
        velocity_force(con, k, R, point, con.G)
    else:
        velocity_gradient(con, k, motion(w, con, k), con.G)


@kernel
def speed_gradients(m, w, con, t, h, J):
    """J and c.rate of the rows of the user; h as above, t at the end of the step."""
    for s in range(con.speed.shape[0]):
        a, k, count = con.speed[s, SPEED_ROW], con.speed[s, SPEED_FIRST], con.speed[s, SPEED_COUNT]
        con.rate[a] = ask(m, w, con, s, GRADIENT, t - 0.5 * h, h)
        for e in range(k, k + count):
            J[a, con.argument[e, 1]] += con.slope[e] + 0.5 * h * con.slope[e + count]
