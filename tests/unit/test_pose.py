"""Pose: conventions and group laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastaction as la
from leastaction.pose import quaternion_of_rotation, rotation_of_quaternion
from leastaction.testing.matrices import turn

seeds = st.integers(0, 2**32 - 1)


def random_pose(rng):
    return la.Pose(rng.normal(size=3), quaternion=rng.normal(size=4))


def same(a, b):
    return np.abs(a.R - b.R).max() < 1e-14 and np.abs(a.p - b.p).max() < 1e-13


@given(seeds)
def test_inverse_and_association(seed):
    rng = np.random.default_rng(seed)
    a, b, c = (random_pose(rng) for _ in range(3))
    assert same(a @ a.inverse(), la.Pose()) and same(a.inverse() @ a, la.Pose())
    assert same((a @ b) @ c, a @ (b @ c))
    assert same((a @ b).inverse(), b.inverse() @ a.inverse())


@given(seeds)
def test_rotations_are_the_same_however_they_are_written(seed):
    rng = np.random.default_rng(seed)
    roll, pitch, yaw = rng.uniform(-3, 3, size=3)
    R = turn([0, 0, 1], yaw) @ turn([0, 1, 0], pitch) @ turn([1, 0, 0], roll)
    quaternion = quaternion_of_rotation(R)
    assert abs(np.linalg.norm(quaternion) - 1) < 1e-15 and quaternion[0] >= 0
    for pose in (la.Pose(rpy=(roll, pitch, yaw)), la.Pose(quaternion=3.0 * quaternion), la.Pose(rotation=R)):
        assert np.abs(pose.R - R).max() < 1e-14


@pytest.mark.parametrize("axis", np.eye(3))
@pytest.mark.parametrize("angle", [np.pi, np.pi - 1e-9, 1e-9, 0.0])
def test_quaternion_survives_half_turns_and_tiny_angles(axis, angle):
    R = turn(axis, angle)
    assert np.abs(rotation_of_quaternion(quaternion_of_rotation(R)) - R).max() < 1e-15


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("quarters", range(-4, 5))
def test_quarter_turns_are_exact(axis, quarters):
    """However pi/2 is rounded; an angle beside it is what it says."""
    rpy = np.zeros(3)
    rpy[axis] = quarters * np.pi / 2
    R = la.Pose(rpy=rpy).R
    assert np.array_equal(R, np.round(turn(np.eye(3)[axis], rpy[axis])))
    rpy[axis] += 1e-12
    beside = la.Pose(rpy=rpy).R
    assert np.abs(beside - turn(np.eye(3)[axis], rpy[axis])).max() < 1e-15 < np.abs(beside - R).max()


def test_scalar_comes_first():
    assert np.allclose(la.Pose(quaternion=(np.cos(0.1), 0, 0, np.sin(0.1))).R, turn([0, 0, 1], 0.2), atol=1e-15)


@pytest.mark.parametrize("arguments, word", [
    ({"xyz": (0, 0)}, "xyz"),
    ({"xyz": (0, np.nan, 0)}, "xyz"),
    ({"xyz": "abc"}, "xyz"),
    ({"rpy": (0, np.inf, 0)}, "rpy"),
    ({"quaternion": (0, 0, 0, 0)}, "quaternion"),
    ({"quaternion": (1, 0, 0)}, "quaternion"),
    ({"rotation": np.diag([1.0, 1.0, -1.0])}, "rotation"),
    ({"rotation": 2 * np.eye(3)}, "rotation"),
    ({"rpy": (0, 0, 0), "quaternion": (1, 0, 0, 0)}, "twice"),
])  # fmt: skip
def test_bad_poses_are_named(arguments, word):
    with pytest.raises(la.MechanismError, match=word):
        la.Pose(**arguments)
