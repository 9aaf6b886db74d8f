"""Checks of what users give: the value as numbers, or an error that names the value, where it is and what would be valid."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from os import PathLike
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import LeastActionError, MechanismError, StateError

_T = TypeVar("_T")
_R = TypeVar("_R")
_P = ParamSpec("_P")
_MOST_NAMES = 8
_MOST_THINGS = 1_000_000  # that a function which describes something makes: more would take hours


def numbers(
    value: ArrayLike,
    what: str,
    error: type[LeastActionError],
    shape: tuple[int, ...] | None = None,
    *,
    finite: bool = True,
    wanted: str = "numbers",
) -> NDArray[np.float64]:
    """A new array that compiled code can read: float64, native, aligned, writeable, C-contiguous; of the given shape if there is one.

    wanted   says in words what it should be
    """
    if shape is not None:
        wanted = "three numbers" if shape == (3,) else f"numbers of shape {shape}"
    array, fault = _as_floats(value)
    if array is None:
        raise error(f"{what} = {shown(value)}{fault}; it needs {wanted}")
    if shape is not None and array.shape != shape:
        raise error(f"{what} = {shown(value)} has shape {array.shape}; it needs {wanted}")
    if finite and not np.all(np.isfinite(array)):
        raise error(f"{what} = {shown(value)} contains a number that is not finite")
    return array


def _as_floats(value: Any) -> tuple[NDArray[np.float64] | None, str]:
    """A new array of float64, or None and what keeps the value from being one.  Nothing is cut off: neither imaginary parts nor digits."""
    try:
        given = np.asarray(value)
    except Exception:
        return None, ""
    if given.dtype.kind == "c" or (given.dtype.kind == "O" and any(isinstance(x, complex) for x in given.ravel())):
        return None, " is complex"
    if given.dtype.kind not in "fiuO":
        return None, f" is made of {_KINDS.get(given.dtype.kind, str(given.dtype))}"
    try:
        return np.array(given, dtype=np.float64, order="C"), ""
    except OverflowError:
        return None, " contains a number too large for a float"
    except Exception:  # whatever the objects in it do when they are asked for a number
        return None, ""


_KINDS = {"b": "truth values", "U": "text", "S": "bytes", "M": "dates", "m": "durations"}


def shown(value: Any, most: int = 200) -> str:
    """A value in a message: not longer than a few lines, however large it is."""
    try:
        text = repr(value)
    except Exception:  # nested too deeply, an integer of thousands of digits, or a repr of the user's that fails
        return f"a {type(value).__name__} that cannot be printed"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def number(value: float, what: str, error: type[LeastActionError]) -> float:
    array, fault = _as_floats(value) if not isinstance(value, str) else (None, "")
    if array is None or array.shape != ():
        raise error(f"{what} = {shown(value)}{f'{fault}; it needs a number' if fault else ' is not a number'}")
    result = float(array)
    if not np.isfinite(result):
        raise error(f"{what} = {shown(value)} is not finite")
    return result


def whole_number(value: int, least: int, what: str) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise StateError(f"{what} = {shown(value)}; it needs a whole number >= {least}")
    if value >= 2**63:
        raise StateError(f"{what} = {shown(value)} is larger than any number of steps; give one below 2**63")
    return int(value)


def yes_or_no(value: bool, what: str, error: type[LeastActionError] = StateError) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise error(f"{what} = {shown(value)}; it is True or False")
    return bool(value)


def progress(wanted: bool | None) -> bool | None:
    """Show a bar?  None: on a terminal."""
    return None if wanted is None else yes_or_no(wanted, "progress")


def one_of(value: str, known: Iterable[str], what: str, error: type[LeastActionError] = StateError, words: str = "") -> str:
    """A name from a list; words: what the names mean, if that is not said by them."""
    choices = list(known)
    if not isinstance(value, str) or value not in choices:
        raise error(f"{what} = {shown(value)}; it is {words or 'one of ' + ', '.join(map(repr, choices))}")
    return value


def text(value: str | None, what: str, error: type[LeastActionError] = StateError) -> str:
    """Words that are shown somewhere; None stands for none."""
    if value is not None and not isinstance(value, str):
        raise error(f"{what} = {shown(value)} is a {type(value).__name__}; it needs text")
    return value or ""


def positive(value: float, what: str, error: type[LeastActionError] = StateError) -> float:
    result = number(value, what, error)
    if result <= 0.0:
        raise error(f"{what} = {shown(value)}; it needs a number > 0")
    return result


def path(value: Any, what: str, error: type[LeastActionError] = StateError) -> Path:
    """Where a file is or is to be."""
    if isinstance(value, (str, PathLike)) and not isinstance(value, bytes) and str(value) and "\0" not in str(value):
        return Path(value)
    raise error(f"{what} = {shown(value)}; it needs the path of a file")


def time_step(dt: float) -> float:
    """Length of a step, s."""
    if type(dt) is float and 0.0 < dt < np.inf:
        return dt
    array, _ = _as_floats(dt)
    if array is None or array.shape != ():
        raise StateError(f"dt = {shown(dt)} is not a number of seconds")
    result = float(array)
    if not np.isfinite(result) or result <= 0.0:
        raise StateError(f"dt = {shown(dt)}; the step needs a positive number of seconds, for example 1e-3")
    return result


def instance(value: Any, kind: type[_T], what: str, remedy: str, error: type[LeastActionError] = StateError) -> _T:
    """The value, if it is an object of this kind; the remedy says where one comes from."""
    if isinstance(value, kind) and not isinstance(value, type):
        return value
    raise error(f"{what} = {shown(value)} is a {type(value).__name__}; {remedy}")


def takes_two(function: Any, what: str, wanted: str) -> None:
    """Can the function be called with two arguments?  Those that do not say what they take are tried when it is time."""
    try:
        inspect.signature(function).bind(None, None)
    except ValueError:
        return
    except TypeError as error:
        raise StateError(f"{what} = {shown(function)} cannot be called with {wanted}: {error}; give a function that takes them") from None


def numbers_only(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function with all arguments checked that it declares as numbers, for functions that do nothing but describe something."""
    signature = inspect.signature(function)
    where = function.__name__

    @functools.wraps(function)
    def checked(*arguments: _P.args, **options: _P.kwargs) -> _R:
        try:
            bound = signature.bind(*arguments, **options)
        except TypeError as error:
            raise MechanismError(f"{where}: {error}; it is called as {where}{signature}") from None
        for key, value in bound.arguments.items():
            declared = str(signature.parameters[key].annotation)
            if declared == "int" and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0):
                raise MechanismError(f"{where}: {key} = {shown(value)}; it needs a whole number >= 0")
            if declared == "int" and value > _MOST_THINGS:
                raise MechanismError(f"{where}: {key} = {shown(value, 40)}; at most {_MOST_THINGS:,} are made")
            if declared == "float":
                number(value, f"{where}: {key}", MechanismError)
            if declared == "bool":
                yes_or_no(value, f"{where}: {key}", MechanismError)
        try:
            return function(*arguments, **options)
        except (OverflowError, ZeroDivisionError) as error:
            given = ", ".join(f"{key} = {shown(value, 40)}" for key, value in bound.arguments.items())
            raise MechanismError(f"{where} with {given}: {error}; no mechanism can be made of that, give other numbers") from None

    return checked


def name(value: str, what: str) -> str:
    if not isinstance(value, str) or not value:
        own = getattr(value, "name", None)  # a Body or a Frame in place of its name
        hint = f"; give its name, {own!r}" if isinstance(own, str) else ""
        raise MechanismError(f"{what} = {shown(value)} is not a non-empty string{hint}")
    return value


def names(owner: str, *values: str) -> None:
    """All of them names of bodies, frames or joints?"""
    for value in values:
        name(value, f"{owner}: name")


def same(a: Any, b: Any) -> bool:
    """Are two values equal, with arrays compared entry by entry (NaN equals NaN) and compiled functions by where they are?"""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if is_dataclass(a) and getattr(type(a), "__dataclass_params__").eq:  # noqa: B009 - others compare themselves
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.compare)
    if isinstance(a, FunctionType):
        cells = [[cell.cell_contents for cell in f.__closure__ or ()] for f in (a, b)]
        return a.__code__ == b.__code__ and a.__module__ == b.__module__ and same([a.__defaults__, cells[0]], [b.__defaults__, cells[1]])
    if hasattr(a, "address"):
        return a.address == b.address
    return bool(a == b)


def listed(names: Iterable[str]) -> str:
    """The first few names, for messages that say what exists."""
    known = list(names)
    return ", ".join(repr(k) for k in known[:_MOST_NAMES]) + (", ..." if len(known) > _MOST_NAMES else "")
