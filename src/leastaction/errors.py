"""Errors of the package.  Every message names the bad value, where it is, and what would be valid."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .trajectory import Trajectory


class LeastActionError(Exception):
    """Base of all errors raised on purpose by leastaction.  They travel between processes with all they know.

    >>> import leastaction as la
    >>> try:
    ...     la.examples.chain(2).compile().state(q={"link7": 0.1})
    ... except la.LeastActionError as error:
    ...     print(type(error).__name__)
    StateError
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (type(self), self.args, _what_travels(vars(self)))


def _arrived(cls: type[LeastActionError], arguments: tuple[Any, ...], known: dict[str, Any]) -> LeastActionError:
    """The error as it was, whatever its constructor takes."""
    error = cls.__new__(cls, *arguments)
    error.args = arguments
    error.__dict__.update(known)
    return error


def _what_travels(known: dict[str, Any]) -> dict[str, Any]:
    """An error that cannot leave its process would take a whole pool down: what keeps it is left behind, and that is said."""
    kept, notes = {}, list(known.get("__notes__", ()))
    for name, value in known.items():
        try:
            pickle.dumps(value)
            kept[name] = value
        except Exception as reason:
            kept[name] = None
            notes.append(f"{name} did not travel with this error: {reason}")
    return {**kept, "__notes__": notes} if notes else kept


class MechanismError(LeastActionError, ValueError):
    """The description of a mechanism is wrong or incomplete.

    >>> import leastaction as la
    >>> la.Mechanism().add_body("stone", joint=la.Free(), mass=-1.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    leastaction.errors.MechanismError: ...
    """


class FormatError(MechanismError):
    """A file cannot be read: the message starts with file:line:column.

    >>> import leastaction as la
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "robot.urdf"
    ...     _ = path.write_text("<robot><link></robot>")
    ...     try:
    ...         la.load(path)
    ...     except la.FormatError as error:
    ...         print(str(error).partition("robot.urdf")[2][:4])  # line and column
    :1:1
    """

    def __init__(self, message: str, *, path: str = "", line: int = 0, column: int = 0):
        place = ":".join(str(part) for part in (path, line, column) if part)
        super().__init__(f"{place}: {message}" if place else message)
        self.path, self.line, self.column = path, line, column


class StateError(LeastActionError, ValueError):
    """A state, a force series or a step size does not fit the model.

    >>> import leastaction as la
    >>> la.examples.chain(2).compile().state(q=[0.1, 0.2, 0.3])  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    leastaction.errors.StateError: ...
    """


class SingularMassError(MechanismError):
    """Some motion of the mechanism moves no mass, so its acceleration is undefined.

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("nothing", joint=la.Revolute())
    >>> la.simulate(mech.compile(), dt=1e-3, steps=1)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    leastaction.errors.SingularMassError: ...
    """


class LimitError(LeastActionError):
    """A step of a Simulator took a joint beyond its limit, or a run left the range that a joint is described in.

    The simulator stands at the end of that step; of a run, `trajectory` holds what was recorded.

    >>> import leastaction as la
    >>> mech = la.examples.chain(1)
    >>> _ = mech.add_limit("link1", -0.4, 0.4)
    >>> simulator = la.Simulator(mech.compile(), dt=0.1, q={"link1": 0.39}, v={"link1": 2.0})
    >>> simulator.step()  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    leastaction.errors.LimitError: ...
    """

    def __init__(self, message: str, *, time: float, trajectory: Trajectory | None = None):
        super().__init__(message)
        self.time, self.trajectory = time, trajectory


class ConvergenceError(LeastActionError, ArithmeticError):
    """The equations of one step were not solved.  `trajectory` holds the steps before it.

    >>> import leastaction as la
    >>> try:
    ...     la.simulate(la.examples.chain(20).compile(), dt=0.5, duration=60.0, q={"link1": 3.0}, guard=False)
    ... except la.ConvergenceError as error:
    ...     print(len(error.trajectory) >= 1)  # what was solved is not lost
    True
    """

    def __init__(self, message: str, *, step: int, time: float, residual: float, trajectory: Trajectory | None = None):
        super().__init__(message)
        self.step = step
        self.time = time
        self.residual = residual
        self.trajectory = trajectory
