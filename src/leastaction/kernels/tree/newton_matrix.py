"""The Newton direction of a variational step in O(n).   docs/theory (5)

The end of the step varies by eta_i = Ad_{X_i(q+)^-1} eta_parent + s+ dd, the momentum of a body by K_i eta_i: the exact
Jacobian has the structure of an articulated body with a non-symmetric inertia A and two sets of poses, those of the
start (wrenches go to the root) and those of the end (variations come from it).
"""

from ...compiling.abreast import abreast
from ...compiling.decorators import inlined, kernel
from ...compiling.mixing import each, four_lanes, lane, lane_numbers, mixed
from ...joints import dispatch
from ...lie import retractions
from ...lie.algebra import (
    IDENTITY,
    ZERO3,
    add,
    axpy,
    dot,
    full,
    hat,
    hat_mat,
    load3,
    load6,
    load9,
    mat_hat,
    matadd,
    mataxpy,
    matinverse,
    matmul,
    matmul_t,
    matscale,
    matvec,
    outer,
    quat_to_matrix,
    scale,
    store3,
    store9,
    sub,
    symvec,
    tmatvec,
)
from ...lie.rotations import cayley_rate
from .actuation import slope_of
from .drnea import turned_about_z
from .laws import add_law_damping
from .layout import (  # fmt: skip
    AA,
    AL,
    DINV,
    ETA,
    INERTIA,
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
    PARENT,
    QI,
    VI,
    F,
    P,
    R,
    U,
    W,
    X,
)
from .spatial import accumulate_block, add_column, carried, column_dot, dot6, load_block, pass_to_parent, store_block, twist_to_child


@kernel
def assemble(m, w, h, retraction, exact):
    """Poses at the end of the step and stiffness K of every body at the increment d, exact or to first order in x.

    Reads R, P, X, d.  Writes linear, S1, art.  Laws on bodies add how they damp.
    """
    row, link = w.row, m.link
    for i in range(1, link.shape[0]):
        kind, k, v = link[i, KIND], link[i, QI], link[i, VI]
        rot, origin = load9(row, i, R), load3(row, i, P)
        store9(w.linear, i, L_R, rot)
        store3(w.linear, i, L_P, origin)
        if dispatch.turns_about_z(kind):
            store9(w.linear, i, L_R1, turned_about_z(rot, w.d[v]))
            store3(w.linear, i, L_P1, origin)
        else:  # X(q+) = X(q) J
            c, u, shift = dispatch.displacement(kind, m.param, i, w.q, k, w.d, v)
            store9(w.linear, i, L_R1, matmul(rot, quat_to_matrix(c, u)))
            store3(w.linear, i, L_P1, add(origin, matvec(rot, shift)))
            dispatch.columns(kind, m.param, i, w.q, k, w.d, v, 1.0, w.S1)
    if exact:
        stiffen_exactly(1, link.shape[0], row, m.body, w.art, h, retraction)
    else:
        stiffen_to_first_order(1, link.shape[0], row, m.body, w.art, h)
    add_law_damping(w.laws, m, w, retraction)


@abreast
def stiffen_exactly(i, row, body, art, h, retraction):
    phi, rho, mass, moment = load3(row, i, X), load3(row, i, X + 3), body[i, MASS], load3(body, i, MOMENT)
    keep_stiffness(art, i, h, retractions.stiffness(retraction, phi, rho, mass, moment, load6(body, i, INERTIA)))


@abreast
def stiffen_to_first_order(i, row, body, art, h):
    keep_stiffness(art, i, h, first_order_stiffness(load3(row, i, X), body[i, MASS], load3(body, i, MOMENT), load6(body, i, INERTIA)))


@inlined
def keep_stiffness(art, i, h, blocks):
    """Writes art from h K."""
    store_block(art, i, AA, matscale(1.0 / h, blocks[0]))
    store_block(art, i, AL, matscale(1.0 / h, blocks[1]))
    store_block(art, i, LA, matscale(1.0 / h, blocks[2]))
    store_block(art, i, LL, matscale(1.0 / h, blocks[3]))


@inlined
def first_order_stiffness(phi, mass, moment, inertia):
    """h K to first order in the displacement, the same for every retraction: a sixth of the work of the exact one."""
    trace = 0.5 * (inertia[0] + inertia[3] + inertia[5])
    turn = hat(axpy(trace, phi, scale(-1.0, symvec(inertia, phi))))
    e = matadd(IDENTITY, hat(phi))
    return matadd(full(inertia), turn), hat_mat(moment, e), matscale(-1.0, mat_hat(e, moment)), matscale(mass, e)


@inlined
def is_free_ball(m, i):
    """A ball joint without damper: it transmits no moment, which makes its elimination much shorter."""
    v = m.link[i, VI]
    return dispatch.turns_freely(m.link[i, KIND]) and m.damping[v] == 0.0 and m.damping[v + 1] == 0.0 and m.damping[v + 2] == 0.0


@kernel
def factorise(m, w, h):
    """Eliminate the joints, leaves to root, one column after the other.

    u = A s+,  w = A' s,  d = s.u + damping/2 + armature/h + slope,  A <- A - u w'/d;  what is left of A goes to the parent
    Reads linear, S0, S1, art.  Writes art, factor.
    """
    link, art = m.link, w.art
    for i in range(link.shape[0] - 1, 0, -1):
        v, p = link[i, VI], link[i, PARENT]
        if dispatch.turns_about_z(link[i, KIND]):
            factorise_hinge(m, w, i, h)
        elif is_free_ball(m, i):
            blocks = load_block(art, i, AA), load_block(art, i, AL), load_block(art, i, LA), load_block(art, i, LL)
            ll = factorise_ball(w, v, blocks[0], blocks[1], blocks[2], blocks[3])
            if p > 0:
                add_force_block_to_parent(w, i, p, ll)
        else:
            factorise_joint(m, w, i, h)


@inlined
def factorise_joint(m, w, i, h):
    """Eliminate joint i, whatever it is."""
    art, p = w.art, m.link[i, PARENT]
    aa, al, la, ll = load_block(art, i, AA), load_block(art, i, AL), load_block(art, i, LA), load_block(art, i, LL)
    aa, al, la, ll = eliminate(m, w, i, h, aa, al, la, ll)
    if p > 0:
        add_to_parent(w, i, p, aa, al, la, ll)


@four_lanes(factorise_joint)
def factorise_hinge(m, w, i, h):
    """The same for a joint that turns about z, the four blocks of A in the lanes: AA, AL, LA, LL."""
    art, fac, lin = w.art, w.factor, w.linear
    v, p, b = m.link[i, VI], m.link[i, PARENT], lane_numbers()
    A = load_block(art, i, b)
    column = mixed(A[2], 0, 0, 2, 2), mixed(A[5], 0, 0, 2, 2), mixed(A[8], 0, 0, 2, 2)  # of u: moments above, forces below
    line = mixed(A[6], 0, 1, 0, 1), mixed(A[7], 0, 1, 0, 1), mixed(A[8], 0, 1, 0, 1)  # of w
    dinv = 1.0 / (lane(A[8], 0) + 0.5 * m.damping[v] + m.armature[v] / h + slope_of(w.actuation, v))
    store3(fac, v, U, (lane(column[0], 0), lane(column[1], 0), lane(column[2], 0)))
    store3(fac, v, U + 3, (lane(column[0], 2), lane(column[1], 2), lane(column[2], 2)))
    store3(fac, v, W, (lane(line[0], 0), lane(line[1], 0), lane(line[2], 0)))
    store3(fac, v, W + 3, (lane(line[0], 1), lane(line[1], 1), lane(line[2], 1)))
    fac[v, DINV] = dinv
    if p > 0:
        left = mataxpy(-dinv, outer(column, line), A)
        C = matmul_t(matmul(load9(lin, i, L_R), left), load9(lin, i, L_R1))
        # to the origin of the parent (`carried`): p^ times the blocks of forces joins those of moments, then the blocks of velocities times
        # p1^ leave those of turning
        r, r1 = load3(lin, i, L_P), load3(lin, i, L_P1)
        upper = each(r[0], r[0], 0.0, 0.0), each(r[1], r[1], 0.0, 0.0), each(r[2], r[2], 0.0, 0.0)
        turning = each(r1[0], 0.0, r1[0], 0.0), each(r1[1], 0.0, r1[1], 0.0), each(r1[2], 0.0, r1[2], 0.0)
        E = matadd(C, hat_mat(upper, all_mixed(C, 2, 3, 2, 3)))
        accumulate_block(art, p, b, mataxpy(-1.0, mat_hat(all_mixed(E, 1, 1, 3, 3), turning), E))


@inlined
def all_mixed(A, p, q, r, s):
    return (mixed(A[0], p, q, r, s), mixed(A[1], p, q, r, s), mixed(A[2], p, q, r, s),
            mixed(A[3], p, q, r, s), mixed(A[4], p, q, r, s), mixed(A[5], p, q, r, s),
            mixed(A[6], p, q, r, s), mixed(A[7], p, q, r, s), mixed(A[8], p, q, r, s))  # fmt: skip


@inlined
def eliminate(m, w, i, h, aa, al, la, ll):
    """What is left of the blocks of A after the columns of joint i; writes its rows of factor."""
    link, fac = m.link, w.factor
    v, rate = link[i, VI], 1.0 / h
    for j in range(v, v + link[i, NV]):
        if dispatch.turns_about_z(link[i, KIND]):
            ua, ul = (aa[2], aa[5], aa[8]), (la[2], la[5], la[8])
            wa, wl = (aa[6], aa[7], aa[8]), (al[6], al[7], al[8])
            d = ua[2] + 0.5 * m.damping[j] + rate * m.armature[j]
        else:
            sa, sl = load3(w.S0, j, 0), load3(w.S0, j, 3)
            ea, el = load3(w.S1, j, 0), load3(w.S1, j, 3)
            ua, ul = add(matvec(aa, ea), matvec(al, el)), add(matvec(la, ea), matvec(ll, el))
            wa, wl = add(tmatvec(aa, sa), tmatvec(la, sl)), add(tmatvec(al, sa), tmatvec(ll, sl))
            d = dot(sa, ua) + dot(sl, ul) + 0.5 * m.damping[j] + rate * m.armature[j]
        dinv = 1.0 / (d + slope_of(w.actuation, j))
        store3(fac, j, U, ua)
        store3(fac, j, U + 3, ul)
        store3(fac, j, W, wa)
        store3(fac, j, W + 3, wl)
        fac[j, DINV] = dinv
        aa, al = mataxpy(-dinv, outer(ua, wa), aa), mataxpy(-dinv, outer(ua, wl), al)
        la, ll = mataxpy(-dinv, outer(ul, wa), la), mataxpy(-dinv, outer(ul, wl), ll)
    return aa, al, la, ll


# Of a ball joint the factor rows v, v+1, v+2 hold AA^-1, LA AA^-1 and AA^-1 AL, nine numbers each, and the increment d
# its columns belong to at the end of row v.
BALL_D = U + 9


@inlined
def factorise_ball(w, v, aa, al, la, ll):
    """Whatever the columns T of S1: with s = (1, 0), s+ = (T, 0) all that is left of A is LL - LA AA^-1 AL."""
    inverse = matinverse(aa)
    across, along = matmul(la, inverse), matmul(inverse, al)
    store9(w.factor, v, U, inverse)
    store9(w.factor, v + 1, U, across)
    store9(w.factor, v + 2, U, along)
    store3(w.factor, v, BALL_D, (w.d[v], w.d[v + 1], w.d[v + 2]))
    for j in range(v, v + 3):
        w.factor[j, DINV] = inverse[4 * (j - v)]
    return mataxpy(-1.0, matmul(across, al), ll)


@inlined
def add_force_block_to_parent(w, i, p, ll):
    """art_p += Ad_{X(q)^-1}' (0, 0; 0, LL) Ad_{X(q+)^-1}"""
    origin, origin1 = load3(w.linear, i, L_P), load3(w.linear, i, L_P1)
    ll = matmul_t(matmul(load9(w.linear, i, L_R), ll), load9(w.linear, i, L_R1))
    al = hat_mat(origin, ll)
    accumulate_block(w.art, p, AA, matscale(-1.0, mat_hat(al, origin1)))
    accumulate_block(w.art, p, AL, al)
    accumulate_block(w.art, p, LA, matscale(-1.0, mat_hat(ll, origin1)))
    accumulate_block(w.art, p, LL, ll)


@inlined
def add_to_parent(w, i, p, aa, al, la, ll):
    """art_p += Ad_{X(q)^-1}' A Ad_{X(q+)^-1}"""
    rot, origin = load9(w.linear, i, L_R), load3(w.linear, i, L_P)
    aa, al, la, ll = carried(rot, origin, load9(w.linear, i, L_R1), load3(w.linear, i, L_P1), aa, al, la, ll)
    accumulate_block(w.art, p, AA, aa)
    accumulate_block(w.art, p, AL, al)
    accumulate_block(w.art, p, LA, la)
    accumulate_block(w.art, p, LL, ll)


@inlined
def solve(m, w):
    """z = J^-1 r with the factorisation at hand.  Reads r, linear, S0, S1, factor.  Writes F, ETA, z."""
    row, link, fac, lin = w.row, m.link, w.factor, w.linear
    n = link.shape[0]
    for i in range(1, n):
        store3(row, i, F, ZERO3)
        store3(row, i, F + 3, ZERO3)
    for i in range(n - 1, 0, -1):
        a, l = load3(row, i, F), load3(row, i, F + 3)
        v = link[i, VI]
        if dispatch.turns_about_z(link[i, KIND]):
            z = (w.r[v] - a[2]) * fac[v, DINV]
            w.z[v] = z
            a, l = axpy(z, load3(fac, v, U), a), axpy(z, load3(fac, v, U + 3), l)
        elif is_free_ball(m, i):
            rest = (w.r[v] - a[0], w.r[v + 1] - a[1], w.r[v + 2] - a[2])
            w.z[v], w.z[v + 1], w.z[v + 2] = rest[0], rest[1], rest[2]
            a = (w.r[v], w.r[v + 1], w.r[v + 2])
            l = add(l, matvec(load9(fac, v + 1, U), rest))
        else:
            for j in range(v, v + link[i, NV]):
                z = (w.r[j] - column_dot(w.S0, j, a, l)) * fac[j, DINV]
                w.z[j] = z
                a, l = axpy(z, load3(fac, j, U), a), axpy(z, load3(fac, j, U + 3), l)
        pass_to_parent(row, i, link[i, PARENT], F, load9(lin, i, L_R), load3(lin, i, L_P), a, l)
    for i in range(1, n):
        p = link[i, PARENT]
        a, l = twist_to_child(load9(lin, i, L_R1), load3(lin, i, L_P1), load3(row, p, ETA), load3(row, p, ETA + 3))
        v = link[i, VI]
        if dispatch.turns_about_z(link[i, KIND]):
            z = w.z[v] - fac[v, DINV] * dot6(fac, v, W, a, l)
            w.z[v] = z
            a = (a[0], a[1], a[2] + z)
        elif is_free_ball(m, i):
            rest = (w.z[v], w.z[v + 1], w.z[v + 2])
            turned = sub(matvec(load9(fac, v, U), rest), matvec(load9(fac, v + 2, U), l))
            z3 = cayley_rate(load3(fac, v, BALL_D), sub(turned, a))
            w.z[v], w.z[v + 1], w.z[v + 2] = z3[0], z3[1], z3[2]
            a = turned
        else:
            for j in range(v + link[i, NV] - 1, v - 1, -1):
                z = w.z[j] - fac[j, DINV] * dot6(fac, j, W, a, l)
                w.z[j] = z
                a, l = add_column(w.S1, j, z, a, l)
        store3(row, i, ETA, a)
        store3(row, i, ETA + 3, l)
