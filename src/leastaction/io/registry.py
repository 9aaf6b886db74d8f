"""Which suffix belongs to which format."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType

from ..errors import FormatError
from ..mechanism import Mechanism

#: suffix -> module of this room with `read(path) -> Mechanism` and `write(mechanism) -> str`
FORMATS = {".sexp": "sexp"}


def load(path: str | PathLike[str]) -> Mechanism:
    """Read a mechanism from a file; the suffix says the format."""
    where = Path(path)
    module = _format(where, "read")
    if not where.is_file():
        raise FormatError(f"there is no file {str(where)!r}; give the path of a mechanism, one of *{', *'.join(FORMATS)}")
    return module.read(where)


def save(mechanism: Mechanism, path: str | PathLike[str]) -> None:
    """Write a mechanism to a file; the suffix says the format.  What the format cannot say is an error that names it."""
    if not isinstance(mechanism, Mechanism):
        raise FormatError(f"save got a {type(mechanism).__name__}; give a Mechanism, for example FrameTree(...).mechanism")
    where = Path(path)
    text = _format(where, "write").write(mechanism)  # complete before the file is touched
    where.write_text(text, encoding="utf-8")


def _format(path: Path, what: str) -> ModuleType:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise FormatError(f"cannot {what} {path.name!r}: the suffix {suffix!r} is no format known here; known are {', '.join(FORMATS)}")
    return import_module(f"{__package__}.{FORMATS[suffix]}")
