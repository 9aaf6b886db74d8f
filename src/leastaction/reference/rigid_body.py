"""A single rigid body turning about its centre: three integrators and the steps they can solve (Kobilarov 2014, sec. 3).

Everything is vectorised: inertia (..., 3, 3) about the centre, kg m^2; omega (..., 3) in body axes, rad/s; rotation (..., 3, 3)
body to world; torque (..., 3) in body axes, N m; h the step, s.

    euler            explicit, order 1                                            (5), (6)
    lie_newmark      trapezoidal Lie-Newmark, implicit, order 2                   (9), (10)
    cayley           symplectic with the Cayley map, implicit, order 2            (11), (12); keeps the spatial momentum exactly

The implicit ones solve e(omega_{k+1}) = 0 by Newton's method.  Their Jacobians are regular for every step up to a bound on
h |omega| that depends only on kappa, the ratio of the largest to the smallest principal moment; omega is the Newton iterate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConvergenceError

Array = NDArray[np.float64]


def hat(x: ArrayLike) -> Array:
    """(..., 3) -> (..., 3, 3), hat(x) y = x cross y."""
    x = np.asarray(x)
    out = np.zeros((*x.shape, 3), dtype=x.dtype)
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = x[..., 0], x[..., 1], x[..., 2]
    return out - np.swapaxes(out, -1, -2)


def exponential(x: ArrayLike) -> Array:
    """Rotation by the vector x, (7)."""
    x = np.asarray(x, dtype=float)
    angle = np.linalg.norm(x, axis=-1)[..., None, None]
    s, c = np.sinc(angle / np.pi), 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    return np.eye(3) + s * hat(x) + c * hat(x) @ hat(x)


def cayley_map(x: ArrayLike) -> Array:
    """Rotation with the Cayley vector x, (13)."""
    x = np.asarray(x, dtype=float)
    f = 4.0 / (4.0 + np.sum(x * x, axis=-1))[..., None, None]
    return np.eye(3) + f * (hat(x) + 0.5 * hat(x) @ hat(x))


def _apply(matrix: Array, vector: Array) -> Array:
    return np.einsum("...ij,...j->...i", matrix, vector)


def _cross(a: Array, b: Array) -> Array:
    return _apply(hat(a), b)


def euler_step(inertia: Array, rotation: Array, omega: Array, h: float, torque: ArrayLike = 0.0) -> tuple[Array, Array]:
    """(rotation, omega) after a step: omega first, then the rotation with the new omega."""
    momentum = _apply(inertia, omega)
    rate = np.linalg.solve(inertia, (_cross(momentum, omega) + np.asarray(torque))[..., None])[..., 0]
    new = omega + h * rate
    return rotation @ exponential(h * new), new


def lie_newmark_momentum(inertia: Array, omega: Array, h: float) -> Array:
    """(1 + h omega^/2) J omega, the left side of (15); with -h the momentum that arrives from the step before."""
    momentum = _apply(inertia, omega)
    return momentum + 0.5 * h * _cross(omega, momentum)


def lie_newmark_jacobian(inertia: Array, omega: Array, h: float) -> Array:
    """(17)"""
    return inertia + 0.5 * h * (hat(omega) @ inertia - hat(_apply(inertia, omega)))


def cayley_momentum(inertia: Array, omega: Array, h: float) -> Array:
    """(dcay^-1_{h omega})' J omega, the left side of (16); with -h the momentum that arrives from the step before."""
    momentum = _apply(inertia, omega)
    return lie_newmark_momentum(inertia, omega, h) + 0.25 * h * h * omega * np.sum(omega * momentum, axis=-1)[..., None]


def cayley_jacobian(inertia: Array, omega: Array, h: float) -> Array:
    """(18) with both powers of h that are missing in print: h^2/4 omega' J omega + h^2/2 omega omega' J."""
    momentum = _apply(inertia, omega)
    energy = np.sum(omega * momentum, axis=-1)[..., None, None]
    curved = energy * np.eye(3) + 2.0 * omega[..., :, None] * momentum[..., None, :]
    return lie_newmark_jacobian(inertia, omega, h) + 0.25 * h * h * curved


def lie_newmark_step(inertia: Array, rotation: Array, omega: Array, h: float, torque: ArrayLike = 0.0) -> tuple[Array, Array]:
    """(rotation, omega) after a step."""
    target = lie_newmark_momentum(inertia, omega, -h) + h * np.asarray(torque)
    new = _newton(lie_newmark_momentum, lie_newmark_jacobian, inertia, omega, target, h)
    return rotation @ exponential(h * new), new


def cayley_step(inertia: Array, rotation: Array, omega: Array, h: float, torque: ArrayLike = 0.0) -> tuple[Array, Array]:
    """(rotation, omega) after a step."""
    target = cayley_momentum(inertia, omega, -h) + h * np.asarray(torque)
    new = _newton(cayley_momentum, cayley_jacobian, inertia, omega, target, h)
    return rotation @ cayley_map(h * new), new


def spatial_momentum(inertia: Array, rotation: Array, omega: Array, h: float) -> Array:
    """R (dcay^-1_{-h omega})' J omega, which `cayley_step` keeps without torque; (rotation, omega) as it returned them."""
    return _apply(rotation, cayley_momentum(inertia, omega, -h))


def _newton(momentum, jacobian, inertia: Array, omega: Array, target: Array, h: float) -> Array:
    """Pure Newton from the last omega, to rounding."""
    scale = np.abs(target).max()
    for _ in range(30):
        r = momentum(inertia, omega, h) - target
        if np.abs(r).max() <= 1e-14 * scale:
            return omega
        omega = omega - np.linalg.solve(jacobian(inertia, omega, h), r[..., None])[..., 0]
    if np.abs(r).max() <= 1e-11 * scale:
        return omega
    raise ConvergenceError(
        f"Newton's method did not find the next angular velocity (residual {np.abs(r).max():.3g}); the step h = {h:g} s is too long, "
        "see lie_newmark_bound and cayley_bound",
        step=0, time=0.0, residual=float(np.abs(r).max()),
    )  # fmt: skip


def condition(inertia: ArrayLike) -> Array:
    """kappa: largest over smallest principal moment."""
    moments = np.linalg.eigvalsh(np.asarray(inertia, dtype=float))
    return moments[..., -1] / moments[..., 0]


def lie_newmark_bound(kappa: ArrayLike) -> Array:
    """(19): the Jacobian of Lie-Newmark is positive definite for h |omega| below this."""
    with np.errstate(divide="ignore"):
        return 4.0 / (np.asarray(kappa, dtype=float) - 1.0)


def cayley_bound(kappa: ArrayLike) -> Array:
    """(20): the Jacobian of the symplectic integrator is positive definite for h |omega| below this.

    The inequality it is derived from is not true for kappa < 2.83, the bound itself is.
    """
    kappa = np.asarray(kappa, dtype=float)
    return _first_root(kappa, 1.0 - 0.25 * kappa)


def cayley_bound_sharp(kappa: ArrayLike) -> Array:
    """The same from the best constant: sym(De) >= sigma_min (1 - (kappa-1) y/4 + c(kappa) y^2), y = h |omega|.

    c = 1/4 for kappa <= 3, else 1/2 - 1/(2 (kappa+1)) - (kappa+1)/32.  No bound at all up to kappa = 4.85.
    """
    kappa = np.asarray(kappa, dtype=float)
    beyond = 0.5 - 0.5 / (kappa + 1.0) - (kappa + 1.0) / 32.0
    return _first_root(kappa, np.where(kappa <= 3.0, 0.25, beyond))


def _first_root(kappa: Array, c: Array) -> Array:
    """Smallest positive root of 1 - (kappa-1) y/4 + c y^2, infinite if there is none."""
    b = 0.25 * (kappa - 1.0)
    inside = b * b - 4.0 * c
    with np.errstate(divide="ignore", invalid="ignore"):
        root = 2.0 / (b + np.sqrt(np.maximum(inside, 0.0)))
    return np.where(inside < 0.0, np.inf, root)
