"""Servos and dry friction in the mode a step was solved in, and where such a step begins.   docs/actuation.md

A step has kinks only where a servo meets its limit and where a joint comes to rest.  Everywhere else small changes leave every servo
within its limits or at one of them, and every joint with dry friction sliding as it does or stuck.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..integrators import Integrator
from ..integrators.base import Stepper
from ..kernels.tree.layout import SERVO_HIGH, SERVO_KD, SERVO_KP, SERVO_LOW
from ..model import Model
from ..state import State

Array = NDArray[np.float64]


class Mode(NamedTuple):
    """Forces of servos and of the dry friction of what slides over a step, taken at its end, and their derivatives in that mode."""

    force: Array  #: (nv,)
    by_q0: Array  #: (nv,) derivative in the coordinate at the start, that at the end fixed: of the mean velocity
    by_q1: Array  #: (nv,)
    by_targets: Array  #: (nv, 2 n) in the targets of the n servos: coordinates, then velocities
    sticks: NDArray[np.bool_]  #: (nv,) joints that stick, whose friction is whatever holds them
    size: float  #: largest part of a force


def mode_of_step(model: Model, q0: Array, d: Array, dt: float, row: Array) -> Mode:
    """Of the step from q0 by the increment d; row: of inputs."""
    tree, nv = model.tree, model.nv
    j, k = tree.servo_on.T
    kp, kd = tree.servo[:, SERVO_KP], tree.servo[:, SERVO_KD]
    aim, speed = np.split(row[nv:], 2)
    spring, damper = kp * (aim - q0[k] - d[j]), kd * (speed - d[j] / dt)
    free = spring + damper
    f = np.clip(free, tree.servo[:, SERVO_LOW], tree.servo[:, SERVO_HIGH])
    inside, e = f == free, np.arange(len(j))
    sticks = (tree.friction > 0.0) & (d == 0.0)
    force, by_q0, by_q1, by_targets = -tree.friction * np.sign(d), np.zeros(nv), np.zeros(nv), np.zeros((nv, 2 * len(j)))
    np.add.at(force, j, f)
    np.add.at(by_q0, j, inside * kd / dt)
    np.subtract.at(by_q1, j, inside * (kp + kd / dt))
    by_targets[j, e], by_targets[j, len(j) + e] = inside * kp, inside * kd
    size = max(np.abs(part).max(initial=0.0) for part in (f, inside * spring, inside * damper, force))
    return Mode(force, by_q0, by_q1, by_targets, sticks, float(size))


def beginning(model: Model, integrator: Integrator, state: State, dt: float) -> tuple[State, float]:
    """What the equations of the step from the state know of the step before, if it carries what the integrator remembered.

    The state without the half impulse that its momenta have of servos and dry friction already, and the time the impulse of the step
    stands for: dt, and half of it where a simulation starts.
    """
    known = state.__dict__.get("continuation")
    if not model.is_actuated or known is None or not known.fits(integrator, dt, state):
        return state, 0.5 * dt
    push, kick = (next(v for name, v in known.memory.items() if name.endswith("actuation." + what)) for what in ("push", "kick"))
    return State.with_velocity(model, state.t, state.q, state.p - push, state.v), float(kick[0])


def set_kick(stepper: Stepper, kick: float, row: Array) -> None:
    """Before the first step of a stepper in joint coordinates: the impulse of servos and dry friction stands for the time `kick`."""
    if stepper.model.is_actuated:
        stepper.advance(0, row[None], stepper.make_record(1, 1))  # sets the first node up
        stepper.work.actuation.kick[0] = kick  # type: ignore[attr-defined]
