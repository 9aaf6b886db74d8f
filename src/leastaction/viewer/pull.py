"""A hand that pulls at a point of a body: a spring and a damper between the point and where the hand is, as joint forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..dynamics import frame, mass_matrix
from ..model import Model

Array = NDArray[np.float64]

_FREQUENCY = 2 * np.pi * 1.5  # rad/s: how fast a body follows the hand
_DAMPING = 0.7  # of the critical one
_MOST = 6.0  # times the inertia in the direction in which there is least: more would shake it, forces change with the frames only


class Pull:
    """row: of the body in the model's tree; point: on it, in its axes; target: where the hand is, world axes."""

    def __init__(self, model: Model, row: int, point: Array, target: Array):
        self.model, self.target = model, target
        self.body = model.bodies[row - 1].name
        _, place = model.frames[self.body]  # of the body's frame in the row, whose axes are those of its joint
        self.offset = place.R.T @ (point - place.p)

    def tau(self, q: Array, v: Array) -> Array:
        """Joint forces (nv,).

        The spring is as stiff as the inertia that the point resists with allows at a frequency of a hand: a gram and a ton follow equally
        well.  The same stiffness in all directions, since a spring that knows directions could add energy.
        """
        J, x = self.jacobian(q)
        mobility = np.linalg.eigvalsh(J @ np.linalg.solve(mass_matrix(self.model, q), J.T))
        inertia = 1.0 / max(mobility[0], mobility[2] / _MOST)
        return J.T @ (inertia * (_FREQUENCY**2 * (self.target - x) - 2 * _DAMPING * _FREQUENCY * (J @ v)))

    def jacobian(self, q: Array) -> tuple[Array, Array]:
        """(3, nv) velocity of the point, world axes, per velocity of the joints; (3,) where it is."""
        body = frame(self.model, q, self.body)
        arm = body.rotation @ self.offset
        turns, slides = body.jacobian[:3], body.jacobian[3:]
        return slides + np.cross(turns.T, arm).T, body.position + arm
