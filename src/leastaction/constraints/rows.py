"""Rows between two frames, which most constraints are made of: see joints/rows.py, where joints find them too."""

from ..joints.rows import DISTANCE, DOT, NONE, POINT, SCREW, Row, Vector, X, Y, Z

__all__ = ["DISTANCE", "DOT", "NONE", "POINT", "SCREW", "Row", "Vector", "X", "Y", "Z"]
