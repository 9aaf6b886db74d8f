"""Steps of explicit integrators, differenced: they solve nothing, so differences of order six lose only a few digits to rounding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..dynamics import mass_matrix, momentum, velocity
from ..dynamics.discrete import increment
from ..errors import ConvergenceError
from ..integrators.explicit import Explicit
from ..kernels.tree.layout import SERVO_LOW
from ..model import Model
from ..state import State
from .step_derivatives import difference, moved

Array = NDArray[np.float64]


_BESIDE_LIMITS = 1e-5  # reach of differences where servos have limits: short, so that few of them reach across one


def explicit_step(model: Model, integrator: Explicit, state: State, dt: float, row: Array) -> tuple[Array, Array, State]:
    """A (2 nv, 2 nv), B (2 nv, nv + 2 n) and where the step from `state` under a row of inputs, nv forces and 2 n targets, leads."""
    nv, targets = model.nv, len(row) - model.nv

    def made(q: Array, p: Array, forces: Array) -> tuple[Array, Array]:
        start = State.with_velocity(model, state.t, q, p, velocity(model, q, p))
        stepper = integrator.start(model, start, dt)
        record = stepper.make_record(1, 1)
        result = stepper.advance(1, forces[None].copy(), record)
        if result.failure:
            message = f"the step to linearise, of dt = {dt:g} s from t = {state.t:g} s, was not made: {result.failure}"
            raise ConvergenceError(message, step=0, time=state.t, residual=result.residual)
        return record.q[0].copy(), momentum(model, record.q[0], record.p[0])

    q1, p1 = made(state.q, state.p, row)
    M = mass_matrix(model, state.q)

    def beside(x: Array) -> Array:
        """How far a step that begins beside the state, with other velocities, accelerations and targets, ends beside the step."""
        inputs = row + np.concatenate([M @ x[2 * nv : 3 * nv] / dt, x[3 * nv :]])
        q, p = made(moved(model, state.q, x[:nv]), state.p + M @ x[nv : 2 * nv], inputs)
        return np.concatenate([increment(model, q1, q), p - p1])

    limited = np.isfinite(model.tree.servo[:, SERVO_LOW:]).any()
    columns = difference(beside, 3 * nv + targets, *([_BESIDE_LIMITS] if limited else []))
    by_q, by_v, by_a, by_targets = np.split(columns, [nv, 2 * nv, 3 * nv], axis=1)
    by_p, by_tau = np.linalg.solve(M, np.hstack([by_v.T, dt * by_a.T])).T.reshape(2, 2 * nv, nv)
    return np.hstack([by_q, by_p]), np.hstack([by_tau, by_targets]), State(model, state.t + dt, q1, p1)
