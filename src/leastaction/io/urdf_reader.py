"""URDF -> Mechanism.  Every link becomes a body, joined links too, so that all their names can be used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from os import PathLike
from pathlib import Path

import numpy as np

from ..checks import listed
from ..constraints import Gear
from ..forces import Damper, DryFriction
from ..joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from ..mechanism import WORLD, Mechanism
from ..pose import Pose
from . import urdf_extensions as extensions
from .leftovers import Leftovers
from .mesh_paths import MeshPaths
from .places import at
from .urdf_shapes import ShapeReader, origin
from .urdf_transmissions import armatures
from .xml_tree import Element, by_name, parse, parse_file, shortened

#: what can be left out on request -> what that is
IGNORABLE = {
    "friction": "dry friction of joints",
    "armature": "rotor inertias of transmissions",
    "dynamics": "attributes of <dynamics> that URDF does not define",
    "gazebo": "what <gazebo> would change of the motion",
    "extensions": "elements that URDF does not define",
    "damping": "viscous damping of joints",
    "mimic": "couplings of joints",
    "limits": "limits of joints",
    "contact": "collision shapes",
    "visual": "visual shapes",
    "meshes": "meshes outside of the folders of the robot",
}
NOT_SIMULATED = ("friction", "armature", "dynamics", "gazebo", "extensions", "meshes")  #: of these, what is refused if it is not named
ROOT_JOINT = "root_joint"  #: of a floating robot
ENDLESS = 1e300  # a limit of this size says that there is none

_JOINTS: dict[str, Callable[[Sequence[float]], Joint]] = {
    "revolute": lambda axis: Revolute(axis),
    "continuous": lambda axis: Revolute(axis),
    "prismatic": lambda axis: Prismatic(axis),
    "planar": lambda axis: Planar(axis),
    "floating": lambda axis: Free(),
    "fixed": lambda axis: Fixed(),
}
_LIMITED = ("revolute", "prismatic")
_COUPLED = ("revolute", "continuous", "prismatic")
_JOINT_CHILDREN = ("parent", "child", "origin", "axis", "dynamics", "limit", "mimic")


def read(
    path: Path, *, floating: bool = False, ignore: Iterable[str] = (), packages: Iterable[str | PathLike[str]] | str | PathLike[str] = ()
) -> Mechanism:
    """The robot in a file.

    floating   is its root link free to move?  By default it stands on the world
    ignore     names of what to leave out: "friction", "armature", ...; a wrong name lists them all
    packages   folders that hold the packages of package://... meshes
    """
    return _Reader(parse_file(path), path, floating, ignore, packages).mechanism


def parse_robot(text: str | bytes, path: str | PathLike[str] = "robot.urdf", **options) -> Mechanism:
    """The robot a text describes; `path` is what messages start with, and what paths of meshes start from."""
    data = text.encode() if isinstance(text, str) else text
    return _Reader(parse(data, str(path)), Path(path), **{"floating": False, "ignore": (), "packages": (), **options}).mechanism


class _Reader:
    def __init__(self, robot: Element, path: Path, floating: bool, ignore: Iterable[str], packages):
        _refuse_what_is_no_urdf(robot, path)
        self.leftovers = Leftovers(IGNORABLE, ignore)
        self.mechanism = Mechanism(name=robot.attributes.get("name", "").strip() or path.stem)
        self.shapes = ShapeReader(robot, self.leftovers, MeshPaths(path, packages))
        self.links = by_name(robot.all("link"))
        self.joints = by_name(robot.all("joint"))
        if not self.links:
            robot.fail("the robot has no <link>")
        self.above = self._joints_above()
        self.armatures = armatures(robot, self.joints, self.leftovers)
        self.names: dict[str, str] = {}  # of links in the mechanism
        root = self._root(robot)
        self._add_root(root, floating)
        self._add_tree(root)
        for name, joint in self.joints.items():
            self._couple(name, joint)
        extensions.check_robot(robot, self.leftovers)
        self.leftovers.settle(self.mechanism)

    # ------------------------------------------------------------------------------------------------ the tree

    def _joints_above(self) -> dict[str, str]:
        """link -> joint that holds it."""
        above: dict[str, str] = {}
        for name, joint in self.joints.items():
            parent, child = (joint.need(end).word("link") for end in ("parent", "child"))
            for end, link in (("parent", parent), ("child", child)):
                if link not in self.links:
                    joint.need(end).fail(f"joint {name!r}: there is no link {shortened(link)!r}; links are {listed(self.links)}")
            if child in above:
                joint.fail(
                    f"link {child!r} hangs on two joints, {above[child]!r} and {name!r}; a URDF robot is a tree: close loops with "
                    "constraints in Python"
                )
            above[child] = name
        return above

    def _root(self, robot: Element) -> str:
        roots = [link for link in self.links if link not in self.above]
        if len(roots) > 1:
            self.links[roots[1]].fail(f"links {listed(roots)} hang on nothing; one link is the root, join the others to it by joints")
        reached, stack = set(roots), list(roots)
        self.below: dict[str, list[str]] = {}
        for link, joint in self.above.items():
            self.below.setdefault(self.joints[joint].need("parent").word("link"), []).append(link)
        while stack:
            found = self.below.get(stack.pop(), [])
            reached.update(found)
            stack.extend(found)
        for link in self.links:
            if link not in reached:
                joint = self.above[link]
                self.joints[joint].fail(f"link {link!r} hangs on itself, by joint {joint!r} and others; a robot is a tree")
        return roots[0]

    def _add_root(self, root: str, floating: bool) -> None:
        link = self.links[root]
        if root == WORLD and not floating:  # the ground under another name
            self.names[root] = WORLD
            if link.all("inertial"):
                self.leftovers.aside(link, f"the inertia of link {WORLD!r} is left out: it is the ground")
            self._add_shapes(link, WORLD)
            return
        name = root
        if root == WORLD:
            name = next(n for n in (f"{WORLD}_link", *(f"{WORLD}_link{i}" for i in range(2, len(self.links) + 3))) if n not in self.links)
            self.leftovers.aside(link, f"the root link {WORLD!r} floats, so it is called {name!r} here: {WORLD!r} is the ground")
        if floating and ROOT_JOINT in self.joints:
            self.joints[ROOT_JOINT].fail(f"the joint name {ROOT_JOINT!r} is that of the root of a floating robot; rename it in the file")
        self._add_body(root, name, WORLD, Free() if floating else Fixed(), Pose(), ROOT_JOINT, link)

    def _add_tree(self, root: str) -> None:
        stack = [root]
        while stack:
            parent = stack.pop()
            for link in self.below.get(parent, []):
                name = self.above[link]
                joint = self.joints[name]
                if link == WORLD:
                    self.links[link].fail(f"link {WORLD!r} hangs on joint {name!r}, and that is the name of the ground; rename it")
                self._add_joint(name, joint, link, self.names[parent])
            stack.extend(reversed(self.below.get(parent, [])))

    def _add_body(self, link: str, name: str, parent: str, joint: Joint, placement: Pose, joint_name: str, place: Element) -> None:
        element = self.links[link]
        mass, com, inertia = _inertial(element)
        given = element.one("inertial")
        with at(place if given is None else given):
            self.mechanism.add_body(
                name, parent, joint, placement, mass=mass, com=com, inertia=inertia, joint_name=joint_name, unphysical=True,
                armature=self.armatures.get(joint_name, 0.0),
            )  # fmt: skip
        self.names[link] = name
        self._add_shapes(element, name)

    def _add_shapes(self, link: Element, name: str) -> None:
        for child in link.children:
            if child.tag in ("visual", "collision"):
                self.shapes.add(self.mechanism, name, child)
            elif child.tag != "inertial":
                extensions.check_link(child, name, self.leftovers)

    # ------------------------------------------------------------------------------------------------ joints

    def _add_joint(self, name: str, joint: Element, link: str, parent: str) -> None:
        kind = joint.word("type")
        if kind not in _JOINTS:
            joint.fail(f"joint {name!r} is of type {shortened(kind)!r}; it is one of {', '.join(_JOINTS)}")
        axis = joint.one("axis")
        direction = (1.0, 0.0, 0.0) if axis is None else axis.numbers("xyz", 3)
        with at(axis or joint):
            made = _JOINTS[kind](direction)
        self._add_body(link, link, parent, made, origin(joint), name, joint)
        for child in joint.children:
            if child.tag not in _JOINT_CHILDREN:
                extensions.check_joint(child, name, self.leftovers)
        self._add_dynamics(name, joint, kind)
        self._add_limit(name, joint, kind)

    def _add_dynamics(self, name: str, joint: Element, kind: str) -> None:
        dynamics = joint.one("dynamics")
        if dynamics is None or kind == "fixed":
            return
        damping, friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
        if damping < 0.0 or friction < 0.0:
            dynamics.fail(f"joint {name!r}: damping = {damping:g}, friction = {friction:g}; they need numbers >= 0")
        if damping > 0.0 and not self.leftovers.ignores("damping", dynamics, f"joint {name!r}: damping {damping:g}"):
            self.mechanism.add_force(Damper(name, damping))
        sentence = f"joint {name!r}: dry friction {friction:g}"
        if friction > 0.0 and kind == "floating":
            self.leftovers.refuse("friction", dynamics, f"{sentence} of a floating joint, which has no coordinates to act on one by one")
        elif friction > 0.0 and not self.leftovers.ignores("friction", dynamics, sentence):
            self.mechanism.add_force(DryFriction(name, friction))
        extensions.check_dynamics(dynamics, name, self.leftovers)

    def _add_limit(self, name: str, joint: Element, kind: str) -> None:
        limit = joint.one("limit")
        if kind == "fixed" or (limit is None and kind not in _LIMITED):
            return
        if limit is None:
            self.leftovers.aside(joint, f"joints of type {kind} without a <limit> are not limited")
            return
        if kind not in ("continuous", *_LIMITED):
            self.leftovers.aside(limit, f"<limit> of a {kind} joint is not used")
            return
        lower, upper = limit.number("lower", 0.0, infinite=True), limit.number("upper", 0.0, infinite=True)
        if kind == "continuous":
            if lower or upper:
                self.leftovers.aside(limit, "lower and upper of continuous joints are not used: they turn without end")
            lower, upper = -inf, inf
        if self.leftovers.ignores("limits", limit, f"limits of joint {name!r}"):
            return
        velocity, effort = (limit.number(what, inf, infinite=True) for what in ("velocity", "effort"))
        ends = (value if abs(value) < ENDLESS else np.copysign(inf, value) for value in (lower, upper, velocity, effort))
        lower, upper, velocity, effort = ends
        if (lower, upper, velocity, effort) != (-inf, inf, inf, inf):
            with at(limit):
                self.mechanism.add_limit(name, lower, upper, velocity=velocity, effort=effort)

    def _couple(self, name: str, joint: Element) -> None:
        mimic = joint.one("mimic")
        if mimic is None:
            return
        if joint.word("type") == "fixed":
            self.leftovers.aside(mimic, "<mimic> of fixed joints has no effect")
            return
        other = mimic.word("joint")
        if self.leftovers.ignores("mimic", mimic, f"joint {name!r} mimics {shortened(other)!r}"):
            return
        if other not in self.joints:
            mimic.fail(f"joint {name!r} mimics {shortened(other)!r}, which does not exist; joints are {listed(self.joints)}")
        for which in (name, other):
            kind = self.joints[which].word("type")
            if kind not in _COUPLED:
                mimic.fail(f"joint {name!r} mimics {other!r}, and {which!r} is {kind}; couplings are between {', '.join(_COUPLED)} joints")
        multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        with at(mimic):
            self.mechanism.add_constraint(Gear(name, other, multiplier, offset))


def _refuse_what_is_no_urdf(robot: Element, path: Path) -> None:
    if robot.tag != "robot":
        robot.fail(f"the file starts with {robot}; a URDF file starts with <robot>")
    for element in robot.descendants():
        unexpanded = next((value for value in element.attributes.values() if "${" in value or "$(" in value), None)
        if element.tag.startswith("xacro:") or unexpanded is not None:
            what = element if unexpanded is None else f"{shortened(unexpanded)!r}"
            expanded = path.name.split(".")[0] + "_expanded.urdf"
            element.fail(f"{what} is a macro of xacro, not URDF; expand the file first: xacro {path.name} > {expanded}")


def _inertial(link: Element) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia about it in the axes of the link; zeros where the file says nothing."""
    inertial = link.one("inertial")
    if inertial is None:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    with at(inertial):
        pose = origin(inertial)
    mass, inertia = inertial.one("mass"), inertial.one("inertia")
    if mass is None and inertia is not None:
        inertial.fail(f"{inertial} has an <inertia> and no <mass>")
    kilograms = 0.0 if mass is None else mass.number("value")
    if kilograms < 0.0:
        inertial.fail(f"<mass> is {kilograms:g} kg; it needs a number >= 0")
    if inertia is None:
        return kilograms, pose.p, np.zeros((3, 3))
    xx, yy, zz = (inertia.number(name) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(name, 0.0) for name in ("ixy", "ixz", "iyz"))
    moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return kilograms, pose.p, pose.R @ moments @ pose.R.T
