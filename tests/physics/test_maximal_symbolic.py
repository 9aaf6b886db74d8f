"""Symbolic joints in maximal coordinates: constraints whose coordinates are found on the way, the same motion as in joint coordinates."""

import numpy as np
import pytest
from support.symbolic_samples import euler_ball, symbolic_samples

import leastaction as la
from leastaction.testing import random_mechanism, random_state

TOL = 1e-12


def both(model, state, dt, steps, **more):
    return [la.simulate(model, state, dt=dt, steps=steps, integrator=kind(tol=TOL), **more) for kind in (la.Maximal, la.Variational)]


@pytest.mark.parametrize("joint", symbolic_samples(), ids=lambda joint: joint.name)
@pytest.mark.parametrize("dt", [2e-3, 3e-2], ids=["short", "long"])
def test_same_motion_as_in_joint_coordinates(joint, dt):
    """At any step, with springs, dampers, wrenches, and joint forces that change from step to step."""
    rng = np.random.default_rng(3)
    model = random_mechanism(rng, 4, joints=(joint, la.Revolute)).compile()
    state = model.state(*random_state(model, rng))
    maximal, minimal = both(model, state, dt, 20, tau=rng.normal(size=(20, model.nv)))
    assert np.abs(maximal.q - minimal.q).max() < 1e-10
    assert np.abs(maximal.p - minimal.p).max() < 1e-10 * max(1.0, np.abs(minimal.p).max())
    assert maximal.constraint_error.max() < 1e-12


def test_user_forces_feel_their_coordinates():
    rng = np.random.default_rng(4)
    mech = random_mechanism(rng, 3, joints=symbolic_samples()[:3], oddities=False)

    def push(t, q, v, tau):
        tau[0] -= 2.0 * v[0] * np.cos(q[0]) + np.sin(3.0 * t)

    mech.add_force(la.CustomForce(push))
    model = mech.compile()
    maximal, minimal = both(model, model.state(*random_state(model, rng)), 5e-3, 40)
    assert np.abs(maximal.q - minimal.q).max() < 1e-10


def crank_on_a_bowl():
    """A rod from a body that slides in a bowl to one on a cam: a loop through two symbolic joints."""
    cam, bowl = symbolic_samples()[:2]
    mech = la.Mechanism()
    mech.add_body("slider", joint=bowl, mass=1.0, inertia=(0.1, 0.1, 0.1))
    mech.add_body("cam", joint=cam, placement=la.Pose(xyz=(1.0, 0.2, 0.0)), mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.2, 0.1))
    mech.add_body("rod", "slider", la.Spherical(), mass=0.5, com=(0.4, 0, 0), inertia=(0.01, 0.05, 0.05))
    mech.add_frame("end of rod", "rod", la.Pose(xyz=(1.0, 0, 0)))
    mech.add_frame("pin", "cam", la.Pose(xyz=(0.2, 0.1, 0.1)))
    mech.add_constraint(la.Coincident("end of rod", "pin"))
    return mech.compile()


def test_loops_through_symbolic_joints():
    model = crank_on_a_bowl()
    q = model.assemble({"slider": (0.2, 0.1), "cam": 0.3})
    v = model.project_velocity(q, 0.5 * np.ones(model.nv))
    maximal, minimal = both(model, model.state(q, v), 2e-3, 200)
    assert np.abs(maximal.q - minimal.q).max() < 1e-9
    assert maximal.constraint_error.max() < 1e-12


def test_a_loop_without_slipping():
    """Velocity constraints, which joint coordinates do not know: a skate on a body that slides in a bowl costs no energy."""
    mech = la.Mechanism()
    mech.add_body("slider", joint=symbolic_samples()[1], mass=1.0, inertia=(0.1, 0.2, 0.3))
    mech.add_body("runner", "slider", la.Revolute(axis=(0, 0, 1)), mass=0.5, com=(0.1, 0, 0), inertia=(0.02, 0.02, 0.03))
    mech.add_constraint(la.Skate("runner", direction=(0, 1, 0)))
    model = mech.compile()
    q = model.coordinates({"slider": (0.3, -0.2), "runner": 0.4})
    v = model.project_velocity(q, np.array([1.0, 0.4, 2.0]))
    errors = []
    for dt in (4e-3, 2e-3):
        run = la.simulate(model, q=q, v=v, dt=dt, duration=2.0, integrator=la.Maximal())
        errors.append(np.abs(run.energy - run.energy[0]).max())
    assert errors[0] < 1e-3 * np.ptp(run.kinetic)
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_charts_change_as_in_joint_coordinates():
    """Only coordinates know of a chart, poses and impulses do not: no step needs more evaluations where it changes."""
    ball = euler_ball(charts=2)
    mech = la.Mechanism()
    mech.add_body("top", joint=ball, mass=1.0, com=(0.1, 0.05, -0.5), inertia=(0.02, 0.03, 0.01))
    mech.add_body("tail", "top", la.Revolute(axis=(1, 0, 0)), la.Pose(xyz=(0, 0, -0.7)), mass=0.5, com=(0, 0, -0.2), inertia=(0.01,) * 3)
    model = mech.compile()
    start = np.array([0.1, 0.2, 0.3])
    rates = np.linalg.solve(ball.columns(start)[:, :3].T, [0.3, 7.0, 0.5])  # swings over the top
    maximal, minimal = both(model, model.state({"top": (*start, 0)}, {"top": rates}), 1e-3, 3000)
    changes = np.flatnonzero(np.diff(maximal.q[:, 3]))
    assert len(changes) >= 2
    assert np.array_equal(maximal.q[:, 3], minimal.q[:, 3])
    assert np.abs(maximal.q - minimal.q).max() < 1e-8  # angles close to gimbal lock
    assert np.abs(maximal.energy - minimal.energy).max() < 1e-9
    assert maximal.iterations[changes + 1].max() <= maximal.iterations[np.setdiff1d(np.arange(10, 2999), changes + 1)].max()


def test_poses_lead_back_to_coordinates_from_far_away():
    joint = symbolic_samples()[1]
    mech = la.Mechanism()
    mech.add_body("slider", joint=joint, mass=1.0, inertia=(0.1, 0.1, 0.1))
    model = mech.compile()
    state = model.state(q=[2.5, -1.5], v=[0.3, 0.4])
    back = la.to_minimal(model, la.to_maximal(state))
    assert np.abs(back.q - state.q).max() < 1e-12
    assert np.abs(back.v - state.v).max() < 1e-12


def test_poses_that_break_a_symbolic_joint_are_named():
    mech = la.Mechanism()
    mech.add_body("slider", joint=symbolic_samples()[1], mass=1.0, inertia=(0.1, 0.1, 0.1))
    model = mech.compile()
    bodies = la.to_maximal(model.state(q=[0.3, 0.2]))
    bodies.poses[0, 2] += 0.05
    with pytest.raises(la.StateError, match="slider"):
        la.to_minimal(model, bodies)


def test_a_step_that_fails_near_gimbal_lock_names_the_joint():
    mech, joint = la.Mechanism(), euler_ball()
    mech.add_body("top", joint=joint, mass=1.0, com=(0.1, 0.05, -0.5), inertia=(0.02, 0.03, 0.01))
    model = mech.compile()
    state = model.state(q={"top": (0.0, np.pi / 2 - 1e-3, 0.0)}, v={"top": (300.0, 5.0, 0.0)})
    with pytest.raises(la.ConvergenceError, match="joint 'top' .* nearly singular .* second_chart"):
        la.simulate(model, state, dt=2e-2, duration=1.0, integrator=la.Maximal())
