"""The reference itself: complex steps against 50-digit differences, and the laws of its building blocks."""

import mpmath
import numpy as np
import pytest

from leastaction import joints
from leastaction.testing import Kinematics, discrete_lagrangian, leaving_momentum, random_mechanism, random_state
from leastaction.testing import matrices as mat


def exact(x):
    return np.frompyfunc(mpmath.mpf, 1, 1)(np.asarray(x))


@pytest.mark.parametrize("retraction", ["exp", "cayley"])
@pytest.mark.parametrize("quadrature", ["trapezoid", "midpoint"])
def test_complex_step_equals_fifty_digit_difference(retraction, quadrature):
    rng = np.random.default_rng(3)
    mech = random_mechanism(rng, 4)
    mech.forces = [f for f in mech.forces if type(f).__name__ == "Spring"]  # what has a potential
    kin = Kinematics(mech)
    q0, v = random_state(mech.compile(), rng)
    q1, h = kin.advanced(q0, 0.05 * v), 0.05
    wanted = np.empty(kin.nv)
    with mpmath.workdps(50):
        step = mpmath.mpf(10) ** -15
        for j, e in enumerate(np.eye(kin.nv)):
            moved = [kin.varied(exact(q0), exact(s * e) * step) for s in (1.0, -1.0)]
            up, down = (discrete_lagrangian(kin, q, exact(q1), exact(h), retraction, quadrature) for q in moved)
            wanted[j] = -float((up - down) / (2 * step))
    got = leaving_momentum(kin, q0, q1, h, None, retraction, quadrature)
    assert np.abs(got - wanted).max() <= 1e-12 * np.abs(wanted).max()


@pytest.mark.parametrize("retraction", mat.RETRACTIONS)
@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 0.2, 1.0, 1.7])
def test_reference_retractions_and_inverses(retraction, size):
    x = size * np.random.default_rng(0).normal(size=(20, 6)) / np.sqrt(3)
    back = mat.INVERSE_RETRACTIONS[retraction](mat.RETRACTIONS[retraction](x))
    assert np.abs(back - x).max() <= 1e-13


@pytest.mark.parametrize("kind", [k for k in joints.ALL if k.has_quaternion])
def test_charts_of_ball_and_free_joints(kind):
    rng = np.random.default_rng(0)
    joint = kind()
    q = rng.normal(size=joint.nq)
    q[-4:] /= np.linalg.norm(q[-4:])
    d = rng.normal(size=joint.nv)
    end = joint.reference_advance(q, d)
    assert np.abs(joint.reference_increment(q, end) - d).max() < 1e-14
    # the midpoint of there and back is the same, and lies half a turn and half a way from both ends
    assert np.abs(joint.reference_pose(joint.reference_middle(q, end)) - joint.reference_pose(joint.reference_middle(end, q))).max() < 1e-14
    half = joint.reference_middle(q, end)
    a = mat.rigid_inverse(joint.reference_pose(q)) @ joint.reference_pose(half)
    b = mat.rigid_inverse(joint.reference_pose(half)) @ joint.reference_pose(end)
    assert np.abs(a[:3, :3] - b[:3, :3]).max() < 1e-14
