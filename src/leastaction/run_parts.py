"""A run that is made in parts: into a file that grows (records/stream.py), or by steps of variable length until a time."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from .assembly.ledger import may_change
from .checks import whole_number
from .errors import StateError
from .run_input import MOST_STEPS, Control, check_control, check_forces, checked_seconds, count_steps, memory
from .state import State
from .trajectory import Trajectory

if TYPE_CHECKING:
    from .simulator import Simulator

_BLOCK = 4096  # recorded nodes at a time where their number is not known beforehand


class Parts:
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
        simulator._acting = control is not None or may_change(simulator.model, self.forces)
        self.start = simulator._run(0, self.forces[:1], None, every, False, np.inf)

    @property
    def t(self) -> float:
        return self.simulator.t

    def make(self, steps: int, done: int) -> Trajectory:
        forces = self.forces if len(self.forces) == 1 else self.forces[done : done + steps]
        return self.simulator._run(steps, forces, self.control, self.every, False, self.end)

    def go_on(self, state: State, run: Trajectory) -> None:
        self.simulator._start_from(state)
        self.simulator.steps, self.simulator.specialised_from = run.steps, run.specialised_from
        self.simulator._open_accounts(self.every, run)

    def remarks(self, run: Trajectory) -> tuple[str, ...]:
        return self.simulator._remarks(run)


def run_for(simulator: Simulator, duration: float, steps: int | None, tau, control: Control | None, record_every: int) -> Trajectory:
    """Run an integrator with steps of its own choice until the end of the duration is reached."""
    seconds = checked_seconds(duration, steps, tau, control)
    every, end = whole_number(record_every, 1, "record_every"), simulator.t + seconds
    forces = check_forces(tau, 0, simulator.model)
    simulator._acting = control is not None or may_change(simulator.model, forces)
    parts = [simulator._run(0, forces, None, every, False, end)]
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

