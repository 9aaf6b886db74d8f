"""The mass matrix and the derivative of the momenta M(q) v in q.   In the frame of slopes.py: one per tree, axes of the world

A joint that moves takes everything beyond it along: twists relative to what it stands on, momenta F, the joint columns.  So in direction l
the momenta beyond change by ad*_s_l F + G psi_l, psi_l = ad_V s_l + (d S / dq_l) v, V the twist of the parent.
"""

from ...compiling.decorators import entry, inlined, kernel
from ...joints import dispatch
from ...lie.algebra import (
    IDENTITY,
    ZERO3,
    accumulate3,
    add,
    cross,
    dot,
    full,
    hat,
    load3,
    load6,
    load9,
    matscale,
    scale,
    store3,
    store9,
    sub,
    tmatvec,
)
from .evaluate import place
from .layout import AA, AL, ETA, INERTIA, KIND, LA, LL, MASS, MOMENT, NV, PARENT, VI, F, R
from .midpoint_quadrature import place_in_world
from .slopes import S0, S1, column_curvature_of, store_both, times, transposed_times, turned
from .spatial import carried, store_block, twist_to_parent


@entry
def momentum_derivative(m, w, s, q, v, M, out):
    """M (nv, nv) = mass matrix at q; out (nv, nv) = derivative of M v in q, along tangent vectors.  w.d has to be zero."""
    place(m, w, q, w.r)
    link, x = m.link, s.vector
    nv = v.shape[0]
    for j in range(nv):
        for k in range(nv):
            M[j, k], out[j, k] = 0.0, 0.0
        M[j, j] = m.armature[j]
    for i in range(1, link.shape[0]):
        place_body(m, w, s, i, v)
        if bends(link[i, KIND]):
            add_bending(m, w, s, i, v)
    for i in range(link.shape[0] - 1, 0, -1):
        p, first, dofs = link[i, PARENT], link[i, VI], link[i, NV]
        Fa, Fl = load3(w.row, i, F), load3(w.row, i, F + 3)
        if bends(link[i, KIND]):
            add_own_curvature(m, w, s, i, Fa, Fl, out)
        for j in range(first, first + dofs):
            a, l = load3(x, j, S0), load3(x, j, S0 + 3)
            ga, gl = transposed_times(s.K, i, a, l)  # of a symmetric inertia
            ya, yl = times(s.K, i, load3(x, j, S1), load3(x, j, S1 + 3))
            ta, tl = turned(a, l, Fa, Fl)
            ta, tl = add(ya, ta), add(yl, tl)
            for k in range(first, first + dofs):
                M[j, k] += dot(ga, load3(x, k, S0)) + dot(gl, load3(x, k, S0 + 3))
                out[k, j] += dot(ya, load3(x, k, S0)) + dot(yl, load3(x, k, S0 + 3))
            above = p
            while above > 0:
                for k in range(link[above, VI], link[above, VI] + link[above, NV]):
                    ka, kl = load3(x, k, S0), load3(x, k, S0 + 3)
                    M[j, k] = M[k, j] = dot(ga, ka) + dot(gl, kl)
                    out[k, j] = dot(ta, ka) + dot(tl, kl)
                    out[j, k] = dot(ga, load3(x, k, S1)) + dot(gl, load3(x, k, S1 + 3))
                above = link[above, PARENT]
        if p > 0:
            for c in range(36):
                s.K[p, c] += s.K[i, c]
            accumulate3(w.row, p, F, Fa)
            accumulate3(w.row, p, F + 3, Fl)


@kernel
def place_body(m, w, s, i, v):
    """Pose, twist (ETA), momentum (F), inertia (K) and columns (S0) of body i, and psi (S1) of its degrees of freedom."""
    link, x = m.link, s.vector
    p, first, dofs = link[i, PARENT], link[i, VI], link[i, NV]
    if p == 0:
        store9(s.start, i, 0, load9(w.row, i, R))
        store3(s.start, i, 9, ZERO3)
    else:
        place_in_world(s.start, w.row, i, p)
    Q, origin = load9(s.start, i, 0), load3(s.start, i, 9)
    below_a, below_l = (load3(w.row, p, ETA), load3(w.row, p, ETA + 3)) if p > 0 else (ZERO3, ZERO3)
    twist_a, twist_l = below_a, below_l
    for j in range(first, first + dofs):
        a, l = twist_to_parent(Q, origin, load3(w.S0, j, 0), load3(w.S0, j, 3))
        store_both(x, j, S0, a, l)
        store_both(x, j, S1, cross(below_a, a), add(cross(below_a, l), cross(below_l, a)))
        twist_a, twist_l = add(twist_a, scale(v[j], a)), add(twist_l, scale(v[j], l))
    store3(w.row, i, ETA, twist_a)
    store3(w.row, i, ETA + 3, twist_l)
    moment = hat(load3(m.body, i, MOMENT))
    aa, al, la, ll = carried(
        Q, origin, Q, origin, full(load6(m.body, i, INERTIA)), moment, matscale(-1.0, moment), matscale(m.body[i, MASS], IDENTITY)
    )
    store_block(s.K, i, AA, aa)
    store_block(s.K, i, AL, al)
    store_block(s.K, i, LA, la)
    store_block(s.K, i, LL, ll)
    a, l = times(s.K, i, twist_a, twist_l)
    store3(w.row, i, F, a)
    store3(w.row, i, F + 3, l)


@inlined
def bends(kind):
    """Do the columns change with the coordinates of their own joint?"""
    return not dispatch.has_quaternion(kind) and dispatch.columns_change(kind)


@kernel
def add_bending(m, w, s, i, v):
    """psi_l += (d S / dq_l) v, one component of the columns after the other."""
    Q, origin = load9(s.start, i, 0), load3(s.start, i, 9)
    first, dofs = m.link[i, VI], m.link[i, NV]
    for a in range(6):
        for c in range(6):
            s.wrench[i, c] = 1.0 if c == a else 0.0
        column_curvature_of(m, w, s, i, 0.0)
        angular = (1.0 if a == 0 else 0.0, 1.0 if a == 1 else 0.0, 1.0 if a == 2 else 0.0)
        linear = (1.0 if a == 3 else 0.0, 1.0 if a == 4 else 0.0, 1.0 if a == 5 else 0.0)
        ea, el = twist_to_parent(Q, origin, angular, linear)
        for c in range(dofs):
            rate = 0.0
            for b in range(dofs):
                rate += s.E[b, c] * v[first + b]
            accumulate3(s.vector, first + c, S1, scale(rate, ea))
            accumulate3(s.vector, first + c, S1 + 3, scale(rate, el))


@kernel
def add_own_curvature(m, w, s, i, Fa, Fl, out):
    """out += (d S_j / dq_l).F within joint i."""
    Q, origin, first = load9(s.start, i, 0), load3(s.start, i, 9), m.link[i, VI]
    store3(s.wrench, i, 0, tmatvec(Q, sub(Fa, cross(origin, Fl))))
    store3(s.wrench, i, 3, tmatvec(Q, Fl))
    column_curvature_of(m, w, s, i, 0.0)
    for b in range(m.link[i, NV]):
        for c in range(m.link[i, NV]):
            out[first + b, first + c] += s.E[b, c]
