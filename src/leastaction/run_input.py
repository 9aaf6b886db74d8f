"""What a run is asked for: how many steps, under which joint forces, by whom, and whether what it records fits into memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import number, numbers, shown, takes_two, whole_number
from .errors import StateError
from .integrators.base import Record, Stepper
from .kernels.stepping.record import EVERY, ROWS, STEPS
from .model import Coordinates, Model
from .motors import aims
from .state import State

Control = Callable[[float, State], ArrayLike]

MOST_STEPS = 1e12  # of one run: years


@cache
def memory() -> float:
    """Bytes that this machine has."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on this system
        return 16e9


def count_steps(dt: float, duration: float | None, steps: int | None) -> int:
    """Steps of length dt, from a duration or as they are given."""
    if (duration is None) == (steps is None):
        raise StateError("give the length of the simulation as duration (s) or as a number of steps, one of them")
    if steps is not None:
        return whole_number(steps, 0, "steps")
    seconds = number(duration, "duration", StateError)  # type: ignore[arg-type]
    if seconds < 0.0:
        raise StateError(f"duration = {shown(duration)}; it needs a number of seconds >= 0")
    if not seconds / dt < MOST_STEPS:
        raise StateError(
            f"duration = {seconds:g} s is {seconds / dt:.3g} steps of dt = {dt:g} s; at most {MOST_STEPS:g} are made in one run: give "
            "a shorter duration or a larger dt"
        )
    count = int(round(seconds / dt))
    if count == 0 and seconds > 0.0:
        raise StateError(f"duration = {seconds:g} s is less than half a step of dt = {dt:g} s; give a longer duration or a smaller dt")
    return count


def checked_seconds(duration: float, steps: int | None, tau: ArrayLike | None, control: Control | None) -> float:
    """The duration of a run whose steps are of variable length."""
    if steps is not None:
        raise StateError("give the length of the simulation as duration (s) or as a number of steps, one of them")
    seconds = number(duration, "duration", StateError)
    if seconds < 0.0:
        raise StateError(f"duration = {shown(duration)}; it needs a number of seconds >= 0")
    if np.ndim(tau) > 1:  # type: ignore[arg-type]
        raise StateError("tau with one row per step needs steps=; with duration= the number of steps is not known beforehand")
    check_control(tau, control)
    return seconds


def check_control(tau: ArrayLike | None, control: Control | None) -> None:
    if tau is not None and control is not None:
        raise StateError("give joint forces as tau or as a control law, not both")
    if control is not None and not callable(control):
        raise StateError(f"control = {shown(control)} is not a function; give one that takes (t, state) and returns joint forces")
    if control is not None:
        takes_two(control, "control", "(t, state)")


def with_targets(model: Model, tau: ArrayLike | None, targets: Coordinates, control: Control | None) -> ArrayLike | None:
    """Joint forces and targets of servos as rows of inputs (`Model.inputs`); tau as it is if no targets are given."""
    if targets is None:
        return tau
    if control is not None:
        raise StateError("give targets, or a control law that returns them with the joint forces: model.inputs(tau, targets)")
    aim = aims(model.servos, targets)
    if not isinstance(tau, Mapping) and np.ndim(tau) == 2:  # type: ignore[arg-type]
        forces = numbers(tau, "tau", StateError)  # type: ignore[arg-type]
        if forces.shape[1] != model.nv or (aim.ndim == 2 and len(aim) != len(forces)):
            steps = len(aim) if aim.ndim == 2 else "steps"
            raise StateError(f"tau has shape {forces.shape} beside targets; it needs ({model.nv},) or ({steps}, {model.nv})")
    else:
        forces = model.velocities(tau, "tau")
    rows = forces.shape[:-1] or aim.shape[:-1]
    return np.concatenate([np.broadcast_to(forces, (*rows, model.nv)), np.broadcast_to(aim, (*rows, aim.shape[-1]))], axis=-1)


def check_forces(tau: ArrayLike | None, steps: int, model: Model) -> NDArray[np.float64]:
    """(1, nv) constant joint forces, or (steps, nv); with targets behind them where there are servos."""
    if tau is None or isinstance(tau, Mapping):
        return model.inputs(tau)[None]
    series = numbers(tau, "tau", StateError, finite=False)
    if series.ndim <= 1:
        return model.inputs(series)[None]
    if series.shape == (steps, model.nv) and model.servos:
        series = np.concatenate([series, np.broadcast_to(aims(model.servos, None), (steps, 2 * len(model.servos)))], axis=1)
    if series.shape != (steps, model.inputs_per_step):
        raise StateError(f"tau has shape {series.shape}; it needs ({model.nv},) or one row per step, ({steps}, {model.nv})")
    if not np.all(np.isfinite(series)):
        k, j = np.argwhere(~np.isfinite(series))[0]
        raise StateError(f"tau[{k}, {j}] = {series[k, j]} is not finite")
    return series


def make_room(stepper: Stepper, rows: int, steps: int, every: int) -> Record:
    """An empty record for a run, if it fits into memory."""
    needed = 8.0 * (rows * (2 + stepper.model.nq + stepper.model.nv + stepper.multipliers) + steps)
    if needed > memory():
        raise StateError(
            f"steps = {steps}: {rows} recorded nodes and the evaluations of every step take {needed / 1e9:.3g} GB, more than this "
            "machine has; record fewer with record_every, or make shorter runs, each from the state of the last"
        )
    try:
        return stepper.make_record(rows, steps, every)
    except (MemoryError, ValueError):
        raise StateError(
            f"steps = {steps}: {rows} recorded nodes do not fit into memory; record fewer with record_every, or make shorter runs"
        ) from None


class Alone:
    """One thread at a time: steps made by two at once would be made in the same memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise StateError(
                "this Simulator is making steps already, in another thread or in the control law that asks for more; make a Simulator of "
                "its own for each thread, they can share the model"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Rows:
    """Writes the nodes of steps that are made one by one: `add_step` and `copy_row` of kernels/stepping/record.py, but quickly."""

    def __init__(self, record: Record, now: Record):
        """now: the present node, its only row."""
        self._record, self._now = record, now
        self._every, self._made, self._rows = int(record.cursor[EVERY]), int(record.cursor[STEPS]), int(record.cursor[ROWS])
        self._pairs = [pair for pair in zip(record[1:6], now[1:6], strict=True) if pair[1].size]  # t, q, p, error, multipliers

    def add(self, in_any_case: bool) -> None:
        """Count a step, and record its end if it is its turn."""
        record, made = self._record, self._made
        record.evaluations[made] = self._now.evaluations[0]
        record.cursor[STEPS] = self._made = made = made + 1
        if in_any_case or made % self._every == 0:
            row = self._rows
            for target, source in self._pairs:
                target[row] = source[0]
            record.cursor[ROWS] = self._rows = row + 1


class Asked:
    """Joint forces that a control law asked for, a row for every step."""

    def __init__(self, nv: int):
        self._rows, self._made = np.empty((256, nv)), 0

    def add(self, tau: NDArray[np.float64]) -> None:
        if self._made == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self._made] = tau
        self._made += 1

    def cut(self, made: int) -> None:
        """Forget all but the first of them."""
        self._made = made

    def __len__(self) -> int:
        return self._made

    @property
    def forces(self) -> NDArray[np.float64]:
        return self._rows[: self._made].copy()
