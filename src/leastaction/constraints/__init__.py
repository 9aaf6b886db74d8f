"""Constraints.  A new one is a new file: a description with `apply(builder)`, made of the rows in `rows.py`."""

from .base import Closure, Constraint
from .close import Close
from .coincident import Coincident
from .distance import Distance
from .gear import Gear
from .rolling import Rolling
from .skate import Skate
from .tree import jacobian, values

__all__ = ["Close", "Closure", "Coincident", "Constraint", "Distance", "Gear", "Rolling", "Skate", "jacobian", "values"]
