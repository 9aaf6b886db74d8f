"""One evaluation of the step in maximal coordinates and its Newton matrix.   docs/maximal.md

    mu_i(D_i) - target_i - (G_0' lambda)_i = 0        momenta leaving the node are those that arrived, with the constraints' impulses
    g(T_end) = 0                                      constraints hold at the end of the step

Bodies are the discrete bodies of docs/theory (1) to (3); unknowns are their displacements over the step and the multipliers.
"""

from ...compiling.decorators import inlined, kernel
from ...compiling.memory import get, put
from ...lie.algebra import add, dot, load3, load6, load9, matmul, matvec, quat_mul, quat_to_matrix, scale, store3, store9, sub, symvec
from ...lie.retractions import BODY, couples
from ..tree.layout import INERTIA, MASS, MOMENT, NV, VI
from ..tree.loads import custom_forces
from ..tree.newton_matrix import first_order_stiffness
from .constraints import gradients, values
from .joints import add_joint_forces, coordinates, damper_columns, increments
from .laws import push_at_start
from .layout import (
    D_MOVE,
    D_R,
    D_U,
    D_W,
    FIRST_ROW,
    POSE_R,
    POSE_U,
    POSE_W,
    POSE_X,
    ROWS,
    SLOT_AT,
    SLOT_B,
    SLOT_BODY,
    SLOT_C,
    SLOT_CON,
    SLOT_STRIDE,
)


@inlined
def place_end(s):
    """Displacements and end poses from the unknowns d."""
    for i in range(1, s.node.shape[0]):
        k = 6 * (i - 1)
        c = (s.d[k], s.d[k + 1], s.d[k + 2])
        n = 1.0 / (4.0 + dot(c, c)) ** 0.5
        w, u = 2.0 * n, scale(n, c)
        D = quat_to_matrix(w, u)
        s.disp[i, D_W] = w
        store3(s.disp, i, D_U, u)
        store9(s.disp, i, D_R, D)
        wn, un = quat_mul(s.node[i, POSE_W], load3(s.node, i, POSE_U), w, u)
        s.end[i, POSE_W] = wn
        store3(s.end, i, POSE_U, un)
        R = load9(s.node, i, POSE_R)
        store9(s.end, i, POSE_R, matmul(R, D))
        move = matvec(R, (s.d[k + 3], s.d[k + 4], s.d[k + 5]))
        store3(s.disp, i, D_MOVE, move)
        store3(s.end, i, POSE_X, add(load3(s.node, i, POSE_X), move))


@inlined
def body_momenta(b, s, h, retraction):
    """mu(x) of docs/theory (1), and r = mu - target."""
    for i in range(1, s.node.shape[0]):
        k = 6 * (i - 1)
        w, u, t = s.disp[i, D_W], load3(s.disp, i, D_U), (s.d[k + 3], s.d[k + 4], s.d[k + 5])
        phi, rho = BODY.coordinates(retraction, w, u, t)
        a = symvec(load6(b.body, i, INERTIA), scale(1.0 / h, phi))
        l = scale(b.body[i, MASS] / h, rho)
        a, l = BODY.cotangent(retraction, phi, rho, a, l)
        store3(s.x, i, 0, phi)
        store3(s.x, i, 3, rho)
        store3(s.mu, i, 0, a)
        store3(s.mu, i, 3, l)
        a, l = sub(a, load3(s.target, i, 0)), sub(l, load3(s.target, i, 3))
        s.r[k], s.r[k + 1], s.r[k + 2] = a[0], a[1], a[2]
        s.r[k + 3], s.r[k + 4], s.r[k + 5] = l[0], l[1], l[2]


@inlined
def add_multipliers(b, s):
    """r -= G0' lambda."""
    first = 6 * (s.node.shape[0] - 1)
    for e in range(b.slot.shape[0]):
        i, c = b.slot[e, SLOT_BODY], b.slot[e, SLOT_CON]
        if i > 0:
            k, at = 6 * (i - 1), first + b.con[c, FIRST_ROW]
            for j in range(b.con[c, ROWS]):
                lam = s.d[at + j]
                for a in range(6):
                    s.r[k + a] -= s.G0[e, j, a] * lam


@kernel
def push_joints(m, b, s, h, t):
    """r -= left half impulses of what depends on the joints' velocities: dampers and user forces.  Writes q_end, dq."""
    coordinates(m, b, s, s.end, s.apart_end, s.q_end)
    increments(m, s.q, s.q_end, False, s.dq)
    joint_impulses(m, s, h, t, s.q)
    clear(s.wrench)
    add_joint_forces(m, b, s, s.node, s.apart, s.q, s.load_row, 0, 1.0, s.wrench)
    for i in range(1, s.node.shape[0]):
        for a in range(6):
            s.r[6 * (i - 1) + a] -= s.wrench[i, a]


@kernel
def joint_impulses(m, s, h, t, q):
    """load = half impulses of dampers and user forces for the increments dq."""
    custom_forces(m, t, q, s.dq, h, s.rate, s.load)
    for j in range(s.dq.shape[0]):
        s.load[j] = 0.5 * (h * s.load[j] - m.damping[j] * s.dq[j])


@inlined
def clear(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = 0.0


@inlined
def depends_on_speed(m):
    """Is there a force in joint space that depends on velocities?"""
    return m.has_dampers or m.custom.shape[0] > 0


@kernel
def evaluate(m, b, s, h, t, retraction):
    """The residual at the unknowns d.  Reads node, target, G0; writes end, disp, x, mu, r."""
    place_end(s)
    body_momenta(b, s, h, retraction)
    add_multipliers(b, s)
    values(m, b, s, s.r, 6 * (s.node.shape[0] - 1))
    if depends_on_speed(m):
        push_joints(m, b, s, h, t)
    if m.law_on.shape[0] > 0:
        push_at_start(m, b, s, h, t, retraction)


@inlined
def largest_between(a, first, last):
    top = 0.0
    for j in range(first, last):
        x = abs(a[j])
        if x > top or x != x:  # a NaN stays
            top = x
    return top


# ----------------------------------------------------------------------------------------- Newton matrix


@inlined
def put9(a, at, stride, factor, block):
    """A 3x3 block into a front."""
    for c in range(3):
        k = at + c * stride
        put(a, k, get(a, k) + factor * block[c])
        put(a, k + 1, get(a, k + 1) + factor * block[3 + c])
        put(a, k + 2, get(a, k + 2) + factor * block[6 + c])


@kernel
def assemble(m, b, s, h, retraction, exact):
    """The Newton matrix into the fronts: K on the bodies, -G0' and G1 between bodies and constraints, dampers.

    exact: K as it is, otherwise to first order in the displacement, where all retractions are the same.
    """
    gradients(m, b, s)
    a = s.values
    for j in range(a.shape[0]):
        a[j] = 0.0
    for i in range(1, s.node.shape[0]):
        at, stride = b.block[i, 0], b.block[i, 1]
        phi, rho = load3(s.x, i, 0), load3(s.x, i, 3)
        mass, moment, inertia = b.body[i, MASS], load3(b.body, i, MOMENT), load6(b.body, i, INERTIA)
        if not exact:
            aa, _, _, ll = first_order_stiffness(phi, mass, moment, inertia)
        else:
            aa, al, la, ll = BODY.stiffness(retraction, phi, rho, mass, moment, inertia)
            if couples(retraction):
                put9(a, at + 3 * stride, stride, 1.0 / h, al)
                put9(a, at + 3, stride, 1.0 / h, la)
        put9(a, at, stride, 1.0 / h, aa)
        put9(a, at + 3 * stride + 3, stride, 1.0 / h, ll)
    for e in range(b.slot.shape[0]):
        if b.slot[e, SLOT_BODY] > 0:
            at, stride = b.slot[e, SLOT_AT], b.slot[e, SLOT_STRIDE]
            row, col = b.slot[e, SLOT_C], b.slot[e, SLOT_B]
            for j in range(b.con[b.slot[e, SLOT_CON], ROWS]):
                for c in range(6):
                    there, back = at + (col + c) * stride + row + j, at + (row + j) * stride + col + c
                    put(a, there, get(a, there) + s.G1[e, j, c])
                    put(a, back, get(a, back) - s.G0[e, j, c])
    for e in range(b.damped.shape[0]):
        assemble_damper(m, b, s, e)


@kernel
def assemble_damper(m, b, s, e):
    """Left half impulse -c dq/2: c/2 Z0' dZ1 on child and parent."""
    i = b.damped[e, 0]
    damper_columns(m, b, s, i)
    for j in range(m.link[i, VI], m.link[i, VI] + m.link[i, NV]):
        c = 0.5 * m.damping[j]
        for pair in range(4):
            at, stride = b.damped[e, 1 + 2 * pair], b.damped[e, 2 + 2 * pair]
            if at >= 0:
                for r in range(6):
                    for k in range(6):
                        s.values[at + k * stride + r] += c * s.Z[j, pair // 2, r] * s.Z[j, 2 + pair % 2, k]
