"""AdaptiveStep on an eccentric orbit, where steps of one length waste most of their effort far from the centre."""

import math

import numpy as np
import pytest

import leastaction as la

ECCENTRICITY = 0.9
PERIOD = 2.0 * math.pi


def attraction(t, q, v, tau):
    r2 = q[0] * q[0] + q[1] * q[1]
    f = 1.0 / (r2 * math.sqrt(r2))
    tau[0] -= f * q[0]
    tau[1] -= f * q[1]


def one_over_orbit_time(t, q, v, out):
    out[0] = (q[0] * q[0] + q[1] * q[1]) ** -0.75


@pytest.fixture(scope="module")
def planet():
    mech = la.Mechanism(gravity=(0, 0, 0), name="planet")
    mech.add_body("x", joint=la.Prismatic((1, 0, 0)))
    mech.add_body("y", "x", la.Prismatic((0, 1, 0)), mass=1.0)
    mech.add_force(la.CustomForce(attraction))
    return mech.compile()


def start(model):
    return model.state([1.0 - ECCENTRICITY, 0.0], [0.0, math.sqrt((1.0 + ECCENTRICITY) / (1.0 - ECCENTRICITY))])


def energy(run):
    return 0.5 * (run.v**2).sum(axis=1) - 1.0 / np.hypot(*run.q.T)


def drift(run):
    """Mean energy of the last tenth minus that of the first, in units of the swing in the first tenth."""
    parts = np.array_split(energy(run), 10)
    return abs(parts[-1].mean() - parts[0].mean()) / np.ptp(parts[0])


def test_no_drift_where_naive_adaptation_drifts(planet):
    runs = {
        c: la.simulate(planet, start(planet), dt=0.05, duration=100 * PERIOD,
                       integrator=la.AdaptiveStep(density=one_over_orbit_time, controller=c))
        for c in ("reversible", "naive")
    }  # fmt: skip
    assert drift(runs["reversible"]) < 0.05
    assert drift(runs["naive"]) > 1.0
    lengths = np.diff(runs["reversible"].t)
    assert lengths.max() > 50.0 * lengths.min()


def test_fewer_steps_than_a_constant_step_of_the_same_accuracy(planet):
    adaptive = la.simulate(planet, start(planet), dt=0.05, duration=10 * PERIOD, integrator=la.AdaptiveStep(density=one_over_orbit_time))
    constant = la.simulate(planet, start(planet), steps=adaptive.steps, dt=10 * PERIOD / adaptive.steps)
    assert np.abs(energy(adaptive) + 0.5).max() < 0.1 * np.abs(energy(constant) + 0.5).max()


def test_reversible(planet):
    sim = la.Simulator(planet, start(planet), dt=0.05, integrator=la.AdaptiveStep(density=one_over_orbit_time))
    there = sim.run(400)
    sim.reverse()
    back = sim.run(400)
    np.testing.assert_allclose(back.q[::-1], there.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.diff(back.t)[::-1], np.diff(there.t), rtol=1e-9)


def test_reversible_with_every_kind_of_joint():
    model = la.examples.random_tree(5, seed=2, floating=True).compile()
    v = 0.5 * np.random.default_rng(1).normal(size=model.nv)
    sim = la.Simulator(model, dt=0.01, v=v, integrator=la.AdaptiveStep(la.Variational(tol=1e-13), speed=2.0))
    there = sim.run(40)
    sim.reverse()
    np.testing.assert_allclose(sim.run(40).q[-1], there.q[0], rtol=0, atol=1e-9)


def test_second_order(planet):
    """The density varies with the solution, so steps of half the dt halve every step: the error at the same time falls by four."""
    from leastaction.reference import ode

    errors = []
    for dt in (0.02, 0.01, 0.005):
        run = la.simulate(planet, start(planet), dt=dt, duration=2.0, integrator=la.AdaptiveStep(density=one_over_orbit_time))
        errors.append(np.abs(run.q[-1] - ode.solve(planet, start(planet), run.t[-1:]).q[0]).max())
    assert np.polyfit(np.log([0.02, 0.01, 0.005]), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.2)


def test_momentum_is_kept_exactly():
    model = la.examples.random_tree(4, seed=5, floating=True, gravity=(0, 0, 0)).compile()
    v = np.random.default_rng(2).normal(size=model.nv)
    run = la.simulate(model, v=v, dt=0.02, steps=300, integrator=la.AdaptiveStep(speed=1.0))
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-9 * np.abs(run.momentum[0]).max()


def test_loops_are_kept_by_steps_of_changing_length():
    """A four-bar: closed at every node, reversible, of order two, without a drift of energy."""
    model = la.examples.four_bar().compile()
    q = model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    errors = []
    for dt in (0.04, 0.02):
        run = la.simulate(model, q=q, dt=dt, duration=0.5, integrator=la.AdaptiveStep(la.Variational(tol=1e-12)))
        truth = la.simulate(model, q=q, dt=run.t[-1] / 2000, steps=2000, integrator=la.RK4()).q[-1]
        errors.append(np.abs(run.q[-1] - truth).max())
        assert run.constraint_error.max() < 1e-12 and np.ptp(np.diff(run.t)) > 0.2 * dt
    assert 1.7 < np.log2(errors[0] / errors[1]) < 2.4
    sim = la.Simulator(model, dt=0.02, q=q, integrator=la.AdaptiveStep(la.Variational(tol=1e-13)))
    there = sim.run(300)
    sim.reverse()
    np.testing.assert_allclose(sim.run(300).q[-1], there.q[0], rtol=0, atol=1e-8)
    long = la.simulate(model, q=q, dt=0.02, steps=5000, integrator=la.AdaptiveStep())
    parts = np.array_split(long.energy, 10)
    assert abs(parts[-1].mean() - parts[0].mean()) < 0.05 * np.ptp(parts[0])


def test_times_and_durations(planet):
    run = la.simulate(planet, start(planet), dt=0.05, duration=PERIOD, integrator=la.AdaptiveStep(density=one_over_orbit_time))
    assert run.t[-2] < PERIOD <= run.t[-1] and run.steps == len(run) - 1
    assert "at most" in str(run)
    model = la.examples.double_pendulum().compile()
    thinned = la.simulate(model, q={"upper": 2.0}, dt=0.01, steps=100, record_every=10, integrator=la.AdaptiveStep())
    every = la.simulate(model, q={"upper": 2.0}, dt=0.01, steps=100, integrator=la.AdaptiveStep())
    assert np.array_equal(thinned.t, every.t[::10])
    controlled = la.simulate(model, q={"upper": 2.0}, dt=0.01, steps=100, integrator=la.AdaptiveStep(), control=lambda t, s: [0.0, 0.0])
    np.testing.assert_allclose(controlled.t, every.t, rtol=1e-12)


def test_bad_arguments_name_the_remedy(planet):
    with pytest.raises(la.StateError, match="needs Variational"):
        la.AdaptiveStep(la.RK4())
    with pytest.raises(la.StateError, match="density"):
        la.AdaptiveStep(density="fast")
    with pytest.raises(la.StateError, match="speed = 0"):
        la.AdaptiveStep(speed=0)

    def negative(t, q, v, out):
        out[0] = -1.0

    with pytest.raises(la.ConvergenceError, match="density"):
        la.simulate(planet, start(planet), dt=0.05, steps=3, integrator=la.AdaptiveStep(density=negative))
