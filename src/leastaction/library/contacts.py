"""Joints made of surfaces and curves."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from math import pi
from typing import Any

from numpy.typing import ArrayLike

from ..checks import number, one_of, shown
from ..errors import MechanismError
from ..joints import SymbolicJoint
from .curves import Curve
from .surfaces import Surface, flip

_CARRIERS = ("parent", "child")


def surface_surface(
    first: Surface, second: Surface, *, spin: float | None = pi / 2, start: ArrayLike | None = None, leave: str = "error"
) -> SymbolicJoint:
    """Two surfaces that touch and slide: their points coincide and their normals are opposite.            Si and Guenter 2010

    first   surface of the parent, in the frame of the joint's placement
    second  surface of the body
    spin    angle (rad) from the x axis of the first contact frame to that of the second, about the normal.  A number keeps it:
            coordinates (u1, v1, u2, v2).  None lets the bodies turn about the normal: (u1, v1, u2, v2, spin)
    start   coordinates to start from; those of the surfaces, and a spin of 90 deg, if not given
    leave   what happens where the contact leaves a surface over its edge: "error", "stop" (the run ends there) or "continue"

    Singular where both surfaces are at a pole, or where they fit so closely that their relative curvature in some direction is zero,
    such as a torus around a sphere of the size of its hole; with free spin already where one of them is at a pole.

    The surfaces' parameters get a 1 or a 2 behind their names: `joint.with_parameters(radius1=0.2)`.

    >>> import leastaction as la
    >>> joint = la.library.surface_surface(la.library.sphere(1.0), la.library.sphere(0.2))
    >>> joint.nv  # degrees of freedom
    4
    """
    _check(first, Surface, "surface_surface: first", "torus(1.0, 0.3)")
    _check(second, Surface, "surface_surface: second", "sphere(0.5)")
    _warn_if_rings_lock(first, second, spin)
    angle = _fixed_angle(spin, "surface_surface: spin")

    def pose(q: Any, sp: Any, p: Any) -> Any:
        turn = sp.rot_z(q[4] if angle is None else angle(sp))
        one = first.frame(q[0], q[1], sp, _parameters(first.parameters, p, "1"))
        two = second.frame(q[2], q[3], sp, _parameters(second.parameters, p, "2"))
        return one @ turn @ flip(sp) @ two.inverse()

    coordinates = ["u1", "v1", "u2", "v2", "spin"][: 4 if spin is not None else 5]
    return SymbolicJoint(
        f"{first.name}-{second.name}",
        pose,
        len(coordinates),
        parameters={f"{k}1": x for k, x in first.parameters.items()} | {f"{k}2": x for k, x in second.parameters.items()},
        coordinates=coordinates,
        start=[*first.start, *second.start, pi / 2][: len(coordinates)] if start is None else start,
        ranges=[*first.edges, *second.edges, None][: len(coordinates)],
        leave=leave,
    )


def surface_point(
    surface: Surface, *, spin: float | None = 0.0, carrier: str = "parent", start: ArrayLike | None = None, leave: str = "error"
) -> SymbolicJoint:
    """A point on a surface, with the contact frames aligned: a board that stays tangent to the ground.

    carrier  "parent": the surface is fixed to the parent, the body's origin slides on it, the body's z axis is its normal.
             "child": the surface is fixed to the body and slides over the origin of the joint's placement, whose z axis is its normal
    spin     angle about the normal (rad); a number keeps it, with coordinates (u, v); None makes it a third coordinate
    start    coordinates to start from
    leave    what happens where the point leaves the surface over its edge: "error", "stop" (the run ends there) or "continue"

    >>> import leastaction as la
    >>> joint = la.library.surface_point(la.library.sphere(1.0))
    >>> joint.nv  # degrees of freedom
    2
    """
    _check(surface, Surface, "surface_point: surface", "torus(1.0, 0.3)")
    frame = lambda q, sp, p: surface.frame(q[0], q[1], sp, p)
    return _sliding(f"point on {surface.name}", frame, ("u", "v"), surface, surface.start, surface.edges, spin, carrier, start, leave)


def curve_point(
    curve: Curve, *, spin: float | None = 0.0, carrier: str = "parent", start: ArrayLike | None = None, leave: str = "error"
) -> SymbolicJoint:
    """A bead on a wire: the body's origin runs along the curve, its z axis along the tangent.

    carrier  "parent": the curve is fixed to the parent; "child": it is fixed to the body and runs through the placement's origin
    spin     angle about the tangent (rad); a number keeps it, with the coordinate s; None makes it a second coordinate
    start    coordinates to start from
    leave    what happens where the point leaves the curve at an end: "error", "stop" (the run ends there) or "continue" (the expression
             of the curve goes on, whatever it is there)

    >>> import leastaction as la
    >>> joint = la.library.curve_point(la.library.bezier_curve([(0, 0, 0), (1, 0, -1), (2, 0, 0)]))
    >>> joint.nv  # degrees of freedom
    1
    """
    _check(curve, Curve, "curve_point: curve", "bezier_curve(control_points)")
    frame = lambda q, sp, p: curve.frame(q[0], sp, p)
    return _sliding(f"point on {curve.name}", frame, ("s",), curve, (curve.start,), (curve.ends,), spin, carrier, start, leave)


def _sliding(
    name: str,
    frame: Callable[..., Any],
    coordinates: tuple[str, ...],
    shape: Curve | Surface,
    at: tuple[float, ...],
    ranges: tuple[tuple[float, float] | None, ...],
    spin: float | None,
    carrier: str,
    start: ArrayLike | None,
    leave: str,
) -> SymbolicJoint:
    """The joint that follows a moving frame, or lets the frame's owner move instead."""
    one_of(carrier, _CARRIERS, f"{name}: carrier", MechanismError, "'parent' or 'child'")
    angle = _fixed_angle(spin, f"{name}: spin")

    def pose(q: Any, sp: Any, p: Any) -> Any:
        result = frame(q, sp, p) @ sp.rot_z(q[len(at)] if angle is None else angle(sp))
        return result if carrier == "parent" else result.inverse()

    names = (*coordinates, "spin") if angle is None else coordinates
    return SymbolicJoint(
        name if carrier == "parent" else f"{name} of the body",
        pose,
        len(names),
        parameters=shape.parameters,
        coordinates=names,
        start=(*at, 0.0)[: len(names)] if start is None else start,
        ranges=(*ranges, None)[: len(names)],
        leave=leave,
    )


def _check(value: Any, kind: type, what: str, example: str) -> None:
    if not isinstance(value, kind):
        raise MechanismError(f"{what} = {shown(value)} is not a {kind.__name__.lower()}; give for example la.library.{example}")


def _fixed_angle(spin: float | None, what: str) -> Callable[[Any], Any] | None:
    """The kept angle as a function of SymPy: quarter turns exactly, so that their zeros and ones fold away."""
    if spin is None:
        return None
    value = number(spin, what, MechanismError)
    quarters = round(2 * value / pi)
    if abs(value - quarters * pi / 2) < 1e-12:
        return lambda sp: quarters * sp.pi / 2
    return lambda sp: sp.Float(value)


def _parameters(own: Mapping[str, ArrayLike], p: Any, suffix: str) -> Any:
    """The parameters of one of two surfaces under the names it knows."""
    from ..symbolic.transform import Parameters

    return Parameters({key: getattr(p, key + suffix) for key in own})


def _warn_if_rings_lock(first: Surface, second: Surface, spin: float | None) -> None:
    """Two rings slide freely everywhere only if the tube of each fits through the hole of the other."""
    if first.name != "torus" or second.name != "torus":
        return
    for (outer, inner), order in (((first, second), ("second", "first")), ((second, first), ("first", "second"))):
        hole = float(outer.parameters["radius"]) - float(outer.parameters["tube"])  # type: ignore[arg-type]
        tube = float(inner.parameters["tube"])  # type: ignore[arg-type]
        if tube >= hole:
            warnings.warn(
                f"surface_surface: the tube of the {order[0]} torus, {tube:g} m, does not fit the hole of the {order[1]}, {hole:g} m: "
                "the joint is singular where they touch at a relative curvature of zero; choose radius > tube1 + tube2",
                stacklevel=3,
            )
    if spin is not None and abs(abs(spin) % pi - pi / 2) > 1e-9:
        warnings.warn(
            f"surface_surface: two tori with spin = {spin:.4g} rad have singular configurations; with spin = pi/2 they have none",
            stacklevel=3,
        )
