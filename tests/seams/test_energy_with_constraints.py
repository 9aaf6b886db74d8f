"""A constraint does not change what energy is: kinetic energy and all potentials, of the same q and v."""

import numpy as np
import pytest

import leastaction as la
from leastaction.testing import Kinematics
from leastaction.testing.action import potential

POTENTIALS = {
    "joint spring": [la.Spring("rod2", 5.0)],
    "spring between points": [la.LinearSpring("rod2", "world", 30.0, 0.4)],
    "nonlinear spring between points": [la.NonlinearSpring(lambda x, sp: 5 * x**2 + 4 * x**4, between=("rod3", "world"))],
    "potential of the user": [la.UserPotential(lambda q, sp: 4 * sp.cos(q[0] - 2 * q[1]), ["rod1", "rod2"])],
    "two of them": [la.LinearSpring("rod3", "world", 30.0, 0.4), la.UserPotential(lambda q, sp: 2 * q[0] ** 2, ["rod1"])],
}
INTEGRATORS = [la.Variational(), la.Variational(quadrature="midpoint"), la.Midpoint(), la.Maximal(), la.RK4()]


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: f"{type(i).__name__}-{getattr(i, 'quadrature', '')}")
@pytest.mark.parametrize("name", POTENTIALS)
def test_energy_is_that_of_the_description(name, integrator):
    mech = la.examples.four_bar()
    for force in POTENTIALS[name]:
        mech.add_force(force)
    model, kin = mech.compile(), Kinematics(mech)
    start = model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    run = la.simulate(model, dt=1e-3, steps=60, q=start, integrator=integrator)
    kinetic = [v @ la.dynamics.mass_matrix(model, q) @ v / 2 for q, v in zip(run.q, run.v, strict=True)]
    potentials = np.array([potential(kin, q) for q in run.q])
    size = np.abs(potentials).max()
    np.testing.assert_allclose(run.kinetic, kinetic, rtol=0.0, atol=1e-11 * size)
    np.testing.assert_allclose(run.potential, potentials, rtol=0.0, atol=1e-11 * size)
    # and it is kept: what a second-order method loses with steps of 1 ms is far below a thousandth of what moves
    assert np.ptp(run.energy) < 1e-3 * max(np.ptp(run.kinetic), 1e-2 * size)
