"""Generated modules on disk: written once, named by their content, with Numba's machine code beside them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType

_PACKAGE = Path(__file__).resolve().parent.parent


@lru_cache(maxsize=1)
def directory() -> Path:
    """The first of these that can be written to: NUMBA_CACHE_DIR, the package's __pycache__, the user's cache, a temporary one.

    LEASTACTION_CACHE=0 leads to the last.
    """
    places = []
    if os.environ.get("LEASTACTION_CACHE", "1") != "0":
        if os.environ.get("NUMBA_CACHE_DIR"):
            places.append(Path(os.environ["NUMBA_CACHE_DIR"]) / "leastaction")
        places.append(_PACKAGE / "__pycache__" / "generated")
        places.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leastaction")
    for place in places:
        try:
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                return place
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix="leastaction-"))


@lru_cache(maxsize=1)
def maker_hash() -> str:
    """Hash of the sources that make generated code, and of those it calls."""
    digest = hashlib.sha256()
    for room in ("lie", "symbolic"):
        for path in sorted((_PACKAGE / room).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def key(*parts: str) -> str:
    """Name of a generated module: hash of what it is made from."""
    digest = hashlib.sha256(maker_hash().encode())
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:20]


def load(name: str, make: Callable[[], str]) -> ModuleType:
    """The generated module `name`; `make()` gives its source if it is not on disk yet."""
    full = f"leastaction_generated_{name}"
    if full in sys.modules:
        return sys.modules[full]
    path = directory() / f"{full}.py"
    if not path.exists():
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "w") as file:
            file.write(make())
        os.replace(temporary, path)  # whole or not at all, whoever else is writing it
    spec = importlib.util.spec_from_file_location(full, path)
    assert spec is not None and spec.loader is not None  # it is a .py file
    module = importlib.util.module_from_spec(spec)
    sys.modules[full] = module  # before it runs: Numba looks up the module of what it caches
    spec.loader.exec_module(module)
    return module
