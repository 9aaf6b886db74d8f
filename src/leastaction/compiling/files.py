"""Files of the cache: written in one go, read only if they are what was written.

A cache must never be the reason why a simulation fails.  A file that is cut off or damaged is removed and made again; a disk that is full
or read-only means that nothing is kept.  Both are said once per process, on stderr, for the next start will take longer.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

_DIGEST = hashlib.sha256().digest_size
_said: set[str] = set()
writing: AbstractContextManager[Any] = nullcontext()  #: entered while a file is half written; a lock where another thread ends the process


_AGAIN = "it is made again"


def read(path: str | Path, instead: str = _AGAIN) -> bytes | None:
    """What `write` wrote there; None if there is nothing, or not that.  instead: what happens then, in words."""
    try:
        whole = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        say_once("read", f"{path} cannot be read ({error.strerror}); {instead}")
        return None
    if checksum(path, content := whole[_DIGEST:]) != whole[:_DIGEST]:
        discard(path, instead)
        return None
    return content


def discard(path: str | Path, instead: str = _AGAIN) -> None:
    """Remove a damaged file."""
    with suppress(OSError):
        os.unlink(path)
    say_once("damaged", f"{path} is damaged and is removed; {instead}")


def write(path: str | Path, content: bytes) -> bool:
    """Write the content and its checksum, for other processes all of it or nothing; False if that is impossible."""
    return write_plainly(path, checksum(path, content) + content)


def checksum(path: str | Path, content: bytes) -> bytes:
    """Of the content under this name: a file that was exchanged for another one is damaged too."""
    return hashlib.sha256(Path(path).name.encode() + b"\0" + content).digest()


def write_plainly(path: str | Path, content: bytes) -> bool:
    """The same without a checksum."""
    part = ""
    try:
        with writing:
            handle, part = tempfile.mkstemp(dir=Path(path).parent, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(part, path)
    except OSError as error:
        with suppress(OSError):
            if part:
                os.unlink(part)
        say_once("write", f"{Path(path).parent} cannot be written to ({error.strerror}); machine code is not kept")
        return False
    return True


def say_once(kind: str, sentence: str) -> None:
    """Tell the user about the cache, once for each kind of trouble."""
    if kind not in _said:
        _said.add(kind)
        print(f"leastaction: in the cache of machine code, {sentence}", file=sys.stderr, flush=True)
