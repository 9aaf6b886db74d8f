"""Jacobians of bodies and derivatives of the mass matrix at a configuration, exact up to rounding.

In the frame of body i the columns of its Jacobian are J_j, and only screws k beyond j move them: dJ_j/dq_k = [J_j, J_k].  With the
twist V = sum J_c v_c and the part U_x of it that comes from screws before x:
    dV/dq_x = [U_x, J_x],    d2V/dq_x dq_y = [[U_x, J_x], J_y]   for x <= y
M, d(Mv)/dq, dM/dq and d2(Mv)/dq2 follow by the product rule, in O(n^3) for every body.
"""

import math

from ...compiling.decorators import inlined, kernel
from ...lie.algebra import add, axpy, cross, load3, load6, load9, matmul, matvec, store6, store9, symvec, tmatvec


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
    """Rotation of every screw."""
    for j in range(q.shape[0]):
        store9(g.rotation, j, 0, rotation(load3(s.screw, j, 0), q[j]))


@kernel
def find_columns(s, g, i, q):
    """path, J, GJ of body i; returns the number of columns.

    From the body towards the root: c is the com and R the body seen from the frame that has been reached.  Positions in the world
    would lose the digits of a small body far away from its origin.
    """
    n = s.depth[i]
    k, row = n, i
    R, c = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), load3(s.com, i, 0)
    while row > 0:
        for j in range(s.first[row] + s.count[row] - 1, s.first[row] - 1, -1):
            k -= 1
            g.path[k] = j
            axis, along, turn = load3(s.screw, j, 0), load3(s.screw, j, 3), load9(g.rotation, j, 0)
            w, v = tmatvec(R, axis), tmatvec(R, add(along, cross(axis, c)))
            x = (w[0], w[1], w[2], v[0], v[1], v[2])
            store6(g.J, k, 0, x)
            store6(g.GJ, k, 0, momentum_of(s, i, x))
            R, c = matmul(turn, R), axpy(q[j], along, matvec(turn, c))
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
        x = bracket(load6(g.V, 0, 0), J)  # V is the part from screws before c
        store6(g.Vx, c, 0, x)
        store6(g.GVx, c, 0, momentum_of(s, i, x))
        for k in range(6):
            g.V[0, k] += J[k] * v[g.path[c]]
        for a in range(c):
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
            if b > a:
                P[ia, ib] += dot6(load6(g.turn, a * nv + b, 0), GV)


@kernel
def add_slopes(g, n, nv, out):
    """out[i, x, y] += dM_xy / dq_i of the body."""
    for i in range(n):
        for x in range(i):  # only screws before i are moved by it
            turned = load6(g.turn, x * nv + i, 0)
            for y in range(n):
                change = dot6(turned, load6(g.GJ, y, 0))
                out[g.path[i], g.path[x], g.path[y]] += change
                out[g.path[i], g.path[y], g.path[x]] += change


@kernel
def add_curvatures(g, n, nv, h, out):
    """out[a, x, y] += dM_ay/dq_x + dM_ax/dq_y + h d2(Mv)_a/dq_x dq_y of the body."""
    GV = load6(g.V, 1, 0)
    for x in range(n):
        Gx, Vx, GVx = load6(g.GJ, x, 0), load6(g.Vx, x, 0), load6(g.GVx, x, 0)
        for y in range(x, n):
            Jy, Gy, GVy = load6(g.J, y, 0), load6(g.GJ, y, 0), load6(g.GVx, y, 0)
            Vxy = bracket(Vx, Jy)
            for a in range(n):
                Ga = load6(g.GJ, a, 0)
                total = h * dot6(Ga, Vxy)
                if y > x:
                    total += dot6(Ga, load6(g.turn, x * nv + y, 0))
                if x > a:
                    ax = load6(g.turn, a * nv + x, 0)
                    total += dot6(ax, Gy) + h * (dot6(bracket(ax, Jy), GV) + dot6(ax, GVy))
                if y > a:
                    ay = load6(g.turn, a * nv + y, 0)
                    total += dot6(ay, Gx) + h * dot6(ay, GVx)
                ia, ix, iy = g.path[a], g.path[x], g.path[y]
                out[ia, ix, iy] += total
                if y > x:
                    out[ia, iy, ix] += total


