"""The recursions of Johnson and Murphey (2009) as they are printed (with their errata), to compare kernels/lagrangian/derivatives.py with.

For a frame k of the tree with pose g_k = C_k exp(xi_k q_k) in its parent:

    (2)-(4)   g_sk, d g_sk/dq_i, d2 g_sk/dq_i dq_j       pose in the world
    (5)-(7)   v_k, d v_k/dq_i, d2 v_k/dq_i dq_j          body velocity
    (8)-(10)  d v_k/dqd_i, d2 v_k/dqd_i dqd_j = 0, d2 v_k/dqd_i dq_j
    (23)-(27) first and second derivatives of L, sums over the frames that carry a body

Each is made from the same value of the parent by one product, differentiated once for every index that is the frame's own
coordinate; it vanishes for a coordinate that does not stand above the frame.  With caching every value is computed once and kept
until the configuration changes, O(n^3) in all; without, every value that is asked for is computed from the root, O(n^4).
"""

from typing import NamedTuple

import numpy as np

from ..compiling.decorators import entry, inlined, kernel
from ..compiling.records import allocate, floats, integers
from ..kernels.lagrangian.curved import bracket
from ..kernels.lagrangian.frames import STILL, Frames, local_pose, store_pose, unit_twist
from ..kernels.tree.layout import MASS, MOMENT
from ..kernels.tree.spatial import body_momentum, twist_to_child
from ..lie.algebra import ZERO3, add, axpy, dot, load3, load9, mat_hat, matmul, matvec, store3, store9

NONE = -1  # no derivative
WORLD = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Tables(NamedTuple):
    """Equations (2) to (10) of every frame; entries of coordinates that do not stand above it stay zero.

    f is the number of frames with the world, or 1 without caching.
    """

    cached: int  # 0: the tables are not used
    pose: floats("f", 12)  # rotation and position
    pose_q: floats("f", "nv", 12)
    pose_qq: floats("f", "nv", "nv", 12)
    twist: floats("f", 6)  # (angular, linear)
    twist_q: floats("f", "nv", 6)
    twist_v: floats("f", "nv", 6)
    twist_qq: floats("f", "nv", "nv", 6)
    twist_qv: floats("f", "nv", "nv", 6)  # in q_i and qd_j
    local: floats("f", 12)  # pose in the parent
    path: integers("frames", "deepest")  # frames from the root to each frame
    length: integers("frames")  # their number


def make_tables(frames: Frames, cached: bool) -> Tables:
    count, nv = len(frames.parent), len(frames.rest)
    paths: list[list[int]] = [[]]
    for k in range(1, count):
        paths.append([*paths[frames.parent[k]], k])
    length = np.array([len(p) for p in paths], dtype=np.int64)
    path = np.zeros((count, max(int(length.max()), 1)), dtype=np.int64)
    for k, frames_above in enumerate(paths):
        path[k, : len(frames_above)] = frames_above
    sizes = {"f": count if cached else 1, "nv": nv, "frames": count, "deepest": path.shape[1]}
    tables = allocate(Tables, sizes, cached=int(cached), path=path, length=length)
    tables.pose[0, [0, 4, 8]] = 1.0
    return tables


# ------------------------------------------------------------------------------------------ one frame further


@inlined
def local(frames, k, q):
    """g_k as (R, p)."""
    rot, p, _, _ = local_pose(frames, k, q[frames.coordinate[k]] if frames.motion[k] != STILL else 0.0)
    return rot, p


@inlined
def next_pose(frames, k, g, A, a, order):
    """[A a] g_k (a pose or a derivative of one), differentiated `order` times in the frame's own coordinate: g' = g xi^."""
    A, a = matmul(A, g[0]), add(a, matvec(A, g[1]))
    if order > 0:
        omega, vel = unit_twist(frames.motion[k], frames.pitch[k])
        for _ in range(order):
            A, a = mat_hat(A, omega), matvec(A, vel)
    return A, a


@inlined
def next_twist(frames, k, g, a, l, order):
    """Ad_{g_k^-1} v, differentiated `order` times in the frame's own coordinate: (Ad v)' = [Ad v, xi]."""
    a, l = twist_to_child(g[0], g[1], a, l)
    if order > 0:
        omega, vel = unit_twist(frames.motion[k], frames.pitch[k])
        for _ in range(order):
            a, l = bracket(a, l, omega, vel)
    return a, l


@inlined
def store_twist(array, k, twist):
    store3(array, k, 0, twist[0])
    store3(array, k, 3, twist[1])


# ------------------------------------------------------------------------------------------------ with caching


@kernel
def fill_first(frames, tab, q, v):
    """(2), (3), (5), (6), (8) of all frames, from the parents to the children."""
    for k in range(1, frames.parent.shape[0]):
        parent, own = frames.parent[k], frames.coordinate[k]
        g = local(frames, k, q)
        store9(tab.local, k, 0, g[0])
        store3(tab.local, k, 9, g[1])
        P, p = load9(tab.pose, parent, 0), load3(tab.pose, parent, 9)
        b, d = load3(tab.twist, parent, 0), load3(tab.twist, parent, 3)
        A, a = next_pose(frames, k, g, P, p, 0)
        store9(tab.pose, k, 0, A)
        store3(tab.pose, k, 9, a)
        a, l = next_twist(frames, k, g, b, d, 0)
        for x in range(frames.depth[parent]):
            i = frames.above[k, x]
            A, o = next_pose(frames, k, g, load9(tab.pose_q[parent], i, 0), load3(tab.pose_q[parent], i, 9), 0)
            store_pose(tab.pose_q[k], i, A, o)
            store_twist(tab.twist_q[k], i, next_twist(frames, k, g, load3(tab.twist_q[parent], i, 0), load3(tab.twist_q[parent], i, 3), 0))
            store_twist(tab.twist_v[k], i, next_twist(frames, k, g, load3(tab.twist_v[parent], i, 0), load3(tab.twist_v[parent], i, 3), 0))
        if frames.motion[k] != STILL:
            A, o = next_pose(frames, k, g, P, p, 1)
            store_pose(tab.pose_q[k], own, A, o)
            store_twist(tab.twist_q[k], own, next_twist(frames, k, g, b, d, 1))
            omega, vel = unit_twist(frames.motion[k], frames.pitch[k])
            store_twist(tab.twist_v[k], own, (omega, vel))
            a, l = axpy(v[own], omega, a), axpy(v[own], vel, l)
        store3(tab.twist, k, 0, a)
        store3(tab.twist, k, 3, l)


@kernel
def fill_second(frames, tab):
    """(4), (7), (10) of all frames, after `fill_first`."""
    for k in range(1, frames.parent.shape[0]):
        parent, own = frames.parent[k], frames.coordinate[k]
        g = load9(tab.local, k, 0), load3(tab.local, k, 9)
        moves = 1 if frames.motion[k] != STILL else 0
        for x in range(frames.depth[parent]):
            i = frames.above[k, x]
            for y in range(frames.depth[parent]):
                j = frames.above[k, y]
                A, a = next_pose(frames, k, g, load9(tab.pose_qq[parent, i], j, 0), load3(tab.pose_qq[parent, i], j, 9), 0)
                store_pose(tab.pose_qq[k, i], j, A, a)
                old = load3(tab.twist_qq[parent, i], j, 0), load3(tab.twist_qq[parent, i], j, 3)
                store_twist(tab.twist_qq[k, i], j, next_twist(frames, k, g, old[0], old[1], 0))
                old = load3(tab.twist_qv[parent, i], j, 0), load3(tab.twist_qv[parent, i], j, 3)
                store_twist(tab.twist_qv[k, i], j, next_twist(frames, k, g, old[0], old[1], 0))
            if moves:  # one index is the frame's own coordinate; in qd_own the velocity does not depend on q_i: xi is constant
                A, a = next_pose(frames, k, g, load9(tab.pose_q[parent], i, 0), load3(tab.pose_q[parent], i, 9), 1)
                store_pose(tab.pose_qq[k, i], own, A, a)
                store_pose(tab.pose_qq[k, own], i, A, a)
                bent = next_twist(frames, k, g, load3(tab.twist_q[parent], i, 0), load3(tab.twist_q[parent], i, 3), 1)
                store_twist(tab.twist_qq[k, i], own, bent)
                store_twist(tab.twist_qq[k, own], i, bent)
                bent = next_twist(frames, k, g, load3(tab.twist_v[parent], i, 0), load3(tab.twist_v[parent], i, 3), 1)
                store_twist(tab.twist_qv[k, own], i, bent)
        if moves:
            A, a = next_pose(frames, k, g, load9(tab.pose, parent, 0), load3(tab.pose, parent, 9), 2)
            store_pose(tab.pose_qq[k, own], own, A, a)
            store_twist(tab.twist_qq[k, own], own, next_twist(frames, k, g, load3(tab.twist, parent, 0), load3(tab.twist, parent, 3), 2))


# --------------------------------------------------------------------------------------------- without caching


@kernel
def walk_pose(frames, tab, q, k, i, j):
    """(2)-(4): pose of frame k, differentiated in q_i and q_j (NONE: not), from the root."""
    A, a = WORLD, ZERO3
    missing = (1 if i != NONE else 0) + (1 if j != NONE else 0)
    for step in range(tab.length[k]):
        at = tab.path[k, step]
        order = 0
        if frames.motion[at] != STILL:
            order = (1 if i == frames.coordinate[at] else 0) + (1 if j == frames.coordinate[at] else 0)
        A, a = next_pose(frames, at, local(frames, at, q), A, a, order)
        missing -= order
    if missing > 0:
        return NOTHING, ZERO3
    return A, a


@kernel
def walk_twist(frames, tab, q, v, k, i, j, r):
    """(5)-(10): velocity of frame k, differentiated in q_i, q_j and qd_r (NONE: not), from the root."""
    a, l = ZERO3, ZERO3
    missing = (1 if i != NONE else 0) + (1 if j != NONE else 0)
    started, plain = r == NONE, True
    for step in range(tab.length[k]):
        at = tab.path[k, step]
        c = frames.coordinate[at]
        order = 0
        if frames.motion[at] != STILL:
            order = (1 if i == c else 0) + (1 if j == c else 0)
        a, l = next_twist(frames, at, local(frames, at, q), a, l, order)
        missing -= order
        plain = plain and order == 0
        if frames.motion[at] != STILL and (c == r or r == NONE):
            omega, vel = unit_twist(frames.motion[at], frames.pitch[at])
            if c == r:
                started = True
                if plain:
                    a, l = omega, vel
            elif plain:
                a, l = axpy(v[c], omega, a), axpy(v[c], vel, l)
    if missing > 0 or not started:
        return ZERO3, ZERO3
    return a, l


# ------------------------------------------------------------------------------------------------------- values


@inlined
def pose_value(frames, tab, q, k, i, j):
    if tab.cached == 0:
        return walk_pose(frames, tab, q, k, i, j)
    if i == NONE:
        return load9(tab.pose, k, 0), load3(tab.pose, k, 9)
    if j == NONE:
        return load9(tab.pose_q[k], i, 0), load3(tab.pose_q[k], i, 9)
    return load9(tab.pose_qq[k, i], j, 0), load3(tab.pose_qq[k, i], j, 9)


@inlined
def twist_value(frames, tab, q, v, k, i, j, r):
    if tab.cached == 0:
        return walk_twist(frames, tab, q, v, k, i, j, r)
    if r != NONE:
        if i == NONE:
            return load3(tab.twist_v[k], r, 0), load3(tab.twist_v[k], r, 3)
        return load3(tab.twist_qv[k, i], r, 0), load3(tab.twist_qv[k, i], r, 3)
    if i == NONE:
        return load3(tab.twist, k, 0), load3(tab.twist, k, 3)
    if j == NONE:
        return load3(tab.twist_q[k], i, 0), load3(tab.twist_q[k], i, 3)
    return load3(tab.twist_qq[k, i], j, 0), load3(tab.twist_qq[k, i], j, 3)


@inlined
def work_of(twist, momentum):
    return dot(twist[0], momentum[0]) + dot(twist[1], momentum[1])


@inlined
def lifted(frames, k, pose):
    """Mass times what the centre of mass moves, for a derivative of the pose of frame k."""
    return axpy(frames.body[k, MASS], pose[1], matvec(pose[0], load3(frames.body, k, MOMENT)))


@kernel
def sum_gradients(frames, tab, lag, q, v):
    """(23), (25), (31) into s.q and s.v; fills the tables if there are any."""
    if tab.cached != 0:
        fill_first(frames, tab, q, v)
    gravity = (frames.gravity[0], frames.gravity[1], frames.gravity[2])
    for j in range(q.shape[0]):
        lag.q[j], lag.v[j], lag.force[j] = -frames.stiffness[j] * (q[j] - frames.rest[j]), 0.0, 0.0
    for k in range(1, frames.parent.shape[0]):
        if frames.massive[k] == 0:
            continue
        for x in range(frames.depth[k]):
            i = frames.above[k, x]
            a, l = twist_value(frames, tab, q, v, k, NONE, NONE, NONE)
            momentum = body_momentum(frames.body, k, a, l)
            lag.q[i] += work_of(twist_value(frames, tab, q, v, k, i, NONE, NONE), momentum)
            lag.q[i] += dot(gravity, lifted(frames, k, pose_value(frames, tab, q, k, i, NONE)))
            lag.v[i] += work_of(twist_value(frames, tab, q, v, k, NONE, NONE, i), momentum)
    lag.size[0] = 0.0
    for j in range(q.shape[0]):
        lag.size[0] = max(lag.size[0], abs(lag.q[j]))


@kernel
def sum_curvatures(frames, tab, lag, q, v):
    """(24), (26), (27) into s.qq, s.qv, s.vv, where `sum_gradients` was evaluated last."""
    if tab.cached != 0:
        fill_second(frames, tab)
    gravity = (frames.gravity[0], frames.gravity[1], frames.gravity[2])
    nv = q.shape[0]
    for i in range(nv):
        for j in range(nv):
            lag.qq[i, j], lag.qv[i, j], lag.vv[i, j] = 0.0, 0.0, 0.0
        lag.qq[i, i] = -frames.stiffness[i]
    for k in range(1, frames.parent.shape[0]):
        if frames.massive[k] == 0:
            continue
        for x in range(frames.depth[k]):
            for y in range(frames.depth[k]):
                i, j = frames.above[k, x], frames.above[k, y]
                a, l = twist_value(frames, tab, q, v, k, NONE, NONE, NONE)
                momentum = body_momentum(frames.body, k, a, l)
                a, l = twist_value(frames, tab, q, v, k, NONE, NONE, j)
                along = body_momentum(frames.body, k, a, l)
                lag.qv[i, j] += work_of(twist_value(frames, tab, q, v, k, i, NONE, NONE), along)
                lag.qv[i, j] += work_of(twist_value(frames, tab, q, v, k, i, NONE, j), momentum)
                if y > x:  # the other two are symmetric
                    continue
                a, l = twist_value(frames, tab, q, v, k, j, NONE, NONE)
                turned = body_momentum(frames.body, k, a, l)
                bent = work_of(twist_value(frames, tab, q, v, k, i, NONE, NONE), turned)
                bent += work_of(twist_value(frames, tab, q, v, k, i, j, NONE), momentum)
                bent += dot(gravity, lifted(frames, k, pose_value(frames, tab, q, k, i, j)))
                inertia = work_of(twist_value(frames, tab, q, v, k, NONE, NONE, i), along)
                lag.qq[i, j] += bent
                lag.vv[i, j] += inertia
                if i != j:
                    lag.qq[j, i] += bent
                    lag.vv[j, i] += inertia


@entry
def evaluate(frames, tab, lag, q, v):
    """The tables (if cached) and all derivatives of the Lagrangian at (q, v)."""
    sum_gradients(frames, tab, lag, q, v)
    sum_curvatures(frames, tab, lag, q, v)


@entry
def single(frames, tab, q, v, k, i, j, r, pose, twist):
    """One value of (2)-(4) into pose (12,) and of (5)-(10) into twist (6,); indices -1 mean no derivative."""
    A, a = pose_value(frames, tab, q, k, i, j)
    for c in range(9):
        pose[c] = A[c]
    b, l = twist_value(frames, tab, q, v, k, i, j, r)
    for c in range(3):
        pose[9 + c], twist[c], twist[3 + c] = a[c], b[c], l[c]
