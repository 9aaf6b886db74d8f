"""Errors of the package.  Every message names the bad value, where it is, and what would be valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .trajectory import Trajectory


class LeastActionError(Exception):
    """Base of all errors raised on purpose by leastaction."""


class MechanismError(LeastActionError, ValueError):
    """The description of a mechanism is wrong or incomplete."""


class FormatError(MechanismError):
    """A file cannot be read: the message starts with file:line:column."""

    def __init__(self, message: str, *, path: str = "", line: int = 0, column: int = 0):
        place = ":".join(str(part) for part in (path, line, column) if part)
        super().__init__(f"{place}: {message}" if place else message)
        self.path, self.line, self.column = path, line, column


class StateError(LeastActionError, ValueError):
    """A state, a force series or a step size does not fit the model."""


class SingularMassError(MechanismError):
    """Some motion of the mechanism moves no mass, so its acceleration is undefined."""


class LimitError(LeastActionError):
    """A step of a Simulator took a joint beyond its limit.  The simulator stands at the end of that step."""

    def __init__(self, message: str, *, time: float):
        super().__init__(message)
        self.time = time


class ConvergenceError(LeastActionError, ArithmeticError):
    """The equations of one step were not solved.  `trajectory` holds the steps before it."""

    def __init__(self, message: str, *, step: int, time: float, residual: float, trajectory: Trajectory | None = None):
        super().__init__(message)
        self.step = step
        self.time = time
        self.residual = residual
        self.trajectory = trajectory
