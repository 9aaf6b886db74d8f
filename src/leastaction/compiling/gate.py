"""The gate: the one way by which arrays enter compiled code.

Machine code reads memory as it was told to when it was compiled: an array of another order, byte order or type would be read wrongly
without a word.  So there is one rule, held at every call.  An array is of float64 or int64, in native byte order, aligned, writeable and
C-contiguous (`flags.carray`), with the number of dimensions the code was compiled for; a number is of the type it was compiled for; a
record (named tuple) is made of these, of None and of records.  Whatever users give is brought into that form where it is checked
(`checks.numbers`, `compiling.records.allocate`): what is refused here is a mistake of the package or of an extension of it.

`Entry`    what `@entry` makes: looks at all arguments, compiles what is new, calls
`Direct`   an entry that is called again and again with the same records: knows them by identity and looks at the others only
"""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from types import NoneType
from typing import Any

import numpy as np
from numba import config, typeof

from . import canaries, modules
from .numba_private import forget_intermediate_code, forget_versions_for, lean_compilation

_FLOAT, _INT = np.dtype(np.float64), np.dtype(np.int64)

#: kinds of numbers; everything else is refused, so that a number is always what machine code takes it for
_NUMBERS: dict[type, str] = {
    float: "float", np.float64: "float", int: "int", np.int64: "int", bool: "bool", np.bool_: "bool", NoneType: "None",
}  # fmt: skip


class _Refused(Exception):
    """Something that must not enter compiled code; `Entry` says what and where."""


def kind(value: Any) -> Hashable:
    """What a value is to compiled code: equal kinds run the same machine code.

    n for float64 arrays of n dimensions, -1 - n for int64, a word for numbers, (class, kinds of the members) for records.
    """
    what = type(value)
    if what is np.ndarray:
        dtype = value.dtype
        if value.flags.carray:
            if dtype is _FLOAT or dtype == _FLOAT:
                return value.ndim
            if dtype is _INT or dtype == _INT:
                return -1 - value.ndim
        raise _Refused
    word = _NUMBERS.get(what)
    if word is not None:
        return word
    if isinstance(value, tuple):
        return (what, *[kind(member) for member in value])
    raise _Refused


@contextmanager
def _with_seldom_garbage_collection() -> Iterator[None]:
    """Compiling makes millions of objects, many of which live until it is done: looking through them as often as Python does takes an
    eighth of the time, never doing it 100 MB that the process keeps."""
    before, nothing_frozen = gc.get_threshold(), gc.get_freeze_count() == 0
    if nothing_frozen:
        gc.freeze()  # what there is already is not looked at
    if before[0]:  # 0: switched off, and left so
        gc.set_threshold(200_000, 1000, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if nothing_frozen:
            gc.unfreeze()


def _give_memory_back() -> None:
    """What the compiler has left as garbage; and what it has freed, which glibc keeps for the process.  Other systems have no such call."""
    gc.collect()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


#: (earlier entry point or None for any, later one, function of the types of the earlier's arguments): see Entry.expected_after
expectations: list[tuple[Entry | None, Entry, Callable[..., tuple[Any, ...] | None]]] = []


class Entry:
    """A function that Python calls and Numba compiles; called through the gate."""

    def __init__(self, function: Callable[..., Any], compile_function: Callable[[Callable[..., Any]], Any]):
        """compile_function: makes Numba's dispatcher of it, when it is first needed."""
        self.py_func = function
        self._compile_function = compile_function
        self._compiled: dict[Hashable, Callable[..., Any]] = {}
        self._last: tuple[tuple[Hashable, ...], Callable[[tuple[Any, ...]], bool]] = (), _no  # kinds looked at last; are others plainly so?
        self.addresses: dict[tuple[Any, ...], tuple[Any, int]] = {}  #: types of arguments -> type of the result, machine code
        code = function.__code__
        self.parameters = code.co_varnames[: code.co_argcount]
        functools.update_wrapper(self, function)

    def expected_after(self, earlier: Entry | None = None) -> Callable[[Callable[..., tuple[Any, ...] | None]], Any]:
        """Decorator of a function (*types of the arguments of an earlier entry point) -> types of the arguments of this one, or None.

        Who has the one compiled will ask for the other: it can be prepared meanwhile (ahead.py).  None: the earlier one may be any.
        """

        def register(types: Callable[..., tuple[Any, ...] | None]) -> Any:
            expectations.append((earlier, self, types))
            return types

        return register

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's object for the function; the function itself while compilation is switched off."""
        return self._compile_function(self.py_func)

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(self.kinds(arguments), arguments)(*arguments)

    def kinds(self, arguments: tuple[Any, ...]) -> tuple[Hashable, ...]:
        """The kind of every argument; TypeError if one of them must not enter."""
        last, plainly_so = self._last  # both at once: other threads come by too
        if plainly_so(arguments):
            return last
        try:
            found = tuple([kind(a) for a in arguments])
        except _Refused:
            raise TypeError(f"{self}: {_found(self.parameters, arguments)}; {_BLAME}") from None
        self._last = found, _long_look(found) if found == last else _no  # written out for those who come again
        return found

    def compiled(self, kinds: tuple[Hashable, ...], arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The machine code for arguments of these kinds."""
        found = self._compiled.get(kinds)
        if found is None:
            # the lock of generated modules before the compiler's, as where such a module is made: two threads would wait for each other
            with modules.importable(self.py_func), _with_seldom_garbage_collection(), lean_compilation():
                found = self.dispatcher if config.DISABLE_JIT else self._machine_code(tuple(typeof(a) for a in arguments))
            if modules.is_generated(self.py_func.__module__):
                _give_memory_back()
            if canaries.ON:
                found = canaries.guarded(found, str(self), self.parameters)
            self._compiled[kinds] = found
        return found

    def _machine_code(self, types: tuple[Any, ...]) -> Callable[..., Any]:
        found = self.dispatcher.compile(types)
        version = self.dispatcher.overloads[types]
        self.addresses[types] = version.signature.return_type, version.library.get_pointer_to_function(version.fndesc.llvm_func_name)
        if modules.is_generated(self.py_func.__module__):  # there may be many: what only compiling needs is given back
            forget_intermediate_code(version.library)
            forget_versions_for(self.dispatcher, modules.is_generated)
        return found

    def __repr__(self) -> str:
        return f"{self.py_func.__module__}.{self.py_func.__qualname__}"


class Direct:
    """An entry point that is called again and again with arguments of the same kinds, as a time loop is.

    Looking at all arrays of all records takes as long as a step of a small mechanism: records that have been looked at are known by
    identity (they cannot change, and neither do the shapes of their arrays).  Arrays and numbers are looked at in every call.
    """

    def __init__(self, entry: Entry):
        self._entry = entry
        self._kinds: tuple[Hashable, ...] | None = None
        self._seen: list[Any] = []  # records that have been looked at, by place
        self._look: Callable[[list[Any], tuple[Any, ...]], bool] = _unknown
        self._compiled: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        if not self._look(self._seen, arguments):
            self._look_closely(arguments)
        return self._compiled(*arguments)

    def _look_closely(self, arguments: tuple[Any, ...]) -> None:
        kinds = self._entry.kinds(arguments) if self._kinds is None else self._kinds_of_new(arguments)
        if self._kinds is None:
            self._compiled = self._entry.compiled(kinds, arguments)
            self._kinds = kinds
            self._look = _quick_look(kinds)
        elif kinds != self._kinds:
            raise TypeError(f"{self._entry}: {_changed(self._entry.parameters, kinds, self._kinds)}; {_BLAME}")
        self._seen[:] = arguments

    def _kinds_of_new(self, arguments: tuple[Any, ...]) -> tuple[Hashable, ...]:
        """The kind of every argument; records that have been looked at are not looked at again."""
        assert self._kinds is not None
        if len(arguments) != len(self._kinds):
            return self._entry.kinds(arguments)
        new = [k for k, what in enumerate(self._kinds) if arguments[k] is not self._seen[k] or type(what) is not tuple]
        try:
            found = [kind(arguments[k]) for k in new]
        except _Refused:
            return self._entry.kinds(arguments)  # which says what is wrong
        kinds = list(self._kinds)
        for k, what in zip(new, found, strict=True):
            kinds[k] = what
        return tuple(kinds)


def _unknown(seen: list[Any], arguments: tuple[Any, ...]) -> bool:
    return False


def _no(arguments: tuple[Any, ...]) -> bool:
    return False


def _is_not(name: str, what: Hashable) -> str:
    """The condition that a value which is no record is not plainly of this kind, as source."""
    if isinstance(what, int):
        ndim, dtype = (what, "FLOAT") if what >= 0 else (-1 - what, "INT")
        return f"type({name}) is not ndarray or {name}.dtype is not {dtype} or {name}.ndim != {ndim} or not {name}.flags.carray"
    return f"{name} is not None" if what == "None" else f"type({name}) is not {what}"


def _made(source: str, **scope: Any) -> Any:
    """The function `look` of a source."""
    names: dict[str, Any] = {"ndarray": np.ndarray, "FLOAT": _FLOAT, "INT": _INT, **scope}
    exec(source, names)
    return names["look"]


@functools.lru_cache(maxsize=256)
def _long_look(kinds: tuple[Hashable, ...]) -> Callable[[tuple[Any, ...]], bool]:
    """A function (arguments) -> are they plainly of these kinds, with all that is in their records?  Written out: a third of the time."""
    lines, classes = [f"if len(arguments) != {len(kinds)}: return False"], {}

    def unpack(name: str, members: tuple[Hashable, ...]) -> None:
        names = [f"{name}_{k}" for k in range(len(members))]
        if names:
            lines.append(f"{', '.join(names)}, = {name}")
        for member, what in zip(names, members, strict=True):
            if isinstance(what, tuple):
                classes[f"C{member}"] = what[0]
                lines.append(f"if type({member}) is not C{member} or len({member}) != {len(what) - 1}: return False")
                unpack(member, what[1:])
            else:
                lines.append(f"if {_is_not(member, what)}: return False")

    unpack("arguments", kinds)
    return _made("\n    ".join(["def look(arguments):", *lines, "return True"]), **classes)


@functools.lru_cache(maxsize=256)
def _quick_look(kinds: tuple[Hashable, ...]) -> Callable[[list[Any], tuple[Any, ...]], bool]:
    """A function (seen, arguments) -> are they plainly of these kinds, records that have been seen?

    Written out, looking takes a third of the time; written once for all steppers that call an entry with the same kinds.
    """
    names = [f"a{k}" for k in range(len(kinds))]
    tests = [f"len(arguments) != {len(kinds)}"]
    for k, (name, what) in enumerate(zip(names, kinds, strict=True)):
        tests.append(f"{name} is not seen[{k}]" if isinstance(what, tuple) else _is_not(name, what))
    unpack = f"({', '.join(names)},) = arguments" if names else "pass"
    source = (
        f"def look(seen, arguments):\n    if {tests[0]}:\n        return False\n    {unpack}\n"
        f"    return not ({' or '.join(tests[1:]) or 'False'})\n"
    )
    return _made(source)


# ----------------------------------------------------------------------------------------------------- what was wrong

_BLAME = "arrays are brought into order where they are checked (checks.numbers, records.allocate), before they get here"


def _found(names: tuple[str, ...], values: tuple[Any, ...]) -> str:
    """The first of the values that must not enter compiled code, and why."""
    for k, value in enumerate(values):
        name = names[k] if k < len(names) else f"argument {k}"
        reason = _reason(name, value)
        if reason:
            return reason
    raise AssertionError("nothing is wrong")


def _reason(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray):
        faults = _faults(value)
        return f"{name}, an array of {value.dtype.str} with shape {value.shape}, {' and '.join(faults)}" if faults else ""
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None) or tuple(map(str, range(len(value))))
        return next((r for f, v in zip(fields, value, strict=True) if (r := _reason(f"{name}.{f}", v))), "")
    if type(value) in _NUMBERS:
        return ""
    return f"{name} = {value!r} of the type {type(value).__name__} is neither an array, a record nor a number of 8 bytes"


def _faults(array: np.ndarray) -> list[str]:
    faults = []
    if type(array) is not np.ndarray:
        faults.append(f"is a {type(array).__name__}, not a plain array")
    if array.dtype not in (_FLOAT, _INT):
        faults.append("is not of float64 or int64 in native byte order")
    flags = array.flags
    for wrong, words in (
        (not flags.c_contiguous, f"is not C-contiguous (strides {array.strides})"),
        (not flags.aligned, "is not aligned"),
        (not flags.writeable, "is read-only"),
    ):
        if wrong:
            faults.append(words)
    return faults


def _changed(names: tuple[str, ...], now: tuple[Hashable, ...], before: tuple[Hashable, ...]) -> str:
    """Where the kinds of two calls differ."""
    if len(now) != len(before):
        return f"takes {len(before)} arguments, not {len(now)}"
    name, a, b = next((n, a, b) for n, a, b in zip(names, now, before, strict=False) if a != b)
    while isinstance(a, tuple) and isinstance(b, tuple) and a[0] is b[0] and len(a) == len(b):
        fields = getattr(a[0], "_fields", None) or tuple(map(str, range(len(a) - 1)))
        name, a, b = next((f"{name}.{f}", x, y) for f, x, y in zip(fields, a[1:], b[1:], strict=True) if x != y)
    return f"{name} is {_words(a)}; this code was compiled for {_words(b)}"


def _words(what: Hashable) -> str:
    if isinstance(what, int):
        return f"a float64 array of {what} dimensions" if what >= 0 else f"an int64 array of {-1 - what} dimensions"
    if isinstance(what, tuple):
        return f"a record {what[0].__name__}"
    return str(what)
