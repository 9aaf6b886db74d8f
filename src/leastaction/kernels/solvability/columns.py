"""Jacobians of bodies and derivatives of the mass matrix at a configuration, exact up to rounding.

In the frame of body i the columns of its Jacobian are J_j, and only screws k beyond j move them: dJ_j/dq_k = [J_j, J_k].  With the
twist V = sum J_c v_c and the part U_x of it that comes from screws before x:
    dV/dq_x = [U_x, J_x],    d2V/dq_x dq_y = [[U_x, J_x], J_y]   for x <= y
M, d(Mv)/dq, dM/dq and d2(Mv)/dq2 follow by the product rule, in O(n^3) for every body.

The columns of a ball joint move together: they are constant in its own frame, so none of them is moved by another.  Derivatives are
along turns of that frame, and second ones in one ball joint are symmetrised: those along one turn and the next in either order.
"""

import math

from ...compiling.decorators import inlined, kernel
from ...lie.algebra import (
    IDENTITY,
    add,
    axpy,
    cross,
    dot,
    load3,
    load6,
    load9,
    matmul,
    matvec,
    quat_to_matrix,
    scale,
    store6,
    store9,
    symvec,
    tmatvec,
    vector,
)
from .layout import BALL, SCREWS


@inlined
def bracket(a, b):
    """[a, b] of two twists."""
    aw, bw = (a[0], a[1], a[2]), (b[0], b[1], b[2])
    w = cross(aw, bw)
    v = add(cross(aw, (b[3], b[4], b[5])), cross((a[3], a[4], a[5]), bw))
    return w[0], w[1], w[2], v[0], v[1], v[2]


@inlined
def dot6(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@inlined
def middle6(a, b):
    """(a + b) / 2"""
    return (0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2]),
            0.5 * (a[3] + b[3]), 0.5 * (a[4] + b[4]), 0.5 * (a[5] + b[5]))  # fmt: skip


@inlined
def momentum_of(s, i, x):
    """G x of body i about its com."""
    w = symvec(load6(s.inertia, i, 0), (x[0], x[1], x[2]))
    m = s.mass[i]
    return w[0], w[1], w[2], m * x[3], m * x[4], m * x[5]


@kernel
def rotation(axis, angle):
    """About a unit axis; about no axis, none."""
    x, y, z = axis
    s, half = math.sin(angle), math.sin(0.5 * angle)
    c = 2.0 * half * half
    d = x * x + y * y + z * z
    return (1.0 + c * (x * x - d), c * x * y - s * z, c * x * z + s * y,
            c * x * y + s * z, 1.0 + c * (y * y - d), c * y * z - s * x,
            c * x * z - s * y, c * y * z + s * x, 1.0 + c * (z * z - d))  # fmt: skip


@kernel
def turn_screws(s, g, q):
    """Rotation of every screw and, in its first row, of every ball joint.  No column depends on the pose of a free joint."""
    for i in range(1, s.parent.shape[0]):
        first = s.first[i]
        if s.kind[i] == SCREWS:
            for j in range(first, first + s.count[i]):
                store9(g.rotation, j, 0, rotation(load3(s.screw, j, 0), q[s.at[j]]))
        elif s.kind[i] == BALL:
            at = s.at[first]
            w, u = q[at], vector(q, at + 1)
            size = 1.0 / math.sqrt(w * w + dot(u, u))
            store9(g.rotation, first, 0, quat_to_matrix(size * w, scale(size, u)))
        else:
            store9(g.rotation, first, 0, IDENTITY)


@kernel
def find_columns(s, g, i, q):
    """path, lead, J, here, GJ of body i; returns the number of columns.

    From the body towards the root: c is the com and R the body seen from the frame that has been reached.  Positions in the world
    would lose the digits of a small body far away from its origin.
    """
    n = s.depth[i]
    k, row = n, i
    R, c = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), load3(s.com, i, 0)
    while row > 0:
        for j in range(s.first[row] + s.count[row] - 1, s.first[row] - 1, -1):
            k -= 1
            g.path[k], g.lead[k] = j, k - (j - s.lead[j])
            axis, along, turn = load3(s.screw, j, 0), load3(s.screw, j, 3), load9(g.rotation, j, 0)
            w, v = tmatvec(R, axis), tmatvec(R, add(along, cross(axis, c)))
            x = (w[0], w[1], w[2], v[0], v[1], v[2])
            store6(g.J, k, 0, x)
            g.here[k] = math.sqrt(dot(v, v) if s.kind[row] == SCREWS else dot(c, c) if j - s.lead[j] < 3 else 1.0)
            store6(g.GJ, k, 0, momentum_of(s, i, x))
            if s.lead[j] == j:
                R, c = matmul(turn, R), axpy(q[s.at[j]], along, matvec(turn, c))
        shift, fixed = load3(s.place, row, 0), load9(s.place, row, 3)
        R, c = matmul(fixed, R), add(shift, matvec(fixed, c))
        row = s.parent[row]
    return n


@kernel
def find_motion(s, g, i, n, v):
    """Brackets of the columns, and the twist V for the joint velocities v with its first derivatives."""
    nv = v.shape[0]
    store6(g.V, 0, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for c in range(n):
        J = load6(g.J, c, 0)
        if g.lead[c] == c:
            store6(g.V, 2, 0, load6(g.V, 0, 0))
        x = bracket(load6(g.V, 2, 0), J)
        store6(g.Vx, c, 0, x)
        store6(g.GVx, c, 0, momentum_of(s, i, x))
        for k in range(6):
            g.V[0, k] += J[k] * v[g.path[c]]
        for a in range(g.lead[c]):
            store6(g.turn, a * nv + c, 0, bracket(load6(g.J, a, 0), J))
    store6(g.V, 1, 0, momentum_of(s, i, load6(g.V, 0, 0)))


@kernel
def add_matrices(g, n, nv, M, P):
    """M += J' G J,  P += d(Mv)/dq of the body."""
    GV = load6(g.V, 1, 0)
    for a in range(n):
        ia, GJ = g.path[a], load6(g.GJ, a, 0)
        for b in range(n):
            ib = g.path[b]
            M[ia, ib] += dot6(GJ, load6(g.J, b, 0))
            P[ia, ib] += dot6(GJ, load6(g.Vx, b, 0))
            if g.lead[b] > a:
                P[ia, ib] += dot6(load6(g.turn, a * nv + b, 0), GV)


@kernel
def add_slopes(g, n, nv, out):
    """out[i, x, y] += dM_xy / dq_i of the body."""
    for i in range(n):
        for x in range(g.lead[i]):  # only screws before i are moved by it
            turned = load6(g.turn, x * nv + i, 0)
            for y in range(n):
                change = dot6(turned, load6(g.GJ, y, 0))
                out[g.path[i], g.path[x], g.path[y]] += change
                out[g.path[i], g.path[y], g.path[x]] += change


@kernel
def add_curvatures(g, n, nv, h, first, out):
    """out[a, x, y] += first (dM_ay/dq_x + dM_ax/dq_y) + h d2(Mv)_a/dq_x dq_y of the body."""
    GV = load6(g.V, 1, 0)
    for x in range(n):
        Gx, Vx, GVx = load6(g.GJ, x, 0), load6(g.Vx, x, 0), load6(g.GVx, x, 0)
        for y in range(x, n):
            Jy, Gy, GVy = load6(g.J, y, 0), load6(g.GJ, y, 0), load6(g.GVx, y, 0)
            together = y > x and g.lead[y] == g.lead[x]
            Vxy, Jx = bracket(Vx, Jy), load6(g.J, x, 0)
            if together:
                Vxy = middle6(Vxy, bracket(load6(g.Vx, y, 0), Jx))
            for a in range(n):
                Ga = load6(g.GJ, a, 0)
                total = h * dot6(Ga, Vxy)
                if g.lead[y] > x:
                    total += first * dot6(Ga, load6(g.turn, x * nv + y, 0))
                if g.lead[x] > a:
                    ax = load6(g.turn, a * nv + x, 0)
                    axy = bracket(ax, Jy)
                    if together:
                        axy = middle6(axy, bracket(load6(g.turn, a * nv + y, 0), Jx))
                    total += first * dot6(ax, Gy) + h * (dot6(axy, GV) + dot6(ax, GVy))
                if g.lead[y] > a:
                    ay = load6(g.turn, a * nv + y, 0)
                    total += first * dot6(ay, Gx) + h * dot6(ay, GVx)
                ia, ix, iy = g.path[a], g.path[x], g.path[y]
                out[ia, ix, iy] += total
                if y > x:
                    out[ia, iy, ix] += total


