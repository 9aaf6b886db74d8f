"""Discrete recursive Newton-Euler: the residual of one variational step in O(n).   docs/theory (4), Lee 2016 Alg. 2

All in momentum form: a step starts with the joint momenta `target` (half kick of the potential included) and has to
leave with them.
"""

from ...compiling.abreast import abreast
from ...compiling.decorators import inlined, kernel
from ...joints import dispatch
from ...lie import retractions
from ...lie.algebra import add, cross, load3, load9, matmul, matvec, quat_mul, quat_rotate_minus, scale, store3, store9, sub, tmatvec
from ...lie.trig import half_sincos, sincos
from .layout import DT, DU, DW, GRAVITY, KIND, MU, NV, PARENT, PLACE_P, PLACE_R, QI, VI, F, P, R, X
from .loads import add_wrenches, gravity_wrench
from .spatial import body_momentum, column_dot, pass_to_parent


@inlined
def turned_about_z(M, angle):
    """M Rz(angle): the first two columns mix, the third stays."""
    s, c = sincos(angle)
    return (c * M[0] + s * M[1], c * M[1] - s * M[0], M[2],
            c * M[3] + s * M[4], c * M[4] - s * M[3], M[5],
            c * M[6] + s * M[7], c * M[7] - s * M[6], M[8])  # fmt: skip


@inlined
def joint_pose(m, w, i, f):
    """Pose of body i in its parent at the fraction f of the step."""
    Rj, pj = dispatch.pose(m.link[i, KIND], m.param, i, w.q, m.link[i, QI], w.d, m.link[i, VI], f)
    return placed(m, i, Rj, pj)


@inlined
def placed(m, i, Rj, pj):
    """Pose of body i in its parent from that of its joint."""
    rot = load9(m.body, i, PLACE_R)
    return matmul(rot, Rj), add(load3(m.body, i, PLACE_P), matvec(rot, pj))


@inlined
def arriving_momentum(body, row, i, h):
    """mu'(x) = mu(x) + (ad_x' G x)/h, since dtau^-1_{-x} = dtau^-1_x + ad_x for every retraction here."""
    phi, rho = load3(row, i, X), load3(row, i, X + 3)
    a, l = body_momentum(body, i, scale(1.0 / h, phi), scale(1.0 / h, rho))
    return sub(load3(row, i, MU), add(cross(phi, a), cross(rho, l))), sub(load3(row, i, MU + 3), cross(phi, l))


@abreast
def load_bodies(i, row, body, kick):
    """Impulse of gravity on body i.  Writes F."""
    a, l = gravity_wrench(body, i, load3(row, i, GRAVITY))
    store3(row, i, F, scale(kick, a))
    store3(row, i, F + 3, scale(kick, l))


@abreast
def arrive_under_load(i, row, body, h, kick):
    """The same, and the momentum with which body i arrives.  Reads X, MU."""
    a, l = gravity_wrench(body, i, load3(row, i, GRAVITY))
    ma, ml = arriving_momentum(body, row, i, h)
    store3(row, i, F, add(scale(kick, a), ma))
    store3(row, i, F + 3, add(scale(kick, l), ml))


@kernel
def set_node(m, w, h, kick, arriving, out):
    """Poses and loads at the configuration q, and the joint momenta they give.

    out_i = S_i' F_i,  F_i = arriving * (momentum of the step just made) + kick * (gravity and wrenches) + children
    arriving: 1.0 or 0.0, not a truth value, for each of which Numba would compile a version of its own
    Reads q, X and MU (if arriving); writes R, P, GRAVITY, S0, F, out.
    """
    row, body, link = w.row, m.body, m.link
    n = link.shape[0]
    for i in range(1, n):
        if dispatch.turns_about_z(link[i, KIND]):
            rot = turned_about_z(load9(body, i, PLACE_R), w.q[link[i, QI]])
            store9(row, i, R, rot)
            store3(row, i, P, load3(body, i, PLACE_P))
        else:
            Rj, pj = dispatch.place(link[i, KIND], m.param, i, w.q, link[i, QI], w.d, link[i, VI], 0.0, w.S0)
            rot, origin = placed(m, i, Rj, pj)
            store9(row, i, R, rot)
            store3(row, i, P, origin)
        store3(row, i, GRAVITY, tmatvec(rot, load3(row, link[i, PARENT], GRAVITY)))
    if arriving > 0.0:
        arrive_under_load(1, n, row, body, h, kick)
    else:
        load_bodies(1, n, row, body, kick)
    add_wrenches(m, w, kick)
    project(m, w, out)


@inlined
def project(m, w, out):
    """out_i = S_i(q)' F_i, leaves to root, F passed on to the parents."""
    row, link = w.row, m.link
    for i in range(link.shape[0] - 1, 0, -1):
        a, l = load3(row, i, F), load3(row, i, F + 3)
        v = link[i, VI]
        kind = link[i, KIND]
        if dispatch.turns_about_z(kind):
            out[v] = a[2]
        elif dispatch.turns_freely(kind):
            out[v], out[v + 1], out[v + 2] = a[0], a[1], a[2]
        else:
            for j in range(v, v + link[i, NV]):
                out[j] = column_dot(w.S0, j, a, l)
        pass_to_parent(row, i, link[i, PARENT], F, load9(row, i, R), load3(row, i, P), a, l)


@inlined
def displace(m, w, i):
    """Displacement of body i over the step: D_i = X_i^-1 D_parent X_i J_i  as (w, u, t)."""
    row, link = w.row, m.link
    p = link[i, PARENT]
    rot, origin = load9(row, i, R), load3(row, i, P)
    c, u, shift = row[p, DW], load3(row, p, DU), load3(row, p, DT)
    shift = tmatvec(rot, add(shift, quat_rotate_minus(c, u, origin)))
    u = tmatvec(rot, u)
    if dispatch.turns_about_z(link[i, KIND]):
        hs, hc = half_sincos(w.d[link[i, VI]])
        return c * hc - u[2] * hs, (hc * u[0] + hs * u[1], hc * u[1] - hs * u[0], hc * u[2] + hs * c), shift
    cj, uj, tj = dispatch.displacement(link[i, KIND], m.param, i, w.q, link[i, QI], w.d, link[i, VI])
    shift = add(shift, add(tj, quat_rotate_minus(c, u, tj)))
    c, u = quat_mul(c, u, cj, uj)
    return c, u, shift


@abreast
def leave(i, row, body, h, retraction):
    """Momentum with which body i starts the step, from its displacement D.  Writes X, MU, F."""
    phi, rho = retractions.coordinates(retraction, row[i, DW], load3(row, i, DU), load3(row, i, DT))
    store3(row, i, X, phi)
    store3(row, i, X + 3, rho)
    a, l = body_momentum(body, i, scale(1.0 / h, phi), scale(1.0 / h, rho))
    a, l = retractions.cotangent(retraction, phi, rho, a, l)
    store3(row, i, MU, a)
    store3(row, i, MU + 3, l)
    store3(row, i, F, a)
    store3(row, i, F + 3, l)


@inlined
def residual(m, w, h, retraction):
    """Discrete Euler-Lagrange residual of the increment d, without what acts on the joints during the step.

    r_i = S_i(q^k)' F_i - target_i,   F_i = mu_i + sum over children of Ad' F_c
    Reads d, target and the node (R, P, S0).  Writes D, X, MU, F, r.
    """
    row, n = w.row, m.link.shape[0]
    for i in range(1, n):
        c, u, shift = displace(m, w, i)
        row[i, DW] = c
        store3(row, i, DU, u)
        store3(row, i, DT, shift)
    leave(1, n, row, m.body, h, retraction)
    project(m, w, w.r)
    for j in range(w.r.shape[0]):
        w.r[j] -= w.target[j]


@kernel
def carry_residual(m, w):
    """target -= r, transported to the new node.

    What is left of the residual is not thrown away but enters the next step, so errors of the solver do not add up:
    momentum stays within one tolerance for ever.
    """
    if dispatch.move_plainly(w.q, w.d):  # nothing turns
        for j in range(w.d.shape[0]):
            w.target[j] -= w.r[j]
        return
    for i in range(1, m.link.shape[0]):
        v, kind = m.link[i, VI], m.link[i, KIND]
        if dispatch.turns_about_z(kind):
            w.target[v] -= w.r[v]
        else:
            dispatch.carry(kind, w.d, v, m.link[i, NV], w.r, w.target)
