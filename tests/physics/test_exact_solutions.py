"""Closed-form solutions: they solve their equations, and the variational integrator converges to them with order 2."""

import sys

import numpy as np
import pytest

import leastaction as la
from leastaction.reference import free_body, ode, pendulum

SWINGS = {"small": (0.1, 0.0), "large": (2.9, 0.4), "backwards": (-1.0, -2.0), "over the top": (0.5, 7.0), "over backwards": (4.0, -7.5)}
SPINS = {
    "round the largest": ((1.0, 2.0, 2.8), (0.3, 0.2, 2.0)), "round the smallest": ((1.0, 2.0, 2.8), (-2.0, 0.3, 0.2)),
    "nearly middle": ((1.0, 2.0, 2.8), (0.01, 2.0, -0.02)), "axes in another order": ((2.8, 1.0, 2.0), (0.5, -1.0, 0.7)),
    "symmetric": ((1.0, 1.0, 2.0), (0.5, 0.2, -2.0)), "rod-like": ((2.0, 0.5, 2.0), (0.5, 1.0, 0.3)),
}  # fmt: skip
LENGTH = 0.7
FREQUENCY = np.sqrt(9.81 / LENGTH)


def fitted_order(model, state, dts, duration, exact, read):
    errors = [np.abs(np.subtract(read(la.simulate(model, state, dt=dt, duration=duration)), exact)).max() for dt in dts]
    assert errors[-1] > 1e-9
    return np.polyfit(np.log(dts), np.log(errors), 1)[0]


@pytest.mark.parametrize("start", SWINGS.values(), ids=SWINGS)
def test_pendulum(start):
    mech = la.Mechanism()
    mech.add_body("bob", joint=la.Revolute(axis=(0, 1, 0)), mass=1.3, com=(0, 0, -LENGTH))
    model = mech.compile()
    state = model.state(q=[start[0]], v=[start[1]])
    angle, rate = pendulum.motion(np.array([0.0, 0.6, 1.5]), *start, FREQUENCY)
    assert (angle[0], rate[0]) == pytest.approx(start, abs=1e-13)
    independent = ode.solve(model, state, [0.6, 1.5])
    assert np.abs(independent.q[:, 0] - angle[1:]).max() < 1e-9
    assert np.abs(independent.v[:, 0] - rate[1:]).max() < 1e-9
    order = fitted_order(model, state, [0.015, 0.0075, 0.00375], 1.5, [angle[-1], rate[-1]], lambda run: [run.q[-1, 0], run.v[-1, 0]])
    assert order == pytest.approx(2.0, abs=0.05)


def test_pendulum_at_rest_and_its_period():
    assert pendulum.motion([0.0, 2.0], 0.0, 0.0, 1.0)[0].tolist() == [0.0, 0.0]
    period = pendulum.period(2.0, 3.0)
    angle, rate = pendulum.motion([period], 2.0, 0.0, 3.0)
    assert (angle[0], rate[0]) == pytest.approx((2.0, 0.0), abs=1e-12)
    assert pendulum.period(1e-6, 3.0) == pytest.approx(2.0 * np.pi / 3.0, rel=1e-10)
    with pytest.raises(la.StateError, match="frequency = 0"):
        pendulum.motion([1.0], 1.0, 0.0, 0.0)


@pytest.mark.parametrize("spin", SPINS.values(), ids=SPINS)
def test_free_body(spin):
    inertia, omega = spin
    model = la.examples.tumbling_body(inertia).compile()
    state = model.state(v=[*omega, 0.0, 0.0, 0.0])
    exact = free_body.angular_velocity([0.0, 1.0, 3.0], inertia, omega)
    assert exact[0] == pytest.approx(omega, abs=1e-13)
    independent = ode.solve(model, state, [1.0, 3.0])
    assert np.abs(independent.v[:, :3] - exact[1:]).max() < 1e-10
    order = fitted_order(model, state, [0.04, 0.02, 0.01], 3.0, exact[-1], lambda run: run.v[-1, :3])
    assert order == pytest.approx(2.0, abs=0.05)


def test_free_body_in_steady_spin_and_with_bad_input():
    assert np.array_equal(free_body.angular_velocity([0.0, 9.0], (1, 2, 3), (0, 2, 0)), [[0, 2, 0], [0, 2, 0]])
    assert np.array_equal(free_body.angular_velocity([9.0], (2, 2, 2), (1, 2, 3)), [[1, 2, 3]])
    with pytest.raises(la.StateError, match="three positive principal moments"):
        free_body.angular_velocity([1.0], (1, 2, 0), (1, 1, 1))


def test_missing_scipy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        pendulum.motion([1.0], 1.0, 0.0, 1.0)
