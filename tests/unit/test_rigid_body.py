"""The single rigid body: Jacobians, orders, momentum, and bounds on the step that no body violates."""

import numpy as np
import pytest

from leastaction.reference import free_body
from leastaction.reference import rigid_body as rb

STEPS = {"lie_newmark": rb.lie_newmark_step, "cayley": rb.cayley_step}
PARTS = {"lie_newmark": (rb.lie_newmark_momentum, rb.lie_newmark_jacobian), "cayley": (rb.cayley_momentum, rb.cayley_jacobian)}
BODIES = 50_000


def random_bodies(count, seed=0, largest=20.0):
    """Inertias of any positive definite kind with condition numbers from 1 to `largest`, and angular velocities."""
    rng = np.random.default_rng(seed)
    kappa = np.exp(rng.uniform(0.0, np.log(largest), count))
    moments = np.stack([np.ones(count), 1.0 + (kappa - 1.0) * rng.uniform(size=count), kappa], axis=1)
    axes, _ = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    inertia = np.einsum("nij,nj,nkj->nik", axes, moments * np.exp(rng.normal(size=(count, 1))), axes)
    return inertia, rng.normal(size=(count, 3)), kappa


@pytest.mark.parametrize("name", PARTS)
def test_jacobian_by_complex_steps(name):
    momentum, jacobian = PARTS[name]
    inertia, omega, _ = random_bodies(20)
    for j in range(3):
        moved = omega.astype(complex)
        moved[:, j] += 1e-30j
        derivative = momentum(inertia.astype(complex), moved, 0.3).imag / 1e-30
        np.testing.assert_allclose(jacobian(inertia, omega, 0.3)[:, :, j], derivative, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name, order", [("euler", 1), ("lie_newmark", 2), ("cayley", 2)])
def test_order_against_the_exact_motion(name, order):
    step = STEPS.get(name, rb.euler_step)
    moments, omega = np.array([1.0, 2.0, 2.8]), np.array([0.4, 1.0, 0.2])
    errors, counts = [], np.array([40, 80, 160])
    for n in counts:
        # omega of the implicit ones lives in the middle of a step: start half a step early, compare half a step early
        h = 2.0 / n
        shift = 0.0 if name == "euler" else -0.5 * h
        w = free_body.angular_velocity([shift], moments, omega)[0] if shift else omega
        R = np.eye(3)
        for _ in range(n):
            R, w = step(np.diag(moments), R, w, h)
        errors.append(np.abs(w - free_body.angular_velocity([2.0 + shift], moments, omega)[0]).max())
    assert np.polyfit(np.log(1.0 / counts), np.log(errors), 1)[0] == pytest.approx(order, abs=0.15)


def test_symplectic_one_keeps_the_spatial_momentum():
    inertia, omega, _ = random_bodies(50, largest=3.0)
    R = np.broadcast_to(np.eye(3), inertia.shape)
    R, omega = rb.cayley_step(inertia, R, omega, 0.1)
    before = rb.spatial_momentum(inertia, R, omega, 0.1)
    for _ in range(50):
        R, omega = rb.cayley_step(inertia, R, omega, 0.1)
    np.testing.assert_allclose(rb.spatial_momentum(inertia, R, omega, 0.1), before, rtol=0, atol=1e-12)
    np.testing.assert_allclose(R @ np.swapaxes(R, 1, 2), np.broadcast_to(np.eye(3), R.shape), atol=1e-13)


@pytest.mark.parametrize(
    "bound, jacobian",
    [(rb.lie_newmark_bound, rb.lie_newmark_jacobian), (rb.cayley_bound, rb.cayley_jacobian), (rb.cayley_bound_sharp, rb.cayley_jacobian)],
)
def test_no_body_violates_a_bound(bound, jacobian):
    """Positive definite, hence regular, for every step below the bound; unbounded ones at steps up to 100/|omega|."""
    inertia, omega, kappa = random_bodies(BODIES)
    rng = np.random.default_rng(1)
    limit = np.minimum(bound(kappa), 100.0)
    for fraction in (1.0 - 1e-9, rng.uniform(size=BODIES)):
        h = fraction * limit / np.linalg.norm(omega, axis=1)
        J = jacobian(inertia, h[:, None] * omega, 1.0)  # the Jacobian depends on h omega only
        smallest = np.linalg.eigvalsh(0.5 * (J + np.swapaxes(J, 1, 2)))[:, 0] / np.linalg.eigvalsh(inertia)[:, 0]
        assert np.all(smallest > -1e-9)


def test_bounds_are_what_the_paper_says():
    kappa = np.linspace(1.0, 30.0, 400)
    printed = 4.0 * np.sqrt(7.0) - 7.0
    assert np.all(np.isinf(rb.cayley_bound(kappa)) == (kappa <= printed))
    apart = kappa[(kappa > printed) & (np.abs(kappa - 4.0) > 1e-3)]
    formula = (apart - 1.0 - np.sqrt(apart**2 + 14.0 * apart - 63.0)) / (8.0 - 2.0 * apart)
    np.testing.assert_allclose(rb.cayley_bound(apart), formula, rtol=1e-9)
    assert rb.cayley_bound(4.0) == pytest.approx(4.0 / 3.0)
    finite = np.isfinite(rb.cayley_bound(kappa))
    assert np.all(rb.cayley_bound_sharp(kappa)[finite] >= rb.cayley_bound(kappa)[finite])
    # with the sharp constant the symplectic integrator allows longer steps than Lie-Newmark up to kappa = 7 + 4 sqrt 3
    wider = rb.cayley_bound_sharp(kappa[1:]) > rb.lie_newmark_bound(kappa[1:])
    assert np.array_equal(wider, kappa[1:] < 7.0 + 4.0 * np.sqrt(3.0))


def test_best_constant_is_attained():
    """c(kappa) cannot be larger: bodies come within a thousandth of the inequality."""
    for kappa in (2.0, 5.0, 10.0):
        rng = np.random.default_rng(3)
        moments = np.stack([np.ones(BODIES), rng.uniform(1.0, kappa, BODIES), np.full(BODIES, kappa)], axis=1)
        moments[: BODIES // 2, 1] = np.where(rng.uniform(size=BODIES // 2) < 0.5, 1.0, kappa)
        inertia = moments[:, :, None] * np.eye(3)
        direction = rng.normal(size=(BODIES, 3))
        direction[::2, 1] = 0.0
        direction /= np.linalg.norm(direction, axis=1)[:, None]
        y = 1e3
        J = rb.cayley_jacobian(inertia, y * direction, 1.0)
        smallest = np.linalg.eigvalsh(0.5 * (J + np.swapaxes(J, 1, 2)))[:, 0].min() / y**2
        c = 0.25 if kappa <= 3.0 else 0.5 - 0.5 / (kappa + 1.0) - (kappa + 1.0) / 32.0
        assert c - 1e-2 < smallest < c + 5e-2
