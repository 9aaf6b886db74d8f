"""Rows between two frames, which most constraints are made of: see joints/rows.py, where joints find them too."""

from ..joints.rows import ACROSS, ALONG, DISTANCE, DOT, HEIGHT, NONE, POINT, SCREW, SIDE, SPEED, WORLD, Row, Vector, X, Y, Z

__all__ = [
    "ACROSS", "ALONG", "DISTANCE", "DOT", "HEIGHT", "NONE", "POINT", "SCREW", "SIDE", "SPEED", "WORLD", "Row", "Vector", "X", "Y", "Z",
]  # fmt: skip
