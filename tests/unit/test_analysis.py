"""analysis: what must hold for every trajectory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastaction as la
from leastaction import analysis


@pytest.fixture(scope="module")
def swing():
    return la.simulate(la.examples.chain(3).compile(), dt=1e-2, duration=2.0, q={"link1": 0.8})


@pytest.fixture(scope="module")
def tumbling():
    model = la.examples.tumbling_body().compile()
    return la.simulate(model, dt=1e-2, steps=500, v={"body": [0.01, 2.0, 0.01, 0.3, 0.0, -0.2]})


def test_errors_start_at_zero(swing):
    assert analysis.energy_error(swing)[0] == 0.0
    assert not analysis.momentum_error(swing)[0].any()


def test_energy_error_is_the_change_of_kinetic_plus_potential_energy(swing):
    change = (swing.kinetic - swing.kinetic[0]) + (swing.potential - swing.potential[0])
    np.testing.assert_allclose(analysis.energy_error(swing), change, atol=1e-12 * abs(swing.potential).max())


def test_drift_is_bounded_by_the_spread_of_the_energy(swing):
    assert abs(analysis.drift(swing)) <= np.ptp(swing.energy)


def test_drift_of_a_damped_chain_is_a_loss():
    mech = la.examples.chain(2)
    mech.add_force(la.Damper("link1", 0.5))
    run = la.simulate(mech.compile(), dt=1e-2, duration=3.0, q={"link1": 0.8})
    assert analysis.drift(run) < 0.0


def test_a_free_body_keeps_its_momentum(tumbling):
    scale = [np.linalg.norm(tumbling.momentum[0, :3]), np.linalg.norm(tumbling.momentum[0, 3:])]
    assert (analysis.momentum_error(tumbling).max(axis=0) / scale).max() < 1e-11


def test_gravity_changes_the_momentum(swing):
    assert analysis.momentum_error(swing)[-1].min() > 0.0


@given(order=st.floats(0.5, 6.0), factor=st.floats(1e-6, 1e6), coarsest=st.floats(1e-4, 1.0))
def test_convergence_order_recovers_a_power_law(order, factor, coarsest):
    steps = coarsest * 0.5 ** np.arange(5)
    assert analysis.convergence_order(factor * steps**order, steps) == pytest.approx(order, abs=1e-9)


def test_variational_integrator_has_the_order_it_claims():
    model = la.examples.double_pendulum().compile()
    steps = np.array([0.02, 0.01, 0.005])
    ends = [la.simulate(model, dt=h, duration=0.4, q={"upper": 0.6}).q[-1] for h in [*steps, 0.02 / 64]]
    errors = [np.abs(q - ends[-1]).max() for q in ends[:-1]]
    assert analysis.convergence_order(errors, steps) == pytest.approx(la.Variational.order, abs=0.1)


@pytest.mark.parametrize(
    ("errors", "steps", "named"),
    [
        ([1.0, 2.0], [1.0], "shape"),
        ([1.0, 0.0], [1.0, 0.5], r"errors\[1\] = 0.0"),
        ([1.0, np.nan], [1.0, 0.5], r"errors\[1\] = nan"),
        ([1.0, 2.0], [1.0, -0.5], r"steps\[1\] = -0.5"),
        ([1.0, 2.0], [0.5, 0.5], "two different"),
    ],
)
def test_convergence_order_names_bad_input(errors, steps, named):
    with pytest.raises(la.StateError, match=named):
        analysis.convergence_order(errors, steps)
