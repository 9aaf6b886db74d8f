"""SDF -> Mechanism.  Links become bodies, joints that close loops become constraints, and a model that nothing holds floats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf, pi
from os import PathLike
from pathlib import Path

import numpy as np

from ..checks import listed
from ..constraints import Close, Gear
from ..forces import Damper, DryFriction, Spring
from ..joints import Fixed, Free, Helical, Joint, Prismatic, Revolute, Spherical, Universal
from ..mechanism import WORLD, Mechanism
from ..pose import Pose
from .leftovers import Leftovers
from .mesh_paths import MeshPaths
from .places import at
from .sdf_frames import MODEL, Frames, own_pose
from .sdf_shapes import add_shape
from .sdf_tree import Connection, Hung, spanning_tree
from .xml_tree import Element, by_name, parse, parse_file, shortened

#: what can be left out on request -> what that is
IGNORABLE = {
    "friction": "dry friction of joints",
    "closing": "springs, dampers, friction, limits and couplings of joints that close loops",
    "inertial": "links without <inertial>: they become massless (SDF would make each of them 1 kg)",
    "switches": "what links switch on and off: gravity, wind, kinematic, velocity decay",
    "include": "models that are included from other files",
    "extensions": "elements that SDF does not define",
    "damping": "viscous damping of joints",
    "spring": "springs of joints",
    "mimic": "couplings of joints",
    "limits": "limits of joints",
    "contact": "collision shapes",
    "visual": "visual shapes",
    "meshes": "meshes outside of the folders of the robot",
}
NOT_SIMULATED = ("friction", "closing", "inertial", "switches", "include", "extensions", "meshes")  #: refused if they are not named
ENDLESS = 1e15  # SDF writes 1e16 where there is no limit

_AXES = {"revolute": 1, "continuous": 1, "prismatic": 1, "screw": 1, "universal": 2, "revolute2": 2, "ball": 0, "fixed": 0, "gearbox": 2}
_HARMLESS = (
    "sensor", "light", "plugin", "audio_sink", "audio_source", "battery", "particle_emitter", "projector", "must_be_base_link",
    "self_collide",
)  # fmt: skip
_SWITCHES = {"kinematic": "false", "enable_wind": "false", "gravity": "true"}  # -> what changes nothing
_LINK = ("pose", "inertial", "visual", "collision", "velocity_decay", *_SWITCHES)
_JOINT = ("parent", "child", "pose", "axis", "axis2", "gearbox_ratio", "gearbox_reference_body", "thread_pitch", "screw_thread_pitch")
_MODEL = ("pose", "link", "joint", "frame", "static", "allow_auto_disable", "model", "include", *_HARMLESS)
_WORLD = ("gravity", "model", "physics", "scene", "light", "plugin", "gui", "atmosphere", "magnetic_field", "spherical_coordinates",
          "audio", "state", "road", "joint", "frame", "include", "actor", "population", "wind")  # fmt: skip


def read(
    path: Path, *, floating: bool | None = None, ignore: Iterable[str] = (),
    packages: Iterable[str | PathLike[str]] | str | PathLike[str] = (), model: str | None = None,
) -> Mechanism:  # fmt: skip
    """The model in a file.

    floating   may a model that no joint holds to the world move freely?  By default it may, as SDF says; False: it stands on the world
    ignore     names of what to leave out: "friction", "closing", ...; a wrong name lists them all
    packages   folders that hold the models of model://... meshes
    model      name of the model to read if there are several in the file
    """
    return _Reader(parse_file(path), path, floating, ignore, packages, model).mechanism


def parse_model(text: str | bytes, path: str | PathLike[str] = "model.sdf", **options) -> Mechanism:
    """The model a text describes; `path` is what messages start with, and what paths of meshes start from."""
    data = text.encode() if isinstance(text, str) else text
    defaults = {"floating": None, "ignore": (), "packages": (), "model": None}
    return _Reader(parse(data, str(path)), Path(path), **{**defaults, **options}).mechanism


class _Reader:
    def __init__(self, sdf: Element, path: Path, floating: bool | None, ignore: Iterable[str], packages, model: str | None):
        if sdf.tag != "sdf":
            sdf.fail(f"the file starts with {sdf}; an SDF file starts with <sdf>")
        self.version = sdf.number("version", 1.0)
        self.leftovers = Leftovers(IGNORABLE, ignore)
        self.paths = MeshPaths(path, packages)
        self.model, gravity = self._chosen(sdf, model)
        self.mechanism = Mechanism(gravity, name=self.model.attributes.get("name", "").strip() or path.stem)
        self.links, self.joints = by_name(self.model.all("link")), by_name(self.model.all("joint"))
        frames = by_name(self.model.all("frame"))
        if not self.links:
            self.model.fail("the model has no <link>")
        for name in (*self.links, *self.joints, *frames):
            if name == WORLD:
                self.model.fail(f"the name {WORLD!r} is that of the ground; rename it in the file")
        self.attached = {name: frame.attributes.get("attached_to", "").strip() or MODEL for name, frame in frames.items()}
        self.ends = {name: self._ends(name, joint) for name, joint in self.joints.items()}
        default = {**dict.fromkeys(self.links, MODEL), **self.attached, **{name: ends[1] for name, ends in self.ends.items()}}
        self.frames = Frames({**self.links, **frames, **self.joints}, default, own_pose(self.model))
        self._check_names_and_extensions()
        self._add_everything(floating)
        for name, frame in frames.items():
            self._add_frame(name, frame)
        self.leftovers.settle(self.mechanism)

    # ------------------------------------------------------------------------------------------------ what is in the file

    def _chosen(self, sdf: Element, wanted: str | None) -> tuple[Element, tuple[float, ...]]:
        """The model that is to be read, and the gravity of its world."""
        world = sdf.one("world")
        gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
        if world is not None:
            given = world.one("gravity")
            gravity = (0.0, 0.0, -9.8) if given is None else given.text_numbers(3)  # SDF's own number
            for child in world.children:
                if child.tag == "include":
                    self.leftovers.refuse("include", child, f"{child}: other files are not read")
                elif child.tag in ("joint", "wind", "actor", "population") or child.tag not in _WORLD:
                    self.leftovers.refuse("extensions", child, f"{child} of the world is not simulated")
                elif child.tag not in ("gravity", "model"):
                    self.leftovers.aside(child, "what the world says of looks, software and solvers is not used")
        models = by_name((sdf if world is None else world).all("model"))
        if wanted is not None:
            if wanted not in models:
                sdf.fail(f"model = {wanted!r} is not in this file; models are {listed(models)}")
            return models[wanted], gravity
        moving = {name: model for name, model in models.items() if not _is_true(model.one("static"))}
        if len(moving) != 1:
            if not models:
                sdf.fail("the file has no <model>")
            what = "no model that moves" if not moving else f"{len(moving)} models that move, {listed(moving)}; name one with model="
            sdf.fail(f"the file has {what}")
        for name, model in models.items():
            if name not in moving:
                self.leftovers.aside(model, "models that are static are left out")
        return next(iter(moving.values())), gravity

    def _ends(self, name: str, joint: Element) -> tuple[str, str]:
        """Links, frames or the world that a joint connects: parent, child."""
        ends = []
        for end in ("parent", "child"):
            element = joint.need(end)
            given = element.text.strip() or element.attributes.get("link", "").strip()
            if given not in self.links and given not in self.attached and given != WORLD:
                element.fail(f"joint {name!r}: there is no link {shortened(given)!r}; links are {listed(self.links)}")
            ends.append(given)
        if joint.word("type") not in _AXES:
            joint.fail(f"joint {name!r} is of type {shortened(joint.word('type'))!r}; it is one of {', '.join(_AXES)}")
        return ends[0], ends[1]

    def _link(self, name: str, element: Element) -> str:
        """The link, or the world, that a thing is part of."""
        seen = set()
        while name in self.attached or name in self.joints:
            if name in seen:
                element.fail(f"{name!r} is attached to itself")
            seen.add(name)
            name = self.attached[name] if name in self.attached else self.ends[name][1]
        if name == MODEL:
            return next(iter(self.links))
        if name not in self.links:
            element.fail(f"{name!r} does not exist; links are {listed(self.links)}")
        return name

    def _check_names_and_extensions(self) -> None:
        for child in self.model.children:
            if child.tag in ("model", "include"):
                self.leftovers.refuse("include", child, f"{child} inside of a model: nested models and other files are not read")
            elif child.tag in _HARMLESS:
                self.leftovers.aside(child, "sensors, lights, plugins and what else is not mechanics are not used")
            elif child.tag not in _MODEL:
                self.leftovers.refuse("extensions", child, f"{child} is unknown inside of <model>")
        for name, joint in self.joints.items():
            for child in joint.children:
                if child.tag in ("sensor", "physics"):
                    self.leftovers.aside(child, "sensors and solvers of joints are not used")
                elif child.tag not in _JOINT:
                    self.leftovers.refuse("extensions", child, f"{child} is unknown inside of joint {name!r}")

    # ------------------------------------------------------------------------------------------------ the tree

    def _add_everything(self, floating: bool | None) -> None:
        joined = {name: self._joined(name) for name, joint in self.joints.items() if joint.word("type") != "gearbox"}
        wanted = {part for joint in self.joints.values() if joint.word("type") == "gearbox" for part in self._gear_joints(joint, joined)}
        connections = [Connection(name, *ends, carries=name in wanted or self._carries(name)) for name, ends in joined.items()]
        tree = spanning_tree(list(self.links), connections)
        if floating and not tree.roots:
            self.model.fail("floating = True, and a joint of the file holds the model to the world; leave it away")
        self.hung = {hung.joint: hung for hung in tree.hung}
        for root in tree.roots:
            stands = floating is False
            placement = self.frames[WORLD].inverse() @ self.frames[root]
            self._add_body(root, WORLD, Fixed() if stands else Free(), placement, f"{root}_root")
        for hung in tree.hung:
            self._hang(hung)
        for name in tree.closing:
            self._close(name, joined[name])
        for name, joint in self.joints.items():
            if joint.word("type") == "gearbox":
                self._gearbox(name, joint, joined)

    def _joined(self, name: str) -> tuple[str, str]:
        """Links that a joint connects; the world is one of them."""
        joint = self.joints[name]
        parent, child = (WORLD if end == WORLD else self._link(end, joint) for end in self.ends[name])
        if parent == child:
            joint.fail(f"joint {name!r} connects {parent!r} with itself")
        return parent, child

    def _hang(self, hung: Hung) -> None:
        """Add a link below another one, by a joint that has its own place."""
        name, joint = hung.joint, self.joints[hung.joint]
        where, upper, placement = self.frames[name], hung.upper, self.frames[hung.upper].inverse() @ self.frames[name]
        parts = list(self._parts(name, joint, hung.turned))
        for number, (part, made) in enumerate(parts, start=1):
            if number == len(parts) and where == self.frames[hung.link]:
                self._add_body(hung.link, upper, made, placement, part)
                break
            carrier = self._new_name(f"{part}_frame")
            with at(joint):
                self.mechanism.add_body(carrier, upper, made, placement, joint_name=part)
            upper, placement = carrier, Pose()
        else:
            self._add_body(hung.link, upper, Fixed(), where.inverse() @ self.frames[hung.link], f"{hung.link}_fixed")
        for (part, _), axis in zip(parts, self._axes(joint), strict=False):
            self._add_dynamics(part, axis)
            self._add_limit(part, axis)
            self._mimic(part, axis)

    def _new_name(self, name: str) -> str:
        while name in self.links or name in self.mechanism.bodies or name in self.attached:
            name += "_"
        return name

    def _add_body(self, link: str, parent: str, joint: Joint, placement: Pose, joint_name: str) -> None:
        element = self.links[link]
        mass, com, inertia = self._inertial(link, element)
        with at(element):
            self.mechanism.add_body(
                link, parent, joint, placement, mass=mass, com=com, inertia=inertia, joint_name=joint_name, unphysical=True
            )
        for child in element.children:
            if child.tag in ("visual", "collision"):
                add_shape(self.mechanism, link, link, child, self.frames, self.leftovers, self.paths)
            elif child.tag in _SWITCHES or child.tag == "velocity_decay":
                self._check_switch(link, child)
            elif child.tag in _HARMLESS:
                self.leftovers.aside(child, "sensors, lights, plugins and what else is not mechanics are not used")
            elif child.tag not in _LINK:
                self.leftovers.refuse("extensions", child, f"{child} is unknown inside of link {link!r}")

    def _check_switch(self, link: str, element: Element) -> None:
        if element.tag == "velocity_decay":
            harmless = not any(child.text_number(0.0) for child in element.children)
        else:
            harmless = _is_true(element) == (_SWITCHES[element.tag] == "true") or not element.text.strip()
        if not harmless:
            self.leftovers.refuse("switches", element, f"link {link!r}: {element} is {shortened(element.text.strip() or 'not zero')}")

    def _inertial(self, link: str, element: Element) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass, centre of mass and inertia about it in the axes of the link."""
        given = element.one("inertial")
        if given is None or given.one("mass") is None or given.one("inertia") is None:
            missing = "inertial" if given is None else "mass" if given.one("mass") is None else "inertia"
            self.leftovers.refuse("inertial", given or element, f"link {link!r} has no <{missing}>, for which SDF would put 1")
        if given is None:
            return 0.0, np.zeros(3), np.zeros((3, 3))
        if given.attributes.get("auto", "").strip().lower() in ("true", "1"):
            given.fail(f"link {link!r}: inertias are not made of shapes and densities; write mass and inertia instead of auto")
        pose, mass, inertia = own_pose(given), given.one("mass"), given.one("inertia")
        kilograms = 0.0 if mass is None else mass.text_numbers(1)[0]
        if kilograms < 0.0:
            given.fail(f"<mass> is {kilograms:g} kg; it needs a number >= 0")
        if inertia is None:
            return kilograms, pose.p, np.zeros((3, 3))
        xx, yy, zz = (inertia.need(name).text_numbers(1)[0] for name in ("ixx", "iyy", "izz"))
        xy, xz, yz = (_value(inertia, name, 0.0) for name in ("ixy", "ixz", "iyz"))
        return kilograms, pose.p, pose.R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ pose.R.T

    def _add_frame(self, name: str, frame: Element) -> None:
        link = self._link(name, frame)
        with at(frame):
            self.mechanism.add_frame(name, link, self.frames[link].inverse() @ self.frames[name])

    # ------------------------------------------------------------------------------------------------ joints

    @staticmethod
    def _axes(joint: Element) -> list[Element]:
        """<axis> and <axis2>, those that joints of this type have."""
        count = _AXES[joint.word("type")]
        return [joint.need(tag) for tag in ("axis", "axis2")[:count]]

    def _direction(self, name: str, axis: Element) -> np.ndarray:
        """Of an axis, in the frame of its joint."""
        xyz = axis.need("xyz")
        old = _is_true(axis.one("use_parent_model_frame")) or (self.version < 1.45 and axis.one("use_parent_model_frame") is None)
        other = xyz.attributes.get("expressed_in", "").strip() or (MODEL if old else name)
        if other != MODEL and other not in self.frames.things:
            xyz.fail(f"joint {name!r}: its axis is expressed in {shortened(other)!r}, which does not exist")
        return self.frames[name].R.T @ self.frames[other].R @ np.array(xyz.text_numbers(3))

    def _parts(self, name: str, joint: Element, turned: bool) -> Iterator[tuple[str, Joint]]:
        """Joints with one axis each (a ball has none), from the upper link to the lower one, with their names."""
        kind = joint.word("type")
        sign = -1.0 if turned else 1.0  # seen from the other end a joint turns and slides about the opposite axis
        if kind in ("universal", "revolute2"):
            both = [(f"{name}_{axis.tag}", axis) for axis in self._axes(joint)]
            for part, axis in reversed(both) if turned else both:
                with at(axis):
                    yield part, Revolute(sign * self._direction(name, axis))
            return
        if kind == "ball" and turned:
            joint.fail(f"joint {name!r}: a ball whose child carries its parent has other coordinates; exchange parent and child")
        with at(joint):
            yield name, self._single(name, joint, sign)

    def _single(self, name: str, joint: Element, sign: float) -> Joint:
        kind = joint.word("type")
        if kind in ("ball", "fixed"):
            return Spherical() if kind == "ball" else Fixed()
        direction = sign * self._direction(name, joint.need("axis"))
        if kind == "screw":
            return Helical(direction, _pitch(joint))
        return Prismatic(direction) if kind == "prismatic" else Revolute(direction)

    def _close(self, name: str, ends: tuple[str, str]) -> None:
        joint = self.joints[name]
        where = self.frames[name]
        tips = []
        for link, side in zip(ends, ("parent", "child"), strict=True):
            tips.append(self._new_name(f"{name}_{side}"))
            with at(joint):
                self.mechanism.add_frame(tips[-1], link, self.frames[link].inverse() @ where)
        if joint.word("type") in ("universal", "revolute2"):
            with at(joint):
                made: Joint = Universal(*(self._direction(name, axis) for axis in self._axes(joint)))
        else:
            with at(joint):
                made = self._single(name, joint, 1.0)
        with at(joint):
            self.mechanism.add_constraint(Close(made, *tips), name=name)
        if self._carries(name):
            self.leftovers.refuse("closing", joint, f"joint {name!r} closes a loop and has springs, dampers, friction, limits or couplings")

    def _carries(self, name: str) -> bool:
        """Does a joint have anything that acts on its coordinate?"""
        axes = self._axes(self.joints[name])
        return any(any(self._dynamics(axis)) or self._range(axis) or axis.all("mimic") for axis in axes)

    @staticmethod
    def _dynamics(axis: Element) -> tuple[float, ...]:
        """Damping, stiffness, dry friction."""
        dynamics = axis.one("dynamics")
        names = ("damping", "spring_stiffness", "friction")
        return tuple(0.0 if dynamics is None else _value(dynamics, name, 0.0) for name in names)

    @staticmethod
    def _range(axis: Element) -> tuple[float, float, float, float] | None:
        """lower, upper, velocity, effort; None if nothing is limited."""
        limit = axis.one("limit")
        if limit is None:
            return None
        lower, upper = _value(limit, "lower", -inf), _value(limit, "upper", inf)
        velocity, effort = (value if value >= 0.0 else inf for value in (_value(limit, name, inf) for name in ("velocity", "effort")))
        found = tuple(value if abs(value) < ENDLESS else float(np.copysign(inf, value)) for value in (lower, upper, velocity, effort))
        return None if found == (-inf, inf, inf, inf) else (found[0], found[1], found[2], found[3])

    def _add_dynamics(self, part: str, axis: Element) -> None:
        dynamics = axis.one("dynamics")
        if dynamics is None:
            return
        damping, stiffness, friction = self._dynamics(axis)
        if min(damping, stiffness, friction) < 0.0:
            dynamics.fail(f"joint {part!r}: damping, friction and stiffness need numbers >= 0")
        if damping and not self.leftovers.ignores("damping", dynamics, f"joint {part!r}: damping {damping:g}"):
            self.mechanism.add_force(Damper(part, damping))
        if stiffness and not self.leftovers.ignores("spring", dynamics, f"joint {part!r}: spring {stiffness:g}"):
            self.mechanism.add_force(Spring(part, stiffness, _value(dynamics, "spring_reference", 0.0)))
        if friction and not self.leftovers.ignores("friction", dynamics, f"joint {part!r}: dry friction {friction:g}"):
            self.mechanism.add_force(DryFriction(part, friction))

    def _add_limit(self, part: str, axis: Element) -> None:
        found = self._range(axis)
        if found is None or self.leftovers.ignores("limits", axis, f"limits of joint {part!r}"):
            return
        with at(axis):
            self.mechanism.add_limit(part, found[0], found[1], velocity=found[2], effort=found[3])

    def _mimic(self, part: str, axis: Element) -> None:
        mimic = axis.one("mimic")
        if mimic is None:
            return
        other = mimic.word("joint")
        if self.leftovers.ignores("mimic", mimic, f"joint {part!r} mimics {shortened(other)!r}"):
            return
        if other not in self.joints:
            mimic.fail(f"joint {part!r} mimics {shortened(other)!r}, which does not exist; joints are {listed(self.joints)}")
        if _AXES[self.joints[other].word("type")] == 2:
            other = f"{other}_{mimic.attributes.get('axis', 'axis')}"
        multiplier, offset, reference = _value(mimic, "multiplier", 1.0), _value(mimic, "offset", 0.0), _value(mimic, "reference", 0.0)
        with at(mimic):
            self.mechanism.add_constraint(Gear(part, other, multiplier, offset - multiplier * reference))

    # ------------------------------------------------------------------------------------------------ gearboxes

    def _gear_joints(self, joint: Element, joined: dict[str, tuple[str, str]]) -> list[str]:
        """The hinges by which the parent and the child of a gearbox turn against its reference body."""
        name = joint.attributes.get("name", "")
        body = joint.need("gearbox_reference_body").text_word()
        found = []
        for link in self._joined(name):
            hinges = [
                other for other, ends in joined.items()
                if set(ends) == {body, link} and self.joints[other].word("type") in ("revolute", "continuous")
            ]  # fmt: skip
            if len(hinges) != 1:
                joint.fail(f"gearbox {name!r}: {len(hinges)} hinges connect {link!r} with its reference body {body!r}; it needs one")
            found += hinges
        return found

    def _gearbox(self, name: str, joint: Element, joined: dict[str, tuple[str, str]]) -> None:
        """angle of the child = -ratio * angle of the parent, both against the reference body, about <axis2> and <axis>."""
        body, ratio = joint.need("gearbox_reference_body").text_word(), _value(joint, "gearbox_ratio", 1.0)
        hinges, signs = self._gear_joints(joint, joined), []
        for hinge, axis in zip(hinges, self._axes(joint), strict=True):
            of_gear = self.frames[name].R @ self._direction(name, axis)
            of_hinge = self.frames[hinge].R @ self._direction(hinge, self.joints[hinge].need("axis"))
            forward = 1.0 if joined[hinge][0] == body else -1.0
            signs.append(forward * (1.0 if of_gear @ of_hinge >= 0.0 else -1.0))
        with at(joint):
            self.mechanism.add_constraint(Gear(hinges[1], hinges[0], -ratio * signs[0] * signs[1]), name=name)


def _is_true(element: Element | None) -> bool:
    return element is not None and element.text.strip().lower() in ("true", "1")


def _value(element: Element, name: str, default: float) -> float:
    """The number in a child of this name."""
    child = element.one(name)
    return default if child is None else child.text_number(default)


def _pitch(joint: Element) -> float:
    """Metres per turn; older files give -2 pi over it."""
    if joint.one("screw_thread_pitch") is not None:
        return _value(joint, "screw_thread_pitch", 1.0)
    old = _value(joint, "thread_pitch", 1.0)
    if old == 0.0:
        joint.fail("<thread_pitch> is 0, which would be an endless pitch; write <screw_thread_pitch>, metres per turn")
    return -2.0 * pi / old
