"""Between bodies and joints: coordinates and increments of the tree's joints from poses, joint forces as wrenches on bodies.

A joint force tau acts on the child with a wrench f that does the work tau.dq, S'f = tau, and on the parent with its opposite.  Which
of those wrenches is a matter of taste, they differ by constraint forces; it is f = Z'tau with the dual columns Z, Z S = 1.
"""

import math

from ...compiling.decorators import inlined, kernel
from ...joints import dispatch
from ...joints.dispatch import CYLINDRICAL, FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL, UNIVERSAL
from ...joints.spherical import cayley_quaternion
from ...lie.algebra import add, axpy, cross, dot, load3, load9, matvec, quat_mul, quat_to_matrix, scale, sub, tmatvec
from ..tree.layout import CHARTED, KIND, NV, PARENT, QI, VI
from .layout import A_R, B_P, POSE_U, POSE_W
from .rows import angle_about_z, joint_frame, relative
from .symbolic import coordinate_slopes, dual_columns


@inlined
def near(angle, old):
    """The angle, plus as many turns as bring it closest to the old one."""
    return angle + 2.0 * math.pi * math.floor((old - angle) / (2.0 * math.pi) + 0.5)


@kernel
def coordinates(m, b, s, poses, apart, out):
    """out = joint coordinates at the given poses, angles and signs of quaternions continued from s.q.

    Those of symbolic joints were found, in s.q_end, when their constraints were evaluated.
    """
    for i in range(1, m.link.shape[0]):
        kind, k = m.link[i, KIND], m.link[i, QI]
        Y, t = joint_frame(b, poses, apart, i - 1)
        if kind in (REVOLUTE, HELICAL):
            out[k] = near(angle_about_z(Y), s.q[k])
        elif kind == PRISMATIC:
            out[k] = t[2]
        elif kind == CYLINDRICAL:
            out[k], out[k + 1] = near(angle_about_z(Y), s.q[k]), t[2]
        elif kind == PLANAR:
            out[k], out[k + 1], out[k + 2] = t[0], t[1], near(angle_about_z(Y), s.q[k + 2])
        elif kind == UNIVERSAL:
            out[k], out[k + 1] = near(math.atan2(Y[7], Y[4]), s.q[k]), near(math.atan2(Y[2], Y[0]), s.q[k + 1])
        elif kind == SPHERICAL:
            quaternion(m, b, s, poses, i, k, out)
        elif kind == FREE:
            out[k], out[k + 1], out[k + 2] = t[0], t[1], t[2]
            quaternion(m, b, s, poses, i, k + 3, out)
        else:
            for j in range(k, k + m.link[i, NV] + m.link[i, CHARTED]):
                out[j] = s.q_end[j]


@inlined
def quaternion(m, b, s, poses, i, k, out):
    """out[k:k+4] = rotation of body i against its joint's place on the parent, with the sign closest to s.q."""
    p = m.link[i, PARENT]
    w, u = matrix_to_quaternion(load9(b.place, i - 1, A_R))
    w, u = quat_mul(poses[p, POSE_W], load3(poses, p, POSE_U), w, u)
    w, u = quat_mul(w, scale(-1.0, u), poses[i, POSE_W], load3(poses, i, POSE_U))
    sign = 1.0 if w * s.q[k] + dot(u, (s.q[k + 1], s.q[k + 2], s.q[k + 3])) >= 0.0 else -1.0
    sign /= math.sqrt(w * w + dot(u, u))
    out[k], out[k + 1], out[k + 2], out[k + 3] = sign * w, sign * u[0], sign * u[1], sign * u[2]


@inlined
def matrix_to_quaternion(R):
    """Unit quaternion of a rotation; the largest of its parts by a square root, the others by division."""
    a, b, c, d = 1.0 + R[0] + R[4] + R[8], 1.0 + R[0] - R[4] - R[8], 1.0 - R[0] + R[4] - R[8], 1.0 - R[0] - R[4] + R[8]
    x, y, z = R[7] - R[5], R[2] - R[6], R[3] - R[1]
    f, g, h = R[3] + R[1], R[6] + R[2], R[7] + R[5]
    if a >= b and a >= c and a >= d:
        n = 0.5 / math.sqrt(a)
        return n * a, (n * x, n * y, n * z)
    if b >= c and b >= d:
        n = 0.5 / math.sqrt(b)
        return n * x, (n * b, n * f, n * g)
    if c >= d:
        n = 0.5 / math.sqrt(c)
        return n * y, (n * f, n * c, n * h)
    n = 0.5 / math.sqrt(d)
    return n * z, (n * g, n * h, n * d)


@kernel
def increments(m, q0, q1, at_end, out):
    """out = joint increments from q0 to q1, in the axes of the start of the step or of its end."""
    for i in range(1, m.link.shape[0]):
        kind, k, v = m.link[i, KIND], m.link[i, QI], m.link[i, VI]
        if kind == SPHERICAL:
            turn_between(q0, q1, k, v, out)
        elif kind == FREE:
            turn_between(q0, q1, k + 3, v, out)
            place = q1 if at_end else q0
            R = quat_to_matrix(place[k + 3], (place[k + 4], place[k + 5], place[k + 6]))
            t = tmatvec(R, (q1[k] - q0[k], q1[k + 1] - q0[k + 1], q1[k + 2] - q0[k + 2]))
            out[v + 3], out[v + 4], out[v + 5] = t[0], t[1], t[2]
        else:
            for j in range(m.link[i, NV]):
                out[v + j] = q1[k + j] - q0[k + j]


@inlined
def turn_between(q0, q1, k, v, out):
    """Cayley vector of q0^-1 q1."""
    w, u = quat_mul(q0[k], (-q0[k + 1], -q0[k + 2], -q0[k + 3]), q1[k], (q1[k + 1], q1[k + 2], q1[k + 3]))
    out[v], out[v + 1], out[v + 2] = 2.0 * u[0] / w, 2.0 * u[1] / w, 2.0 * u[2] / w


@inlined
def dual_column(s, j, kind):
    """Z_j: the columns themselves, which are orthonormal, but for the screw, whose coordinate is the angle alone, and symbolic joints."""
    if dispatch.is_generated(kind):
        return load3(s.dual, j, 0), load3(s.dual, j, 3)
    a, l = load3(s.S, j, 0), load3(s.S, j, 3)
    return a, (0.0, 0.0, 0.0) if kind == HELICAL else l


@inlined
def joint_columns(m, s, i, q):
    """Flow.S of joint i at q, and what its dual columns are made of."""
    dispatch.columns(m.link[i, KIND], m.param, i, q, m.link[i, QI], s.zero, m.link[i, VI], 0.0, s.S)
    if dispatch.is_generated(m.link[i, KIND]):
        dual_columns(s.S, m.link[i, VI], m.link[i, NV], s.small, s.dual)


@inlined
def on_child(b, i, a, l):
    """Wrench given in the joint's frame on body i, at its centre of mass."""
    return add(a, cross(load3(b.place, i - 1, B_P), l)), l


@inlined
def on_parent(b, poses, apart, i, a, l):
    """The same wrench on the parent, opposite sign."""
    R, point = relative(b, poses, apart, i - 1)
    force = matvec(R, l)
    return scale(-1.0, add(matvec(R, a), cross(point, force))), scale(-1.0, force)


@kernel
def add_joint_forces(m, b, s, poses, apart, q, tau, row, factor, out):
    """out += wrenches of the joint forces factor * tau[row, :] on the bodies."""
    for i in range(1, m.link.shape[0]):
        v, nv, kind = m.link[i, VI], m.link[i, NV], m.link[i, KIND]
        joint_columns(m, s, i, q)
        a, l = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for j in range(v, v + nv):
            za, zl = dual_column(s, j, kind)
            a, l = axpy(factor * tau[row, j], za, a), axpy(factor * tau[row, j], zl, l)
        ca, cl = on_child(b, i, a, l)
        pa, pl = on_parent(b, poses, apart, i, a, l)
        p = m.link[i, PARENT]
        for e in range(3):
            out[i, e] += ca[e]
            out[i, 3 + e] += cl[e]
            out[p, e] += pa[e]
            out[p, 3 + e] += pl[e]


@kernel
def joint_momenta(m, b, s, q, momenta, out):
    """out_i = S_i' (momentum of body i and everything beyond it) at the node."""
    n = m.link.shape[0]
    F = s.wrench
    for i in range(n):
        for e in range(6):
            F[i, e] = momenta[i, e] if i > 0 else 0.0
    for i in range(n - 1, 0, -1):
        joint_columns(m, s, i, q)
        force = load3(F, i, 3)
        moment = sub(load3(F, i, 0), cross(load3(b.place, i - 1, B_P), force))  # about the joint
        v = m.link[i, VI]
        for j in range(v, v + m.link[i, NV]):
            out[j] = dot(load3(s.S, j, 0), moment) + dot(load3(s.S, j, 3), force)
        a, l = on_parent(b, s.node, s.apart, i, moment, force)
        p = m.link[i, PARENT]
        for e in range(3):
            F[p, e] -= a[e]
            F[p, 3 + e] -= l[e]


@kernel
def damper_columns(m, b, s, i):
    """Flow.Z of joint i: dual columns at the start (child, parent), derivative of the increment at the end (child, parent)."""
    v, nv, kind = m.link[i, VI], m.link[i, NV], m.link[i, KIND]
    joint_columns(m, s, i, s.q)
    for j in range(v, v + nv):
        a, l = dual_column(s, j, kind)
        put_pair(b, s, s.node, s.apart, i, j, 0, a, l)
    if dispatch.is_generated(kind):
        coordinate_slopes(m, b, s, i)
    else:
        joint_columns(m, s, i, s.q_end)
    for j in range(v, v + nv):
        a, l = dual_column(s, j, kind)
        if kind in (SPHERICAL, FREE):
            d = (s.dq[v], s.dq[v + 1], s.dq[v + 2])
            if j < v + 3:  # row of 1 + d^/2 + d d'/4
                e = (1.0 if j == v else 0.0, 1.0 if j == v + 1 else 0.0, 1.0 if j == v + 2 else 0.0)
                a, l = axpy(0.25 * d[j - v], d, axpy(-0.5, cross(d, e), e)), (0.0, 0.0, 0.0)
            else:
                w, u = cayley_quaternion(s.dq, v)
                R = quat_to_matrix(w, u)
                r = 3 * (j - v - 3)
                a, l = (0.0, 0.0, 0.0), (R[r], R[r + 1], R[r + 2])
        put_pair(b, s, s.end, s.apart_end, i, j, 2, a, l)


@inlined
def put_pair(b, s, poses, apart, i, j, at, a, l):
    ca, cl = on_child(b, i, a, l)
    pa, pl = on_parent(b, poses, apart, i, a, l)
    for e in range(3):
        s.Z[j, at, e], s.Z[j, at, 3 + e] = ca[e], cl[e]
        s.Z[j, at + 1, e], s.Z[j, at + 1, 3 + e] = pa[e], pl[e]
