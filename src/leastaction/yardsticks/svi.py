"""Residual of a variational step as Johnson and Murphey (2009) compute it: the yardstick for kernels/tree/drnea.py.

Midpoint discrete Lagrangian in generalised coordinates, Ld = h L(q + d/2, d/h), paper eq. (19) with alpha = 1/2.  The
mechanism is a tree of frames, each moved by at most one coordinate: g_k = C_k exp(xi_k q_k).  Derivatives of every frame
in every coordinate above it are carried from parent to child, O(n * depth) in all (equation numbers of the paper, read
with the corrections of its errata):

    (2)  g_sk       = g_s,par g_k
    (3)  d g_sk/dq_i = (d g_s,par/dq_i) g_k            or  g_s,par g_k'  for i = k
    (5)  v_k        = g_k^-1 v_par g_k + xi_k qd_k
    (6)  d v_k/dq_i  = g_k^-1 (d v_par/dq_i) g_k       or  (g_k^-1)' v_par g_k + g_k^-1 v_par g_k'  for i = k
    (8)  d v_k/dqd_i = g_k^-1 (d v_par/dqd_i) g_k      or  xi_k  for i = k
    (23, 31)  dL/dq_i  = sum_k  v_k' M_k d v_k/dq_i + m_k gravity . d p_k/dq_i  - d(springs)/dq_i
    (25)      dL/dqd_i = sum_k  v_k' M_k d v_k/dqd_i

Two evaluations of the same recursion: `MATRICES` multiplies homogeneous matrices as the paper does (without their constant
last row), `TWISTS` uses adjoints of 6-vectors and lets gravity act through (8), which makes (2) and (3) superfluous.
Whatever several derivatives share is computed once; a frame overwrites the rows of its parent once no sibling needs them.
"""

from typing import NamedTuple

from ..compiling.decorators import entry, inlined, kernel
from ..compiling.records import allocate, floats
from ..kernels.lagrangian.frames import STILL, Frames, local_pose, store_pose, unit_twist
from ..kernels.tree.layout import MASS, MOMENT
from ..kernels.tree.loads import gravity_wrench
from ..kernels.tree.spatial import body_momentum, twist_to_child
from ..lie.algebra import ZERO3, add, axpy, cross, dot, load3, load9, matadd, matmul, matvec, scale, store3, tmatvec

# evaluations
MATRICES, TWISTS = 0, 1


class Scratch(NamedTuple):
    """Memory of the evaluation."""

    pose: floats("f", 12)  # g_sk: rotation, position
    velocity: floats("f", 12)  # v_k as a matrix, or as a twist in the first six columns
    down: floats("f", 3)  # gravity in the axes of the frame
    pose_q: floats("rows", 12)  # d g_sk / dq_i
    velocity_q: floats("rows", 12)  # d v_k / dq_i, matrix or twist
    velocity_qd: floats("rows", 12)  # d v_k / dqd_i
    dL_dq: floats("nv")
    dL_dqd: floats("nv")


def make_scratch(frames: Frames) -> Scratch:
    rows = int((frames.write + frames.depth).max())
    scratch = allocate(Scratch, {"f": len(frames.parent), "rows": rows, "nv": len(frames.rest)})
    scratch.pose[0, [0, 4, 8]] = 1.0
    scratch.down[0] = frames.gravity
    return scratch


# ------------------------------------------------------------------------------------ homogeneous matrices


@inlined
def product(A, a, B, b, last):
    """[A a][B b] with the last row of [B b] = (0, 0, 0, last): 1 for poses, 0 for velocities and derivatives of poses."""
    return matmul(A, B), axpy(last, a, matvec(A, b))


@inlined
def transpose(A):
    return A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8]


@inlined
def matrix_of(omega, vel):
    """Twist as a homogeneous matrix."""
    return (0.0, -omega[2], omega[1], omega[2], 0.0, -omega[0], -omega[1], omega[0], 0.0), vel


@inlined
def work(array, k, a, l):
    """Twist in the matrix array[k] times the momentum (a, l)."""
    return dot((array[k, 7], array[k, 2], array[k, 3]), a) + dot((array[k, 9], array[k, 10], array[k, 11]), l)


@kernel
def gradients_by_matrices(f, s, q, d, h):
    """dL/dq and dL/dqd of the kinetic and gravitational energy."""
    for k in range(1, f.parent.shape[0]):
        parent, j, moves = f.parent[k], f.coordinate[k], f.motion[k] != STILL
        x, rate = (q[j] + 0.5 * d[j], d[j] / h) if moves else (0.0, 0.0)
        G, g, G1, g1 = local_pose(f, k, x)
        I = transpose(G)
        i = scale(-1.0, matvec(I, g))
        # (2), (5); v_par g_k serves (5) and (6)
        P, p = load9(s.pose, parent, 0), load3(s.pose, parent, 9)
        V, v = load9(s.velocity, parent, 0), load3(s.velocity, parent, 9)
        store_pose(s.pose, k, *product(P, p, G, g, 1.0))
        VG, vg = product(V, v, G, g, 1.0)
        B, b = product(I, i, VG, vg, 0.0)
        first, source, above = f.write[k], f.read[k], f.depth[parent]
        if moves:
            omega, vel = unit_twist(f.motion[k], f.pitch[k])
            U, u = matrix_of(omega, vel)
            W, w = matrix_of(scale(rate, omega), scale(rate, vel))
            B, b = matadd(B, W), add(b, w)
        # (3), (6), (8) for the coordinates above
        for a in range(above):
            store_pose(s.pose_q, first + a, *product(load9(s.pose_q, source + a, 0), load3(s.pose_q, source + a, 9), G, g, 1.0))
            Y, y = product(load9(s.velocity_q, source + a, 0), load3(s.velocity_q, source + a, 9), G, g, 1.0)
            store_pose(s.velocity_q, first + a, *product(I, i, Y, y, 0.0))
            Y, y = product(load9(s.velocity_qd, source + a, 0), load3(s.velocity_qd, source + a, 9), G, g, 1.0)
            store_pose(s.velocity_qd, first + a, *product(I, i, Y, y, 0.0))
        # and for the frame's own
        if moves:
            own = first + above
            store_pose(s.pose_q, own, *product(P, p, G1, g1, 0.0))
            I1 = transpose(G1)
            i1 = scale(-1.0, add(matvec(I1, g), matvec(I, g1)))
            Y, y = product(I1, i1, VG, vg, 0.0)
            Z, z = product(V, v, G1, g1, 0.0)
            Z, z = product(I, i, Z, z, 0.0)
            store_pose(s.velocity_q, own, matadd(Y, Z), add(y, z))
            store_pose(s.velocity_qd, own, U, u)
        store_pose(s.velocity, k, B, b)
        # (23), (25), (31)
        if f.massive[k]:
            ma, ml = body_momentum(f.body, k, (B[7], B[2], B[3]), b)
            gravity, c = (f.gravity[0], f.gravity[1], f.gravity[2]), load3(f.body, k, MOMENT)
            for a in range(f.depth[k]):
                row, j = first + a, f.above[k, a]
                lifted = axpy(f.body[k, MASS], load3(s.pose_q, row, 9), matvec(load9(s.pose_q, row, 0), c))
                s.dL_dq[j] += work(s.velocity_q, row, ma, ml) + dot(gravity, lifted)
                s.dL_dqd[j] += work(s.velocity_qd, row, ma, ml)


# ------------------------------------------------------------------------------------------------- twists


@kernel
def gradients_by_twists(f, s, q, d, h):
    """dL/dq and dL/dqd of the kinetic and gravitational energy."""
    for k in range(1, f.parent.shape[0]):
        parent, j, moves = f.parent[k], f.coordinate[k], f.motion[k] != STILL
        x, rate = (q[j] + 0.5 * d[j], d[j] / h) if moves else (0.0, 0.0)
        R, p, _, _ = local_pose(f, k, x)
        va, vl = twist_to_child(R, p, load3(s.velocity, parent, 0), load3(s.velocity, parent, 3))
        down = tmatvec(R, load3(s.down, parent, 0))
        store3(s.down, k, 0, down)
        first, source, above = f.write[k], f.read[k], f.depth[parent]
        ua, ul = unit_twist(f.motion[k], f.pitch[k]) if moves else (ZERO3, ZERO3)
        wa, wl = axpy(rate, ua, va), axpy(rate, ul, vl)
        store3(s.velocity, k, 0, wa)
        store3(s.velocity, k, 3, wl)
        ma, ml = body_momentum(f.body, k, wa, wl)
        ga, gl = gravity_wrench(f.body, k, down)
        for a in range(f.depth[k]):
            if a < above:  # (6) and (8) for the coordinates above
                qa, ql = twist_to_child(R, p, load3(s.velocity_q, source + a, 0), load3(s.velocity_q, source + a, 3))
                da, dl = twist_to_child(R, p, load3(s.velocity_qd, source + a, 0), load3(s.velocity_qd, source + a, 3))
            else:  # for the frame's own: d(Ad v)/dq = [Ad v, xi]
                qa, ql = cross(va, ua), add(cross(va, ul), cross(vl, ua))
                da, dl = ua, ul
            row, i = first + a, f.above[k, a]
            store3(s.velocity_q, row, 0, qa)
            store3(s.velocity_q, row, 3, ql)
            store3(s.velocity_qd, row, 0, da)
            store3(s.velocity_qd, row, 3, dl)
            s.dL_dq[i] += dot(qa, ma) + dot(ql, ml) + dot(da, ga) + dot(dl, gl)
            s.dL_dqd[i] += dot(da, ma) + dot(dl, ml)


# ---------------------------------------------------------------------------------------------- residual


@kernel
def lagrangian_gradients(f, s, q, d, h, evaluation):
    """dL/dq and dL/dqd at the midpoint q + d/2 and the velocity d/h."""
    for j in range(s.dL_dq.shape[0]):
        s.dL_dq[j] = -f.stiffness[j] * (q[j] + 0.5 * d[j] - f.rest[j])
        s.dL_dqd[j] = 0.0
    if evaluation == TWISTS:
        gradients_by_twists(f, s, q, d, h)
    else:
        gradients_by_matrices(f, s, q, d, h)


@kernel
def svi_residual(f, s, q, d, p, h, evaluation, r):
    """r = -D1 Ld(q, q + d) - p, eq. (20)."""
    lagrangian_gradients(f, s, q, d, h, evaluation)
    for j in range(r.shape[0]):
        r[j] = s.dL_dqd[j] - 0.5 * h * s.dL_dq[j] - p[j]


@kernel
def svi_momentum(f, s, q, d, h, evaluation, out):
    """out = D2 Ld(q, q + d), eq. (21)."""
    lagrangian_gradients(f, s, q, d, h, evaluation)
    for j in range(out.shape[0]):
        out[j] = s.dL_dqd[j] + 0.5 * h * s.dL_dq[j]


@entry
def residual(f, s, q, d, p, h, evaluation, r):
    svi_residual(f, s, q, d, p, h, evaluation, r)


@entry
def next_momentum(f, s, q, d, h, evaluation, out):
    svi_momentum(f, s, q, d, h, evaluation, out)
