"""Symmetric compositions: order, structure, and the same motion however they are computed."""

import numpy as np
import pytest

import leastaction as la
from leastaction.integrators.composition import SCHEMES, composition_lengths
from leastaction.reference import ode
from leastaction.yardsticks import Lee2016

QUADRATURES = ("trapezoid", pytest.param("midpoint", marks=pytest.mark.slow))  # which makes all stages compile once more


def fitted_order(model, state, integrator, counts, duration, **options):
    """Slope of log(error) over log(dt) against an independent solution of the continuous equations."""
    truth = ode.solve(model, state, [duration], rtol=1e-13, atol=1e-13, **options).q[0]
    errors = [
        np.abs(la.simulate(model, state, dt=duration / n, steps=n, integrator=integrator, **options).q[-1] - truth).max() for n in counts
    ]
    return np.polyfit(np.log(1.0 / np.array(counts)), np.log(errors), 1)[0]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_order_on_the_double_pendulum(scheme):
    model = la.examples.double_pendulum().compile()
    integrator = la.Composition(la.Variational(tol=1e-12), scheme=scheme)
    counts = (16, 24, 36) if integrator.order == 6 else (25, 50, 100)
    order = fitted_order(model, model.state({"upper": 1.0, "lower": 0.5}), integrator, counts, 1.0)
    assert abs(order - integrator.order) < 0.2


@pytest.mark.parametrize("order", (4, 6))
def test_order_on_a_floating_tree_with_forces(order):
    """Ball and free joints, dampers, a wrench and joint forces: stages that go back in time undo what acts during them."""
    mech = la.Mechanism(gravity=(0, 0, -2.0))
    rod = {"mass": 1.0, "com": (0.05, 0.0, -0.25), "inertia": (0.03, 0.04, 0.02)}
    mech.add_body("base", joint=la.Free(), **rod)
    mech.add_body("ball", "base", la.Spherical(), la.Pose(xyz=(0, 0, -0.5)), **rod)
    mech.add_body("hinge", "base", la.Revolute((1, 1, 0)), la.Pose(xyz=(0.2, 0, 0)), **rod)
    mech.add_force(la.Damper("hinge", 0.1))
    mech.add_force(la.Spring("hinge", 1.0))
    mech.add_force(la.Wrench("base", force=(0.3, 0.0, 0.1), frame="body"))
    model = mech.compile()
    v = np.random.default_rng(3).normal(size=model.nv)
    tau = 0.1 * np.ones(model.nv)
    integrator = la.Composition(la.Variational(tol=1e-13), order=order)
    counts = (4, 6, 8) if order == 6 else (8, 12, 16)
    assert abs(fitted_order(model, model.state(v=v), integrator, counts, 0.4, tau=tau) - order) < 0.2


@pytest.mark.parametrize("scheme", SCHEMES)
def test_lengths_are_symmetric_and_cancel_the_odd_powers(scheme):
    gammas = composition_lengths(scheme)
    assert np.array_equal(gammas, gammas[::-1])
    assert gammas.sum() == pytest.approx(1.0, abs=1e-15)
    assert abs(np.sum(gammas**3)) < 1e-13  # order 4
    if SCHEMES[scheme][0] == 6:
        assert abs(np.sum(gammas**5)) < 1e-13


@pytest.mark.parametrize("quadrature", QUADRATURES)
def test_compiled_and_restarted_stages_agree(quadrature):
    """The composed time loop is the plain integrator, started anew for every stage."""
    model = la.examples.random_tree(5, seed=3).compile()
    rng = np.random.default_rng(0)
    q, v, tau = model.neutral(), rng.normal(size=model.nv), rng.normal(size=(7, model.nv))
    options = {"quadrature": quadrature, "tol": 1e-13}
    runs = [
        la.simulate(model, q=q, v=v, dt=5e-3, steps=7, tau=tau, integrator=la.Composition(base))
        for base in (la.Variational(**options), Lee2016("dense-newton", "extrapolate", **options))
    ]  # fmt: skip
    assert runs[0].integrator.base.has_composed_code and not runs[1].integrator.base.has_composed_code
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(runs[0].p, runs[1].p, rtol=0, atol=1e-9)


def four_bar():
    model = la.examples.four_bar().compile()
    return model, model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})


def led_four_bar():
    """Its crank follows a function of time, a spring pulls at another rod."""
    mech = la.examples.four_bar(lengths=(1.0, 2.0, 1.5, 1.0))
    mech.add_constraint(la.Prescribed("rod1", lambda t, sp: sp.Float(0.8) + sp.sin(t) ** 2))
    mech.add_force(la.Spring("rod2", 20.0))
    model = mech.compile()
    return model, model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3, "rod4": 0.3}, hold=["rod1"])


@pytest.mark.parametrize("quadrature", QUADRATURES)
@pytest.mark.parametrize("linkage", (four_bar, led_four_bar))
@pytest.mark.parametrize("order", (4, 6))
def test_order_with_constraints(linkage, order, quadrature):
    """Loops and driven joints are kept at the end of every stage; against the continuous equations, solved with small Runge-Kutta steps."""
    model, q = linkage()
    truth = la.simulate(model, q=q, dt=2e-4, steps=1000, integrator=la.RK4()).q[-1]
    integrator, counts = la.Composition(la.Variational(quadrature=quadrature, tol=1e-13), order=order), (4, 8)
    runs = [la.simulate(model, q=q, dt=0.2 / n, steps=n, integrator=integrator) for n in counts]
    errors = [np.abs(run.q[-1] - truth).max() for run in runs]
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.4
    assert all(run.constraint_error.max() < 1e-13 for run in runs)


def test_constrained_compositions_keep_energy_and_lead_back():
    model, q = four_bar()
    swing = np.ptp(la.simulate(model, q=q, dt=0.01, duration=10.0).potential)
    for order, most in ((4, 1e-8), (6, 1e-11)):
        sim = la.Simulator(model, q=q, dt=0.01, integrator=la.Composition(la.Variational(tol=1e-13), order=order))
        there = sim.run(1000)
        assert np.abs(there.energy - there.energy[0]).max() < most * swing
        assert there.constraint_error.max() < 2e-12
        sim.reverse()
        np.testing.assert_allclose(sim.run(100).q[-1], there.q[-101], rtol=0, atol=1e-11)


def test_impulses_of_a_composed_step_are_those_of_its_stages():
    """Each acts at the start of its stage, for half of the stage before it and half of its own: gamma_1 / 2 before the middle."""
    model, q = four_bar()
    run = la.simulate(model, q=q, dt=0.01, steps=20, integrator=la.Composition(la.Variational(tol=1e-13)))
    force, before = run.reactions[0].multipliers, 0.5 + 0.5 * run.integrator.gammas[0]
    for k in (5, 15):
        change = 0.5 * (force[k + 1] - force[k - 1])
        assert np.abs(run.multipliers[k] / run.dt - (force[k] - before * change)).max() < 0.1 * np.abs(change).max()


def test_energy_error_falls_with_the_order():
    model = la.examples.chain(5).compile()
    errors = []
    for integrator in (la.Variational(), la.Composition(order=4), la.Composition(order=6)):
        energy = la.simulate(model, dt=0.01, duration=20.0, q={"link1": 0.785}, integrator=integrator).energy
        errors.append(np.abs(energy - energy[0]).max())
    assert errors[1] < 1e-2 * errors[0] and errors[2] < 0.1 * errors[1]


@pytest.mark.parametrize("closed", (False, True))
def test_a_step_that_fails_leaves_the_simulation_as_it_was(closed):
    model, q = four_bar() if closed else (la.examples.chain(3).compile(), {"link1": 1.0})
    sims = [la.Simulator(model, dt=1e-2, q=q, integrator=la.Composition(la.Variational(tol=1e-13))) for _ in range(2)]
    for sim in sims:
        sim.run(5)
    with pytest.raises(la.ConvergenceError):
        sims[0].step([1e30, 0.0, 0.0])
    assert np.array_equal(sims[0].q, sims[1].q)
    for sim in sims:
        sim.run(5)
    np.testing.assert_allclose(sims[0].q, sims[1].q, rtol=0, atol=1e-11)


def test_bad_arguments_name_the_remedy():
    with pytest.raises(la.StateError, match="self-adjoint"):
        la.Composition(la.RK4())
    with pytest.raises(la.StateError, match=r"order = \[4\]"):
        la.Composition(order=[4])
    with pytest.raises(la.StateError, match="order = 5"):
        la.Composition(order=5)
    with pytest.raises(la.StateError, match="'suzuki' has order 4, not 6"):
        la.Composition(order=6, scheme="suzuki")
    with pytest.raises(la.StateError, match="scheme = 'strang'"):
        la.Composition(scheme="strang")
