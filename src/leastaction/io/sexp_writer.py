"""Mechanism -> S-expressions.  What the format cannot say is an error that names it."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import NDArray

from ..constraints import Coincident, Constraint, Distance, Gear, Prescribed
from ..errors import FormatError
from ..forces import Damper, Force, LinearSpring, Spring, Wrench
from ..frames import PRIMITIVES, axis_of
from ..joints.base import frame_with_z
from ..joints.primitives import SLIDE_Z, TURN_Z, Primitive
from ..mechanism import WORLD, Body, Frame, Mechanism
from ..pose import Pose, rpy_of_rotation
from .expressions import quote
from .hanging import children_of

_DEEPEST = 30  # levels that are indented; deeper ones stay there, or the file of a long chain would consist of blanks


def write(mechanism: Mechanism) -> str:
    """The text of a .sexp file."""
    if mechanism.shapes or mechanism.limits or mechanism.motors or mechanism.servos:
        what = "shapes of bodies" if mechanism.shapes else "limits of joints" if mechanism.limits else "motors or servos"
        raise FormatError(f"a .sexp file cannot hold the {what} of {mechanism.name!r}; remove them from the mechanism first")
    children = children_of(mechanism)
    driven: dict[str, str] = {}
    for constraint in mechanism.constraints:
        if isinstance(constraint, Prescribed):
            (joint,) = constraint.joints
            if joint in driven or joint not in mechanism.joint_names:
                why = "is prescribed twice; remove one" if joint in driven else "does not exist; add it, or remove its la.Prescribed"
                raise FormatError(f"joint {joint!r} {why}")
            driven[joint] = _kinematic(constraint)
    lines = [f"(mechanical-system (gravity {_numbers(mechanism.gravity)})"]
    stack: list[tuple[int, Body | Frame]] = [(1, thing) for thing in reversed(children.get(WORLD, []))]
    open_frames = 0
    while stack:
        depth, thing = stack.pop()
        lines[-1] += ")" * (open_frames - depth + 1)
        lines.append("  " * min(depth, _DEEPEST) + _opened(thing, driven))
        open_frames = depth
        stack.extend((depth + 1, child) for child in reversed(children.get(thing.name, [])))
    lines[-1] += ")" * open_frames
    for constraint in mechanism.constraints:
        if isinstance(constraint, Prescribed):
            continue  # stands with its coordinate
        lines += ["  " + text for text in _constraint(mechanism, constraint)]
    lines += ["  " + _force(mechanism, force) for force in mechanism.forces]
    return "\n".join(lines) + ")\n"


def _opened(thing: Body | Frame, driven: dict[str, str]) -> str:
    """A frame with its name and mass, not closed.  driven: the parameter of every coordinate that is prescribed."""
    transforms = _constants(thing.placement)
    options = [f"(Name {quote(thing.name)})"]
    if isinstance(thing, Body):
        transforms += _joint(thing, driven.get(thing.joint_name) or quote(thing.joint_name))
        options += _mass(thing)
    return f"({' '.join(transforms or ['tx 0'])} {' '.join(options)}"


_LETTERS: dict[tuple[Primitive, ...] | None, str] = {(Primitive(TURN_Z),): "r", (Primitive(SLIDE_Z),): "t"}


def _joint(body: Body, parameter: str) -> list[str]:
    joint = body.joint
    if body.armature.any():
        raise FormatError(f"joint {body.joint_name!r} has an armature, which a tree of frames cannot say; save a .urdf file")
    if joint.nv == 0:
        return []
    letter = _LETTERS.get(joint.primitives())
    if letter is None:
        raise FormatError(
            f"body {body.name!r} hangs on {joint!r}, which a tree of frames cannot say; it knows Revolute, Prismatic and Fixed joints"
        )
    axis = joint.frame()[:, 2]
    for primitive in PRIMITIVES:
        if primitive[0] == letter and np.array_equal(axis_of(primitive), axis):
            return [f"{primitive} {parameter}"]
    turned = Pose(rotation=frame_with_z(axis))
    return [*_constants(turned), f"{letter}z {parameter}", *_constants(turned.inverse())]


def _mass(body: Body) -> list[str]:
    if body.mass == 0.0 and not body.inertia.any():
        return []
    diagonal = np.array_equal(body.inertia, np.diag(np.diag(body.inertia)))
    if diagonal and not body.com.any():
        return [f"(Mass {_mass_numbers(body.mass, np.diag(body.inertia))})"]
    moments, axes = (np.diag(body.inertia), np.eye(3)) if diagonal else np.linalg.eigh(body.inertia)
    if np.linalg.det(axes) < 0.0:
        axes = axes * np.array([-1.0, 1.0, 1.0])
    at = " ".join(_constants(Pose(body.com, rotation=axes)))
    return [f"({at} (Mass {_mass_numbers(body.mass, np.maximum(moments, 0.0))}))"]


def _mass_numbers(mass: float, moments: NDArray[np.float64]) -> str:
    return _numbers([mass, *moments] if np.any(moments) else [mass])


def _constants(pose: Pose) -> list[str]:
    """A pose as primitives: p, then R = Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = rpy_of_rotation(pose.R)
    values = zip(("tx", "ty", "tz", "rz", "ry", "rx"), (*pose.p, yaw, pitch, roll), strict=True)
    return [f"{primitive} {_numbers([value])}" for primitive, value in values if value != 0.0]


def _kinematic(constraint: Prescribed) -> str:
    """(K ...) of a coordinate that is moved."""
    joint, motion = constraint.joints[0], constraint.motion
    if not isinstance(motion, (str, Real)):
        raise FormatError(
            f"the motion of {joint!r} is a {type(motion).__name__}, which a .sexp file cannot hold; give it as text, "
            f"la.Prescribed({joint!r}, '0.1 * sin(t)')"
        )
    return f"(K {quote(joint)} {quote(motion) if isinstance(motion, str) else _numbers([float(motion)])}{_name(constraint)})"


def _name(constraint: Constraint) -> str:
    """Of those that were given one."""
    usual = Prescribed(constraint.joints[0], 0.0).name if isinstance(constraint, Prescribed) else None
    return "" if constraint.name in (None, usual) else f" (Name {quote(constraint.name)})"


def _constraint(mechanism: Mechanism, constraint: Constraint) -> list[str]:
    if isinstance(constraint, Coincident):
        if len(constraint.directions) < 3 and constraint.axes == "world":
            directions = constraint.directions
        elif len(constraint.directions) < 3:
            rotation = _fixed_rotation(mechanism, constraint)
            directions = constraint.directions @ rotation.T
        else:
            directions = np.eye(3)
        ends = f"{quote(constraint.a)} {quote(constraint.b)}"
        return [f"(point-constraint {ends} ({_numbers(d)}){_name(constraint) if k == 0 else ''})" for k, d in enumerate(directions)]
    if isinstance(constraint, Distance):
        return [f"(distance-constraint {quote(constraint.a)} {quote(constraint.b)} {_numbers([constraint.length])}{_name(constraint)})"]
    if isinstance(constraint, Gear) and constraint.offset == 0.0:
        joints = f"{quote(constraint.joint2)} {quote(constraint.joint1)}"
        return [f"(screw-constraint {joints} {_numbers([constraint.ratio])}{_name(constraint)})"]
    known = "Coincident, Distance, Prescribed and Gear without offset"
    raise FormatError(f"{constraint!r} cannot be written to a .sexp file; it knows {known}")


def _fixed_rotation(mechanism: Mechanism, constraint: Coincident) -> NDArray[np.float64]:
    """Orientation of the frame that the directions are given in; the file has directions fixed in the world."""
    from .sexp_reader import keeps, orientation

    rotation, axes = orientation(mechanism, constraint.a)
    if not all(keeps(axis, axes[0], constraint.directions @ rotation.T) for axis in axes):
        raise FormatError(
            f"{constraint!r}: its directions turn with frame {constraint.a!r}, those of a .sexp file stay fixed in the world; give "
            "axes='world', or join the points in all three directions"
        )
    return rotation


def _force(mechanism: Mechanism, force: Force) -> str:
    if isinstance(force, LinearSpring):
        return f"(linear-spring {quote(force.a)} {quote(force.b)} {_numbers([force.stiffness, force.length])})"
    if isinstance(force, Spring):
        rest = np.ravel([] if force.rest is None else force.rest)
        return f"(config-spring {quote(force.joint)} {_numbers([*np.ravel(force.stiffness), *rest])})"
    if isinstance(force, Damper):
        return f"(damper {quote(force.joint)} {_numbers(np.ravel(force.damping))})"
    if isinstance(force, Wrench) and not force.point.any():
        return f"({force.frame}-wrench {quote(force.body)} ({_numbers(force.force)}) ({_numbers(force.moment)}))"
    raise FormatError(
        f"{force!r} cannot be written to a .sexp file; it knows LinearSpring, Spring, Damper, and Wrench at the origin of a frame"
    )


def _numbers(values) -> str:
    """Every digit, so that reading gives the same numbers."""
    return " ".join(repr(float(v)).removesuffix(".0") for v in values)
