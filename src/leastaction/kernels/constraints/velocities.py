"""Constraints of a tree in continuous time: velocities and accelerations they allow, and entry points on configurations.

    v = M^-1 (p - Dh' l),   Dh v + dh/dt = 0                            velocities of given momenta
    a = a_free + M^-1 Dh' l,   Dh a + (second derivative of h at a = 0) = 0   accelerations; nothing keeps h itself from drifting
"""

from ...compiling.decorators import entry, inlined, kernel
from ...joints.rows import DISTANCE, DOT, POINT, WORLD
from ...lie.algebra import add, cross, dot, load3, load9, matvec, scale, store3, sub
from ..maximal.closing import loop_second_rates
from ..maximal.layout import A_P, A_R, B_R, BODY_A, CON_KIND, FIRST_ROW, ROW_U, ROW_VALUE, ROW_W, ROWS, TWO_FRAMES
from ..maximal.rows import column, world_direction
from ..solving.dense import rank_factor, rank_solve
from ..tree.articulated import forward_dynamics, mass_solve
from ..tree.continuous import twists, velocity_products
from ..tree.evaluate import applied_forces, place
from ..tree.layout import ETA, PARENT, P, R
from ..tree.spatial import twist_to_child
from .bordered import products
from .speeds import relative_rates, speed_rates
from .ties import CALL_ADDRESS, CALL_FIRST, CALL_ROW, RANK, SECOND, call_joint, constrain_node


@entry
def constraint_values(m, w, con, t, q):
    """c.value, c.J0 and c.rate at q and t."""
    place(m, w, q, w.r)
    constrain_node(m, w, con, t)


@kernel
def impulse_responses(m, w, con):
    """Y = (M^-1 J0')' and the factorised S = J0 M^-1 J0'.  Needs a node, J0 and the factorised mass matrix."""
    for a in range(con.J0.shape[0]):
        mass_solve(m, w, con.J0[a], con.Y[a])
    products(con.J0, con.Y, con.S)
    con.rank[RANK] = rank_factor(con.S, con.swap)


@inlined
def project(con, missed, x):
    """x += Y' l with S l = -(J0 x + missed): afterwards J0 x = -missed.  Leaves l in c.step."""
    for a in range(con.J0.shape[0]):
        total = missed[a]
        for j in range(x.shape[0]):
            total += con.J0[a, j] * x[j]
        con.step[a] = -total
    rank_solve(con.S, con.swap, con.rank[RANK], con.step)
    for a in range(con.J0.shape[0]):
        for j in range(x.shape[0]):
            x[j] += con.step[a] * con.Y[a, j]


@kernel
def constrained_acceleration(m, w, con, t, q, v, tau, scratch, out):
    """Forward dynamics with every force of the model and the constraints; their forces are left in c.step."""
    place(m, w, q, w.r)
    applied_forces(m, w, t, v, tau, w.r)
    forward_dynamics(m, w, v, w.r, scratch, out)
    constrain_node(m, w, con, t)
    impulse_responses(m, w, con)
    second_rates(m, w, con, t, v, scratch)
    project(con, con.rate, out)


@entry
def constrained_forward(m, w, con, t, q, v, tau, scratch, out):
    constrained_acceleration(m, w, con, t, q, v, tau, scratch, out)


@kernel
def second_rates(m, w, con, t, v, A):
    """c.rate = second time derivative of h when the joints do not accelerate.  A: (n+1, 6) scratch.  Writes ETA."""
    row = w.row
    twists(m, w, v)
    for i in range(1, m.link.shape[0]):
        p = m.link[i, PARENT]
        a, l = twist_to_child(load9(row, i, R), load3(row, i, P), load3(A, p, 0), load3(A, p, 3))
        ba, bl = velocity_products(m, w, i, v)
        store3(A, i, 0, add(a, ba))
        store3(A, i, 3, add(l, bl))
    for a in range(con.rate.shape[0]):
        con.rate[a] = 0.0
    for k in range(con.con.shape[0]):
        if con.con[k, CON_KIND] == TWO_FRAMES:
            second_rates_of(w, con, k, A)
    rates_of_loops(con.loops, w, con, A)
    for e in range(con.argument.shape[0]):
        con.x_rate[e] = v[con.argument[e, 1]]
    speed_rates(con.speeds, m, w, con, t, A)  # c.x is that of the node
    for s in range(con.call.shape[0]):
        k = con.call[s, CALL_FIRST]
        con.rate[con.call[s, CALL_ROW]] = call_joint(con.call[s, CALL_ADDRESS], SECOND, m.param, 0, con.x, k, con.x_rate, k, t, None)[0]


@kernel
def rates_of_loops(loops, w, con, A):
    """Rows of joints given by their pose that close loops."""
    if loops is not None:
        for i in range(loops.con.shape[0]):
            Q, _, turn, turn_rate, p1, p2 = relative_rates(w, con, loops.con[i], A)
            loop_second_rates(loops, con, i, Q, turn, turn_rate, p1, p2)


@kernel
def second_rates_of(w, con, k, A):
    """Rows of constraint k between two frames; A: rates of the twists, body axes."""
    Q, point, turn, turn_rate, p1, p2 = relative_rates(w, con, k, A)
    for e in range(con.con[k, ROWS]):
        a = con.con[k, FIRST_ROW] + e
        kind, value = con.row_kind[a], con.row[a, ROW_VALUE]
        u = load3(con.row, a, ROW_U)
        if kind == POINT:
            con.rate[a] = dot(u, p2)
        elif kind == DOT:
            con.rate[a] = dot(u, matvec(Q, turned_twice(turn, turn_rate, load3(con.row, a, ROW_W))))
        elif kind == WORLD:
            apart = sub(point, load3(con.place, k, A_P))
            con.rate[a] = dot(world_direction(con, con.start, k, a), seen_from_world(w, con, k, A, apart, p1, p2))
        elif kind == DISTANCE:
            apart = sub(point, load3(con.place, k, A_P))
            con.rate[a] = (dot(apart, p2) + dot(p1, p1)) / value
        else:
            axes = load9(con.place, k, A_R)
            con.rate[a] = dot(column(axes, 2), p2) - value * angle_second_rate(axes, load9(con.place, k, B_R), Q, turn, turn_rate)


@inlined
def seen_from_world(w, con, k, A, p, p1, p2):
    """Second derivative of the vector p from frame a to frame b, whose rates seen from body A are p1 and p2; axes of A."""
    i = con.anchor[con.con[k, BODY_A]]
    turn = load3(w.row, i, ETA)
    return add(p2, add(scale(2.0, cross(turn, p1)), turned_twice(turn, load3(A, i, 0), p)))


@inlined
def turned_twice(turn, turn_rate, x):
    """Second derivative of a vector fixed in a body that turns."""
    return add(cross(turn, cross(turn, x)), cross(turn_rate, x))


@inlined
def angle_second_rate(Fa, Fb, Q, turn, turn_rate):
    """Of the angle about the common z axis: atan2(s, c) with s = ya.xb - xa.yb and c = xa.xb + ya.yb."""
    xa, ya, xb, yb = column(Fa, 0), column(Fa, 1), column(Fb, 0), column(Fb, 1)
    s, c = sine_cosine(xa, ya, matvec(Q, xb), matvec(Q, yb))
    s1, c1 = sine_cosine(xa, ya, matvec(Q, cross(turn, xb)), matvec(Q, cross(turn, yb)))
    s2, c2 = sine_cosine(xa, ya, matvec(Q, turned_twice(turn, turn_rate, xb)), matvec(Q, turned_twice(turn, turn_rate, yb)))
    n = 1.0 / (s * s + c * c)
    return n * (c * s2 - s * c2) - 2.0 * n * n * (c * s1 - s * c1) * (c * c1 + s * s1)


@inlined
def sine_cosine(xa, ya, xb, yb):
    return dot(ya, xb) - dot(xa, yb), dot(xa, xb) + dot(ya, yb)
