"""Variable step without losing structure: a reversible step-density controller around the variational integrator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..checks import number
from ..compiling.address import compile_force
from ..compiling.decorators import Direct
from ..compiling.records import allocate
from ..dynamics import massless_joint
from ..errors import StateError
from ..kernels.stepping import adaptive as kernels
from ..kernels.tree import evaluate, layout
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Model
from ..state import State
from .base import Advance, Integrator
from .variational import Variational

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
            raise StateError(f'base = {base!r}; AdaptiveStep needs Variational(...) with solver="newton" and guess="extrapolate"')
        if density != "speed" and not callable(density):
            raise StateError(f'density = {density!r}; give "speed" or a function density(t, q, v, out)')
        self.density = density
        self.speed = number(speed, "speed", StateError)
        if self.speed <= 0.0:
            raise StateError(f"speed = {speed!r}; it needs a positive number, rad/s")
        if controller not in CONTROLLERS:
            raise StateError(f"controller = {controller!r}; it is one of {', '.join(map(repr, CONTROLLERS))}")
        self.controller = controller

    def options(self):
        name = self.density if isinstance(self.density, str) else getattr(self.density, "__name__", "function")
        return {"base": self.base, "density": name, "speed": self.speed, "controller": self.controller}

    def start(self, model: Model, state: State, dt: float) -> _Stepper:
        self.refuse_constraints(model)
        self.refuse_charts(model)
        return _Stepper(self, model, state, dt)

    def recording(self, dt: float) -> tuple[int, float]:
        return evaluate.KICKED_MOMENTUM, 0.0


class _Stepper:
    def __init__(self, integrator: AdaptiveStep, model: Model, state: State, dt: float, density: float = 0.0):
        """density: at the first node, where a run is continued; 0 means what the density function says."""
        self.integrator, self.model, self.dt = integrator, model, dt
        self.work = model.make_work()
        self.work.q[:] = state.q
        self.work.target[:] = state.p
        self.work.d[:] = state.v
        self.middle = model.make_middle() if integrator.base.quadrature == "midpoint" else None
        self.memory = np.zeros(layout.MEMORY)
        self.memory[layout.RATE] = layout.ALWAYS_NEW
        self.memory[[layout.RATE_FIRST, layout.RATE_AGED]] = 0.01
        self.memory[layout.TIME] = state.t
        self._compiled = compile_force(integrator.density) if callable(integrator.density) else None
        self.controller = allocate(
            kernels.Controller, {"n": len(model.bodies), "nq": model.nq, "nv": model.nv},
            reversible=int(integrator.controller == "reversible"), address=-1 if self._compiled is None else self._compiled.address,
            speed=integrator.speed, clock=[density, 0.0], work=model.make_work(),
        )  # fmt: skip
        self._run = Direct(kernels.run)
        self.end = np.inf  #: no step starts at or after this time, s
        self.times = np.empty(0)  #: of the nodes recorded by the last `advance`, s

    @property
    def t(self) -> float:
        """Time now, s."""
        return float(self.memory[layout.TIME])

    @property
    def node_density(self) -> float:
        """The density now: start a stepper with it to continue, or to go back from here."""
        tau = np.zeros(self.model.nv)
        return kernels.node_density(self.model.tree, self.work, self.controller, self.t, self.dt, tau)

    def reversed(self, state: State) -> _Stepper:
        """The stepper that goes back from here; `state` is the present one with its velocities turned round."""
        return _Stepper(self.integrator, self.model, state, self.dt, self.node_density)

    def record(self, out_q, out_momentum) -> None:
        out_q[0], out_momentum[0] = self.work.q, self.work.target

    def advance(self, steps, tau, stride, out_q, out_momentum, evaluations) -> Advance:
        base = self.integrator.base
        times = np.empty(len(out_q))
        made, status = self._run(
            self.model.tree, self.work, self.middle, self.controller, self.memory, self.dt, self.end, steps, tau, base.tol,
            RETRACTIONS[base.retraction], base.max_evaluations, stride, out_q, out_momentum, times, evaluations,
        )  # fmt: skip
        self.times = times[: made // stride]
        residual = float(self.memory[layout.LAST_RESIDUAL])
        return Advance(made, "" if status == kernels.CONVERGED else self._explain(status, residual), residual)

    def _explain(self, status: int, residual: float) -> str:
        singular = massless_joint(self.model, self.work.q)
        if singular:
            return f"joint {singular!r} moves no inertia in this configuration, so its motion is undefined; give it some inertia"
        if status == kernels.BAD_DENSITY:
            return (
                f"the step density is {self.controller.out[0] if self._compiled else float('nan'):.3g}, not positive; "
                "it may not vary faster than the steps can follow: give a smoother density function or a smaller dt"
            )
        return f"the residual stays at {residual:.3g}; try a smaller dt or a density that is larger there"
