"""Continuous-time dynamics of a model: mass matrix, inverse and forward dynamics, energy.

q are coordinates, v velocities, tau joint forces; shapes (nq,), (nv,), (nv,).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import SingularMassError
from .kernels import evaluate
from .kernels.layout import BODY_COLUMNS
from .model import Coordinates, Model

Array = NDArray[np.float64]


def mass_matrix(model: Model, q: Coordinates = None) -> Array:
    """M(q), (nv, nv), by the composite-rigid-body algorithm."""
    out = np.zeros((model.nv, model.nv))
    scratch = np.zeros((len(model.bodies) + 1, int(BODY_COLUMNS)))
    evaluate.matrix(model.tree, model.make_work(), model.coordinates(q), scratch, out)
    return out


def inverse(model: Model, q: Coordinates, v: Coordinates, a: Coordinates) -> Array:
    """Joint forces that give the acceleration a against gravity (recursive Newton-Euler).

    Springs, dampers and applied wrenches are not subtracted: this is M a + C v - gravity.
    """
    out = np.zeros(model.nv)
    evaluate.inverse(
        model.tree, model.make_work(), model.coordinates(q), model.velocities(v), model.velocities(a, "a"), _scratch(model), out
    )  # fmt: skip
    return out


def forward(model: Model, q: Coordinates, v: Coordinates = None, tau: Coordinates = None, t: float = 0.0) -> Array:
    """Acceleration under tau and all forces of the model (articulated-body algorithm)."""
    out = np.zeros(model.nv)
    evaluate.forward(
        model.tree, model.make_work(), float(t), model.coordinates(q), model.velocities(v), model.velocities(tau, "tau"),
        _scratch(model), out,
    )  # fmt: skip
    return out


def energy(model: Model, q: Coordinates, v: Coordinates = None) -> float:
    """Kinetic, gravitational and spring energy together, J."""
    parts = evaluate_recording(model, evaluate.VELOCITY, 0.0, model.coordinates(q)[None], model.velocities(v)[None])[2]
    return float(parts.sum() + model.fixed_potential)


def momentum(model: Model, q: Coordinates, v: Coordinates) -> Array:
    """Joint momenta p = M(q) v."""
    return evaluate_recording(model, evaluate.VELOCITY, 0.0, model.coordinates(q)[None], model.velocities(v)[None])[1][0]


def velocity(model: Model, q: Coordinates, p: ArrayLike) -> Array:
    """Velocities v = M(q)^-1 p."""
    return evaluate_recording(model, evaluate.KICKED_MOMENTUM, 0.0, model.coordinates(q)[None], model.velocities(p, "p")[None])[0][0]


def spatial_momentum(model: Model, q: Coordinates, v: Coordinates) -> Array:
    """Momentum of the whole mechanism about the world origin: (angular, linear), world axes."""
    return evaluate_recording(model, evaluate.VELOCITY, 0.0, model.coordinates(q)[None], model.velocities(v)[None])[3][0]


def evaluate_recording(model: Model, what: int, half_step: float, q: Array, recorded: Array) -> tuple[Array, Array, Array, Array]:
    """v (T, nv), p (T, nv), energy parts (T, 3), spatial momentum (T, 6) of a recording; see kernels.evaluate.recording."""
    steps = len(q)
    v, p = np.empty((steps, model.nv)), np.empty((steps, model.nv))
    parts, total = np.empty((steps, 3)), np.empty((steps, 6))
    evaluate.recording(model.tree, model.make_work(), what, half_step, q, recorded, v, p, parts, total)
    bad = np.flatnonzero(~np.isfinite(v).all(axis=1))
    if len(bad):
        raise SingularMassError(
            f"the mass matrix is singular at q = {q[bad[0]]}: some joint moves no inertia there, so velocities do not follow from momenta; "
            "give the bodies it moves an inertia about its axis"
        )
    return v, p, parts, total


def _scratch(model: Model) -> Array:
    return np.zeros((len(model.bodies) + 1, 6))
