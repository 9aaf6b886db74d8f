"""Bezier polynomials of SymPy expressions."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any


def weights(n: int, t: Any) -> list[Any]:
    """The Bernstein polynomials of degree n at t."""
    return [comb(n, i) * t**i * (1 - t) ** (n - i) for i in range(n + 1)]


def slopes(n: int, t: Any) -> list[Any]:
    """Their derivatives."""
    lower = [0, *weights(n - 1, t), 0]
    return [n * (lower[i] - lower[i + 1]) for i in range(n + 1)]


def blend(factors: Sequence[Any], points: Sequence[Any], sp: Any) -> Any:
    """Sum of factors times points.

    The products are left as they are: SymPy would sort a factor among the terms of the point, and every coordinate of every point would
    get its own copy of the polynomial.
    """
    products = ([sp.Mul(f, point[axis], evaluate=False) for f, point in zip(factors, points, strict=True)] for axis in range(3))
    return sp.Matrix([sp.Add(*terms) for terms in products])
