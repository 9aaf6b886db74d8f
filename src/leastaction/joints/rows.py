"""The rows constraints are made of: what each says about the pose (R, p) of a frame b in a frame a.

POINT     u.p = value            the origin of b stands at `value` along the direction u of a
DOT       u.R w = 0              the direction w of b is orthogonal to the direction u of a
DISTANCE  (p.p - L^2) / 2L = 0   the origins are L apart
SCREW     p_z - c angle_z = 0    b turns about the common z axis and advances by c per radian
WORLD     u.Q p = value          the same as POINT along a direction u of the world, Q the axes of a in it

What a joint forbids is such rows too (`Joint.constraint_rows`).  `kernels/maximal/rows.py` evaluates them.
"""

from __future__ import annotations

from dataclasses import dataclass

POINT, DOT, DISTANCE, SCREW = range(4)
#: rows of constraints that restrict velocities (kernels/maximal/nonholonomic.py); only HEIGHT holds for positions; SPEED: of the user
SIDE, HEIGHT, ALONG, ACROSS, SPEED = range(4, 9)
WORLD = 9

Vector = tuple[float, float, float]
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
NONE: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Row:
    """One scalar equation between two frames."""

    kind: int  #: POINT, DOT, DISTANCE, SCREW or WORLD; SIDE, HEIGHT, ALONG, ACROSS or SPEED; -1: has a file of its own
    label: str  #: what it keeps, for messages
    u: Vector = NONE  #: direction in frame a, of WORLD in the world
    w: Vector = NONE  #: direction in frame b
    value: float = 0.0  #: offset (m), length (m) or advance per radian (m)


#: the origins coincide
SAME_POINT = tuple(Row(POINT, f"position {n}", u) for n, u in zip("xyz", (X, Y, Z), strict=True))
#: b's z axis stays that of a: its x and y components vanish
SAME_Z_AXIS = (Row(DOT, "tilt y", X, Z), Row(DOT, "tilt x", Y, Z))
#: no rotation at all
NO_ROTATION = (Row(DOT, "rotation x", Y, Z), Row(DOT, "rotation y", Z, X), Row(DOT, "rotation z", X, Y))
