"""The stiff flyball governor against its motion in two coordinates and one momentum.   docs/published.md"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leastaction as la

THIN, ROD, BALL, SLIDER = 0.01, 0.3, 5.0, 3.0


def reference(duration, stiffness=8e5, damping=4e4):
    """Solution t -> (angle of the rods below the horizontal, height of the slider, their rates) from the energies of a symmetric motion.

    The momentum L about the shaft stays: T = L^2 / 2 I(a) + J a'^2 + m s'^2 / 2.
    """

    def inertia(a):
        c, s = np.cos(a), np.sin(a)
        slim, long = ROD * 2 * THIN**2 / 12, ROD * (1 + THIN**2) / 12
        rod = long * c**2 + slim * s**2 + ROD * (0.05 + 0.5 * c) ** 2 + BALL * (0.05 + c) ** 2
        return slim + SLIDER * 2 * 0.1**2 / 12 + 2.0 * rod

    def potential(a, s):
        strut = np.sqrt((0.5 * np.cos(a)) ** 2 + (1 - 0.5 * np.sin(a) - s) ** 2)
        return 9.81 * (SLIDER * s - 2 * (0.5 * ROD + BALL) * np.sin(a)) + stiffness * (strut - 0.5) ** 2, strut

    turn = 2.0 * (ROD * (1 + THIN**2) / 12 + ROD * 0.25 + BALL)
    spin = inertia(np.pi / 6) * la.examples.GOVERNOR_SPEED
    step = 1e-30

    def rates(_, state):
        a, s, da, ds = state
        by_a, by_s = potential(a + 1j * step, s), potential(a, s + 1j * step)
        la_, ls = by_a[1].imag / step, by_s[1].imag / step
        force = 2.0 * damping * (la_ * da + ls * ds)
        centrifugal = 0.5 * spin**2 / inertia(a) ** 2 * (inertia(a + 1j * step).imag / step)
        return [da, ds, (centrifugal - by_a[0].imag / step - force * la_) / turn, (-by_s[0].imag / step - force * ls) / SLIDER]

    start = [np.pi / 6, 0.5, 0.0, 0.0]
    return solve_ivp(rates, (0, duration), start, method="Radau", rtol=1e-10, atol=1e-12, dense_output=True).sol


@pytest.mark.parametrize("integrator", [la.Variational(), la.Variational(quadrature="midpoint"), la.Midpoint()], ids=repr)
def test_it_moves_as_its_two_coordinates_do(integrator):
    """Order 2, although the struts would relax within a hundredth of a step."""
    model, duration = la.examples.flyball_governor().compile(), 0.16
    exact, off = reference(duration), []
    for dt in (4e-3, 2e-3):
        run = la.simulate(model, v={"shaft": la.examples.GOVERNOR_SPEED}, dt=dt, duration=duration, integrator=integrator)
        off.append(np.abs(run["slider"][:, 0] + 0.5 - exact(run.t)[1]).max())
        assert np.abs(run["left"] - run["right"]).max() < 1e-9
        assert np.abs(run.momentum[:, 2] - run.momentum[0, 2]).max() < 1e-8 * run.momentum[0, 2]
    assert 3.5 < off[0] / off[1] < 4.5 and off[1] < 1e-5  # m
