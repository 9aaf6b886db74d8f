"""The only time loop of the package."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .dynamics import Evaluator
from .errors import ConvergenceError, StateError
from .integrators import Integrator, Variational
from .integrators.base import Advance
from .model import Coordinates, Model
from .progress import Progress
from .state import State
from .trajectory import Trajectory

Control = Callable[[float, State], ArrayLike]

_CHUNK_SECONDS = 0.2  # how long compiled code runs before the progress bar moves and Ctrl-C is seen


def simulate(
    model: Model,
    state: State | None = None,
    *,
    dt: float,
    duration: float | None = None,
    steps: int | None = None,
    integrator: Integrator | None = None,
    tau: ArrayLike | None = None,
    control: Control | None = None,
    q: Coordinates = None,
    v: Coordinates = None,
    record_every: int = 1,
    progress: bool | None = None,
) -> Trajectory:
    """Simulate `model` from `state` (or from q and v) over `duration` seconds or a number of `steps`.

    tau           joint forces: (nv,) constant, or (steps, nv) held constant over each step
    control       instead of tau, a function (t, state) -> tau called before every step
    record_every  keep every n-th node
    progress      show a progress bar; by default on a terminal when the run is long
    """
    simulator = Simulator(model, state, dt=dt, integrator=integrator, q=q, v=v)
    count = _count_steps(simulator.dt, duration, steps)
    if tau is not None and control is not None:
        raise StateError("give joint forces as tau or as a control law, not both")
    if not isinstance(record_every, (int, np.integer)) or record_every < 1:
        raise StateError(f"record_every = {record_every!r}; it needs a whole number >= 1")
    return simulator.run(count, tau=tau, control=control, record_every=int(record_every), progress=progress)


class Simulator:
    """A simulation that is advanced from Python: `sim.step(tau)` makes one step, `sim.run(n)` many.

    >>> import leastaction as la
    >>> model = la.examples.cart_pole().compile()
    >>> sim = la.Simulator(model, dt=1e-2, q={"pole": 0.1})
    >>> for _ in range(10):
    ...     sim.step([-5.0 * sim.q[0], 0.0])
    >>> round(sim.t, 3)
    0.1
    """

    def __init__(
        self,
        model: Model,
        state: State | None = None,
        *,
        dt: float,
        integrator: Integrator | None = None,
        q: Coordinates = None,
        v: Coordinates = None,
    ):
        if not isinstance(model, Model):
            hint = "; call .compile() on the mechanism first" if hasattr(model, "compile") else ""
            raise StateError(f"expected a compiled Model, got {type(model).__name__}{hint}")
        if state is not None and (q is not None or v is not None):
            raise StateError("give a state, or q and v, not both")
        self.model = model
        self.dt = _check_step(dt)
        self.integrator = Variational() if integrator is None else integrator
        if not isinstance(self.integrator, Integrator):
            raise StateError(f"integrator = {integrator!r} is not an integrator; give for example Variational()")
        start = model.state(q, v) if state is None else state
        if start.model is not model:
            raise StateError(f"the state belongs to {start.model!r}, not to this {model!r}; make it with model.state(...)")
        self.t0 = start.t
        self.steps = 0
        self._stepper = self.integrator.start(model, start, self.dt)
        self._evaluator = Evaluator(model)
        self._q = np.empty((1, model.nq))
        self._recorded = np.empty((1, model.nv))
        self._tau = np.zeros((1, model.nv))
        self._evaluations = np.zeros(1, dtype=np.int64)
        self._advance(0, self._tau, 1, self._q[:0], self._recorded[:0], self._evaluations[:0])  # sets up the first node
        self._stepper.record(self._q, self._recorded)

    @property
    def t(self) -> float:
        """Time now, s."""
        return self.t0 + self.steps * self.dt

    @property
    def q(self) -> NDArray[np.float64]:
        """Coordinates now."""
        return self._q[0].copy()

    @property
    def v(self) -> NDArray[np.float64]:
        """Velocities now."""
        return self.state.v

    @property
    def state(self) -> State:
        """State now."""
        node = self._evaluator(*self.integrator.recording(self.dt), self._q, self._recorded)
        return State.with_velocity(self.model, self.t, self.q, node.p[0], node.v[0])

    def step(self, tau: Coordinates = None) -> None:
        """One step with the joint forces tau held constant over it."""
        self._tau[0] = 0.0 if tau is None else self.model.velocities(tau, "tau")
        result = self._advance(1, self._tau, 1, self._q, self._recorded, self._evaluations)
        if result.failure:
            raise self._failure(result, None)

    def run(
        self,
        steps: int,
        *,
        tau: ArrayLike | None = None,
        control: Control | None = None,
        record_every: int = 1,
        progress: bool | None = None,
    ) -> Trajectory:
        """Make many steps and return what was recorded, the present node first."""
        forces = _check_forces(tau, steps, self.model)
        recording = _Recording(self, steps, record_every)
        began = time.perf_counter()
        with Progress(steps, self.dt, progress) as bar:
            failed = self._run_compiled(recording, forces, bar) if control is None else self._run_controlled(recording, control, bar)
        trajectory = recording.trajectory(self, elapsed=time.perf_counter() - began)
        if failed is not None:
            raise self._failure(failed, trajectory)
        return trajectory

    def _run_compiled(self, rec: _Recording, forces: NDArray[np.float64], bar: Progress) -> Advance | None:
        """Chunks of many steps in compiled code, so long that Python costs nothing, so short that the bar moves."""
        chunk = rec.every  # a multiple of it, so that every chunk ends on a recorded node
        failed = None
        while rec.done < rec.steps and failed is None:
            size = min(chunk, rec.steps - rec.done)
            tau = forces if len(forces) == 1 else forces[rec.done : rec.done + size]
            rows = slice(rec.rows, rec.rows + size // rec.every)
            began = time.perf_counter()
            result = self._advance(size, tau, rec.every, rec.q[rows], rec.recorded[rows], rec.evaluations[rec.done : rec.done + size])
            if time.perf_counter() - began < 0.5 * _CHUNK_SECONDS:
                chunk *= 2
            rec.done += result.steps
            rec.rows += result.steps // rec.every
            failed = result if result.failure else None
            bar.update(rec.done)
        self._stepper.record(self._q, self._recorded)
        return failed

    def _run_controlled(self, rec: _Recording, control: Control, bar: Progress) -> Advance | None:
        """One step at a time, each with the forces the control law asks for."""
        while rec.done < rec.steps:
            self._tau[0] = self.model.velocities(control(self.t, self.state), "tau")
            row = rec.evaluations[rec.done : rec.done + 1]
            result = self._advance(1, self._tau, 1, self._q, self._recorded, row)
            if result.failure:
                return result
            rec.done += 1
            if rec.done % rec.every == 0:
                rec.q[rec.rows], rec.recorded[rec.rows] = self._q[0], self._recorded[0]
                rec.rows += 1
            bar.update(rec.done)
        return None

    def _advance(self, steps, tau, stride, q, recorded, evaluations) -> Advance:
        result = self._stepper.advance(steps, tau, stride, q, recorded, evaluations)
        self.steps += result.steps
        return result

    def _failure(self, result: Advance, trajectory: Trajectory | None) -> ConvergenceError:
        message = f"step {self.steps} at t = {self.t:g} s with dt = {self.dt:g} s: {result.failure}"
        if trajectory is not None:
            trajectory.converged = False
            trajectory.message = message
        return ConvergenceError(message, step=self.steps, time=self.t, residual=result.residual, trajectory=trajectory)


class _Recording:
    """Arrays that fill up during a run."""

    def __init__(self, simulator: Simulator, steps: int, every: int):
        kept = steps // every + 1
        self.steps, self.every = steps, every
        self.first = simulator.steps
        self.q = np.empty((kept, simulator.model.nq))
        self.recorded = np.empty((kept, simulator.model.nv))
        self.evaluations = np.zeros(steps, dtype=np.int64)
        self.q[0], self.recorded[0] = simulator._q[0], simulator._recorded[0]
        self.done, self.rows = 0, 1

    def trajectory(self, simulator: Simulator, elapsed: float) -> Trajectory:
        times = simulator.t0 + simulator.dt * (self.first + self.every * np.arange(self.rows, dtype=np.float64))
        return Trajectory(
            simulator.model, simulator.integrator, simulator.dt, times, self.q[: self.rows], self.recorded[: self.rows],
            self.evaluations[: self.done], elapsed=elapsed,
        )  # fmt: skip


def _check_step(dt: float) -> float:
    try:
        number = float(dt)
    except (TypeError, ValueError):
        raise StateError(f"dt = {dt!r} is not a number of seconds") from None
    if not np.isfinite(number) or number <= 0.0:
        raise StateError(f"dt = {dt!r}; the step needs a positive number of seconds, for example 1e-3")
    return number


def _count_steps(dt: float, duration: float | None, steps: int | None) -> int:
    if (duration is None) == (steps is None):
        raise StateError("give the length of the simulation as duration (s) or as a number of steps, one of them")
    if steps is not None:
        if not isinstance(steps, (int, np.integer)) or steps < 0:
            raise StateError(f"steps = {steps!r}; it needs a whole number >= 0")
        return int(steps)
    if not np.isfinite(duration) or duration < 0.0:  # type: ignore[arg-type, operator]
        raise StateError(f"duration = {duration!r}; it needs a number of seconds >= 0")
    return int(round(duration / dt))  # type: ignore[operator]


def _check_forces(tau: ArrayLike | None, steps: int, model: Model) -> NDArray[np.float64]:
    if tau is None:
        return np.zeros((1, model.nv))
    if isinstance(tau, dict) or np.ndim(tau) <= 1:
        return model.velocities(tau, "tau")[None]
    series = np.ascontiguousarray(tau, dtype=float)
    if series.shape != (steps, model.nv):
        raise StateError(f"tau has shape {series.shape}; it needs ({model.nv},) or one row per step, ({steps}, {model.nv})")
    if not np.all(np.isfinite(series)):
        k, j = np.argwhere(~np.isfinite(series))[0]
        raise StateError(f"tau[{k}, {j}] = {series[k, j]} is not finite")
    return series
