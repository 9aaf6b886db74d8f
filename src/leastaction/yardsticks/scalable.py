"""The variational step of Johnson and Murphey (2009, "trep") as a comparator: residual and momenta of a model.

The mechanism becomes a tree of frames, each moved by one coordinate; joints with several plain coordinates become several
frames with nothing in between.  See yardsticks/svi.py for the recursions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..coordinates.frames import make_frames
from ..errors import MechanismError, StateError
from ..model import Coordinates, Model
from . import svi as kernels

Array = NDArray[np.float64]

EVALUATIONS = {"matrices": kernels.MATRICES, "twists": kernels.TWISTS}


class ScalableVariational:
    """Residual -D1 Ld(q, q + d) - p and momentum D2 Ld(q, q + d) of Ld = h L(q + d/2, d/h).

    evaluation   "matrices": products of homogeneous matrices, as in the paper; "twists": adjoints of 6-vectors, faster
    primitive    True: constant transformations are frames of their own, one translation or rotation about an axis each, and
                 every mass sits in a frame at its centre, as the paper requires (R1); False: they are merged, faster
    """

    def __init__(self, model: Model, evaluation: str = "matrices", primitive: bool = False):
        if evaluation not in EVALUATIONS:
            raise StateError(f"evaluation = {evaluation!r}; it is one of {', '.join(repr(k) for k in EVALUATIONS)}")
        self.model = model
        _refuse_forces(model)
        self.evaluation = EVALUATIONS[evaluation]
        self.frames = make_frames(model, primitive)
        self.scratch = kernels.make_scratch(self.frames)

    def residual(self, q: ArrayLike, d: ArrayLike, p: ArrayLike, h: float) -> Array:
        """(nv,) what is missing in the momentum p at q to make the step d in h seconds."""
        model = self.model
        out = np.empty(model.nv)
        kernels.residual(
            self.frames, self.scratch, model.coordinates(q), model.velocities(d, "d"), model.velocities(p, "p"), float(h),
            self.evaluation, out,
        )  # fmt: skip
        return out

    def momentum(self, q: ArrayLike, d: ArrayLike, h: float) -> Array:
        """(nv,) momentum at the end of the step."""
        out = np.empty(self.model.nv)
        kernels.next_momentum(
            self.frames, self.scratch, self.model.coordinates(q), self.model.velocities(d, "d"), float(h), self.evaluation, out
        )  # fmt: skip
        return out


def svi_residual(model: Model, q0: Coordinates, q1: Coordinates, q2: Coordinates, dt: float, tau: Coordinates = None) -> Array:
    """Momentum leaving q1 towards q2 minus momentum arriving at q1 from q0, (nv,); tau acts on both steps."""
    svi = ScalableVariational(model)
    a, b, c = model.coordinates(q0), model.coordinates(q1), model.coordinates(q2)
    arriving = svi.momentum(a, b - a, dt)
    return svi.residual(b, c - b, arriving, dt) - dt * model.velocities(tau, "tau")


def _refuse_forces(model: Model) -> None:
    tree = model.tree
    acting = (tree.wrench_on, tree.custom, tree.law_on, tree.pair_on, tree.energy_at)
    if tree.has_armature or tree.has_dampers or model.is_actuated or any(map(len, acting)):
        raise MechanismError(
            f"model {model.name!r} has dampers, servos, friction, wrenches, user forces or potentials, springs between points or an "
            'armature, but Johnson and Murphey\'s residual is here for gravity and joint springs only; use residual="drnea"'
        )
