"""The rows constraints are made of: what each says about the pose (R, p) of a frame b in a frame a.

POINT     u.p = value            the origin of b stands at `value` along the direction u of a
DOT       u.R w = 0              the direction w of b is orthogonal to the direction u of a
DISTANCE  (p.p - L^2) / 2L = 0   the origins are L apart
SCREW     p_z - c angle_z = 0    b turns about the common z axis and advances by c per radian

Joints are such rows too: see `joint_rows`.  `kernels/maximal_rows.py` evaluates them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import MechanismError
from ..joints import Cylindrical, Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal

POINT, DOT, DISTANCE, SCREW = range(4)

Vector = tuple[float, float, float]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
NONE: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Row:
    """One scalar equation between two frames."""

    kind: int  #: POINT, DOT, DISTANCE or SCREW
    label: str  #: what it keeps, for messages
    u: Vector = NONE  #: direction in frame a
    w: Vector = NONE  #: direction in frame b
    value: float = 0.0  #: offset (m), length (m) or advance per radian (m)


_POINT = tuple(Row(POINT, f"position {n}", u) for n, u in zip("xyz", (X, Y, Z), strict=True))
# b's z axis stays that of a: its x and y components vanish
_AXIS = (Row(DOT, "tilt y", X, Z), Row(DOT, "tilt x", Y, Z))
# no rotation at all
_TURN = (Row(DOT, "rotation x", Y, Z), Row(DOT, "rotation y", Z, X), Row(DOT, "rotation z", X, Y))


def joint_rows(joint: Joint) -> tuple[Row, ...]:
    """What a joint forbids, in its canonical frame (a revolute joint turns about z)."""
    if isinstance(joint, Fixed):
        return (*_POINT, *_TURN)
    if isinstance(joint, Revolute):
        return (*_POINT, *_AXIS)
    if isinstance(joint, Prismatic):
        return (*_POINT[:2], *_TURN)
    if isinstance(joint, Helical):
        return (*_POINT[:2], *_AXIS, Row(SCREW, "advance", value=joint.parameters()[0]))
    if isinstance(joint, Cylindrical):
        return (*_POINT[:2], *_AXIS)
    if isinstance(joint, Planar):
        return (_POINT[2], *_AXIS)
    if isinstance(joint, Universal):
        return (*_POINT, Row(DOT, "angle of the axes", X, Y))
    if isinstance(joint, Spherical):
        return _POINT
    if isinstance(joint, Free):
        return ()
    rows = getattr(joint, "constraint_rows", None)
    if rows is None:
        raise MechanismError(f"{joint!r} cannot be written as a constraint between two bodies; give a joint with rows in constraint_rows()")
    return rows()
