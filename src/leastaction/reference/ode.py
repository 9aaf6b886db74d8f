"""Any model, solved as an ordinary differential equation with tight tolerances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import dynamics
from ..errors import ConvergenceError, StateError
from ..model import Coordinates, Model
from ..state import State
from .scipy_import import scipy_module

Array = NDArray[np.float64]


class Solution(NamedTuple):
    """Solution at the requested times."""

    t: Array  # (T,) s
    q: Array  # (T, nq) coordinates
    v: Array  # (T, nv) velocities


def solve(
    model: Model, state: State, times: ArrayLike, rtol: float = 1e-12, atol: float = 1e-12, *, tau: Coordinates = None
) -> Solution:
    """Motion from `state` at increasing `times` (s), none before state.t, under constant joint forces tau.

    SciPy's DOP853 with the tolerances rtol and atol per step; it stops at every requested time instead of interpolating.
    """
    solve_ivp = scipy_module("integrate", "leastaction.reference.ode.solve").solve_ivp
    wanted = np.atleast_1d(np.asarray(times, dtype=float))
    if wanted.ndim != 1 or np.any(np.diff(wanted) <= 0.0) or wanted[0] < state.t:
        raise StateError(f"times = {times!r}; they need to increase and to start at state.t = {state.t:g} s or later")
    force = model.velocities(tau, "tau")

    def derivative(t: float, y: Array) -> Array:
        q, v = y[: model.nq].copy(), y[model.nq :]
        normalise(model, q)
        return np.concatenate([coordinate_rates(model, q, v), dynamics.forward(model, q, v, force, t)])

    t, y = state.t, np.concatenate([state.q, state.v])
    nodes = np.empty((len(wanted), len(y)))
    for k, target in enumerate(wanted):
        if target > t:
            result = solve_ivp(derivative, (t, target), y, method="DOP853", rtol=rtol, atol=atol)
            if not result.success:
                raise ConvergenceError(
                    f"the reference solution stopped at t = {result.t[-1]:g} s on the way to {target:g} s: {result.message}",
                    step=k, time=float(result.t[-1]), residual=float("nan"),
                )  # fmt: skip
            t, y = target, result.y[:, -1]
        nodes[k] = y
        normalise(model, nodes[k, : model.nq])
    return Solution(wanted, nodes[:, : model.nq], nodes[:, model.nq :])


def normalise(model: Model, q: Array) -> None:
    """Scale the quaternions in q to unit length, in place."""
    for body in model.bodies:
        if body.joint.has_quaternion:
            part = q[model.q_slice(body.joint_name)][-4:]
            part /= np.linalg.norm(part)


def coordinate_rates(model: Model, q: Array, v: Array) -> Array:
    """dq/dt (nq,): quaternions turn by q (x) (0, omega)/2, free bodies move by R v, other coordinates by v itself."""
    rates = np.empty(model.nq)
    for body in model.bodies:
        at_q, at_v = model.q_slice(body.joint_name), model.v_slice(body.joint_name)
        rates[at_q] = body.joint.coordinate_rates(q[at_q], v[at_v])
    return rates
