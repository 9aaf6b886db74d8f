"""One evaluation of the step in maximal coordinates and its Newton matrix.   docs/maximal.md

    mu_i(D_i) - target_i - (G_0' lambda)_i = 0        momenta leaving the node are those that arrived, with the constraints' impulses
    g(T_end) = 0                                      constraints hold at the end of the step

Bodies are the discrete bodies of docs/theory (1) to (3); unknowns are their displacements over the step and the multipliers.
"""

from ...compiling.decorators import inlined, kernel
from ...compiling.memory import get, put
from ...lie.algebra import add, dot, load3, load6, load9, matmul, matvec, quat_mul, quat_to_matrix, scale, store3, store9, sub, symvec
from ...lie.retractions import BODY, couples
from ..tree.actuation import add_drives, slope_of
from ..tree.layout import INERTIA, MASS, MOMENT, NV, VI
from ..tree.loads import custom_forces
from ..tree.newton_matrix import first_order_stiffness
from .constraints import gradients, values
from .friction import rough_diagonal, rough_values
from .half_way import add_half_way, assemble_half_way
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
def place_end(flow):
    """Displacements and end poses from the unknowns d."""
    for i in range(1, flow.node.shape[0]):
        k = 6 * (i - 1)
        c = (flow.d[k], flow.d[k + 1], flow.d[k + 2])
        n = 1.0 / (4.0 + dot(c, c)) ** 0.5
        w, u = 2.0 * n, scale(n, c)
        D = quat_to_matrix(w, u)
        flow.disp[i, D_W] = w
        store3(flow.disp, i, D_U, u)
        store9(flow.disp, i, D_R, D)
        wn, un = quat_mul(flow.node[i, POSE_W], load3(flow.node, i, POSE_U), w, u)
        flow.end[i, POSE_W] = wn
        store3(flow.end, i, POSE_U, un)
        R = load9(flow.node, i, POSE_R)
        store9(flow.end, i, POSE_R, matmul(R, D))
        move = matvec(R, (flow.d[k + 3], flow.d[k + 4], flow.d[k + 5]))
        store3(flow.disp, i, D_MOVE, move)
        store3(flow.end, i, POSE_X, add(load3(flow.node, i, POSE_X), move))


@inlined
def body_momenta(net, flow, h, retraction):
    """mu(x) of docs/theory (1), and r = mu - target."""
    for i in range(1, flow.node.shape[0]):
        k = 6 * (i - 1)
        w, u, shift = flow.disp[i, D_W], load3(flow.disp, i, D_U), (flow.d[k + 3], flow.d[k + 4], flow.d[k + 5])
        phi, rho = BODY.coordinates(retraction, w, u, shift)
        a = symvec(load6(net.body, i, INERTIA), scale(1.0 / h, phi))
        l = scale(net.body[i, MASS] / h, rho)
        a, l = BODY.cotangent(retraction, phi, rho, a, l)
        store3(flow.x, i, 0, phi)
        store3(flow.x, i, 3, rho)
        store3(flow.mu, i, 0, a)
        store3(flow.mu, i, 3, l)
        a, l = sub(a, load3(flow.target, i, 0)), sub(l, load3(flow.target, i, 3))
        flow.r[k], flow.r[k + 1], flow.r[k + 2] = a[0], a[1], a[2]
        flow.r[k + 3], flow.r[k + 4], flow.r[k + 5] = l[0], l[1], l[2]


@inlined
def add_multipliers(net, flow):
    """r -= G0' lambda."""
    first = 6 * (flow.node.shape[0] - 1)
    for e in range(net.slot.shape[0]):
        i, c = net.slot[e, SLOT_BODY], net.slot[e, SLOT_CON]
        if i > 0:
            k, at = 6 * (i - 1), first + net.con[c, FIRST_ROW]
            for j in range(net.con[c, ROWS]):
                lam = flow.d[at + j]
                for a in range(6):
                    flow.r[k + a] -= flow.G0[e, j, a] * lam


@kernel
def push_joints(m, net, flow, h, t):
    """r -= left half impulses of what depends on the joints' velocities, dampers and user forces, r -= impulses of servos and of potentials
    half way, and r += momenta of rotors; rows of dry friction.

    Writes q_end, dq.
    """
    coordinates(m, net, flow, flow.end, flow.apart_end, flow.q_end)
    increments(m, flow.q, flow.q_end, False, flow.dq)
    joint_impulses(m, flow, h, t, flow.q, -1.0)
    add_half_way(flow.half, m, flow, h)
    add_drives(flow.actuation, m, flow.q, flow.dq, h, flow.load)
    rough_values(flow.rough, flow.actuation, m, flow, h)
    clear(flow.wrench)
    add_joint_forces(m, net, flow, flow.node, flow.apart, flow.q, flow.load_row, 0, 1.0, flow.wrench)
    for i in range(1, flow.node.shape[0]):
        for a in range(6):
            flow.r[6 * (i - 1) + a] -= flow.wrench[i, a]


@kernel
def joint_impulses(m, flow, h, t, q, rotors):
    """load = half impulses of dampers and user forces for the increments dq, and `rotors` times the momenta of rotors, a dq/h."""
    custom_forces(m, t, q, flow.dq, h, flow.rate, flow.load)
    for j in range(flow.dq.shape[0]):
        flow.load[j] = 0.5 * (h * flow.load[j] - m.damping[j] * flow.dq[j]) + rotors * m.armature[j] * flow.dq[j] / h


@inlined
def clear(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = 0.0


@inlined
def depends_on_step(half, m):
    """Is there anything in joint space that depends on the whole step: forces on velocities, rotors, servos, dry friction, potentials half
    way?"""
    return half is not None or m.has_dampers or m.has_armature or m.custom.shape[0] > 0 or m.servo_on.shape[0] > 0 or m.has_friction


@kernel
def evaluate(m, net, flow, h, t, retraction):
    """The residual at the unknowns d.  Reads node, target, G0; writes end, disp, x, mu, r."""
    flow.time[0], flow.time[1] = t + h, h
    place_end(flow)
    body_momenta(net, flow, h, retraction)
    add_multipliers(net, flow)
    values(m, net, flow, flow.r, 6 * (flow.node.shape[0] - 1))
    if depends_on_step(flow.half, m):
        push_joints(m, net, flow, h, t)
    push_at_start(flow.laws, m, net, flow, h, t, retraction)


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
def assemble(m, net, flow, h, retraction, exact):
    """The Newton matrix into the fronts: K on the bodies, -G0' and G1 between bodies and constraints, dampers and rotors.

    exact: K as it is, otherwise to first order in the displacement, where all retractions are the same.
    """
    gradients(m, net, flow)
    a = flow.values
    for j in range(a.shape[0]):
        a[j] = 0.0
    for i in range(1, flow.node.shape[0]):
        at, stride = net.block[i, 0], net.block[i, 1]
        phi, rho = load3(flow.x, i, 0), load3(flow.x, i, 3)
        mass, moment, inertia = net.body[i, MASS], load3(net.body, i, MOMENT), load6(net.body, i, INERTIA)
        if not exact:
            aa, _, _, ll = first_order_stiffness(phi, mass, moment, inertia)
        else:
            aa, al, la, ll = BODY.stiffness(retraction, phi, rho, mass, moment, inertia)
            if couples(retraction):
                put9(a, at + 3 * stride, stride, 1.0 / h, al)
                put9(a, at + 3, stride, 1.0 / h, la)
        put9(a, at, stride, 1.0 / h, aa)
        put9(a, at + 3 * stride + 3, stride, 1.0 / h, ll)
    for e in range(net.slot.shape[0]):
        if net.slot[e, SLOT_BODY] > 0:
            at, stride = net.slot[e, SLOT_AT], net.slot[e, SLOT_STRIDE]
            row, col = net.slot[e, SLOT_C], net.slot[e, SLOT_B]
            for j in range(net.con[net.slot[e, SLOT_CON], ROWS]):
                for c in range(6):
                    there, back = at + (col + c) * stride + row + j, at + (row + j) * stride + col + c
                    put(a, there, get(a, there) + flow.G1[e, j, c])
                    put(a, back, get(a, back) - flow.G0[e, j, c])
    for e in range(net.damped.shape[0]):
        assemble_damper(m, net, flow, e, h)
    assemble_half_way(flow.half, m, net, flow, h)
    rough_diagonal(flow.rough, a)


@kernel
def assemble_damper(m, net, flow, e, h):
    """Left half impulse -c dq/2 of a damper, momentum a dq/h of a rotor: (c/2 + a/h) Z0' dZ1 on child and parent; likewise a servo."""
    i = net.damped[e, 0]
    damper_columns(m, net, flow, i)
    for j in range(m.link[i, VI], m.link[i, VI] + m.link[i, NV]):
        c = 0.5 * m.damping[j] + m.armature[j] / h + slope_of(flow.actuation, j)
        for pair in range(4):
            at, stride = net.damped[e, 1 + 2 * pair], net.damped[e, 2 + 2 * pair]
            if at >= 0:
                for r in range(6):
                    for k in range(6):
                        flow.values[at + k * stride + r] += c * flow.Z[j, pair // 2, r] * flow.Z[j, 2 + pair % 2, k]
