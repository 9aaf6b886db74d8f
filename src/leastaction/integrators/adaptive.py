"""Variable step without losing structure: a reversible step-density controller around the variational integrator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..assembly.closing import explain_dependent, tie
from ..checks import number, shown
from ..compiling.address import compile_force
from ..compiling.records import allocate
from ..coordinates import ties as tree
from ..dynamics import explain_singular
from ..errors import StateError
from ..forces.functions import once
from ..kernels.solving.memory import TIME, make_memory
from ..kernels.stepping import adaptive as kernels
from ..kernels.stepping.loop import BAD_DENSITY
from ..kernels.stepping.record import Record
from ..model import Model
from ..state import State
from .base import KICKED_MOMENTUM, CompiledStepper, Integrator, Starts, Stepper, checked_choice
from .variational import Variational, place_in_tree, put_tied_node

CONTROLLERS = ("reversible", "naive")


class AdaptiveStep(Integrator):
    """Steps of the length dt / density: long where little happens, short where much does, and still without energy drift.

    base        Variational(...), whose steps are made
    density     "speed": sqrt(1 + |v|^2 / speed^2), v all joint velocities together, so that dt is the step at rest;
                or a function density(t, q, v, out) that writes a positive number to out[0].  It is compiled like a CustomForce,
                has to be smooth, and must not change when velocities change their sign
    speed       rad/s (or m/s) at which the step is dt / sqrt(2)
    controller  "reversible" (Hairer and Soederlind 2005): the density follows a differential equation of its own that is integrated
                reversibly; "naive", to compare with: dt / density at the start of every step, which makes energy drift

    The times of a run are not equally spaced: see run.t.  A run of a given duration ends with the first node at or after it.
    The steps are reversible (Simulator.reverse leads back) and keep momentum; the map is not symplectic.
    """

    order = 2
    symplectic = False
    self_adjoint = False
    uniform = False

    def __init__(
        self,
        base: Variational | None = None,
        density: str | Callable[..., None] = "speed",
        speed: float = 1.0,
        controller: str = "reversible",
    ):
        self.base = Variational() if base is None else base
        if not isinstance(self.base, Variational) or not self.base.has_composed_code:
            raise StateError(f"base = {shown(base)}; AdaptiveStep needs Variational(...)")
        if not (isinstance(density, str) and density == "speed") and not callable(density):
            raise StateError(f'density = {shown(density)}; give "speed" or a function density(t, q, v, out)')
        self.density = density
        self.speed = number(speed, "speed", StateError)
        if self.speed <= 0.0:
            raise StateError(f"speed = {shown(speed)}; it needs a positive number, rad/s")
        self.controller = checked_choice(controller, CONTROLLERS, "controller")

    def options(self):
        name = self.density if isinstance(self.density, str) else getattr(self.density, "__name__", "function")
        return {"base": self.base, "density": name, "speed": self.speed, "controller": self.controller}

    def start(self, model: Model, state: State, dt: float) -> AdaptiveStepper:
        self.refuse_charts(model)
        why = "it chooses steps that lead back the way they came, which a force taken at their ends does not allow"
        self.refuse_servos(model, why)
        self.refuse_dry_friction(model, why)
        return AdaptiveStepper(self, model, state, dt)

    @property
    def single(self) -> Variational:
        return self.base

    def turn_round(self, stepper: Stepper, state: State) -> AdaptiveStepper:
        assert isinstance(stepper, AdaptiveStepper)  # made by `start`
        return AdaptiveStepper(self, stepper.model, state, stepper.dt, stepper.node_density)

    def recording(self, dt: float) -> tuple[int, float]:
        return KICKED_MOMENTUM, 0.0


class AdaptiveStepper(CompiledStepper):
    integrator: AdaptiveStep

    def __init__(self, integrator: AdaptiveStep, model: Model, state: State, dt: float, density: float = 0.0):
        """density: at the first node, where a run is continued; 0 means what the density function says."""
        super().__init__(integrator, model, dt)
        self.work, self.memory = model.make_work(), make_memory(state.t)
        self.work.q[:] = state.q
        self.work.target[:] = state.p
        self.work.d[:] = state.v
        middle = model.make_middle() if integrator.base.quadrature == "midpoint" else None
        self.ties: tree.Ties | None = None
        if model.closures:
            self.ties, self.redundant = tie(model, state.q, state.v, state.t, dt)
            self.ties.least[:] *= tree.rounding(integrator.base.tol)
            self.multipliers, self.keeps_constraints = len(self.ties.lam), True
        self._compiled = once(compile_force, integrator.density) if callable(integrator.density) else None
        self.controller = allocate(
            kernels.Controller, {"n": len(model.bodies), "nq": model.nq, "nv": model.nv},
            reversible=int(integrator.controller == "reversible"), address=-1 if self._compiled is None else self._compiled.address,
            speed=integrator.speed, clock=np.array([density, 0.0, 0.0]), work=model.make_work(),
            con=None if self.ties is None else tree.Ties(*map(np.copy, self.ties)),
        )  # fmt: skip
        self.arrays = kernels.Arrays(
            model.tree, self.work, middle, self.ties, self.controller, self.memory, integrator.base.numbers(dt, patient=True)
        )  # fmt: skip
        self.compile(kernels.run)

    def place_starts(self, many: Starts):
        if self.ties is not None:
            return None
        return [*self.place_times(many, self.memory), *place_in_tree(self.work, many, many.v)]

    @property
    def present(self):
        return self.work.q, self.work.target

    @property
    def node_density(self) -> float:
        """The density now: start a stepper with it to continue, or to go back from here."""
        return kernels.node_density(self.arrays, np.zeros(self.model.nv))

    def write(self, record: Record) -> None:
        put_tied_node(record, self.memory, self.work, self.ties)

    def explain(self, status: int, residual: float) -> str:
        singular = explain_singular(self.model, self.work.q)
        if singular:
            return singular
        if self.ties is not None and (dependent := explain_dependent(self.model, self.work.q, float(self.memory[TIME]))):
            return dependent
        if status == BAD_DENSITY:
            return (
                f"the step density is {self.controller.out[0] if self._compiled else float('nan'):.3g}, not positive; "
                "it may not vary faster than the steps can follow: give a smoother density function or a smaller dt"
            )
        return f"the residual stays at {residual:.3g}; try a smaller dt or a density that is larger there"
