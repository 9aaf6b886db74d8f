"""The variational integrator of generalised coordinates (Johnson and Murphey 2009, "trep")."""

from __future__ import annotations

import numpy as np

from ..assembly.closing import tie
from ..checks import number, whole_number
from ..compiling.decorators import Direct
from ..coordinates import ties as tree
from ..coordinates.frames import make_frames
from ..dynamics import explain_singular
from ..errors import StateError
from ..kernels.lagrangian import layout as lagrangian_layout
from ..kernels.stepping import midpoint as kernels
from ..kernels.tree import evaluate, layout
from ..model import Model
from ..state import State
from ..yardsticks import frame_derivatives
from .base import Advance, Integrator
from .variational import _choice

EVALUATIONS = ("composite", "cached", "uncached")

_MOST_CACHED = 64  # degrees of freedom; the tables grow with their cube


class Midpoint(Integrator):
    """Discretises the action in generalised coordinates: Ld = h L((1 - alpha) q_k + alpha q_{k+1}, (q_{k+1} - q_k)/h).

    For joints with plain coordinates.  Potentials and forces act inside the step, so stiff springs and hanging chains stay
    stable; a step costs O(n^2) and a dense elimination, where `Variational` costs O(n).

    alpha        where in the step the Lagrangian is evaluated; order 2 and reversible for 1/2, else order 1
    evaluation   "composite": second derivatives in O(n^2); to compare with: the recursions of the paper, "cached" and "uncached"
    tol          largest residual relative to the largest momentum or impulse of the step
    """

    symplectic = True
    plain_coordinates = True

    def __init__(self, alpha: float = 0.5, evaluation: str = "composite", tol: float = 1e-10, max_evaluations: int = 50):
        self.alpha = number(alpha, "alpha", StateError)
        if not 0.0 <= self.alpha <= 1.0:
            raise StateError(f"alpha = {alpha!r}; it needs a number from 0 to 1, 1/2 for order 2")
        self.evaluation = _choice(evaluation, EVALUATIONS, "evaluation")
        self.tol = number(tol, "tol", StateError)
        if not 0.0 < self.tol < 1.0:
            raise StateError(f"tol = {tol!r}; it needs a number between 0 and 1, for example 1e-10")
        self.max_evaluations = whole_number(max_evaluations, 2, "max_evaluations")

    @property
    def order(self) -> int:  # type: ignore[override]
        return 2 if self.alpha == 0.5 else 1

    def start(self, model: Model, state: State, dt: float) -> _Stepper:
        if not tree.in_tree(model.closures):
            self.refuse_constraints(model)
        return _Stepper(self, model, state, dt)

    def recording(self, dt: float) -> tuple[int, float]:
        return evaluate.KICKED_MOMENTUM, 0.0

    def extras(self, model: Model) -> dict[str, tuple[int, ...]]:
        return {"constraint_error": ()} if model.closures else {}


class _Stepper:
    def __init__(self, integrator: Midpoint, model: Model, state: State, dt: float):
        self.integrator, self.model, self.dt = integrator, model, dt
        self.frames = make_frames(model)
        self.lagrangian = lagrangian_layout.make_lagrangian(model.tree, self.frames)
        self.tables = None
        if integrator.evaluation != "composite":
            self._check_comparable()
            self.tables = frame_derivatives.make_tables(self.frames, integrator.evaluation == "cached")
        self.work = model.make_work()
        self.work.q[:], self.work.target[:], self.work.d[:] = state.q, state.p, dt * state.v
        self.newton = kernels.make_newton(model.nv)
        self.memory = np.zeros(layout.MEMORY)
        self.memory[layout.RATE] = layout.ALWAYS_NEW
        self.memory[layout.RATE_AGED] = 0.01  # hopeful: tried on the second step
        self.memory[layout.TIME] = state.t
        self.extra = {"constraint_error": np.zeros(1)}  #: rows of the recording, see Integrator.extras
        self.dropped: tuple[str, ...] = ()  #: names of redundant constraint rows
        self.ties: tree.Ties | None = None
        self.end: layout.Work | None = None
        if model.closures:
            self.ties, self.dropped = tie(model, state.q, state.v, state.t, dt)
            self.end = model.make_work()
        self._run = Direct(kernels.run)

    def record(self, out_q, out_momentum) -> None:
        out_q[0], out_momentum[0] = self.work.q, self.work.target
        if self.ties is not None:
            self.extra["constraint_error"][:1] = np.abs(self.ties.value).max(initial=0.0)

    def advance(self, steps, tau, stride, out_q, out_momentum, evaluations) -> Advance:
        i = self.integrator
        made, status = self._run(
            self.model.tree, self.frames, self.lagrangian, self.tables, self.work, self.newton, self.end, self.ties, self.memory, i.alpha,
            self.dt, steps, tau, i.tol, i.max_evaluations, stride, out_q, out_momentum, self.extra["constraint_error"], evaluations,
        )  # fmt: skip
        residual = float(self.memory[layout.LAST_RESIDUAL])
        return Advance(made, "" if status == kernels.CONVERGED else self._explain(status, residual), residual)

    def _check_comparable(self) -> None:
        model, name = self.model, self.integrator.evaluation
        if model.nv > _MOST_CACHED:
            raise StateError(
                f"evaluation={name!r} is there to compare with and takes at most {_MOST_CACHED} degrees of freedom; {model.name!r} has "
                f'{model.nv}. Use evaluation="composite"'
            )
        tree = model.tree
        if len(tree.wrench_on) or len(tree.pair_on) or len(tree.energy_at) or len(tree.law_on):
            raise StateError(
                f"evaluation={name!r} knows no wrenches, forces between points and potentials of the user, and {model.name!r} has some; "
                'use evaluation="composite"'
            )

    def _explain(self, status: int, residual: float) -> str:
        singular = explain_singular(self.model, self.work.q, limit=100.0)
        if singular:
            return singular
        remedies = ["a smaller dt"]
        if status == kernels.NOT_FINITE:
            if len(self.model.tree.custom):
                remedies.append("a CustomForce that is finite there")
            return f"the residual became infinite or NaN with {self.integrator!r}; try {', '.join(remedies)}"
        remedies.append(f"a larger tol (now {self.integrator.tol:g})")
        scale = float(self.memory[layout.SCALE])
        return (
            f"the residual stays at {residual:.3g} ({residual / scale if scale else np.inf:.2g} of the largest momentum {scale:.3g}) "
            f"after {self.integrator.max_evaluations} evaluations at most; try {', '.join(remedies)}"
        )
