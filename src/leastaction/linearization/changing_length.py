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
from ..kernels.stepping.control import LAST_STEP, first_length
from ..model import Model
from ..state import State
from .step_derivatives import difference, moved

Array = NDArray[np.float64]

# of the differences, in units of q and v: the first for what is a power of them, the others for springs and functions of the user, which
# may bend within a millimetre
_REACHES = (1e-2, 2e-3, 4e-4, 8e-5)


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

    h = float(control.clock[LAST_STEP])
    reaches = [reach * (1.0 if callable(integrator.density) else min(1.0, integrator.speed)) for reach in _REACHES]
    by_q, by_v, by_a = np.split(_settled([difference(length, 3 * nv, reach)[0] for reach in reaches]), 3)
    return h, np.concatenate([by_q, *np.linalg.solve(M, np.stack([by_v, by_a], axis=1)).T])


def _settled(found: list[Array]) -> Array:
    """Of estimates by shorter and shorter differences those that agree best with the one before: neither bent nor rounded."""
    changes = np.abs(np.diff(found, axis=0))
    return np.take_along_axis(np.array(found[1:]), changes.argmin(axis=0)[None], axis=0)[0]
