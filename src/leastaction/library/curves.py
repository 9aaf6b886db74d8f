"""Curves: a point that runs along a wire, and a frame that turns with the wire's tangent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import name as checked_name
from ..checks import numbers, shown, yes_or_no
from ..errors import MechanismError
from .bezier import blend, slopes, weights


@dataclass(frozen=True)
class Curve:
    """A curve by the frame that runs along it: origin in the point, z along the tangent, x as close to `up` as that allows.

    frame       function (s, sp, p) -> transform in the words of `SymbolicJoint`
    parameters  numbers or arrays the frame reads as p.name
    start       s a joint starts at unless told otherwise
    ends        s at its two ends; None: it has none

    >>> import leastaction as la
    >>> la.library.bezier_curve([(0, 0, 0), (1, 0, -1), (2, 0, 0)]).start
    0.5
    """

    name: str
    frame: Callable[..., Any]
    parameters: Mapping[str, ArrayLike] = field(default_factory=dict)
    start: float = 0.0
    ends: tuple[float, float] | None = None


def curve(
    name: str,
    point: Callable[..., Any],
    *,
    parameters: Mapping[str, ArrayLike] | None = None,
    start: float = 0.0,
    up: ArrayLike = (0.0, 0.0, 1.0),
    ends: tuple[float, float] | None = None,
) -> Curve:
    """A curve of your own.

    point  function (s, sp, p) -> (x, y, z), metres
    up     direction that says how the frame lies around the tangent: x is the part of `up` across it.  Singular where the curve
           runs along `up`, or where dp/ds vanishes
    ends   s at its two ends, if it has any: see `curve_point`

    >>> helix = curve("helix", lambda s, sp, p: (sp.cos(s), sp.sin(s), p.rise * s), parameters={"rise": 0.2})
    """
    direction = _direction(up, f"curve {checked_name(name, 'name of a curve')!r}: up")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise MechanismError(f"curve {name!r}: parameters = {shown(parameters)}; give numbers by name, as in {{'rise': 0.2}}")

    def frame(s: Any, sp: Any, p: Any) -> Any:
        t = sp.Symbol("curve_s", real=True)  # derivatives need a symbol, s may be an expression
        at = sp.Matrix(list(point(t, sp, p)))
        return tangent_frame(at.xreplace({t: s}), at.diff(t).xreplace({t: s}), direction, sp)

    return Curve(name, frame, dict(parameters or {}), start, ends)


def tangent_frame(point: Any, tangent: Any, up: Any, sp: Any) -> Any:
    """Orthonormal frame in the point: z along the tangent, y across tangent and up, x = y x z with the double cross product written out."""
    up = sp.Matrix([sp.Integer(int(e)) if e == int(e) else sp.Float(e) for e in up])
    side = tangent.cross(up)
    length, width = sp.sqrt(tangent.dot(tangent)), sp.sqrt(side.dot(side))
    x = (length * up - (tangent.dot(up) / length) * tangent) / width
    return sp.frame(x, side / width, tangent / length, point)


def bezier_curve(control_points: ArrayLike, start: float = 0.5, up: ArrayLike = (0.0, 0.0, 1.0), closed: bool = False) -> Curve:
    """A Bezier curve over 0 <= s <= 1 with control points (n, 3), metres: one polynomial of degree n - 1; the paper's has 7 points.

    closed   it ends where it begins, with the same two derivatives: then s goes on beyond 1 and below 0, and counts the rounds

    The points are a parameter: `joint.with_parameters(control_points=...)` needs no new code.

    >>> import leastaction as la
    >>> joint = la.library.curve_point(la.library.bezier_curve([(0, 0, 0), (1, 0, -1), (2, 0, 0)]))
    >>> joint.nv  # degrees of freedom
    1
    """
    points = numbers(control_points, "bezier_curve: control_points", MechanismError)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
        raise MechanismError(f"bezier_curve: control_points have shape {points.shape}; they need (n, 3) with n >= 2, such as (7, 3)")
    direction, n = _direction(up, "bezier_curve: up"), len(points) - 1
    if yes_or_no(closed, "bezier_curve: closed", MechanismError):
        if len(points) < 6:
            raise MechanismError(f"bezier_curve: closed=True with {len(points)} control_points; a closed curve needs 6 or more")
        _check_seam(points)

    def frame(s: Any, sp: Any, p: Any) -> Any:
        s = s - sp.floor(s) if closed else s
        return tangent_frame(blend(weights(n, s), p.control_points, sp), blend(slopes(n, s), p.control_points, sp), direction, sp)

    name, ends = ("closed Bezier curve", None) if closed else ("Bezier curve", (0.0, 1.0))
    return Curve(name, frame, {"control_points": points}, start, ends)


def _check_seam(points: NDArray[np.float64]) -> None:
    """A closed curve needs the same point and the same two derivatives at both ends: the frame turns with the curvature."""
    size, first, last = float(np.ptp(points, axis=0).max()), points[:3], points[-3:]
    for order, what, remedy in (
        (0, "a gap", "points[-1] equal to points[0]"),
        (1, "a kink", "points[-1] - points[-2] equal to points[1] - points[0]"),
        (2, "a jump of its curvature", "points[-1] - 2 points[-2] + points[-3] equal to points[2] - 2 points[1] + points[0]"),
    ):
        off = float(np.linalg.norm(np.diff(first, order, axis=0)[0] - np.diff(last, order, axis=0)[-1]))
        if off > 1e-9 * size:
            raise MechanismError(f"bezier_curve: closed=True, but it has {what} ({off:.3g} m) where it closes; give points with {remedy}")


def _direction(up: ArrayLike, what: str) -> NDArray[np.float64]:
    direction = numbers(up, what, MechanismError, (3,))
    if not np.any(direction):
        raise MechanismError(f"{what} = {shown(up)} has no direction; give one such as (0, 0, 1)")
    return direction
