"""Steps of 50 ms: where the exact O(n) Newton converges and the first-order RIQN does not; what limits the quadratures."""

import numpy as np
import pytest

import leastaction as la
from leastaction.yardsticks import Lee2016

DT = 0.05
DURATION = 2.0


def straight_chain(n):
    """A straight 3-D chain that swings from 45 degrees.  It is under tension: stiff across, sqrt(g n) fast."""
    model = la.examples.chain(n, spatial=True).compile()
    return model, model.state(q={"link1": np.pi / 4})


def check_newton(start, **options):
    run = la.simulate(*start, dt=DT, duration=DURATION, integrator=la.Variational(**options))
    assert run.converged and run.steps == 40
    assert run.iterations.max() <= 8
    assert np.abs(run.energy - run.energy[0]).max() < 0.05 * run.kinetic.max()


@pytest.mark.parametrize("n", [20, 50, 100, 200])
def test_bent_chain(bent_chain, n):
    """RIQN diverges, however long it tries; only with 50 links it creeps through these 2 s, with more than 50 evaluations."""
    start = bent_chain(n)
    check_newton(start)
    for guess in ("extrapolate", "ig1", "ig2", "ig3"):
        riqn = Lee2016("riqn", guess, max_evaluations=50 if n == 50 else 500)
        with pytest.raises(la.ConvergenceError, match='solver="newton"'):
            la.simulate(*start, dt=DT, duration=DURATION, integrator=riqn)


@pytest.mark.parametrize("n", [100, 200])
@pytest.mark.parametrize("retraction", ["exp", "cayley"])
def test_straight_chain_with_midpoint(n, retraction):
    start = straight_chain(n)
    options = {"quadrature": "midpoint", "retraction": retraction}
    check_newton(start, **options)
    riqn = Lee2016("riqn", "extrapolate", max_evaluations=500, **options)
    with pytest.raises(la.ConvergenceError, match='solver="newton"'):
        la.simulate(*start, dt=DT, duration=DURATION, integrator=riqn)


@pytest.mark.parametrize("n", [100, 200])
def test_straight_chain_is_too_stiff_for_the_trapezoid(n):
    """dt times the fastest frequency is beyond 2: unstable whatever the solver, and the error says what to do."""
    with pytest.raises(la.ConvergenceError, match='quadrature="midpoint"'):
        la.simulate(*straight_chain(n), dt=DT, duration=DURATION)


def oscillator(frequency):
    mech = la.Mechanism(gravity=(0.0, 0.0, 0.0))
    mech.add_body("mass", joint=la.Prismatic(axis=(1, 0, 0)), mass=2.0)
    mech.add_force(la.Spring("mass", 2.0 * frequency**2))
    return mech.compile()


def amplitudes(model, **options):
    return np.abs(la.simulate(model, dt=DT, steps=100, q=[1e-3], integrator=la.Variational(**options)).q[:, 0])


@pytest.mark.parametrize("h_omega", [0.5, 1.0, 1.9])
def test_trapezoid_is_stable_below_two(h_omega):
    """Of a linear oscillator the trapezoid keeps (1 - (h w)^2/4) (w q)^2 + v^2, so the amplitude never exceeds its start."""
    assert amplitudes(oscillator(h_omega / DT)).max() < 1e-3 * (1.0 + 1e-9)


@pytest.mark.parametrize("h_omega", [2.1, 3.0])
def test_trapezoid_is_unstable_above_two(h_omega):
    """q_{k+1} - (2 - (h w)^2) q_k + q_{k-1} = 0: above h w = 2 one root is real and larger than 1."""
    half_trace = 0.5 * h_omega**2 - 1.0
    factor = half_trace + np.sqrt(half_trace**2 - 1.0)
    size = amplitudes(oscillator(h_omega / DT))
    assert size[-1] / size[-2] == pytest.approx(factor, rel=1e-6)
    assert factor > 1.0


@pytest.mark.parametrize("h_omega", [1.0, 2.1, 20.0, 1000.0])
def test_midpoint_is_stable_for_any_stiffness(h_omega):
    """(w q)^2 + v^2 is kept exactly: amplitude and energy stay."""
    model = oscillator(h_omega / DT)
    run = la.simulate(model, dt=DT, steps=200, q=[1e-3], integrator=la.Variational(quadrature="midpoint"))
    assert np.abs(run.q).max() < 1e-3 * (1.0 + 1e-9)
    assert np.abs(run.energy / run.energy[0] - 1.0).max() < 1e-9


def test_midpoint_needs_a_step_below_twice_the_time_of_growth():
    """What falls over as exp(s t) makes M/h - (h/4) M s^2 singular at h s = 2: the midpoint step has no solution nearby beyond it.

    The trapezoid, explicit in the potential, has no such limit.
    """
    mech = la.Mechanism()
    mech.add_body("bob", joint=la.Revolute(axis=(0, 1, 0)), mass=1.0, com=(0.0, 0.0, 1.0))
    model = mech.compile()
    growth = np.sqrt(9.81)
    for h_growth, sign in ((1.9, 1.0), (2.1, -1.0)):
        dt = h_growth / growth
        slope = la.discrete.jacobian(model, [0.0], [0.0], dt, quadrature="midpoint")[0, 0]
        assert slope == pytest.approx((1.0 - 0.25 * h_growth**2) / dt, rel=1e-12) and slope * sign > 0.0
        assert la.discrete.jacobian(model, [0.0], [0.0], dt)[0, 0] == pytest.approx(1.0 / dt, rel=1e-12)
