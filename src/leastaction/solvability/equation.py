"""The equation a step of `Trapezoid` solves, e(v) = 0, with its derivatives: Kobilarov 2014 (24), (25) in momentum form.

    e(v) = [M(q) + M(q + h v)] v / 2 - h/4 [v' dM/dq_i(q) v]_i - h/2 (f - c v) - p
p the momentum at the node, f all forces there that do not depend on v, c the dampers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..checks import listed
from ..errors import StateError
from ..kernels.tree.evaluate import place_entry
from ..model import Coordinates, Model
from ..state import State
from .tensors import MassTensors

Array = NDArray[np.float64]


class StepEquation:
    """e(v) of the step that starts at `state`; Newton's method starts from `guess`, by default the velocity of the state."""

    def __init__(self, model: Model, state: State, tau: Coordinates = None, guess: Coordinates = None):
        if model.closures:
            names = listed([c.name for c in model.closures])
            raise StateError(
                f"Trapezoid does not keep the constraints {names} of {model.name!r}: no step of it can be certified; "
                "leastaction.solvability.report(...) tries steps of Variational instead"
            )
        if model.is_actuated:
            raise StateError(
                f"{model.name!r} has servos or dry friction, whose forces have kinks: no bound can be certified; use the sampled estimates"
            )
        if len(model.tree.custom) or len(model.tree.law_on):
            raise StateError(
                "the model has a CustomForce or another function of the user, whose derivatives are not known: no bound can be certified; "
                "use the sampled estimates"
            )
        self.model, self.state = model, state
        self.tensors = MassTensors(model)
        self.q, self.p = state.q, state.p
        self.v0 = state.v if guess is None else model.velocities(guess)
        forces = np.zeros(model.nv)
        place_entry(model.tree, model.make_work(), state.q.copy(), forces)
        self.force = forces + model.velocities(tau, "tau")
        self.damping = np.array(model.tree.damping)
        self.M, self.M1 = self.tensors.at(self.q, 1)

    def value(self, v: Array, h: float) -> Array:
        (M,) = self.tensors.at(self.q + h * v, 0)
        slope = 0.25 * h * np.einsum("abk,a,b->k", self.M1, v, v)
        return 0.5 * (self.M + M) @ v - slope - 0.5 * h * (self.force - self.damping * v) - self.p

    def jacobian(self, v: Array, h: float) -> Array:
        """(25)"""
        M, M1 = self.tensors.at(self.q + h * v, 1)
        forward, back = np.einsum("abk,b->ak", M1, v), np.einsum("abk,a->kb", self.M1, v)
        return 0.5 * (self.M + M) + 0.5 * h * (forward - back + np.diag(self.damping))

    def higher(self, v: Array, h: float) -> tuple[Array, Array]:
        """(B, T): second and third derivative of e at v, B_ixy x y and T_ixyz x y z."""
        _, M1, M2, M3 = self.tensors.at(self.q + h * v, 3)
        B = np.einsum("iyx->ixy", M1) + M1 + h * np.einsum("icxy,c->ixy", M2, v) - np.einsum("xyi->ixy", self.M1)
        T = np.einsum("izxy->ixyz", M2) + np.einsum("iyxz->ixyz", M2) + M2 + h * np.einsum("icxyz,c->ixyz", M3, v)
        return 0.5 * h * B, 0.5 * h * h * T

    def fourth(self, h: float, fastest: Array, reach: Array, share: Array) -> Array:
        """Bound (nv,) of the fourth derivative h^4/2 M4 v + h^3/2 (four terms M3) along four vectors, entry by entry.

        The entries of the vectors are at most `share` (nv,); v is at most `fastest` (nv,), so q + h v within `reach` (nv,) of q.
        """
        *_, M3, M4 = self.tensors.directional_bounds(self.q, reach, share, 4)
        return 0.5 * abs(h) ** 3 * (4.0 * M3 @ share + abs(h) * M4 @ fastest)

    def newton(self, h: float, iterations: int = 40) -> tuple[Array, bool]:
        """(v, found): pure Newton from v0, no safeguards."""
        v = self.v0.copy()
        scale = max(np.abs(self.p).max(), abs(h) * np.abs(self.force).max(), 1e-300)
        with np.errstate(all="ignore"):
            for _ in range(iterations):
                e = self.value(v, h)
                if not np.all(np.isfinite(e)):
                    return v, False
                try:
                    step = np.linalg.solve(self.jacobian(v, h), e)
                except np.linalg.LinAlgError:
                    return v, False
                v = v - step
                if np.abs(step).max() <= 1e-13 * max(np.abs(v).max(), 1e-300) or np.abs(e).max() <= 1e-13 * scale:
                    return v, True
        return v, bool(np.abs(self.value(v, h)).max() <= 1e-9 * scale)
