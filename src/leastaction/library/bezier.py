"""Bezier polynomials of SymPy expressions."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any


def bernstein(points: Sequence[Sequence[Any]], t: Any, sp: Any) -> tuple[Any, Any, Any]:
    """Point at t of the Bezier curve with these control points, each (x, y, z)."""
    n = len(points) - 1
    weights = [comb(n, i) * t**i * (1 - t) ** (n - i) for i in range(n + 1)]
    x, y, z = (sp.Add(*(w * point[axis] for w, point in zip(weights, points, strict=True))) for axis in range(3))
    return x, y, z
