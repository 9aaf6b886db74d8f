"""The stiff flyball governor against its motion in two coordinates and one momentum.   docs/published.md"""

import numpy as np
import pytest

import leastaction as la
from leastaction.reference import published


@pytest.mark.parametrize("integrator", [la.Variational(), la.Variational(quadrature="midpoint"), la.Midpoint()], ids=repr)
def test_it_moves_as_its_two_coordinates_do(integrator):
    """Order 2, although the struts would relax within a hundredth of a step."""
    model, duration = la.examples.flyball_governor().compile(), 0.16
    exact, off = published.governor(duration), []
    for dt in (4e-3, 2e-3):
        run = la.simulate(model, v={"shaft": la.examples.GOVERNOR_SPEED}, dt=dt, duration=duration, integrator=integrator)
        off.append(np.abs(run["slider"][:, 0] + 0.5 - exact(run.t)[1]).max())
        assert np.abs(run["left"] - run["right"]).max() < 1e-9
        assert np.abs(run.momentum[:, 2] - run.momentum[0, 2]).max() < 1e-8 * run.momentum[0, 2]
    assert 3.5 < off[0] / off[1] < 4.5 and off[1] < 1e-5  # m
