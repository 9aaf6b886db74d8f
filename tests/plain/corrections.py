"""Newton's method: which corrections are kept, and that what they leave of the residual enters the next step."""

import numpy as np
import pytest

import leastaction as la
from leastaction.kernels.solving.newton import BOLD, CAREFUL, PURE, residual_shrinks


def kept(new, old, fraction, manner):
    return residual_shrinks(None, new, old, fraction, 0.0, manner)


@pytest.mark.parametrize("old", [1e-9, 1.0, 1e12])
def test_careful_corrections_let_the_residual_shrink(old):
    """By a quarter of their fraction of the way to zero: smaller ones need less, none may let it grow."""
    for fraction in 0.5 ** np.arange(12):
        least = (1.0 - 0.25 * fraction) * old
        assert kept(0.999 * least, old, fraction, CAREFUL) and not kept(1.001 * least, old, fraction, CAREFUL)
        assert not kept(old, old, fraction, CAREFUL)


def test_bold_ones_may_climb_over_a_ridge_and_pure_ones_over_anything():
    for old in (1e-9, 1.0, 1e12):
        assert kept(9.9 * old, old, 1.0, BOLD) and not kept(10.1 * old, old, 1.0, BOLD)
        assert kept(1e9 * old, old, 1.0, PURE)
    assert not any(kept(np.inf, 1.0, 1.0, manner) or kept(np.nan, 1.0, 1.0, manner) for manner in (BOLD, CAREFUL, PURE))


ROUGH = [la.Variational(tol=1e-3), la.Maximal(tol=1e-3), la.Midpoint(tol=1e-3)]


@pytest.mark.parametrize("integrator", ROUGH, ids=lambda i: type(i).__name__)
def test_rough_solutions_keep_the_momentum_to_rounding(integrator):
    """Of two bodies in space: the residual of a step is no impulse, it is made up for in the next one."""
    mech = la.Mechanism(name="pair", gravity=(0, 0, 0))
    mech.add_body("a", joint=la.Free(), mass=1.0, com=(0, 0, 0.1), inertia=(0.03, 0.05, 0.02))
    mech.add_body("b", "a", la.Spherical(), la.Pose((0, 0, 0.3)), mass=0.7, com=(0.1, 0, 0.2), inertia=(0.03, 0.05, 0.02))
    v = [1.0, 2.0, 3.0, 0.5, 0.3, -0.2, 2.0, -1.0, 4.0]
    run = la.simulate(mech.compile(), v=v, dt=0.02, steps=50, integrator=integrator)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-13


@pytest.mark.parametrize("integrator", [*ROUGH, la.Trapezoid(tol=1e-3)], ids=lambda i: type(i).__name__)
def test_rough_solutions_push_no_cart(integrator):
    """Pendulums swing on a cart on a level rail: what they and the cart have of momentum along it stays."""
    mech = la.Mechanism(name="cart")
    mech.add_body("cart", joint=la.Prismatic((1, 0, 0)), mass=1.0)
    mech.add_body("rod", "cart", la.Revolute((0, 1, 0)), mass=0.7, com=(0, 0, -0.5), inertia=(0.03, 0.05, 0.02))
    mech.add_body("end", "rod", la.Revolute((0, 1, 0)), la.Pose((0, 0, -1)), mass=0.5, com=(0.1, 0, -0.4), inertia=(0.03, 0.05, 0.02))
    run = la.simulate(mech.compile(), q={"rod": 1.0}, v=[0.5, 2.0, -3.0], dt=0.02, steps=50, integrator=integrator)
    assert np.abs(run.momentum[:, 3] - run.momentum[0, 3]).max() < 1e-13
