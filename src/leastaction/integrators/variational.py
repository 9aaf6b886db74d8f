"""The linear-time variational integrator of trees (Lee, Liu, Park, Srinivasa 2016)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import explain_dependent, tie
from ..checks import listed, number, whole_number
from ..compiling.decorators import Direct
from ..coordinates import ties as tree
from ..dynamics import explain_singular
from ..errors import StateError
from ..kernels.stepping import composition
from ..kernels.stepping import variational as kernels
from ..kernels.tree import evaluate, layout
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Model
from ..state import State
from ..yardsticks import svi_run
from ..yardsticks.scalable import ScalableVariational
from .base import Advance, Integrator

SOLVERS = {"newton": layout.NEWTON, "riqn": layout.RIQN, "broyden": layout.BROYDEN, "dense-newton": layout.DENSE}
GUESSES = {"ig1": layout.IG1, "ig2": layout.IG2, "ig3": layout.IG3, "extrapolate": layout.EXTRAPOLATE}

_ROUNDING = 1e-14  # of the largest momentum: a residual this small cannot be made smaller


class Variational(Integrator):
    """Discretises the action: bounded energy, exact momentum, O(n) per step, order 2.

    retraction  "exp" or "cayley": how a rigid displacement becomes a velocity
    quadrature  "trapezoid": potentials at both ends of the step; "midpoint": half way, stable for stiff springs and hanging
                chains at large steps, at a higher cost
    solver      "newton": exact, O(n), safeguarded; to compare with: "riqn" and "broyden", which know nothing of dampers and
                forces at the midpoint, and "dense-newton"
    residual    "drnea": O(n); to compare with: "svi", Johnson and Murphey's evaluation, with solver="riqn" or "broyden"
    guess       "extrapolate" the last increments; Lee et al.: "ig1" (no motion), "ig2" (last increment), "ig3" (acceleration)
    tol         largest residual relative to the largest momentum of the whole mechanism in the step; a light part beside one a
                million times heavier is solved that much less accurately: give a smaller tol, or the part a model of its own
    """

    order = 2
    symplectic = True
    self_adjoint = True

    def __init__(
        self,
        retraction: str = "exp",
        solver: str = "newton",
        residual: str = "drnea",
        guess: str = "extrapolate",
        quadrature: str = "trapezoid",
        tol: float = 1e-10,
        max_evaluations: int = 50,
    ):
        self.retraction = _choice(retraction, RETRACTIONS, "retraction")
        self.solver = _choice(solver, SOLVERS, "solver")
        self.guess = _choice(guess, GUESSES, "guess")
        self.quadrature = _choice(quadrature, layout.QUADRATURES, "quadrature")
        self.residual = _choice(residual, ("drnea", "svi"), "residual")
        if residual == "svi" and (solver not in ("riqn", "broyden") or guess == "ig3"):
            raise StateError(
                f'residual="svi" with solver={solver!r} and guess={guess!r} is not offered; '
                'give solver="riqn" or "broyden" and guess="ig1", "ig2" or "extrapolate"'
            )
        self.tol = number(tol, "tol", StateError)
        if not 0.0 < self.tol < 1.0:
            raise StateError(f"tol = {tol!r}; it needs a number between 0 and 1, for example 1e-10")
        self.max_evaluations = whole_number(max_evaluations, 2, "max_evaluations")

    def start(self, model: Model, state: State, dt: float) -> _Stepper | _SviStepper:
        if model.closures:
            self._check_constraints(model)
        return _SviStepper(self, model, state, dt) if self.residual == "svi" else _Stepper(self, model, state, dt)

    @property
    def has_composed_code(self) -> bool:
        return self.residual == "drnea" and self.solver == "newton" and self.guess == "extrapolate"

    def start_composed(self, model: Model, state: State, dt: float, gammas: NDArray[np.float64]) -> _ComposedStepper:
        return _ComposedStepper(self, model, state, dt, gammas)

    def recording(self, dt: float) -> tuple[int, float]:
        kicked = self.quadrature == "trapezoid" and self.residual == "drnea"
        return evaluate.KICKED_MOMENTUM, 0.5 * dt if kicked else 0.0

    def extras(self, model: Model) -> dict[str, tuple[int, ...]]:
        return {"constraint_error": ()} if model.closures else {}

    def _check_constraints(self, model: Model) -> None:
        if not tree.in_tree(model.closures):
            self.refuse_constraints(model)
        if self.solver != "newton" or self.residual != "drnea" or self.guess == "ig3":
            raise StateError(
                f"{self!r} does not keep the constraints {listed([c.name for c in model.closures])}; "
                'give solver="newton", residual="drnea" and another guess than "ig3"'
            )


class _Stepper:
    def __init__(self, integrator: Variational, model: Model, state: State, dt: float):
        self.integrator, self.model, self.dt = integrator, model, dt
        self.work = model.make_work()
        self.work.q[:] = state.q
        self.work.target[:] = state.p
        self.work.d[:] = dt * state.v
        self.middle = model.make_middle() if integrator.quadrature == "midpoint" else None
        self.comparison = None
        if integrator.solver != "newton" or integrator.guess == "ig3":
            solver = SOLVERS[integrator.solver]
            self.comparison = layout.make_comparison(solver, len(model.bodies), model.nv, integrator.max_evaluations)
        self.own = model.specialised if self.middle is None and self.comparison is None and not model.closures else None
        self._run = Direct(self._time_loop())
        self.memory = np.zeros(layout.MEMORY)
        self.memory[layout.RATE] = layout.ALWAYS_NEW
        self.memory[[layout.RATE_FIRST, layout.RATE_AGED]] = 0.01  # hopeful: tried on the second step
        self.memory[layout.TIME] = state.t
        self.ties: tree.Ties | None = None
        self.dropped: tuple[str, ...] = ()  #: names of redundant constraint rows
        self.extra = {"constraint_error": np.zeros(1)}  #: rows of the recording, see Integrator.extras
        if model.closures:
            self.ties, self.dropped = tie(model, state.q, state.v, state.t, dt)
            self.ties.least[:] *= tree.rounding(integrator.tol)

    def _time_loop(self) -> Callable:
        """The compiled loop: made for this mechanism after model.specialise(), or the one for all."""
        return (self.own and self.own.run(self.integrator.retraction)) or kernels.run

    def record(self, out_q, out_momentum) -> None:
        out_q[0], out_momentum[0] = self.work.q, self.work.target
        if self.ties is not None:
            self.extra["constraint_error"][:1] = np.abs(self.ties.value).max(initial=0.0)

    def advance(self, steps, tau, stride, out_q, out_momentum, evaluations) -> Advance:
        i = self.integrator
        made, status = self._run(
            self.model.tree, self.work, self.middle, self.comparison, self.ties, self.memory, self.dt, steps, tau, i.tol,
            RETRACTIONS[i.retraction], GUESSES[i.guess], i.max_evaluations, stride, out_q, out_momentum, self.extra["constraint_error"],
            evaluations,
        )  # fmt: skip
        residual = float(self.memory[layout.LAST_RESIDUAL])
        return Advance(made, "" if status == kernels.CONVERGED else self._explain(status, residual), residual)

    def _explain(self, status: int, residual: float) -> str:
        singular = explain_singular(self.model, self.work.q, limit=100.0)
        if singular:
            return singular
        if self.ties is not None and (dependent := explain_dependent(self.model, self.work.q, self.memory[layout.TIME])):
            return dependent
        remedies = ["a smaller dt"]
        if self.integrator.solver != "newton":
            remedies.append('solver="newton"')
        if self.integrator.quadrature == "trapezoid":
            remedies.append('quadrature="midpoint" (for stiff springs and hanging chains)')
        if status == kernels.NOT_FINITE:
            if len(self.model.tree.custom):
                remedies.append("a CustomForce that is finite there")
            return f"the residual became infinite or NaN with {self.integrator!r}; try {', '.join(remedies)}"
        scale = float(self.memory[layout.SCALE])
        if residual < _ROUNDING * scale:
            return (
                f"the residual stays at {residual:.3g}, {residual / scale:.2g} of the largest momentum {scale:.3g}, which is rounding: "
                f"tol = {self.integrator.tol:g} cannot be reached; give tol=1e-12 or larger"
            )
        remedies.append(f"a larger tol (now {self.integrator.tol:g})")
        return (
            f"the residual stays at {residual:.3g} ({residual / scale if scale else np.inf:.2g} of the largest momentum {scale:.3g}) "
            f"after {self.integrator.max_evaluations} evaluations at most; try {', '.join(remedies)}"
        )


class _ComposedStepper(_Stepper):
    """A sequence of steps of the lengths gammas * dt, each with its own guess and factorisation."""

    def __init__(self, integrator: Variational, model: Model, state: State, dt: float, gammas: NDArray[np.float64]):
        super().__init__(integrator, model, state, dt)
        self.stages = composition.make_stages(gammas, len(model.bodies), model.nq, model.nv)
        self.stages.d[:] = np.outer(gammas, dt * state.v)
        self.stages.S1[:] = self.work.S1
        self.memory = self.stages.memory[0]
        self.memory[layout.TIME] = state.t

    def _time_loop(self) -> Callable:
        return (self.own and self.own.run_composed(self.integrator.retraction)) or composition.run

    def advance(self, steps, tau, stride, out_q, out_momentum, evaluations) -> Advance:
        i = self.integrator
        made, status = self._run(
            self.model.tree, self.work, self.middle, self.stages, self.dt, steps, tau, i.tol, RETRACTIONS[i.retraction],
            i.max_evaluations, stride, out_q, out_momentum, evaluations,
        )  # fmt: skip
        residual = float(self.memory[layout.LAST_RESIDUAL])
        return Advance(made, "" if status == kernels.CONVERGED else self._explain(status, residual), residual)


class _SviStepper(_Stepper):
    """The same memory with Johnson and Murphey's residual; `target` holds the momentum itself."""

    def __init__(self, integrator: Variational, model: Model, state: State, dt: float):
        super().__init__(integrator, model, state, dt)
        self.svi = ScalableVariational(model)

    def advance(self, steps, tau, stride, out_q, out_momentum, evaluations) -> Advance:
        i = self.integrator
        made = svi_run.run(
            self.model.tree, self.work, self.svi.frames, self.svi.scratch, self.svi.evaluation, self.comparison, self.memory, self.dt,
            steps, tau, i.tol, GUESSES[i.guess], i.max_evaluations, stride, out_q, out_momentum, evaluations,
        )  # fmt: skip
        residual = float(self.memory[layout.LAST_RESIDUAL])
        return Advance(made, "" if made == steps else self._explain(kernels.STALLED, residual), residual)


def _choice(value: str, known, what: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise StateError(f"{what} = {value!r}; it is one of {', '.join(repr(k) for k in known)}")
    return value
