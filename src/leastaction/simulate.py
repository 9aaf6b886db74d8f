"""The only time loop of the package."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import number, numbers, time_step, whole_number
from .errors import ConvergenceError, StateError
from .integrators import Integrator, Variational
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

    duration      rounded to whole steps
    tau           joint forces: (nv,) constant, or (steps, nv) held constant over each step
    control       instead of tau, a function (t, state) -> tau called before every step
    record_every  keep every n-th node
    progress      show a progress bar; by default on a terminal when the run is long
    """
    simulator = Simulator(model, state, dt=dt, integrator=integrator, q=q, v=v)
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
        self.dt = time_step(dt)
        self.integrator = Variational() if integrator is None else integrator
        if not isinstance(self.integrator, Integrator):
            raise StateError(f"integrator = {integrator!r} is not an integrator; give for example Variational()")
        start = model.state(q, v) if state is None else state
        if not isinstance(start, State):
            raise StateError(f"state = {start!r} is not a State; make one with model.state(q=..., v=...)")
        if start.model is not model:
            raise StateError(f"the state belongs to {start.model!r}, not to this {model!r}; make it with model.state(...)")
        self.t0 = start.t
        self.steps = 0
        self._stepper = self.integrator.start(model, start, self.dt)
        self._q = start.q[None].copy()
        self._recorded = np.empty((1, model.nv))
        self._started = False
        self._evaluations = np.zeros(1, dtype=np.int64)
        self._tau = np.zeros((1, model.nv))

    @property
    def t(self) -> float:
        return self.t0 + self.steps * self.dt

    @property
    def q(self) -> NDArray[np.float64]:
        """Coordinates now."""
        return self._q[0].copy()

    @property
    def state(self) -> State:
        """State now."""
        return self._trajectory(self._node(), np.zeros(0, dtype=np.int64)).state()

    def step(self, tau: ArrayLike | None = None) -> None:
        """One step with the joint forces tau held constant over it."""
        self._ensure_started()
        self._tau[:] = model_forces(self.model, tau)
        result = self._stepper.advance(1, self._tau, 1, self._q, self._recorded, self._evaluations)
        self.steps += result.steps
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
        q, recorded, evaluations = self._make_room(steps, record_every)
        first = self.steps
        self._ensure_started()
        clock = time.perf_counter()
        q[0], recorded[0] = self._q[0], self._recorded[0]
        # chunks are a multiple of record_every, so that every one ends on a recorded node
        chunk = record_every if control is None else 1
        done, rows = 0, 1
        failure = None
        with Progress(steps, self.dt, progress) as bar:
            while done < steps and failure is None:
                size = min(chunk, steps - done)
                if control is not None:
                    forces = self._controlled(control)
                part = forces if len(forces) == 1 else forces[done : done + size]
                began = time.perf_counter()
                stride = record_every if control is None else 1
                room = size // stride
                q_rows, p_rows = (q[rows : rows + room], recorded[rows : rows + room]) if control is None else (self._q, self._recorded)
                with _interrupt_later():
                    result = self._stepper.advance(size, part, stride, q_rows, p_rows, evaluations[done : done + size])
                    self.steps += result.steps
                    if control is None:
                        self._stepper.record(self._q, self._recorded)
                took = time.perf_counter() - began
                done += result.steps
                if control is None:
                    rows += result.steps // stride
                elif done % record_every == 0 and result.steps:
                    q[rows], recorded[rows] = self._q[0], self._recorded[0]
                    rows += 1
                failure = result if result.failure else None
                bar.update(done)
                if control is None and took < 0.5 * _CHUNK_SECONDS:
                    chunk *= 2
        elapsed = time.perf_counter() - clock
        times = self.t0 + self.dt * (first + record_every * np.arange(rows, dtype=np.float64))
        trajectory = Trajectory(
            self.model, self.integrator, self.dt, times, q[:rows], recorded[:rows], evaluations[:done], elapsed=elapsed
        )  # fmt: skip
        if failure is not None:
            raise self._failure(failure, trajectory)
        return trajectory

    def _ensure_started(self) -> None:
        """Record the first node.  Zero steps make the stepper set up its node and, the first time, compile its kernels."""
        if not self._started:
            empty_q, empty_p = np.empty((0, self.model.nq)), np.empty((0, self.model.nv))
            self._stepper.advance(0, self._tau, 1, empty_q, empty_p, self._evaluations[:0])
            self._stepper.record(self._q, self._recorded)
            self._started = True

    def _make_room(self, steps: int, record_every: int):
        """Arrays for coordinates, what is recorded beside them, and evaluations of a run."""
        rows = steps // record_every + 1
        try:
            return np.empty((rows, self.model.nq)), np.empty((rows, self.model.nv)), np.zeros(steps, dtype=np.int64)
        except (MemoryError, ValueError):
            raise StateError(
                f"steps = {steps}: {rows} recorded nodes do not fit into memory; record fewer with record_every, or make shorter runs"
            ) from None

    def _controlled(self, control: Control) -> NDArray[np.float64]:
        forces = control(self.t, self.state)
        if forces is None:
            raise StateError(f"the control law returned None at t = {self.t:g} s; return joint forces, for example [0.0] * {self.model.nv}")
        return model_forces(self.model, forces)

    def _node(self):
        self._ensure_started()
        return self._q.copy(), self._recorded.copy()

    def _trajectory(self, node, evaluations) -> Trajectory:
        q, recorded = node
        return Trajectory(self.model, self.integrator, self.dt, np.array([self.t]), q, recorded, evaluations)

    def _failure(self, result, trajectory: Trajectory | None) -> ConvergenceError:
        message = f"step {self.steps} at t = {self.t:g} s with dt = {self.dt:g} s: {result.failure}"
        if trajectory is not None:
            trajectory.converged = False
            trajectory.message = message
        return ConvergenceError(message, step=self.steps, time=self.t, residual=result.residual, trajectory=trajectory)


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


def model_forces(model: Model, tau: Coordinates) -> NDArray[np.float64]:
    return model.velocities(tau, "tau")[None]


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
        return model_forces(model, tau)
    series = numbers(tau, "tau", StateError, finite=False)
    if series.ndim <= 1:
        return model_forces(model, series)
    if series.shape != (steps, model.nv):
        raise StateError(f"tau has shape {series.shape}; it needs ({model.nv},) or one row per step, ({steps}, {model.nv})")
    if not np.all(np.isfinite(series)):
        k, j = np.argwhere(~np.isfinite(series))[0]
        raise StateError(f"tau[{k}, {j}] = {series[k, j]} is not finite")
    return series
