"""Joints that are only a pose X(q) in maximal coordinates: constraints, coordinates and their derivatives.

The bodies obey the joint if the pose Y of the child against the joint's place on the parent is X(q) for some q.  What separates the two
is E = X(q)^-1 Y, and e(q) in R^6 its Cayley vector and translation.  At the start of every step an orthonormal basis of twists is laid,
Flow.basis: nv rows W along the columns S of the joint, 6 - nv rows N orthogonal to them.  Then

    W e(q) = 0     finds the coordinates q of a pose: a Newton iteration of at most six unknowns
    N e(q) = 0     are the joint's constraints

At the start of a step e = 0 and N is all the joint forbids there, so impulses act along N.  Coordinates are not unknowns of the step: what
eliminates its unknowns sees 6 - nv rows, as of any other joint.
"""

import math

from ...compiling.decorators import apart, inlined, kernel
from ...joints.charts import change_chart
from ...joints.generated import place
from ...lie.algebra import add, axpy, cross, dot, load3, matvec, scale, sub, tmatmul, tmatvec
from ..solving.dense import lu_factor, lu_solve
from ..tree.layout import CHARTED, KIND, NV, QI, VI
from .layout import B_P, FIRST_ROW, FIRST_SLOT
from .rows import joint_frame, put, relative

MOST_ITERATIONS = 20
CLOSE = 1e-10  # a Newton correction of coordinates below this is the last: the next would be its square
LONGEST = 0.5  # change of a coordinate that is looked for from far away, rad or m
SETTLED = 1e-6  # corrections below this that shrink no more are rounding


# --------------------------------------------------------------------------------------------------- twists


@inlined
def project_out(Q, rows, x, r):
    """x[r] without its parts along the first `rows` rows of Q, twice to be orthogonal to rounding; returns its squared length."""
    for _ in range(2):
        for a in range(rows):
            along = 0.0
            for c in range(6):
                along += Q[a, c] * x[r, c]
            for c in range(6):
                x[r, c] -= along * Q[a, c]
    size = 0.0
    for c in range(6):
        size += x[r, c] * x[r, c]
    return size


@inlined
def normalise(x, r, size):
    for c in range(6):
        x[r, c] /= math.sqrt(size)


@kernel
def orthonormal_columns(S, v, nv, Q):
    """Q[:nv] = orthonormal basis of the rows S[v : v + nv] (Gram-Schmidt)."""
    for r in range(nv):
        for c in range(6):
            Q[r, c] = S[v + r, c]
        normalise(Q, r, project_out(Q, r, Q, r))


@kernel
def lay_basis(S, v, nv, Q):
    """Q = W and N: an orthonormal basis of R^6 that begins with the joint's columns.

    N continues what is there, so that multipliers change as little as the joint does; where that is of no use unit vectors take its place.
    """
    orthonormal_columns(S, v, nv, Q)
    for r in range(nv, 6):
        size = project_out(Q, r, Q, r)
        if not size > 0.1:
            best, which = 0.0, 0
            for c in range(6):  # the unit vector with the largest part orthogonal to all rows before
                left = 1.0
                for a in range(r):
                    left -= Q[a, c] * Q[a, c]
                if left > best:
                    best, which = left, c
            for c in range(6):
                Q[r, c] = 1.0 if c == which else 0.0
            size = project_out(Q, r, Q, r)
        normalise(Q, r, size)


@apart
def dual_columns(S, v, nv, Q, dual):
    """dual[v:] = the smallest wrenches Z with Z S' = 1 for the rows S[v : v + nv]; Q is scratch.

    With S = L Q, L lower triangular, Z = L^-T Q.
    """
    orthonormal_columns(S, v, nv, Q)
    for r in range(nv - 1, -1, -1):
        for c in range(6):
            dual[v + r, c] = Q[r, c]
        for later in range(r + 1, nv):
            factor = along_row(S, v + later, Q, r)
            for c in range(6):
                dual[v + r, c] -= factor * dual[v + later, c]
        length = along_row(S, v + r, Q, r)
        for c in range(6):
            dual[v + r, c] /= length


@inlined
def along_row(a, r, b, k):
    total = 0.0
    for c in range(6):
        total += a[r, c] * b[k, c]
    return total


# ---------------------------------------------------------------------------------- the error and its derivatives


@inlined
def error_of_pose(m, flow, i, q, Y, shift):
    """(c, E, p): Cayley vector, rotation and translation of X(q)^-1 Y.  Writes Flow.S."""
    R, x = place(m.link[i, KIND], m.param, i, q, m.link[i, QI], flow.zero, m.link[i, VI], 0.0, flow.S)
    E = tmatmul(R, Y)
    n = 2.0 / (1.0 + E[0] + E[4] + E[8])
    return (n * (E[7] - E[5]), n * (E[2] - E[6]), n * (E[3] - E[1])), E, tmatvec(R, sub(shift, x))


@inlined
def felt_by_pose(c, E, a, l):
    """Row y = (a, l) of R^6 -> y de/d eta, eta the twist of the child against the parent, axes of the joint on the child."""
    return axpy(0.25 * dot(c, a), c, axpy(-0.5, cross(c, a), a)), tmatvec(E, l)


@inlined
def felt_by_coordinate(flow, j, c, p, a, l):
    """y de/dq_j, q_j the coordinate with the column S[j]."""
    turn = add(axpy(0.25 * dot(c, a), c, axpy(0.5, cross(c, a), a)), cross(p, l))
    return -(dot(turn, load3(flow.S, j, 0)) + dot(l, load3(flow.S, j, 3)))


@inlined
def basis_row(flow, i, r):
    Q = flow.basis[i]
    return load3(Q, r, 0), load3(Q, r, 3)


@kernel
def factor_coordinates(m, flow, i, c, p):
    """Flow.small = LU factors of A = W de/dq."""
    v, nv = m.link[i, VI], m.link[i, NV]
    for r in range(nv):
        a, l = basis_row(flow, i, r)
        for j in range(nv):
            flow.small[r, j] = felt_by_coordinate(flow, v + j, c, p, a, l)
    lu_factor(flow.small, flow.small_swap, nv)


@inlined
def correction(flow, i, nv, c, p):
    """Flow.small_row = A^-1 W e."""
    for r in range(nv):
        a, l = basis_row(flow, i, r)
        flow.small_row[r] = dot(a, c) + dot(l, p)
    lu_solve(flow.small, flow.small_swap, nv, flow.small_row)


@kernel
def find_coordinates(m, net, flow, poses, apart, i, e, out):
    """out[k:] = coordinates of joint i, which is constraint e, at the given poses, W e = 0, found from those at the start of the step.

    NaN where there are none.
    """
    k, nv = m.link[i, QI], m.link[i, NV]
    Y, shift = joint_frame(net, poses, apart, e)
    for j in range(nv + m.link[i, CHARTED]):
        out[k + j] = flow.q[k + j]
    last = math.inf
    for _ in range(MOST_ITERATIONS):
        c, _, p = error_of_pose(m, flow, i, out, Y, shift)
        factor_coordinates(m, flow, i, c, p)
        correction(flow, i, nv, c, p)
        size = 0.0
        for j in range(nv):
            out[k + j] -= flow.small_row[j]
            size = max(size, abs(flow.small_row[j]))
        if size < CLOSE or (size < SETTLED and size > 0.5 * last):
            return
        last = size
    out[k] = math.nan


@kernel
def approach_coordinates(m, net, flow, poses, apart, i, e):
    """The joint's part of Flow.q <- coordinates of the pose at the node, from wherever they are: Gauss-Newton in short steps."""
    k, v, nv = m.link[i, QI], m.link[i, VI], m.link[i, NV]
    Y, shift = joint_frame(net, poses, apart, e)
    for _ in range(5 * MOST_ITERATIONS):
        c, _, p = error_of_pose(m, flow, i, flow.q, Y, shift)
        lay_basis(flow.S, v, nv, flow.basis[i])
        factor_coordinates(m, flow, i, c, p)
        correction(flow, i, nv, c, p)
        size = 0.0
        for j in range(nv):
            size = max(size, abs(flow.small_row[j]))
        for j in range(nv):
            flow.q[k + j] -= flow.small_row[j] * min(1.0, LONGEST / size) if size > 0.0 else 0.0
        if size < CLOSE:
            return


@kernel
def invert_coordinates(m, net, flow, poses, apart, i, e, q):
    """Flow.inverse = A^-1 at q; returns the error (c, E, p)."""
    nv = m.link[i, NV]
    Y, shift = joint_frame(net, poses, apart, e)
    c, E, p = error_of_pose(m, flow, i, q, Y, shift)
    factor_coordinates(m, flow, i, c, p)
    for j in range(nv):
        for r in range(nv):
            flow.small_row[r] = 1.0 if r == j else 0.0
        lu_solve(flow.small, flow.small_swap, nv, flow.small_row)
        for r in range(nv):
            flow.inverse[r, j] = flow.small_row[r]
    return c, E, p


@apart
def coordinate_slopes(m, net, flow, i):
    """Flow.dual of joint i = dq/d eta at the end of the step: -A^-1 W de/d eta."""
    v, nv = m.link[i, VI], m.link[i, NV]
    c, E, _ = invert_coordinates(m, net, flow, flow.end, flow.apart_end, i, i - 1, flow.q_end)
    for j in range(nv):
        a, l = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for r in range(nv):
            wa, wl = basis_row(flow, i, r)
            a, l = axpy(-flow.inverse[j, r], wa, a), axpy(-flow.inverse[j, r], wl, l)
        a, l = felt_by_pose(c, E, a, l)
        for e in range(3):
            flow.dual[v + j, e], flow.dual[v + j, 3 + e] = a[e], l[e]


# ----------------------------------------------------------------------------------------------- constraints


@inlined
def put_row(net, poses, apart, e, k, a, l, G):
    """Row y of the relative twist as rows of the two bodies."""
    slot = net.con[e, FIRST_SLOT]
    R, point = relative(net, poses, apart, e)
    force = matvec(R, l)
    put(G, slot, k, scale(-1.0, add(matvec(R, a), cross(point, force))), scale(-1.0, force))
    put(G, slot + 1, k, add(a, cross(load3(net.place, e, B_P), l)), l)


@kernel
def pose_values(m, net, flow, e, out, at):
    """out[at:] = N e at the end of the step.  Writes the joint's part of Flow.q_end."""
    i = e + 1
    nv = m.link[i, NV]
    find_coordinates(m, net, flow, flow.end, flow.apart_end, i, e, flow.q_end)
    Y, shift = joint_frame(net, flow.end, flow.apart_end, e)
    c, _, p = error_of_pose(m, flow, i, flow.q_end, Y, shift)
    for r in range(nv, 6):
        a, l = basis_row(flow, i, r)
        out[at + r - nv] = dot(a, c) + dot(l, p)


@kernel
def pose_gradient(m, net, flow, e, G):
    """Derivatives of N e at the end of the step: y de/d eta with y = N - (N de/dq) A^-1 W, which no coordinate changes."""
    i = e + 1
    v, nv = m.link[i, VI], m.link[i, NV]
    c, E, p = invert_coordinates(m, net, flow, flow.end, flow.apart_end, i, e, flow.q_end)
    for k in range(nv, 6):
        a, l = held_direction(flow, i, v, nv, k, c, p)
        a, l = felt_by_pose(c, E, a, l)
        put_row(net, flow.end, flow.apart_end, e, k - nv, a, l, G)


@inlined
def held_direction(flow, i, v, nv, k, c, p):
    """Row k of the basis of joint i without what its coordinates follow: N - (N de/dq) A^-1 W.  Reads Flow.inverse."""
    na, nl = basis_row(flow, i, k)
    a, l = na, nl
    for j in range(nv):
        along = felt_by_coordinate(flow, v + j, c, p, na, nl)
        for r in range(nv):
            wa, wl = basis_row(flow, i, r)
            a, l = axpy(-along * flow.inverse[j, r], wa, a), axpy(-along * flow.inverse[j, r], wl, l)
    return a, l


@kernel
def pose_force(m, net, flow, e, G):
    """Lay the basis of the step; impulses act along N."""
    i = e + 1
    v, nv = m.link[i, VI], m.link[i, NV]
    place(m.link[i, KIND], m.param, i, flow.q, m.link[i, QI], flow.zero, v, 0.0, flow.S)
    lay_basis(flow.S, v, nv, flow.basis[i])
    for k in range(nv, 6):
        a, l = basis_row(flow, i, k)
        put_row(net, flow.node, flow.apart, e, k - nv, a, l, G)


@apart
def all_pose_values(m, net, flow, out, first):
    for e in range(net.special.symbolic.shape[0]):
        pose_values(m, net, flow, net.special.symbolic[e], out, first + net.con[net.special.symbolic[e], FIRST_ROW])


@apart
def all_pose_gradients(m, net, flow, G):
    for e in range(net.special.symbolic.shape[0]):
        pose_gradient(m, net, flow, net.special.symbolic[e], G)


@apart
def all_pose_forces(m, net, flow, G):
    for e in range(net.special.symbolic.shape[0]):
        pose_force(m, net, flow, net.special.symbolic[e], G)


@apart
def change_charts(special, m, flow):
    """Joints whose coordinates have become nearly singular go on in their second chart.

    Only Flow.q knows of it: bases, momenta and the unknowns of the step do not.
    """
    if special is not None:
        for i in range(1, m.link.shape[0]):
            if m.link[i, CHARTED]:
                kind, k, v, nv = m.link[i, KIND], m.link[i, QI], m.link[i, VI], m.link[i, NV]
                change_chart(kind, m.param, i, flow.q, k, nv, flow.dq, flow.load, v, flow.charts, flow.chart)
