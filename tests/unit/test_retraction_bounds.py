"""Bounds that certificates of steps with ball joints rest on, or would (docs/step-size): above what is sampled, and sharp."""

from math import factorial

import numpy as np
import pytest
from scipy.linalg import expm

from leastaction.kernels.solvability.groups import FIRST_BEND, SECOND_BEND

SIZES = (1e-3, 0.3, 1.0, 2.0, 3.0)


def hat(x):
    a, b, c = x
    return np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])


def derivative_of_exp(x, u, order):
    """m-th derivative of t -> exp(x + t u) at 0: a corner of the exponential of a block matrix (Dyson's series)."""
    blocks = np.kron(np.eye(order + 1), hat(x)) + np.kron(np.eye(order + 1, k=1), hat(u))
    return factorial(order) * expm(blocks)[:3, 3 * order :]


def derivative_of_cayley(x, u, order):
    inverse = np.linalg.inv(np.eye(3) - hat(x) / 2)
    return 2.0 * factorial(order) * 0.5**order * inverse @ np.linalg.matrix_power(hat(u) @ inverse, order)


def unit(rng):
    u = rng.normal(size=3)
    return u / np.linalg.norm(u)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_derivatives_of_the_rotation_are_bounded_everywhere(order):
    rng = np.random.default_rng(order)
    bounds = {derivative_of_exp: 1.0, derivative_of_cayley: factorial(order) / 2 ** (order - 1)}
    for derivative, bound in bounds.items():
        largest = 0.0
        for size in SIZES:
            for _ in range(40):
                x, u = size * unit(rng), unit(rng)
                largest = max(largest, np.linalg.norm(derivative(x, u, order), 2), np.linalg.norm(derivative(size * u, u, order), 2))
        assert largest <= bound * (1.0 + 1e-12)
        assert largest >= 0.99 * bound  # nothing is given away


def test_derivatives_are_what_they_are_called():
    x, u, t = np.array([0.3, -0.8, 0.5]), np.array([0.6, 0.0, 0.8]), 1e-5
    for derivative, value in (
        (derivative_of_exp, lambda y: expm(hat(y))),
        (derivative_of_cayley, lambda y: 2.0 * np.linalg.inv(np.eye(3) - hat(y) / 2) - np.eye(3)),
    ):
        first = (value(x + t * u) - value(x - t * u)) / (2 * t)
        second = (derivative(x + t * u, u, 1) - derivative(x - t * u, u, 1)) / (2 * t)
        assert np.abs(first - derivative(x, u, 1)).max() < 1e-9
        assert np.abs(second - derivative(x, u, 2)).max() < 1e-9


def test_along_a_straight_line_the_cayley_map_turns_about_one_axis_and_its_rate_bends_little():
    """eta = (1 - x^/2) u / (1 + |x|^2/4), the rate in the body: its direction stays, its derivatives in t are within the bounds."""
    rng, t, largest = np.random.default_rng(3), np.linspace(-8.0, 8.0, 16001), np.zeros(3)

    def rate(x, u):
        return (u - np.cross(x, u) / 2) / (1 + np.sum(x * x, -1, keepdims=True) / 4)

    for k in range(60):
        u = unit(rng)
        x0 = 0.0 * u if k == 0 else rng.choice(SIZES) * unit(rng)  # a line through zero is the sharpest
        eta = rate(x0 + t[:, None] * u, u)
        lengths = np.linalg.norm(eta, axis=1)
        assert np.abs(eta - lengths[:, None] * eta[0] / lengths[0]).max() < 1e-14
        step = t[1] - t[0]
        first = (lengths[2:] - lengths[:-2]) / (2 * step)
        second = (lengths[2:] - 2 * lengths[1:-1] + lengths[:-2]) / step**2
        largest = np.maximum(largest, [lengths.max(), np.abs(first).max(), np.abs(second).max()])
        small = 1e-6
        cay = [2.0 * np.linalg.inv(np.eye(3) - hat(x0 + s * u) / 2) - np.eye(3) for s in (-small, 0.0, small)]
        turn = cay[1].T @ (cay[2] - cay[0]) / (2 * small)
        np.testing.assert_allclose(turn, hat(rate(x0, u)), rtol=0, atol=1e-9)
    bounds = np.array([1.0, FIRST_BEND, SECOND_BEND])
    assert np.all(largest <= bounds * (1 + 1e-6)) and np.all(largest >= 0.999 * bounds)


def majorant(r):
    """1 + r/2 + (1 - (r/2) cot(r/2)) = 1 + r/2 + sum |B_2k| r^2k / (2k)!, which exceeds |dexp^-1| and whose derivatives exceed its."""
    return 2.0 + r / 2 - r / 2 / np.tan(r / 2)


def inverse_tangent(x):
    """dexp^-1_x"""
    r, X = np.linalg.norm(x), hat(x)
    return np.eye(3) - X / 2 + (1.0 - r / 2 / np.tan(r / 2)) / r**2 * X @ X


def test_the_inverse_tangent_is_below_its_series_of_absolute_values():
    rng, t = np.random.default_rng(7), 1e-4
    for size in SIZES:
        slope = (majorant(size + t) - majorant(size - t)) / (2 * t)
        bend = (majorant(size + t) - 2 * majorant(size) + majorant(size - t)) / t**2
        for _ in range(20):
            x, u = size * unit(rng), unit(rng)
            there, here, back = (inverse_tangent(x + s * u) for s in (t, 0.0, -t))
            assert np.linalg.norm(here, 2) <= majorant(size)
            assert np.linalg.norm(there - back, 2) / (2 * t) <= slope + 1e-6
            if size > 0.1:  # differences of second order lose their digits below
                assert np.linalg.norm(there - 2 * here + back, 2) / t**2 <= bend + 1e-5
