"""Matrices, quaternions and Cayley vectors on tuples of floats against NumPy and the definitions, all over the rotation group."""

import mpmath
import numpy as np
import pytest

from leastaction.lie import rotations
from leastaction.lie.algebra import matinverse
from leastaction.lie.retraction_exp import half_angle_ratio
from leastaction.testing import matrices as mat

EPS = np.finfo(float).eps


def quaternions(seed=0):
    """(w, x, y, z): random ones, turns about every axis up to half a turn and just beyond it, ones with two parts of one size."""
    rng = np.random.default_rng(seed)
    axes = np.array([*np.eye(3), *-np.eye(3), *rng.normal(size=(3, 3))])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    angles = (0.0, 1e-9, 1.0, np.pi - 1e-3, np.pi, np.pi + 1e-3, 5.0)
    turns = [np.concatenate([[np.cos(a / 2)], np.sin(a / 2) * axis]) for a in angles for axis in axes]
    equal = [np.eye(4)[i] + s * np.eye(4)[j] for i in range(4) for j in range(i) for s in (1.0, -1.0)]
    found = np.array([*turns, *equal, *rng.normal(size=(40, 4))])
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_quaternions_of_matrices_are_theirs():
    """Up to the sign, whichever of the four parts is the largest."""
    largest = set()
    for exact in quaternions():
        w, u = rotations.matrix_to_quaternion(tuple(mat.quaternion_matrix(exact).ravel()))
        assert 1.0 - abs(np.dot(exact, (w, *u))) < 4 * EPS and abs(np.linalg.norm((w, *u)) - 1.0) < 4 * EPS
        assert np.abs(mat.quaternion_matrix(np.array([w, *u])) - mat.quaternion_matrix(exact)).max() < 8 * EPS
        largest.add(int(np.abs(exact).argmax()))
    assert largest == {0, 1, 2, 3}


def test_half_of_a_turn_twice_is_the_turn():
    for w, *u in quaternions():
        w, u = (w, u) if w >= 0.0 else (-w, [-x for x in u])
        half, axis = rotations.half_quaternion(w, tuple(u))
        assert np.abs(mat.quaternion_product(*[np.array([half, *axis])] * 2) - [w, *u]).max() < 4 * EPS


def test_cayley_vectors_and_quaternions_are_inverse():
    for w, *u in quaternions():
        if abs(w) > 1e-9:
            d = np.array([9.0, *rotations.cayley_vector(w, tuple(u))])
            back, axis = rotations.cayley_quaternion(d, 1)
            turned = mat.RETRACTIONS["cayley"](np.array([*d[1:], 0.0, 0.0, 0.0]))[:3, :3]
            assert np.abs(turned - mat.quaternion_matrix(np.array([w, *u]))).max() < 8 * EPS / w**2  # long vectors
            assert np.abs(np.array([back, *axis]) * np.sign(w) - [w, *u]).max() < 8 * EPS


@pytest.mark.parametrize("seed", range(5))
def test_rate_of_a_cayley_vector_is_its_derivative(seed):
    """In a turn of the far end about its own axes."""
    rng = np.random.default_rng(seed)
    d, turn = rng.normal(size=(2, 3))
    step = 1e-5

    def vector(s):
        """Of cay(d) cay(s turn)."""
        w, *u = mat.quaternion_product(*(np.array([2.0, *x]) / np.sqrt(4.0 + x @ x) for x in (d, s * turn)))
        return 2.0 * np.array(u) / w

    assert np.abs(rotations.cayley_rate(d, turn) - (vector(step) - vector(-step)) / (2 * step)).max() < 1e-8


def test_angles_go_round_and_on():
    for angle in (-3.0, 0.0, 0.4, 3.1):
        R = rotations.rot_z(angle)
        assert abs(rotations.angle_about_z(R) - angle) < 4 * EPS
        for old in (-20.0, -3.2, 0.0, 3.0, 50.0):
            near = rotations.near(rotations.angle_about_z(R), old)
            assert abs(near - old) <= np.pi + 1e-12 and np.abs(np.subtract(rotations.rot_z(near), R)).max() < 100 * EPS


@pytest.mark.parametrize("seed", range(5))
def test_inverse_of_a_matrix_times_the_matrix_is_one(seed):
    a = np.random.default_rng(seed).normal(size=(3, 3))
    assert np.abs(np.reshape(matinverse(tuple(a.ravel())), (3, 3)) @ a - np.eye(3)).max() < 1e-12


def test_ratio_of_an_angle_to_the_sine_of_its_half_is_right_to_the_last_digit():
    """On both sides of the place where the series ends, and with both signs of the quaternion."""
    for s in [*np.sqrt(np.linspace(1e-6, 0.0055, 200)), 0.3, 0.9]:
        u = (s * 0.6, 0.0, s * 0.8)
        with mpmath.workdps(40):
            exact = mpmath.mpf(np.hypot(u[0], u[2]))
            ratio = float(2 * mpmath.asin(exact) / exact)
        w = np.sqrt((1.0 - s) * (1.0 + s))
        roundings = 1.0 if s * s < 0.005 else 2.0  # of the series, of a quotient
        assert abs(half_angle_ratio(w, u) - ratio) <= roundings * EPS * ratio
        assert half_angle_ratio(-w, u) == -half_angle_ratio(w, u)
