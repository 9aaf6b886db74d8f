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
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from numba import types

from . import files

SUFFIX = ".parts"
_PIECE = 0.1  # s between two pieces
_SOME = 8  # parts that are on no disk, of an entry point of which others are


class Helper(Protocol):
    """Somebody else who compiles parts of the same entry point."""

    label: str  #: the names of what it writes begin with it

    def close(self) -> None:
        """It is not needed any more."""


class Store:
    """What was found on disk and what is new, while something is compiled.

    What is new is written when all is compiled; at once, in pieces, where somebody else compiles parts of the same entry point
    (ahead.py), for both look again when they miss something.
    """

    def __init__(self) -> None:
        self.folder: Callable[[], Path | None] = lambda: None  #: where parts are kept; None: nowhere
        self.help: Callable[[Any, tuple[Any, ...]], Helper | None] = lambda entry, arguments: None  #: starts somebody who compiles too
        self.taken = 0  #: parts that were found and used, since somebody counted them
        self._depth = 0
        self._forget()

    def _forget(self) -> None:
        self._found: dict[str, bytes] = {}
        self._seen: set[str] = set()  # names of files
        self._looked: tuple[Any, int] = None, 0  # folder, and when it had changed last
        self._new: dict[str, bytes] = {}  # not yet written
        self._entry: tuple[Any, tuple[Any, ...]] | None = None  # what is being compiled, as long as nobody helps
        self._missed = 0  # parts that were on no disk
        self._place: Path | None = None
        self._helper: Helper | None = None
        self._label = ""  # of what is written in pieces; empty: nothing is
        self._written = 0.0

    def __enter__(self) -> Store:
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            try:
                self._finish()
            finally:
                self._forget()  # megabytes

    @property
    def is_open(self) -> bool:
        """Is something of ours being compiled?  What others compile with our kernels has names of Numba's, and is not shared."""
        return self._depth > 0

    def begin(self, entry: Any, arguments: tuple[Any, ...]) -> None:
        """An entry point is on no disk and is going to be compiled for these types of arguments."""
        if self._depth and self._entry is None and not self._label:
            self._entry, self._missed, self.taken = (entry, arguments), 0, 0

    def _miss(self) -> None:
        """One more part that is on no disk: if there are some, help is of use."""
        self._missed += 1
        if self._entry and self._helper is None and self._missed >= (_SOME if self._found else 1):
            (entry, arguments), self._entry = self._entry, None
            self._helper = self.help(entry, arguments)
            if self._helper is not None:
                self.write_in_pieces(self._helper.label)

    def write_in_pieces(self, label: str) -> None:
        """From now on what is new is for others as soon as it is there, in files whose names begin with the label."""
        self._label = label

    def find(self, key: str) -> bytes | None:
        found = self._found.get(key)
        if found is None and (self._label or self._looked[0] is None) and self._look():  # one look, unless others write meanwhile
            found = self._found.get(key)
        if found is None:
            self._miss()
        return found

    def add(self, key: str, part: bytes) -> None:
        self._found[key] = self._new[key] = part
        if self._label and time.monotonic() - self._written > _PIECE:
            self.write()

    def write(self) -> None:
        """What is new, to a file of its own."""
        self._written = time.monotonic()
        folder = self._folder() if self._new else None
        if folder:
            self._written_to(folder, f"{self._label}{os.urandom(8).hex()}{SUFFIX}", self._new)
            self._new = {}

    def _look(self) -> bool:
        """Read the files that were not there before; were there any?"""
        folder = self._folder()
        try:
            now = folder, folder.stat().st_mtime_ns if folder else 0
        except OSError:
            return False
        if folder is None or now == self._looked:
            return False
        self._looked = now
        new = sorted(path for path in folder.glob(f"*{SUFFIX}") if path.name not in self._seen)
        for path in new:
            self._seen.add(path.name)
            self._found |= self._read(path)
            with suppress(OSError):
                os.utime(path)  # what is used is not evicted
        return bool(new)

    def _read(self, path: Path) -> dict[str, bytes]:
        content = files.read(path)
        try:
            return pickle.loads(content) if content is not None else {}
        except Exception:  # written by something else
            files.discard(path)
            return {}

    def _finish(self) -> None:
        """Write what is new; pieces of it become one file."""
        if self._helper is None:
            return self.write()
        self._helper.close()
        folder = self._folder()
        pieces = list(folder.glob(f"{self._label}*{SUFFIX}")) if folder else []
        for path in pieces:
            self._new |= self._read(path)
        if folder and self._new and self._written_to(folder, f"{os.urandom(8).hex()}{SUFFIX}", self._new):
            for path in pieces:
                with suppress(OSError):  # somebody may be reading it
                    path.unlink(missing_ok=True)
        return None

    def _written_to(self, folder: Path, name: str, what: dict[str, bytes]) -> bool:
        self._seen.add(name)
        return files.write(folder / name, pickle.dumps(what))

    def _folder(self) -> Path | None:
        if self._place is None:
            self._place = self._made()
        return self._place

    def _made(self) -> Path | None:
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
