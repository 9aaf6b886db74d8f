"""Things that hold functions of the user, on their way to another process or another machine.

Pickle sends a function as the name it can be imported by.  Functions in notebooks, in functions and in lambdas have none, and a module
that can be imported here may be missing there.  So the code itself is sent along (with the part of cloudpickle that Numba contains) and
used where the name leads nowhere.  Code is Python's own and belongs to one version of it: for another one the name has to do.
"""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Self

from numba import cloudpickle

from ..errors import MechanismError

_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_MARK = b"cloudpickle"  # stands in what contains code
_INSTALLED_EVERYWHERE = ("leastaction", "numba", "numpy", "sympy", "builtins")


class Carrier:
    """An object whose attributes may be, or contain, functions of the user: it can be pickled, or the function that cannot is named."""

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return arrive, (type(self).__name__, *carry(self))

    def __copy__(self) -> Self:
        """As always: not by way of another process."""
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        new.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return new


def carry(thing: Carrier) -> tuple[bytes, bytes | None, str]:
    """Class and attributes with functions as names, the same with functions as code (None: they are names only), version of Python."""
    content = (type(thing), vars(thing))
    try:
        named = cloudpickle.dumps(content)
    except Exception as error:
        raise MechanismError(f"{_culprit(thing)}: {error}; {_REMEDY}") from error
    try:
        with _by_value(_modules(thing)):
            coded = cloudpickle.dumps(content)
    except Exception:
        coded = None  # something around the function cannot be sent, but its name can
    return named, None if coded == named else coded, _PYTHON


def arrive(kind: str, named: bytes, coded: bytes | None, python: str) -> Any:
    """What `carry` sent."""
    reason: Exception | str = ""
    for content in (named, coded):
        if content is None:
            continue
        if _MARK in content and python != _PYTHON:
            reason = f"its code was made by Python {python}, this is {_PYTHON}"
            continue
        try:
            cls, attributes = pickle.loads(content)
        except (ImportError, AttributeError) as error:
            reason = error
            continue
        thing = cls.__new__(cls)
        thing.__dict__.update(attributes)
        return thing
    raise MechanismError(f"{kind} arrived from another process, but the function in it cannot be found here: {reason}; {_REMEDY}")


_REMEDY = "define the function in a module that can be imported wherever it is used, with nothing around it but numbers and functions"


def _culprit(thing: Carrier) -> str:
    """The first attribute that cannot be pickled, in words."""
    for name, value in vars(thing).items():
        try:
            cloudpickle.dumps(value)
        except Exception:
            shown = getattr(value, "__qualname__", None) or repr(value)
            return f"{type(thing).__name__} cannot be pickled because of its {name} {shown}"
    return f"{type(thing).__name__} cannot be pickled because of its class"


def _modules(thing: Carrier) -> list[ModuleType]:
    """Where the class and the functions of a thing are written down, but for packages that are wherever leastaction is."""
    written = {getattr(getattr(x, "py_func", x), "__module__", None) for x in (type(thing), *vars(thing).values())}
    return [
        sys.modules[name] for name in written if name in sys.modules and name.split(".")[0] not in (*_INSTALLED_EVERYWHERE, "__main__")
    ]


@contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    """Functions of these modules are sent as code, not as names."""
    known = cloudpickle.list_registry_pickle_by_value()
    new = [module for module in modules if module.__name__ not in known]
    for module in new:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in new:
            cloudpickle.unregister_pickle_by_value(module)
