"""The laws every retraction obeys: its four kernels are one map and its derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..lie.retractions import NAMES
from . import matrices as mat
from . import probe
from .force_laws import slope

Array = NDArray[np.float64]

_ROUNDING = 1e-13  # of identities without a derivative
_DIFFERENCE = 1e-9  # of differences of order six
_REACH = 2e-2  # of those differences, rad or m
_SIZES = (0.0, 1e-9, 1e-5, 1e-2, 0.3, 1.0)  # rad: from no motion to a third of a turn


def check_retraction(name: str, seed: int = 0) -> None:
    """Check the kernels of a retraction, given by its name in `lie.retractions.NAMES`; AssertionError names the broken law."""
    assert name in NAMES, f"retraction {name!r} is not in lie.retractions.NAMES: {', '.join(NAMES)}"
    rng = np.random.default_rng(seed)
    for size in _SIZES:
        x = np.concatenate([size * _unit(rng.normal(size=3)), 0.5 * rng.normal(size=3)])
        for law in (_law_inverse, _law_small, _law_cotangent, _law_transport, _law_stiffness):
            law(Retraction(name), x, rng)


class Retraction:
    """The kernels of one retraction as Python functions; displacements are 4x4."""

    def __init__(self, name: str):
        self.name, self.number = name, NAMES[name]

    def displacement(self, x: Array) -> Array:
        out = np.full((1, 7), np.nan)
        probe.retraction_displacement(self.number, x[None].copy(), out)
        return mat.rigid(mat.quaternion_matrix(out[0, :4]), out[0, 4:])

    def coordinates(self, D: Array) -> Array:
        """x of a 4x4 displacement by less than half a turn."""
        w = np.sqrt(1.0 + np.trace(D[:3, :3])) / 2.0
        given = np.concatenate([[w], mat.vee(D[:3, :3]) / (2.0 * w), D[:3, 3]])[None]
        out = np.full((1, 6), np.nan)
        probe.retraction_coordinates(self.number, given, out)
        return out[0]

    def cotangent(self, x: Array, momentum: Array) -> Array:
        out = np.full((1, 6), np.nan)
        probe.retraction_cotangent(self.number, x[None].copy(), momentum[None].copy(), out)
        return out[0]

    def stiffness(self, x: Array, body: Array) -> Array:
        """(6, 6) h K of a body (10,): mass, mass times centre of mass, inertia about the origin."""
        out = np.full((1, 36), np.nan)
        probe.retraction_stiffness(self.number, x[None].copy(), body[None].copy(), out)
        aa, al, la, ll = out.reshape(4, 3, 3)
        return np.block([[aa, al], [la, ll]])


def _unit(a: Array) -> Array:
    return a / np.linalg.norm(a)


def _demand(got: Array, wanted: Array, tolerance: float, what: Retraction, x: Array, law: str) -> None:
    off, size = float(np.abs(got - wanted).max()), max(1e-300, float(np.abs(wanted).max()))
    assert off <= tolerance * size, f"retraction {what.name!r}: {law} is off by {off:.3g} of {size:.3g} at x = {np.round(x, 6).tolist()}"


def _law_inverse(r: Retraction, x: Array, rng: np.random.Generator) -> None:
    D = r.displacement(x)
    _demand(D[:3, :3].T @ D[:3, :3], np.eye(3), _ROUNDING, r, x, "the rotation of displacement(x)")
    back = r.coordinates(D)
    _demand(back, x, 10 * _ROUNDING, r, x, "coordinates after displacement")
    if x[:3].any():  # a small rotation must not be lost beside a large translation
        _demand(back[:3], x[:3], 1e-6 if np.abs(x[:3]).max() < 1e-6 else 1e-9, r, x, "the rotation of coordinates after displacement")


def _law_small(r: Retraction, x: Array, rng: np.random.Generator) -> None:
    """tau(x) = 1 + x + O(x^2)."""
    small = 1e-7 * x
    _demand((r.displacement(small) - np.eye(4)) / 1e-7, mat.twist_matrix(x), 1e-6, r, x, "displacement for small x")


def _law_cotangent(r: Retraction, x: Array, rng: np.random.Generator) -> None:
    """(dtau^-1_x)' m is the gradient of m . tau^-1(exp(e) tau(x)) in e."""
    m, D = rng.normal(size=6), r.displacement(x)
    _demand(r.cotangent(x, m), _gradient(lambda e: m @ r.coordinates(mat.exp(e) @ D)), _DIFFERENCE, r, x, "cotangent")


def _law_transport(r: Retraction, x: Array, rng: np.random.Generator) -> None:
    """The momentum that arrives is the one that leaves, seen from the end of the step: dtau^-T_{-x} = Ad_D' dtau^-T_x."""
    m, D = rng.normal(size=6), r.displacement(x)
    left = r.cotangent(x, m)
    seen = np.concatenate([D[:3, :3].T @ (left[:3] - np.cross(D[:3, 3], left[3:])), D[:3, :3].T @ left[3:]])
    _demand(r.cotangent(-x, m), seen, 100 * _ROUNDING, r, x, "cotangent at -x against that at x, seen from the end of the step")


def _law_stiffness(r: Retraction, x: Array, rng: np.random.Generator) -> None:
    """h K[:, l] is the derivative of dtau^-T G x when the end of the step moves along e_l."""
    mass, c, square = 1.3, rng.normal(size=3), rng.normal(size=(3, 3))
    inertia = square @ square.T + mass * (c @ c * np.eye(3) - np.outer(c, c))
    G = np.block([[inertia, mass * mat.hat(c)], [-mass * mat.hat(c), mass * np.eye(3)]])
    body = np.concatenate([[mass], mass * c, inertia[np.triu_indices(3)]])
    D = r.displacement(x)

    def momentum(e: Array) -> Array:
        y = r.coordinates(D @ mat.exp(e))
        return r.cotangent(y, G @ y)

    _demand(r.stiffness(x, body), _gradient(momentum).T, 10 * _DIFFERENCE, r, x, "stiffness against the derivative of cotangent")


def _gradient(function: Callable[[Array], Array]) -> Array:
    return np.array([slope(lambda s, u=u: function(s * u), _REACH) for u in np.eye(6)])
