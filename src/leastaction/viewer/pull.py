"""A hand that pulls at a point of a body: a spring and a damper between the point and where the hand is, as joint forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..dynamics import mass_matrix
from ..kernels.tree import reactions as kernels
from ..kernels.tree.layout import PARENT
from ..model import Model

Array = NDArray[np.float64]

_FREQUENCY = 2 * np.pi * 1.5  # rad/s: how fast a body follows the hand
_DAMPING = 0.7  # of the critical one
_MOST = 6.0  # times the inertia in the direction in which there is least: more would shake it, forces change with the frames only


class Pull:
    """row: of the body in the model's tree; point: on it, in its axes; target: where the hand is, world axes."""

    def __init__(self, model: Model, row: int, point: Array, target: Array):
        self.model, self.row, self.point, self.target = model, row, point, target
        n = len(model.bodies) + 1
        self._work, self._wrenches, self._world = model.make_work(), np.zeros((1, n, 6)), np.empty((1, n, 12))
        self._columns = np.empty((1, model.nv, 6))

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
        model = self.model
        kernels.applied_wrenches(model.tree, self._work, np.ascontiguousarray(q)[None], self._wrenches, self._world, self._columns)
        R, origin = self._world[0, :, :9].reshape(-1, 3, 3), self._world[0, :, 9:]
        x = origin[self.row] + R[self.row] @ self.point
        J = np.zeros((3, model.nv))
        row = self.row
        while row > 0:
            own = model.v_slice(model.bodies[row - 1].joint_name)
            turn, slide = self._columns[0, own, :3] @ R[row].T, self._columns[0, own, 3:] @ R[row].T
            J[:, own] = (slide + np.cross(turn, x - origin[row])).T
            row = int(model.tree.link[row, PARENT])
        return J, x
