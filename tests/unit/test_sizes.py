"""The largest entry of a residual, which decides whether a step is solved."""

import numpy as np
import pytest

from leastaction.compiling.decorators import entry
from leastaction.kernels.solving import sizes


@pytest.fixture(scope="module")
def largest_between():
    return entry(lambda a, first, last: sizes.largest_between(a, first, last))


@pytest.mark.parametrize("count", range(10))
def test_largest_entry_wherever_it_is(largest_between, count):
    for where in range(count):
        for sign in (1.0, -1.0):
            a = np.linspace(0.1, 0.2, 12)
            a[0], a[-1] = 7.0, 7.0  # not asked for
            a[1 + where] = 3.0 * sign
            assert largest_between(a, 1, 1 + count) == 3.0
    assert count or largest_between(np.ones(12), 1, 1) == 0.0


@pytest.mark.parametrize("count", range(1, 10))
def test_a_nan_stays(largest_between, count):
    for where in range(count):
        a = np.linspace(-1.0, 1.0, count)
        a[where] = np.nan
        assert np.isnan(largest_between(a, 0, count))
        a[where] = -np.inf
        assert largest_between(a, 0, count) == np.inf
