"""Maximal coordinates on trees: the same discrete bodies, so the same motion as in minimal coordinates."""

import numpy as np
import pytest
from support.symbolic_samples import symbolic_samples

import leastaction as la
from leastaction.testing import Kinematics, random_mechanism, random_state

EVERY_JOINT = [*(j for j in la.joints.ALL if j is not la.Fixed), *symbolic_samples()]


def compare(model, state, dt, steps, tau=None, retraction="exp", tol=1e-12):
    """Largest differences of q and p between maximal and minimal coordinates."""
    runs = [
        la.simulate(model, state, dt=dt, steps=steps, tau=tau, integrator=kind(retraction=retraction, tol=tol))
        for kind in (la.Maximal, la.Variational)
    ]
    return np.abs(runs[0].q - runs[1].q).max(), np.abs(runs[0].p - runs[1].p).max(), runs


@pytest.mark.parametrize("retraction", ["exp", "cayley"])
def test_same_motion_as_in_joint_coordinates(conservative_tree, retraction):
    """The constrained stationary points of the action are those of the action in joint coordinates, at any step."""
    model, state = conservative_tree
    dq, dp, runs = compare(model, state, 5e-3, 100, retraction=retraction)
    assert dq < 1e-11
    assert dp < 1e-10
    assert runs[0].constraint_error.max() < 1e-12
    assert np.all(runs[1].constraint_error == 0.0)


def test_every_force_acts_the_same(driven_tree):
    """Springs, dampers, wrenches in both frames, user forces and joint forces."""
    dq, dp, _ = compare(driven_tree.model, driven_tree.state, 5e-3, 100, tau=driven_tree.tau)
    assert dq < 1e-11
    assert dp < 1e-10


FIFTY = range(50)


def tree_of_any_joints(seed):
    """A random tree with every joint, symbolic ones too, every force and oddity: kinematics, model, state."""
    rng = np.random.default_rng(seed)
    mech = random_mechanism(rng, 5, joints=EVERY_JOINT)
    model = mech.compile()
    return Kinematics(mech), model, model.state(*random_state(model, rng))


def end(model, state, steps, integrator):
    return la.simulate(model, state, dt=0.1 / steps, steps=steps, integrator=integrator).q[-1]


def test_same_motion_on_fifty_random_trees():
    """With the same retraction it is the same discrete motion: it differs by the solvers' tolerance, not by a power of the step."""
    for seed in FIFTY:
        kin, model, state = tree_of_any_joints(seed)
        retraction = ("exp", "cayley")[seed % 2]
        a, b = (end(model, state, 20, kind(retraction=retraction, tol=1e-12)) for kind in (la.Maximal, la.Variational))
        assert np.abs(kin.increment(a, b)).max() < 1e-10, f"seed {seed}"


def test_minimal_and_maximal_agree_to_second_order_on_fifty_random_trees():
    """With another discrete body (the paper's quaternions) the difference to joint coordinates shrinks with the square of the step."""
    for seed in FIFTY:
        kin, model, state = tree_of_any_joints(seed)
        differences = []
        for steps in (20, 40):
            a = end(model, state, steps, la.Maximal(retraction="quaternion", tol=1e-12))
            differences.append(np.abs(kin.increment(a, end(model, state, steps, la.Variational(tol=1e-12)))).max())
        order = np.log2(differences[0] / differences[1])
        assert abs(order - 2.0) < 0.05, f"seed {seed}: order {order}, differences {differences}"


def test_second_order_towards_the_continuous_motion_on_fifty_random_trees():
    """Every retraction in turn, against joint coordinates with steps so short that they are exact beside it."""
    for seed in FIFTY:
        kin, model, state = tree_of_any_joints(seed)
        retraction = ("exp", "cayley", "quaternion")[seed % 3]
        truth = end(model, state, 640, la.Variational(tol=1e-12))
        errors = [np.abs(kin.increment(truth, end(model, state, n, la.Maximal(retraction=retraction, tol=1e-12)))).max() for n in (40, 80)]
        order = np.log2(errors[0] / errors[1])
        assert abs(order - 2.0) < 0.2, f"seed {seed}: order {order}, errors {errors}"


@pytest.mark.parametrize("retraction", ["exp", "quaternion"])
def test_momentum_of_a_floating_mechanism(retraction):
    model = la.examples.random_tree(8, seed=2, floating=True, gravity=(0, 0, 0)).compile()
    rng = np.random.default_rng(0)
    v = rng.normal(size=model.nv)
    momentum = la.simulate(model, v=v, dt=5e-3, steps=400, integrator=la.Maximal(retraction=retraction)).momentum
    assert np.abs(momentum - momentum[0]).max() < 1e-10 * np.abs(momentum[0]).max()


def test_energy_of_a_double_pendulum_does_not_drift():
    """Point masses: bodies without any inertia about their centres are no special case."""
    model = la.examples.double_pendulum().compile()
    run = la.simulate(model, q=[1.2, -0.4], dt=1e-2, duration=300.0, integrator=la.Maximal())
    tenth = len(run) // 10
    swing = np.ptp(run.energy[:tenth])
    assert abs(run.energy[-tenth:].mean() - run.energy[:tenth].mean()) < 0.1 * swing
    assert run.constraint_error.max() < 1e-9


def test_conversions_are_inverse():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mech = random_mechanism(rng, 6, joints=EVERY_JOINT)
        model, kin = mech.compile(), Kinematics(mech)
        q, v = random_state(model, rng)
        state = model.state(q, v, t=0.7)
        bodies = la.to_maximal(state)
        for k, name in enumerate(model.body_names):
            pose = la.dynamics.pose(model, q, name)
            assert np.allclose(bodies.poses[k, :3], pose.p, atol=1e-12)
            assert np.allclose(la.Pose(quaternion=bodies.poses[k, 3:]).R, pose.R, atol=1e-12)
        back = la.to_minimal(model, bodies, near=q)
        assert np.abs(kin.increment(q, back.q)).max() < 1e-12
        assert np.abs(back.v - v).max() < 1e-11
        assert back.t == 0.7


def test_poses_that_break_a_joint_are_named():
    model = la.examples.chain(2).compile()
    bodies = la.to_maximal(model.state(q=[0.3, 0.4]))
    bodies.poses[1, 0] += 0.1
    with pytest.raises(la.StateError, match="link2"):
        la.to_minimal(model, bodies)


def test_whole_turns_are_counted():
    """Angles continue beyond pi, as in joint coordinates."""
    model = la.examples.chain(1).compile()
    run = la.simulate(model, v=[30.0], dt=1e-2, duration=3.0, integrator=la.Maximal(), record_every=50)
    assert run.q[-1, 0] > 50.0
    assert np.allclose(run.q, la.simulate(model, v=[30.0], dt=1e-2, duration=3.0, record_every=50).q, atol=1e-7)


def test_crosscheck():
    found = la.crosscheck(la.examples.chain(4), dt=2e-3, duration=1.0, q={"link1": 0.8})
    assert found.agree
    assert found.difference.max() < 1e-6 < found.minimal_error.max()
    assert "they agree" in str(found)
    loop = la.examples.four_bar()
    start = loop.compile().assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    assert la.crosscheck(loop, dt=1e-3, duration=0.1, q=start).agree


def test_step_by_step_and_restart(conservative_tree):
    """`Simulator.step`, control laws and a restart from a state give the same nodes as one run."""
    model, state = conservative_tree
    integrator = la.Maximal(tol=1e-12)
    run = la.simulate(model, state, dt=2e-3, steps=20, integrator=integrator)
    sim = la.Simulator(model, state, dt=2e-3, integrator=integrator)
    for _ in range(20):
        sim.step()
    assert np.array_equal(sim.q, run.q[-1])
    controlled = la.simulate(model, state, dt=2e-3, steps=20, integrator=integrator, control=lambda t, s: np.zeros(model.nv))
    assert np.array_equal(controlled.q, run.q)
    assert np.array_equal(controlled.constraint_error, run.constraint_error)
    half = la.simulate(model, state, dt=2e-3, steps=10, integrator=integrator)
    again = la.simulate(model, half.state(), dt=2e-3, steps=10, integrator=integrator)
    assert np.abs(again.q[-1] - run.q[-1]).max() < 1e-10


def test_rest_without_gravity_stays_rest():
    """No momentum to compare residuals with: only what rounding of the poses makes of it."""
    for q in (0.0, 0.3):
        model = _floating_chain().compile()
        run = la.simulate(model, q={"arm": q}, dt=1e-3, steps=20, integrator=la.Maximal())
        assert np.abs(run.q - run.q[0]).max() < 1e-14
    late = np.zeros((20, model.nv))
    late[10:, -1] = 1.0
    a, b = (la.simulate(model, dt=1e-3, steps=20, tau=late, integrator=kind()) for kind in (la.Maximal, la.Variational))
    assert np.abs(a.q - b.q).max() < 1e-12


def test_dampers_bring_to_rest():
    """Down to where only rounding moves, and on."""
    mech = la.examples.chain(2)
    mech.gravity = (0.0, 0.0, 0.0)
    for joint in ("link1", "link2"):
        mech.add_force(la.Damper(joint, 5.0))
    run = la.simulate(mech.compile(), v=[1.0, 0.5], dt=1e-2, steps=5000, integrator=la.Maximal())
    assert np.abs(run.v[-1]).max() < 1e-12


def _floating_chain():
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("hull", joint=la.Free(), mass=100.0, inertia=(10.0, 20.0, 15.0))
    place = la.Pose(xyz=(0, 0, 1.0))
    mech.add_body("arm", "hull", la.Revolute(axis=(0, 1, 0)), place, mass=2.0, com=(0, 0, 0.5), inertia=(0.2, 0.2, 0.01))
    return mech


@pytest.mark.parametrize("dt", [1e-3, 1e-2, 5e-2])
def test_joints_through_centres_of_mass_start_from_rest(dt):
    """Nothing to compare constraint errors with, neither a distance nor a motion: only their rounding."""
    model = la.examples.screw().compile()
    for start in (None, {"turn": 40.0, "travel": 4.0}):
        a, b = (la.simulate(model, q=start, dt=dt, duration=1.0, integrator=kind(tol=1e-12)) for kind in (la.Maximal, la.Variational))
        assert np.abs(a.q - b.q).max() < 1e-12 * np.abs(b.q).max()
        assert np.abs(a.q[-1] - a.q[0]).max() > 10.0


def test_half_a_turn_per_step_is_named():
    model = la.examples.screw().compile()
    with pytest.raises(la.ConvergenceError, match="body 'turn' turned by 3.1. rad in the last step"):
        la.simulate(model, dt=1e-2, duration=20.0, integrator=la.Maximal())


def test_bad_options_are_named():
    for options, match in (({"retraction": "log"}, "retraction"), ({"tol": 2.0}, "tol"), ({"elimination": "none"}, "elimination")):
        with pytest.raises(la.StateError, match=match):
            la.Maximal(**options)
