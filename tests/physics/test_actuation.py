"""Servos and dry friction: what stands, what sticks, and that all integrators agree."""

import numpy as np
import pytest

import leastaction as la

pytestmark = pytest.mark.slow

IMPLICIT = [
    la.Variational(tol=1e-12), la.Variational(quadrature="midpoint", tol=1e-12), la.Midpoint(tol=1e-12), la.Trapezoid(tol=1e-12),
    la.Maximal(tol=1e-12),
]  # fmt: skip
NAMES = ["Variational", "Variational midpoint", "Midpoint", "Trapezoid", "Maximal"]
every_implicit = pytest.mark.parametrize("integrator", IMPLICIT, ids=NAMES)


def arm(links=6, kp=1e4, kd=1e2, limit=np.inf, **options):
    mech = la.examples.chain(links)
    for name in list(mech.joint_names):
        mech.add_servo(la.Servo(name, kp, kd, limit, **options))
    return mech


def block(friction, pull=0.0):
    """2 kg on a table; gravity along it pulls with 2 * pull."""
    mech = la.Mechanism(gravity=(pull, 0.0, -9.81))
    mech.add_body("block", joint=la.Prismatic((1, 0, 0)), mass=2.0, inertia=(1, 1, 1))
    mech.add_force(la.DryFriction("block", friction))
    return mech.compile()


# ---------------------------------------------------------------------------------------------------------------- servos


def test_stiff_servos_hold_an_arm_at_long_steps_where_a_control_law_diverges():
    """Six rods held straight out by kp = 1e4, kd = 1e2 at 10 ms for 10 s; the same law, evaluated before each step, blows up."""
    model = arm().compile()
    q = np.array([np.pi / 2, 0.0, 0.0, 0.0, 0.0, 0.0])
    rest = model.equilibrium(q, tau=model.inputs(None, q))
    run = la.simulate(model, dt=1e-2, duration=10.0, q=rest, targets=q)
    assert np.abs(run.v).max() < 1e-9 and np.abs(run.q - rest).max() < 1e-10  # no vibration
    dropped = la.simulate(model, dt=1e-2, duration=10.0, q=q, targets=q)  # swings slowly: of 72 kg m^2 kd damps 6 % of what is critical
    swing = np.abs(dropped.q - rest).max(axis=1)
    assert swing[-100:].max() < 1e-2 * swing[:100].max()
    assert np.abs(np.diff(dropped.v, 2, axis=0)[20:]).max() < 0.1 * np.abs(dropped.v).max()  # nothing alternates from step to step

    bare = la.examples.chain(6).compile()
    with pytest.raises(la.ConvergenceError):
        out = la.simulate(bare, dt=1e-2, duration=10.0, q=q, control=lambda t, state: 1e4 * (q - state.q) - 1e2 * state.v)
        raise la.ConvergenceError("diverged", step=0, time=0.0, residual=0.0) if np.abs(out.v).max() > 100.0 else AssertionError("stands")


@every_implicit
@pytest.mark.parametrize("kp, kd", [(1e4, 1e2), (1e8, 0.0), (0.0, 1e6), (1e10, 1e6)])
def test_gains_of_any_size_neither_diverge_nor_ring(integrator, kp, kd):
    """L-stable: with h -> infinity times the rates, a step goes to the target and stays."""
    model = arm(2, kp, kd).compile()
    run = la.simulate(model, dt=1e-2, steps=60, q=[0.3, -0.2], v=[1.0, -2.0], targets=[0.5, 0.1], integrator=integrator)
    moved = np.abs(np.diff(run.q, axis=0)).max(axis=1)
    assert moved[-1] < (1e-3 if kp == 1e4 else 1e-6) and moved[20:].max() < max(moved[:20].max(), 1e-12)
    if kp >= 1e8:
        np.testing.assert_allclose(run.q[-1], [0.5, 0.1], atol=1e-5)


@every_implicit
def test_servos_converge_to_the_equations_of_motion_with_order_one(integrator):
    model = arm(2, 80.0, 4.0, 25.0).compile()
    targets = {"link1": (0.9, 0.2), "link2": -0.4}
    exact = la.simulate(model, dt=1e-3, duration=0.4, targets=targets, integrator=la.RK4()).q[-1]
    runs = [la.simulate(model, dt=dt, duration=0.4, targets=targets, integrator=integrator) for dt in (8e-3, 4e-3, 2e-3)]
    errors = [np.abs(run.q[-1] - exact).max() for run in runs]
    assert np.allclose(np.divide(errors[:-1], errors[1:]), 2.0, atol=0.25), errors


@every_implicit
def test_the_force_of_a_servo_stays_within_its_limits(integrator):
    """A weight of 20 N m on an arm of 12 N m sinks; one of 30 holds it."""
    mech = la.Mechanism()
    mech.add_body("rod", joint=la.Revolute((0, 1, 0)), mass=2.0, com=(1.0, 0, 0), inertia=(0.1, 0.1, 0.1))
    for limit, holds in ((12.0, False), (30.0, True)):
        mech.servos.clear()
        mech.add_servo(la.Servo("rod", 1e4, 1e2, limit))
        run = la.simulate(mech.compile(), dt=5e-3, duration=0.5, integrator=integrator)
        assert (abs(run.q[-1, 0]) < 3e-3) == holds
    mech = arm(1, 1e4, 0.0, (-1.0, 3.0))
    mech.gravity = (0.0, 0.0, 0.0)
    model = mech.compile()
    run = la.simulate(model, dt=1e-3, steps=1, targets=[1e3], integrator=integrator)  # full force from rest
    np.testing.assert_allclose(run.p[-1, 0], 3.0 * 1e-3, rtol=1e-9)


@every_implicit
def test_work_of_servos_and_friction_explains_the_energy(integrator):
    mech = arm(2, 60.0, 3.0, 25.0)
    mech.add_force(la.DryFriction("link2", 0.4))
    model = mech.compile()
    left = []
    for dt in (4e-3, 2e-3):
        run = la.simulate(model, dt=dt, duration=0.6, q=[0.2, 0.5], targets=[0.9, -0.4], integrator=integrator)
        assert run.dissipated[-1] > 0.1 and abs(run.work[-1]) > 1.0
        left.append(np.abs(run.energy_balance).max())
    assert left[1] < 0.7 * left[0] and left[1] < 2e-2
    assert run.first_unexplained is None


def test_targets_from_arrays_control_laws_and_steps_are_the_same_run():
    model = arm(2, 500.0, 20.0).compile()
    aims = np.column_stack([np.linspace(0.0, 0.5, 40), np.linspace(0.0, -0.3, 40)])
    run = la.simulate(model, dt=5e-3, steps=40, targets=aims)
    assert run.tau.shape == (40, 6) and np.array_equal(run.targets, np.column_stack([aims, np.zeros((40, 2))]))
    rows = iter(aims)
    controlled = la.simulate(model, dt=5e-3, steps=40, control=lambda t, state: model.inputs(None, next(rows)))
    sim = la.Simulator(model, dt=5e-3)
    for aim in aims:
        sim.step(targets=aim)
    inputs = np.column_stack([np.zeros((40, 2)), aims, np.zeros((40, 2))])
    batch = la.rollout(model, q=np.zeros((3, 2)), dt=5e-3, steps=40, tau=inputs[None])
    assert np.array_equal(controlled.q, run.q) and np.array_equal(sim.q, run.q[-1])
    for member in range(3):
        assert np.array_equal(batch.q[member][-1], run.q[-1])


@every_implicit
def test_a_run_goes_on_bit_for_bit_and_nearly_so_from_a_bare_state(integrator, tmp_path):
    mech = arm(2, 1e3, 30.0, 20.0)
    mech.add_force(la.DryFriction("link2", 0.5))
    model = mech.compile()
    whole = la.simulate(model, dt=5e-3, steps=60, targets=[0.5, -0.2], integrator=integrator)
    half = la.simulate(model, dt=5e-3, steps=30, targets=[0.5, -0.2], integrator=integrator)
    half.save(tmp_path / "half.npz")
    kept = la.open(tmp_path / "half.npz")
    assert kept.model == model and np.array_equal(kept.tau, half.tau)
    rest = la.simulate(kept.model, kept.state(), dt=5e-3, steps=30, targets=[0.5, -0.2], integrator=integrator)
    assert np.array_equal(rest.q, whole.q[30:])
    bare = model.state(half.q[-1], half.v[-1])
    again = la.simulate(model, bare, dt=5e-3, steps=30, targets=[0.5, -0.2], integrator=integrator)
    np.testing.assert_allclose(again.q, whole.q[30:], atol=5e-3)


# ---------------------------------------------------------------------------------------------------------- dry friction


@every_implicit
def test_a_block_sticks_exactly_below_the_breakaway_force_and_slides_above(integrator):
    run = la.simulate(block(3.0, pull=1.499), dt=1e-2, duration=10.0, integrator=integrator)
    assert np.all(run.q == 0.0) and np.abs(run.v).max() < 1e-15
    run = la.simulate(block(3.0, pull=1.6), dt=1e-2, duration=1.0, integrator=integrator)
    np.testing.assert_allclose(run.q[-1], 0.5 * (1.6 - 1.5), rtol=1e-9)  # two kg, 3 N of friction


@every_implicit
def test_a_block_slides_to_rest_in_closed_form(integrator):
    """v0 / a seconds and v0^2 / 2a metres with a = friction / mass; at rest it stays."""
    v0, a = 1.7, 1.5
    rest = 1e-13 if isinstance(integrator, la.Maximal) else 0.0  # where velocities are those of bodies
    errors = []
    for dt in (2e-2, 1e-2, 5e-3):
        run = la.simulate(block(3.0), dt=dt, duration=2.0, v={"block": v0}, integrator=integrator)
        moving = np.flatnonzero(np.diff(run.q[:, 0]))
        assert abs(run.t[moving[-1] + 1] - v0 / a) <= dt and np.abs(run.v[run.t > v0 / a + 2.5 * dt]).max() <= rest
        errors.append(abs(run.q[-1, 0] - v0**2 / (2 * a)))
        np.testing.assert_allclose(run.dissipated[-1], 3.0 * run.q[-1, 0], rtol=1e-12)
        np.testing.assert_allclose(run.dissipated[-1], run.energy[0] - run.energy[-1], rtol=2 * dt)
    assert max(errors) <= 0.5 * 3.0 / 2.0 * 4e-4 and errors[2] < errors[0]  # a h^2 / 2


def test_a_pendulum_with_dry_friction_comes_to_rest_off_the_vertical_and_all_integrators_agree():
    mech = la.examples.chain(3)
    for name, torque in (("link1", 12.0), ("link2", 6.0), ("link3", 2.0)):
        mech.add_force(la.DryFriction(name, torque))
    model = mech.compile()
    runs = [la.simulate(model, dt=2e-3, duration=6.0, q=[1.5, 0.5, -1.0], integrator=i) for i in IMPLICIT]
    for run in runs:
        at_rest = run.q[-200:]
        assert np.all(at_rest == at_rest[0]) and np.abs(run.v[-100:]).max() < 1e-12  # every joint sticks, exactly
        assert np.abs(run.energy_balance).max() < 0.02 * (run.energy[0] - run.energy[-1])
        np.testing.assert_allclose(run.q[-1], runs[0].q[-1], atol=2e-2)
    pulls = la.dynamics.inverse(la.examples.chain(3).compile(), runs[0].q[-1], np.zeros(3), np.zeros(3))
    assert np.all(np.abs(pulls) <= np.array([12.0, 6.0, 2.0])) and np.abs(pulls).max() > 1e-3


def test_friction_of_a_loop_holds_the_loop():
    mech = la.examples.four_bar()
    first = mech.joint_names[0]
    mech.add_force(la.DryFriction(first, 40.0))
    model = mech.compile()
    q = model.assemble({first: 1.0})
    run = la.simulate(model, dt=5e-3, steps=100, q=q)
    assert np.all(run[first] == q[model.q_slice(first)]) and np.abs(run.q - q).max() < 1e-10
    mech.add_force(la.DryFriction(mech.joint_names[1], 1.0))
    with pytest.raises(la.StateError, match="not determined which of them holds.*fewer joints"):
        la.simulate(mech.compile(), dt=5e-3, steps=1, q=q)


# ------------------------------------------------------------------------------------------------------------- refusals


def test_what_cannot_have_them_says_what_to_use():
    servo, rough = arm(2).compile(), block(1.0)
    refused = [(integrator, model) for integrator in (la.Composition(), la.AdaptiveStep()) for model in (servo, rough)]
    for integrator, model in refused:
        with pytest.raises(la.StateError, match=r"use integrator=Variational\(\)"):
            la.simulate(model, dt=1e-3, steps=1, integrator=integrator)
    for integrator in (la.RK4(), la.SemiImplicitEuler()):
        with pytest.raises(la.StateError, match="'block'.*dry friction"):
            la.simulate(rough, dt=1e-3, steps=1, integrator=integrator)
    for model in (servo, rough):
        with pytest.raises(la.StateError, match=r"use integrator=Variational\(\)"):
            la.linearize(model, la.Composition(), model.state(), 1e-3)
        with pytest.raises(la.StateError, match="model without them"):
            la.discrete.residual(model, *([model.neutral()] * 3), 1e-3)
    with pytest.raises(la.StateError, match="dry friction.*part of tau"):
        la.dynamics.forward(rough, None)


def test_specialised_and_guarded_models_make_the_same_run():
    mech = arm(2, 1e3, 30.0, 20.0)
    mech.add_force(la.DryFriction("link2", 0.5))
    model = mech.compile()
    run = la.simulate(model, dt=5e-3, steps=40, targets=[0.5, -0.2])
    assert np.array_equal(la.simulate(model.specialise(), dt=5e-3, steps=40, targets=[0.5, -0.2]).q, run.q)
    assert np.array_equal(la.simulate(model, dt=5e-3, steps=40, targets=[0.5, -0.2], guard=True).q, run.q)


@pytest.mark.parametrize("make, words", [
    (lambda: la.Servo("a", -1.0), "kp = -1"), (lambda: la.Servo("a", 1.0, limit=(2.0, 1.0)), r"limit = \(2.0, 1.0\)"),
    (lambda: la.Servo("a", np.nan), "kp"), (lambda: la.Servo(3, 1.0), "joint"), (lambda: la.Servo("a", 1.0, range=1.0), "lowest, highest"),
    (lambda: la.examples.chain(1).add_servo("link1"), "add_servo got 'link1'"),
    (lambda: arm(1).add_servo(la.Servo("link1", 1.0)), "already taken"),
    (lambda: arm(1).compile().inputs(None, {"knee": 1.0}), "no servo 'knee'.*'link1'"),
    (lambda: arm(2).compile().inputs(None, [1.0]), r"\(2,\)"),
    (lambda: la.simulate(la.examples.chain(1).compile(), dt=1e-3, steps=1, targets=[1.0]), "add_servo"),
    (lambda: la.simulate(arm(1).compile(), dt=1e-3, steps=1, targets=[1.0], control=lambda t, s: [0.0]), r"model\.inputs"),
    (lambda: compiled_ball(), "has a quaternion"),
    (lambda: compiled_ball(la.Servo("link1", 1.0)), "one degree of freedom"),
])  # fmt: skip
def test_bad_input_is_named(make, words):
    with pytest.raises(la.LeastActionError, match=words):
        make()


def compiled_ball(servo=None):
    mech = la.examples.ball_chain(1)
    if servo is None:
        mech.add_force(la.DryFriction("link1", 1.0))
    else:
        mech.add_servo(servo)
    return mech.compile()
