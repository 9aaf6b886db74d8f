"""Mechanism -> URDF.  What the format cannot say is an error that names it."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from xml.sax.saxutils import quoteattr

import numpy as np

from ..constraints import Gear
from ..errors import FormatError
from ..forces import Damper, DryFriction
from ..joints import Fixed, Free, Planar, Prismatic, Revolute
from ..limits import Limit
from ..mechanism import WORLD, Body, Mechanism
from ..pose import Pose, rpy_of_rotation
from ..shapes import Box, Capsule, Cylinder, Mesh, PlacedShape, Shape, Sphere
from .hanging import children_of

_GRAVITY = (0.0, 0.0, -9.81)
_NO_LIMIT = 1e308  # what stands in a file, where infinity cannot


def write(mechanism: Mechanism) -> str:
    """The text of a .urdf file."""
    if tuple(mechanism.gravity) != _GRAVITY:
        raise FormatError(f"gravity = {mechanism.gravity.tolist()} cannot be written to a .urdf file, which means {_GRAVITY} m/s^2")
    if mechanism.motors:
        raise FormatError(f"{mechanism.motors[0]!r} cannot be written to a .urdf file; remove the motors from the mechanism first")
    if mechanism.servos:
        raise FormatError(f"{mechanism.servos[0]!r} cannot be written to a .urdf file; remove the servos from the mechanism first")
    children_of(mechanism)
    dynamics, gears = _dynamics(mechanism), _gears(mechanism)
    root = _root(mechanism)
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(mechanism.name)}>"]
    if root is None:
        lines += _link(mechanism, WORLD, None)
    for body in mechanism.bodies.values():
        lines += _link(mechanism, body.name, body)
    for name in mechanism.frames:
        lines += _link(mechanism, name, None)
    for body in mechanism.bodies.values():
        if body is not root:
            lines += _joint(body, mechanism.limits.get(body.joint_name), dynamics.get(body.joint_name), gears.get(body.joint_name))
    for body in mechanism.bodies.values():
        lines += _transmission(body)
    taken = set(mechanism.joint_names)
    for frame in mechanism.frames.values():
        if frame.parent == WORLD and root is not None:
            raise FormatError(f"frame {frame.name!r} stands on the world, and {root.name!r} is the root of the robot; hang it on that")
        name = next(n for n in (frame.name, *(f"{frame.name} {i}" for i in range(2, len(taken) + 3))) if n not in taken)
        taken.add(name)
        lines += [*_opened_joint(name, "fixed", frame.parent, frame.name, frame.placement), "  </joint>"]
    return "\n".join([*lines, "</robot>"]) + "\n"


def _root(mechanism: Mechanism) -> Body | None:
    """The one body that stands fixed on the world, at its origin: the root link.  None: the world is the root."""
    standing = [body for body in mechanism.bodies.values() if body.parent == WORLD]
    if len(standing) == 1 and isinstance(standing[0].joint, Fixed) and WORLD not in {shape.body for shape in mechanism.shapes}:
        pose = standing[0].placement
        if not pose.p.any() and np.array_equal(pose.R, np.eye(3)) and WORLD not in {f.parent for f in mechanism.frames.values()}:
            return standing[0]
    return None


def _link(mechanism: Mechanism, name: str, body: Body | None) -> list[str]:
    inside = _inertial(body) if body is not None else []
    for i, shape in enumerate(s for s in mechanism.shapes if s.body == name):
        inside += _shape(shape, f"{name} {i}")
    return [f"  <link name={quoteattr(name)}>", *inside, "  </link>"] if inside else [f"  <link name={quoteattr(name)}/>"]


def _inertial(body: Body) -> list[str]:
    if body.mass == 0.0 and not body.inertia.any():
        return []
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.inertia
    moments = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
    return [
        "    <inertial>", *_origin(Pose(body.com), 6), f'      <mass value="{_number(body.mass)}"/>',
        f"      <inertia {_attributes(moments)}/>", "    </inertial>",
    ]  # fmt: skip


def _origin(pose: Pose, indent: int) -> list[str]:
    if not pose.p.any() and np.array_equal(pose.R, np.eye(3)):
        return []
    return [f'{" " * indent}<origin xyz="{_numbers(pose.p)}" rpy="{_numbers(rpy_of_rotation(pose.R))}"/>']


def _shape(placed: PlacedShape, name: str) -> list[str]:
    lines = [f"    <{placed.role}>", *_origin(placed.placement, 6), f"      <geometry>{_geometry(placed.shape)}</geometry>"]
    if placed.color is not None:
        lines.append(f'      <material name={quoteattr(name)}><color rgba="{_numbers(placed.color)}"/></material>')
    return [*lines, f"    </{placed.role}>"]


def _geometry(shape: Shape) -> str:
    if isinstance(shape, Box):
        return f'<box size="{_numbers(shape.size)}"/>'
    if isinstance(shape, Sphere):
        return f'<sphere radius="{_number(shape.radius)}"/>'
    if isinstance(shape, Cylinder):  # a capsule is one
        tag = "capsule" if isinstance(shape, Capsule) else "cylinder"
        return f'<{tag} radius="{_number(shape.radius)}" length="{_number(shape.length)}"/>'
    if isinstance(shape, Mesh):
        return f'<mesh filename={quoteattr(shape.path.as_posix())} scale="{_numbers(shape.scale)}"/>'
    raise FormatError(f"{shape!r} cannot be written to a .urdf file; it knows Box, Sphere, Cylinder, Capsule and Mesh")


def _joint(body: Body, limit: Limit | None, dynamics: dict[str, float] | None, gear: Gear | None) -> list[str]:
    kind, axis = _kind(body, limit)
    lines = _opened_joint(body.joint_name, kind, body.parent, body.name, body.placement)
    if axis is not None:
        lines.append(f'    <axis xyz="{_numbers(axis)}"/>')
    if kind in ("revolute", "prismatic") or limit is not None:
        given = limit or Limit(body.joint_name)
        ends = {"lower": given.lower, "upper": given.upper} if kind != "continuous" else {}
        values = {**ends, "effort": given.effort, "velocity": given.velocity}
        lines.append(f"    <limit {_attributes(values)}/>")
    if dynamics is not None:
        lines.append(f"    <dynamics {_attributes(dynamics)}/>")
    if gear is not None:
        lines.append(f'    <mimic joint={quoteattr(gear.joint2)} multiplier="{_number(gear.ratio)}" offset="{_number(gear.offset)}"/>')
    return [*lines, "  </joint>"]


def _transmission(body: Body) -> list[str]:
    """A rotor that turns with its joint, so that its inertia is the armature."""
    if not body.armature.any():
        return []
    if len(body.armature) != 1:
        raise FormatError(f"joint {body.joint_name!r} has several freedoms with an armature, which cannot be written to a .urdf file")
    motor = f"<mechanicalReduction>1</mechanicalReduction><rotorInertia>{_number(body.armature[0])}</rotorInertia>"
    return [
        f"  <transmission name={quoteattr(body.joint_name + ' transmission')}>",
        "    <type>transmission_interface/SimpleTransmission</type>",
        f"    <joint name={quoteattr(body.joint_name)}/>",
        f"    <actuator name={quoteattr(body.joint_name + ' motor')}>{motor}</actuator>",
        "  </transmission>",
    ]  # fmt: skip


def _opened_joint(name: str, kind: str, parent: str, child: str, placement: Pose) -> list[str]:
    return [
        f'  <joint name={quoteattr(name)} type="{kind}">',
        f"    <parent link={quoteattr(parent)}/>",
        f"    <child link={quoteattr(child)}/>",
        *_origin(placement, 4),
    ]  # fmt: skip


def _kind(body: Body, limit: Limit | None) -> tuple[str, np.ndarray | None]:
    """Type of a joint and its axis, if it has one."""
    joint = body.joint
    if isinstance(joint, Revolute):
        endless = limit is None or not (isfinite(limit.lower) or isfinite(limit.upper))
        return "continuous" if endless else "revolute", joint.axis
    if isinstance(joint, Prismatic):
        return "prismatic", joint.axis
    if isinstance(joint, Planar) and joint.x_axis is None:
        return "planar", joint.normal
    if isinstance(joint, (Free, Fixed)):
        return "floating" if isinstance(joint, Free) else "fixed", None
    raise FormatError(
        f"body {body.name!r} hangs on {joint!r}, which a .urdf file cannot say; it knows Revolute, Prismatic, Free and Fixed joints, and "
        "Planar ones without an x_axis"
    )


def _dynamics(mechanism: Mechanism) -> dict[str, dict[str, float]]:
    """joint -> attributes of <dynamics>."""
    found: dict[str, dict[str, float]] = {}
    for force in mechanism.forces:
        what = "damping" if isinstance(force, Damper) else "friction" if isinstance(force, DryFriction) else ""
        given = force.damping if isinstance(force, Damper) else force.torque if isinstance(force, DryFriction) else ()
        values = np.unique(np.ravel(given))
        if len(values) != 1:
            raise FormatError(f"{force!r} cannot be written to a .urdf file; it knows Damper and DryFriction with one number")
        of_joint = found.setdefault(force.joint, {})  # type: ignore[attr-defined]
        of_joint[what] = of_joint.get(what, 0.0) + float(values[0])
    return found


def _gears(mechanism: Mechanism) -> dict[str, Gear]:
    """joint that follows -> its coupling."""
    found: dict[str, Gear] = {}
    for constraint in mechanism.constraints:
        if not isinstance(constraint, Gear) or constraint.joint1 in found:
            raise FormatError(f"{constraint!r} cannot be written to a .urdf file; it knows one Gear for each joint that follows another")
        found[constraint.joint1] = constraint
    return found


def _attributes(values: Mapping[str, float]) -> str:
    return " ".join(f'{name}="{_number(value)}"' for name, value in values.items())


def _number(value: float) -> str:
    """Every digit, so that reading gives the same number."""
    return repr(float(np.clip(value, -_NO_LIMIT, _NO_LIMIT)))


def _numbers(values) -> str:
    return " ".join(_number(value) for value in values)
