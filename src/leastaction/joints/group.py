"""What NumPy code asks of joints that are groups: rotations about a point, and rotations with translations.

Coordinates end with a unit quaternion (w, x, y, z); the first three velocities are the angular velocity in body axes, the first three
increments the Cayley vector of the rotation over a step.  This is all there is of a ball joint; a free joint adds its translation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import MechanismError
from . import reference
from .base import Array, Joint

Floats = NDArray[np.float64]


class GroupJoint(Joint):
    """Base class of ball and free joints."""

    has_quaternion = True
    orthonormal = True

    def sample_coordinates(self, rng: np.random.Generator) -> Floats:
        q = super().sample_coordinates(rng)
        q[-4:] /= np.linalg.norm(q[-4:])
        return q

    def stiffness_per_freedom(self, given: Floats, what: str) -> Floats:
        """One stiffness for all directions of rotation, on free joints a second one for those of translation."""
        groups = np.atleast_1d(given)
        if groups.shape != (self.nv // 3,):
            raise MechanismError(
                f"{what} = {given.tolist()!r}; a {type(self).__name__} joint takes {self.nv // 3} number(s), isotropic"
            )
        return np.repeat(groups, 3)

    # ------------------------------------------------------------------------------------------------ references

    def reference_advance(self, q: Array, d: Array) -> Array:
        return reference.quaternion_product(q[..., -4:], reference.cayley_rotation(d[..., :3]))

    def reference_increment(self, q0: Array, q1: Array) -> Array:
        """Cayley vector 2 tan(angle/2) axis of q0^-1 q1."""
        turn = reference.shorter(reference.quaternion_product(reference.quaternion_inverse(q0[..., -4:]), q1[..., -4:]))
        return 2 * turn[..., 1:] / turn[..., :1]

    def reference_middle(self, q0: Array, q1: Array) -> Array:
        """Half of the rotation angle."""
        turn = reference.quaternion_product(reference.quaternion_inverse(q0[..., -4:]), q1[..., -4:])
        return reference.quaternion_product(q0[..., -4:], reference.quaternion_half(turn))

    # ------------------------------------------------------------------------------------ linearisation

    def coordinate_rates(self, q: Floats, velocity: Floats) -> Floats:
        """Quaternions turn by q (x) (0, omega)/2."""
        w, u, omega = q[-4], q[-3:], velocity[:3]
        return 0.5 * np.concatenate([[-u @ omega], w * omega + np.cross(u, omega)])

    def increment_rate(self, d: Floats, velocity: Floats) -> Floats:
        """(1 + d^/2 + d d'/4) omega."""
        r, omega = d[:3], velocity[:3]
        return omega + np.cross(r, omega) / 2 + r * (r @ omega) / 4

    def increment_derivatives(self, d: Floats, at_end: bool) -> tuple[Floats, ...]:
        r = d[:3]
        before = np.eye(3) - 0.5 * reference.hat(r) + 0.25 * np.outer(r, r)
        return r.copy(), -before, before.T

    def bracket_form(self, p: Floats) -> Floats:
        n = self.nv
        out = np.zeros((n, n))
        for l, a in enumerate(np.eye(n)):
            for j, b in enumerate(np.eye(n)):
                bracket = np.cross(a[:3], b[:3])
                if n == 6:
                    bracket = np.concatenate([bracket, np.cross(a[:3], b[3:]) + np.cross(a[3:], b[:3])])
                out[j, l] = p @ bracket
        return out

    def spring_stiffness(self, q: Floats, rest: Floats, stiffness: Floats) -> Floats:
        """Of k/2 |phi|^2 with phi = log(rest^-1 q): k (1 + phi^/2 + gamma phi^phi^)."""
        turn = reference.shorter(reference.quaternion_product(reference.quaternion_inverse(rest[-4:]), q[-4:]))
        sine = float(np.linalg.norm(turn[1:]))
        angle = 2.0 * np.arctan2(sine, turn[0])
        phi = (angle / sine if sine > 1e-12 else 2.0) * turn[1:]
        gamma = 1.0 / 12.0 + angle**2 / 720.0 if angle < 1e-2 else (1.0 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
        x = reference.hat(phi)
        return stiffness[0] * (np.eye(3) + 0.5 * x + gamma * x @ x)


def rotation_of_increment(d: Floats) -> Floats:
    """(3, 3) rotation over a step with the increment d."""
    return reference.quaternion_matrix(reference.cayley_rotation(d[:3]))
