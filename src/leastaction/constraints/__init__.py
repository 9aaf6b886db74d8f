"""Constraints.  A new one is a new file: a description with `apply(builder)`, made of the rows in `rows.py`."""

from .base import Closure, Constraint
from .close import Close
from .coincident import Coincident
from .distance import Distance
from .gear import Gear
from .point_on_plane import PointOnPlane
from .rolling import Rolling, RollingBall, RollingEllipsoid
from .screw import Screw
from .skate import Skate
from .symbolic import Cam, Prescribed, SymbolicConstraint, VelocityConstraint

__all__ = [
    "Cam", "Close", "Closure", "Coincident", "Constraint", "Distance", "Gear", "PointOnPlane", "Prescribed", "Rolling", "RollingBall",
    "RollingEllipsoid",    "Screw", "Skate", "SymbolicConstraint", "VelocityConstraint", "jacobian", "values",
]  # fmt: skip


def values(model, q, t: float = 0.0):
    """(m,) h(q) of all constraints of a model, m or rad.

    >>> import leastaction as la
    >>> model = la.examples.four_bar().compile()
    >>> bool(abs(la.constraints.values(model, model.assemble())).max() < 1e-9)  # m: the loop is closed
    True
    """
    from ..coordinates.ties import values as evaluate

    return evaluate(model, q, t)


def jacobian(model, q, t: float = 0.0):
    """(m, nv) Dh(q): the constraints allow the joint velocities v with jacobian @ v = 0 (if they do not depend on time).

    >>> import leastaction as la
    >>> model = la.examples.four_bar().compile()
    >>> la.constraints.jacobian(model, model.assemble()).shape  # two rows, three angles
    (2, 3)
    """
    from ..coordinates.ties import jacobian as evaluate

    return evaluate(model, q, t)
