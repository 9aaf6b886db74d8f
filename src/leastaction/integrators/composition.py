"""Higher order: symmetric composition of a self-adjoint integrator (Yoshida 1990, Suzuki 1990, Kahan and Li 1997).

A step of length dt is made of steps of the lengths gamma_1 dt, ..., gamma_s dt, some of them backwards.  Symmetry of the
gammas removes all odd error terms of the composition, the values remove the even ones: the result has order 4 or 6, and is
symplectic, momentum preserving and reversible like the integrator it is made of.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import ClosedEvaluator
from ..checks import shown
from ..errors import StateError
from ..kernels.stepping.record import Record, add_step, put_node
from ..model import Model
from ..state import State
from .base import KICKED_MOMENTUM, Advance, Integrator, Stepper
from .memory import Memory, packed, unpacked
from .variational import Variational

_SUZUKI = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
_TRIPLE = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))

#: name -> (order, first half of the gammas).  The middle one makes their sum 1, the other half mirrors the first.
SCHEMES: dict[str, tuple[int, tuple[float, ...]]] = {
    "triple-jump": (4, (_TRIPLE,)),  # 3 stages, Yoshida 1990
    "suzuki": (4, (_SUZUKI, _SUZUKI)),  # 5 stages, Suzuki 1990
    "yoshida": (6, (0.78451361047755726381949763, 0.23557321335935813368479318, -1.17767998417887100694641568)),  # 7 stages
    "kahan-li": (  # 9 stages, Kahan and Li 1997
        6, (0.39216144400731413927925056, 0.33259913678935943859974864, -0.70624617255763935980996482, 0.08221359629355080023149045)
    ),
}  # fmt: skip
DEFAULT_SCHEMES = {4: "suzuki", 6: "kahan-li"}


class Composition(Integrator):
    """Order 4 or 6 from a self-adjoint integrator of order 2: s of its steps make one.

    base    the integrator composed, Variational() by default; Maximal(), Midpoint(), Trapezoid() or any self-adjoint one
    order   4 or 6
    scheme  "suzuki" (order 4, 5 stages, the default), "triple-jump" (order 4, 3 stages: cheaper, much larger error constant),
            "kahan-li" (order 6, 9 stages, the default), "yoshida" (order 6, 7 stages)

    Some stages go backwards in time, by up to 0.71 dt (1.7 dt with the triple jump): dampers and user forces must be meaningful
    there, and dt is limited by the longest stage.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=0.01, duration=1.0, q={"upper": 1.0}, integrator=la.Composition(order=6))
    >>> bool(abs(run.energy - run.energy[0]).max() < 1e-8)
    True
    """

    symplectic = True
    self_adjoint = True

    def __init__(self, base: Integrator | None = None, order: int | None = None, scheme: str | None = None):
        self.base = Variational() if base is None else base
        if not isinstance(self.base, Integrator) or not self.base.self_adjoint or self.base.order != 2:
            raise StateError(
                f"base = {shown(base)}; a composition needs a self-adjoint integrator of order 2, for example Variational(), Maximal() or "
                "Midpoint()"
            )
        if scheme is None:
            wanted = 4 if order is None else order
            if not isinstance(wanted, int) or wanted not in DEFAULT_SCHEMES:
                raise StateError(f"order = {shown(order)}; it is one of {', '.join(map(str, DEFAULT_SCHEMES))}")
            scheme = DEFAULT_SCHEMES[wanted]
        if not isinstance(scheme, str) or scheme not in SCHEMES:
            raise StateError(f"scheme = {shown(scheme)}; it is one of {', '.join(map(repr, SCHEMES))}")
        if order is not None and SCHEMES[scheme][0] != order:
            raise StateError(f"scheme = {shown(scheme)} has order {SCHEMES[scheme][0]}, not {order!r}")
        self.scheme = scheme
        self.order = SCHEMES[scheme][0]  # type: ignore[misc]
        self.symplectic, self.plain_coordinates = self.base.symplectic, self.base.plain_coordinates  # type: ignore[misc]

    def options(self):
        return {"base": self.base, "order": self.order, "scheme": self.scheme}

    @property
    def gammas(self) -> NDArray[np.float64]:
        """Lengths of the stages in units of dt; symmetric, their sum is 1."""
        return composition_lengths(self.scheme)

    def start(self, model: Model, state: State, dt: float) -> Stepper:
        why = "some of its stages go back in time, where what dissipates drives"
        self.refuse_servos(model, why)
        self.refuse_dry_friction(model, why)
        if self.base.has_composed_code:
            return self.base.start_composed(model, state, dt, self.gammas)
        return RestartedStepper(self, model, state, dt)

    def why_general(self, model: Model) -> str:
        return self.base.why_general(model) if self.base.has_composed_code else super().why_general(model)

    def recording(self, dt: float) -> tuple[int, float]:
        if self.base.has_composed_code:
            return self.base.recording(float(self.gammas[0]) * dt)
        return KICKED_MOMENTUM, 0.0


def composition_lengths(scheme: str) -> NDArray[np.float64]:
    """The gammas of a scheme."""
    half = SCHEMES[scheme][1]
    return np.array([*half, 1.0 - 2.0 * sum(half), *half[::-1]])


class RestartedStepper(Stepper):
    """Any self-adjoint integrator, started anew for every stage: slow, but it needs nothing but a state."""

    integrator: Composition

    def __init__(self, integrator: Composition, model: Model, state: State, dt: float):
        super().__init__(integrator, model, dt)
        self.base, self.state = integrator.base, state
        self._evaluate = ClosedEvaluator(model)

    def write(self, record: Record) -> None:
        put_node(record, self.state.t, self.state.q, self.state.p)

    def remember(self) -> Memory:
        return {"state": packed(self.state)}

    def recall(self, memory: Memory) -> None:
        self.state = unpacked(self.model, memory["state"])

    def advance(self, steps, tau, record: Record, end: float = np.inf) -> Advance:
        for step in range(steps):
            state, evaluations, failed = self._composed_step(tau[step if len(tau) > 1 else 0][None])
            if failed:
                return Advance(step, failed.failure, failed.residual)
            self.state = state
            if add_step(record, evaluations):
                self.write(record)
        return Advance(steps)

    def _composed_step(self, tau) -> tuple[State, int, Advance | None]:
        state, evaluations = self.state, 0
        for length in self.integrator.gammas * self.dt:
            stepper = self.base.start(self.model, state, length)
            stage = stepper.make_record(1, 1)
            result = stepper.advance(1, tau, stage)
            evaluations += int(stage.evaluations[0])
            if result.failure:
                return self.state, evaluations, result
            node = self._evaluate(*self.base.recording(length), stage.q, stage.p, stage.t)
            state = State.with_velocity(self.model, state.t + length, stage.q[0].copy(), node.p[0], node.v[0])
        return State.with_velocity(self.model, self.state.t + self.dt, state.q, state.p, state.v), evaluations, None
