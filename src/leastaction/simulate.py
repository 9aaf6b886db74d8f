"""`simulate` and `Simulator`: from a model and a state to a trajectory, in chunks of compiled steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .assembly.closing import ClosedEvaluator
from .checks import listed, shown, time_step, whole_number
from .dynamics import explain_singular
from .errors import ConvergenceError, LimitError, SingularMassError, StateError
from .integrators import Integrator, Trapezoid, Variational
from .integrators.base import Advance, Stepper, checked_choice
from .integrators.guard import Guarded, GuardedStepper
from .integrators.memory import Continuation, Memory
from .integrators.watch import LimitWatch
from .kernels.stepping.record import EVERY, ROWS, Record, add_step, copy_row, rewind
from .model import Coordinates, Model, checked_model
from .progress import Progress, interrupt_later
from .reactions import Nodes, Reactions
from .records import stream
from .run_input import MOST_STEPS, Control, check_control, check_forces, checked_seconds, count_steps, memory
from .shapes import not_simulated
from .solvability import bound_in_words, certified_dt
from .state import State, checked_state
from .trajectory import Trajectory

_BLOCK = 4096  # recorded nodes at a time where their number is not known beforehand
_SELDOM = 256  # steps after which what the stepper remembers is copied, where it may have to go back
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
    limits: str = "stop",
    strict: bool = False,
    record_to: str | PathLike[str] | None = None,
    resume: bool = False,
) -> Trajectory:
    """Simulate `model` from `state` (or from q and v) over `duration` seconds or a number of `steps`.

    dt            step, s; or "certified": the longest step that is certified to be solvable from the start (leastaction.solvability)
    duration      rounded to whole steps; with an integrator that chooses its steps, until the first node at or after it
    tau           joint forces: (nv,) constant, or (steps, nv) held constant over each step
    control       instead of tau, a function (t, state) -> tau called before every step
    record_every  keep every n-th node, and always the last one
    progress      show a progress bar; by default on a terminal when the run is long
    guard         subdivide steps that cannot be solved, or whose solution is not the one that continues the motion (integrators/guard.py)
    limits        "stop": the run ends with the first node where a joint is beyond its limit, and `message` names it, because stops of
                  joints are not simulated: what follows is not what the mechanism does; "ignore": joints pass, and `warnings` names them
    strict        an energy that cannot be explained (run.warnings) is an error, whose trajectory ends at the node before it
    record_to     path of an .h5 file (extra hdf5) that the run is written to while it is made, with little memory however long it is;
                  la.open reads it meanwhile, and after whatever happened to the process.  docs/records.md
    resume        go on with what stands in that file, bit for bit as if the run had never stopped; begin if there is none
    """
    simulator = Simulator(model, state, dt=dt, integrator=integrator, q=q, v=v, guard=guard, limits=limits)
    if resume and record_to is None:
        raise StateError("resume=True goes on with a file; give its path as record_to='run.h5'")
    if record_to is not None:
        parts = _Parts(simulator, duration, steps, tau, control, whole_number(record_every, 1, "record_every"))
        run = stream.record(record_to, parts, resume, progress)
    elif not simulator.integrator.uniform and duration is not None:
        run = _run_for(simulator, duration, steps, tau, control, record_every)
    else:
        count = count_steps(simulator.dt, duration, steps)
        run = simulator.run(count, tau=tau, control=control, record_every=record_every, progress=progress)
    return _explained(run) if strict else run


def _explained(run: Trajectory) -> Trajectory:
    """The run, unless its energy cannot be explained."""
    first = run.first_unexplained
    if first is None:
        return run
    until = run.until(max(first, 1))
    until.converged, until.message = False, run.unexplained_in_words
    raise ConvergenceError(run.unexplained_in_words, step=first, time=float(run.t[first]), residual=0.0, trajectory=until)


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
        limits: str = "stop",
    ):
        checked_model(model)
        if state is not None and (q is not None or v is not None):
            raise StateError("give a state, or q and v, not both")
        self.model = model
        by_certificate = isinstance(dt, str) and dt == "certified"
        self.integrator = (Trapezoid() if by_certificate else Variational()) if integrator is None else integrator
        if not isinstance(self.integrator, Integrator):
            raise StateError(f"integrator = {shown(integrator)} is not an integrator; give for example Variational()")
        start = model.state(q, v) if state is None else checked_state(state, model)
        if model.has_symbolic_joints and (singular := explain_singular(model, start.q)):
            raise SingularMassError(f"the start of the simulation is singular: {singular}")
        self.dt = certified_dt(model, start, self.integrator) if by_certificate else time_step(dt)  # type: ignore[arg-type]
        if guard:
            self.integrator = Guarded(self.integrator, bound_in_words)
        self.limits = checked_choice(limits, ("stop", "ignore"), "limits")
        self._limits = LimitWatch(model)
        self._watch = self._limits if self._limits and self.limits == "stop" else None
        self._check_start(start.q)
        self.steps = 0
        self._evaluator = ClosedEvaluator(model)
        self._tau, self._last_tau = np.zeros((1, model.nv)), np.zeros(model.nv)  # of the next step, of the last one
        self._busy = threading.Lock()
        self.trajectory: Trajectory | None = None  #: of the last run, also of one that was interrupted
        self._start_from(start)

    def __reduce__(self):
        raise StateError("a Simulator cannot be pickled, its memory belongs to this process; send sim.state and make a Simulator of it")

    @property
    def subdivided(self) -> list[tuple[float, int]]:
        """(time, number of parts) of the steps that the guard subdivided."""
        return list(self._stepper.subdivided) if isinstance(self._stepper, GuardedStepper) else []

    def _check_start(self, q: NDArray[np.float64]) -> None:
        beyond = self._watch.beyond(q) if self._watch else []
        if beyond:
            assert self._watch is not None
            words = "; ".join(self._watch.in_words(limit, q, "is") for limit in beyond)
            nearest = {
                limit.joint: float(np.clip(q[self.model.q_slice(limit.joint)][limit.place], limit.lower, limit.upper)) for limit in beyond
            }
            raise StateError(f"at the start {words}; start elsewhere, for example q={nearest}, or with limits='ignore'")

    def _start_from(self, state: State) -> None:
        """Start there, or go on if it is where the same integrator was."""
        known = state.__dict__.get("continuation")
        if known is not None and known.fits(self.integrator, self.dt, state):
            self._set_up(*known.start(self.model))
        else:
            self._set_up(self.integrator.start(self.model, state, self.dt), state)

    def _set_up(self, stepper: Stepper, begun: State) -> None:
        """Go on with this stepper, which was started from the state `begun`."""
        self._stepper, self._begun = stepper, begun
        self._now = stepper.make_record(1, 1)  # the present node
        stepper.advance(0, self._tau, stepper.make_record(0, 0))  # sets the first node up
        self._look()

    def _look(self) -> None:
        """Bring the present node up to date."""
        rewind(self._now)
        self._stepper.write(self._now)

    @property
    def t(self) -> float:
        """Time now, s."""
        return float(self._now.t[0])

    @property
    def q(self) -> NDArray[np.float64]:
        """Coordinates now."""
        return self._now.q[0].copy()

    @property
    def v(self) -> NDArray[np.float64]:
        """Velocities now."""
        return self._node().v

    @property
    def state(self) -> State:
        """State now, with what the integrator remembers: a run or another Simulator that starts from it goes on bit for bit."""
        return self._node().continuing(self._continuation())

    def _continuation(self) -> Continuation | None:
        memory = self._stepper.remember()
        return None if memory is None else Continuation(self.integrator, self.dt, self._begun, self.t, self.q, memory)

    def _node(self) -> State:
        """State now, by itself."""
        node = self._evaluator(*self.integrator.recording(self.dt), self._now.q, self._now.p, self._now.t)
        return State.with_velocity(self.model, self.t, self.q, node.p[0], node.v[0])

    @property
    def reactions(self) -> Reactions:
        """Force and moment of every constraint and joint now, by name, under the joint forces of the last step: docs/reactions.md.

        Those of a node, without the time axis of `run.reactions`.
        """
        now = self._node()
        tau = np.broadcast_to(self._last_tau, (1, 2, self.model.nv))
        nodes = Nodes(self.model, np.array([now.t]), now.q[None], now.v[None], now.p[None], tau)
        return Reactions(self.integrator, nodes, self.dt, single=True)

    def step(self, tau: Coordinates = None) -> None:
        """One step with the joint forces tau held constant over it."""
        with self._alone():
            self._tau[0] = 0.0 if tau is None else self.model.velocities(tau, "tau")
            result = self._one_step()
            if result.failure:
                record = self._stepper.make_record(1, 0)
                self._stepper.write(record)
                raise self._failure(result, Trajectory.from_record(record, self._stepper, self.integrator, 0.0, self._last_tau[None]))
            if result.limit:
                where = f"step {self.steps} ended at t = {self.t:g} s"
                raise LimitError(f"{where}: {result.limit}; limits='ignore' lets joints pass", time=self.t)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time: steps made by two at once would be made in the same memory."""
        if not self._busy.acquire(blocking=False):
            raise StateError(
                "this Simulator is making steps already, in another thread or in the control law that asks for more; make a Simulator of "
                "its own for each thread, they can share the model"
            )
        try:
            yield
        finally:
            self._busy.release()

    def _one_step(self) -> Advance:
        """With the forces in self._tau; leaves the node it leads to in self._now."""
        rewind(self._now)
        result = self._stepper.advance(1, self._tau, self._now)
        self.steps += result.steps
        if result.failure:
            self._look()
            return result
        self._last_tau = self._tau[0].copy()
        if self._watch and self._watch.passed(self._now.q[0]).any():
            self._watch.ended(result, self._now.q[0])
        return result

    def reverse(self) -> None:
        """Turn all velocities round: a reversible integrator then goes back the way it came, while time goes on."""
        with self._alone():
            now = self._node()
            turned = State.with_velocity(self.model, now.t, now.q, -now.p, -now.v)
            self._set_up(self.integrator.turn_round(self._stepper, turned), turned)

    def run(
        self,
        steps: int,
        *,
        tau: ArrayLike | None = None,
        control: Control | None = None,
        record_every: int = 1,
        progress: bool | None = None,
    ) -> Trajectory:
        """Make many steps and return what was recorded, the present node first and the last node last, whatever `record_every` is.

        After Ctrl-C or an exception of the control law the simulator stands at the last step it made; what was recorded until then is
        `trajectory` of the simulator and of the exception.
        """
        steps = whole_number(steps, 0, "steps")
        record_every = whole_number(record_every, 1, "record_every")
        check_control(tau, control)
        forces = check_forces(tau, steps, self.model)
        with self._alone():
            return self._run(steps, forces, control, record_every, progress, np.inf)

    def _run(
        self, steps: int, forces: NDArray[np.float64], control: Control | None, every: int, progress: bool | None, end: float
    ) -> Trajectory:
        """At most `steps` steps, and with an integrator that chooses their length none that starts at or after the time `end`."""
        self._check_start(self._now.q[0])
        record = self._make_record(steps, every)
        asked: list[NDArray[np.float64]] = []  # joint forces of the control law
        began = time.perf_counter()
        try:
            with Progress(steps, self.dt, progress) as bar:
                if control is None:
                    ended = self._run_compiled(record, steps, forces, bar, end)
                else:
                    ended = self._run_controlled(record, steps, control, asked, bar, end)
        except BaseException as error:  # Ctrl-C too: what was made is not lost
            self.trajectory = self._finished(record, began, asked or forces)
            self.trajectory.converged, self.trajectory.message = False, f"stopped at t = {self.t:g} s by {type(error).__name__}: {error}"
            with suppress(Exception):
                error.trajectory = self.trajectory  # type: ignore[attr-defined]
            raise
        self.trajectory = self._finished(record, began, asked or forces)
        if ended.failure:
            raise self._failure(ended, self.trajectory)
        if ended.limit:
            self.trajectory.message = f"stopped at t = {self.t:g} s: {ended.limit}"
        if ended.outside:
            raise LimitError(
                f"{self.trajectory.message}, where it is not described any more; give it leave='stop' to end runs there, start it slower, "
                "or pass it with limits='ignore'",
                time=self.t, trajectory=self.trajectory,
            )  # fmt: skip
        return self.trajectory

    def _finished(self, record: Record, began: float, forces: ArrayLike) -> Trajectory:
        """What was recorded, with the present node at the end."""
        if record.t[int(record.cursor[ROWS]) - 1] != self._now.t[0]:
            copy_row(self._now, 0, record)
        tau = np.asarray(forces, dtype=np.float64)
        run = Trajectory.from_record(record, self._stepper, self.integrator, time.perf_counter() - began, tau)
        run.remarks = self._remarks(run)
        run.continuation = self._continuation()
        return run

    def _remarks(self, trajectory: Trajectory) -> tuple[str, ...]:
        """What is not simulated, and which joints passed their limits at recorded nodes."""
        found = list(not_simulated(self.model.shapes)) if self.model.shapes else []
        if self._limits and not self._watch:
            passed = self._limits.passed(trajectory.q)
            first = {self._limits.limits[k].joint: trajectory.t[passed[:, k].argmax()] for k in np.flatnonzero(passed.any(axis=0))}
            if first:
                order = sorted(first, key=lambda joint: first[joint])
                joints = f"joint{'s' * (len(order) > 1)} {listed(order)}"
                found.append(f"limits are ignored, and {joints} went beyond, the first at t = {first[order[0]]:g} s")
        return tuple(found)

    def _make_record(self, steps: int, every: int) -> Record:
        """Room for the whole run; the present node is its first row."""
        rows = -(-steps // every) + 1 + (self._watch is not None)  # one more: where a limit is passed
        needed = 8.0 * (rows * (2 + self.model.nq + self.model.nv + self._stepper.multipliers) + steps)
        if needed > memory():
            raise StateError(
                f"steps = {steps}: {rows} recorded nodes and the evaluations of every step take {needed / 1e9:.3g} GB, more than this "
                "machine has; record fewer with record_every, or make shorter runs, each from the state of the last"
            )
        try:
            record = self._stepper.make_record(rows, steps, every)
        except (MemoryError, ValueError):
            raise StateError(
                f"steps = {steps}: {rows} recorded nodes do not fit into memory; record fewer with record_every, or make shorter runs"
            ) from None
        copy_row(self._now, 0, record)
        return record

    def _run_compiled(self, record: Record, steps: int, forces: NDArray[np.float64], bar: Progress, end: float) -> Advance:
        """Chunks of many steps in compiled code, so long that Python costs nothing, so short that the bar moves."""
        chunk, done, kept = int(record.cursor[EVERY]), 0, 0
        before = self._stepper.remember() if self._watch else None  # at the step `kept`
        while done < steps:
            size = min(chunk, steps - done)
            tau = forces if len(forces) == 1 else forces[done : done + size]
            began = time.perf_counter()
            with interrupt_later():
                result = self._advance(size, tau, record, end)
                self.steps += result.steps
                done += result.steps
                if result.limit:
                    self._go_back(record, before, forces if len(forces) == 1 else forces[kept:done], done - kept)
                self._look()
            if result.steps:
                self._last_tau = tau[min(result.steps, len(tau)) - 1].copy()
            if time.perf_counter() - began < 0.5 * _CHUNK_SECONDS:
                chunk *= 2
            if result.failure or result.limit or result.steps < size:  # the last: the end of the run was reached
                return result
            if self._watch and done - kept >= _SELDOM:
                before, kept = self._stepper.remember(), done
            bar.update(done)
        return Advance(done)

    def _advance(self, size: int, tau: NDArray[np.float64], record: Record, end: float) -> Advance:
        if self._watch:
            return self._watch.advance(self._stepper, size, tau, record, end)
        return self._stepper.advance(size, tau, record, end)

    def _go_back(self, record: Record, before: Memory | None, tau: NDArray[np.float64], steps: int) -> None:
        """To the last node of the record: the stepper went further before somebody looked.  It was as `before` so many steps earlier."""
        if before is not None:
            self._stepper.recall(before)
            self._stepper.advance(steps, tau, self._stepper.make_record(0, steps, steps + 1))
            return
        rewind(self._now)
        copy_row(record, int(record.cursor[ROWS]) - 1, self._now)
        node = self._node()
        self._set_up(self.integrator.start(self.model, node, self.dt), node)

    def _run_controlled(
        self, record: Record, steps: int, control: Control, asked: list[NDArray[np.float64]], bar: Progress, end: float
    ) -> Advance:
        """One step at a time, each with the forces the control law asks for, which are added to `asked`."""
        for done in range(1, steps + 1):
            if not self.t < end:
                break
            self._tau[0] = self._ask(control)
            with interrupt_later():
                result = self._one_step()
                if not result.failure:
                    asked.append(self._tau[0].copy())
                    if add_step(record, int(self._now.evaluations[0])) or result.limit:
                        copy_row(self._now, 0, record)
            if result.failure:
                return result
            if result.limit:
                return result
            bar.update(done)
        return Advance(steps)

    def _ask(self, control: Control) -> NDArray[np.float64]:
        forces = control(self.t, self._node())
        if forces is None:
            raise StateError(f"the control law returned None at t = {self.t:g} s; return joint forces, for example [0.0] * {self.model.nv}")
        return self.model.velocities(forces, "tau")

    def _failure(self, result: Advance, trajectory: Trajectory) -> ConvergenceError:
        message = f"step {self.steps} at t = {self.t:g} s with dt = {self.dt:g} s: {result.failure}"
        trajectory.converged = False
        trajectory.message = message
        return ConvergenceError(message, step=self.steps, time=self.t, residual=result.residual, trajectory=trajectory)


class _Parts:
    """A run in parts, for records/stream.py."""

    def __init__(self, simulator: Simulator, duration: float | None, steps: int | None, tau, control: Control | None, every: int):
        self.simulator, self.control, self.every = simulator, control, every
        if simulator.integrator.uniform or duration is None:
            self.steps, self.end = count_steps(simulator.dt, duration, steps), np.inf
            check_control(tau, control)
        else:
            self.steps, self.end = int(MOST_STEPS), simulator.t + checked_seconds(duration, steps, tau, control)
        self.forces = check_forces(tau, self.steps, simulator.model)
        self.forces_of_every_step = control is not None or len(self.forces) > 1
        self.start = simulator._run(0, self.forces[:1], None, every, False, np.inf)

    @property
    def t(self) -> float:
        return self.simulator.t

    def make(self, steps: int, done: int) -> Trajectory:
        forces = self.forces if len(self.forces) == 1 else self.forces[done : done + steps]
        return self.simulator._run(steps, forces, self.control, self.every, False, self.end)

    def go_on(self, state: State, done: int) -> None:
        self.simulator._start_from(state)
        self.simulator.steps = done

    def remarks(self, run: Trajectory) -> tuple[str, ...]:
        return self.simulator._remarks(run)


def _run_for(simulator: Simulator, duration: float, steps: int | None, tau, control: Control | None, record_every: int) -> Trajectory:
    """Run an integrator with steps of its own choice until the end of the duration is reached."""
    seconds = checked_seconds(duration, steps, tau, control)
    every, end = whole_number(record_every, 1, "record_every"), simulator.t + seconds
    forces = check_forces(tau, 0, simulator.model)
    parts = [simulator.run(0)]
    try:
        while simulator.t < end:
            parts.append(simulator._run(_BLOCK * every, forces, control, every, False, end))
            if parts[-1].message != parts[0].message:
                break  # at a limit
            _check_pace(simulator, parts, seconds, end)
    except BaseException as error:
        if simulator.trajectory is not None:
            simulator.trajectory = Trajectory.joined([*parts, simulator.trajectory])
            with suppress(Exception):
                error.trajectory = simulator.trajectory  # type: ignore[attr-defined]
        raise
    run = Trajectory.joined(parts)
    run.remarks = simulator._remarks(run)
    return run


def _check_pace(simulator: Simulator, parts: list[Trajectory], seconds: float, end: float) -> None:
    """Steps of variable length: will they ever reach the end, and will what they record fit into memory?"""
    made = seconds - (end - simulator.t)
    steps = simulator.steps * seconds / made if made > 0.0 else np.inf
    rows = sum(map(len, parts)) * seconds / made if made > 0.0 else np.inf
    needed = 8.0 * (rows * (2 + simulator.model.nq + simulator.model.nv) + steps)
    if needed > memory() or steps > MOST_STEPS:
        raise StateError(
            f"{simulator.steps} steps led to t = {simulator.t:g} s; at this pace {end:g} s take {steps:.3g} steps and {needed / 1e9:.3g} "
            "GB: the step density is too large; give a smaller one, a larger record_every, or a shorter duration"
        )
