"""Generated source code: where it is kept, and how it becomes a module."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from numba import config
from numba.misc.appdirs import AppDirs

from .lie.jit import source_hash


def cache_directory() -> Path:
    """Where generated modules are kept: NUMBA_CACHE_DIR if that is set, else beside Numba's own cache of the user."""
    chosen = config.CACHE_DIR  # type: ignore[attr-defined]
    root = chosen or AppDirs(appname="leastaction", appauthor=False).user_cache_dir
    return Path(root) / "generated"


def generated_module(source: str, title: str) -> ModuleType:
    """The module with this source; kept on disk, so that the machine code of its entry points can be kept too.

    Its name contains the hash of the source and of all compiled rooms: a change in either gives another module.
    """
    digest = hashlib.sha256((source + source_hash()).encode()).hexdigest()[:20]
    name = f"leastaction_{title}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    path = _written(f"{name}.py", source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Numba looks it up by name when it loads machine code
    spec.loader.exec_module(module)
    return module


def _written(name: str, source: str) -> Path:
    try:
        return _written_to(cache_directory(), name, source)
    except OSError:  # read-only: for this process only
        return _written_to(Path(tempfile.mkdtemp(prefix="leastaction-")), name, source)


def _written_to(directory: Path, name: str, source: str) -> Path:
    path = directory / name
    if not path.exists() or path.read_text() != source:
        directory.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(source)
        part.replace(path)  # in one go: other processes see all of it or nothing
    return path
