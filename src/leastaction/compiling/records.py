"""Records: the named tuples of arrays that kernels work on.

    class Work(NamedTuple):
        row: floats("n+1", ROW_COLUMNS)  # what stands in it
        pivot: integers("nv")

Each field says its type and shape, sizes as numbers or as expressions of named sizes.  `allocate` makes a record from that alone, and
checks whatever is given instead of zeros: a record with an array of the wrong shape, type or order cannot be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from types import NoneType
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numba import types
from numpy.typing import NDArray

R = TypeVar("R", bound=tuple)


class Shape(NamedTuple):
    """Shape and type of an array field."""

    sizes: tuple[int | str, ...]
    dtype: type

    def numbers(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(int(eval(s, {"__builtins__": {}}, dict(sizes)) if isinstance(s, str) else s) for s in self.sizes)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.sizes))}{',' * (len(self.sizes) == 1)})"


def floats(*sizes: int | str) -> Any:
    """Field of float64 with these sizes."""
    return Annotated[NDArray[np.float64], Shape(tuple(sizes), np.float64)]


def integers(*sizes: int | str) -> Any:
    """Field of int64 with these sizes."""
    return Annotated[NDArray[np.int64], Shape(tuple(sizes), np.int64)]


@cache
def shapes(kind: type) -> Mapping[str, Any]:
    """name -> Shape of the array fields, or the plain type of the others."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        extra = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        found[name] = extra[0] if extra and isinstance(extra[0], Shape) else hint
    return found


def numba_type(kind: type, *known: types.Type) -> types.Type:
    """The type that Numba has for a record of this class, which need not be there yet.

    known: types of records in it; one that is declared as `Ties | None` and not among them is None
    """
    found: dict[Any, types.Type] = {float: types.float64, int: types.int64, bool: types.boolean, NoneType: types.none}
    found.update((k.instance_class, k) for k in known if isinstance(k, types.BaseNamedTuple))
    parts = []
    for what in shapes(kind).values():
        if isinstance(what, Shape):
            parts.append(types.Array(types.float64 if what.dtype is np.float64 else types.int64, len(what.sizes), "C"))
        elif get_origin(what) is np.ndarray:
            parts.append(types.Array(types.float64, 1, "C"))
        else:
            choices = [found[c] for c in (get_args(what) or (what,)) if c in found]
            parts.append(choices[0] if choices else numba_type(what, *known))
    return types.BaseTuple.from_types(parts, kind)


def allocate(kind: type[R], sizes: Mapping[str, int], **given: Any) -> R:
    """A record with zeros of the declared shapes, records inside it too, except for what is given.

    An array that is given and has the right type, order and shape is taken as it is, not copied.
    """
    values = []
    for name, shape, what in _plan(kind, tuple(sizes.items())):
        if given and name in given:
            values.append(_checked(kind, name, what, given.pop(name), shape))
        elif shape is not None:
            values.append(np.zeros(shape, what.dtype))
        elif isinstance(what, type) and issubclass(what, tuple):
            values.append(allocate(what, sizes))
        else:
            raise TypeError(f"{kind.__name__}.{name} is not an array: give its value")
    if given:
        raise TypeError(f"{kind.__name__} has no field {', '.join(map(repr, given))}; its fields are {', '.join(shapes(kind))}")
    return kind(*values)


@lru_cache(maxsize=256)
def _plan(kind: type, sizes: tuple[tuple[str, int], ...]) -> list[tuple[str, tuple[int, ...] | None, Any]]:
    """(name, shape or None, Shape or type) of all fields for these sizes; remembered, as records of one model are made again and again."""
    known, plan = dict(sizes), []
    for name, what in shapes(kind).items():
        shape = None
        if isinstance(what, Shape):
            try:
                shape = what.numbers(known)
            except NameError as error:
                raise TypeError(f"{kind.__name__}.{name} has the shape {what}, but {error}; sizes given are {known}") from None
            if min(shape, default=0) < 0:
                raise TypeError(f"{kind.__name__}.{name} would have the shape {shape}, that is {what} with {known}")
        plan.append((name, shape, what))
    return plan


def _checked(kind: type, name: str, what: Any, value: Any, shape: tuple[int, ...] | None) -> Any:
    if shape is None:
        return value
    given = np.asarray(value)
    if given.size == 0 and 0 in shape:  # a list of no rows
        given = given.astype(what.dtype).reshape(shape)
    if not np.can_cast(given.dtype, what.dtype, "safe"):
        raise TypeError(f"{kind.__name__}.{name} is of {given.dtype}; it needs {what.dtype.__name__}")
    if given.shape != shape:
        raise TypeError(f"{kind.__name__}.{name} has the shape {given.shape}; it needs {shape}, that is {what}")
    return given if given.flags.carray and given.dtype == what.dtype else np.array(given, dtype=what.dtype, order="C")
