"""The linearised map of a step, (q, p, tau) -> (q', p'), in O(n nv): the converged articulated factorisation with a right-hand side for
every coordinate and every momentum.

    dq' = P01^-1 (dp - P00 dq + (h/2) dtau),   dp' = P10 dq + P11 dq' + (h/2) dtau

All right-hand sides go through the tree together, a row of numbers for every component of a wrench or twist.  In the frame of slopes.py
these need not be carried from body to body.
"""

from typing import NamedTuple

from ...compiling.decorators import entry, inlined, kernel
from ...compiling.records import floats, integers
from ...joints import dispatch
from ...lie.algebra import load3, load9
from .layout import AA, AL, DINV, KIND, LA, LL, NV, PARENT, VI, U, W
from .newton_matrix import add_to_parent, eliminate
from .slopes import COLUMN00, COLUMN10, COLUMN11, ROW00, ROW10, ROW11, S0, S1, Parts, momentum_slopes, store_both
from .spatial import dot6, twist_to_parent, wrench_to_parent
from .step import SWEEPS, begin, full_residual, momentum_scale

# columns of Maps.factor
U_, W_, E_ = 0, 6, 12  # u and w of newton_matrix.py, joint columns at the end per increment


class Maps(NamedTuple):
    """Memory of the right-hand sides."""

    factor: floats("nv", 18)  # in the frame of the tree
    b: floats("6*(n+1)", "2*nv")  # wrenches of all right-hand sides, six rows per place
    place: integers("n+1")  # which six rows a body has; -1: none yet
    x: floats(6, "2*nv")  # scratch


@entry
def step_maps(m, w, s, maps, given, h, times, q, start, d, retraction, left, A, B):
    """A (nodes, 2 nv, 2 nv) and B (nodes, 2 nv, nv) of the steps from (q[k], start[k]) by d[k] at times[k].

    For trees without constraints, springs between points, potentials of coordinates, and functions of the user, trapezoid quadrature.
    start: (nodes, nv) momenta, with the left half impulse of the joint forces; given: (1 or nodes, 4, nv, 6) as in `momentum_slopes`; left:
    (nodes,) residuals of the steps, relative to the largest momentum
    """
    parts = Parts(1, 1)
    for k in range(q.shape[0]):
        for j in range(w.q.shape[0]):
            w.q[j] = q[k, j]
        for j in range(w.d.shape[0]):
            w.d[j], w.target[j] = d[k, j], start[k, j]
        begin(SWEEPS, m, w, None, h)
        off = full_residual(SWEEPS, m, w, None, h, times[k], retraction)
        left[k] = off / momentum_scale(m, w, None, h) if off > 0.0 else off
        momentum_slopes(m, m, w, s, parts, given[k if given.shape[0] > 1 else 0], h, times[k], retraction)
        factorise_columns(m, w, s, maps, h)
        right_hand_sides(m, s, A[k])
        to_root(m, w, s, maps, A[k])
        to_leaves(m, w, s, maps, A[k])
        add_from_beyond(m, s, maps, A[k])
        joint_forces(A[k], B[k], 0.5 * h)


@kernel
def factorise_columns(m, w, s, maps, h):
    """As newton_matrix.factorise, every joint column by column; the factors in the frame of the tree."""
    link, art = m.link, w.art
    for i in range(link.shape[0] - 1, 0, -1):
        aa, al, la, ll = eliminate(m, w, i, h, load9(art, i, AA), load9(art, i, AL), load9(art, i, LA), load9(art, i, LL))
        p = link[i, PARENT]
        if p > 0:
            add_to_parent(w, i, p, aa, al, la, ll)
        Q0, x0, Q1, x1 = load9(s.start, i, 0), load3(s.start, i, 9), load9(s.end, i, 0), load3(s.end, i, 9)
        for j in range(link[i, VI], link[i, VI] + link[i, NV]):
            a, l = wrench_to_parent(Q0, x0, load3(w.factor, j, U), load3(w.factor, j, U + 3))
            store_both(maps.factor, j, U_, a, l)
            a, l = wrench_to_parent(Q1, x1, load3(w.factor, j, W), load3(w.factor, j, W + 3))
            store_both(maps.factor, j, W_, a, l)
            if dispatch.has_quaternion(link[i, KIND]):
                a, l = twist_to_parent(Q1, x1, load3(w.S1, j, 0), load3(w.S1, j, 3))
            else:
                a, l = load3(s.vector, j, S1), load3(s.vector, j, S1 + 3)
            store_both(maps.factor, j, E_, a, l)


@kernel
def right_hand_sides(m, s, A):
    """Upper half of A = (-P00, 1), lower half = (P10, 0)."""
    link, x = m.link, s.vector
    nv = x.shape[0]
    for j in range(nv):
        for c in range(2 * nv):
            A[j, c], A[nv + j, c] = 0.0, 0.0
        A[j, nv + j] = 1.0
    for i in range(1, link.shape[0]):
        for j in range(link[i, VI], link[i, VI] + link[i, NV]):
            above = i
            while above > 0:
                for k in range(link[above, VI], link[above, VI] + link[above, NV]):
                    a0, l0 = load3(x, k, S0), load3(x, k, S0 + 3)
                    A[j, k] = -dot6(x, j, ROW00, a0, l0)
                    A[nv + j, k] = dot6(x, j, ROW10, a0, l0)
                    if above != i:
                        A[k, j] = -dot6(x, j, COLUMN00, a0, l0)
                        A[nv + k, j] = dot6(x, j, COLUMN10, load3(x, k, S1), load3(x, k, S1 + 3))
                above = link[above, PARENT]
            for c in range(link[i, NV]):
                A[j, link[i, VI] + c] -= s.own[0, j, c]
                A[nv + j, link[i, VI] + c] += s.own[2, j, c]


# ------------------------------------------------------------------------------------------------ rows of numbers


@inlined
def combine(out, r, sign, factors, j, k, b, first):
    """out[r] += sign factors[j, k:k+6] . b[first:first+6]"""
    f0, f1, f2 = sign * factors[j, k], sign * factors[j, k + 1], sign * factors[j, k + 2]
    f3, f4, f5 = sign * factors[j, k + 3], sign * factors[j, k + 4], sign * factors[j, k + 5]
    for c in range(out.shape[1]):
        angular = f0 * b[first, c] + f1 * b[first + 1, c] + f2 * b[first + 2, c]
        out[r, c] += angular + (f3 * b[first + 3, c] + f4 * b[first + 4, c] + f5 * b[first + 5, c])


@inlined
def spread(b, first, factors, j, k, x, r):
    """b[first:first+6] += factors[j, k:k+6] x[r]"""
    for a in range(6):
        f = factors[j, k + a]
        if f != 0.0:
            for c in range(x.shape[1]):
                b[first + a, c] += f * x[r, c]


@inlined
def scaled(out, r, factor):
    for c in range(out.shape[1]):
        out[r, c] *= factor


@inlined
def copy_rows(b, to, origin):
    for a in range(6):
        for c in range(b.shape[1]):
            b[to + a, c] = b[origin + a, c]


@inlined
def clear_rows(b, first):
    for a in range(6):
        for c in range(b.shape[1]):
            b[first + a, c] = 0.0


@inlined
def hand_on(b, place, i, p):
    """The rows of body i to its parent p: the first child's become the parent's, the others are added."""
    if place[p] < 0:
        place[p] = place[i]
    else:
        for a in range(6):
            for c in range(b.shape[1]):
                b[place[p] + a, c] += b[place[i] + a, c]


# ------------------------------------------------------------------------------------------------------- the sweeps


@kernel
def to_root(m, w, s, maps, A):
    """z = (r - s0.b) / d,  b <- b + u z;  leaves to root, z takes the place of r."""
    link, b, place = m.link, maps.b, maps.place
    n = link.shape[0]
    for i in range(n):
        place[i] = -1
    for i in range(n - 1, 0, -1):
        if place[i] < 0:
            place[i] = 6 * i
            clear_rows(b, 6 * i)
        first, p = place[i], link[i, PARENT]
        for j in range(link[i, VI], link[i, VI] + link[i, NV]):
            combine(A, j, -1.0, s.vector, j, S0, b, first)
            scaled(A, j, w.factor[j, DINV])
            spread(b, first, maps.factor, j, U_, A, j)
        if p > 0:
            hand_on(b, place, i, p)


@kernel
def to_leaves(m, w, s, maps, A):
    """x = z - w.eta / d,  eta <- eta + s1 x;  root to leaves, dq' takes the place of z.

    Lower half += ROW11.eta and what is the joint's own.
    """
    link, b, place, x = m.link, maps.b, maps.place, maps.x
    n, nv = link.shape[0], s.vector.shape[0]
    for i in range(1, n):
        p, v, dofs, first = link[i, PARENT], link[i, VI], link[i, NV], 6 * i
        place[i] = first
        if p == 0:
            clear_rows(b, first)
        else:
            copy_rows(b, first, place[p])
        for j in range(v + dofs - 1, v - 1, -1):
            combine(A, j, -w.factor[j, DINV], maps.factor, j, W_, b, first)
            spread(b, first, maps.factor, j, E_, A, j)
        if dispatch.has_quaternion(link[i, KIND]):
            tangents(s, x, A, v, dofs)
        for j in range(v, v + dofs):
            combine(A, nv + j, 1.0, s.vector, j, ROW11, b, first)
            for k in range(dofs):
                f = s.own[3, j, k]
                if f != 0.0:
                    for c in range(2 * nv):
                        A[nv + j, c] += f * A[v + k, c]


@kernel
def tangents(s, x, A, v, dofs):
    """From increments to tangent vectors at the end of the step."""
    for j in range(dofs):
        for c in range(A.shape[1]):
            x[j, c] = 0.0
        for k in range(dofs):
            f = s.turn[v + j, k]
            for c in range(A.shape[1]):
                x[j, c] += f * A[v + k, c]
    for j in range(dofs):
        for c in range(A.shape[1]):
            A[v + j, c] = x[j, c]


@kernel
def add_from_beyond(m, s, maps, A):
    """Lower half += S1_j.(sum of COLUMN11_l dq'_l over all joints beyond j), leaves to root."""
    link, b, place = m.link, maps.b, maps.place
    n, nv = link.shape[0], s.vector.shape[0]
    for i in range(n):
        place[i] = -1
    for i in range(n - 1, 0, -1):
        v, dofs, p = link[i, VI], link[i, NV], link[i, PARENT]
        if place[i] < 0:
            place[i] = 6 * i
            clear_rows(b, 6 * i)
        else:
            for j in range(v, v + dofs):
                combine(A, nv + j, 1.0, s.vector, j, S1, b, place[i])
        if p > 0:
            for j in range(v, v + dofs):
                spread(b, place[i], s.vector, j, COLUMN11, A, j)
            hand_on(b, place, i, p)


@kernel
def joint_forces(A, B, half):
    """B = (h/2) (columns of the momenta, and 1 in the lower half): a force is half an impulse before the step and half after it."""
    nv = B.shape[1]
    for j in range(2 * nv):
        for c in range(nv):
            B[j, c] = half * A[j, nv + c]
    for j in range(nv):
        B[nv + j, j] += half
