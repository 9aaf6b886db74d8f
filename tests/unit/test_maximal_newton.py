"""Residual and Newton matrix of the step in maximal coordinates against complex steps of a residual written from definitions alone."""

from dataclasses import replace

import numpy as np
import pytest
from support.maximal import end_at, place_step
from support.maximal_residual import StepReference
from support.symbolic_samples import symbolic_samples

import leastaction as la
from leastaction.coordinates.network import build
from leastaction.integrators.maximal import RETRACTIONS
from leastaction.kernels.maximal import evaluate as kernels
from leastaction.testing import Kinematics, random_mechanism, random_state

H = 0.05
JOINTS = [*(j for j in la.joints.ALL if j is not la.Fixed), *symbolic_samples()]


def joint_name(joint):
    return joint.__name__ if isinstance(joint, type) else joint.name


def check(network, flow, retraction, functions=None):
    """Every entry of the residual and of the matrix: K, G0', G1 and what dampers and rotors add."""
    tree, number = network.model.tree, RETRACTIONS[retraction]
    kernels.residual_entry(tree, network.net, flow, H, 0.0, number)
    kernels.matrix_entry(tree, network.net, flow, H, number)
    reference = StepReference(network, flow, H, retraction, functions)
    wanted = reference.residual()
    assert np.abs(flow.r - wanted).max() < 1e-12 * np.abs(wanted).max()
    wanted = reference.matrix()
    assert np.abs(network.dense_matrix(flow) - wanted).max() < 1e-12 * np.abs(wanted).max()


@pytest.mark.parametrize("retraction", RETRACTIONS)
@pytest.mark.parametrize("joint", JOINTS, ids=joint_name)
def test_every_joint(joint, retraction):
    """Bodies anywhere: the joints do not hold."""
    rng = np.random.default_rng(5)
    model = random_mechanism(rng, 3, joints=(joint,), oddities=False, forces=False).compile()
    network = build(model)
    check(network, place_step(network, random_state(model, rng)[0], rng), retraction)


@pytest.mark.parametrize("retraction", RETRACTIONS)
@pytest.mark.parametrize("joint", JOINTS, ids=joint_name)
def test_dampers_of_every_joint(joint, retraction):
    """The increment of a built-in joint is differentiated as if the joint were not violated, so here it is not."""
    rng = np.random.default_rng(6)
    mech = random_mechanism(rng, 3, joints=(joint,), oddities=False, forces=False)
    for name in mech.joint_names:
        mech.add_force(la.Damper(name, rng.uniform(1.0, 2.0, size=joint.nv)))
    model = mech.compile()
    network = build(model)
    q, _ = random_state(model, rng)
    flow = place_step(network, q, rng)
    end_at(network, flow, Kinematics(mech).advanced(q, 0.2 * rng.normal(size=model.nv)))
    check(network, flow, retraction)


@pytest.mark.parametrize("joint", symbolic_samples(), ids=lambda joint: joint.name)
def test_dampers_of_symbolic_joints_that_are_violated(joint):
    rng = np.random.default_rng(7)
    mech = random_mechanism(rng, 3, joints=(joint,), oddities=False, forces=False)
    for name in mech.joint_names:
        mech.add_force(la.Damper(name, rng.uniform(1.0, 2.0, size=joint.nv)))
    model = mech.compile()
    network = build(model)
    check(network, place_step(network, random_state(model, rng)[0], rng, size=0.01), "exp")


@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_every_constraint(retraction):
    """Closures, distances, gears, screws, skates and rolling discs on moving bodies, one of them on a symbolic joint."""
    rng = np.random.default_rng(7)
    mech = random_mechanism(rng, 4, joints=(la.Free,), oddities=False, forces=False)
    hinge, cam = la.Revolute(rng.normal(size=3)), symbolic_samples()[0]
    joints = {"hinge": hinge, "slide": la.Prismatic(), "screw": la.Helical(pitch=0.7), "cam": cam}
    for name, joint in joints.items():
        mech.add_body(name, "body1", joint, la.testing.random_pose(rng), mass=1.0, inertia=la.examples.random_inertia(rng))
    for k in range(1, 5):
        mech.add_frame(f"frame{k}", f"body{k}", la.testing.random_pose(rng))
    mech.add_frame("frame5", "cam", la.testing.random_pose(rng))
    mech.add_constraint(la.Coincident("frame1", "frame2", rng.normal(size=(2, 3))))
    mech.add_constraint(la.Distance("frame2", "frame3", 0.8))
    mech.add_constraint(la.Distance("frame5", "frame4", 0.7))
    mech.add_constraint(la.Close(la.Universal(), "frame4", "frame3"))
    mech.add_constraint(la.Close(la.Helical(pitch=0.4), "world", "frame4"))
    mech.add_constraint(la.Screw("frame3", "frame5", 0.3))
    mech.add_constraint(la.PointOnPlane("frame1", "frame4", rng.normal(size=3)))
    mech.add_constraint(la.Gear("hinge", "slide", 1.7, offset=0.2))
    mech.add_constraint(la.Gear("screw", "hinge", -0.6))
    mech.add_constraint(la.Skate("frame1", rng.normal(size=3)))
    mech.add_constraint(la.Rolling("frame2", 0.4, axis=rng.normal(size=3), normal=rng.normal(size=3), height=0.3))
    model = mech.compile()
    network = build(model)
    check(network, place_step(network, random_state(model, rng)[0], rng), retraction)


@pytest.mark.parametrize("on", ["world", "frame3"])
def test_every_constraint_on_velocities(on):
    """Skates, discs and balls, on the world and on another body; rows of a disc that others imply left out."""
    rng = np.random.default_rng(8)
    mech = random_mechanism(rng, 3, joints=(la.Free,), oddities=False, forces=False)
    for k in range(1, 4):
        mech.add_frame(f"frame{k}", f"body{k}", la.testing.random_pose(rng))
    mech.add_constraint(la.Skate("frame1", rng.normal(size=3), on=on))
    mech.add_constraint(la.Rolling("frame2", 0.4, axis=rng.normal(size=3), normal=rng.normal(size=3), height=0.3, on=on))
    mech.add_constraint(la.RollingBall("frame1", 0.4, on=on, normal=rng.normal(size=3), height=0.3))
    mech.add_constraint(la.RollingBall("frame2", 0.4, on=on, sphere=1.3))
    mech.add_constraint(la.RollingBall("frame2", 0.4, on=on, sphere=1.1, inside=True))
    mech.add_constraint(la.RollingEllipsoid("frame1", (0.3, 0.2, 0.4), on=on, normal=rng.normal(size=3), height=0.1))
    model = mech.compile()
    skate, disc, *balls = model.closures
    few = [replace(disc, rows=disc.rows[k : k + 1]) for k in (1, 2)]
    network = build(model, (skate, disc, *few, *balls))
    check(network, place_step(network, random_state(model, rng)[0], rng), "exp")


PLAIN = [j for j in JOINTS if not j.has_quaternion]


@pytest.mark.parametrize("joint", PLAIN, ids=joint_name)
def test_functions_of_coordinates_and_rotors_on_every_joint(joint):
    """As for dampers, coordinates are differentiated as if the joint were not violated."""
    rng = np.random.default_rng(8)
    mech = random_mechanism(rng, 3, joints=(joint,), oddities=False, forces=False)
    first, second, third = mech.joint_names
    for name, body in mech.bodies.items():
        mech.bodies[name] = replace(body, armature=rng.uniform(0.5, 1.0, size=joint.nv))
    mech.add_constraint(la.SymbolicConstraint("mix", [third, first], lambda q, t, sp: sp.sin(q[0] + 2 * t) + q[0] * q[-1] - 0.3 * q[-1]))
    mech.add_constraint(la.SymbolicConstraint("lead", [second], lambda q, t, sp: q[0] + q[-1] ** 2 - sp.cos(t)))
    functions = {
        "mix": lambda q, t: np.sin(q[..., 0] + 2 * t) + q[..., 0] * q[..., -1] - 0.3 * q[..., -1],
        "lead": lambda q, t: q[..., 0] + q[..., -1] ** 2 - np.cos(t),
    }
    model = mech.compile()
    network = build(model)
    q, _ = random_state(model, rng)
    flow = place_step(network, q, rng)
    end_at(network, flow, Kinematics(mech).advanced(q, 0.2 * rng.normal(size=model.nv)))
    check(network, flow, "exp", functions)
