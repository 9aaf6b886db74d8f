"""Two points in one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks import names, numbers, one_of, shown
from ..errors import MechanismError
from ..joints.base import unit_vector
from .base import Constraint
from .rows import POINT, WORLD, Row

AXES = ("frame", "world")


class Coincident(Constraint):
    """The origins of two frames coincide, or only along the given `directions`, one to three of them.

    axes    whose the directions are: "frame", those of frame a, which turn with it; or "world"

    A planar loop needs the two directions of its plane: Coincident("tip", "anchor", directions=[(1, 0, 0), (0, 0, 1)]).

    >>> import leastaction as la
    >>> mech = la.examples.chain(3)
    >>> _ = mech.add_frame("anchor", placement=la.Pose(xyz=(1.5, 0, 0)))
    >>> _ = mech.add_constraint(la.Coincident("tip", "anchor", directions=[(1, 0, 0), (0, 0, 1)]))
    >>> model = mech.compile()
    >>> q = model.assemble({"link1": 0.3, "link2": -1.5, "link3": -1.2})
    >>> la.dynamics.pose(model, q, "tip").p.round(6) + 0.0
    array([1.5, 0. , 0. ])
    """

    def __init__(self, a: str, b: str, directions: ArrayLike | None = None, axes: str = "frame"):
        names(type(self).__name__, a, b)
        self.a, self.b, self.axes = a, b, one_of(axes, AXES, f"Coincident({a!r}, {b!r}): axes", MechanismError)
        what = f"Coincident({a!r}, {b!r}): directions"
        given = np.eye(3) if directions is None else np.atleast_2d(numbers(directions, what, MechanismError))
        if given.ndim != 2 or given.shape[1] != 3 or not 1 <= len(given) <= 3:
            raise MechanismError(f"{what} = {shown(directions)} has shape {given.shape}; give one to three vectors of three numbers")
        self.directions = np.array([unit_vector(d, what) for d in given])
        if np.linalg.svd(self.directions, compute_uv=False)[-1] < 1e-6:
            raise MechanismError(f"{what} = {shown(directions)} do not span {len(given)} dimensions; leave one out")

    def apply(self, builder) -> None:
        # three directions say that the points coincide, whoever turns
        fixed = self.axes == "world" and len(self.directions) < 3
        kind, of = (WORLD, " of the world") if fixed else (POINT, "")
        rows = tuple(Row(kind, f"position along {tuple(np.round(d, 3).tolist())}{of}", tuple(d.tolist())) for d in self.directions)
        builder.add_rows(f"Coincident({self.a!r}, {self.b!r})", self.a, self.b, rows)
