"""Curves: a point that runs along a wire, and a frame that turns with the wire's tangent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import numbers
from ..errors import MechanismError
from .bezier import bernstein
from .surfaces import unit


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
    direction = numbers(up, f"curve {name!r}: up", MechanismError, (3,))
    if not np.any(direction):
        raise MechanismError(f"curve {name!r}: up = {up!r} has no direction; give one such as (0, 0, 1)")

    def frame(s: Any, sp: Any, p: Any) -> Any:
        t = sp.Symbol("curve_s", real=True)  # derivatives need a symbol, s may be an expression
        at = sp.Matrix(list(point(t, sp, p)))
        z = unit(at.diff(t), sp)
        y = unit(z.cross(sp.Matrix([sp.nsimplify(e) for e in direction])), sp)
        return sp.frame(*(axis.xreplace({t: s}) for axis in (y.cross(z), y, z, at)))

    return Curve(name, frame, dict(parameters or {}), start)


def bezier_curve(control_points: ArrayLike, start: float = 0.5, up: ArrayLike = (0.0, 0.0, 1.0)) -> Curve:
    """A Bezier curve over 0 <= s <= 1 with control points (n, 3), metres: one polynomial of degree n - 1; the paper's has 7 points.

    The points are a parameter: `joint.with_parameters(control_points=...)` needs no new code.
    """
    points = numbers(control_points, "bezier_curve: control_points", MechanismError)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
        raise MechanismError(f"bezier_curve: control_points have shape {points.shape}; they need (n, 3) with n >= 2, such as (7, 3)")
    return curve(
        "Bezier curve", lambda s, sp, p: bernstein(p.control_points, s, sp), parameters={"control_points": points}, start=start, up=up
    )
