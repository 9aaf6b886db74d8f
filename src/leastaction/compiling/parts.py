"""Kernels on disk, each compiled once for all entry points that call it.

    folder/standard-3f2a.../parts/8c1f....parts     key of a kernel -> its intermediate code, the keys of what it calls, its result

A time loop is made of some 250 kernels, and most of them are in the next one too.  Numba keeps only entry points, whole; so a second
integrator, a loop or a roll-out would compile all of them again.  Here a process that compiles an entry point takes what others have
compiled and leaves behind what was new.

A kernel is known by its name and the types of its arguments (`key_of`), which are also its name in LLVM: whether it was compiled here or
found, an entry point has the same intermediate code and so the same machine code.  What has no lasting name, functions made at run time
and code for one mechanism, is compiled wherever it is needed.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import types

from . import files

SUFFIX = ".parts"


class Store:
    """What was found on disk and what is new, while something is compiled."""

    def __init__(self) -> None:
        self.folder: Callable[[], Path | None] = lambda: None  #: where parts are kept; None: nowhere
        self._depth = 0
        self._forget()

    def _forget(self) -> None:
        self._found: dict[str, bytes] | None = None  # read when it is first asked for
        self._new: dict[str, bytes] = {}

    def __enter__(self) -> Store:
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            try:
                self._write()
            finally:
                self._forget()  # megabytes

    @property
    def is_open(self) -> bool:
        """Is something of ours being compiled?  What others compile with our kernels has names of Numba's, and is not shared."""
        return self._depth > 0

    def find(self, key: str) -> bytes | None:
        if self._found is None:
            self._found = self._read()
        return self._new.get(key) or self._found.get(key)

    def add(self, key: str, part: bytes) -> None:
        self._new[key] = part

    def _read(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        folder = self._folder()
        for path in sorted(folder.glob(f"*{SUFFIX}")) if folder else ():
            content = files.read(path)
            try:
                found |= pickle.loads(content) if content is not None else {}
            except Exception:  # written by something else
                files.discard(path)
            with suppress(OSError):
                os.utime(path)  # what is used is not evicted
        return found

    def _write(self) -> None:
        folder = self._folder() if self._new else None
        if folder:
            files.write(folder / f"{os.urandom(8).hex()}{SUFFIX}", pickle.dumps(self._new))

    def _folder(self) -> Path | None:
        try:
            return self.folder()
        except OSError as error:
            files.say_once("write", f"no folder can be made ({error.strerror}); machine code is not kept")
            return None


store = Store()
asked: dict[Any, str] = {}  #: function -> key, from where a kernel was looked for in vain to where it is compiled


class _NoName(Exception):
    """There is nothing by which another process could know it."""


def key_of(dispatcher: Any, arguments: tuple[Any, ...], target: tuple[Any, ...]) -> str | None:
    """Of a kernel for these types of arguments; None if it has no lasting name."""
    try:
        known = name_of(dispatcher), tuple(described(t) for t in arguments), target
    except _NoName:
        return None
    return hashlib.sha256(repr(known).encode()).hexdigest()[:24]


def name_of(dispatcher: Any) -> Any:
    """Of a kernel that is defined in a module of the package, or made from such by `switch`."""
    function = dispatcher.py_func
    made_from = getattr(function, "made_from", None)
    if made_from is not None:
        source, functions = made_from
        return source, tuple((name, name_of(f)) for name, f in functions)
    module, name = function.__module__, function.__qualname__
    if not module.startswith("leastaction.") or getattr(sys.modules.get(module), name, None) is not dispatcher:
        raise _NoName
    return module, name


def described(kind: Any) -> Any:
    """A type of Numba in words that mean the same in every process."""
    if isinstance(kind, types.BaseNamedTuple):
        record = kind.instance_class
        if getattr(sys.modules.get(record.__module__), record.__qualname__, None) is not record:
            raise _NoName
        return record.__module__, record.__qualname__, *map(described, kind)
    if isinstance(kind, types.BaseTuple):
        return "tuple", *map(described, kind)
    if isinstance(kind, types.Dispatcher):
        return "function", name_of(kind.dispatcher)
    if isinstance(kind, types.Literal):
        return type(kind).__name__, repr(kind.literal_value)
    if isinstance(kind, (types.Array, types.Number, types.Boolean, types.NoneType)):
        return str(kind)
    raise _NoName
