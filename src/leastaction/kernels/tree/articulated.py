"""M^-1 in O(n): articulated-body factorisation, its solve, and forward dynamics (ABA)."""

from ...compiling.decorators import inlined, kernel
from ...joints import dispatch
from ...lie.algebra import (
    ZERO3,
    accumulate6,
    accumulate9,
    add,
    axpy,
    congruent,
    cross,
    dot,
    hat,
    load3,
    load6,
    load9,
    mataxpy,
    matmul,
    matmul_t,
    matvec,
    outer,
    store3,
    store6,
    store9,
    symvec,
    tmatvec,
)
from .continuous import gyroscopic_wrench, twists, velocity_products
from .layout import DINV, ETA, INERTIA, KIND, MASS, MOMENT, NV, PARENT, VI, F, P, R, U
from .spatial import add_column, column_dot, dot6, pass_to_parent, twist_to_child

# symmetric articulated inertia in Work.art: angular block (6), coupling (9), linear block (6)
S_AA, S_AL, S_LL = 0, 6, 15


@inlined
def rank_one(s, u, d):
    """s - d u u' of a symmetric s."""
    a, b, c = d * u[0], d * u[1], d * u[2]
    return s[0] - a * u[0], s[1] - a * u[1], s[2] - a * u[2], s[3] - b * u[1], s[4] - b * u[2], s[5] - c * u[2]


@kernel
def mass_factor(m, w):
    """Articulated inertias of all bodies, leaves to root.  Reads R, P, S0; writes art, factor (U, DINV)."""
    link, art, fac, row = m.link, w.art, w.factor, w.row
    for i in range(1, link.shape[0]):
        mass = m.body[i, MASS]
        store6(art, i, S_AA, load6(m.body, i, INERTIA))
        store9(art, i, S_AL, hat(load3(m.body, i, MOMENT)))
        store6(art, i, S_LL, (mass, 0.0, 0.0, mass, 0.0, mass))
    for i in range(link.shape[0] - 1, 0, -1):
        aa, al, ll = load6(art, i, S_AA), load9(art, i, S_AL), load6(art, i, S_LL)
        v, kind = link[i, VI], link[i, KIND]
        for j in range(v, v + link[i, NV]):
            if dispatch.turns_about_z(kind) or (dispatch.turns_freely(kind) and j == v + 2):
                ua, ul = (aa[2], aa[4], aa[5]), (al[6], al[7], al[8])
                d = aa[5]
            elif dispatch.turns_freely(kind) and j == v:
                ua, ul = (aa[0], aa[1], aa[2]), (al[0], al[1], al[2])
                d = aa[0]
            elif dispatch.turns_freely(kind):
                ua, ul = (aa[1], aa[3], aa[4]), (al[3], al[4], al[5])
                d = aa[3]
            else:
                sa, sl = load3(w.S0, j, 0), load3(w.S0, j, 3)
                ua, ul = add(symvec(aa, sa), matvec(al, sl)), add(tmatvec(al, sa), symvec(ll, sl))
                d = dot(sa, ua) + dot(sl, ul)
            dinv = 1.0 / (d + m.armature[j])
            store3(fac, j, U, ua)
            store3(fac, j, U + 3, ul)
            fac[j, DINV] = dinv
            aa, ll = rank_one(aa, ua, dinv), rank_one(ll, ul, dinv)
            al = mataxpy(-dinv, outer(ua, ul), al)
        p = link[i, PARENT]
        if p > 0:
            add_to_parent(art, p, load9(row, i, R), load3(row, i, P), aa, al, ll)


@inlined
def add_to_parent(art, p, rot, r, aa, al, ll):
    """art_p += Ad_{X^-1}' A Ad_{X^-1} for symmetric A."""
    aa, ll, al = congruent(rot, aa), congruent(rot, ll), matmul_t(matmul(rot, al), rot)
    # al2 = al + r^ ll;  aa2 = aa - al2 r^ - (al r^)'
    c0, c1, c2 = cross(r, (ll[0], ll[1], ll[2])), cross(r, (ll[1], ll[3], ll[4])), cross(r, (ll[2], ll[4], ll[5]))
    al2 = (al[0] + c0[0], al[1] + c1[0], al[2] + c2[0], al[3] + c0[1], al[4] + c1[1], al[5] + c2[1],
           al[6] + c0[2], al[7] + c1[2], al[8] + c2[2])  # fmt: skip
    y0, y1, y2 = cross((al[0], al[1], al[2]), r), cross((al[3], al[4], al[5]), r), cross((al[6], al[7], al[8]), r)
    z0, z1, z2 = cross((al2[0], al2[1], al2[2]), r), cross((al2[3], al2[4], al2[5]), r), cross((al2[6], al2[7], al2[8]), r)
    accumulate6(art, p, S_AA, (aa[0] - z0[0] - y0[0], aa[1] - z0[1] - y1[0], aa[2] - z0[2] - y2[0],
                               aa[3] - z1[1] - y1[1], aa[4] - z1[2] - y2[1], aa[5] - z2[2] - y2[2]))  # fmt: skip
    accumulate9(art, p, S_AL, al2)
    accumulate6(art, p, S_LL, ll)


@kernel
def mass_solve(m, w, rhs, out):
    """out = M^-1 rhs with the factorisation at hand.  Reads R, P, S0, factor; writes F, ETA, out."""
    row, link = w.row, m.link
    n = link.shape[0]
    for i in range(1, n):
        store3(row, i, F, ZERO3)
        store3(row, i, F + 3, ZERO3)
    to_root(m, w, rhs, out)
    for i in range(1, n):
        p = link[i, PARENT]
        a, l = twist_to_child(load9(row, i, R), load3(row, i, P), load3(row, p, ETA), load3(row, p, ETA + 3))
        a, l = back_substitute(m, w, i, out, a, l)
        store3(row, i, ETA, a)
        store3(row, i, ETA + 3, l)


@inlined
def to_root(m, w, rhs, out):
    """Forward elimination of the bias wrenches in F; out = d^-1 (rhs - s.F)."""
    row, link, fac = w.row, m.link, w.factor
    for i in range(link.shape[0] - 1, 0, -1):
        a, l = load3(row, i, F), load3(row, i, F + 3)
        v = link[i, VI]
        for j in range(v, v + link[i, NV]):
            along = a[2] if dispatch.turns_about_z(link[i, KIND]) else column_dot(w.S0, j, a, l)
            z = (rhs[j] - along) * fac[j, DINV]
            out[j] = z
            a, l = axpy(z, load3(fac, j, U), a), axpy(z, load3(fac, j, U + 3), l)
        pass_to_parent(row, i, link[i, PARENT], F, load9(row, i, R), load3(row, i, P), a, l)


@inlined
def back_substitute(m, w, i, out, a, l):
    """out_i from the motion (a, l) of the parent seen in body i; returns the motion of body i."""
    link, fac = m.link, w.factor
    v = link[i, VI]
    for j in range(v + link[i, NV] - 1, v - 1, -1):
        z = out[j] - fac[j, DINV] * dot6(fac, j, U, a, l)
        out[j] = z
        if dispatch.turns_about_z(link[i, KIND]):
            a = (a[0], a[1], a[2] + z)
        else:
            a, l = add_column(w.S0, j, z, a, l)
    return a, l


@kernel
def forward_dynamics(m, w, v, tau, scratch, out):
    """out = M^-1 (tau - bias): articulated-body algorithm with dS/dt.  `tau` holds everything but velocity products.

    scratch: (n+1, 6).  Reads R, P, S0; writes ETA, F, art, factor, out.
    """
    row, link = w.row, m.link
    n = link.shape[0]
    twists(m, w, v)
    for i in range(1, n):
        a, l = gyroscopic_wrench(m, w, i)
        store3(row, i, F, a)
        store3(row, i, F + 3, l)
        a, l = velocity_products(m, w, i, v)
        store3(scratch, i, 0, a)
        store3(scratch, i, 3, l)
    mass_factor(m, w)
    # the velocity products act like an acceleration of the joint itself: A c enters the bias before the joint is eliminated
    for i in range(n - 1, 0, -1):
        ca, cl = load3(scratch, i, 0), load3(scratch, i, 3)
        aa, al, ll = load6(w.art, i, S_AA), load9(w.art, i, S_AL), load6(w.art, i, S_LL)
        a = add(load3(row, i, F), add(symvec(aa, ca), matvec(al, cl)))
        l = add(load3(row, i, F + 3), add(tmatvec(al, ca), symvec(ll, cl)))
        j0 = link[i, VI]
        for j in range(j0, j0 + link[i, NV]):
            along = a[2] if dispatch.turns_about_z(link[i, KIND]) else column_dot(w.S0, j, a, l)
            z = (tau[j] - along) * w.factor[j, DINV]
            out[j] = z
            a, l = axpy(z, load3(w.factor, j, U), a), axpy(z, load3(w.factor, j, U + 3), l)
        pass_to_parent(row, i, link[i, PARENT], F, load9(row, i, R), load3(row, i, P), a, l)
    for i in range(1, n):
        p = link[i, PARENT]
        a, l = twist_to_child(load9(row, i, R), load3(row, i, P), load3(row, p, ETA), load3(row, p, ETA + 3))
        a, l = back_substitute(m, w, i, out, a, l)
        store3(row, i, ETA, add(a, load3(scratch, i, 0)))
        store3(row, i, ETA + 3, add(l, load3(scratch, i, 3)))
