"""Which corrections of Newton's method are kept."""

import numpy as np
import pytest

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
