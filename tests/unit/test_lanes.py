"""Kernels in lanes do in every lane what they do alone, also where lanes part ways."""

import numba
import numpy as np
import pytest

from leastaction.compiling.decorators import kernel
from leastaction.compiling.lanes import in_lanes, lanes_of_this_machine
from leastaction.lie.retraction_exp import gamma2, gammas, half_angle_ratio
from leastaction.lie.trig import half_sincos, sincos

pytestmark = pytest.mark.skipif(lanes_of_this_machine() == 1, reason="no vectors of four numbers here")
OPTIONS = {"fastmath": {"contract", "nsz"}, "error_model": "numpy"}
WIDTH = 4


def walk(x, out, most):
    for j in range(x.shape[0]):
        steps, last = wander(x[j], most)
        out[j, 0] = steps
        out[j, 1] = last


@kernel
def wander(start, most):
    """A loop that lanes leave at different times, by a break and by returns from inside."""
    x, steps = start, 0
    while True:
        if x != x:
            return -1, 7.0
        if x <= 1.0 or steps >= most:
            break
        if int(x) & 1 == 1:
            x = 3.0 * x + 1.0
        if int(x) & 1 == 0:
            x = 0.5 * x
        steps += 1
    for k in range(steps):
        if k > 5:
            return steps, 100.0 + x
        x += 0.25 * k
    total = 0.0
    for k in range(steps):  # of a different length in every lane
        total += x * k
    return steps, total


def functions(x, out):
    for j in range(x.shape[0]):
        out[j, 0], out[j, 1] = sincos(x[j])
        s, c = half_sincos(x[j])
        out[j, 2], out[j, 3] = s, c
        out[j, 4], out[j, 5] = gammas(x[j] * x[j])
        out[j, 6] = gamma2(x[j] * x[j])
        out[j, 7] = half_angle_ratio(c, (s, 0.0, 0.0))


def in_all_lanes(function, arguments):
    """The function in lanes, as something Python can call."""
    scope = {"several": in_lanes(WIDTH)(function)}
    exec(f"def run({arguments}):\n    several({arguments})", scope)
    return numba.njit(**OPTIONS)(scope["run"])


def test_lanes_that_part_ways():
    x = np.arange(40.0).reshape(10, WIDTH)
    x[3, 2], x[5, 1] = np.nan, 27.0
    several, single = np.zeros((10, 2, WIDTH)), np.zeros((10, 2))
    in_all_lanes(walk, "x, out, most")(x, several, 50)
    alone = numba.njit(**OPTIONS)(walk)
    for lane in range(WIDTH):
        alone(x[:, lane].copy(), single, 50)
        assert np.array_equal(several[:, :, lane], single)
    assert len(np.unique(several[:, 0])) > 10 and several[3, 0, 2] == -1.0


def test_series_and_closed_forms_side_by_side():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, WIDTH)) * 10.0 ** rng.uniform(-6.0, 6.0, size=(60, WIDTH))
    several, single = np.zeros((60, 8, WIDTH)), np.zeros((60, 8))
    in_all_lanes(functions, "x, out")(x, several)
    exact = np.stack([np.sin(x), np.cos(x), np.sin(0.5 * x), np.cos(0.5 * x)], axis=1)
    np.testing.assert_allclose(several[:, :4], exact, rtol=0.0, atol=3e-16)
    alone = numba.njit(**OPTIONS)(functions)
    for lane in range(WIDTH):
        alone(x[:, lane].copy(), single)
        np.testing.assert_allclose(several[:, :, lane], single, rtol=1e-13, atol=1e-15)


def test_a_lane_does_not_see_its_neighbours():
    x = np.tile(np.linspace(0.1, 3.0, 10)[:, None], WIDTH)
    several, mixed = np.zeros((10, 8, WIDTH)), np.zeros((10, 8, WIDTH))
    run = in_all_lanes(functions, "x, out")
    run(x, several)
    assert all(np.array_equal(several[:, :, 0], several[:, :, lane]) for lane in range(WIDTH))
    x[:, 0], x[:, 3] = np.nan, 1e9
    run(x, mixed)
    assert np.array_equal(mixed[:, :, 1:3], several[:, :, 1:3])


def test_what_cannot_be_done_in_lanes_is_refused():
    def index(x, out):
        out[int(x[0]), 0] = 1.0

    def shared(x, out):
        if x[0] > 0.0:
            x[0, 1] = 1.0

    for function, words in ((index, "an index that differs"), (shared, "all lanes share")):
        with pytest.raises(Exception, match=words):
            in_all_lanes(function, "x, out")(np.ones((2, WIDTH)), np.ones((2, 2, WIDTH)))
