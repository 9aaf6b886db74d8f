"""Mechanism -> MJCF.  What the format cannot say is an error that names it.

MuJoCo takes no moving body without mass, but several joints in one body.  So a chain of bodies without mass, as the reader makes them,
is written as the joints of the body at its end: with placements P1, P2 and joints X1, X2 its pose is

    P1 X1 P2 X2 = (P1 P2) (P2^-1 X1 P2) X2

and P2^-1 X1 P2 is X1 about an axis given in the frame of the second body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError
from ..joints import Cylindrical, Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from ..joints.primitives import SLIDE_X, SLIDE_Y, SLIDE_Z, TURN_X, TURN_Y, TURN_Z
from ..limits import Limit
from ..mechanism import WORLD, Body, Mechanism
from ..pose import Pose, quaternion_of_rotation, rotation_of_quaternion
from .hanging import children_of
from .mjcf_inertia import SMALLEST, inertias, rigid_group
from .mjcf_loads import Loads, acting, drives, equalities, on_axes, tendons
from .mjcf_shapes import Meshes, geom
from .xml_tree import MOST_DEPTH
from .xml_writing import tag

_DEEPEST = MOST_DEPTH - 3  # bodies, inside of <mujoco> and <worldbody>, with something inside
_SEVERAL = (Universal, Cylindrical, Planar)  # written as one joint per coordinate, one after the other
_TURNS, _SLIDES = {TURN_X: 0, TURN_Y: 1, TURN_Z: 2}, {SLIDE_X: 0, SLIDE_Y: 1, SLIDE_Z: 2}


@dataclass(frozen=True)
class Drawn:
    """A joint of MuJoCo: one coordinate of ours, or a ball or free joint."""

    name: str
    kind: str  #: hinge, slide, ball, free
    axis: NDArray[np.float64] | None
    armature: float
    joint: str  #: name of our joint
    part: int  #: which of its coordinates


def write(mechanism: Mechanism) -> str:
    """The text of an .xml file."""
    return _Writer(mechanism).text()


class _Writer:
    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        self.loads: Mapping[str, Loads] = acting(mechanism)
        self.meshes = Meshes()
        self.drawn: list[Drawn] = []  # in the order of qpos
        children_of(mechanism)
        self.children: dict[str, list[Body]] = {}
        for body in mechanism.bodies.values():
            self.children.setdefault(body.parent, []).append(body)
        self.heavy = inertias(mechanism, self.children)
        self.sites = self._sites()
        self.used = {*self.sites, *(host for host, _ in self.sites.values()), *(shape.body for shape in mechanism.shapes)}

    def text(self) -> str:
        m = self.mechanism
        tree = self._tree()
        keyframes = [self._keyframe(name, given) for name, given in m.keyframes.items()]
        parts = [
            ("asset", self.meshes.lines()), ("worldbody", tree), ("equality", equalities(m)), ("tendon", tendons(m)),
            ("actuator", drives(m)), ("keyframe", keyframes), ("custom", self._custom()),
        ]  # fmt: skip
        lines = [
            tag(0, "mujoco", "", model=m.name), tag(2, "compiler", angle="radian", inertiafromgeom="false"),
            tag(2, "option", gravity=m.gravity),
        ]  # fmt: skip
        for name, inside in parts:
            if inside:
                lines += [f"  <{name}>", *inside, f"  </{name}>"]
        return "\n".join([*lines, "</mujoco>"]) + "\n"

    # ------------------------------------------------------------------------------------------------ bodies

    def _tree(self) -> list[str]:
        """Bodies inside of each other, without recursion: chains are long."""
        lines = self._inside(WORLD, None, 4)
        stack: list[tuple[Body | None, int]] = [(body, 1) for body in reversed(self.children.get(WORLD, []))]
        while stack:
            body, depth = stack.pop()
            indent = 2 + 2 * depth
            if body is None:
                lines.append(f"{' ' * indent}</body>")
                continue
            if depth > _DEEPEST:
                raise FormatError(f"body {body.name!r} hangs on {depth - 1} others; an .xml file is read up to {_DEEPEST} bodies deep")
            body, placement, joints = self._chain(body, indent + 2)
            self._check_mass(body)
            lines += [tag(indent, "body", "", name=body.name, **_placed(placement)), *joints, *self._inside(body.name, body, indent + 2)]
            stack.append((None, depth))
            stack.extend((child, depth + 1) for child in reversed(self.children.get(body.name, [])))
        return lines

    def _chain(self, body: Body, indent: int) -> tuple[Body, Pose, list[str]]:
        """The first body with mass from here on, its pose in the parent and its joints."""
        chain = [body]
        while self._is_a_link(chain[-1]):
            chain.append(self.children[chain[-1].name][0])
        beyond, ends = Pose(), []  # from each joint to the body at the end of the chain
        for one in reversed(chain):
            ends.append(beyond)
            beyond = one.placement @ beyond
        joints = [line for one, end in zip(chain, reversed(ends), strict=True) for line in self._joints(one, end, chain[-1], indent)]
        return chain[-1], beyond, joints

    def _is_a_link(self, body: Body) -> bool:
        """Is it a body without mass that only carries the joint of another?"""
        below = self.children.get(body.name, [])
        if body.mass or body.inertia.any() or isinstance(body.joint, (Fixed, Free)) or len(below) != 1 or isinstance(below[0].joint, Free):
            return False
        if isinstance(below[0].joint, Fixed) and body.name != f"{below[0].name}:{body.joint_name}":  # one of the reader's is no place
            return False
        return body.name not in self.used

    def _check_mass(self, body: Body) -> None:
        """MuJoCo's conditions, in words that name the body."""
        heavy = self.heavy[body.name]
        if not heavy.is_physical:
            moments = ", ".join(f"{x:.4g}" for x in heavy.moments)
            raise FormatError(
                f"body {body.name!r}: principal moments {moments} kg m^2 belong to no body, and MuJoCo does not take them; give an inertia "
                "that a body can have"
            )
        if isinstance(body.joint, Fixed) or any(self.heavy[name].moves for name, _ in rigid_group(body, self.children)):
            return
        moments = ", ".join(f"{x:.3g}" for x in heavy.moments)
        raise FormatError(
            f"body {body.name!r} moves with mass {heavy.mass:g} kg and moments {moments} kg m^2; MuJoCo takes no moving body whose mass or "
            f"one of whose moments is {SMALLEST:g} or less: give it some, or leave the body out"
        )

    def _inside(self, name: str, body: Body | None, indent: int) -> list[str]:
        """Mass, shapes and places of a body, or of the world."""
        lines = []
        if body is not None and (self.heavy[name].mass or self.heavy[name].inertia.any()):
            lines.append(self.heavy[name].element(indent))
        for shape in self.mechanism.shapes:
            if self._host(shape.body)[0] == name:
                lines.append(geom(shape, self._host(shape.body)[1], self.meshes, indent))
        lines += [tag(indent, "site", name=place, **_placed(pose)) for place, (host, pose) in self.sites.items() if host == name]
        return lines

    def _sites(self) -> dict[str, tuple[str, Pose]]:
        """Frames, and bodies that constraints name: they need a place there."""
        m = self.mechanism
        named = [end for c in m.constraints for end in (getattr(c, "a", None), getattr(c, "b", None)) if isinstance(end, str)]
        found = {name: self._host(name) for name in dict.fromkeys([*m.frames, *named])}
        for name, of, step in on_axes(m):
            host, pose = found[of]
            found[name] = host, pose @ Pose(step)
        return found

    def _host(self, name: str) -> tuple[str, Pose]:
        """The body that a body, frame or the world is, and where on it."""
        frame = self.mechanism.frames.get(name)
        body, pose = (name, Pose()) if frame is None else (frame.parent, frame.placement)
        if body != WORLD and body not in self.mechanism.bodies:
            raise FormatError(f"{body!r} is named and does not exist; add it as a body{' or frame' if frame is None else ''}")
        return body, pose

    # ------------------------------------------------------------------------------------------------ joints

    def _joints(self, body: Body, end: Pose, last: Body, indent: int) -> list[str]:
        """Joints of one of our bodies; `end` is the pose of the body that is written, `last`, behind them."""
        turned = not np.array_equal(end.R, np.eye(3))
        at = end.inverse().p
        lines = []
        for one in self._parts(body):
            if one.kind == "ball" and turned:
                raise FormatError(
                    f"body {body.name!r} has no mass and hangs on a ball joint; MuJoCo takes no moving body without mass, and the next, "
                    f"{last.name!r}, is turned against it: give {body.name!r} some mass"
                )
            self.drawn.append(one)
            loads = self.loads.get(one.joint, Loads()).of(one.part, one.kind)
            limit = self.mechanism.limits.get(one.joint)
            lines.append(tag(
                indent, "joint", name=one.name, type=one.kind, pos=at if one.kind in ("hinge", "ball") and at.any() else None,
                axis=None if one.axis is None else end.R.T @ one.axis, armature=one.armature or None, **loads, **_range(limit),
            ))  # fmt: skip
        return lines

    def _parts(self, body: Body) -> list[Drawn]:
        joint, name, armature = body.joint, body.joint_name, body.armature
        if isinstance(joint, Fixed):
            return []
        if isinstance(joint, Free):
            if body.parent != WORLD or body.placement != Pose():
                raise FormatError(
                    f"body {body.name!r} hangs on a Free joint at {body.placement!r} of {body.parent!r}; in an .xml file free bodies start "
                    "from the origin of the world: hang it there with placement=Pose(), and begin with that pose in q"
                )
            return [Drawn(name, "free", None, 0.0, name, 0)]
        if isinstance(joint, Spherical):
            return [Drawn(name, "ball", None, 0.0, name, 0)]
        if isinstance(joint, (Revolute, Prismatic)):
            return [Drawn(name, "hinge" if isinstance(joint, Revolute) else "slide", joint.axis, float(armature[0]), name, 0)]
        if isinstance(joint, _SEVERAL):
            return [
                Drawn(self._part_name(name, joint.coordinates[k]), *_motion(joint, k), float(armature[k]), name, k) for k in range(joint.nv)
            ]
        raise FormatError(
            f"body {body.name!r} hangs on {joint!r}, which an .xml file cannot say; it knows Revolute, Prismatic, Spherical, Free and "
            "Fixed joints, and Universal, Cylindrical and Planar ones as several joints"
        )

    def _part_name(self, joint: str, coordinate: str) -> str:
        """Of one coordinate of a joint with several."""
        taken = {*self.mechanism.joint_names, *(one.name for one in self.drawn)}
        wanted = f"{joint} {coordinate}"
        return next(name for name in (wanted, *(f"{wanted} {k}" for k in range(2, len(taken) + 3))) if name not in taken)

    # ------------------------------------------------------------------------------------------------ the rest

    def _custom(self) -> list[str]:
        """Limits that MuJoCo has no word for, or would enforce."""
        limits = self.mechanism.limits.values()
        values = [(what, limit.joint, getattr(limit, what)) for limit in limits for what in ("velocity", "effort")]
        values += [(what, limit.joint, limit.lower) for limit in limits for what in ("lower", "upper") if limit.lower == limit.upper]
        return [tag(4, "numeric", name=f"{what} limit of {joint}", data=[x]) for what, joint, x in values if isfinite(x)]

    def _keyframe(self, name: str, given: Mapping[str, Any]) -> str:
        q, v = ({} if given.get(what) is None else given[what] for what in ("q", "v"))
        if not isinstance(q, Mapping) or not isinstance(v, Mapping):
            raise FormatError(f"keyframe {name!r} gives coordinates as an array; name the joints: {{'q': {{'elbow': 0.3}}}}")
        qpos: list[float] = []
        qvel: list[float] = []
        for one in self.drawn:
            joint = next(body.joint for body in self.mechanism.bodies.values() if body.joint_name == one.joint)
            values = np.ravel(np.asarray(q.get(one.joint, joint.neutral()), dtype=float))
            rates = np.ravel(np.asarray(v.get(one.joint, np.zeros(joint.nv)), dtype=float))
            if one.kind == "free":  # theirs: linear in the world, then angular in the body
                rates = np.concatenate([rotation_of_quaternion(values[3:]) @ rates[3:], rates[:3]])
            whole = joint.nv == 1 or one.kind in ("ball", "free")
            qpos += values.tolist() if whole else [values[one.part]]
            qvel += rates.tolist() if whole else [rates[one.part]]
        return tag(4, "key", name=name, time=float(given.get("t", 0.0)) or None, qpos=qpos, qvel=qvel)


def _motion(joint: Joint, k: int) -> tuple[str, NDArray[np.float64]]:
    """Kind and axis of one coordinate of a joint with several."""
    motion = (joint.primitives() or ())[k].motion
    kind = "hinge" if motion in _TURNS else "slide"
    return kind, joint.frame()[:, {**_TURNS, **_SLIDES}[motion]]


def _range(limit: Limit | None) -> dict[str, Any]:
    if limit is None or (limit.lower, limit.upper) == (-inf, inf) or limit.lower == limit.upper:
        return {}
    return {"limited": "true", "range": (limit.lower, limit.upper)}


def _placed(pose: Pose) -> dict[str, Any]:
    return {"pos": pose.p if pose.p.any() else None, "quat": None if np.array_equal(pose.R, np.eye(3)) else quaternion_of_rotation(pose.R)}
