"""How long a step of `AdaptiveStep` is, and how that changes with where it starts.

A simulation that begins at (q, p) takes the density Q(q, v) there and follows it for half a step, so that the length of its first step is
a function of q, p, the joint forces and time.  The density is differenced along the motion already; here it is differenced once more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..dynamics import mass_matrix
from ..errors import ConvergenceError
from ..integrators import AdaptiveStep
from ..kernels.stepping.control import first_length
from ..model import Model
from ..state import State
from .step_derivatives import difference, moved

Array = NDArray[np.float64]

_REACH = 1e-2  # of the differences, in units of q and v, if the density is a power of them
_OWN_REACH = 1e-3  # if the user wrote it


def length_of_step(model: Model, integrator: AdaptiveStep, state: State, dt: float, tau: Array) -> tuple[float, Array]:
    """(h, (3 nv,) derivative of h in q, p and tau) of the step that begins at the state."""
    stepper, nv = integrator.start(model, state, dt), model.nv
    record = stepper.make_record(1, 1)
    result = stepper.advance(1, tau[None].copy(), record)
    if result.failure:
        message = f"the step to linearise, of dt = {dt:g} s from t = {state.t:g} s, was not solved: {result.failure}"
        raise ConvergenceError(message, step=0, time=state.t, residual=result.residual)
    M, control = mass_matrix(model, state.q), stepper.controller

    def length(x: Array) -> Array:
        """Beside the state, with other velocities and accelerations."""
        q, p = moved(model, state.q, x[:nv]), state.p + M @ x[nv : 2 * nv]
        return np.array([first_length(model.tree, q, p, control, state.t, dt, tau + M @ x[2 * nv :])])

    reach = _OWN_REACH if callable(integrator.density) else _REACH * min(1.0, integrator.speed)
    by_q, by_v, by_a = np.split(difference(length, 3 * nv, reach)[0], 3)
    return float(record.t[0]) - state.t, np.concatenate([by_q, *np.linalg.solve(M, np.stack([by_v, by_a], axis=1)).T])
