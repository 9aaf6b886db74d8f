"""Entry points of the maximal-coordinate kernels on single configurations and on recordings."""

from numba import types

from ...compiling.decorators import entry, kernel
from ...compiling.records import numba_type
from ...joints import dispatch
from ...lie.algebra import add, axpy, cross, dot, load3, load9, matvec, quat_to_matrix, scale, store3, store9, sub, tmatvec
from ...lie.rotations import matrix_to_quaternion
from ..stepping.evaluation import evaluate_nodes, nodes_of
from ..stepping.maximal import Arrays, run, set_correction
from ..stepping.record import Record
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
def set_node(m, w, net, flow, q):
    """Poses of all bodies at the joint coordinates q, and the directions of the constraints there."""
    flow.time[1] = 0.0
    place(m, w, q, w.r)
    world_poses(m, w)
    for j in range(q.shape[0]):
        flow.q[j] = q[j]
    for i in range(1, flow.node.shape[0]):
        c, u = matrix_to_quaternion(load9(w.world, i, 0))
        n = 1.0 / (c * c + dot(u, u)) ** 0.5
        c, u = n * c, scale(n, u)
        R = quat_to_matrix(c, u)
        flow.node[i, POSE_W] = c
        store3(flow.node, i, POSE_U, u)
        store9(flow.node, i, POSE_R, R)
        store3(flow.node, i, POSE_X, add(load3(w.world, i, 9), matvec(R, load3(net.com, i, 0))))
    measure(net, flow)
    force_directions(m, net, flow)


@entry
def node(m, w, net, flow, q, out):
    """Flow.node and G0 at q; out = values of the constraints there (those on velocities are zero)."""
    set_node(m, w, net, flow, q)
    for j in range(flow.d.shape[0]):
        flow.d[j] = 0.0
    place_end(flow)
    values(m, net, flow, out, 0)


@run.expected_after(node)
def run_after_node(m, w, net, flow, q, out):
    return numba_type(Arrays, m, net, flow), numba_type(Record), types.Array(types.float64, 2, "C"), types.int64, types.float64


@evaluate_nodes.expected_after(node)
def evaluated_after_node(m, w, net, flow, q, out):
    return nodes_of(m, w)


@entry
def advance(m, q, d):
    """q <- q + d in place, d an increment (nv,)."""
    for i in range(1, m.link.shape[0]):
        dispatch.advance(m.link[i, KIND], q, m.link[i, QI], d, m.link[i, VI], m.link[i, NV])


@kernel
def twists(m, net, flow, q, v, out):
    """out = velocities (n+1, 6) of the bodies' centres of mass in body axes for the joint velocities v."""
    for i in range(1, flow.node.shape[0]):
        joint_columns(m, flow, i, q)
        p, c = m.link[i, PARENT], i - 1
        R, point = relative(net, flow.node, flow.apart, c)
        omega, vel = load3(out, p, 0), load3(out, p, 3)
        a, l = tmatvec(R, omega), tmatvec(R, add(vel, cross(omega, point)))
        for j in range(m.link[i, VI], m.link[i, VI] + m.link[i, NV]):
            a, l = axpy(v[j], load3(flow.S, j, 0), a), axpy(v[j], load3(flow.S, j, 3), l)
        l = sub(l, cross(a, load3(net.place, c, B_P)))  # from the joint to the centre of mass
        for e in range(3):
            out[i, e], out[i, 3 + e] = a[e], l[e]


@kernel
def joint_velocities(m, net, flow, q, V, out):
    """out = joint velocities (nv,) of bodies that move with V (n+1, 6)."""
    for i in range(1, flow.node.shape[0]):
        joint_columns(m, flow, i, q)
        p, c = m.link[i, PARENT], i - 1
        R, point = relative(net, flow.node, flow.apart, c)
        omega, vel = load3(V, p, 0), load3(V, p, 3)
        a = load3(V, i, 0)
        l = sub(add(load3(V, i, 3), cross(a, load3(net.place, c, B_P))), tmatvec(R, add(vel, cross(omega, point))))
        a = sub(a, tmatvec(R, omega))
        for j in range(m.link[i, VI], m.link[i, VI] + m.link[i, NV]):
            za, zl = dual_column(flow, j, m.link[i, KIND])
            out[j] = dot(za, a) + dot(zl, l)


@entry
def increment(m, q0, q1, out):
    """out (nv,) = the increment that leads from q0 to q1."""
    increments(m, q0, q1, False, out)


@entry
def increments_between(m, q0, q1, out):
    """out (N, nv) = the increments from the rows of q0 to those of q1."""
    for k in range(q0.shape[0]):
        increments(m, q0[k], q1[k], False, out[k])


@entry
def twists_entry(m, w, net, flow, q, v, out):
    set_node(m, w, net, flow, q)
    twists(m, net, flow, q, v, out)


@entry
def minimal_entry(m, net, flow, V, q, v, errors):
    """Joint coordinates and velocities of the poses in Flow.node and the twists V; angles continued from Flow.q.

    errors = violation of the constraints.
    """
    flow.time[1] = 0.0
    measure(net, flow)
    for i in range(1, flow.node.shape[0]):
        if dispatch.is_generated(m.link[i, KIND]):
            approach_coordinates(m, net, flow, flow.node, flow.apart, i, i - 1)
    force_directions(m, net, flow)
    for j in range(flow.d.shape[0]):
        flow.d[j] = 0.0
    place_end(flow)
    values(m, net, flow, errors, 0)
    coordinates(m, net, flow, flow.node, flow.apart, q)
    joint_velocities(m, net, flow, q, V, v)


@entry
def residual_entry(m, net, flow, h, t, retraction):
    """Residual at Flow.d; Flow.node and target as they stand."""
    evaluate(m, net, flow, h, t, retraction)


@entry
def matrix_entry(m, net, flow, h, retraction):
    """Newton matrix of the last residual into Flow.values, not yet factorised."""
    assemble(m, net, flow, h, retraction, True)


@entry
def solve_entry(net, flow):
    """Factorise Flow.values and solve for Flow.z = J^-1 r."""
    factorise(net, flow)
    solve(net, flow)


@entry
def add_rotors(m, net, flow, v):
    """target += momenta of rotors at the node, joints moving with v."""
    for j in range(v.shape[0]):
        flow.load[j] = m.armature[j] * v[j]
    add_joint_forces(m, net, flow, flow.node, flow.apart, flow.q, flow.load_row, 0, 1.0, flow.target)


@entry
def momenta_entry(m, net, flow, out):
    """Joint momenta of the present node, kicks included."""
    joint_momenta(m, net, flow, flow.q, flow.target, out)


@entry
def correct_entry(flow):
    """Apply the full correction Flow.z to the unknowns; what it changed is in Flow.step."""
    set_correction(flow)
    for j in range(flow.d.shape[0]):
        flow.d[j] -= flow.step[j]
