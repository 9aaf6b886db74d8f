"""Generated modules: written to disk once, named by what they are made from, with Numba's machine code beside them."""

from __future__ import annotations

import hashlib
import linecache
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from . import cache, files

_CHECKSUM = "# checksum "  # of all lines above, the last line of a file


def generated_module(title: str, made_from: str, make: Callable[[], str]) -> ModuleType:
    """The module made from this text; `make()` gives its source if it is not on disk yet.

    Its name contains the hash of the text and of all compiled rooms: a change in either gives another module.
    """
    digest = hashlib.sha256((made_from + cache.source_hash()).encode()).hexdigest()[:20]
    name = f"leastaction_{title}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    text, file = _stored(name, make)
    module = ModuleType(name)
    module.__file__ = file
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # for tracebacks, and to read the source again
    sys.modules[name] = module  # before it runs: Numba looks up the module of what it caches
    try:
        exec(compile(text, file, "exec"), module.__dict__)  # not from bytecode on disk, which nothing protects from damage
    except BaseException:
        del sys.modules[name]
        raise
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
        text += _CHECKSUM + hashlib.sha256(text.encode()).hexdigest() + "\n"
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
    if found and checksum == hashlib.sha256(body.encode()).hexdigest() + "\n":
        return text
    with suppress(OSError):
        files.discard(path)
    return None
