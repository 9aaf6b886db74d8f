"""Midpoint quadrature of potentials and wrenches: forces act at the configuration half way through the step.

The midpoint pose of body i varies by zeta_i = Ad zeta_parent + S1 dd, beside the variation eta_i of its end pose.  So the
exact Jacobian is an articulated body in twelve dimensions (eta, zeta): the kinetic blocks of `tree_newton` in the upper
half, the derivative H of the wrench in the lower half.  Written with loops: it is for large steps, where one step does
the work of many.
"""

from math import inf

from ...compiling.decorators import inlined, kernel
from ...joints import dispatch
from ...lie.algebra import (
    add,
    axpy,
    cross,
    hat,
    hat_mat,
    load3,
    load9,
    matmul,
    matscale,
    matvec,
    store3,
    store9,
    tmatvec,
)
from ..forces.potentials import add_potentials, pair_energy
from ..forces.wrenches import constant_wrench_turned
from .actuation import slope_of
from .drnea import joint_pose
from .layout import (
    AA,
    AL,
    GRAVITY,
    KIND,
    L_P,
    L_P1,
    L_R,
    L_R1,
    LA,
    LL,
    MASS,
    MOMENT,
    NV,
    PAIR_A,
    PAIR_B,
    PARENT,
    QI,
    UQ,
    UV,
    VI,
    P,
    R,
)
from .loads import add_body_forces, gravity_wrench
from .spatial import add_column, carried, column_dot, dot6, pass_to_parent, twist_to_child


@kernel
def mid_node(m, w, mid):
    """Poses, joint columns and wrenches at the midpoint of the step; mid.start and mid.end = their joint forces.

    start_j = S0_j . G_i - springs acts on the start of the step, end_j = S2_j . G_i - springs on its end.
    """
    row, link = mid.row, m.link
    n = link.shape[0]
    for i in range(1, n):
        kind, k, v = link[i, KIND], link[i, QI], link[i, VI]
        rot, origin = joint_pose(m, w, i, 0.5)
        store9(row, i, R, rot)
        store3(row, i, P, origin)
        dispatch.mid_columns(kind, m.param, i, w.q, k, w.d, v, link[i, NV], mid.S0, mid.S1, mid.S2)
        g = tmatvec(rot, load3(row, link[i, PARENT], GRAVITY))
        store3(row, i, GRAVITY, g)
        a, l = gravity_wrench(m.body, i, g)
        store3(mid.wrench, i, 0, a)
        store3(mid.wrench, i, 3, l)
    if m.wrench_on.shape[0] > 0 or m.pair_on.shape[0] > 0:
        for i in range(1, n):
            p = link[i, PARENT]
            place_in_world(mid.world, row, i, p)
        add_body_forces(m, w, mid.world, 1.0, mid.wrench, 0)
    for i in range(n - 1, 0, -1):
        a, l = load3(mid.wrench, i, 0), load3(mid.wrench, i, 3)
        for j in range(link[i, VI], link[i, VI] + link[i, NV]):
            mid.start[j] = column_dot(mid.S0, j, a, l)
            mid.end[j] = column_dot(mid.S2, j, a, l)
            mid.size[j] = column_size(mid.S0, j, a, l)
        pass_to_parent(mid.wrench, i, link[i, PARENT], 0, load9(row, i, R), load3(row, i, P), a, l)
    subtract_springs(m, w, mid)
    if m.energy_at.shape[0] > 0:
        subtract_potentials(m, w, mid)


@inlined
def column_size(S, j, a, l):
    """What the terms of S_j . (a, l) may be as large as, in a unit of length of 1 m, before they cancel."""
    force = abs(l[0]) + abs(l[1]) + abs(l[2])
    moment = abs(a[0]) + abs(a[1]) + abs(a[2]) + force
    turn = max(abs(S[j, 0]), abs(S[j, 1]), abs(S[j, 2]))
    return turn * moment + max(abs(S[j, 3]), abs(S[j, 4]), abs(S[j, 5])) * force


@inlined
def place_in_world(world, row, i, p):
    """World pose of body i from that of its parent."""
    Q = load9(world, p, 0)
    store9(world, i, 0, matmul(Q, load9(row, i, R)))
    store3(world, i, 9, add(load3(world, p, 9), matvec(Q, load3(row, i, P))))


@kernel
def subtract_springs(m, w, mid):
    """Joint springs at the midpoint; on ball and free joints their force acts through S0 and S2 like a wrench."""
    if not m.has_springs:
        return
    g = w.load
    for j in range(g.shape[0]):
        g[j] = 0.0
    for i in range(1, m.link.shape[0]):
        kind, k, v, nv = m.link[i, KIND], m.link[i, QI], m.link[i, VI], m.link[i, NV]
        dispatch.spring(kind, w.q, k, m.rest, w.d, v, nv, 0.5, m.stiffness, g)
        for j in range(v, v + nv):
            mid.size[j] += abs(g[j])
            if dispatch.has_quaternion(kind):
                for a in range(nv):
                    mid.start[j] -= mid.S0[j, a] * g[v + a]
                    mid.end[j] -= mid.S2[j, a] * g[v + a]
            else:
                mid.start[j] -= 0.5 * g[j]
                mid.end[j] -= 0.5 * g[j]


@kernel
def subtract_potentials(m, w, mid):
    """User potentials at the coordinates half way; mid.q = these."""
    for k in range(m.energy_at.shape[0]):
        mid.q[m.energy_at[k, UQ]] = w.q[m.energy_at[k, UQ]] + 0.5 * w.d[m.energy_at[k, UV]]
    g = w.load
    for j in range(g.shape[0]):
        g[j] = 0.0
    add_potentials(m, w, mid.q, 1.0, g)
    for j in range(g.shape[0]):
        mid.size[j] += abs(g[j])
        mid.start[j] -= 0.5 * g[j]
        mid.end[j] -= 0.5 * g[j]


@kernel
def wrench_derivative(m, w, row, world, i, H):
    """H[:6, :6] = d wrench_i / d zeta_i at gravity row[i, GRAVITY] and pose world[i]: vectors fixed in space turn in body axes.

    Of a spring between points this is the part at constant force; the rest couples bodies, see midpoint_potentials.py.
    """
    for a in range(6):
        for b in range(6):
            H[a, b] = 0.0
    g = hat(load3(row, i, GRAVITY))
    add_block(H, 0, hat_mat(load3(m.body, i, MOMENT), g))
    add_block(H, 3, matscale(m.body[i, MASS], g))
    add_turning_forces(m, w, world, i, H)


@kernel
def add_turning_forces(m, w, world, i, H):
    """The same without gravity, added to H."""
    for e in range(m.wrench_on.shape[0]):
        if m.wrench_on[e, 0] == i:
            moment, force = constant_wrench_turned(m, e, load9(world, i, 0))
            add_block(H, 0, moment)
            add_block(H, 3, force)
    for e in range(m.pair_on.shape[0]):
        if m.pair_on[e, 0] == i or m.pair_on[e, 1] == i:
            _, over, _, v = pair_energy(m, world, e, w.x, w.jet)
            force = tmatvec(load9(world, i, 0), v)
            if m.pair_on[e, 0] == i:
                turn = matscale(-over, hat(force))
                add_block(H, 0, hat_mat(load3(m.pair, e, PAIR_A), turn))
                add_block(H, 3, turn)
            else:
                turn = matscale(over, hat(force))
                add_block(H, 0, hat_mat(load3(m.pair, e, PAIR_B), turn))
                add_block(H, 3, turn)


@inlined
def add_block(H, r, M):
    for a in range(3):
        for b in range(3):
            H[r + a, b] += M[3 * a + b]


@kernel
def factorise12(m, w, mid, h):
    """Eliminate the joints of the twelve-dimensional articulated body, leaves to root, one joint (block) at a time.

    Reads linear, S0, S1, art (from `assemble`) and the midpoint node.  Writes mid.A, mid.U, mid.W, mid.B.
    """
    link, A = m.link, mid.A
    n = link.shape[0]
    for i in range(1, n):
        for a in range(12):
            for b in range(12):
                A[i, a, b] = 0.0
        for a in range(3):
            for b in range(3):
                c = 4 * (3 * a + b)
                A[i, a, b], A[i, a, 3 + b] = w.art[i, AA + c], w.art[i, AL + c]
                A[i, 3 + a, b], A[i, 3 + a, 3 + b] = w.art[i, LA + c], w.art[i, LL + c]
        wrench_derivative(m, w, mid.row, mid.world, i, mid.H)
        for a in range(6):
            for b in range(6):
                A[i, 6 + a, 6 + b] = mid.H[a, b]
    for i in range(n - 1, 0, -1):
        eliminate_joint(m, w, mid, i, h)
        p = link[i, PARENT]
        if p > 0:
            add_to_parent12(w, mid, i, p)


@kernel
def eliminate_joint(m, w, mid, i, h):
    """B = L'A S - h E + damping/2 + armature/h + slope,  A <- A - U B^-1 L'A

    U = A S + (what moving the joint does to the wrench beyond it)
    """
    A, U, W, B = mid.A, mid.U, mid.W, mid.B
    v, nv = m.link[i, VI], m.link[i, NV]
    for j in range(v, v + nv):
        for a in range(12):
            u, part = 0.0, 0.0
            for b in range(6):
                u += A[i, a, b] * w.S1[j, b] + A[i, a, 6 + b] * mid.S1[j, b]
                part += w.S0[j, b] * A[i, b, a] - h * mid.S0[j, b] * A[i, 6 + b, a]
            U[j, a], W[j, a] = u, part
    E = mid.E
    joint_curvature(m, w, mid, i, E)
    for r in range(nv):
        for c in range(nv):
            s = -h * E[r, c] + (0.5 * m.damping[v + r] + m.armature[v + r] / h + slope_of(w.actuation, v + r) if r == c else 0.0)
            for a in range(6):
                s += w.S0[v + r, a] * U[v + c, a] - h * mid.S0[v + r, a] * U[v + c, 6 + a]
            B[v + r, c] = s
    hold_still(w.actuation, B, v, nv)
    # a joint that moves by S1 turns the wrench G beyond it: (omega x m + v x f, omega x f)
    moment, force = load3(mid.wrench, i, 0), load3(mid.wrench, i, 3)
    for j in range(v, v + nv):
        omega, vel = load3(mid.S1, j, 0), load3(mid.S1, j, 3)
        a, l = add(cross(omega, moment), cross(vel, force)), cross(omega, force)
        for r in range(3):
            U[j, 6 + r] += a[r]
            U[j, 9 + r] += l[r]
    if nv == 1:
        inverse = 1.0 / B[v, 0]
        B[v, 0] = inverse
        for a in range(12):
            u = inverse * U[v, a]
            for b in range(12):
                A[i, a, b] -= u * W[v, b]
        return
    invert_block(B, v, nv, E)
    for a in range(12):
        for b in range(12):
            s = 0.0
            for r in range(nv):
                part = 0.0
                for c in range(nv):
                    part += B[v + r, c] * W[v + c, b]
                s += U[v + r, a] * part
            mid.T[a, b] = s
    for a in range(12):
        for b in range(12):
            A[i, a, b] -= mid.T[a, b]


@kernel
def hold_still(act, B, v, nv):
    """Freedoms that stick have infinite pivots: they leave the others of their joint alone."""
    if act is not None:
        for r in range(nv):
            if act.slope[v + r] == inf:
                for c in range(nv):
                    B[v + r, c] = B[v + c, r] = 0.0
                B[v + r, r] = inf


@kernel
def joint_curvature(m, w, mid, i, E):
    """E[j, l] = derivative of mid.start_j in increment l of the same joint, the wrench held fixed in midpoint axes."""
    kind, k, v, nv = m.link[i, KIND], m.link[i, QI], m.link[i, VI], m.link[i, NV]
    for r in range(nv):
        for c in range(nv):
            E[r, c] = 0.0
    if m.has_springs:
        dispatch.spring_curvature(kind, w.q, k, m.rest, w.d, v, nv, m.stiffness, mid.S0, mid.S1, E)
        for r in range(nv):
            for c in range(nv):
                E[r, c] = -E[r, c]
    dispatch.mid_curvature(kind, m.param, w.q, k, w.d, v, nv, mid.S1, mid.wrench, i, E, mid.X0)


@kernel
def invert_block(B, v, nv, E):
    """B[v:v+nv, :nv] <- its inverse, Gauss-Jordan with row pivoting; E is scratch."""
    for r in range(nv):
        for c in range(nv):
            E[r, c] = 1.0 if r == c else 0.0
    for c in range(nv):
        p = c
        for r in range(c + 1, nv):
            if abs(B[v + r, c]) > abs(B[v + p, c]):
                p = r
        for k in range(nv):
            B[v + c, k], B[v + p, k] = B[v + p, k], B[v + c, k]
            E[c, k], E[p, k] = E[p, k], E[c, k]
        f = 1.0 / B[v + c, c]
        for k in range(nv):
            B[v + c, k] *= f
            E[c, k] *= f
        for r in range(nv):
            if r != c:
                f = B[v + r, c]
                for k in range(nv):
                    B[v + r, k] -= f * B[v + c, k]
                    E[r, k] -= f * E[c, k]
    for r in range(nv):
        for c in range(nv):
            B[v + r, c] = E[r, c]


@inlined
def load_block(A, i, r, c):
    """The 3x3 block of A[i] with its corner at (r, c)."""
    return (A[i, r, c], A[i, r, c + 1], A[i, r, c + 2],
            A[i, r + 1, c], A[i, r + 1, c + 1], A[i, r + 1, c + 2],
            A[i, r + 2, c], A[i, r + 2, c + 1], A[i, r + 2, c + 2])  # fmt: skip


@inlined
def accumulate_block(A, i, r, c, x):
    for a in range(3):
        A[i, r + a, c] += x[3 * a]
        A[i, r + a, c + 1] += x[3 * a + 1]
        A[i, r + a, c + 2] += x[3 * a + 2]


@inlined
def carry_block(A, i, p, r, c, left, at, right, at_right):
    """A_p += Ad_left' A_i Ad_right for the 6x6 blocks with their corner at (r, c); poses as rotation and origin."""
    aa, al = load_block(A, i, r, c), load_block(A, i, r, c + 3)
    la, ll = load_block(A, i, r + 3, c), load_block(A, i, r + 3, c + 3)
    aa, al, la, ll = carried(left, at, right, at_right, aa, al, la, ll)
    accumulate_block(A, p, r, c, aa)
    accumulate_block(A, p, r, c + 3, al)
    accumulate_block(A, p, r + 3, c, la)
    accumulate_block(A, p, r + 3, c + 3, ll)


@kernel
def add_to_parent12(w, mid, i, p):
    """A_p += left' A right, left = (Ad at the start, Ad at the midpoint), right = (Ad at the end, Ad at the midpoint)."""
    start, at = load9(w.linear, i, L_R), load3(w.linear, i, L_P)
    end, at_end = load9(w.linear, i, L_R1), load3(w.linear, i, L_P1)
    half, at_half = load9(mid.row, i, R), load3(mid.row, i, P)
    carry_block(mid.A, i, p, 0, 0, start, at, end, at_end)
    carry_block(mid.A, i, p, 0, 6, start, at, half, at_half)
    carry_block(mid.A, i, p, 6, 0, half, at_half, end, at_end)
    carry_block(mid.A, i, p, 6, 6, half, at_half, half, at_half)


@kernel
def solve12(m, w, mid, h):
    """z = J^-1 r with the twelve-dimensional factorisation: wrenches of the start and of the midpoint go to the root, variations of the
    end and of the midpoint come from it."""
    link, b, y, rest = m.link, mid.b, mid.y, mid.t
    n = link.shape[0]
    for i in range(1, n):
        for a in range(12):
            b[i, a] = 0.0
    for i in range(n - 1, 0, -1):
        p, v, nv = link[i, PARENT], link[i, VI], link[i, NV]
        sa, sl, ma, ml = load3(b, i, 0), load3(b, i, 3), load3(b, i, 6), load3(b, i, 9)
        for r in range(v, v + nv):
            rest[r] = w.r[r] - column_dot(w.S0, r, sa, sl) + h * column_dot(mid.S0, r, ma, ml)
        for r in range(v, v + nv):
            z = 0.0
            for c in range(nv):
                z += mid.B[r, c] * rest[v + c]
            w.z[r] = z
            sa, sl = axpy(z, load3(mid.U, r, 0), sa), axpy(z, load3(mid.U, r, 3), sl)
            ma, ml = axpy(z, load3(mid.U, r, 6), ma), axpy(z, load3(mid.U, r, 9), ml)
        if p > 0:
            pass_to_parent(b, i, p, 0, load9(w.linear, i, L_R), load3(w.linear, i, L_P), sa, sl)
            pass_to_parent(b, i, p, 6, load9(mid.row, i, R), load3(mid.row, i, P), ma, ml)
    for i in range(1, n):
        p, v, nv = link[i, PARENT], link[i, VI], link[i, NV]
        ea, el = twist_to_child(load9(w.linear, i, L_R1), load3(w.linear, i, L_P1), load3(y, p, 0), load3(y, p, 3))
        ma, ml = twist_to_child(load9(mid.row, i, R), load3(mid.row, i, P), load3(y, p, 6), load3(y, p, 9))
        for r in range(v, v + nv):
            rest[r] = dot6(mid.W, r, 0, ea, el) + dot6(mid.W, r, 6, ma, ml)
        for r in range(v, v + nv):
            z = w.z[r]
            for c in range(nv):
                z -= mid.B[r, c] * rest[v + c]
            w.z[r] = z
            ea, el = add_column(w.S1, r, z, ea, el)
            ma, ml = add_column(mid.S1, r, z, ma, ml)
        store3(y, i, 0, ea)
        store3(y, i, 3, el)
        store3(y, i, 6, ma)
        store3(y, i, 9, ml)
