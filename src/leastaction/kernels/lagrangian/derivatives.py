"""First and second derivatives of the Lagrangian of a tree of frames (yardsticks/svi.py), in O(n) and O(n^2).

Johnson and Murphey (2009) carry the derivatives of every frame in every coordinate from parent to child.  Written with
twists, these derivatives are the same for all frames beyond the coordinate, up to the frame they are expressed in:

    d v_k / dqd_l = Psi_l,    d v_k / dq_l = Psi'_l = [v_l, Psi_l]             for every frame k at or beyond l     (8), (6)

so only sums over everything beyond a coordinate are needed, which composites carry from the leaves to the root: the inertia G,
the momentum H and the weight W of all bodies beyond l.  With u_l = G Psi_l, w_l = G Psi'_l + (how H turns with Psi_l), m above l:

    dL/dqd_l = Psi_l.H      dL/dq_l = Psi'_l.H + Psi_l.W - springs                                                 (25), (23)
    d2L/dqd_m dqd_l = Psi_m.u_l     d2L/dq_m dqd_l = Psi'_m.u_l     d2L/dq_l dqd_m = Psi_m.w_l                     (27), (26)
    d2L/dq_m dq_l = Psi'_m.w_l + Psi_m.(how W turns) - springs, potentials                              (24)

The gradients are evaluated in the frames themselves, the products of pairs in world axes about the first frame.
"""

from ...compiling.decorators import entry, inlined, kernel
from ...lie.algebra import ZERO3, accumulate3, add, axpy, cross, dot, load3, load9, matmul, matvec, store3, store9, sub, tmatvec, vector
from ..forces.potentials import add_potentials, potential_curvatures
from ..forces.wrenches import constant_wrench, constant_wrench_turned
from ..tree.crba import add_composite
from ..tree.layout import INERTIA, MASS, MOMENT
from ..tree.loads import gravity_wrench
from ..tree.spatial import body_momentum, dot6, pass_to_parent, twist_to_child, wrench_to_parent
from .balls import add_springs, spring_curvatures
from .curved import add_bends, move_by_joint, rate_of, twist_of
from .frames import BALL_X, STILL, local_pose
from .layout import DOWN, FALL, MU, PSI, RATE, TURN, WORLD_P, WORLD_R, A, H, P, R, V, W
from .potentials import add_pair_forces, pair_curvatures


@kernel
def gradients(m, frames, lag, w, q, v):
    """s.q, s.v, s.force at the configuration q and velocity v, in O(n).  Uses Work.world, x, jet for potentials.

    Ball and free joints stand as s.turned says; their derivatives are those along x, y and z, then in the angles about them, from there.
    """
    row = lag.row
    count = frames.parent.shape[0]
    store3(row, 0, V, ZERO3)
    for k in range(1, count):
        parent, j, at = frames.parent[k], frames.coordinate[k], frames.place[k]
        moves = frames.motion[k] != STILL
        rot, p, _, _ = local_pose(frames, k, q[at] if at >= 0 else 0.0)
        if frames.ball[k] >= 0:
            at_x = frames.balls[frames.ball[k], BALL_X]
            if at_x >= 0:
                p = add(p, matvec(rot, vector(q, at_x)))
            rot = matmul(rot, load9(lag.turned, frames.ball[k], 0))
        rot, p = move_by_joint(lag.curved, m, frames, k, q, v, rot, p)
        store9(row, k, R, rot)
        store3(row, k, P, p)
        a, l = twist_to_child(rot, p, load3(row, parent, V), load3(row, parent, V + 3))
        if moves:
            xa, xl = twist_of(lag.curved, frames, k)
            ra, rl = rate_of(lag.curved, frames, k, a, l, xa, xl)
            store3(lag.rate, j, 0, ra)
            store3(lag.rate, j, 3, rl)
            a, l = axpy(v[j], xa, a), axpy(v[j], xl, l)
        store3(row, k, V, a)
        store3(row, k, V + 3, l)
        ha, hl = body_momentum(frames.body, k, a, l)
        store3(row, k, H, ha)
        store3(row, k, H + 3, hl)
        down = tmatvec(rot, load3(row, parent, DOWN))
        store3(row, k, DOWN, down)
        wa, wl = gravity_wrench(frames.body, k, down)
        store3(row, k, W, wa)
        store3(row, k, W + 3, wl)
    forced = m.wrench_on.shape[0] > 0
    if forced or m.pair_on.shape[0] > 0:
        place(frames, lag)
    if m.pair_on.shape[0] > 0:
        add_pair_forces(m, frames, lag, w)
    if forced:
        for k in range(1, count):
            store3(row, k, A, ZERO3)
            store3(row, k, A + 3, ZERO3)
        for e in range(m.wrench_on.shape[0]):
            k = frames.of_body[m.wrench_on[e, 0]]
            moment, force = constant_wrench(m, e, load9(row, k, WORLD_R))
            accumulate3(row, k, A, moment)
            accumulate3(row, k, A + 3, force)
    top = 0.0
    for k in range(count - 1, 0, -1):
        parent, j = frames.parent[k], frames.coordinate[k]
        rot, p = load9(row, k, R), load3(row, k, P)
        if frames.motion[k] != STILL:
            xa, xl = twist_of(lag.curved, frames, k)
            at = frames.place[k]
            spring = m.stiffness[j] * (q[at] - m.rest[at]) if at >= 0 else 0.0
            weight, turn = dot6(row, k, W, xa, xl), dot6(row, k, H, load3(lag.rate, j, 0), load3(lag.rate, j, 3))
            lag.v[j] = dot6(row, k, H, xa, xl) + m.armature[j] * v[j]
            lag.q[j] = turn + weight - spring
            lag.force[j] = dot6(row, k, A, xa, xl) if forced else 0.0
            top = max(top, abs(turn) + abs(weight) + abs(spring) + abs(lag.force[j]))
        if parent > 0:
            pass_to_parent(row, k, parent, H, rot, p, load3(row, k, H), load3(row, k, H + 3))
            pass_to_parent(row, k, parent, W, rot, p, load3(row, k, W), load3(row, k, W + 3))
            if forced:
                pass_to_parent(row, k, parent, A, rot, p, load3(row, k, A), load3(row, k, A + 3))
    add_potentials(m, w, q, -1.0, lag.q)
    add_springs(m, frames, lag, q)
    for j in range(lag.q.shape[0]):
        top = max(top, abs(lag.q[j]))
    lag.size[0] = top


@kernel
def place(frames, lag):
    """World axes and positions of all frames, positions counted from the first frame: no digits are lost far from the origin."""
    row = lag.row
    store3(row, 0, WORLD_P, sub(ZERO3, load3(row, 1, P)))
    for k in range(1, frames.parent.shape[0]):
        parent = frames.parent[k]
        Q = load9(row, parent, WORLD_R)
        store9(row, k, WORLD_R, matmul(Q, load9(row, k, R)))
        store3(row, k, WORLD_P, add(load3(row, parent, WORLD_P), matvec(Q, load3(row, k, P))))


@inlined
def store_twist(array, j, column, Q, p, a, l):
    """A twist of a frame at (Q, p), in world axes about the origin."""
    turned = matvec(Q, a)
    store3(array, j, column, turned)
    store3(array, j, column + 3, add(matvec(Q, l), cross(p, turned)))


@inlined
def store_wrench(array, j, column, Q, p, a, l):
    """A wrench of a frame at (Q, p), in world axes about the origin."""
    force = matvec(Q, l)
    store3(array, j, column, add(matvec(Q, a), cross(p, force)))
    store3(array, j, column + 3, force)


@kernel
def curvatures(m, frames, lag, w, q):
    """s.qq, s.qv, s.vv, s.force_q where `gradients` was evaluated last, in O(n^2): a few products of six-vectors per pair."""
    row, comp, pair = lag.row, lag.composite, lag.pair
    count = frames.parent.shape[0]
    place(frames, lag)
    for k in range(count):
        for c in range(MASS, INERTIA + 6):
            comp[k, c] = frames.body[k, c]
    for k in range(count - 1, 0, -1):
        if frames.parent[k] > 0:
            add_composite(comp, k, frames.parent[k], load9(row, k, R), load3(row, k, P))
    nv = lag.q.shape[0]
    for i in range(nv):
        for j in range(nv):
            lag.qq[i, j], lag.qv[i, j], lag.vv[i, j] = 0.0, 0.0, 0.0
        lag.qq[i, i] = -m.stiffness[i]
    for k in range(1, count):
        if frames.motion[k] == STILL:
            continue
        l = frames.coordinate[k]
        Q, p = load9(row, k, WORLD_R), load3(row, k, WORLD_P)
        xa, xl = twist_of(lag.curved, frames, k)
        ra, rl = load3(lag.rate, l, 0), load3(lag.rate, l, 3)
        ha, hl = load3(row, k, H), load3(row, k, H + 3)
        ua, ul = body_momentum(comp, k, xa, xl)
        wa, wl = body_momentum(comp, k, ra, rl)
        wa, wl = add(wa, add(cross(xa, ha), cross(xl, hl))), add(wl, cross(xa, hl))
        moved = axpy(comp[k, MASS], xl, cross(xa, load3(comp, k, MOMENT)))  # mass times what the centre of mass moves
        store_twist(pair, l, PSI, Q, p, xa, xl)
        store_twist(pair, l, RATE, Q, p, ra, rl)
        store_wrench(pair, l, MU, Q, p, ua, ul)
        store_wrench(pair, l, TURN, Q, p, wa, wl)
        fall = matvec(Q, cross(moved, load3(row, k, DOWN)))
        store3(pair, l, FALL, fall)
        ua, ul = load3(pair, l, MU), load3(pair, l, MU + 3)
        wa, wl = load3(pair, l, TURN), load3(pair, l, TURN + 3)
        for d in range(frames.depth[k]):
            above = frames.above[k, d]
            inertia, turn = dot6(pair, above, PSI, ua, ul), dot6(pair, above, PSI, wa, wl)
            bent = dot6(pair, above, RATE, wa, wl) + dot(load3(pair, above, PSI), fall)
            lag.vv[above, l] = inertia
            lag.vv[l, above] = inertia
            lag.qv[above, l] = dot6(pair, above, RATE, ua, ul)
            lag.qv[l, above] = turn
            lag.qq[above, l] += bent
            if above != l:
                lag.qq[l, above] += bent
        lag.vv[l, l] += m.armature[l]
    if m.wrench_on.shape[0] > 0:
        force_curvatures(m, frames, lag)
    if m.pair_on.shape[0] > 0:
        pair_curvatures(m, frames, lag, w)
    potential_curvatures(m, w, q, lag.qq)
    spring_curvatures(m, frames, lag)
    add_bends(lag.curved, m, frames, lag, q)


@kernel
def force_curvatures(m, frames, lag):
    """s.force_q: a wrench turns with its body, what is fixed in the world against it; joints above the one that moves turn along."""
    row, pair = lag.row, lag.pair
    nv = lag.q.shape[0]
    for i in range(nv):
        for j in range(nv):
            lag.force_q[i, j] = 0.0
    for e in range(m.wrench_on.shape[0]):
        k = frames.of_body[m.wrench_on[e, 0]]
        Q, p = load9(row, k, WORLD_R), load3(row, k, WORLD_P)
        moment, force = constant_wrench(m, e, Q)
        moment, force = wrench_to_parent(Q, p, moment, force)
        moment_turned, force_turned = constant_wrench_turned(m, e, Q)
        for b in range(frames.depth[k]):
            j = frames.above[k, b]
            turn, slide = load3(pair, j, PSI), load3(pair, j, PSI + 3)
            zeta = tmatvec(Q, turn)
            fixed_a, fixed_l = wrench_to_parent(Q, p, matvec(moment_turned, zeta), matvec(force_turned, zeta))
            moved_a, moved_l = add(cross(turn, moment), cross(slide, force)), cross(turn, force)
            for a in range(frames.depth[k]):
                i = frames.above[k, a]
                lag.force_q[i, j] += dot6(pair, i, PSI, fixed_a, fixed_l)
                if b >= a:  # j moves only what is beyond i
                    lag.force_q[i, j] += dot6(pair, i, PSI, moved_a, moved_l)


@entry
def evaluate(m, frames, lag, w, q, v):
    """All derivatives at (q, v)."""
    gradients(m, frames, lag, w, q, v)
    curvatures(m, frames, lag, w, q)

