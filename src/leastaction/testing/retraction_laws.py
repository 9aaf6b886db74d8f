"""The laws every retraction obeys: its four functions belong to one map tau with tau(0) = 1 and dtau(0) = 1.

They follow from each other by derivatives, so no definition of tau is needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..joints.reference import quaternion_of
from ..lie.retractions import ALL, BODY_NAMES
from . import matrices as mat
from . import probe
from .joint_alone import derivative

Array = NDArray[np.float64]

_ANGLES = (0.0, 1e-12, 1e-9, 1e-5, 1e-3, 0.1, 1.0, 2.0)  # variational steps live between 1e-6 and 0.1
_ROUNDING, _DIFFERENCE = 1e-13, 1e-8


def check_retraction(name: str, seed: int = 0) -> None:
    """Check the kernels of a retraction of the list lie.retractions.ALL against each other; AssertionError names the broken law.

    Angles reach from zero to two radians: formulas that cancel near zero do not pass.
    """
    if name not in ALL:
        raise KeyError(f"there is no retraction {name!r}; they are {', '.join(map(repr, ALL))}")
    retraction, rng = _Retraction(name), np.random.default_rng(seed)
    for angle in _ANGLES:
        axis = rng.normal(size=3)
        turn = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis / np.linalg.norm(axis)])
        D, momentum = np.concatenate([turn, rng.normal(size=3)]), rng.normal(size=6)
        for law in (_law_inverse, _law_cotangent, _law_stiffness, _law_screw):
            law(retraction, D, momentum, rng)
    small = 1e-9 * momentum
    moved = retraction.displacement(small)
    _demand(np.concatenate([2 * moved[1:4], moved[4:]]), small, 1e-8 * 1e-9, retraction, "displacement for tiny x against x")


class _Retraction:
    """The kernels of one retraction as Python functions of single rows."""

    def __init__(self, name: str):
        self.name, self.number, self.of_the_screw = name, BODY_NAMES[name], ALL[name].OF_THE_SCREW

    def displacement(self, x: Array) -> Array:
        """(7,) quaternion and translation."""
        out = np.empty((1, 7))
        probe.retraction_displacement(self.number, x[None].copy(), out)
        return out[0]

    def coordinates(self, D: Array) -> Array:
        out = np.empty((1, 6))
        probe.retraction_coordinates(self.number, D[None].copy(), out)
        return out[0]

    def cotangent(self, x: Array, momentum: Array) -> Array:
        out = np.empty((1, 6))
        probe.retraction_cotangent(self.number, x[None].copy(), momentum[None].copy(), out)
        return out[0]

    def stiffness(self, x: Array, body: Array) -> Array:
        out = np.empty((1, 36))
        probe.retraction_stiffness(self.number, x[None].copy(), body[None].copy(), out)
        aa, al, la, ll = out.reshape(4, 3, 3)
        return np.block([[aa, al], [la, ll]])


def _matrix(D: Array) -> Array:
    return mat.rigid(mat.quaternion_matrix(D[:4]), D[4:])


def _numbers(T: Array) -> Array:
    return np.concatenate([quaternion_of(T[:3, :3]), T[:3, 3]])


def _demand(got: Array, wanted: Array, allowed: float, retraction: _Retraction, law: str) -> None:
    error = float(np.abs(got - wanted).max())
    assert error <= allowed, f"retraction {retraction.name!r}: {law} is off by {error:.3g} (allowed {allowed:.1g})"


def _law_inverse(r: _Retraction, D: Array, momentum: Array, rng: np.random.Generator) -> None:
    x = r.coordinates(D)
    back = r.displacement(x)
    turn = float(np.abs(D[1:4]).max())  # a tiny rotation must not be lost beside the translation
    _demand(back[1:4], D[1:4], _ROUNDING * turn, r, f"rotation of displacement after coordinates at {2 * turn:.2g} rad")
    _demand(back, D, _ROUNDING * float(np.abs(D).max()), r, "displacement after coordinates against the displacement")
    opposite = r.coordinates(D * np.array([-1.0] * 4 + [1.0] * 3))
    assert np.array_equal(opposite, x), f"retraction {r.name!r}: the sign of the quaternion matters"


def _law_cotangent(r: _Retraction, D: Array, momentum: Array, rng: np.random.Generator) -> None:
    """(dtau^-1_x)' m is the gradient of m . tau^-1(exp(e) tau(x)) in e."""
    got = r.cotangent(r.coordinates(D), momentum)
    for j, e in enumerate(np.eye(6)):
        wanted = derivative(lambda y: momentum @ r.coordinates(_numbers(mat.exp(y) @ _matrix(D))), e)
        _demand(got[j], wanted, _DIFFERENCE, r, f"cotangent, entry {j}, against the derivative of coordinates")


def _law_stiffness(r: _Retraction, D: Array, momentum: Array, rng: np.random.Generator) -> None:
    """h K eta is the change of dtau^-T_x G x when the end of the step moves by eta."""
    mass, square = 1.3, rng.normal(size=(3, 3))
    com = rng.normal(size=3) if r.of_the_screw else np.zeros(3)
    inertia = square @ square.T + mass * (com @ com * np.eye(3) - np.outer(com, com))
    G = np.block([[inertia, mass * mat.hat(com)], [-mass * mat.hat(com), mass * np.eye(3)]])
    K = r.stiffness(r.coordinates(D), np.concatenate([[mass], mass * com, inertia[np.triu_indices(3)]]))

    def leaving(eta: Array) -> Array:
        x = r.coordinates(_numbers(_matrix(D) @ mat.exp(eta)))
        return r.cotangent(x, G @ x)

    size = float(np.abs(K).max())
    for l, e in enumerate(np.eye(6)):
        _demand(K[:, l], derivative(leaving, e), _DIFFERENCE * size, r, f"stiffness, column {l}, against the derivative of cotangent")


def _law_screw(r: _Retraction, D: Array, momentum: Array, rng: np.random.Generator) -> None:
    """Functions of the screw: tau(-x) = tau(x)^-1, and momenta arrive as Ad_D' of those that left (docs/theory (2))."""
    if not r.of_the_screw:
        return
    x = r.coordinates(D)
    _demand(_matrix(r.displacement(-x)) @ _matrix(D), np.eye(4), 1e-12, r, "tau(-x) tau(x) against 1")
    moment, force = np.split(r.cotangent(x, momentum), 2)
    R = mat.quaternion_matrix(D[:4])
    arrived = np.concatenate([R.T @ (moment - np.cross(D[4:], force)), R.T @ force])
    _demand(r.cotangent(-x, momentum), arrived, 1e-11, r, "dtau^-T at -x against Ad_D' dtau^-T at x")
