"""Generated modules: written to disk once, named by what they are made from, with Numba's machine code beside them."""

from __future__ import annotations

import hashlib
import linecache
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from . import cache, files

_CHECKSUM = "# checksum "  # of all lines above, the last line of a file


_PREFIX, _SELF = "leastaction_", "__generated__"
_lock = threading.RLock()
_alive: weakref.WeakValueDictionary[str, ModuleType] = weakref.WeakValueDictionary()


def is_generated(name: str) -> bool:
    """Is this the name of a generated module?"""
    return name.startswith(_PREFIX)


@contextmanager
def importable(function: Callable[..., Any]) -> Iterator[None]:
    """Numba finds the module of a generated function by its name inside."""
    module = function.__globals__.get(_SELF)
    if module is None:
        yield
        return
    with _lock:
        sys.modules[module.__name__] = module
        try:
            yield
        finally:
            del sys.modules[module.__name__]


def generated_module(title: str, made_from: str, make: Callable[[], str]) -> ModuleType:
    """The module made from this text; `make()` gives its source if it is not on disk yet.

    Its name contains the hash of the text and of all compiled rooms: a change in either gives another module.  It lives as long as
    something holds it; until then the same text gives the same module.
    """
    digest = hashlib.sha256((made_from + cache.source_hash()).encode()).hexdigest()[:20]
    name = f"{_PREFIX}{title}_{digest}"
    known = _alive.get(name)
    if known is not None:
        return known
    text, file = _stored(name, make)
    module = ModuleType(name)
    module.__file__ = file
    module.__dict__[_SELF] = module  # its functions keep it
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # for tracebacks, and to read the source again
    weakref.finalize(module, linecache.cache.pop, file, None)
    code = compile(text, file, "exec")  # not from bytecode on disk, which nothing protects from damage
    with importable(FunctionType(code, module.__dict__)):
        exec(code, module.__dict__)
    _alive[name] = module
    return module


def _stored(name: str, make: Callable[[], str]) -> tuple[str, str]:
    """Source of the module and its file; if it cannot be kept on disk, a name in place of the file."""
    try:
        path = cache.directory("generated") / f"{name}.py"
    except OSError as error:
        files.say_once("write", f"no folder can be made ({error.strerror}); machine code is not kept")
        return make(), f"<{name}>"
    text = _read(path)
    if text is None:
        text = make()
        text += _CHECKSUM + files.checksum(path, text.encode()).hex() + "\n"
        if not files.write_plainly(path, text.encode()):
            return text, f"<{name}>"
    return text, str(path)


def _read(path: Path) -> str | None:
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        text = ""
    body, found, checksum = text.rpartition(_CHECKSUM)
    if found and checksum == files.checksum(path, body.encode()).hex() + "\n":
        return text
    with suppress(OSError):
        files.discard(path)
    return None
