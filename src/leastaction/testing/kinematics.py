"""Where the bodies of a Mechanism are, from the user's own description: axes, placements and names as written.

Coordinates are arrays (..., nq) of any number type (see `matrices`); the joint order is that of `Model.bodies`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..mechanism import WORLD, Body, Mechanism
from . import matrices as mat
from .matrices import Array


class Kinematics:
    """A mechanism with the places of its joints in q and v looked up.

    Only names and coordinate counts are taken from the compiled model, for the order of the joints.
    """

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        model = mechanism.compile()
        self.nq, self.nv = model.nq, model.nv
        self.moving: list[tuple[Body, slice, slice]] = []  #: (body, its part of q, its part of v), model order
        qi = vi = 0
        for name in model.body_names:
            body = mechanism.bodies[name]
            self.moving.append((body, slice(qi, qi + body.joint.nq), slice(vi, vi + body.joint.nv)))
            qi, vi = qi + body.joint.nq, vi + body.joint.nv
        self.by_joint = {body.joint_name: (body, qs, vs) for body, qs, vs in self.moving}
        self._q_of = {body.name: qs for body, qs, _ in self.moving}

    def place(self, name: str, q: Array, known: dict[str, Array] | None = None) -> Array:
        """World pose (..., 4, 4) of a body or frame at the coordinates q (..., nq).  `known` remembers poses at the same q."""
        known = {} if known is None else known
        if name == WORLD:
            return np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        if name not in known:
            thing: Any = self.mechanism.bodies.get(name) or self.mechanism.frames[name]
            pose = self.place(thing.parent, q, known) @ mat.rigid(thing.placement.R, thing.placement.p)
            if isinstance(thing, Body):
                pose = pose @ thing.joint.reference_pose(q[..., self._q_of.get(name, slice(0, 0))])
            known[name] = pose
        return known[name]

    def varied(self, q: Array, delta: Array) -> Array:
        """All joints moved by the small variation delta (..., nv), left-trivialised for ball and free joints: q exp(delta)."""
        return self.advanced(q, delta)

    def advanced(self, q: Array, d: Array) -> Array:
        """q + d joint by joint, d (..., nv) the increment over a step."""
        return np.concatenate([b.joint.reference_advance(q[..., qs], d[..., vs]) for b, qs, vs in self.moving], -1)

    def increment(self, q0: Array, q1: Array) -> Array:
        """d (..., nv) with advanced(q0, d) = q1."""
        return np.concatenate([b.joint.reference_increment(q0[..., qs], q1[..., qs]) for b, qs, _ in self.moving], -1)

    def middle(self, q0: Array, q1: Array) -> Array:
        """Midpoint configuration of a step."""
        return np.concatenate([b.joint.reference_middle(q0[..., qs], q1[..., qs]) for b, qs, _ in self.moving], -1)
