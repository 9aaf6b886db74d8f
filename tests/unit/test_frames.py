"""Trees of frames compile to the same mechanism as bodies and joints; the examples made of them move as they should."""

import numpy as np
import pytest

import leastaction as la
from leastaction.reference.scissor import ScissorLift


def test_a_tree_of_frames_is_the_mechanism_with_the_same_bodies():
    tree = la.FrameTree()
    node = tree.ry("link1")
    for k in (2, 3, 4):
        node.tz(-0.5, mass=1.0, inertia=(1 / 12, 1 / 12, 0.01))
        node = node.tz(-1.0).ry(f"link{k}")
    node.tz(-0.5, mass=1.0, inertia=(1 / 12, 1 / 12, 0.01))
    ours, chain = tree.compile(), la.examples.chain(4).compile()
    assert ours.joint_names == chain.joint_names
    rng = np.random.default_rng(0)
    for q, v in rng.normal(size=(5, 2, 4)):
        assert np.abs(la.dynamics.forward(ours, q, v) - la.dynamics.forward(chain, q, v)).max() < 1e-10


def test_every_primitive_moves_as_its_name_says():
    tree = la.FrameTree()
    node = tree
    for k, primitive in enumerate(("tx", "ty", "tz", "rx", "ry", "rz")):
        node = getattr(node, primitive)(f"q{k}", mass=1.0, inertia=(1.0, 1.0, 1.0))
    node.tx(1.0, name="tip")
    q = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    turn = la.Pose(rpy=(0.4, 0, 0)) @ la.Pose(rpy=(0, 0.5, 0)) @ la.Pose(rpy=(0, 0, 0.6))
    assert np.allclose(la.dynamics.pose(tree.compile(), q, "tip").p, q[:3] + turn.R[:, 0], atol=1e-15)


def test_massless_frames_between_masses_and_names_that_are_taken():
    tree = la.FrameTree()
    first = tree.rz("a").ry("b").rx("c").tz(-1.0, name="bob", mass=1.0, inertia=(0.1, 0.1, 0.1))
    assert tree.compile().nv == 3 and first.name == "bob"
    unnamed = tree.tx(1.0)
    assert unnamed.name not in ("bob", "a", "b", "c")
    with pytest.raises(la.MechanismError, match="already taken"):
        tree.tx(2.0, name="bob")
    with pytest.raises(la.MechanismError, match="already used"):
        tree.tx("a", name="other")
    with pytest.raises(la.MechanismError, match="the parameter of tx"):
        tree.tx(None)
    with pytest.raises(la.MechanismError, match="'sx' is not a transformation"):
        tree.add("world", "sx", 1.0)


# ---------------------------------------------------------------------------------------------------- scissor lift


@pytest.mark.parametrize("inertia", [0.0, 0.05])
def test_scissor_lift_has_the_energy_and_inertia_of_its_one_degree_of_freedom(inertia):
    lift = ScissorLift(segments=4, length=0.8, link_mass=1.5, slider_mass=2.0, inertia=inertia)
    model = la.examples.hanging_scissor_lift(4, 0.8, 1.5, 2.0, inertia).compile()
    for angle in (0.3, 1.0):
        q = model.coordinates(la.examples.hanging_scissor_start(4, angle, 0.8))
        assert np.isclose(la.dynamics.energy(model, q), lift.potential(angle), rtol=1e-13)
        step = 1e-5  # rates by differences of the start, which is linear in the angle but for the slider
        ahead, back = (model.coordinates(la.examples.hanging_scissor_start(4, angle + s, 0.8)) for s in (step, -step))
        rate = (ahead - back) / (2 * step)
        assert np.isclose(rate @ la.dynamics.mass_matrix(model, q) @ rate, lift.inertia_at(angle), rtol=1e-9)


def test_exact_scissor_motion_keeps_its_energy_and_period():
    lift = ScissorLift(inertia=0.02)
    period = lift.period(0.6)
    motion = lift.motion(np.linspace(0.0, 3 * period, 31), 0.6)
    assert np.ptp(lift.energy(*motion.T)) < 1e-8
    assert np.abs(motion[10::10] - motion[0]).max() < 1e-7
    assert np.isclose(motion[5, 0], np.pi - 0.6)


@pytest.mark.parametrize("integrator", [la.Variational(), la.Maximal()], ids=["tree", "maximal"])
def test_scissor_lift_follows_the_exact_motion(integrator):
    model, start = la.examples.hanging_scissor_lift(3).compile(), la.examples.hanging_scissor_start(3)
    run = la.simulate(model, dt=0.01, duration=5.0, q=start, integrator=integrator)
    exact = ScissorLift(3).motion(run.t, 0.6)[:, 0]
    assert np.sum((run["a1"][:, 0] - exact) ** 2) * run.dt < 1e-3  # error integral (47)
    assert run.constraint_error.max() < 1e-10


def test_scissor_lift_closed_by_coordinates_swings_through_the_vertical_for_long():
    start = la.examples.hanging_scissor_start(5)
    run = la.simulate(la.examples.hanging_scissor_lift(5, closing="coordinates").compile(), dt=0.01, duration=100.0, q=start)
    same = la.simulate(la.examples.hanging_scissor_lift(5).compile(), dt=0.01, duration=5.0, q=start)
    assert np.abs(run.q[:501] - same.q).max() < 1e-6  # the same discrete motion, however the loops are closed
    assert abs(la.analysis.drift(run)) < 1e-2 * np.ptp(run.kinetic)
    assert run.constraint_error.max() < 1e-10
    assert abs(run["a1"][-300:].min() - 0.6) < 0.02


# ---------------------------------------------------------------------------------------------------- other examples


def test_screw_falls_with_the_acceleration_of_its_constraint():
    pitch, mass, inertia = 0.1, 1.0, 0.02
    run = la.simulate(la.examples.screw(pitch, mass, inertia).compile(), dt=0.01, duration=1.0)
    fall = -9.81 / (1 + inertia / (mass * pitch**2))
    assert np.abs(run["travel"][:, 0] - fall * run.t**2 / 2).max() < 1e-10
    assert np.abs(run["travel"] - pitch * run["turn"]).max() < 1e-10


def test_driven_pendulum_settles_into_the_rhythm_of_its_drive():
    model = la.examples.driven_pendulum(damping=2.0, torque=0.5, frequency=2.0).compile()
    run = la.simulate(model, dt=np.pi / 400, duration=10 * np.pi)
    assert np.abs(run.q[-401:-1] - run.q[-801:-401]).max() < 1e-6
    assert np.ptp(run.q[-401:]) > 0.05


def test_planar_human_falls_freely():
    swing = {"left thigh": 2.0, "right forearm": -3.0, "chest": 0.5}
    run = la.simulate(la.examples.planar_human().compile(), dt=1e-2, duration=0.5, v=swing)
    total = run.momentum[:, 5] - run.momentum[0, 5]
    assert np.abs(total + 71.0 * 9.81 * run.t).max() < 1e-8
    assert np.ptp(run.energy) < 1e-2


def test_marionette_hangs_on_its_strings():
    model = la.examples.marionette().compile()
    run = la.simulate(model, dt=5e-3, duration=0.5, v=model.project_velocity(None, {"left thigh": 1.0}))
    assert run.constraint_error.max() < 1e-9
    assert run.q[:, 2].min() > -0.5  # held, not falling: 1.2 m otherwise
