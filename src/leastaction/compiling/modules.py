"""Generated modules: written to disk once, named by what they are made from, with Numba's machine code beside them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from types import ModuleType

from . import cache


def generated_module(title: str, made_from: str, make: Callable[[], str]) -> ModuleType:
    """The module made from this text; `make()` gives its source if it is not on disk yet.

    Its name contains the hash of the text and of all compiled rooms: a change in either gives another module.
    """
    digest = hashlib.sha256((made_from + cache.source_hash()).encode()).hexdigest()[:20]
    name = f"leastaction_{title}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    path = cache.directory("generated") / f"{name}.py"
    if not path.exists():
        handle, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "w") as file:
            file.write(make())
        os.replace(part, path)  # in one go: other processes see all of it or nothing
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # it is a .py file
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: Numba looks up the module of what it caches
    spec.loader.exec_module(module)
    return module
