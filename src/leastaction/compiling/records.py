"""Records: the named tuples of arrays that kernels work on.

    class Work(NamedTuple):
        row: floats("n+1", ROW_COLUMNS)  # what stands in it
        pivot: integers("nv")

Each field says its type and shape, sizes as numbers or as expressions of named sizes.  `allocate` makes a record from that alone, and
checks whatever is given instead of zeros: a record with an array of the wrong shape, type or order cannot be made.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def floats(*sizes: int | str) -> Any:
    """Field of float64 with these sizes."""
    return Annotated[NDArray[np.float64], Shape(tuple(sizes), np.float64)]


def integers(*sizes: int | str) -> Any:
    """Field of int64 with these sizes."""
    return Annotated[NDArray[np.int64], Shape(tuple(sizes), np.int64)]


def shapes(kind: type) -> dict[str, Any]:
    """name -> Shape of the array fields, or the plain type of the others."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        extra = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        found[name] = extra[0] if extra and isinstance(extra[0], Shape) else hint
    return found


def allocate(kind: type[R], sizes: Mapping[str, int], **given: Any) -> R:
    """A record with zeros of the declared shapes, records inside it too, except for what is given."""
    values = {}
    for name, what in shapes(kind).items():
        if name in given:
            values[name] = _checked(kind, name, what, given.pop(name), sizes)
        elif isinstance(what, Shape):
            values[name] = np.zeros(what.numbers(sizes), dtype=what.dtype)
        elif isinstance(what, type) and issubclass(what, tuple):
            values[name] = allocate(what, sizes)
        else:
            raise TypeError(f"{kind.__name__}.{name} is no array: give its value")
    if given:
        raise TypeError(f"{kind.__name__} has no field {', '.join(map(repr, given))}")
    return kind(**values)


def _checked(kind: type, name: str, what: Any, value: Any, sizes: Mapping[str, int]) -> Any:
    if not isinstance(what, Shape):
        return value
    array = np.array(value, dtype=what.dtype, order="C", copy=None)
    wanted = what.numbers(sizes)
    if array.size == 0 and 0 in wanted:
        array = array.reshape(wanted)
    if array.shape != wanted:
        raise TypeError(f"{kind.__name__}.{name} has shape {array.shape}; it needs {wanted}, that is {what.sizes}")
    return array if array.flags.carray else array.copy()
