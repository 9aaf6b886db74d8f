"""Intermediate code of entry points that comes with a wheel: a new machine makes machine code of it instead of compiling from source.

    leastaction/bitcode/standard-cpython-311-x86_64-unknown-linux-gnu-5c1e.../variational.run-25.py311-9f0b....xz

Compiling from source spends most of its time in Python (types, lowering) and in LLVM's optimiser, whose work is nearly the same for all
processors; what differs, instructions and registers, takes LLVM some seconds.  So `leastaction cache --bitcode` keeps an entry point and
all kernels it calls as LLVM has them when it has optimised them, with what Numba knows of the function.  On a processor of the kind that
made it, it becomes the machine code that compiling from source gives, to the last bit; on others the numbers agree to rounding.

A file is of use for one version of the sources, Numba, Python and kind of machine only, which its folder is named after: where one of
them differs, nothing is found and the entry is compiled from source, as it is where a file is damaged.  LEASTACTION_BITCODE names a
folder to look in before that of the package; LEASTACTION_BITCODE=0 looks nowhere.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import pickle
from pathlib import Path
from typing import Any

from . import files

PACKAGE = Path(__file__).resolve().parent.parent
SUFFIX = ".xz"

_collected: list[Path] = []  # where new code is put; empty: nowhere


def collect_in(folder: str | Path) -> None:
    """From now on this process keeps the intermediate code of every entry point that it compiles from source there."""
    _collected[:] = [Path(folder)]


def collecting() -> bool:
    return bool(_collected)


def folders() -> list[Path]:
    """Where intermediate code may be."""
    given = os.environ.get("LEASTACTION_BITCODE", "")
    return [] if given == "0" else [*([Path(given)] if given else []), PACKAGE / "bitcode"]


class Shelf:
    """The intermediate code of one version; `name` and `key` say which function and for which arguments."""

    def __init__(self, version: str):
        self.version = version

    def take(self, name: str, key: Any) -> tuple[Path, Any] | None:
        """(file, what was put there); None if there is nothing, or nothing that can be read."""
        for folder in folders():
            path = self._path(folder, name, key)
            content = files.read(path, "the code is compiled from source")
            if content is None:
                continue
            try:
                found = pickle.loads(lzma.decompress(content))
            except Exception:  # written by something else
                self.refuse(path)
                continue
            if found[0] == key:
                return path, found[1]
        return None

    def put(self, name: str, key: Any, what: bytes) -> None:
        """what: pickled pair of the key and what belongs to it."""
        for folder in _collected:
            path = self._path(folder, name, key)
            path.parent.mkdir(parents=True, exist_ok=True)
            if files.write(path, lzma.compress(what)):
                path.chmod(0o644)  # for everybody

    def refuse(self, path: Path) -> None:
        """Of no use: not to be tried again."""
        files.discard(path, "the code is compiled from source")

    def _path(self, folder: Path, name: str, key: Any) -> Path:
        return folder / self.version / f"{name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}{SUFFIX}"
