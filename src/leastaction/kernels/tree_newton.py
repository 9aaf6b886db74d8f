"""The Newton direction of a variational step in O(n).   docs/theory (5)

The end of the step varies by eta_i = Ad_{X_i(q+)^-1} eta_parent + s+ dd, the momentum of a body by K_i eta_i: the exact
Jacobian has the structure of an articulated body with a non-symmetric inertia A and two sets of poses, those of the
start (wrenches go to the root) and those of the end (variations come from it).
"""

from ..joints import dispatch
from ..joints.dispatch import REVOLUTE
from ..lie import retractions
from ..lie.algebra import ZERO3, accumulate9, add, axpy, dot, hat_mat, load3, load6, load9, mat_hat, matadd, mataxpy, matmul, matmul_t, matscale, matvec, outer, store3, store9, tmatvec  # fmt: skip
from ..lie.jit import inlined, kernel
from .articulated import mass_factor
from .drnea import joint_pose, turned_about_z
from .layout import AA, AL, DINV, ETA, INERTIA, KIND, L_P, L_P1, L_R, L_R1, LA, LL, MASS, MOMENT, NV, PARENT, QI, U, VI, F, P, R, W, X  # fmt: skip
from .spatial import add_column, column_dot, dot6, pass_to_parent, twist_to_child


@kernel
def factorise_mass(m, w, h):
    """The quasi-Newton factorisation of Lee 2016 Alg. 3: M(q)/h instead of the Jacobian, in the same memory.

    Half as dear as the exact one, and as good where bodies turn by small angles in a step.
    """
    row, link = w.row, m.link
    mass_factor(m, w, 1.0 / h, 0.5)
    for i in range(1, link.shape[0]):
        rot, origin = load9(row, i, R), load3(row, i, P)
        store9(w.linear, i, L_R, rot)
        store3(w.linear, i, L_P, origin)
        store9(w.linear, i, L_R1, rot)
        store3(w.linear, i, L_P1, origin)
        for j in range(link[i, VI], link[i, VI] + link[i, NV]):
            store3(w.factor, j, W, load3(w.factor, j, U))
            store3(w.factor, j, W + 3, load3(w.factor, j, U + 3))
            if link[i, KIND] != REVOLUTE:
                store3(w.S1, j, 0, load3(w.S0, j, 0))
                store3(w.S1, j, 3, load3(w.S0, j, 3))


@kernel
def assemble(m, w, h, retraction):
    """Poses and stiffness K of every body at the increment d.

    Reads R, P, X, d.  Writes linear, S1, art.
    """
    row, link = w.row, m.link
    for i in range(1, link.shape[0]):
        rot, origin = load9(row, i, R), load3(row, i, P)
        store9(w.linear, i, L_R, rot)
        store3(w.linear, i, L_P, origin)
        if link[i, KIND] == REVOLUTE:
            store9(w.linear, i, L_R1, turned_about_z(rot, w.d[link[i, VI]]))
            store3(w.linear, i, L_P1, origin)
        else:
            rot, origin = joint_pose(m, w, i, 1.0)
            store9(w.linear, i, L_R1, rot)
            store3(w.linear, i, L_P1, origin)
            dispatch.columns(link[i, KIND], m.param, i, w.q, link[i, QI], w.d, link[i, VI], 1.0, w.S1)
        aa, al, la, ll = retractions.stiffness(
            retraction, load3(row, i, X), load3(row, i, X + 3), m.body[i, MASS], load3(m.body, i, MOMENT), load6(m.body, i, INERTIA)
        )  # fmt: skip
        store9(w.art, i, AA, matscale(1.0 / h, aa))
        store9(w.art, i, AL, matscale(1.0 / h, al))
        store9(w.art, i, LA, matscale(1.0 / h, la))
        store9(w.art, i, LL, matscale(1.0 / h, ll))


@kernel
def factorise(m, w):
    """Eliminate the joints, leaves to root, one column after the other.

    u = A s+,  w = A' s,  d = s.u + damping/2,  A <- A - u w'/d;  what is left of A goes to the parent
    Reads linear, S0, S1, art.  Writes art, factor.
    """
    link, art, fac = m.link, w.art, w.factor
    for i in range(link.shape[0] - 1, 0, -1):
        aa, al, la, ll = load9(art, i, AA), load9(art, i, AL), load9(art, i, LA), load9(art, i, LL)
        v = link[i, VI]
        for j in range(v, v + link[i, NV]):
            if link[i, KIND] == REVOLUTE:
                ua, ul = (aa[2], aa[5], aa[8]), (la[2], la[5], la[8])
                wa, wl = (aa[6], aa[7], aa[8]), (al[6], al[7], al[8])
                d = ua[2] + 0.5 * m.damping[j]
            else:
                sa, sl = load3(w.S0, j, 0), load3(w.S0, j, 3)
                ea, el = load3(w.S1, j, 0), load3(w.S1, j, 3)
                ua, ul = add(matvec(aa, ea), matvec(al, el)), add(matvec(la, ea), matvec(ll, el))
                wa, wl = add(tmatvec(aa, sa), tmatvec(la, sl)), add(tmatvec(al, sa), tmatvec(ll, sl))
                d = dot(sa, ua) + dot(sl, ul) + 0.5 * m.damping[j]
            dinv = 1.0 / d
            store3(fac, j, U, ua)
            store3(fac, j, U + 3, ul)
            store3(fac, j, W, wa)
            store3(fac, j, W + 3, wl)
            fac[j, DINV] = dinv
            aa, al = mataxpy(-dinv, outer(ua, wa), aa), mataxpy(-dinv, outer(ua, wl), al)
            la, ll = mataxpy(-dinv, outer(ul, wa), la), mataxpy(-dinv, outer(ul, wl), ll)
        p = link[i, PARENT]
        if p > 0:
            add_to_parent(w, i, p, aa, al, la, ll)


@inlined
def add_to_parent(w, i, p, aa, al, la, ll):
    """art_p += Ad_{X(q)^-1}' A Ad_{X(q+)^-1}"""
    rot, origin = load9(w.linear, i, L_R), load3(w.linear, i, L_P)
    rot1, origin1 = load9(w.linear, i, L_R1), load3(w.linear, i, L_P1)
    aa, al = matmul_t(matmul(rot, aa), rot1), matmul_t(matmul(rot, al), rot1)
    la, ll = matmul_t(matmul(rot, la), rot1), matmul_t(matmul(rot, ll), rot1)
    al2 = matadd(al, hat_mat(origin, ll))
    aa2 = matadd(aa, hat_mat(origin, la))
    accumulate9(w.art, p, AA, mataxpy(-1.0, mat_hat(al2, origin1), aa2))
    accumulate9(w.art, p, AL, al2)
    accumulate9(w.art, p, LA, mataxpy(-1.0, mat_hat(ll, origin1), la))
    accumulate9(w.art, p, LL, ll)


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
        for j in range(v, v + link[i, NV]):
            along = a[2] if link[i, KIND] == REVOLUTE else column_dot(w.S0, j, a, l)
            z = (w.r[j] - along) * fac[j, DINV]
            w.z[j] = z
            a, l = axpy(z, load3(fac, j, U), a), axpy(z, load3(fac, j, U + 3), l)
        pass_to_parent(row, i, link[i, PARENT], F, load9(lin, i, L_R), load3(lin, i, L_P), a, l)
    for i in range(1, n):
        p = link[i, PARENT]
        a, l = twist_to_child(load9(lin, i, L_R1), load3(lin, i, L_P1), load3(row, p, ETA), load3(row, p, ETA + 3))
        v = link[i, VI]
        for j in range(v + link[i, NV] - 1, v - 1, -1):
            z = w.z[j] - fac[j, DINV] * dot6(fac, j, W, a, l)
            w.z[j] = z
            if link[i, KIND] == REVOLUTE:
                a = (a[0], a[1], a[2] + z)
            else:
                a, l = add_column(w.S1, j, z, a, l)
        store3(row, i, ETA, a)
        store3(row, i, ETA + 3, l)
