"""Variable step without losing structure: a reversible step-density controller around a self-adjoint integrator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import tie
from ..checks import number, shown
from ..compiling.address import compile_force
from ..compiling.records import allocate
from ..errors import StateError
from ..forces.functions import once
from ..kernels.maximal.evaluate import momenta_entry
from ..kernels.solving.memory import TIME
from ..kernels.stepping import adaptive as kernels
from ..kernels.stepping import control
from ..kernels.stepping import maximal_adaptive as maximal_kernels
from ..kernels.stepping import midpoint_adaptive as midpoint_kernels
from ..kernels.stepping.loop import BAD_DENSITY
from ..model import Model
from ..state import State
from .base import KICKED_MOMENTUM, CompiledStepper, Integrator, Starts, Stepper, checked_choice
from .maximal import Maximal, MaximalStepper
from .midpoint import Midpoint, MidpointStepper, midpoint_arrays
from .variational import Variational, VariationalStepper, place_in_tree

CONTROLLERS = ("reversible", "naive")


class AdaptiveStep(Integrator):
    """Steps of the length dt / density: long where little happens, short where much does, and still without energy drift.

    base        Variational(...), Maximal(...) or Midpoint(...), whose steps are made
    density     "speed": sqrt(1 + |v|^2 / speed^2), v all joint velocities together, so that dt is the step at rest;
                or a function density(t, q, v, out) that writes a positive number to out[0].  It is compiled like a CustomForce,
                has to be smooth, and must not change when velocities change their sign
    speed       rad/s (or m/s) at which the step is dt / sqrt(2)
    controller  "reversible" (Hairer and Soederlind 2005): the density follows a differential equation of its own that is integrated
                reversibly; "naive", to compare with: dt / density at the start of every step, which makes energy drift

    The times of a run are not equally spaced: see run.t.  A run of a given duration ends with the first node at or after it.
    The steps are reversible (Simulator.reverse leads back) and keep momentum; the map is not symplectic.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> run = la.simulate(model, dt=1e-2, duration=2.0, q={"upper": 2.5}, integrator=la.AdaptiveStep(la.Variational()))
    >>> steps = run.t[1:] - run.t[:-1]
    >>> bool(steps.max() > 1.5 * steps.min())
    True
    """

    order = 2
    symplectic = False
    self_adjoint = False
    uniform = False
    unguarded = "parts of a step would not be as long as its density says; leave guard out, and give a larger density where steps fail"

    def __init__(
        self,
        base: Variational | Maximal | Midpoint | None = None,
        density: str | Callable[..., None] = "speed",
        speed: float = 1.0,
        controller: str = "reversible",
    ):
        self.base = Variational() if base is None else base
        if not isinstance(self.base, tuple(_STEPPERS)) or not self.base.self_adjoint or not self.base.has_composed_code:
            raise StateError(f"base = {shown(base)}; AdaptiveStep needs Variational(...), Maximal(...) or Midpoint(alpha=0.5)")
        self.plain_coordinates = self.base.plain_coordinates  # type: ignore[misc]
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
        if isinstance(self.base, Midpoint):
            self.base.refuse_model(model)
        why = "its density follows steps that are undone by a step back, and those with a force that is taken at their ends are not"
        self.refuse_servos(model, why)
        self.refuse_dry_friction(model, why)
        return self._stepper(model, state, dt)

    def _stepper(self, model: Model, state: State, dt: float, density: float = 0.0) -> AdaptiveStepper:
        kind = next(kind for base, kind in _STEPPERS.items() if isinstance(self.base, base))
        return kind(self, model, state, dt, density)

    @property
    def single(self) -> Integrator:
        return self.base

    def turn_round(self, stepper: Stepper, state: State) -> AdaptiveStepper:
        assert isinstance(stepper, AdaptiveStepper)  # made by `start`
        return self._stepper(stepper.model, state, stepper.dt, stepper.node_density)

    def recording(self, dt: float) -> tuple[int, float]:
        return KICKED_MOMENTUM, 0.0


class AdaptiveStepper(CompiledStepper):
    """What is added to the stepper of the base."""

    adaptive: AdaptiveStep
    controller: control.Controller

    def __init__(self, adaptive: AdaptiveStep, model: Model, state: State, dt: float, density: float = 0.0):
        """density: at the first node, where a run is continued; 0 means what the density function says."""
        self.adaptive = adaptive
        self._compiled = once(compile_force, adaptive.density) if callable(adaptive.density) else None
        ties = tie(model, state.q, state.v, state.t, dt)[0] if model.closures else None
        self.controller = allocate(
            control.Controller, {"n": len(model.bodies), "nq": model.nq, "nv": model.nv},
            reversible=int(adaptive.controller == "reversible"), address=-1 if self._compiled is None else self._compiled.address,
            speed=adaptive.speed, clock=np.array([density, 0.0, 0.0]), work=model.make_work(), con=ties,
        )  # fmt: skip
        super().__init__(adaptive.base, model, state, dt)  # type: ignore[call-arg, arg-type]

    @property
    def node_density(self) -> float:
        """The density now: start a stepper with it to continue, or to go back from here."""
        q, p = self.node
        return control.node_density(self.model.tree, q, p, self.controller, float(self.memory[TIME]), self.dt, np.zeros(self.model.nv))

    @property
    def node(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coordinates and joint momenta of the present node."""
        return self.present

    def explain(self, status: int, residual: float) -> str:
        if status == BAD_DENSITY:
            known = f"the step density is {self.controller.out[0]:.3g}, " if self._compiled else "the step density would become "
            return (
                f"{known}not positive; it may not vary faster than the steps can follow: give a smoother density function or a smaller dt"
            )
        return f"{super().explain(status, residual)}, or a density that is larger there"


class AdaptiveVariational(AdaptiveStepper, VariationalStepper):
    def set_up(self) -> None:
        self.work.d[:] /= self.dt
        numbers = self.integrator.numbers(self.dt, patient=True)
        self.arrays = kernels.Arrays(self.model.tree, self.work, self.middle, self.ties, self.controller, self.memory, numbers)
        self.compile(kernels.run)

    def place_starts(self, many: Starts):
        return place_velocities(self, many)


class AdaptiveMidpoint(AdaptiveStepper, MidpointStepper):
    def set_up(self) -> None:
        self.work.d[:] /= self.dt
        plain = midpoint_arrays(self.model, self.work, self.ties, self.memory, self.integrator.numbers(self.dt))
        self.arrays = midpoint_kernels.Adaptive(self.model.tree, plain, self.controller)
        self.compile(midpoint_kernels.run)

    def place_starts(self, many: Starts):
        return place_velocities(self, many)


class AdaptiveMaximal(AdaptiveStepper, MaximalStepper):
    def set_up(self) -> None:
        self.flow.d[:] /= self.dt
        net, numbers = self.network.net, self.integrator.numbers(self.dt)
        self.arrays = maximal_kernels.Adaptive(self.model.tree, net, self.flow, self.controller, self.memory, np.zeros(2), numbers)
        self.compile(maximal_kernels.run)

    @property
    def node(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        momenta = np.empty(self.model.nv)
        momenta_entry(self.model.tree, self.network.net, self.still, momenta)
        return self.flow.q, momenta


_STEPPERS: dict[type[Integrator], type[AdaptiveStepper]] = {
    Variational: AdaptiveVariational,
    Midpoint: AdaptiveMidpoint,
    Maximal: AdaptiveMaximal,
}


def place_velocities(stepper: AdaptiveVariational | AdaptiveMidpoint, many: Starts):
    """For `la.rollout`: what many starts write to the memory of steps of changing length in joint coordinates."""
    if stepper.ties is not None:
        return None
    return [*stepper.place_times(many, stepper.memory), *place_in_tree(stepper.work, many, many.v)]
