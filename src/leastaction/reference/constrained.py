"""Constraints enforced at the acceleration level, in joint coordinates: the classical method, which drifts.

    M a = f + J' lambda,    J a + (dJ/dt) v = 0

Dense and slow.  With small Runge-Kutta steps it is an independent reference for motions with loops and velocity constraints; with
ordinary steps it shows how the loops open.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .. import dynamics
from ..assembly.closing import reduce
from ..assembly.equations import Closing
from ..checks import numbers
from ..coordinates.network import build
from ..errors import StateError
from ..kernels.maximal.evaluate import advance
from ..model import Model

Array = NDArray[np.float64]

_STEP = 1e-5  # of the difference quotient for dJ/dt, rad or m


class AccelerationConstraints:
    """Accelerations of a model with constraints, and Runge-Kutta steps with them.  Redundant rows are left out at the start q."""

    def __init__(self, model: Model, q: Array):
        self.model = model
        self._tree = replace(model, closures=())  # its constraints are solved for here, independently
        self.closing = Closing(build(model, reduce(model, q).closures))

    def acceleration(self, q: Array, v: Array) -> Array:
        """(nv,) accelerations at q (nq,) and v (nv,)."""
        q, v = self._checked(q, v)
        J = self.closing.jacobian(q)
        speed = max(float(np.abs(v).max()), 1e-12)
        ahead, behind = (self.moved(q, s * _STEP / speed * v) for s in (1.0, -1.0))
        bias = (self.closing.jacobian(ahead) - self.closing.jacobian(behind)) @ v * speed / (2 * _STEP)
        M, free = dynamics.mass_matrix(self.model, q), dynamics.forward(self._tree, q, v)
        response = np.linalg.solve(M, J.T)
        return free - response @ np.linalg.solve(J @ response, J @ free + bias)

    def moved(self, q: Array, d: Array) -> Array:
        """q + d, with the increment d (nv,) of a step."""
        out, increment = self._checked(q, d)
        advance(self.model.tree, out, increment)
        return out

    def _checked(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Copies of q (nq,) and v or d (nv,) that kernels can read."""
        return numbers(q, "q", StateError, (self.model.nq,)), numbers(v, "v", StateError, (self.model.nv,))

    def rk4(self, q: Array, v: Array, dt: float, steps: int) -> tuple[Array, Array]:
        """q and v after `steps` classical Runge-Kutta steps, each in the chart of its start."""

        def slope(d: Array, speed: Array) -> tuple[Array, Array]:
            return self._chart_rate(d, speed), self.acceleration(self.moved(q, d), speed)

        for _ in range(steps):
            d1, a1 = slope(np.zeros(self.model.nv), v)
            d2, a2 = slope(dt / 2 * d1, v + dt / 2 * a1)
            d3, a3 = slope(dt / 2 * d2, v + dt / 2 * a2)
            d4, a4 = slope(dt * d3, v + dt * a3)
            q, v = self.moved(q, dt / 6 * (d1 + 2 * d2 + 2 * d3 + d4)), v + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        return q, v

    def heun(self, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
        """One step of the explicit trapezoidal rule."""
        a1 = self.acceleration(q, v)
        d2, v2 = dt * v, v + dt * a1
        a2 = self.acceleration(self.moved(q, d2), v2)
        return self.moved(q, dt / 2 * (v + self._chart_rate(d2, v2))), v + dt / 2 * (a1 + a2)

    def _chart_rate(self, d: Array, v: Array) -> Array:
        """Rate of the increment d at the joint velocities v; differs from v for ball and free joints."""
        rate = np.empty(self.model.nv)
        for body in self.model.bodies:
            where = self.model.v_slice(body.joint_name)
            rate[where] = body.joint.increment_rate(d[where], v[where])
        return rate
