"""Constraints.  A new one is a new file: a description with `apply(builder)`, made of the rows in `rows.py`."""

from .base import Closure, Constraint
from .close import Close
from .coincident import Coincident
from .distance import Distance
from .gear import Gear
from .point_on_plane import PointOnPlane
from .rolling import Rolling
from .screw import Screw
from .skate import Skate
from .symbolic import Cam, Prescribed, SymbolicConstraint
from .tree import jacobian, values

__all__ = [
    "Cam", "Close", "Closure", "Coincident", "Constraint", "Distance", "Gear", "PointOnPlane", "Prescribed", "Rolling", "Screw", "Skate",
    "SymbolicConstraint", "jacobian", "values",
]  # fmt: skip
