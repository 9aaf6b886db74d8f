"""`Simulator`: a simulation that is advanced from Python, a step at a time or in chunks of compiled steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, partial
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .assembly.closing import ClosedEvaluator, on_the_way
from .assembly.ledger import may_change
from .checks import progress as checked_progress
from .checks import shown, time_step, whole_number, yes_or_no
from .dynamics import explain_singular
from .errors import ConvergenceError, LimitError, SingularMassError, StateError
from .events import Event, Every, Occurrence
from .events.description import Function, checked_events
from .events.schedule import Schedule, checked_callbacks
from .events.watch import EventWatch, Stop
from .integrators import Integrator, Variational
from .integrators.accounts import Accounts
from .integrators.background import Switch
from .integrators.base import Advance, Stepper, checked_choice
from .integrators.guard import Guarded, GuardedStepper
from .integrators.loops import ASSEMBLY, LoopStepper, inside, watched
from .integrators.memory import Continuation, Memory
from .integrators.watch import LimitWatch
from .kernels.stepping.record import EVERY, ROWS, Record, add_step, copy_row, rewind
from .model import Coordinates, Model, checked_model
from .progress import Interrupts, Progress
from .reactions import Nodes, Reactions
from .run_input import Alone, Asked, Control, Rows, check_control, check_forces, make_room, with_targets
from .shapes import not_simulated
from .solvability import bound_in_words, certified_dt
from .state import State, checked_state
from .trajectory import Trajectory

When = Event | Function | Sequence[Event | Function] | None

_DEFAULT = Variational()
_FIRST_CHUNK = 4096  # steps times degrees of freedom in compiled code before somebody looks how long they take
_SELDOM = 256  # steps after which what the stepper remembers is copied, where it may have to go back
_FLOAT = np.dtype(np.float64)
_CHUNK_SECONDS = 0.2  # how long compiled code runs before the progress bar moves and Ctrl-C is seen


def _default() -> Integrator:
    """The integrator of runs that are given none: a new one, but not checked anew."""
    new = Variational.__new__(Variational)
    vars(new).update(vars(_DEFAULT))
    return new


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
        assembly: str = "stop",
        when: When = None,
    ):
        checked_model(model)
        if state is not None and (q is not None or v is not None):
            raise StateError("give a state, or q and v, not both")
        self.model = model
        chosen = _default() if integrator is None else integrator
        if not isinstance(chosen, Integrator):
            raise StateError(f"integrator = {shown(integrator)} is not an integrator; give for example Variational()")
        start = model.state(q, v) if state is None else checked_state(state, model)
        if model.has_symbolic_joints and (singular := explain_singular(model, start.q)):
            raise SingularMassError(f"the start of the simulation is singular: {singular}")
        by_certificate = isinstance(dt, str) and dt == "certified"
        self.integrator, self.dt = certified_dt(model, start, integrator) if by_certificate else (chosen, time_step(dt))  # type: ignore
        if yes_or_no(guard, "guard"):
            self.integrator = Guarded(self.integrator, bound_in_words)
        self.limits = checked_choice(limits, ("stop", "ignore"), "limits")
        self.assembly = checked_choice(assembly, ASSEMBLY, "assembly")
        self._limits = LimitWatch(model)
        self._stops = self._limits if self._limits and self.limits == "stop" else None
        events = () if when is None else checked_events(when)
        self._events = EventWatch(events, model, self.integrator, self._evaluate, self._stops) if events else None
        self._watch = self._events or self._stops
        if self._stops is not None:
            self._stops.check_start(start.q)
        self.steps, self._first_time = 0, start.t
        self._schedule: Schedule | None = None  # of the functions that are called while a run is made
        self._switch: Switch | None = None  # to code made for this mechanism
        self.specialised_from: int | None = None  #: step from which on it runs such code, if it went over to it on the way
        self._strict, self._acting = False, False  # does an energy that is not explained end a run?  Can it change between recorded nodes?
        self._accounts: Accounts | None = None
        self._recording = self.integrator.recording(self.dt)
        self._last_tau = model.inputs()  # of the last step
        self._tau = self._last_tau[None].copy()  # of the next one
        self._alone, self._evaluating = Alone(), threading.Lock()
        self.trajectory: Trajectory | None = None  #: of the last run, also of one that was interrupted
        self._start_from(start)

    def __reduce__(self):
        raise StateError("a Simulator cannot be pickled, its memory belongs to this process; send sim.state and make a Simulator of it")

    @property
    def subdivided(self) -> list[tuple[float, int]]:
        """(time, number of parts) of the steps that the guard subdivided."""
        return list(self._stepper.subdivided) if isinstance(self._stepper, GuardedStepper) else []

    def _start_from(self, state: State) -> None:
        """Start there, or go on if it is where the same integrator was."""
        known = state.__dict__.get("continuation")
        if known is not None and known.fits(self.integrator, self.dt, state):
            self._set_up(*known.start(self.model))
            self.specialised_from = self.steps if getattr(self._stepper, "switched", False) else None
        else:
            self._set_up(self.integrator.start(self.model, state, self.dt), state)

    def _set_up(self, stepper: Stepper, begun: State) -> None:
        """Go on with this stepper, which was started from the state `begun`."""
        self._stepper, self._begun = stepper, begun
        self._watched = watched(stepper, begun, self.assembly)  # makes the steps of runs
        self._lent: Continuation | None = None  # somebody has it, and nothing is copied before the stepper moves
        self._now = stepper.make_record(1, 1)  # the present node
        stepper.advance(0, self._tau, self._now)  # sets the first node up
        self._look()
        if self._events is not None:
            self._events.begin(self._now)

    def _look(self) -> None:
        """Bring the present node up to date."""
        rewind(self._now)
        self._stepper.write(self._now)

    @property
    def events(self) -> tuple[Occurrence, ...]:
        """What was found so far of the events given as when=."""
        return tuple(self._events.occurred) if self._events is not None else ()

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

    def _continuation(self) -> Continuation:
        if self._lent is None:
            self._lent = Continuation(self.integrator, self.dt, self._begun, self.t, self.q, self._stepper)
        return self._lent

    def _before_moving(self) -> None:
        """What was lent is copied for whoever has it."""
        if self._lent is not None:
            self._lent.keep()
            self._lent = None

    def _node(self) -> State:
        """State now, by itself; momenta and velocities are computed when somebody asks for them."""
        now = self._now
        return State.of_node(self.model, float(now.t[0]), now.q[0].copy(), now.p[0].copy(), self._evaluate)

    @cached_property
    def _evaluator(self) -> ClosedEvaluator:
        return ClosedEvaluator(self.model)

    def _evaluate(self, t: float, q: NDArray[np.float64], recorded: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Momenta and velocities of a node; its state may be asked for them in any thread."""
        with self._evaluating:
            node = self._evaluator(*self._recording, q[None], recorded[None], np.array([t]))
        return node.p[0], node.v[0]

    @property
    def reactions(self) -> Reactions:
        """Force and moment of every constraint and joint now, by name, under the joint forces of the last step: docs/reactions.md.

        Those of a node, without the time axis of `run.reactions`.
        """
        now = self._node()
        tau = np.broadcast_to(self._last_tau, (1, 2, self.model.inputs_per_step))
        nodes = Nodes(self.model, np.array([now.t]), now.q[None], now.v[None], now.p[None], tau)
        return Reactions(self.integrator, nodes, self.dt, single=True)

    def step(self, tau: Coordinates = None, targets: Coordinates = None) -> None:
        """One step with the joint forces tau and the targets of servos held constant over it.

        A terminal event ends it early and is then the last of `events`.
        """
        with self._alone:
            self._tau[0] = self._checked_inputs(tau) if targets is None else self.model.inputs(tau, targets)
            result = self._one_step()
            if result.failure:
                record = self._stepper.make_record(1, 0)
                self._stepper.write(record)
                raise self._failure(result, Trajectory.from_record(record, self._stepper, self.integrator, 0.0, self._last_tau[None]))
            if result.event is not None:
                self._end_at(result.event)
            if result.limit:
                where = f"step {self.steps} ended at t = {self.t:g} s"
                raise LimitError(f"{where}: {result.limit}; limits='ignore' lets joints pass", time=self.t)

    def _one_step(self) -> Advance:
        """With the forces in self._tau; leaves the node it leads to in self._now."""
        if self._lent is not None:
            self._before_moving()
        rewind(self._now)
        if isinstance(self._watched, LoopStepper):
            result = self._watched.single(self._tau, self._now)
            self._stepper, self._begun = inside(self._watched, self._begun)
        else:
            result = self._stepper.advance(1, self._tau, self._now)
        self.steps += result.steps
        if result.failure:
            self._look()
            return result
        self._last_tau[:] = self._tau[0]
        return result if self._watch is None else self._watch.look(self._now, self._tau, result)

    def _end_at(self, stop: Stop, record: Record | None = None) -> None:
        """Stand where a terminal event happened; the last step of the record ends there."""
        before, where = self._stepper, stop.occurrence.state
        with on_the_way():
            self._set_up(self.integrator.start(self.model, where, self.dt), where)
        self._stepper.take_over(before, stop.further, stop.length)
        if record is None:
            return
        add_step(record, stop.step.evaluations if stop.step else int(self._now.evaluations[0]))
        copy_row(self._now, 0, record)
        row = int(record.cursor[ROWS]) - 1
        if stop.step is not None and stop.step.multipliers.shape == record.multipliers[row].shape:
            record.multipliers[row], record.error[row] = stop.step.multipliers, stop.step.error

    def reverse(self) -> None:
        """Turn all velocities round: a reversible integrator then goes back the way it came, while time goes on."""
        with self._alone:
            now = self._node()
            turned = State.with_velocity(self.model, now.t, now.q, -now.p, -now.v)
            self._set_up(self.integrator.turn_round(self._stepper, turned), turned)

    def run(
        self,
        steps: int,
        *,
        tau: ArrayLike | None = None,
        targets: Coordinates = None,
        control: Control | None = None,
        record_every: int = 1,
        progress: bool | None = None,
        every: Every | Sequence[Every] | None = None,
    ) -> Trajectory:
        """Make many steps and return what was recorded, the present node first and the last node last, whatever `record_every` is.

        After Ctrl-C or an exception of the control law the simulator stands at the last step it made; what was recorded until then is
        `trajectory` of the simulator and of the exception.
        """
        steps = whole_number(steps, 0, "steps")
        record_every = whole_number(record_every, 1, "record_every")
        check_control(tau, control)
        forces = check_forces(with_targets(self.model, tau, targets, control), steps, self.model)
        schedule = self._scheduled(every)
        with self._alone:
            self._schedule = schedule
            self._acting = record_every > 1 and (control is not None or may_change(self.model, forces))
            return self._run(steps, forces, control, record_every, progress, np.inf)

    def _run(
        self, steps: int, forces: NDArray[np.float64], control: Control | None, every: int, progress: bool | None, end: float
    ) -> Trajectory:
        """At most `steps` steps, and with an integrator that chooses their length none that starts at or after the time `end`."""
        if self._stops is not None:
            self._stops.check_start(self._now.q[0])
        record = self._make_record(steps, every)
        self._open_accounts(every)
        found = len(self.events)
        asked = None if control is None else Asked(self.model.inputs_per_step)  # inputs of the control law
        began = time.perf_counter()
        try:
            with Progress(steps, self.dt, checked_progress(progress)) as bar, Interrupts() as ctrl_c:
                if control is None or asked is None:
                    ended = self._run_compiled(record, steps, forces, bar, ctrl_c, end)
                else:
                    ended = self._run_controlled(record, steps, control, asked, bar, ctrl_c, end)
        except BaseException as error:  # Ctrl-C too: what was made is not lost
            self.trajectory = self._finished(record, began, asked.forces if asked else forces, found)
            self.trajectory.converged, self.trajectory.message = False, f"stopped at t = {self.t:g} s by {type(error).__name__}: {error}"
            with suppress(Exception):
                error.trajectory = self.trajectory  # type: ignore[attr-defined]
            raise
        self.trajectory = self._finished(record, began, asked.forces if asked else forces, found)
        if ended.failure:
            raise self._failure(ended, self.trajectory)
        if ended.unexplained:
            self.trajectory.converged, self.trajectory.message = False, ended.unexplained
            raise ConvergenceError(
                ended.unexplained, step=self.steps + 1, time=ended.time, residual=ended.residual, trajectory=self.trajectory
            )
        if ended.limit:
            self.trajectory.message = f"stopped at t = {self.t:g} s: {ended.limit}"
        if ended.outside:
            raise LimitError(
                f"{self.trajectory.message}, where it is not described any more; give it leave='stop' to end runs there, start it slower, "
                "or pass it with limits='ignore'",
                time=self.t, trajectory=self.trajectory,
            )  # fmt: skip
        return self.trajectory

    def _open_accounts(self, every: int, run: Trajectory | None = None) -> None:
        """Keep the account of the energy if somebody has to; run: what was made before, and goes on here."""
        if not self._strict and (every == 1 or not self._acting):
            self._accounts = None
        elif self._accounts is None or not self._accounts.stands_at(self._now):
            self._accounts = Accounts(self.model, self.integrator, self.dt, self._begun, self._strict)
            self._accounts.begin(self._now, run)
        if self._accounts is not None:
            self._accounts.open(every)

    def _scheduled(self, every: Every | Sequence[Every] | None) -> Schedule | None:
        return None if every is None else Schedule(checked_callbacks(every), self._first_time, self.dt, self.integrator.uniform)

    def _finished(self, record: Record, began: float, forces: NDArray[np.float64], found: int) -> Trajectory:
        """What was recorded, with the present node at the end."""
        if record.t[int(record.cursor[ROWS]) - 1] != self._now.t[0]:
            copy_row(self._now, 0, record)
        run = Trajectory.from_record(record, self._stepper, self.integrator, time.perf_counter() - began, forces)
        if self._accounts is not None:
            self._accounts.finish(self._now, self._last_tau)
            run.ledger = self._accounts.table(len(run)) if self._acting and run.every > 1 else None
        run.remarks, run.events, run.specialised_from = self._remarks(run), self.events[found:], self.specialised_from
        run.continuation = self._continuation()
        return run

    def _remarks(self, trajectory: Trajectory) -> tuple[str, ...]:
        """What is not simulated, and which joints passed their limits at recorded nodes."""
        found = list(not_simulated(self.model.shapes)) if self.model.shapes else []
        if isinstance(self._watched, LoopStepper) and (crossed := self._watched.remark()):
            found.append(crossed)
        if self._limits and not self._stops and (passed := self._limits.remark(trajectory.t, trajectory.q)):
            found.append(passed)
        if self._switch is not None and self._switch.remark:
            found.append(self._switch.remark)
        return tuple(found)

    def _make_record(self, steps: int, every: int) -> Record:
        """Room for the whole run; the present node is its first row."""
        rows = -(-steps // every) + 1 + (self._watch is not None or self._strict)  # one more: where a limit or an event ends the run
        record = make_room(self._stepper, rows, steps, every)
        copy_row(self._now, 0, record)
        return record

    def _run_compiled(
        self, record: Record, steps: int, forces: NDArray[np.float64], bar: Progress, ctrl_c: Interrupts, end: float
    ) -> Advance:
        """Chunks of many steps in compiled code, so long that Python costs nothing, so short that the bar moves."""
        every = int(record.cursor[EVERY])
        chunk, done, kept = every * max(1, _FIRST_CHUNK // (every * max(1, self.model.nv))), 0, 0
        goes_back = self._stops is not None or self._strict
        before = self._watched.remember() if goes_back else None  # at the step `kept`
        self._before_moving()
        while done < steps:
            if self._go_over() and goes_back:
                before, kept = self._watched.remember(), done
            size = min(chunk, steps - done)
            began, t, until = time.perf_counter(), self.t, end
            if self._switch is not None:
                size = min(size, self._switch.steps_left(self.steps, size))
            if self._schedule is not None:
                size, until = min(size, self._schedule.steps_left(self.steps, t)), min(end, self._schedule.end(t))
            tau = forces if len(forces) == 1 else forces[done : done + size]
            ctrl_c.hold()
            result = self._advance(size, tau, record, until)
            self.steps += result.steps
            done += result.steps
            if result.limit or result.unexplained:
                self._go_back(record, before, forces if len(forces) == 1 else forces[kept:done], done - kept)
            if result.event is not None:
                self._end_at(result.event, record)
                result.limit = result.event.occurrence.in_words
            self._look()
            ctrl_c.release()
            if result.steps > 0:
                self._last_tau[:] = tau[min(result.steps, len(tau)) - 1]
            if time.perf_counter() - began < 0.5 * _CHUNK_SECONDS:
                chunk *= 2
            if self._schedule is not None and not result.ends:
                result.limit = self._schedule.call(self.steps, t, self.t, self._node)
            if result.ends or not self.t < end:
                return result
            if goes_back and done - kept >= _SELDOM and not (self._accounts and self._accounts.suspect):
                before, kept = self._watched.remember(), done
            bar.update(done)
        return Advance(done)

    def _go_over(self) -> bool:
        """To code made for this mechanism, if it is wanted and there: has it just done so?"""
        if self._switch is None or not self._switch.look(self._stepper, self.steps, self._continuation, self._last_tau):
            return False
        self.specialised_from, self._lent = self.steps, None
        return True

    def _advance(self, size: int, tau: NDArray[np.float64], record: Record, end: float) -> Advance:
        make = partial(self._watch.advance, self._watched) if self._watch else self._watched.advance
        result = make(size, tau, record, end) if self._accounts is None else self._accounts.advance(make, size, tau, record, end)
        self._stepper, self._begun = inside(self._watched, self._begun)
        return result

    def _go_back(self, record: Record, before: Memory | None, tau: NDArray[np.float64], steps: int) -> None:
        """To the last node of the record: the stepper went further before somebody looked.  It was as `before` so many steps earlier."""
        if before is not None and steps >= 0:
            self._watched.recall(before)
            self._watched.advance(steps, tau, self._watched.make_record(0, steps, steps + 1))
            self._stepper, self._begun = inside(self._watched, self._begun)
            return
        rewind(self._now)
        copy_row(record, int(record.cursor[ROWS]) - 1, self._now)
        node = self._node()
        self._set_up(self.integrator.start(self.model, node, self.dt), node)

    def _run_controlled(
        self, record: Record, steps: int, control: Control, asked: Asked, bar: Progress, ctrl_c: Interrupts, end: float
    ) -> Advance:
        """One step at a time, each with the forces the control law asks for, which are added to `asked`."""
        now, tau, rows = self._now, self._tau[0], Rows(record, self._now)
        before, kept = self._watched.remember() if self._strict else None, 0
        for done in range(1, steps + 1):
            t = float(now.t[0])
            if not t < end:
                break
            if self._switch is not None:
                self._go_over()
            forces = control(t, self._node())
            if forces is None:
                wanted = f"return joint forces, for example [0.0] * {self.model.nv}"
                raise StateError(f"the control law returned None at t = {t:g} s; {wanted}")
            tau[:] = self._checked_inputs(forces)
            ctrl_c.hold()
            result = self._one_step()
            if result.failure:
                return result
            asked.add(tau)
            if self._accounts is not None and result.event is None:
                found = self._accounts.add_single(now, tau, record)
                if found.unexplained:
                    self.steps += found.steps - 1
                    asked.cut(done - 1 + found.steps)
                    self._go_back(record, before, asked.forces[kept:], len(asked) - kept)
                    self._look()
                    ctrl_c.release()
                    return found
                if self._strict and done - kept >= _SELDOM and not self._accounts.suspect:
                    before, kept = self._watched.remember(), done
            if result.event is not None:
                self._end_at(result.event, record)
                result.limit = result.event.occurrence.in_words
            else:
                rows.add(bool(result.limit))
            ctrl_c.release()
            if self._schedule is not None and not result.limit:
                result.limit = self._schedule.call(self.steps, t, self.t, self._node)
            if result.limit:
                return result
            bar.update(done)
        return Advance(steps)

    def _checked_inputs(self, tau: Coordinates) -> NDArray[np.float64]:
        """A row of inputs as it is, if there is plainly nothing wrong with it; otherwise with a closer look."""
        if type(tau) is np.ndarray and tau.dtype is _FLOAT and tau.shape == self._last_tau.shape and isfinite(np.vdot(tau, tau)):
            return tau
        return self.model.inputs(tau)

    def _failure(self, result: Advance, trajectory: Trajectory) -> ConvergenceError:
        if len(trajectory) > 1 and not np.isfinite(trajectory.recorded[-1]).all():  # a function of the user failed where a step ended
            trajectory = self.trajectory = trajectory.until(len(trajectory) - 1)
        message = f"step {self.steps} at t = {self.t:g} s with dt = {self.dt:g} s: {result.failure}"
        trajectory.converged = False
        trajectory.message = message
        return ConvergenceError(message, step=self.steps, time=self.t, residual=result.residual, trajectory=trajectory)
