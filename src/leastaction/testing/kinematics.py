"""Where the bodies of a Mechanism are, from the user's own description: axes, placements and names as written.

Coordinates are arrays (..., nq) of any number type (see `matrices`); the joint order is that of `Model.bodies`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..joints import Cylindrical, Fixed, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from ..mechanism import WORLD, Body, Mechanism
from . import matrices as mat
from .matrices import Array

#: joints whose coordinates contain a unit quaternion (the last four of them)
ON_A_GROUP = (Spherical, Free)


def joint_pose(joint: Joint, q: Array) -> Array:
    """4x4 pose of the joint at the coordinates q (..., joint.nq), in the frame of its placement.

    A joint this file does not know has to say it itself, with a method `reference_pose(q)`.
    """
    zero = np.zeros(3)
    if isinstance(joint, Fixed):
        return np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
    if isinstance(joint, Revolute):
        return mat.rigid(mat.turn(joint.axis, q[..., 0]), zero)
    if isinstance(joint, Prismatic):
        return mat.rigid(np.eye(3), q * joint.axis)
    if isinstance(joint, Helical):  # pitch is metres per turn
        return mat.rigid(mat.turn(joint.axis, q[..., 0]), q / (2 * np.pi) * joint.pitch * joint.axis)
    if isinstance(joint, Cylindrical):
        return mat.rigid(mat.turn(joint.axis, q[..., 0]), q[..., 1:] * joint.axis)
    if isinstance(joint, Universal):
        return mat.rigid(mat.turn(joint.axis1, q[..., 0]) @ mat.turn(joint.axis2, q[..., 1]), zero)
    if isinstance(joint, Planar):
        hint = joint.frame()[:, 0] if joint.x_axis is None else joint.x_axis
        x = hint - joint.normal * (joint.normal @ hint)
        x = x / np.linalg.norm(x)
        y = np.cross(joint.normal, x)
        return mat.rigid(mat.turn(joint.normal, q[..., 2]), q[..., :1] * x + q[..., 1:2] * y)
    if isinstance(joint, Spherical):
        return mat.rigid(mat.quaternion_matrix(q), zero)
    if isinstance(joint, Free):
        return mat.rigid(mat.quaternion_matrix(q[..., 3:]), q[..., :3])
    return joint.reference_pose(q)  # type: ignore[attr-defined]


def varied(joint: Joint, q: Array, delta: Array) -> Array:
    """Coordinates moved by the small variation delta (..., nv), left-trivialised for ball and free joints: q exp(delta)."""
    if not isinstance(joint, ON_A_GROUP):
        return q + delta
    turned = mat.quaternion_product(q[..., -4:], mat.small_rotation(delta[..., :3]))
    if isinstance(joint, Spherical):
        return turned
    return np.concatenate([q[..., :3] + mat.times(mat.quaternion_matrix(q[..., 3:]), delta[..., 3:]), turned], -1)


def increment(joint: Joint, q0: Array, q1: Array) -> Array:
    """The increment d (..., nv) that leads from q0 to q1.

    Plain coordinates: the difference.  Ball joint: Cayley vector 2 tan(angle/2) axis of q0^-1 q1.  Free joint: that,
    and the translation in the axes of q0.
    """
    if not isinstance(joint, ON_A_GROUP):
        return q1 - q0
    turn = mat.shorter(mat.quaternion_product(mat.quaternion_inverse(q0[..., -4:]), q1[..., -4:]))
    vector = 2 * turn[..., 1:] / turn[..., :1]
    if isinstance(joint, Spherical):
        return vector
    back = np.swapaxes(mat.quaternion_matrix(q0[..., 3:]), -1, -2)
    return np.concatenate([vector, mat.times(back, q1[..., :3] - q0[..., :3])], -1)


def advanced(joint: Joint, q: Array, d: Array) -> Array:
    """q + d: inverse of `increment`.  For ball and free joints it is `varied`, whose rotation is exactly the Cayley map."""
    return varied(joint, q, d)


def middle(joint: Joint, q0: Array, q1: Array) -> Array:
    """The midpoint of a step: mean of plain coordinates and positions, half of the rotation angle."""
    if not isinstance(joint, ON_A_GROUP):
        return (q0 + q1) / 2
    turn = mat.quaternion_product(mat.quaternion_inverse(q0[..., -4:]), q1[..., -4:])
    half = mat.quaternion_product(q0[..., -4:], mat.quaternion_half(turn))
    if isinstance(joint, Spherical):
        return half
    return np.concatenate([(q0[..., :3] + q1[..., :3]) / 2, half], -1)


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
                pose = pose @ joint_pose(thing.joint, q[..., self._q_of.get(name, slice(0, 0))])
            known[name] = pose
        return known[name]

    def varied(self, q: Array, delta: Array) -> Array:
        """All joints moved by the variation delta (..., nv)."""
        return self._joint_by_joint(varied, q, delta)

    def advanced(self, q: Array, d: Array) -> Array:
        """q + d joint by joint, d (..., nv) the increment over a step."""
        return self._joint_by_joint(advanced, q, d)

    def increment(self, q0: Array, q1: Array) -> Array:
        """d (..., nv) with advanced(q0, d) = q1."""
        return np.concatenate([increment(b.joint, q0[..., qs], q1[..., qs]) for b, qs, _ in self.moving], -1)

    def middle(self, q0: Array, q1: Array) -> Array:
        """Midpoint configuration of a step."""
        return np.concatenate([middle(b.joint, q0[..., qs], q1[..., qs]) for b, qs, _ in self.moving], -1)

    def _joint_by_joint(self, function, q: Array, d: Array) -> Array:
        return np.concatenate([function(b.joint, q[..., qs], d[..., vs]) for b, qs, vs in self.moving], -1)
