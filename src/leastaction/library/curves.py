"""Curves: a point that runs along a wire, and a frame that turns with the wire's tangent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import numbers, shown
from ..errors import MechanismError
from .bezier import blend, slopes, weights


@dataclass(frozen=True)
class Curve:
    """A curve by the frame that runs along it: origin in the point, z along the tangent, x as close to `up` as that allows.

    frame       function (s, sp, p) -> transform in the words of `SymbolicJoint`
    parameters  numbers or arrays the frame reads as p.name
    start       s a joint starts at unless told otherwise
    """

    name: str
    frame: Callable[..., Any]
    parameters: Mapping[str, ArrayLike] = field(default_factory=dict)
    start: float = 0.0


def curve(
    name: str,
    point: Callable[..., Any],
    *,
    parameters: Mapping[str, ArrayLike] | None = None,
    start: float = 0.0,
    up: ArrayLike = (0.0, 0.0, 1.0),
) -> Curve:
    """A curve of your own.

    point  function (s, sp, p) -> (x, y, z), metres
    up     direction that says how the frame lies around the tangent: x is the part of `up` across it.  Singular where the curve
           runs along `up`, or where dp/ds vanishes

    >>> helix = curve("helix", lambda s, sp, p: (sp.cos(s), sp.sin(s), p.rise * s), parameters={"rise": 0.2})
    """
    direction = _direction(up, f"curve {name!r}: up")

    def frame(s: Any, sp: Any, p: Any) -> Any:
        t = sp.Symbol("curve_s", real=True)  # derivatives need a symbol, s may be an expression
        at = sp.Matrix(list(point(t, sp, p)))
        return tangent_frame(at.xreplace({t: s}), at.diff(t).xreplace({t: s}), direction, sp)

    return Curve(name, frame, dict(parameters or {}), start)


def tangent_frame(point: Any, tangent: Any, up: Any, sp: Any) -> Any:
    """Orthonormal frame in the point: z along the tangent, y across tangent and up, x = y x z with the double cross product written out."""
    up = sp.Matrix([sp.Integer(int(e)) if e == int(e) else sp.Float(e) for e in up])
    side = tangent.cross(up)
    length, width = sp.sqrt(tangent.dot(tangent)), sp.sqrt(side.dot(side))
    x = (length * up - (tangent.dot(up) / length) * tangent) / width
    return sp.frame(x, side / width, tangent / length, point)


def bezier_curve(control_points: ArrayLike, start: float = 0.5, up: ArrayLike = (0.0, 0.0, 1.0)) -> Curve:
    """A Bezier curve over 0 <= s <= 1 with control points (n, 3), metres: one polynomial of degree n - 1; the paper's has 7 points.

    The points are a parameter: `joint.with_parameters(control_points=...)` needs no new code.
    """
    points = numbers(control_points, "bezier_curve: control_points", MechanismError)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
        raise MechanismError(f"bezier_curve: control_points have shape {points.shape}; they need (n, 3) with n >= 2, such as (7, 3)")
    direction, n = _direction(up, "bezier_curve: up"), len(points) - 1

    def frame(s: Any, sp: Any, p: Any) -> Any:
        return tangent_frame(blend(weights(n, s), p.control_points, sp), blend(slopes(n, s), p.control_points, sp), direction, sp)

    return Curve("Bezier curve", frame, {"control_points": points}, start)


def _direction(up: ArrayLike, what: str) -> NDArray[np.float64]:
    direction = numbers(up, what, MechanismError, (3,))
    if not np.any(direction):
        raise MechanismError(f"{what} = {shown(up)} has no direction; give one such as (0, 0, 1)")
    return direction
