"""Forces, constraints, motors and servos as attributes and elements of MJCF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints import Close, Coincident, Constraint, Gear, Prescribed
from ..errors import FormatError
from ..forces import Damper, DryFriction, Spring
from ..joints import Fixed, Helical, Joint, Revolute, Spherical
from ..mechanism import Mechanism
from ..motors import Motor, Servo
from .xml_writing import tag


@dataclass
class Loads:
    """What acts on a joint, per degree of freedom."""

    name: str = ""
    values: dict[str, NDArray[np.float64]] = field(default_factory=dict)  #: attribute of <joint> -> numbers
    rest: NDArray[np.float64] | None = None  #: coordinates of the spring

    def of(self, part: int, kind: str) -> dict[str, float]:
        """Attributes of one joint of MuJoCo; balls and free joints have one number for all their freedoms."""
        found = {}
        for what, values in self.values.items():
            given = values if kind in ("ball", "free") else values[part : part + 1]
            if kind == "free" and what == "stiffness" or np.any(given != given[0]):
                raise FormatError(
                    f"joint {self.name!r} has {what} {given.tolist()}, which an .xml file cannot say of a {kind} joint; MuJoCo knows "
                    + ("no springs of free joints" if what == "stiffness" and kind == "free" else "one number for all its freedoms")
                )
            if given[0]:
                found[what] = float(given[0])
        if "stiffness" in found and self.rest is not None:
            if kind != "ball":
                found["springref"] = float(self.rest[part])
            elif np.any(self.rest[1:]):
                raise FormatError(f"the spring of ball joint {self.name!r} rests at {self.rest.tolist()}; MuJoCo's rest at (1, 0, 0, 0)")
        return found


def acting(mechanism: Mechanism) -> dict[str, Loads]:
    """joint -> what acts on it."""
    joints = {body.joint_name: body.joint for body in mechanism.bodies.values()}
    found: dict[str, Loads] = {}
    for force in mechanism.forces:
        kind = next((words for of_class, words in _OF_JOINTS.items() if type(force) is of_class), None)
        if kind is None:
            raise FormatError(f"{force!r} cannot be written to an .xml file; it knows Spring, Damper and DryFriction of a joint")
        what, attribute = kind
        name, given = force.joint, getattr(force, what)  # type: ignore[attr-defined]
        if name not in joints:
            raise FormatError(f"{force!r} acts on joint {name!r}, which does not exist")
        loads = found.setdefault(name, Loads(name))
        numbers = np.asarray(given, dtype=float)
        shape = joints[name].stiffness_per_freedom if attribute == "stiffness" else joints[name].per_freedom
        values = shape(numbers, f"{type(force).__name__} on joint {name!r}: {what}")
        if isinstance(force, Spring):
            if attribute in loads.values:
                raise FormatError(f"joint {name!r} has two springs; add their stiffnesses and give one")
            loads.rest = None if force.rest is None else np.atleast_1d(np.asarray(force.rest, dtype=float))
        loads.values[attribute] = loads.values.get(attribute, np.zeros(len(values))) + values
    return found


#: class -> where it keeps its numbers, and what MJCF calls them
_OF_JOINTS: dict[type, tuple[str, str]] = {
    Spring: ("stiffness", "stiffness"), Damper: ("damping", "damping"), DryFriction: ("torque", "frictionloss"),
}  # fmt: skip


def equalities(mechanism: Mechanism) -> list[str]:
    """Elements of <equality>; their ends are sites.  A hinge is two points of its axis, as people write it for MuJoCo."""
    joints = {body.joint_name: body.joint for body in mechanism.bodies.values()}
    lines = [_equality(constraint, joints) for constraint in mechanism.constraints]
    ends = [name for name, *_ in on_axes(mechanism)]
    return lines + [tag(4, "connect", site1=a, site2=b) for a, b in zip(ends[::2], ends[1::2], strict=True)]


_ALONG = 0.1  # m, between the two points of an axis


def on_axes(mechanism: Mechanism) -> list[tuple[str, str, NDArray[np.float64]]]:
    """Second points of hinges that close loops, two for each: name, frame they are given in, place there."""
    hinges = [(c, c.joint.axis) for c in mechanism.constraints if isinstance(c, Close) and isinstance(c.joint, Revolute)]
    taken = {*mechanism.bodies, *mechanism.frames}
    found = []
    for number, (hinge, axis) in enumerate(hinges, start=1):
        for which, end in enumerate((hinge.a, hinge.b), start=1):
            wanted = f"axis {number}:{which}"
            name = next(n for n in (wanted, *(f"{wanted} {k}" for k in range(2, len(taken) + 3))) if n not in taken)
            found.append((name, end, _ALONG * axis))
    return found


def _equality(constraint: Constraint, joints: Mapping[str, Joint]) -> str:
    name = constraint.name or None
    if isinstance(constraint, Coincident) and len(constraint.directions) == 3:
        return tag(4, "connect", name=name, site1=constraint.a, site2=constraint.b)
    if isinstance(constraint, Close) and isinstance(constraint.joint, (Fixed, Spherical, Revolute)):
        kind = "weld" if isinstance(constraint.joint, Fixed) else "connect"
        return tag(4, kind, name=name, site1=constraint.a, site2=constraint.b)
    if isinstance(constraint, Gear) and not any(isinstance(joints.get(j), Helical) for j in (constraint.joint1, constraint.joint2)):
        coefficients = (constraint.offset, constraint.ratio, 0.0, 0.0, 0.0)
        return tag(4, "joint", name=name, joint1=constraint.joint1, joint2=constraint.joint2, polycoef=coefficients)
    if isinstance(constraint, Prescribed) and isinstance(constraint.motion, (int, float)):
        return tag(4, "joint", name=name, joint1=constraint.joints[0], polycoef=(constraint.motion, 0.0, 0.0, 0.0, 0.0))
    raise FormatError(
        f"{constraint!r} cannot be written to an .xml file; it knows Coincident in all directions, Close with a Fixed, Spherical or "
        "Revolute joint, Gear, and Prescribed with a number"
    )


def tendons(mechanism: Mechanism) -> list[str]:
    """Motors that pull several joints do so by a tendon of their name."""
    lines = []
    for motor in mechanism.motors:
        if not isinstance(motor.joint, str):
            parts = [tag(6, "joint", joint=joint, coef=share) for joint, share in motor.joint.items()]
            lines += [tag(4, "fixed", "", name=motor.name), *parts, "    </fixed>"]
    return lines


def drives(mechanism: Mechanism) -> list[str]:
    """Elements of <actuator>."""
    return [*map(_motor, mechanism.motors), *map(_servo, mechanism.servos)]


def _motor(motor: Motor) -> str:
    if motor.gear == 0.0:
        raise FormatError(f"{motor!r} has a gear of zero, so it does nothing; remove it")
    on = {"joint": motor.joint} if isinstance(motor.joint, str) else {"tendon": motor.name}
    return tag(4, "motor", name=motor.name, **on, gear=[motor.gear], **_within("ctrl", motor.limit, motor))


def _servo(servo: Servo) -> str:
    """The force gain * ctrl + bias, with bias = b0 + b1 q + b2 v: ctrl = 0 is the servo's own target."""
    own, gain = (servo.target, servo.kp) if servo.kp > 0.0 else (servo.velocity, servo.kd)
    if gain == 0.0 or (servo.kp > 0.0 and servo.velocity):
        why = "its gains are zero, so it does nothing" if gain == 0.0 else "its own velocity has no place beside a target"
        raise FormatError(f"{servo!r} cannot be written to an .xml file: {why}")
    low, high = servo.range
    bias = (gain * own, -servo.kp, -servo.kd)
    return tag(
        4, "general", name=servo.name, joint=servo.joint, gaintype="fixed", gainprm=[gain], biastype="affine", biasprm=bias,
        **_within("ctrl", (low - own, high - own), servo), **_within("force", servo.limit, servo),
    )  # fmt: skip


def _within(what: str, ends: tuple[float, float], drive: Motor | Servo) -> dict[str, Any]:
    if ends == (-inf, inf):
        return {}
    if not ends[0] < ends[1]:
        raise FormatError(f"{drive!r} cannot be written to an .xml file: MuJoCo's {what}range needs two different ends")
    return {f"{what}limited": "true", f"{what}range": ends}
