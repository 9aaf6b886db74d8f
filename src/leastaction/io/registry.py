"""Which suffix belongs to which format."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, signature
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from ..checks import shown
from ..errors import FormatError
from ..mechanism import Mechanism


class Format(Protocol):
    """What a format is: a module, or anything else, with these two functions."""

    @property
    def read(self) -> Callable[..., Mechanism]:
        """read(path): the mechanism in the file; a FormatError says file, line and what is wrong there.

        Keyword arguments of it are options of `load`.
        """
        ...

    def write(self, mechanism: Mechanism) -> str:
        """The text of a file; what the format cannot say is a FormatError that names it."""
        ...


#: suffix -> module of this room, or a format that was registered
FORMATS: dict[str, str | Format] = {".sexp": "sexp", ".urdf": "urdf", ".xml": "mjcf", ".sdf": "sdf"}

#: suffixes of files that other programs turn into one of these -> what to do
_SOURCES = {".xacro": "xacro {name} > {stem}.urdf"}


def register(suffix: str, form: Format) -> None:
    """Let `load` and `save` know a format that lives outside the package: `form` has read(path) and write(mechanism)."""
    if not isinstance(suffix, str) or not suffix.startswith(".") or suffix != suffix.lower() or len(suffix) < 2:
        raise FormatError(f"suffix = {shown(suffix)}; give a dot and lower-case letters, for example '.yaml'")
    if suffix in FORMATS:
        raise FormatError(f"the suffix {suffix!r} belongs to a format already, {FORMATS[suffix]!r}; give another one")
    _check(form, suffix)
    FORMATS[suffix] = form


def load(path: str | PathLike[str], **options: Any) -> Mechanism:
    """Read a mechanism from a file; the suffix says the format.

    options   of a .urdf file: floating=True, ignore=["friction", ...], packages=["folder"], see docs/urdf.md; of an .xml file (MJCF):
              ignore=["actuator", ...], packages=["folder"], see docs/mjcf.md; of a .sdf file those of URDF and model="name", see
              docs/sdf.md; of a .sexp file motions={"coordinate": "0.1 * sin(t)"}, see docs/sexp.md

    >>> import leastaction as la
    >>> mech = la.load("robot.urdf", floating=True, ignore=["contact"])  # doctest: +SKIP
    >>> model = mech.compile()  # doctest: +SKIP
    """
    where = _path(path)
    form = _format(where, "read")
    known = _options(form) if options else []
    for name in options:
        if name not in known:
            takes = f"takes {', '.join(f'{k}=' for k in known)}" if known else "takes no options"
            raise FormatError(f"load got {name}= for {where.name!r}; the format {where.suffix.lower()} {takes}")
    if not where.is_file():
        raise FormatError(f"there is no file {str(where)!r}; give the path of a mechanism, one of *{', *'.join(FORMATS)}")
    try:
        return form.read(where, **options)
    except OSError as error:
        raise FormatError(f"the file cannot be read: {error.strerror}", path=str(where)) from error


def options_of(path: str | PathLike[str]) -> list[str]:
    """Names of the options `load` takes for a file of this suffix."""
    return _options(_format(_path(path), "read"))


def not_simulated_of(path: str | PathLike[str]) -> tuple[str, ...]:
    """What files of this suffix may contain that is refused unless it is named in `ignore`."""
    return tuple(getattr(_format(_path(path), "read"), "NOT_SIMULATED", ()))


def save(mechanism: Mechanism, path: str | PathLike[str]) -> None:
    """Write a mechanism to a file; the suffix says the format.  What the format cannot say is an error that names it.

    >>> import leastaction as la
    >>> la.save(la.examples.robot_arm(), "arm.urdf")  # doctest: +SKIP
    """
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
    if suffix in _SOURCES:
        command = _SOURCES[suffix].format(name=path.name, stem=path.name.split(".")[0])
        raise FormatError(f"cannot {what} {path.name!r} itself; let its own program make a robot file of it: {command}")
    if suffix not in FORMATS:
        raise FormatError(f"cannot {what} {path.name!r}: no format has the suffix {suffix!r}; those there are: {', '.join(FORMATS)}")
    found = FORMATS[suffix]
    if isinstance(found, str):
        return _check(import_module(f"{__package__}.{found}"), suffix)
    return found


def _options(form: Format) -> list[str]:
    return [p.name for p in signature(form.read).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]


def _check(form: Format, suffix: str) -> Format:
    missing = [name for name in ("read", "write") if not callable(getattr(form, name, None))]
    if missing:
        given = getattr(form, "__name__", repr(form))
        raise FormatError(
            f"the format of {suffix!r}, {given}, has no function {' and no '.join(missing)}; it needs read(path) and write(mechanism)"
        )
    return form
