"""Variational with the solvers, guesses and the other residual of Lee, Liu, Park, Srinivasa 2016, to compare with."""

from __future__ import annotations

from ..compiling.records import allocate
from ..errors import StateError
from ..integrators.base import KICKED_MOMENTUM, Stepper, checked_choice
from ..integrators.variational import Variational, VariationalStepper
from ..model import Model
from ..state import State
from . import comparison, svi_step
from .scalable import ScalableVariational

SOLVERS = {"newton": comparison.NEWTON, "riqn": comparison.RIQN, "broyden": comparison.BROYDEN, "dense-newton": comparison.DENSE}
GUESSES = {"ig1": comparison.IG1, "ig2": comparison.IG2, "ig3": comparison.IG3, "extrapolate": comparison.EXTRAPOLATE}


class Lee2016(Variational):
    """The same discretisation, solved in another way.

    solver   "riqn" (Alg. 3) and "broyden", which know nothing of dampers and forces at the midpoint; "dense-newton" (Alg. 4); "newton"
    guess    "ig1" (no motion), "ig2" (last increment), "ig3" (acceleration), "extrapolate"
    """

    def __init__(self, solver: str = "riqn", guess: str = "ig2", **options):
        super().__init__(**options)
        self.solver = checked_choice(solver, SOLVERS, "solver")
        self.guess = checked_choice(guess, GUESSES, "guess")

    @property
    def has_composed_code(self) -> bool:
        return False

    def why_general(self, model: Model) -> str:
        return "what is compared with runs the same code for all mechanisms"

    def start(self, model: Model, state: State, dt: float) -> Stepper:
        self.refuse_constraints(model)
        self.refuse_servos(model, "it is the algorithm of a paper")
        self.refuse_dry_friction(model, "it is the algorithm of a paper")
        return _Stepper(self, model, state, dt)


class _Stepper(VariationalStepper):
    integrator: Lee2016

    def set_up(self) -> None:
        self.arrays = comparison.Arrays(
            self.model.tree, self.work, self.middle, make_comparison(self.integrator, self.model), self.memory,
            self.integrator.numbers(self.dt),
        )  # fmt: skip
        self.compile(comparison.run)

    def remedies(self) -> list[str]:
        first, *others = super().remedies()
        return [first, *(['solver="newton"'] if self.integrator.solver != "newton" else []), *others]


def make_comparison(integrator: Lee2016, model: Model) -> comparison.Comparison:
    """Memory of a solver."""
    sizes = {"n": len(model.bodies), "nv": model.nv, "most": integrator.max_evaluations}
    return allocate(comparison.Comparison, sizes, solver=SOLVERS[integrator.solver], guess=GUESSES[integrator.guess])


class Svi(Lee2016):
    """Johnson and Murphey's discretisation with an O(n^2) residual, solved by RIQN or Broyden's method.

    evaluation, primitive   of `ScalableVariational`
    """

    linearisable = False

    def __init__(self, solver: str = "riqn", guess: str = "ig2", *, evaluation: str = "matrices", primitive: bool = False, **options):
        super().__init__(solver, guess, **options)
        if solver not in ("riqn", "broyden") or guess == "ig3":
            raise StateError(
                f'Svi with solver={solver!r} and guess={guess!r} is not offered; give solver="riqn" or "broyden" and guess="ig1", "ig2" or '
                '"extrapolate"'
            )
        self.evaluation, self.primitive = evaluation, primitive

    def start(self, model: Model, state: State, dt: float) -> Stepper:
        self.refuse_constraints(model)
        self.refuse_servos(model, "it is the algorithm of a paper")
        self.refuse_dry_friction(model, "it is the algorithm of a paper")
        return _SviStepper(self, model, state, dt)

    def recording(self, dt: float) -> tuple[int, float]:
        return KICKED_MOMENTUM, 0.0

    def step_jacobian(self, model: Model, q0, q1, dt: float) -> None:  # type: ignore[override]
        return None


class _SviStepper(_Stepper):
    integrator: Svi

    def set_up(self) -> None:
        i = self.integrator
        svi = ScalableVariational(self.model, i.evaluation, i.primitive)
        self.arrays = svi_step.Arrays(
            self.model.tree, self.work, svi.frames, svi.scratch, svi.evaluation, make_comparison(i, self.model), self.memory,
            i.numbers(self.dt),
        )  # fmt: skip
        self.compile(svi_step.run)
