"""One cache for all machine code: where it is, what it is named after, and when it is of no use any more.

    folder/standard-3f2a.../entries      entry points of the package and of its extensions
    folder/standard-3f2a.../parts        kernels that entry points share (parts.py)
    folder/standard-3f2a.../generated    modules generated for joints, constraints, potentials and mechanisms, and their machine code

The folder is the first of these that can be written to: LEASTACTION_CACHE_DIR, NUMBA_CACHE_DIR/leastaction, the package's __pycache__, the
user's cache, a temporary one.  LEASTACTION_CACHE=0 switches the cache off; LEASTACTION_CACHE_SIZE says how many megabytes are kept, those
used last.  The name below it contains the way of compiling and the hash of
all sources that compiled code is made of: an edit in any of them, or another Numba, leads to another place, so stale code is never found.
Numba itself would look only at the file of an entry point, but kernels are inlined from many files.

Functions of users (`CustomForce`) are compiled in every process: what they depend on cannot be known.
"""

from __future__ import annotations

import atexit
import hashlib
import inspect
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite.binding import get_process_triple
from numba import config

from . import bitcode, files
from .numba_private import AVAILABLE, checked_cache

PACKAGE = Path(__file__).resolve().parent.parent
ROOMS = ("compiling", "lie", "symbolic", "joints", "forces", "constraints", "kernels", "yardsticks")
KINDS = ("entries", "parts", "generated")

_MEGABYTES = 2000  # most that is kept, unless LEASTACTION_CACHE_SIZE says otherwise
_KEPT = 4  # versions of the sources whose machine code is kept, those used last
_lock = threading.RLock()


def read_sources(package: Path) -> dict[Path, bytes]:
    """All files in the rooms with compiled code, in one order."""
    return {path: path.read_bytes() for room in ROOMS for path in sorted((package / room).rglob("*.py"))}


def hash_of_sources(package: Path, sources: dict[Path, bytes] | None = None) -> str:
    """Of all files in the rooms with compiled code; with their names."""
    digest = hashlib.sha256()
    for path, content in (read_sources(package) if sources is None else sources).items():
        digest.update(str(path.relative_to(package)).encode())
        digest.update(content)
    return digest.hexdigest()


# as imported: what is edited while a process runs does not belong to the code this process compiles
_AS_IMPORTED = read_sources(PACKAGE)
_SOURCES = hash_of_sources(PACKAGE, _AS_IMPORTED)
_outside: dict[str, str] = {}


def source_as_imported(filename: str) -> str | None:
    """The text that Python made the functions of a file from; None of files that contain no compiled code of the package."""
    content = _AS_IMPORTED.get(Path(filename).resolve())
    return None if content is None else content.decode("utf-8")


def depend_on(function: Callable[..., Any]) -> None:
    """Machine code from now on contains this function, which an extension defines outside the package."""
    function = getattr(function, "py_func", function)
    path = Path(inspect.getfile(function)).resolve()
    if any(path.is_relative_to(PACKAGE / room) for room in ROOMS) or str(path) in _outside:
        return
    text = path.read_bytes() if path.exists() else inspect.getsource(function).encode()
    _outside[str(path)] = hashlib.sha256(text).hexdigest()


def source_hash() -> str:
    """Hash of all sources that compiled code is made of."""
    return hashlib.sha256(repr((_SOURCES, sorted(_outside.items()))).encode()).hexdigest() if _outside else _SOURCES


def version() -> str:
    """Name of the place of all machine code that this process can use: way of compiling, hash."""
    return _named(_way(), config.ENABLE_AVX)


def bitcode_version() -> str:
    """Name of the place of all intermediate code that this process can use, which is the same for all processors of a kind."""
    tag, triple = sys.implementation.cache_tag, get_process_triple()
    return _named(f"{_way()}-{tag}-{triple}", llvmlite.__version__)


def _way() -> str:
    return ("standard" if AVAILABLE else "public") + ("-bounds" if config.BOUNDSCHECK else "")


def _named(words: str, *more: object) -> str:
    parts = (source_hash(), numba.__version__, sys.implementation.cache_tag, config.OPT, config.DEBUGINFO_DEFAULT, *more)
    return f"{words}-{hashlib.sha256(repr([str(p) for p in parts]).encode()).hexdigest()[:16]}"


def enabled() -> bool:
    return os.environ.get("LEASTACTION_CACHE", "1") != "0"


@lru_cache(maxsize=1)
def folder() -> Path:
    """Where the cache is: the first of the places above that can be written to."""
    if enabled():
        for place in places():
            try:
                place.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=place):
                    return place
            except OSError:
                continue
    made = Path(tempfile.mkdtemp(prefix="leastaction-"))
    atexit.register(_remove, made, os.getpid())
    return made


def _remove(made: Path, maker: int) -> None:
    """A folder for this process alone; children that were forked leave it to the one that made it."""
    if os.getpid() == maker:
        shutil.rmtree(made, ignore_errors=True)


def places() -> list[Path]:
    found = []
    if given := os.environ.get("LEASTACTION_CACHE_DIR"):
        found.append(Path(given))
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        found.append(Path(given) / "leastaction")
    found.append(PACKAGE / "__pycache__" / "machine-code")
    with suppress(RuntimeError):  # a user without a home
        found.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leastaction")
    return found


def directory(kind: str) -> Path:
    """Where code of this kind is kept by this process."""
    return _directory(folder(), version(), kind)


@cache
def _directory(root: Path, name: str, kind: str) -> Path:
    place = root / name / kind
    place.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        os.utime(root / name)
        forget_old(root, name.rsplit("-", 1)[0])
        evict(root, most_bytes())
    return place


def forget_old(root: Path, way: str) -> None:
    """Remove the machine code of all but the versions of the sources that were used last."""
    versions = sorted((p for p in root.glob(f"{way}-*") if p.name.rsplit("-", 1)[0] == way), key=lambda p: p.stat().st_mtime)
    for old in versions[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def most_bytes() -> float:
    """How large the cache may become."""
    try:
        return 1e6 * float(os.environ.get("LEASTACTION_CACHE_SIZE", _MEGABYTES))
    except ValueError:
        return 1e6 * _MEGABYTES


def evict(root: Path, most: float) -> None:
    """Remove what was not used for longest until three quarters of `most` bytes are left, if there are more.

    A generated module and its machine code go together; parts of files that a process left when it was killed go after a day.
    """
    groups: dict[str, list[tuple[Path, os.stat_result]]] = {}
    for path in root.rglob("*"):
        with suppress(OSError):
            if path.is_file():
                groups.setdefault(str(path.parent / path.name.split(".")[0]), []).append((path, path.stat()))
    now = time.time()
    for path, about in [entry for entries in groups.values() for entry in entries]:
        if path.suffix == ".part" and now - about.st_mtime > 86400.0:
            path.unlink(missing_ok=True)
    total = sum(about.st_size for entries in groups.values() for _, about in entries)
    if total <= most:
        return
    for entries in sorted(groups.values(), key=lambda entries: max(about.st_mtime for _, about in entries)):
        for path, about in entries:
            path.unlink(missing_ok=True)
            total -= about.st_size
        if total <= 0.75 * most:
            return


@contextmanager
def storing(kind: str) -> Iterator[bool]:
    """What Numba decorates with cache=True inside is kept in our folder; gives False if the cache is switched off."""
    if not enabled() or config.DISABLE_JIT:
        yield False
        return
    try:
        place = directory(kind)
    except OSError as error:
        files.say_once("write", f"no folder can be made ({error.strerror}); machine code is not kept")
        yield False
        return
    with _lock, checked_cache(bitcode.Shelf(bitcode_version()) if kind == "entries" else None):
        settings = {"CACHE_DIR": str(place), "CACHE_LOCATOR_CLASSES": ""}
        before = {name: getattr(config, name) for name in settings if hasattr(config, name)}
        try:
            for name in before:
                setattr(config, name, settings[name])
            yield True
        finally:
            for name, value in before.items():
                setattr(config, name, value)


def contents() -> dict[str, tuple[int, int]]:
    """Kind -> (files, bytes) of everything in the folder; `old`: of other versions of the sources or ways of compiling."""
    found = {kind: (0, 0) for kind in (*KINDS, "old")}
    root = folder()
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        with suppress(OSError):
            if path.is_file():
                kind = parts[1] if parts[0] == version() and parts[1] in KINDS else "old"
                files, size = found[kind]
                found[kind] = files + 1, size + path.stat().st_size
    return found


def clear() -> None:
    """Remove everything from the folder that the cache has put there."""
    for path in folder().iterdir():
        if path.is_dir() and path.name.split("-")[0] in ("standard", "public"):
            shutil.rmtree(path, ignore_errors=True)
    _directory.cache_clear()
