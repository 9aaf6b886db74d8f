"""Explicit integrators: order against a tight independent solution, quaternion norm, failure without NaN."""

import numpy as np
import pytest

import leastaction as la
from leastaction.reference import ode

BASELINES = [la.SemiImplicitEuler(), la.Heun(), la.RK4(), la.RKMK4()]
names = [type(i).__name__ for i in BASELINES]


def push(t, q, v, tau):
    """A force that depends on time, so that stages at the wrong time lose the order."""
    tau[0] += 3.0 * np.sin(5.0 * t)


@pytest.fixture(scope="module")
def double_pendulum():
    model = la.examples.double_pendulum().compile()
    return model, model.state(q=[1.2, -0.7], v=[0.5, 1.0]), np.array([0.3, -0.2])


@pytest.fixture(scope="module")
def mixed_tree():
    """Free, ball, universal and planar joints with springs, dampers, wrenches and a force that depends on time."""
    rng = np.random.default_rng(5)
    mech = la.Mechanism(name="mixed tree")
    joints = {
        "base": (la.Free(), "world"), "ball": (la.Spherical(), "base"), "cross": (la.Universal(), "ball"),
        "slab": (la.Planar(normal=(0, 1, 0)), "base"), "hinge": (la.Revolute(axis=(1, 1, 0)), "slab"),
    }  # fmt: skip
    for name, (joint, parent) in joints.items():
        mech.add_body(
            name, parent, joint, la.Pose(0.5 * rng.normal(size=3), quaternion=rng.normal(size=4)),
            mass=rng.uniform(0.5, 2.0), com=0.2 * rng.normal(size=3), inertia=la.examples.random_inertia(rng),
        )  # fmt: skip
    mech.add_force(la.Spring("base", (3.0, 20.0)))
    mech.add_force(la.Spring("ball", 4.0))
    mech.add_force(la.Spring("cross", (3.0, 5.0), rest=(0.2, -0.3)))
    mech.add_force(la.Spring("slab", (30.0, 20.0, 4.0)))
    mech.add_force(la.Damper("ball", 0.3))
    mech.add_force(la.Damper("slab", (0.4, 0.2, 0.3)))
    mech.add_force(la.Wrench("hinge", force=(1.0, -2.0, 0.5), point=(0.1, 0.2, 0.0)))
    mech.add_force(la.Wrench("cross", moment=(0.3, 0.0, -0.2), frame="body"))
    mech.add_force(la.CustomForce(push))
    model = mech.compile()
    turned = np.array([0.8, 0.2, -0.4, 0.4])
    q = {"ball": turned / np.linalg.norm(turned), "cross": (0.3, -0.5), "slab": (0.1, -0.1, 0.4), "hinge": 0.6}
    return model, model.state(q=q, v=rng.normal(size=model.nv), t=0.3), 0.3 * rng.normal(size=model.nv)


@pytest.mark.parametrize("integrator", BASELINES, ids=names)
@pytest.mark.parametrize("system", ["double_pendulum", "mixed_tree"])
def test_fitted_order(integrator, system, request):
    model, state, tau = request.getfixturevalue(system)
    duration = 0.4
    exact = ode.solve(model, state, [state.t + duration], tau=tau)
    counts = 20 * 2 ** np.arange(4)
    errors = []
    for steps in counts:
        run = la.simulate(model, state, dt=duration / steps, steps=int(steps), integrator=integrator, tau=tau)
        errors.append(max(np.abs(run.q[-1] - exact.q[-1]).max(), np.abs(run.v[-1] - exact.v[-1]).max()))
    fitted = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert errors[-1] > 1e-11, "errors have reached the accuracy of the reference: the fit says nothing"
    assert fitted == pytest.approx(integrator.order, abs=0.2), errors


def test_reference_does_not_depend_on_its_tolerance(mixed_tree):
    model, state, tau = mixed_tree
    end = [state.t + 0.2, state.t + 0.4]
    coarse, fine = (ode.solve(model, state, end, rtol=r, atol=r, tau=tau) for r in (1e-9, 1e-12))
    assert np.abs(coarse.q - fine.q).max() < 1e-7
    assert np.abs(coarse.v - fine.v).max() < 1e-7


@pytest.mark.parametrize("integrator", BASELINES, ids=names)
def test_quaternions_stay_units(integrator, mixed_tree):
    model, state, _ = mixed_tree
    run = la.simulate(model, state, dt=0.01, steps=200, integrator=integrator)
    for joint in ("base", "ball"):
        assert np.abs(np.linalg.norm(run[joint][:, -4:], axis=1) - 1.0).max() < 1e-14


def test_munthe_kaas_and_coordinates_agree_in_the_limit(mixed_tree, double_pendulum):
    model, state, tau = mixed_tree
    gaps = []
    for steps in (20, 40, 80):
        ends = [la.simulate(model, state, dt=0.4 / steps, steps=steps, integrator=i, tau=tau).q[-1] for i in (la.RK4(), la.RKMK4())]
        gaps.append(np.abs(ends[0] - ends[1]).max())
    assert gaps[0] > 12.0 * gaps[1] > 12.0**2 * gaps[2] > 0.0
    model, state, tau = double_pendulum  # no ball or free joint: the same method
    ends = [la.simulate(model, state, dt=0.01, steps=100, integrator=i, tau=tau).q[-1] for i in (la.RK4(), la.RKMK4())]
    assert np.array_equal(*ends)


def test_munthe_kaas_keeps_a_steady_screw_exactly():
    """A body that turns about an axis through its com while the com moves along it: exp is the exact flow."""
    model = la.examples.tumbling_body().compile()
    run = la.simulate(model, q=None, v=[0.0, 0.0, 3.0, 0.0, 0.0, 2.0], dt=0.1, steps=50, integrator=la.RKMK4())
    half = 0.5 * 3.0 * run.t
    assert np.abs(run.q[:, 2] - 2.0 * run.t).max() < 1e-12
    assert np.abs(np.abs(run.q[:, 3]) - np.abs(np.cos(half))).max() < 1e-12
    assert np.abs(np.abs(run.q[:, 6]) - np.abs(np.sin(half))).max() < 1e-12


@pytest.mark.parametrize("integrator", BASELINES, ids=names)
def test_joint_forces_as_series_and_one_step_at_a_time(integrator, mixed_tree):
    model, state, tau = mixed_tree
    series = tau * np.linspace(-1.0, 1.0, 30)[:, None]
    run = la.simulate(model, state, dt=0.01, steps=30, integrator=integrator, tau=series)
    sim = la.Simulator(model, state, dt=0.01, integrator=integrator)
    for row in series:
        sim.step(row)
    assert np.array_equal(sim.q, run.q[-1])
    assert sim.t == run.t[-1]
    strided = la.simulate(model, state, dt=0.01, steps=30, integrator=integrator, tau=series, record_every=10)
    assert np.array_equal(strided.q, run.q[::10])


def test_force_evaluations_are_counted(double_pendulum):
    model, state, _ = double_pendulum
    for integrator, count in zip(BASELINES, (1, 2, 4, 4), strict=True):
        run = la.simulate(model, state, dt=0.01, steps=5, integrator=integrator)
        assert np.array_equal(run.iterations, np.full(5, count))


def test_semi_implicit_euler_drifts_where_the_variational_integrator_does_not():
    model = la.examples.chain(10).compile()

    def excursion(integrator):
        energy = la.simulate(model, dt=1e-3, duration=10.0, q={"link1": np.pi / 4}, integrator=integrator).energy
        return np.abs(energy - energy[0]).max()

    assert excursion(la.SemiImplicitEuler()) > 100.0 * excursion(la.Variational())


@pytest.mark.parametrize("integrator", BASELINES, ids=names)
def test_absurd_step_fails_with_advice_and_without_nan(integrator):
    mech = la.examples.chain(5)
    mech.add_force(la.Spring("link1", 1e6))
    mech.add_force(la.Damper("link3", 1e4))
    advice = r"(?s)step \d+ at t = .*dt = 0.5 s.*smaller dt, for example 0.05 s.*Variational"
    with pytest.raises(la.ConvergenceError, match=advice) as failure:
        la.simulate(mech.compile(), dt=0.5, steps=10_000, q={"link1": 1.0}, integrator=integrator)
    run = failure.value.trajectory
    assert not run.converged and len(run) == failure.value.step + 1 == run.steps + 1
    for values in (run.t, run.q, run.v, run.energy):
        assert np.all(np.isfinite(values))


def test_reference_refuses_times_in_the_past(double_pendulum):
    model, state, _ = double_pendulum
    with pytest.raises(la.StateError, match="increase"):
        ode.solve(model, state, [1.0, 0.5])
    with pytest.raises(la.StateError, match=r"state.t = 0 s"):
        ode.solve(model, state, [-1.0])
