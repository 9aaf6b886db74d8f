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
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
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


def allocate(kind: type[R], sizes: Mapping[str, int], **given: Any) -> R:
    """A record with zeros of the declared shapes, records inside it too, except for what is given.

    An array that is given and has the right type, order and shape is taken as it is, not copied.
    """
    fields, wanted = shapes(kind), _numbers(kind, tuple(sizes.items()))
    values = {}
    for name, what in fields.items():
        if name in given:
            values[name] = _checked(kind, name, what, given.pop(name), wanted)
        elif isinstance(what, Shape):
            values[name] = np.zeros(wanted[name], dtype=what.dtype)
        elif isinstance(what, type) and issubclass(what, tuple):
            values[name] = allocate(what, sizes)
        else:
            raise TypeError(f"{kind.__name__}.{name} is not an array: give its value")
    if given:
        raise TypeError(f"{kind.__name__} has no field {', '.join(map(repr, given))}; its fields are {', '.join(fields)}")
    return kind(**values)


@lru_cache(maxsize=256)
def _numbers(kind: type, sizes: tuple[tuple[str, int], ...]) -> Mapping[str, tuple[int, ...]]:
    """The shapes of all array fields for these sizes; remembered, as records of one model are made again and again."""
    known, found = dict(sizes), {}
    for name, what in shapes(kind).items():
        if isinstance(what, Shape):
            try:
                found[name] = what.numbers(known)
            except NameError as error:
                raise TypeError(f"{kind.__name__}.{name} has the shape {what}, but {error}; sizes given are {known}") from None
            if min(found[name], default=0) < 0:
                raise TypeError(f"{kind.__name__}.{name} would have the shape {found[name]}, that is {what} with {known}")
    return found


def _checked(kind: type, name: str, what: Any, value: Any, wanted: Mapping[str, tuple[int, ...]]) -> Any:
    if not isinstance(what, Shape):
        return value
    given = np.asarray(value)
    if given.size == 0 and 0 in wanted[name]:  # a list of no rows
        given = given.astype(what.dtype).reshape(wanted[name])
    if not np.can_cast(given.dtype, what.dtype, "safe"):
        raise TypeError(f"{kind.__name__}.{name} is of {given.dtype}; it needs {what.dtype.__name__}")
    if given.shape != wanted[name]:
        raise TypeError(f"{kind.__name__}.{name} has the shape {given.shape}; it needs {wanted[name]}, that is {what}")
    return given if given.flags.carray and given.dtype == what.dtype else np.array(given, dtype=what.dtype, order="C")
