"""Surfaces: what a contact needs to know of a shape is its contact frame at (u, v)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import ArrayLike

from ..checks import name as checked_name
from ..checks import number, numbers, shown
from ..errors import MechanismError
from .bezier import blend, slopes, weights


@dataclass(frozen=True)
class Surface:
    """A surface by its contact frame: origin in the point, x along growing u, z along the normal, which leads out of the body.

    frame       function (u, v, sp, p) -> transform in the words of `SymbolicJoint`
    parameters  numbers or arrays the frame reads as p.name
    start       (u, v) a joint starts at unless told otherwise
    edges       ranges of u and of v that it is described in; None: it goes on

    >>> import leastaction as la
    >>> la.library.sphere(0.5).name
    'sphere'
    """

    name: str
    frame: Callable[..., Any]
    parameters: Mapping[str, ArrayLike] = field(default_factory=dict)
    start: tuple[float, float] = (0.0, 0.0)
    edges: tuple[tuple[float, float] | None, tuple[float, float] | None] = (None, None)

    def inside(self) -> Surface:
        """The same surface touched from its other side, such as the inner wall of a bowl."""
        outer = self.frame
        return replace(self, name=f"inside of {self.name}", frame=lambda u, v, sp, p: outer(u, v, sp, p) @ flip(sp))


def flip(sp: Any) -> Any:
    """Half a turn about x: two surfaces touch with opposite normals."""
    return sp.frame((1, 0, 0), (0, -1, 0), (0, 0, -1))


def surface(
    name: str,
    point: Callable[..., Any],
    *,
    parameters: Mapping[str, ArrayLike] | None = None,
    start: tuple[float, float] = (0.0, 0.0),
    edges: tuple[tuple[float, float] | None, tuple[float, float] | None] = (None, None),
) -> Surface:
    """A surface of your own.

    point  function (u, v, sp, p) -> (x, y, z), metres.  The frame follows from it: x = dp/du made a unit vector, z the normal
           dp/du x dp/dv; if that leads into the body, use `.inside()`
    edges  ranges of u and of v that it is described in, if it has edges: see `surface_point`

    Singular where dp/du and dp/dv are parallel or one of them vanishes: start elsewhere.

    >>> saddle = surface("saddle", lambda u, v, sp, p: (u, v, p.bend * u * v), parameters={"bend": 0.5})
    """
    checked_name(name, "name of a surface")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise MechanismError(f"surface {name!r}: parameters = {shown(parameters)}; give numbers by name, as in {{'bend': 0.5}}")

    def frame(u: Any, v: Any, sp: Any, p: Any) -> Any:
        # derivatives need symbols, u and v may be expressions
        s, t = sp.Symbol("surface_u", real=True), sp.Symbol("surface_v", real=True)
        at = sp.Matrix(list(point(s, t, sp, p)))
        here, along_u, along_v = (part.xreplace({s: u, t: v}) for part in (at, at.diff(s), at.diff(t)))
        return contact_frame(here, along_u, along_v, sp)

    return Surface(name, frame, dict(parameters or {}), start, edges)


def contact_frame(point: Any, along_u: Any, along_v: Any, sp: Any) -> Any:
    """Orthonormal frame in the point: x along u, z = normal, y = z x x with the double cross product written out."""
    normal = along_u.cross(along_v)
    length, area = sp.sqrt(along_u.dot(along_u)), sp.sqrt(normal.dot(normal))
    y = (length * along_v - (along_u.dot(along_v) / length) * along_u) / area
    return sp.frame(along_u / length, y, normal / area, point)


def unit(vector: Any, sp: Any) -> Any:
    return vector / sp.sqrt(vector.dot(vector))


def sphere(radius: float) -> Surface:
    """u = longitude, v = latitude; at the poles v = +-90 deg, on the z axis, u only turns about the normal.

    >>> import leastaction as la
    >>> joint = la.library.surface_point(la.library.sphere(radius=0.5), spin=None)
    >>> joint.nv  # degrees of freedom
    3
    """

    def frame(u: Any, v: Any, sp: Any, p: Any) -> Any:
        return sp.rot_z(u) @ sp.rot_y(-v) @ _touching(p.radius, sp)

    return Surface("sphere", frame, {"radius": positive(radius, "sphere radius")})


def torus(radius: float, tube: float) -> Surface:
    """Axis z; u runs around the axis at `radius`, v around the tube: 0 is the outermost circle, 180 deg the innermost.

    >>> import leastaction as la
    >>> joint = la.library.surface_point(la.library.torus(radius=1.0, tube=0.3))
    >>> joint.nv  # degrees of freedom
    2
    """
    radius, tube = positive(radius, "torus radius"), positive(tube, "torus tube")
    if tube >= radius:
        raise MechanismError(f"torus: tube = {tube:g} m closes the hole of a ring of radius = {radius:g} m; it needs tube < radius")

    def frame(u: Any, v: Any, sp: Any, p: Any) -> Any:
        return sp.rot_z(u) @ sp.move(p.radius, 0, 0) @ sp.rot_y(-v) @ _touching(p.tube, sp)

    return Surface("torus", frame, {"radius": radius, "tube": tube})


def _touching(distance: Any, sp: Any) -> Any:
    """Contact frame at (distance, 0, 0) with normal x, u towards y and v towards z."""
    return sp.frame((0, 1, 0), (0, 0, 1), (1, 0, 0), origin=(distance, 0, 0))


def ellipsoid(a: float, b: float, c: float) -> Surface:
    """Half axes along x, y, z; p = (a cos v cos u, b cos v sin u, c sin v); at the poles u only turns about the normal.

    The tangent along u is written without its factor cos v, so the frame is smooth through the poles.

    >>> import leastaction as la
    >>> joint = la.library.surface_point(la.library.ellipsoid(0.5, 0.4, 0.3), spin=None)
    >>> joint.nv  # degrees of freedom
    3
    """

    def frame(u: Any, v: Any, sp: Any, p: Any) -> Any:
        cu, su, cv, sv = sp.cos(u), sp.sin(u), sp.cos(v), sp.sin(v)
        x = unit(sp.Matrix([-p.a * su, p.b * cu, 0]), sp)
        z = unit(sp.Matrix([p.b * p.c * cv * cu, p.a * p.c * cv * su, p.a * p.b * sv]), sp)
        return sp.frame(x, z.cross(x), z, origin=(p.a * cv * cu, p.b * cv * su, p.c * sv))

    return Surface("ellipsoid", frame, {key: positive(x, f"ellipsoid {key}") for key, x in (("a", a), ("b", b), ("c", c))})


def bezier_surface(control_points: ArrayLike, start: tuple[float, float] = (0.5, 0.5)) -> Surface:
    """A Bezier surface over 0 <= u, v <= 1 with control points (m, n, 3), metres; the paper's has 5 x 5.

    The points are a parameter: `joint.with_parameters(control_points=...)` needs no new code.

    >>> import leastaction as la
    >>> import numpy as np
    >>> x, y = np.meshgrid([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], indexing="ij")
    >>> bowl = la.library.bezier_surface(np.stack([x, y, x**2 + y**2], axis=-1))
    >>> la.library.surface_point(bowl).nv
    2
    """
    points = numbers(control_points, "bezier_surface: control_points", MechanismError)
    if points.ndim != 3 or points.shape[2] != 3 or min(points.shape[:2]) < 2:
        raise MechanismError(f"bezier_surface: control_points have shape {points.shape}; they need (m, n, 3), m and n >= 2: (5, 5, 3)")

    m, n = points.shape[0] - 1, points.shape[1] - 1

    def frame(u: Any, v: Any, sp: Any, p: Any) -> Any:
        rows = [blend(weights(n, v), row, sp) for row in p.control_points]
        rows_along_v = [blend(slopes(n, v), row, sp) for row in p.control_points]
        at, along_u, along_v = blend(weights(m, u), rows, sp), blend(slopes(m, u), rows, sp), blend(weights(m, u), rows_along_v, sp)
        return contact_frame(at, along_u, along_v, sp)

    return Surface("Bezier surface", frame, {"control_points": points}, start, ((0.0, 1.0), (0.0, 1.0)))


def positive(value: float, what: str) -> float:
    result = number(value, what, MechanismError)
    if result <= 0.0:
        raise MechanismError(f"{what} = {shown(value)} m; it needs a length > 0")
    return result
