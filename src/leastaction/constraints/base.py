"""What a constraint is: a description that the compiler turns into rows between frames.

Descriptions know nothing of integrators.  `apply(builder)` calls the methods of `builders.ConstraintBuilder`, which resolve
names; the result is a tuple of `Closure`s in the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..compiling.portable import Carrier
from ..pose import Pose
from .rows import Row

#: what kinds of equations a closure consists of
ROWS, GEAR, SKATE, ROLLING, COORDINATES = range(5)


class Constraint(Carrier):
    """Base class of everything `Mechanism.add_constraint` takes."""

    name: str | None = None  #: what `add_constraint(..., name=...)` called it; otherwise it is called by its kind and what it connects

    def apply(self, builder) -> None:
        raise TypeError(f"{type(self).__name__} does not say what it keeps: override apply(builder)")

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
        return f"{type(self).__name__}({inside})"


@dataclass(frozen=True)
class Closure:
    """A compiled constraint: equations between two places (kernel row, pose in the frame of that row)."""

    name: str  #: for messages
    kind: int  #: ROWS, GEAR, SKATE, ROLLING or COORDINATES
    a: tuple[int, Pose]
    b: tuple[int, Pose]
    rows: tuple[Row, ...]
    joints: tuple[int, int] = (0, 0)  #: kernel rows of the two joints of a gear
    numbers: tuple[float, ...] = ()  #: ratio and offset of a gear; radius, normal and height of a rolling disc
    function: Any = None  #: COORDINATES: compiled h(q, t), see symbolic/constraint_module.py
    arguments: tuple[tuple[int, int], ...] = ()  #: places of its arguments in q and in v

    @property
    def size(self) -> int:
        return len(self.rows)
