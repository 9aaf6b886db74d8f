"""The equation a step of `Trapezoid` solves, e(v) = 0, with its derivatives: Kobilarov 2014 (24), (25) in momentum form.

    e(v) = [M(q) + M(q + h v)] v / 2 - h/4 [v' dM/dq_i(q) v]_i - h/2 (f - c v) - p
p the momentum at the node, f all forces there that do not depend on v, c the dampers.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import instance, listed
from ..compiling.records import allocate
from ..errors import StateError
from ..kernels.solvability.certificate import certify, derivatives
from ..kernels.solvability.layout import Proof
from ..kernels.tree.evaluate import place_entry
from ..model import Coordinates, Model, checked_model
from ..state import State, checked_state
from .tensors import MassTensors

Array = NDArray[np.float64]


class StepEquation:
    """e(v) of the step that starts at `state`; Newton's method starts from `guess`, by default the velocity of the state.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> state = model.state({"upper": 1.0})
    >>> equation = la.solvability.StepEquation(model, state)
    >>> certificate = la.solvability.certify(equation, 1e-3)
    >>> certificate.h
    0.001
    """

    def __init__(self, model: Model, state: State, tau: Coordinates = None, guess: Coordinates = None):
        checked_model(model)
        state = checked_state(state, model)
        if model.closures:
            names = listed([c.name for c in model.closures])
            raise StateError(
                f"the proof does not cover constraints, and {model.name!r} has {names}: no step can be certified; "
                "leastaction.solvability.report(...) tries steps of Variational instead"
            )
        kinked = [*(f"servo {s.name!r}" for s in model.servos), *(f"dry friction of joint {j!r}" for j in model.joints_with_dry_friction)]
        if kinked:
            names = ", ".join(kinked)
            raise StateError(f"forces with kinks have no second derivative, and no step can be certified with {names}; give dt in s")
        if len(model.tree.custom) or len(model.tree.law_on):
            raise StateError(
                "the model has a CustomForce or another function of the user, whose derivatives are not known: no bound can be certified; "
                "use the sampled estimates"
            )
        self.model, self.state = model, state
        self.tensors = MassTensors(model)
        self.q, self.p = np.array(state.q), np.array(state.p)
        self.v0 = np.array(state.v if guess is None else model.velocities(guess))
        forces = np.zeros(model.nv)
        place_entry(model.tree, model.make_work(), state.q.copy(), forces)
        self.force = forces + model.velocities(tau, "tau")
        self.damping = np.array(model.tree.damping)

    @cached_property
    def M(self) -> Array:
        """The mass matrix at the start."""
        return self.tensors.at(self.q, 0)[0]

    @cached_property
    def M1(self) -> Array:
        """Its first derivatives there."""
        return self.tensors.at(self.q, 1)[1]

    @cached_property
    def proof(self) -> Proof:
        """Memory of compiled certificates."""
        return allocate(Proof, {"n": len(self.model.bodies), "nq": self.model.nq, "nv": self.model.nv})

    def judged(self, h: float) -> Proof:
        """Everything a certificate of the step h (s) is made of; see kernels/solvability/certificate.py."""
        _, made = certify(self.tensors.record, self.proof, self.q, self.v0, self.p, self.force, float(h), np.inf, 0.0)
        if not made:
            raise StateError(
                f"no step from this state can be certified: the mass matrix of {self.model.name!r} is not positive definite there, to "
                "rounding; a part without inertia moves, or parts are too unequal: give it mass, inertia or armature"
            )
        return self.proof

    def certified(self, h: float, shortest: float) -> float:
        """The first of ever shorter steps from h on that is certified by the compiled certificate, s; 0 if there is none."""
        start = (self.tensors.record, self.proof, self.q, self.v0, self.p, self.force)
        found, _ = certify(*start, float(h), 1.0, float(shortest))
        return float(found)

    def in_long_doubles(self) -> StepEquation:
        """The same numbers with fewer roundings in what follows from them."""
        self.tensors.need_plain()
        other = copy(self)
        for name in ("M", "M1", "proof"):
            other.__dict__.pop(name, None)
        for name in ("q", "v0", "p"):
            setattr(other, name, getattr(self, name).astype(np.longdouble))
        return other

    def _at(self, v: Array, h: float) -> Proof:
        """e and its derivatives by compiled code."""
        derivatives(self.tensors.record, self.proof, self.q, np.array(v, dtype=float), self.p, self.force, float(h))
        return self.proof

    def value(self, v: Array, h: float) -> Array:
        if not self.tensors.plain:
            return self._at(v, h).e.copy()
        (M,) = self.tensors.at(self.q + h * v, 0)
        slope = 0.25 * h * np.einsum("abk,a,b->k", self.M1, v, v)
        return 0.5 * (self.M + M) @ v - slope - 0.5 * h * (self.force - self.damping * v) - self.p

    def jacobian(self, v: Array, h: float) -> Array:
        """(25)"""
        if not self.tensors.plain:
            return self._at(v, h).A.copy()
        M, M1 = self.tensors.at(self.q + h * v, 1)
        forward, back = np.einsum("abk,b->ak", M1, v), np.einsum("abk,a->kb", self.M1, v)
        return 0.5 * (self.M + M) + 0.5 * h * (forward - back + np.diag(self.damping))

    def second(self, v: Array, h: float) -> Array:
        """B_ixy: second derivative of e at v."""
        if not self.tensors.plain:
            return self._at(v, h).B.copy()
        _, M1, M2 = self.tensors.at(self.q + h * v, 2)
        return 0.5 * h * (np.einsum("iyx->ixy", M1) + M1 + h * np.einsum("icxy,c->ixy", M2, v) - np.einsum("xyi->ixy", self.M1))

    def third(self, h: float, v: Array | None = None) -> Array:
        """T_ixyz: third derivative of e at v, at v0 by default."""
        self.tensors.need_plain()
        v = self.v0 if v is None else v
        *_, M2, M3 = self.tensors.at(self.q + h * v, 3)
        T = np.einsum("izxy->ixyz", M2) + np.einsum("iyxz->ixyz", M2) + M2 + h * np.einsum("icxyz,c->ixyz", M3, v)
        return 0.5 * h * h * T

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


def checked_equation(value: Any) -> StepEquation:
    return instance(value, StepEquation, "equation", "make a StepEquation(model, state)")


def in_plain_coordinates(value: Any) -> StepEquation:
    """The equation, where there are tensors of it."""
    equation = checked_equation(value)
    equation.tensors.need_plain()
    return equation
