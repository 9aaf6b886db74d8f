"""Where the meshes of a robot file are, and where they may be: nothing outside of these folders is ever named by a model.

A file may name meshes in its *package*: the nearest folder above it with a package.xml (of SDF: model.config); without one, the folder
above its own, because robot/urdf/arm.urdf names ../meshes/arm.stl.  Links to places outside do not count as inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from ..errors import FormatError
from .xml_tree import shortened

SUFFIXES = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off", ".3mf", ".mesh", ".wrl", ".3ds", ".msh", ".iv")
_MARKERS = ("package.xml", "model.config")
_MOST_LEVELS = 12  # of folders that are searched upwards
_LONGEST = 4096  # characters of a path


def _is_package(folder: Path) -> bool:
    return any((folder / marker).is_file() for marker in _MARKERS)


class OutsideError(Exception):
    """A file name that leads, or may lead, out of the folders of the robot."""


class MeshPaths:
    """Resolves the file names of one robot file.

    packages   further folders that hold packages, or are one
    """

    def __init__(self, file: Path, packages: Iterable[str | PathLike[str]] | str | PathLike[str] = ()):
        self.folder = file.resolve().parent
        above = [self.folder, *self.folder.parents][:_MOST_LEVELS]
        self._above = above
        self.jail = next((folder for folder in above if _is_package(folder)), self._without_package())
        given = (packages,) if isinstance(packages, (str, PathLike)) else tuple(packages)
        self.packages = [Path(folder).resolve() for folder in given]
        for folder, name in zip(self.packages, given, strict=True):
            if not folder.is_dir():
                raise FormatError(f"packages: there is no folder {str(name)!r}; give the folders that hold the packages of the robot")

    def _without_package(self) -> Path:
        parent = self.folder.parent
        wide = parent == parent.parent or parent == Path.home() or parent in Path.home().parents
        return self.folder if wide else parent

    def find(self, name: str, suffixes: tuple[str, ...] = SUFFIXES, what: str = "a mesh") -> Path | None:
        """The mesh, or where it would be; None if its package is nowhere to be found.  Raises an OutsideError.

        suffixes, what   of another kind of file
        """
        if len(name) > _LONGEST or any(ord(c) < 32 for c in name):
            raise OutsideError(f"{shortened(name)!r} is not the name of a file")
        scheme, separator, rest = name.partition("://")
        if not separator:
            scheme, rest = "", name
        if scheme not in ("", "file", "package", "model"):
            raise OutsideError(f"{shortened(name)!r} would have to be fetched; only local files are read, download it")
        if "\\" in rest:
            raise OutsideError(f"{shortened(name)!r} contains a backslash; separate folders by /")
        if PurePosixPath(rest).suffix.lower() not in suffixes:
            raise OutsideError(f"{shortened(name)!r} is not {what}; the suffix of one is {', '.join(suffixes)}")
        if scheme in ("package", "model"):
            package, _, inside = rest.lstrip("/").partition("/")
            folder = self._package(package)
            return None if folder is None else self._jailed(folder / inside, name, folder)
        path = Path(unquote(rest)) if scheme == "file" else Path(rest)
        return self._jailed(path if path.is_absolute() else self.folder / path, name, self.jail, *self.packages)

    def _package(self, name: str) -> Path | None:
        """A folder above the file with this name, beside one, or below one of those given.  It must be a package, or be given."""
        if name in ("", ".", ".."):
            return None
        for folder in self.packages:
            if folder.name == name or (folder / name).is_dir():
                return folder if folder.name == name else folder / name
        for folder in self._above:
            for candidate in (folder, folder / name):
                if candidate.name == name and _is_package(candidate):
                    return candidate
        return self.jail if self.jail.name == name else None

    @staticmethod
    def _jailed(path: Path, name: str, *jails: Path) -> Path:
        try:
            resolved = path.resolve()
        except (OSError, RuntimeError) as error:  # links that go round in circles, names that are too long
            raise OutsideError(f"{shortened(name)!r} cannot be looked for: {error}") from None
        if not any(resolved.is_relative_to(jail.resolve()) for jail in jails):
            raise OutsideError(
                f"{shortened(name)!r} lies outside of {', '.join(repr(str(jail)) for jail in jails)}; "
                "if it is to be trusted, give its folder as packages=[...]"
            )
        return resolved
