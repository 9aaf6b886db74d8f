"""Entry points of the maximal-coordinate kernels on single configurations and on recordings."""

from ...compiling.decorators import entry, kernel
from ...joints import dispatch
from ...lie.algebra import add, axpy, cross, dot, load3, load9, matvec, quat_to_matrix, scale, store3, store9, sub, tmatvec
from ...lie.rotations import matrix_to_quaternion
from ..stepping.maximal import set_correction
from ..tree.evaluate import place
from ..tree.layout import KIND, NV, PARENT, QI, VI
from ..tree.loads import world_poses
from .constraints import force_directions, values
from .fronts import factorise, solve
from .joints import add_joint_forces, coordinates, dual_column, increments, joint_columns, joint_momenta
from .layout import B_P, POSE_R, POSE_U, POSE_W, POSE_X
from .rows import measure, relative
from .step import assemble, evaluate, place_end
from .symbolic import approach_coordinates


@kernel
def set_node(m, w, b, s, q):
    """Poses of all bodies at the joint coordinates q, and the directions of the constraints there."""
    place(m, w, q, w.r)
    world_poses(m, w)
    for j in range(q.shape[0]):
        s.q[j] = q[j]
    for i in range(1, s.node.shape[0]):
        c, u = matrix_to_quaternion(load9(w.world, i, 0))
        n = 1.0 / (c * c + dot(u, u)) ** 0.5
        c, u = n * c, scale(n, u)
        R = quat_to_matrix(c, u)
        s.node[i, POSE_W] = c
        store3(s.node, i, POSE_U, u)
        store9(s.node, i, POSE_R, R)
        store3(s.node, i, POSE_X, add(load3(w.world, i, 9), matvec(R, load3(b.com, i, 0))))
    measure(b, s)
    force_directions(m, b, s)


@entry
def node(m, w, b, s, q, out):
    """Flow.node and G0 at q; out = values of the constraints there (those on velocities are zero)."""
    set_node(m, w, b, s, q)
    for j in range(s.d.shape[0]):
        s.d[j] = 0.0
    place_end(s)
    values(m, b, s, out, 0)


@entry
def advance(m, q, d):
    """q <- q + d in place, d an increment (nv,)."""
    for i in range(1, m.link.shape[0]):
        dispatch.advance(m.link[i, KIND], q, m.link[i, QI], d, m.link[i, VI], m.link[i, NV])


@kernel
def twists(m, b, s, q, v, out):
    """out = velocities (n+1, 6) of the bodies' centres of mass in body axes for the joint velocities v."""
    for i in range(1, s.node.shape[0]):
        joint_columns(m, s, i, q)
        p, c = m.link[i, PARENT], i - 1
        R, point = relative(b, s.node, s.apart, c)
        omega, vel = load3(out, p, 0), load3(out, p, 3)
        a, l = tmatvec(R, omega), tmatvec(R, add(vel, cross(omega, point)))
        for j in range(m.link[i, VI], m.link[i, VI] + m.link[i, NV]):
            a, l = axpy(v[j], load3(s.S, j, 0), a), axpy(v[j], load3(s.S, j, 3), l)
        l = sub(l, cross(a, load3(b.place, c, B_P)))  # from the joint to the centre of mass
        for e in range(3):
            out[i, e], out[i, 3 + e] = a[e], l[e]


@kernel
def joint_velocities(m, b, s, q, V, out):
    """out = joint velocities (nv,) of bodies that move with V (n+1, 6)."""
    for i in range(1, s.node.shape[0]):
        joint_columns(m, s, i, q)
        p, c = m.link[i, PARENT], i - 1
        R, point = relative(b, s.node, s.apart, c)
        omega, vel = load3(V, p, 0), load3(V, p, 3)
        a = load3(V, i, 0)
        l = sub(add(load3(V, i, 3), cross(a, load3(b.place, c, B_P))), tmatvec(R, add(vel, cross(omega, point))))
        a = sub(a, tmatvec(R, omega))
        for j in range(m.link[i, VI], m.link[i, VI] + m.link[i, NV]):
            za, zl = dual_column(s, j, m.link[i, KIND])
            out[j] = dot(za, a) + dot(zl, l)


@entry
def increment(m, q0, q1, out):
    """out (nv,) = the increment that leads from q0 to q1."""
    increments(m, q0, q1, False, out)


@entry
def twists_entry(m, w, b, s, q, v, out):
    set_node(m, w, b, s, q)
    twists(m, b, s, q, v, out)


@entry
def minimal_entry(m, b, s, V, q, v, errors):
    """Joint coordinates and velocities of the poses in Flow.node and the twists V; angles continued from Flow.q.

    errors = violation of the constraints.
    """
    measure(b, s)
    for i in range(1, s.node.shape[0]):
        if dispatch.is_generated(m.link[i, KIND]):
            approach_coordinates(m, b, s, i)
    force_directions(m, b, s)
    for j in range(s.d.shape[0]):
        s.d[j] = 0.0
    place_end(s)
    values(m, b, s, errors, 0)
    coordinates(m, b, s, s.node, s.apart, q)
    joint_velocities(m, b, s, q, V, v)


@entry
def consistent_velocities(m, w, b, s, q, p, v):
    """Joint velocities (T, nv) of the joint momenta p at q that the constraints allow: the smallest change of momentum makes them so."""
    n = s.node.shape[0]
    for k in range(q.shape[0]):
        set_node(m, w, b, s, q[k])
        for j in range(s.d.shape[0]):
            s.d[j] = 0.0
        place_end(s)
        values(m, b, s, s.r, 6 * (n - 1))  # as a whole step without motion, for what the derivatives need
        for j in range(s.d.shape[0]):
            s.r[j] = 0.0
        for i in range(n):
            for e in range(6):
                s.x[i, e], s.wrench[i, e] = 0.0, 0.0
        for j in range(s.load.shape[0]):
            s.load[j] = p[k, j]
        add_joint_forces(m, b, s, s.node, s.apart, s.q, s.load_row, 0, 1.0, s.wrench)
        for i in range(1, n):
            for e in range(6):
                s.r[6 * (i - 1) + e] = s.wrench[i, e]
        assemble(m, b, s, 1.0, 0, False)
        factorise(b, s)
        solve(b, s)
        for i in range(1, n):
            for e in range(6):
                s.wrench[i, e] = s.z[6 * (i - 1) + e]
        for e in range(6):
            s.wrench[0, e] = 0.0
        joint_velocities(m, b, s, s.q, s.wrench, v[k])


@entry
def residual_entry(m, b, s, h, t, retraction):
    """Residual at Flow.d; Flow.node and target as they stand."""
    evaluate(m, b, s, h, t, retraction)


@entry
def matrix_entry(m, b, s, h, retraction):
    """Newton matrix of the last residual into Flow.values, not yet factorised."""
    assemble(m, b, s, h, retraction, True)


@entry
def solve_entry(b, s):
    """Factorise Flow.values and solve for Flow.z = J^-1 r."""
    factorise(b, s)
    solve(b, s)


@entry
def momenta_entry(m, b, s, out):
    """Joint momenta of the present node, kicks included."""
    joint_momenta(m, b, s, s.q, s.target, out)


@entry
def correct_entry(s):
    """Apply the full correction Flow.z to the unknowns; what it changed is in Flow.step."""
    set_correction(s)
    for j in range(s.d.shape[0]):
        s.d[j] -= s.step[j]
