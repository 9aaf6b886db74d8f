"""Pinocchio: one call of the articulated-body algorithm from Python (it has no integrator of its own)."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import leastaction as la

from ..timing import clock
from .base import Array, Peer, links_of


class Aba:
    """`pin.aba` on a model built in memory.  Quaternions (x, y, z, w); free joint v = (linear, angular)."""

    def __init__(self, mechanism: la.Mechanism, dt: float):
        self.links = links_of(mechanism)
        self.model = pin.Model()
        self.model.gravity.linear = mechanism.gravity
        joint_of = {0: 0}
        for link in self.links:
            joint_of[link.index] = self.model.addJoint(
                joint_of[link.parent], _joint(link.joint), pin.SE3(link.placement.R, link.placement.p), link.name
            )
            inertia = pin.Inertia(link.mass, link.com, link.inertia)
            self.model.appendBodyToJoint(joint_of[link.index], inertia, pin.SE3.Identity())
        self.data = self.model.createData()
        self.q, self.v, self.tau = pin.neutral(self.model), np.zeros(self.model.nv), np.zeros(self.model.nv)
        # where each entry of our v stands in Pinocchio's
        self.order = np.arange(self.model.nv)
        for link in self.links:
            start = self.model.joints[joint_of[link.index]].idx_v
            own = [3, 4, 5, 0, 1, 2] if isinstance(link.joint, la.Free) else range(link.joint.nv)
            for j, k in enumerate(own):
                self.order[link.vi + j] = start + k
        self.start_q = [self.model.joints[joint_of[link.index]].idx_q for link in self.links]

    def set_state(self, q: Array, v: Array) -> None:
        for link, start in zip(self.links, self.start_q, strict=True):
            own = q[link.qi : link.qi + link.joint.nq].copy()
            if link.joint.nq >= 4:  # ours is scalar first
                own[-4:] = own[[-3, -2, -1, -4]]
            self.q[start : start + link.joint.nq] = own
        self.v[self.order] = v

    def timed(self, reps: int) -> float:
        aba, model, data, q, v, tau = pin.aba, self.model, self.data, self.q, self.v, self.tau
        began = clock()
        for _ in range(reps):
            aba(model, data, q, v, tau)
        return (clock() - began) / reps

    def mass_matrix(self) -> Array:
        upper = np.triu(pin.crba(self.model, self.data, self.q))
        full = upper + np.triu(upper, 1).T
        return full[np.ix_(self.order, self.order)]

    def acceleration(self) -> Array:
        return np.array(pin.aba(self.model, self.data, self.q, self.v, self.tau))[self.order]


def _joint(joint: la.joints.Joint):
    if isinstance(joint, la.Revolute):
        return _along(joint.axis, (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ), pin.JointModelRevoluteUnaligned)
    if isinstance(joint, la.Prismatic):
        return _along(joint.axis, (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ), pin.JointModelPrismaticUnaligned)
    if isinstance(joint, la.Spherical):
        return pin.JointModelSpherical()
    return pin.JointModelFreeFlyer()


def _along(axis: Array, aligned: tuple, unaligned):
    """Pinocchio is fastest with the joint made for a coordinate axis: give it that one where it fits."""
    for k in range(3):
        if np.array_equal(axis, np.eye(3)[k]):
            return aligned[k]()
    return unaligned(axis)


PEERS = [
    Peer(
        "pin.aba", pin.__version__, (la.Revolute, la.Prismatic, la.Spherical, la.Free), Aba,
        max_dofs=400, max_dofs_because="its memory grows with nv^3, 1.7 GB at 300",
    )
]  # fmt: skip
