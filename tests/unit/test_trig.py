"""Sine and cosine kernels against 40-digit values."""

import mpmath
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leastaction.testing import probe

EPS = np.finfo(float).eps


def both(x):
    """Computed and exact sin x, cos x, sin x/2, cos x/2."""
    out = np.empty((1, 4))
    probe.sine_cosine(np.array([x]), out)
    with mpmath.workdps(40):
        y = mpmath.mpf(x)
        return out[0], np.array([float(f) for f in (mpmath.sin(y), mpmath.cos(y), mpmath.sin(y / 2), mpmath.cos(y / 2))])


@given(st.floats(-1e7, 1e7))
def test_absolute_error_is_rounding(x):
    got, wanted = both(x)
    assert np.all(np.abs(got - wanted) <= EPS)


@given(st.floats(-0.75, 0.75))
def test_small_angles_are_accurate_in_relative_terms(x):
    got, wanted = both(x)
    assert np.all(np.abs(got - wanted) <= 2 * EPS * np.abs(wanted))


@given(st.floats(-1e5, 1e5))
def test_they_lie_on_the_unit_circle(x):
    got, _ = both(x)
    assert abs(got[0] ** 2 + got[1] ** 2 - 1) <= 4 * EPS and abs(got[2] ** 2 + got[3] ** 2 - 1) <= 4 * EPS


def test_zero_is_exact():
    assert np.array_equal(both(0.0)[0], [0.0, 1.0, 0.0, 1.0])
