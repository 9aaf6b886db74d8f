"""The linearised map of a step, (q, p, tau) -> (q', p'), in O(n nv): the converged articulated factorisation with a right-hand side for
every coordinate and every momentum.

    dq' = P01^-1 (dp - P00 dq + (h/2) dtau),   dp' = P10 dq + P11 dq' + (h/2) dtau

All right-hand sides go through the tree together; in the frame of slopes.py their wrenches and twists need not be carried between bodies.
"""

from typing import NamedTuple

from ...compiling.decorators import entry, inlined, kernel
from ...compiling.records import floats, integers
from ...joints import dispatch
from ...lie.algebra import load3, load9
from ..solving.sizes import UNBOUNDED
from .layout import AA, AL, DINV, KIND, LA, LL, NV, PARENT, VI, U, W
from .newton_matrix import add_to_parent, assemble, eliminate, factorise, solve
from .slopes import COLUMN00, COLUMN10, COLUMN11, ROW00, ROW10, ROW11, S0, S1, Parts, momentum_slopes, store_both
from .spatial import dot6, load_block, twist_to_parent, wrench_to_parent
from .step import SWEEPS, arrive, begin, full_residual, momentum_scale

# columns of Maps.factor
U_, W_, E_ = 0, 6, 12  # u and w of newton_matrix.py, joint columns at the end per increment


class Maps(NamedTuple):
    """Memory of the right-hand sides."""

    factor: floats("nv", 18)  # in the frame of the tree
    b: floats("n+1", 6, "2*nv")  # wrenches, later twists of all right-hand sides
    place: integers("n+1")  # which row of b a body has; -1: none yet
    x: floats(6)  # scratch


class Steps(NamedTuple):
    """Steps to linearise, and what becomes of them."""

    t: floats("N")  # s
    q: floats("N", "nq")
    start: floats("N", "nv")  # momenta, with the left half impulse of the joint forces
    d: floats("N", "nv")  # increments; corrected where that is asked for
    given: floats("given", 4, "nv", 6)  # as in `momentum_slopes`: for each step, or once for all
    left: floats("N")  # residuals, relative to the largest momentum
    A: floats("N", "2*nv", "2*nv")
    B: floats("N", "2*nv", "nv")
    q_end: floats("ends", "nq")  # where they lead; ends: N, or 0 if nobody asks
    p_end: floats("ends", "nv")  # momenta there, without those of the joint forces


@entry
def step_maps(m, w, s, maps, steps, h, retraction, corrections):
    """A and B of steps of the length h, after so many corrections of them by Newton's method at most.

    For trees without constraints, springs between points, potentials of coordinates, and functions of the user, trapezoid quadrature.
    """
    parts = Parts(1, 1)
    for k in range(steps.q.shape[0]):
        for j in range(w.q.shape[0]):
            w.q[j] = steps.q[k, j]
        for j in range(w.d.shape[0]):
            w.d[j], w.target[j] = steps.d[k, j], steps.start[k, j]
        begin(SWEEPS, m, w, None, h)
        off = sharpen(m, w, h, steps.t[k], retraction, corrections)
        steps.left[k] = off / momentum_scale(m, w, None, h) if off > 0.0 else off
        momentum_slopes(m, m, w, s, parts, steps.given[k if steps.given.shape[0] > 1 else 0], h, steps.t[k], retraction)
        factorise_columns(m, w, s, maps, h)
        A = steps.A[k]
        right_hand_sides(m, s, A)
        to_root(m, w, s, maps, A)
        to_leaves(m, w, s, maps, A)
        add_from_beyond(m, s, maps, A)
        joint_forces(A, steps.B[k], 0.5 * h)
        for j in range(w.d.shape[0]):
            steps.d[k, j] = w.d[j]
        if steps.q_end.shape[0] > 0:
            keep_end(m, w, steps, k, h)


@kernel
def sharpen(m, w, h, t, retraction, corrections):
    """Correct w.d by Newton's method until rounding stops it; returns the largest entry of the residual that is left."""
    best, astray = UNBOUNDED, False
    while True:
        off = full_residual(SWEEPS, m, w, None, h, t, retraction)
        if astray or corrections == 0:
            return off
        if off < 0.5 * best:
            best = off
            for j in range(w.d.shape[0]):
                w.d_last[j] = w.d[j]
            assemble(m, w, h, retraction, True)
            factorise(m, w, h)
            solve(m, w)
            corrections -= 1
            for j in range(w.d.shape[0]):
                w.d[j] -= w.z[j]
        elif best < UNBOUNDED:  # back to the best, and its residual
            astray = True
            for j in range(w.d.shape[0]):
                w.d[j] = w.d_last[j]
        else:
            return off


@kernel
def keep_end(m, w, steps, k, h):
    """Coordinates and momenta at the end of the step."""
    for j in range(w.d.shape[0]):
        w.r[j] = 0.0  # nothing to carry on
    arrive(SWEEPS, m, w, None, h, 0.5 * h, steps.t[k] + h)
    for j in range(w.q.shape[0]):
        steps.q_end[k, j] = w.q[j]
    for j in range(w.d.shape[0]):
        steps.p_end[k, j] = w.target[j]


@kernel
def factorise_columns(m, w, s, maps, h):
    """As newton_matrix.factorise, every joint column by column; the factors in the frame of the tree."""
    link, art = m.link, w.art
    for i in range(link.shape[0] - 1, 0, -1):
        aa, al, la, ll = load_block(art, i, AA), load_block(art, i, AL), load_block(art, i, LA), load_block(art, i, LL)
        aa, al, la, ll = eliminate(m, w, i, h, aa, al, la, ll)
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


# ------------------------------------------------------------------------------------------------------- the sweeps


@inlined
def combine(z, share, factor, vector, j, k, b):
    """z <- share z + factor vector[j, k:k+6].b for every right-hand side; rows of their own let the compiler use vector registers."""
    f0, f1, f2 = factor * vector[j, k], factor * vector[j, k + 1], factor * vector[j, k + 2]
    f3, f4, f5 = factor * vector[j, k + 3], factor * vector[j, k + 4], factor * vector[j, k + 5]
    b0, b1, b2, b3, b4, b5 = b[0], b[1], b[2], b[3], b[4], b[5]
    for c in range(z.shape[0]):
        z[c] = share * z[c] + ((f0 * b0[c] + f1 * b1[c] + f2 * b2[c]) + (f3 * b3[c] + f4 * b4[c] + f5 * b5[c]))


@inlined
def add_row(y, f, z):
    """y += f z"""
    if f != 0.0:
        for c in range(y.shape[0]):
            y[c] += f * z[c]


@inlined
def add_three(b, first, vector, j, k, z):
    """b[first:first+3] += vector[j, k:k+3] z"""
    b0, b1, b2, f0, f1, f2 = b[first], b[first + 1], b[first + 2], vector[j, k], vector[j, k + 1], vector[j, k + 2]
    for c in range(z.shape[0]):
        b0[c] += f0 * z[c]
        b1[c] += f1 * z[c]
        b2[c] += f2 * z[c]


@inlined
def spread(b, vector, j, k, z):
    """b += vector[j, k:k+6] z for every right-hand side."""
    add_three(b, 0, vector, j, k, z)
    add_three(b, 3, vector, j, k + 3, z)


@inlined
def clear(b):
    for a in range(6):
        for c in range(b.shape[1]):
            b[a, c] = 0.0


@inlined
def hand_on(b, place, i, p):
    """What body i has to its parent p: that of the first child becomes the parent's, the others are added."""
    if place[p] < 0:
        place[p] = place[i]
    else:
        for a in range(6):
            add_row(b[place[p], a], 1.0, b[place[i], a])


@kernel
def to_root(m, w, s, maps, A):
    """z = (r - s0.b) / d,  b <- b + u z;  leaves to root, z takes the place of r."""
    link, place = m.link, maps.place
    n = link.shape[0]
    for i in range(n):
        place[i] = -1
    for i in range(n - 1, 0, -1):
        if place[i] < 0:
            place[i] = i
            clear(maps.b[i])
        for j in range(link[i, VI], link[i, VI] + link[i, NV]):
            combine(A[j], w.factor[j, DINV], -w.factor[j, DINV], s.vector, j, S0, maps.b[place[i]])
            spread(maps.b[place[i]], maps.factor, j, U_, A[j])
        if link[i, PARENT] > 0:
            hand_on(maps.b, place, i, link[i, PARENT])


@kernel
def to_leaves(m, w, s, maps, A):
    """x = z - w.eta / d,  eta <- eta + s1 x;  root to leaves, dq' takes the place of z.

    Lower half += ROW11.eta and what is the joint's own.
    """
    link, nv = m.link, s.vector.shape[0]
    for i in range(1, link.shape[0]):
        p, v, dofs, b = link[i, PARENT], link[i, VI], link[i, NV], maps.b[i]
        clear(b)
        if p > 0:
            for a in range(6):
                add_row(b[a], 1.0, maps.b[p, a])
        for j in range(v + dofs - 1, v - 1, -1):
            combine(A[j], 1.0, -w.factor[j, DINV], maps.factor, j, W_, b)
            spread(b, maps.factor, j, E_, A[j])
        if dispatch.has_quaternion(link[i, KIND]):
            tangents(s, maps.x, A, v, dofs)
        for j in range(v, v + dofs):
            combine(A[nv + j], 1.0, 1.0, s.vector, j, ROW11, b)
            for k in range(dofs):
                add_row(A[nv + j], s.own[3, j, k], A[v + k])


@kernel
def tangents(s, x, A, v, dofs):
    """From increments to tangent vectors at the end of the step."""
    for c in range(A.shape[1]):
        for j in range(dofs):
            x[j] = 0.0
            for k in range(dofs):
                x[j] += s.turn[v + j, k] * A[v + k, c]
        for j in range(dofs):
            A[v + j, c] = x[j]


@kernel
def add_from_beyond(m, s, maps, A):
    """Lower half += S1_j.(sum of COLUMN11_l dq'_l over all joints beyond j), leaves to root."""
    link, place = m.link, maps.place
    n, nv = link.shape[0], s.vector.shape[0]
    for i in range(n):
        place[i] = -1
    for i in range(n - 1, 0, -1):
        first, last = link[i, VI], link[i, VI] + link[i, NV]
        if place[i] < 0:
            place[i] = i
            clear(maps.b[i])
        else:
            for j in range(first, last):
                combine(A[nv + j], 1.0, 1.0, s.vector, j, S1, maps.b[place[i]])
        if link[i, PARENT] > 0:
            for j in range(first, last):
                spread(maps.b[place[i]], s.vector, j, COLUMN11, A[j])
            hand_on(maps.b, place, i, link[i, PARENT])


@kernel
def joint_forces(A, B, half):
    """B = (h/2) (columns of the momenta, and 1 in the lower half): a force is half an impulse before the step and half after it."""
    nv = B.shape[1]
    for j in range(2 * nv):
        for c in range(nv):
            B[j, c] = half * A[j, nv + c]
    for j in range(nv):
        B[nv + j, j] += half
