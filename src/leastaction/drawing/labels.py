"""Names and units of joint coordinates."""

from __future__ import annotations

from ..mechanism import Body


def speed_names(body: Body) -> tuple[str, ...]:
    if not body.joint.has_quaternion:
        return body.joint.coordinates[: body.joint.nv]
    return ("ωx", "ωy", "ωz", "vx", "vy", "vz")[: body.joint.nv]  # ball and free joints: body twist


def units(body: Body, per: str) -> str:
    """Units of what is drawn: quaternions have none, other coordinates are angles or lengths."""
    if body.joint.has_quaternion and not per:
        units = ["1"] if body.joint.nv == 3 else ["m", "1"]
    else:
        units = sorted({"rad" if angle else "m" for angle in body.joint.angular}, reverse=True)
    return "(" + ", ".join(u + per for u in units) + ")"
