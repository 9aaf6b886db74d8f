"""Checks of what users give: the value as numbers, or an error that names the value, where it is and what would be valid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import LeastActionError, MechanismError, StateError

_MOST_NAMES = 8


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
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise error(f"{what} = {value!r}; it needs {wanted}") from None
    if shape is not None and array.shape != shape:
        raise error(f"{what} = {value!r} has shape {array.shape}; it needs {wanted}")
    if finite and not np.all(np.isfinite(array)):
        raise error(f"{what} = {value!r} contains a number that is not finite")
    return array


def number(value: float, what: str, error: type[LeastActionError]) -> float:
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise error(f"{what} = {value!r} is not a number") from None
    if not np.isfinite(result):
        raise error(f"{what} = {value!r} is not finite")
    return result


def whole_number(value: int, least: int, what: str) -> int:
    if not isinstance(value, (int, np.integer)) or value < least:
        raise StateError(f"{what} = {value!r}; it needs a whole number >= {least}")
    return int(value)


def time_step(dt: float) -> float:
    """Length of a step, s."""
    try:
        result = float(dt) if not isinstance(dt, bool) else np.nan
    except (TypeError, ValueError):
        raise StateError(f"dt = {dt!r} is not a number of seconds") from None
    if not np.isfinite(result) or result <= 0.0:
        raise StateError(f"dt = {dt!r}; the step needs a positive number of seconds, for example 1e-3")
    return result


def name(value: str, what: str) -> str:
    if not isinstance(value, str) or not value:
        own = getattr(value, "name", None)  # a Body or a Frame in place of its name
        hint = f"; give its name, {own!r}" if isinstance(own, str) else ""
        raise MechanismError(f"{what} = {value!r} is not a non-empty string{hint}")
    return value


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
    if is_dataclass(a) and not isinstance(a, type):
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
