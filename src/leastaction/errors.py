"""Errors of the package.  Every message names the bad value, where it is, and what would be valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .trajectory import Trajectory


class LeastActionError(Exception):
    """Base of all errors raised on purpose by leastaction."""


class MechanismError(LeastActionError, ValueError):
    """The description of a mechanism is wrong or incomplete."""


class StateError(LeastActionError, ValueError):
    """A state, a force series or a step size does not fit the model."""


class SingularMassError(MechanismError):
    """Some motion of the mechanism moves no mass, so its acceleration is undefined."""


class ConvergenceError(LeastActionError, ArithmeticError):
    """The equations of one step were not solved.  `trajectory` holds the steps before it."""

    def __init__(self, message: str, *, step: int, time: float, residual: float, trajectory: Trajectory | None = None):
        super().__init__(message)
        self.step = step
        self.time = time
        self.residual = residual
        self.trajectory = trajectory
