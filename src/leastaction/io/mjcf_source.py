"""MJCF before MuJoCo sees it: one tree of elements without includes, whose files were found by us, and nothing that is not needed.

MuJoCo's own parser opens whatever a file names.  So it is given a text that names no file but those handed over with it: includes are
read here, meshes are found in the folders of the robot (mesh_paths.py), everything else that could name a file is taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import NoReturn
from xml.sax.saxutils import quoteattr

from ..errors import FormatError
from .leftovers import Leftovers
from .mesh_paths import MeshPaths, OutsideError
from .xml_tree import MOST_ELEMENTS, Element, parse_file, shortened

MOST_INCLUDES = 64
MOST_MESH_BYTES = 256 * 1024 * 1024  # of all meshes together
_DEEPEST = 64  # of files that include each other, bodies that hang on each other

#: sections that do not change the motion -> why they are not kept
_UNUSED = {
    "visual": "", "statistic": "", "size": "", "custom": "", "sensor": "sensors are not used",
    "contact": "<contact> is not used: contacts are not simulated",
}  # fmt: skip
#: what changes the motion and is taken out -> what to name in `ignore`, and why
_REFUSED = {
    "deformable": ("flex", "deformable bodies are not simulated"),
    "flexcomp": ("flex", "deformable bodies are not simulated"),
    "composite": ("flex", "composite objects are not simulated"),
    "extension": ("plugin", "plugins are not run"),
    "plugin": ("plugin", "plugins are not run"),
}
_OTHER_FILES = ("attach", "model")  # of a robot in a robot
_MESH_NAME = {"mesh": "name", "geom": "mesh"}  # attribute of an element that names a mesh
_FOLDERS = ("meshdir", "texturedir", "assetdir", "strippath", "fusestatic")


class Source:
    """What MuJoCo is given: `text`, and the `assets` it names.  Everything in the tree of bodies has a name."""

    def __init__(self, path: Path, leftovers: Leftovers, packages: Iterable[str | PathLike[str]] | str | PathLike[str]):
        self.path, self.leftovers = path, leftovers
        self.paths = MeshPaths(path, packages)
        self.assets: dict[str, bytes] = {}
        self.meshes: dict[str, Path] = {}  #: name of a mesh -> its file
        self.warnings: list[str] = []  #: of MuJoCo
        self._elements: dict[tuple[str, str], Element] = {}  # ("joint", name) -> where it stands
        self._included: set[Path] = {path.resolve()}
        self.root = parse_file(path)
        if self.root.tag != "mujoco":
            hint = "; it is a URDF file, call it robot.urdf" if self.root.tag == "robot" else ""
            self.root.fail(f"the file starts with {self.root}; an MJCF file starts with <mujoco>{hint}")
        self._include(self.root, 0)
        self.numbers = self._numbers()  #: of <custom>, by name
        self._clean()
        self._check_replicas()
        self._name_everything()
        self._find_meshes()
        lines = list(_written(self.root))
        self.text = "\n".join(line for line, _ in lines)
        self._of_line = [element for _, element in lines]

    def element(self, kind: str, name: str) -> Element:
        """Where something stands; the file itself, if MuJoCo made it from something else."""
        return self._elements.get((kind, name), self.root)

    def fail(self, error: Exception) -> NoReturn:
        """MuJoCo's error, with the place in the user's file."""
        message = " ".join(str(error).split())
        found = re.search(r"[Ll]ine (\d+)", message)
        if found and 0 < int(found[1]) <= len(self._of_line):
            message = re.sub(r",?\s*[Ll]ine \d+,?", "", message)
            raise self._of_line[int(found[1]) - 1].error(f"MuJoCo does not take it: {message}")
        raise FormatError(f"MuJoCo does not take it: {message}", path=str(self.path))

    # ------------------------------------------------------------------------------------------------ includes

    def _include(self, root: Element, depth: int) -> None:
        """Put what files contain where they are included."""
        if depth > _DEEPEST:
            root.fail("files include each other without end")
        stack = [root]
        while stack:
            element = stack.pop()
            children: list[Element] = []
            for child in element.children:
                if child.tag != "include":
                    children.append(child)
                    stack.append(child)
                    continue
                inside = parse_file(self._included_file(child))
                if inside.tag not in ("mujoco", "mujocoinclude"):
                    inside.fail(f"an included file starts with <mujoco> or <mujocoinclude>, not with {inside}")
                self._include(inside, depth + 1)
                children += inside.children
            element.children = children

    def _included_file(self, include: Element) -> Path:
        name = include.word("file")
        try:
            found = self.paths.find(name, (".xml", ".mjcf"), "an MJCF file")
        except OutsideError as error:
            include.fail(f"include {error}")
        if found is None or not found.is_file():
            include.fail(f"there is no file {shortened(name)!r} to include; names start from the folder of {self.path.name}")
        if found in self._included:
            include.fail(f"{shortened(name)!r} is included twice; a file is included once")
        if len(self._included) > MOST_INCLUDES:
            include.fail(f"more than {MOST_INCLUDES} files are included")
        self._included.add(found)
        return found

    def _numbers(self) -> dict[str, float]:
        """Where the writer puts limits that MuJoCo has no word for."""
        numeric = [element for custom in self.root.all("custom") for element in custom.all("numeric")]
        names = [element.attributes.get("name", "") for element in numeric]
        return {name: element.number("data") for name, element in zip(names, numeric, strict=True) if " limit of " in name}

    # ------------------------------------------------------------------------------------------------ what is taken out

    def _clean(self) -> None:
        self.folder, self.strips = PurePosixPath(), False
        for compiler in self.root.all("compiler"):
            for name in ("assetdir", "meshdir"):
                if name in compiler.attributes:
                    self.folder = PurePosixPath(compiler.attributes[name])
            self.strips = compiler.attributes.get("strippath", str(self.strips)).lower() == "true"
            for name in _FOLDERS:
                compiler.attributes.pop(name, None)
        for element in self.root.descendants():
            element.children = [child for child in element.children if self._is_kept(child, element)]
        for key in self._every("key"):
            for name in ("act", "ctrl", "mpos", "mquat"):
                key.attributes.pop(name, None)  # of what is not simulated
        for material in self._every("material"):
            material.children = []
            material.attributes.pop("texture", None)

    def _is_kept(self, child: Element, parent: Element) -> bool:
        if child.tag in _REFUSED:
            kind, why = _REFUSED[child.tag]
            self.leftovers.refuse(kind, child, f"{child}: {why}")
            return False
        if parent.tag == "actuator":
            return self._is_drive(child)
        if child.tag in _OTHER_FILES and parent.tag in ("asset", "body", "frame", "worldbody"):
            child.fail(f"{child} takes bodies from another file; let MuJoCo write one file of both (mj_saveLastXML), and load that")
        if parent is self.root and child.tag in _UNUSED:
            if _UNUSED[child.tag]:
                self.leftovers.aside(child, _UNUSED[child.tag])
            return False
        if parent.tag == "asset" and child.tag in ("texture", "skin", "hfield"):
            self.leftovers.aside(child, "textures, skins and height fields are not kept")
            return False
        if child.tag == "geom" and (child.attributes.get("type") == "hfield" or "hfield" in child.attributes):
            self.leftovers.aside(child, "geoms that are height fields are not kept")
            return False
        return child.tag not in ("camera", "light", "skin")

    def _is_drive(self, actuator: Element) -> bool:
        """Those that could be motors or servos are looked at again when MuJoCo has applied the defaults."""
        name = shortened(actuator.attributes.get("name", ""))
        sentence = f"{actuator} {name!r}" if name else str(actuator)
        if self.leftovers.ignores("actuator", actuator, sentence):
            return False
        if actuator.tag in ("motor", "general", "position", "velocity") and {"joint", "tendon"} & set(actuator.attributes):
            return True
        self.leftovers.refuse("actuator", actuator, f"{sentence} is not a motor or servo on a joint or tendon")
        return False

    def _every(self, tag: str) -> list[Element]:
        return [element for element in self.root.descendants() if element.tag == tag]

    # ------------------------------------------------------------------------------------------------ names

    def _check_replicas(self) -> None:
        """<replicate count="1000000"> in itself is a bomb."""
        stack, total = [(self.root, 1.0)], 0.0
        while stack:
            element, times = stack.pop()
            if element.tag == "replicate":
                times *= max(element.number("count", 1.0), 1.0)
            total += times
            if total > MOST_ELEMENTS:
                element.fail(f"replicas make more than {MOST_ELEMENTS} elements of the file")
            stack.extend((child, times) for child in element.children)

    def _name_everything(self) -> None:
        """So that what MuJoCo finds can be found in the file."""
        trees = [(tree, "world", 0) for tree in self.root.all("worldbody")]
        taken = {(e.tag, e.attributes.get("name")) for tree in self.root.all("worldbody") for e in tree.descendants()}
        stack, count = list(reversed(trees)), 0
        while stack:
            element, body, depth = stack.pop()
            if depth > _DEEPEST:
                element.fail(f"bodies are nested more than {_DEEPEST} deep")
            joints = [child for child in element.children if child.tag in ("joint", "freejoint")]
            for child in reversed(element.children):
                if child.tag == "body" and not child.attributes.get("name"):
                    count += 1
                    child.attributes["name"] = _free("body", f"body {count}", taken)
                elif child.tag in ("joint", "freejoint") and not child.attributes.get("name"):
                    wanted = body if len(joints) == 1 else f"{body} {joints.index(child) + 1}"
                    child.attributes["name"] = _free("joint", wanted, taken)
                kind = "joint" if child.tag == "freejoint" else child.tag
                self._elements.setdefault((kind, child.attributes.get("name", "")), child)
                if child.tag in ("body", "frame", "replicate"):
                    stack.append((child, child.attributes["name"] if child.tag == "body" else body, depth + 1))
        for section, kind in (("equality", "equality"), ("tendon", "tendon"), ("actuator", "actuator")):
            for number, child in enumerate(c for s in self.root.all(section) for c in s.children):
                if not child.attributes.get("name"):
                    child.attributes["name"] = _free(kind, f"{child.tag} {number + 1}", taken)
                self._elements.setdefault((kind, child.attributes["name"]), child)

    # ------------------------------------------------------------------------------------------------ meshes

    def _find_meshes(self) -> None:
        left, gone = MOST_MESH_BYTES, set()
        for mesh in [child for asset in self.root.all("asset") for child in asset.all("mesh")]:
            if "file" not in mesh.attributes:
                if "vertex" not in mesh.attributes:
                    mesh.fail(f"{mesh} has neither a file nor vertices; built-in meshes are not read")
                continue
            given = mesh.word("file")
            name = mesh.attributes.setdefault("name", PurePosixPath(given).stem)
            if self.leftovers.ignores("meshes", mesh, f"mesh {shortened(name)!r}"):
                gone.add(name)
                continue
            inside = PurePosixPath(PurePosixPath(given).name if self.strips else given)
            try:
                path = self.paths.find(str(self.folder / inside))
            except OutsideError as error:
                mesh.fail(f"mesh {error}; or leave meshes out with ignore=['meshes']")
            if path is None or not path.is_file():
                mesh.fail(f"mesh {shortened(given)!r} does not exist; or leave meshes out with ignore=['meshes']")
            left -= path.stat().st_size
            if left < 0:
                mesh.fail(f"the meshes have more than {MOST_MESH_BYTES} bytes together; leave them out with ignore=['meshes']")
            mesh.attributes["file"] = f"mesh{len(self.assets)}{path.suffix.lower()}"
            self.assets[mesh.attributes["file"]] = path.read_bytes()
            self.meshes[name] = path
        if gone:
            self._forget_meshes(gone)
        for element in self.root.descendants():
            for name, value in element.attributes.items():
                if name.startswith("file") and value not in self.assets:
                    element.fail(f'{element} names a file, {name}="{shortened(value)}", which is not read')

    def _forget_meshes(self, gone: set[str]) -> None:
        for element in self.root.descendants():
            element.children = [child for child in element.children if child.attributes.get(_MESH_NAME.get(child.tag, "")) not in gone]


def _free(kind: str, wanted: str, taken: set[tuple[str, str | None]]) -> str:
    name, number = wanted, 1
    while (kind, name) in taken:
        number += 1
        name = f"{wanted} {number}"
    taken.add((kind, name))
    return name


def _written(root: Element) -> Iterator[tuple[str, Element]]:
    """The lines of a file, one tag each, and what they are about."""
    stack: list[tuple[Element, bool]] = [(root, False)]
    while stack:
        element, closes = stack.pop()
        if closes:
            yield f"</{element.tag}>", element
            continue
        attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
        yield f"<{element.tag}{attributes}>", element
        stack.append((element, True))
        stack.extend((child, False) for child in reversed(element.children))
