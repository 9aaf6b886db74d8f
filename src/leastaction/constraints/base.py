"""What a constraint is: a description that the compiler turns into rows between frames.

Descriptions know nothing of integrators.  `apply(builder)` calls the methods of `builders.ConstraintBuilder`, which resolve
names; the result is a tuple of `Closure`s in the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..compiling.portable import Carrier
from ..pose import Pose
from .rows import HEIGHT, WORLD, Row

#: what kinds of equations a closure consists of; those from SKATE to SPEEDS restrict velocities, JOINT is a joint given by its pose
ROWS, GEAR, COORDINATES, SKATE, ROLLING, BALL, SPHERE, ELLIPSOID, SPEEDS, JOINT = range(10)
ON_VELOCITIES = (SKATE, ROLLING, BALL, SPHERE, ELLIPSOID, SPEEDS)


class Constraint(Carrier):
    """Base class of everything `Mechanism.add_constraint` takes.

    >>> import leastaction as la
    >>> issubclass(la.Distance, la.Constraint)  # docs/extending.md shows how to write one of yours
    True
    """

    name: str | None = None  #: what `add_constraint(..., name=...)` called it; otherwise it is called by its kind and what it connects

    def apply(self, builder) -> None:
        raise TypeError(f"{type(self).__name__} does not say what it keeps: override apply(builder)")

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
        return f"{type(self).__name__}({inside})"


@dataclass(frozen=True)
class Closure:
    """A compiled constraint: equations between two places (kernel row, pose in the frame of that row).

    >>> import leastaction as la
    >>> la.examples.four_bar().compile().closures[0].name
    "Coincident('anchor', 'tip')"
    """

    name: str  #: for messages
    kind: int  #: ROWS, GEAR, COORDINATES, SKATE, ROLLING, BALL, SPHERE, ELLIPSOID, SPEEDS or JOINT
    a: tuple[int, Pose]
    b: tuple[int, Pose]
    rows: tuple[Row, ...]
    joints: tuple[int, int] = (0, 0)  #: kernel rows of the two joints of a gear
    #: ratio and offset of a gear; radius of what rolls, on a sphere also distance of the centres and side; half axes of an ellipsoid
    numbers: tuple[float, ...] = ()
    function: Any = None  #: COORDINATES: compiled h(q, t), see symbolic/constraint_module.py; SPEEDS: g(q, v, t); JOINT: the joint
    arguments: tuple[tuple[int, int], ...] = ()  #: places of its arguments in q and in v
    driven: bool = False  #: may the function move what it holds: does h know the time, has g a part without velocities?

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def turns_with_nobody(self) -> bool:
        """Is there a row along a direction of the world?  Then it matters how both bodies together stand in it."""
        return any(row.kind == WORLD for row in self.rows)

    @property
    def holds_positions(self) -> list[bool]:
        """Which rows restrict positions, the others only velocities."""
        return [self.kind not in ON_VELOCITIES or row.kind == HEIGHT for row in self.rows]

    def row_numbers(self) -> list[list[float]]:
        """What the kernels know of every row between frames: directions in both bodies, value; kernels/maximal/layout.py."""
        if self.kind == SPHERE:
            radius, apart, side = self.numbers
            return [[apart, 0.0, 0.0, side, 0.0, 0.0, radius] for _ in self.rows]
        if self.kind == ELLIPSOID:
            return [[*(self.a[1].R @ row.u), *row.w, row.value] for row in self.rows]
        return [[*self._direction(row), *(self.b[1].R @ row.w), row.value] for row in self.rows]

    def _direction(self, row: Row) -> Any:
        """u of a row: in the axes of body A, or of the world."""
        return row.u if row.kind == WORLD else self.a[1].R @ row.u
