"""The only time loop of the package."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .assembly.closing import ClosedEvaluator
from .checks import number, numbers, time_step, whole_number
from .dynamics import explain_singular
from .errors import ConvergenceError, SingularMassError, StateError
from .guard import GuardedStepper, certified_dt
from .integrators import Integrator, Trapezoid, Variational
from .integrators.base import Advance, Stepper, UnevenStepper
from .model import Coordinates, Model
from .progress import Progress
from .state import State
from .trajectory import Trajectory

Control = Callable[[float, State], ArrayLike]

_BLOCK = 4096  # recorded nodes at a time where their number is not known beforehand
_CHUNK_SECONDS = 0.2  # how long compiled code runs before the progress bar moves and Ctrl-C is seen


def simulate(
    model: Model,
    state: State | None = None,
    *,
    dt: float | str,
    duration: float | None = None,
    steps: int | None = None,
    integrator: Integrator | None = None,
    tau: ArrayLike | None = None,
    control: Control | None = None,
    q: Coordinates = None,
    v: Coordinates = None,
    record_every: int = 1,
    progress: bool | None = None,
    guard: bool = False,
) -> Trajectory:
    """Simulate `model` from `state` (or from q and v) over `duration` seconds or a number of `steps`.

    dt            step, s; or "certified": the longest step that is certified to be solvable from the start (leastaction.solvability)
    duration      rounded to whole steps; with an integrator that chooses its steps, until the first node at or after it
    tau           joint forces: (nv,) constant, or (steps, nv) held constant over each step
    control       instead of tau, a function (t, state) -> tau called before every step
    record_every  keep every n-th node
    progress      show a progress bar; by default on a terminal when the run is long
    guard         subdivide steps that cannot be solved, or whose solution is not the one that continues the motion (guard.py)
    """
    simulator = Simulator(model, state, dt=dt, integrator=integrator, q=q, v=v, guard=guard)
    if not simulator.integrator.uniform and duration is not None:
        return _run_for(simulator, duration, steps, tau=tau, control=control, record_every=record_every)
    count = _count_steps(simulator.dt, duration, steps)
    return simulator.run(count, tau=tau, control=control, record_every=record_every, progress=progress)


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
        dt: float | str,
        integrator: Integrator | None = None,
        q: Coordinates = None,
        v: Coordinates = None,
        guard: bool = False,
    ):
        if not isinstance(model, Model):
            hint = "; call .compile() on the mechanism first" if hasattr(model, "compile") else ""
            raise StateError(f"expected a compiled Model, got {type(model).__name__}{hint}")
        if state is not None and (q is not None or v is not None):
            raise StateError("give a state, or q and v, not both")
        self.model = model
        by_certificate = isinstance(dt, str) and dt == "certified"
        self.integrator = (Trapezoid() if by_certificate else Variational()) if integrator is None else integrator
        if not isinstance(self.integrator, Integrator):
            raise StateError(f"integrator = {integrator!r} is not an integrator; give for example Variational()")
        start = model.state(q, v) if state is None else state
        if not isinstance(start, State):
            raise StateError(f"state = {start!r} is not a State; make one with model.state(q=..., v=...)")
        if start.model is not model:
            raise StateError(
                f"the state belongs to another compilation, {start.model!r}, not to this {model!r}; make it with model.state(...)"
            )
        if model.has_symbolic_joints and (singular := explain_singular(model, start.q)):
            raise SingularMassError(f"the start of the simulation is singular: {singular}")
        self.dt = certified_dt(model, start, self.integrator) if by_certificate else time_step(dt)  # type: ignore[arg-type]
        self.t0 = start.t
        self.steps = 0
        self.guard = bool(guard)
        self._stepper: Stepper = self._make_stepper(start)
        self._evaluator = ClosedEvaluator(model)
        self._q = np.empty((1, model.nq))
        self._recorded = np.empty((1, model.nv))
        self._tau = np.zeros((1, model.nv))
        self._evaluations = np.zeros(1, dtype=np.int64)
        self._extra = {name: np.zeros((1, *shape)) for name, shape in self.integrator.extras(model).items()}
        self._set_up_node()

    def _make_stepper(self, state: State) -> Stepper:
        return (GuardedStepper if self.guard else type(self.integrator).start)(self.integrator, self.model, state, self.dt)

    @property
    def subdivided(self) -> list[tuple[float, int]]:
        """(time, number of parts) of the steps that the guard subdivided."""
        return list(self._stepper.subdivided) if isinstance(self._stepper, GuardedStepper) else []

    @property
    def _uneven(self) -> UnevenStepper:
        """The stepper of an integrator that is not uniform."""
        return cast(UnevenStepper, self._stepper)

    def _set_up_node(self) -> None:
        self._lend(self._extra)
        self._advance(0, self._tau, 1, self._q[:0], self._recorded[:0], self._evaluations[:0])
        self._stepper.record(self._q, self._recorded)

    @property
    def t(self) -> float:
        """Time now, s."""
        return self.t0 + self.steps * self.dt if self.integrator.uniform else self._uneven.t

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
        node = self._evaluator(*self.integrator.recording(self.dt), self._q, self._recorded, np.array([self.t]))
        return State.with_velocity(self.model, self.t, self.q, node.p[0], node.v[0])

    def step(self, tau: Coordinates = None) -> None:
        """One step with the joint forces tau held constant over it."""
        self._tau[0] = 0.0 if tau is None else self.model.velocities(tau, "tau")
        result = self._advance(1, self._tau, 1, self._q, self._recorded, self._evaluations)
        if result.failure:
            raise self._failure(result, _Recording(self, 0, 1).trajectory(self, elapsed=0.0))

    def reverse(self) -> None:
        """Turn all velocities round: a reversible integrator then goes back the way it came, while time goes on."""
        now = self.state
        state = State.with_velocity(self.model, now.t, now.q, -now.p, -now.v)
        if self.integrator.uniform:
            self._stepper = self._make_stepper(state)
        else:
            self._stepper = self._uneven.reversed(state)
        self._set_up_node()

    def run(
        self,
        steps: int,
        *,
        tau: ArrayLike | None = None,
        control: Control | None = None,
        record_every: int = 1,
        progress: bool | None = None,
    ) -> Trajectory:
        """Make many steps and return what was recorded, the present node first.

        After Ctrl-C the simulator stands at the last step it made.
        """
        steps = whole_number(steps, 0, "steps")
        record_every = whole_number(record_every, 1, "record_every")
        if tau is not None and control is not None:
            raise StateError("give joint forces as tau or as a control law, not both")
        if control is not None and not callable(control):
            raise StateError(f"control = {control!r} is not a function; give one that takes (t, state) and returns joint forces")
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
            self._lend({name: array[rows] for name, array in rec.extra.items()})
            with _interrupt_later():
                result = self._advance(size, tau, rec.every, rec.q[rows], rec.recorded[rows], rec.evaluations[rec.done : rec.done + size])
                self._lend(self._extra)
                self._stepper.record(self._q, self._recorded)
            if time.perf_counter() - began < 0.5 * _CHUNK_SECONDS:
                chunk *= 2
            if not self.integrator.uniform:
                rec.t[rec.rows : rec.rows + len(self._uneven.times)] = self._uneven.times
            rec.done += result.steps
            rec.rows += result.steps // rec.every
            failed = result if result.failure else None
            if result.steps < size and not failed:
                break  # the end of the run was reached
            bar.update(rec.done)
        return failed

    def _run_controlled(self, rec: _Recording, control: Control, bar: Progress) -> Advance | None:
        """One step at a time, each with the forces the control law asks for."""
        while rec.done < rec.steps:
            self._tau[0] = self._ask(control)
            with _interrupt_later():
                result = self._advance(1, self._tau, 1, self._q, self._recorded, rec.evaluations[rec.done : rec.done + 1])
            if result.failure:
                return result
            rec.done += 1
            if rec.done % rec.every == 0:
                rec.t[rec.rows], rec.q[rec.rows], rec.recorded[rec.rows] = self.t, self._q[0], self._recorded[0]
                for name, array in rec.extra.items():
                    array[rec.rows] = self._extra[name][0]
                rec.rows += 1
            bar.update(rec.done)
        return None

    def _ask(self, control: Control) -> NDArray[np.float64]:
        forces = control(self.t, self.state)
        if forces is None:
            raise StateError(f"the control law returned None at t = {self.t:g} s; return joint forces, for example [0.0] * {self.model.nv}")
        return self.model.velocities(forces, "tau")

    def _lend(self, extra: dict[str, NDArray[np.float64]]) -> None:
        """Where the stepper writes what it records beside q and momenta."""
        if extra:
            self._stepper.extra = extra  # type: ignore[attr-defined]

    def _advance(self, steps, tau, stride, q, recorded, evaluations) -> Advance:
        result = self._stepper.advance(steps, tau, stride, q, recorded, evaluations)
        self.steps += result.steps
        return result

    def _failure(self, result: Advance, trajectory: Trajectory) -> ConvergenceError:
        message = f"step {self.steps} at t = {self.t:g} s with dt = {self.dt:g} s: {result.failure}"
        trajectory.converged = False
        trajectory.message = message
        return ConvergenceError(message, step=self.steps, time=self.t, residual=result.residual, trajectory=trajectory)


class _Recording:
    """Arrays that fill up during a run."""

    def __init__(self, simulator: Simulator, steps: int, every: int):
        kept = steps // every + 1
        self.steps, self.every = steps, every
        self.first = simulator.steps
        try:
            self.t = np.empty(kept)
            self.q = np.empty((kept, simulator.model.nq))
            self.recorded = np.empty((kept, simulator.model.nv))
            self.evaluations = np.zeros(steps, dtype=np.int64)
            self.extra = {name: np.empty((kept, *array.shape[1:])) for name, array in simulator._extra.items()}
        except (MemoryError, ValueError):
            raise StateError(
                f"steps = {steps}: {kept} recorded nodes do not fit into memory; record fewer with record_every, or make shorter runs"
            ) from None
        self.t[0], self.q[0], self.recorded[0] = simulator.t, simulator._q[0], simulator._recorded[0]
        for name, array in self.extra.items():
            array[0] = simulator._extra[name][0]
        self.done, self.rows = 0, 1

    def trajectory(self, simulator: Simulator, elapsed: float) -> Trajectory:
        times = self.t[: self.rows]
        if simulator.integrator.uniform:
            times = simulator.t0 + simulator.dt * (self.first + self.every * np.arange(self.rows, dtype=np.float64))
        return Trajectory(
            simulator.model, simulator.integrator, simulator.dt, times, self.q[: self.rows], self.recorded[: self.rows],
            self.evaluations[: self.done], elapsed=elapsed, extra={name: array[: self.rows] for name, array in self.extra.items()},
            redundant=getattr(simulator._stepper, "dropped", ()),
        )  # fmt: skip


@contextmanager
def _interrupt_later() -> Iterator[None]:
    """Ctrl-C inside is seen at the end, so that the steps made are counted.  Only the main thread ever gets one."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pressed: list[tuple] = []
    signal.signal(signal.SIGINT, lambda *what: pressed.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if pressed:
        handler(*pressed[0])


def _run_for(simulator: Simulator, duration: float, steps: int | None, **options) -> Trajectory:
    """Run an integrator with steps of its own choice until the end of the duration is reached."""
    if steps is not None:
        raise StateError("give the length of the simulation as duration (s) or as a number of steps, one of them")
    seconds = number(duration, "duration", StateError)
    if seconds < 0.0:
        raise StateError(f"duration = {duration!r}; it needs a number of seconds >= 0")
    if np.ndim(options["tau"]) > 1:
        raise StateError("tau with one row per step needs steps=; with duration= the number of steps is not known beforehand")
    end = simulator.t0 + seconds
    simulator._uneven.end = end
    parts = [simulator.run(0)]
    while simulator.t < end:
        parts.append(simulator.run(_BLOCK * options["record_every"], **options))
    return Trajectory.joined(parts)


def _count_steps(dt: float, duration: float | None, steps: int | None) -> int:
    if (duration is None) == (steps is None):
        raise StateError("give the length of the simulation as duration (s) or as a number of steps, one of them")
    if steps is not None:
        return whole_number(steps, 0, "steps")
    seconds = number(duration, "duration", StateError)  # type: ignore[arg-type]
    if seconds < 0.0:
        raise StateError(f"duration = {duration!r}; it needs a number of seconds >= 0")
    count = int(round(seconds / dt))
    if count == 0 and seconds > 0.0:
        raise StateError(f"duration = {duration!r} s is less than half a step of dt = {dt:g} s; give a longer duration or a smaller dt")
    return count


def _check_forces(tau: ArrayLike | None, steps: int, model: Model) -> NDArray[np.float64]:
    if tau is None:
        return np.zeros((1, model.nv))
    if isinstance(tau, Mapping):
        return model.velocities(tau, "tau")[None]
    series = numbers(tau, "tau", StateError, finite=False)
    if series.ndim <= 1:
        return model.velocities(series, "tau")[None]
    if series.shape != (steps, model.nv):
        raise StateError(f"tau has shape {series.shape}; it needs ({model.nv},) or one row per step, ({steps}, {model.nv})")
    if not np.all(np.isfinite(series)):
        k, j = np.argwhere(~np.isfinite(series))[0]
        raise StateError(f"tau[{k}, {j}] = {series[k, j]} is not finite")
    return series
