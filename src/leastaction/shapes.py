"""Shapes of bodies: what a viewer draws and what a file says that could touch.  They have no mass; nothing here moves a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .checks import number, numbers, one_of, shown
from .checks import path as checked_path
from .errors import MechanismError
from .pose import Pose

VISUAL, COLLISION = "visual", "collision"


class Shape:
    """Base of all shapes."""


@dataclass(frozen=True)
class Box(Shape):
    """A box around the origin of its frame.

    >>> import leastaction as la
    >>> mech = la.examples.double_pendulum()
    >>> _ = mech.add_shape("lower", la.Box(size=(0.4, 0.3, 0.2)), la.Pose(xyz=(0, 0, -0.5)), color=(0.8, 0.3, 0.2))
    """

    size: Sequence[float]  #: edges along x, y, z, m

    def __post_init__(self) -> None:
        size = numbers(self.size, "Box size", MechanismError, (3,))
        for edge in size:
            _positive(edge, "Box size")
        object.__setattr__(self, "size", tuple(size.tolist()))


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball around the origin of its frame.

    >>> import leastaction as la
    >>> mech = la.examples.double_pendulum()
    >>> _ = mech.add_shape("lower", la.Sphere(radius=0.1), la.Pose(xyz=(0, 0, -0.5)), color=(0.8, 0.3, 0.2))
    """

    radius: float  #: m

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive(self.radius, "Sphere radius"))


@dataclass(frozen=True)
class Cylinder(Shape):
    """A cylinder around the z axis of its frame, its middle at the origin.

    >>> import leastaction as la
    >>> mech = la.examples.double_pendulum()
    >>> _ = mech.add_shape("lower", la.Cylinder(radius=0.05, length=0.4), la.Pose(xyz=(0, 0, -0.5)), color=(0.8, 0.3, 0.2))
    """

    radius: float  #: m
    length: float  #: m

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive(self.radius, f"{type(self).__name__} radius"))
        object.__setattr__(self, "length", _positive(self.length, f"{type(self).__name__} length"))


@dataclass(frozen=True)
class Capsule(Cylinder):
    """A cylinder with a half ball on each end; `length` is that of the cylinder between them.

    >>> import leastaction as la
    >>> mech = la.examples.double_pendulum()
    >>> _ = mech.add_shape("lower", la.Capsule(radius=0.05, length=0.4), la.Pose(xyz=(0, 0, -0.5)), color=(0.8, 0.3, 0.2))
    """


@dataclass(frozen=True)
class Mesh(Shape):
    """Triangles from a file (STL, OBJ, DAE, glTF), read when they are drawn.

    >>> import leastaction as la
    >>> mech = la.examples.double_pendulum()
    >>> _ = mech.add_shape("lower", la.Mesh("part.stl", scale=(1e-3, 1e-3, 1e-3)))  # a file in millimetres
    """

    path: Path
    scale: Sequence[float] = (1.0, 1.0, 1.0)  #: by which the file's coordinates are multiplied; negative ones mirror

    def __post_init__(self) -> None:
        scale = numbers(self.scale, "Mesh scale", MechanismError, (3,))
        if not scale.all():
            raise MechanismError(f"Mesh scale = {shown(self.scale)} flattens the mesh; it needs three numbers that are not zero")
        object.__setattr__(self, "scale", tuple(scale.tolist()))
        object.__setattr__(self, "path", checked_path(self.path, "Mesh path", MechanismError))


@dataclass(frozen=True)
class PlacedShape:
    """A shape on a body."""

    body: str  #: name of a body or frame, or "world"
    shape: Shape
    placement: Pose  #: of the shape's frame in that of the body
    color: tuple[float, float, float, float] | None  #: red, green, blue, opacity, each 0 to 1; None: the viewer chooses
    role: str  #: VISUAL: drawn; COLLISION: what could touch


def not_simulated(shapes: Sequence[PlacedShape]) -> tuple[str, ...]:
    """What a simulation does not do about shapes, in sentences."""
    touching = [placed for placed in shapes if placed.role == COLLISION]
    if not touching:
        return ()
    bodies = len({placed.body for placed in touching})
    several = "s" * (len(touching) > 1)
    return (
        f"{len(touching)} collision shape{several} on {bodies} bod{'ies' if bodies > 1 else 'y'} {'are' if several else 'is'} "
        "not simulated: bodies pass through each other and through the ground",
    )


def place(body: str, shape: Shape, placement: Pose | None, color: Sequence[float] | None, role: str) -> PlacedShape:
    where = f"shape of {body!r}"
    if not isinstance(shape, Shape):
        raise MechanismError(f"{where}: {shown(shape)} is not a shape; give for example Box(size=(0.1, 0.1, 0.5))")
    if placement is not None and not isinstance(placement, Pose):
        raise MechanismError(f"{where}: placement = {shown(placement)} is not a Pose; give for example Pose(xyz=(0, 0, 1))")
    one_of(role, (VISUAL, COLLISION), f"{where}: role", MechanismError, f"{VISUAL!r} (drawn) or {COLLISION!r} (what could touch)")
    return PlacedShape(body, shape, placement or Pose(), None if color is None else _color(color, where), role)


def _color(color: Sequence[float], where: str) -> tuple[float, float, float, float]:
    given = numbers(color, f"{where}: color", MechanismError)
    if given.shape not in ((3,), (4,)) or given.min() < 0.0 or given.max() > 1.0:
        raise MechanismError(f"{where}: color = {shown(color)}; it needs red, green, blue and optionally opacity, each from 0 to 1")
    r, g, b, *opacity = given.tolist()
    return r, g, b, opacity[0] if opacity else 1.0


def _positive(value: float, what: str) -> float:
    result = number(value, what, MechanismError)
    if result <= 0.0:
        raise MechanismError(f"{what} = {shown(value)} m; it needs a positive number")
    return result
