"""Retraction kernels against 60-digit arithmetic on their definitions, from zero to almost half a turn."""

import mpmath
import numpy as np
import pytest

from leastaction.lie.retractions import BODY_NAMES as NAMES
from leastaction.testing import matrices as mat
from leastaction.testing import probe

ANGLES = [0.0, 1e-12, 1e-9, 1e-5, 1e-3, 0.1, 1.0, np.pi - 1e-6]
SERIES_EDGES = [0.14, 0.1415, 0.70, 0.7071, 0.7072, 2.0, 3.0]  # around the places where formulas may change
SAMPLES = 3


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


def exact(x):
    """Floats as mpmath numbers."""
    return np.frompyfunc(mpmath.mpf, 1, 1)(np.asarray(x))


def random_twists(retraction, angle, seed=0):
    """Retraction coordinates (SAMPLES, 6) of displacements that turn by `angle`."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=(SAMPLES, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    size = 2.0 * np.tan(angle / 2) if retraction == "cayley" else angle
    return np.concatenate([size * axis, rng.normal(size=(SAMPLES, 3))], axis=1)


def displacement(retraction, x):
    out = np.empty((len(x), 7))
    probe.retraction_displacement(NAMES[retraction], x, out)
    return out


def coordinates(retraction, D):
    out = np.empty((len(D), 6))
    probe.retraction_coordinates(NAMES[retraction], D, out)
    return out


def close(got, wanted, tolerance):
    """Row by row relative to the largest entry of the row."""
    wanted = np.asarray(wanted, dtype=float)
    size = np.abs(wanted).max(axis=-1, keepdims=True)
    assert np.all(np.abs(got - wanted) <= tolerance * size), f"off by {np.abs((got - wanted) / np.where(size, size, 1)).max():.3g}"


@pytest.mark.parametrize("angle", ANGLES + SERIES_EDGES)
@pytest.mark.parametrize("retraction", mat.RETRACTIONS)
class TestRetraction:
    def test_displacement_is_the_definition(self, retraction, angle):
        x = random_twists(retraction, angle)
        D = displacement(retraction, x)
        wanted = mat.RETRACTIONS[retraction](exact(x)).astype(float)
        assert np.abs(mat.quaternion_matrix(D[:, :4]) - wanted[:, :3, :3]).max() < 2e-15
        close(D[:, 4:], wanted[:, :3, 3], 4e-15)
        assert np.abs(np.linalg.norm(D[:, :4], axis=1) - 1).max() < 4e-16

    def test_coordinates_invert_displacement(self, retraction, angle):
        x = random_twists(retraction, angle)
        back = coordinates(retraction, displacement(retraction, x))
        # relative for both parts: a tiny rotation must not be lost beside the translation.  Close to half a turn the
        # Cayley vector is long and rho = t - phi x t / 2 the small difference of large numbers.
        amplification = max(1.0, np.abs(x[:, :3]).max())
        close(back[:, :3], x[:, :3], 1e-14)
        close(back[:, 3:], x[:, 3:], 1e-14 * amplification)

    def test_quaternion_sign_does_not_matter(self, retraction, angle):
        D = displacement(retraction, random_twists(retraction, angle))
        flipped = D * np.array([-1.0] * 4 + [1.0] * 3)
        assert np.array_equal(coordinates(retraction, flipped), coordinates(retraction, D))

    def test_cotangent_is_the_derivative_of_coordinates(self, retraction, angle):
        """(dtau^-1_x)' m is the gradient of m . tau^-1(exp(e) tau(x)) in e."""
        x = random_twists(retraction, angle)
        m = np.random.default_rng(1).normal(size=x.shape)
        got = np.empty_like(x)
        probe.retraction_cotangent(NAMES[retraction], x, m, got)
        D = mat.RETRACTIONS[retraction](exact(x))
        step = mpmath.mpf(10) ** -20
        wanted = np.empty_like(x)
        for j, e in enumerate(np.eye(6)):
            moved = [mat.INVERSE_RETRACTIONS[retraction](mat.exp(exact(s * e) * step) @ D) for s in (1.0, -1.0)]
            wanted[:, j] = (mat.dot(moved[0] - moved[1], m) / (2 * step)).astype(float)
        close(got, wanted, 1e-14)

    def test_stiffness_is_the_derivative_of_cotangent(self, retraction, angle):
        """h K[j, l] is the mixed derivative of x'Gx/2 in a motion e_j before and e_l after the displacement."""
        x = random_twists(retraction, angle)
        rng = np.random.default_rng(2)
        mass, c, square = 1.3, rng.normal(size=3), rng.normal(size=(3, 3))
        inertia = square @ square.T + mass * (c @ c * np.eye(3) - np.outer(c, c))
        G = np.block([[inertia, mass * mat.hat(c)], [-mass * mat.hat(c), mass * np.eye(3)]])
        body = np.tile(np.concatenate([[mass], mass * c, inertia[np.triu_indices(3)]]), (len(x), 1))
        blocks = np.empty((len(x), 36))
        probe.retraction_stiffness(NAMES[retraction], x, body, blocks)
        aa, al, la, ll = np.moveaxis(blocks.reshape(-1, 4, 3, 3), 1, 0)
        got = np.concatenate([np.concatenate([aa, al], 2), np.concatenate([la, ll], 2)], 1)

        D = mat.RETRACTIONS[retraction](exact(x[0]))
        step = mpmath.mpf(10) ** -15
        moves = {s: mat.exp(exact(s * np.eye(6)) * step) for s in (1.0, -1.0)}

        def action(before, after):  # (6, 6) for all pairs of directions
            y = mat.INVERSE_RETRACTIONS[retraction]((before @ D)[:, None] @ after[None])
            return mat.dot(y, mat.times(exact(G), y)) / 2

        mixed = action(moves[1.0], moves[1.0]) - action(moves[1.0], moves[-1.0])
        mixed = mixed - action(moves[-1.0], moves[1.0]) + action(moves[-1.0], moves[-1.0])
        wanted = (mixed / (4 * step * step)).astype(float)
        assert np.abs(got[0] - wanted).max() <= 2e-14 * np.abs(wanted).max()


@pytest.mark.parametrize("retraction", mat.RETRACTIONS)
def test_momentum_is_transported_by_the_displacement(retraction):
    """The arriving momentum of docs/theory (2) is Ad_D' of the leaving one: dtau^-T_{-x} = Ad' dtau^-T_x."""
    rng = np.random.default_rng(0)
    x, m = rng.normal(size=(20, 6)), rng.normal(size=(20, 6))
    left, right = np.empty_like(x), np.empty_like(x)
    probe.retraction_cotangent(NAMES[retraction], x, m, left)
    probe.retraction_cotangent(NAMES[retraction], -x, m, right)
    D = displacement(retraction, x)
    R = np.swapaxes(mat.quaternion_matrix(D[:, :4]), 1, 2)
    linear = mat.times(R, left[:, 3:])
    angular = mat.times(R, left[:, :3] - np.cross(D[:, 4:], left[:, 3:]))
    close(right, np.concatenate([angular, linear], 1), 1e-13)
