"""Which suffix belongs to which format."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from ..checks import shown
from ..errors import FormatError
from ..mechanism import Mechanism


class Format(Protocol):
    """What a format is: a module, or anything else, with these two functions."""

    def read(self, path: Path) -> Mechanism:
        """The mechanism in the file; a FormatError says file, line and what is wrong there."""
        ...

    def write(self, mechanism: Mechanism) -> str:
        """The text of a file; what the format cannot say is a FormatError that names it."""
        ...


#: suffix -> module of this room, or a format that was registered
FORMATS: dict[str, str | Format] = {".sexp": "sexp"}


def register(suffix: str, form: Format) -> None:
    """Let `load` and `save` know a format that lives outside the package: `form` has read(path) and write(mechanism)."""
    if not isinstance(suffix, str) or not suffix.startswith(".") or suffix != suffix.lower() or len(suffix) < 2:
        raise FormatError(f"suffix = {shown(suffix)}; give a dot and lower-case letters, for example '.yaml'")
    if suffix in FORMATS:
        raise FormatError(f"the suffix {suffix!r} belongs to a format already, {FORMATS[suffix]!r}; give another one")
    _check(form, suffix)
    FORMATS[suffix] = form


def load(path: str | PathLike[str]) -> Mechanism:
    """Read a mechanism from a file; the suffix says the format."""
    where = _path(path)
    form = _format(where, "read")
    if not where.is_file():
        raise FormatError(f"there is no file {str(where)!r}; give the path of a mechanism, one of *{', *'.join(FORMATS)}")
    try:
        return form.read(where)
    except OSError as error:
        raise FormatError(f"the file cannot be read: {error.strerror}", path=str(where)) from error


def save(mechanism: Mechanism, path: str | PathLike[str]) -> None:
    """Write a mechanism to a file; the suffix says the format.  What the format cannot say is an error that names it."""
    if not isinstance(mechanism, Mechanism):
        raise FormatError(f"save got a {type(mechanism).__name__}; give a Mechanism, for example FrameTree(...).mechanism")
    where = _path(path)
    text = _format(where, "write").write(mechanism)  # complete before the file is touched
    try:
        where.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{str(where)!r} cannot be written: {error.strerror}; give another path") from error


def _path(given: Any) -> Path:
    if not isinstance(given, (str, PathLike)) or "\0" in str(given):
        raise FormatError(f"path = {shown(given)}; give the path of a file, for example 'arm.sexp'")
    return Path(given)


def _format(path: Path, what: str) -> Format:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise FormatError(f"cannot {what} {path.name!r}: no format has the suffix {suffix!r}; those there are: {', '.join(FORMATS)}")
    found = FORMATS[suffix]
    if isinstance(found, str):
        return _check(import_module(f"{__package__}.{found}"), suffix)
    return found


def _check(form: Format, suffix: str) -> Format:
    missing = [name for name in ("read", "write") if not callable(getattr(form, name, None))]
    if missing:
        given = getattr(form, "__name__", repr(form))
        raise FormatError(
            f"the format of {suffix!r}, {given}, has no function {' and no '.join(missing)}; it needs read(path) and write(mechanism)"
        )
    return form
