"""Midpoint with the derivatives of the Lagrangian as Johnson and Murphey (2009) print them, to compare with."""

from __future__ import annotations

from ..compiling.decorators import entry, inlined
from ..coordinates.frames import make_frames
from ..errors import StateError
from ..integrators.base import Stepper, checked_choice
from ..integrators.midpoint import Midpoint, MidpointStepper
from ..kernels.stepping.loop import make_steps
from ..kernels.stepping.midpoint import METHOD, Derivatives, Step
from ..model import Model
from ..state import State
from .frame_derivatives import make_tables, sum_curvatures, sum_gradients

EVALUATIONS = ("cached", "uncached")

_MOST_CACHED = 64  # degrees of freedom; the tables grow with their cube


@inlined
def by_frames(a):
    sum_gradients(a.frames, a.tables, a.lag, a.newton.middle, a.newton.velocity)


@inlined
def curvatures_by_frames(a):
    sum_curvatures(a.frames, a.tables, a.lag, a.newton.middle, a.newton.velocity)


FRAMES = Derivatives(by_frames, curvatures_by_frames)


@entry
def run(a, record, tau, steps, end):
    return make_steps(METHOD, Step(FRAMES, a), a.memory, record, tau, steps, end)


class Johnson2009(Midpoint):
    """The same integrator, its second derivatives by recursions over frames.

    evaluation   "cached": every derivative of a frame is computed once, O(n^3); "uncached": each from the root, O(n^4)
    """

    plain_coordinates = True  # type: ignore[assignment]

    def __init__(self, evaluation: str = "cached", **options):
        super().__init__(**options)
        self.evaluation = checked_choice(evaluation, EVALUATIONS, "evaluation")

    def start(self, model: Model, state: State, dt: float) -> Stepper:
        if model.nv > _MOST_CACHED:
            raise StateError(
                f"evaluation={self.evaluation!r} is there to compare with and takes at most {_MOST_CACHED} degrees of freedom; "
                f"{model.name!r} has {model.nv}. Use la.Midpoint()"
            )
        tree = model.tree
        if len(tree.wrench_on) or len(tree.pair_on) or len(tree.energy_at) or len(tree.law_on):
            raise StateError(
                f"evaluation={self.evaluation!r} leaves out wrenches, forces between points and potentials of the user, and {model.name!r} "
                "has some; use la.Midpoint()"
            )
        self.refuse_constraints(model)
        self.refuse_armature(model)
        self.refuse_servos(model, "it is the algorithm of a paper")
        self.refuse_dry_friction(model, "it is the algorithm of a paper")
        make_frames(model)  # refuses joints that are not made of primitives
        return _Stepper(self, model, state, dt)


class _Stepper(MidpointStepper):
    integrator: Johnson2009

    def __init__(self, integrator: Johnson2009, model: Model, state: State, dt: float):
        super().__init__(integrator, model, state, dt)
        self.arrays = self.arrays._replace(tables=make_tables(self.arrays.frames, integrator.evaluation == "cached"))
        self.compile(run)
