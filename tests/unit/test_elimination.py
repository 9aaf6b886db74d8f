"""Sparse elimination along the graph gives what a dense solver gives, whatever the graph, and fronts stay small."""

import numpy as np
import pytest

import leastaction as la
from leastaction.constraints.rows import joint_rows
from leastaction.elimination import ORDERS, Graph, eliminate, tabulate
from leastaction.kernels import maximal_evaluate as kernels
from leastaction.kernels.maximal_step import QUATERNION
from leastaction.lie.retractions import NAMES
from leastaction.net import build
from leastaction.testing import matrices as mat
from leastaction.testing import random_mechanism, random_state
from leastaction.testing.maximal import dense_matrix, difference_matrix, place_step, row_value, slot_matrix

RETRACTIONS = {**NAMES, "quaternion": QUATERNION}
JOINTS = [j for j in la.joints.ALL if j is not la.Fixed]


def looped_mechanism(rng, n, loops):
    """A random tree with balls between random pairs of its bodies, which couple them without being redundant."""
    mech = random_mechanism(rng, n, oddities=False, joints=(la.Spherical, la.Universal, la.Free, la.Planar, la.Cylindrical))
    for k in range(loops):
        a, b = rng.choice(n, size=2, replace=False)
        for name, body in ((f"a{k}", f"body{a + 1}"), (f"b{k}", f"body{b + 1}")):
            mech.add_frame(name, body, la.testing.random_pose(rng))
        mech.add_constraint(la.Distance(f"a{k}", f"b{k}", rng.uniform(0.5, 2.0)))
    return mech


def solution_error(network, flow, h, retraction, rng):
    """Largest entry of sparse minus dense solution, relative."""
    kernels.residual_entry(network.model.tree, network.net, flow, h, 0.0, retraction)
    kernels.matrix_entry(network.model.tree, network.net, flow, h, retraction)
    matrix = dense_matrix(network, flow)
    flow.r[:] = rng.normal(size=len(flow.r))
    kernels.solve_entry(network.net, flow)
    wanted = np.linalg.solve(matrix, flow.r)
    return np.abs(flow.z - wanted).max() / np.abs(wanted).max()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("loops", [0, 1, 2, 5, 10, 20])
def test_sparse_equals_dense(loops, order):
    for seed in range(3):
        rng = np.random.default_rng([loops, seed])
        model = looped_mechanism(rng, 12, loops).compile()
        network = build(model, order=order)
        flow = place_step(network, random_state(model, rng)[0], rng, size=0.05)
        assert solution_error(network, flow, 0.01, 0, rng) < 1e-10


@pytest.mark.parametrize("retraction", RETRACTIONS)
@pytest.mark.parametrize("joint", JOINTS, ids=lambda j: j.__name__)
def test_newton_matrix_of_every_joint(joint, retraction):
    """Exact derivative of the residual in bodies and multipliers, dampers included."""
    rng = np.random.default_rng(5)
    mech = random_mechanism(rng, 3, joints=(joint,), oddities=False, forces=False)
    model = mech.compile()
    network = build(model)
    flow = place_step(network, random_state(model, rng)[0], rng)
    h, number = 0.05, RETRACTIONS[retraction]
    wanted = difference_matrix(network, flow, h, number)
    kernels.residual_entry(model.tree, network.net, flow, h, 0.0, number)
    kernels.matrix_entry(model.tree, network.net, flow, h, number)
    got = dense_matrix(network, flow)
    assert np.abs(got - wanted).max() < 1e-10 * np.abs(wanted).max()


@pytest.mark.parametrize("joint", JOINTS, ids=lambda j: j.__name__)
def test_newton_matrix_with_dampers(joint):
    """The increment of a joint is differentiated as if the joint were not violated: exact there, and nearly so close to it."""
    rng = np.random.default_rng(6)
    mech = random_mechanism(rng, 3, joints=(joint,), oddities=False, forces=False)
    for name in mech.joint_names:
        mech.add_force(la.Damper(name, rng.uniform(1.0, 2.0, size=joint.nv)))
    model = mech.compile()
    q, v = random_state(model, rng)
    h = 0.02
    sim = la.Simulator(model, q=q, v=v, dt=h, integrator=la.Maximal())
    before = la.Simulator(model, q=q, v=v, dt=h, integrator=la.Maximal())
    sim.step()
    network, flow = before._stepper.network, before._stepper.flow
    flow.d[:] = sim._stepper.flow.d  # a solved step: the joints hold at both ends
    wanted = difference_matrix(network, flow, h, 0)
    kernels.residual_entry(model.tree, network.net, flow, h, 0.0, 0)
    kernels.matrix_entry(model.tree, network.net, flow, h, 0)
    assert np.abs(dense_matrix(network, flow) - wanted).max() < 1e-8 * np.abs(wanted).max()


@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_newton_matrix_of_every_constraint(retraction):
    """Closures, gears, skates and rolling discs on moving bodies."""
    rng = np.random.default_rng(7)
    mech = random_mechanism(rng, 4, joints=(la.Free,), oddities=False, forces=False)
    for name, joint in (("hinge", la.Revolute(rng.normal(size=3))), ("slide", la.Prismatic()), ("screw", la.Helical(pitch=0.7))):
        mech.add_body(name, "body1", joint, la.testing.random_pose(rng), mass=1.0, inertia=la.examples.random_inertia(rng))
    for k in range(1, 5):
        mech.add_frame(f"frame{k}", f"body{k}", la.testing.random_pose(rng))
    mech.add_constraint(la.Coincident("frame1", "frame2", rng.normal(size=(2, 3))))
    mech.add_constraint(la.Distance("frame2", "frame3", 0.8))
    mech.add_constraint(la.Close(la.Universal(), "frame4", "frame3"))
    mech.add_constraint(la.Close(la.Helical(pitch=0.4), "world", "frame4"))
    mech.add_constraint(la.Gear("hinge", "slide", 1.7, offset=0.2))
    mech.add_constraint(la.Gear("screw", "hinge", -0.6))
    mech.add_constraint(la.Skate("frame1", rng.normal(size=3)))
    mech.add_constraint(la.Rolling("frame2", 0.4, axis=rng.normal(size=3), normal=rng.normal(size=3), height=0.3))
    model = mech.compile()
    network = build(model)
    flow = place_step(network, random_state(model, rng)[0], rng)
    h, number = 0.05, RETRACTIONS[retraction]
    wanted = difference_matrix(network, flow, h, number, step=1e-3)
    kernels.residual_entry(model.tree, network.net, flow, h, 0.0, number)
    kernels.matrix_entry(model.tree, network.net, flow, h, number)
    assert np.abs(dense_matrix(network, flow) - wanted).max() < 1e-10 * np.abs(wanted).max()


def test_rows_and_their_derivatives_by_complex_steps():
    """Values and derivatives of every kind of row against their definitions on 4x4 matrices."""
    rng = np.random.default_rng(9)
    for joint in JOINTS:
        mech = random_mechanism(rng, 2, joints=(joint,), oddities=False, forces=False)
        model = mech.compile()
        network = build(model)
        flow = place_step(network, random_state(model, rng)[0], rng, size=0.05)
        kernels.residual_entry(model.tree, network.net, flow, 0.01, 0.0, 0)
        kernels.matrix_entry(model.tree, network.net, flow, 0.01, 0)
        values, slopes = reference_rows(network, flow)
        n = len(model.bodies)
        assert np.abs(flow.r[6 * n :] - values).max(initial=0.0) < 1e-14
        assert np.abs(slot_matrix(network, flow) - slopes).max(initial=0.0) < 1e-13


def reference_rows(network, flow):
    """Values of the joints' rows at the end of the step, and derivatives by complex steps of each body's pose."""
    net, n, tiny = network.net, len(network.model.bodies), 1e-40
    poses = np.stack([mat.rigid(p[:9].reshape(3, 3), p[9:12]) for p in flow.end])
    values, slopes = [], np.zeros((len(net.row), 6 * n))
    row = 0
    for i, body in enumerate(network.model.bodies, start=1):
        parent, place = int(net.con[i - 1, 0]), net.place[i - 1]
        a, b = mat.rigid(place[3:12].reshape(3, 3), place[:3]), mat.rigid(place[15:].reshape(3, 3), place[12:15])

        def pose(vary=None, parent=parent, i=i, a=a, b=b):
            T = {k: poses[k].astype(complex) for k in (parent, i)}
            if vary is not None:
                body, e = vary
                T[body] = T[body] @ (np.eye(4) + 1j * tiny * mat.twist_matrix(np.eye(6)[e]))
            return mat.rigid_inverse(T[parent] @ a) @ T[i] @ b

        for definition in joint_rows(body.joint):
            values.append(row_value(definition, pose()).real)
            for other in {parent, i} - {0}:
                for e in range(6):
                    slopes[row, 6 * (other - 1) + e] = row_value(definition, pose((other, e))).imag / tiny
            row += 1
    return np.array(values), slopes


def test_trees_have_no_fill_in():
    """Every front holds a body, its joint and at most the parent; the order is children first."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        n = 30
        parent = [0, *(int(rng.integers(i)) for i in range(1, n + 1))]
        graph = Graph(parent, [5] * n, [tuple(j for j in (parent[i], i) if j) for i in range(1, n + 1)], [], [])
        fronts = eliminate(graph)
        assert sum(len(f.pivots) for f in fronts) == 2 * n
        for front in fronts:
            body = front.pivots[0] + 1
            assert set(front.border) == ({parent[body] - 1} if parent[body] else set())


@pytest.mark.parametrize("example", [la.examples.four_bar_chain, la.examples.scissor_lift], ids=lambda e: e.__name__)
def test_chains_of_loops_stay_linear(example):
    """The numbers in all fronts grow in proportion to the length; with closures in one last block they do not."""
    sizes = {n: build(example(n).compile()).tables.size for n in (10, 20, 40)}
    assert sizes[40] - sizes[20] <= 1.1 * 2 * (sizes[20] - sizes[10])
    dense = {n: build(example(n).compile(), order="closures-last").tables.size for n in (10, 20, 40)}
    assert dense[40] > 2 * sizes[40]


def test_every_unknown_is_eliminated_once():
    rng = np.random.default_rng(2)
    network = build(looped_mechanism(rng, 15, 8).compile())
    tables = tabulate(network.graph, eliminate(network.graph))
    pivots = np.concatenate([tables.index[first : first + count] for _, count, _, first, _, _ in tables.front])
    assert sorted(pivots) == list(range(len(network.make_flow().d)))
