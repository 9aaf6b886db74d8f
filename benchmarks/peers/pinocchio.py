"""Pinocchio: one call of the articulated-body algorithm from Python.  It has no integrator of its own; Runge-Kutta around it is `Rk4`."""

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
        self.joint_of = joint_of
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


class Rk4(Aba):
    """Steps of the classical Runge-Kutta method around `pin.aba`, from Python, as its users write them.

    Quaternions are integrated as coordinates and brought back to length one, so that the order is 4 with ball and free joints too.
    """

    def __init__(self, mechanism: la.Mechanism, dt: float):
        super().__init__(mechanism, dt)
        self.dt = dt
        self.balls: list[tuple[int, int, int]] = []  # where the translation (-1: none), quaternion and turning of such a joint stand
        for link, start in zip(self.links, self.start_q, strict=True):
            turning = self.model.joints[self.joint_of[link.index]].idx_v
            if isinstance(link.joint, la.Free):
                self.balls.append((start, start + 3, turning + 3))
            elif isinstance(link.joint, la.Spherical):
                self.balls.append((-1, start, turning))
        self.plain = [  # (coordinate, velocity) of all others
            (start + k, self.model.joints[self.joint_of[link.index]].idx_v + k)
            for link, start in zip(self.links, self.start_q, strict=True)
            for k in range(link.joint.nv)
            if not isinstance(link.joint, (la.Free, la.Spherical))
        ]
        self.flat = np.array(self.plain, dtype=int).reshape(-1, 2).T

    def _rates(self, q: Array, v: Array) -> Array:
        """dq/dt"""
        if not self.balls:
            return v
        rate = np.empty_like(q)
        rate[self.flat[0]] = v[self.flat[1]]
        for place, turn, turning in self.balls:
            x, y, z, w = q[turn : turn + 4]
            a, b, c = v[turning : turning + 3]
            rate[turn : turn + 4] = (
                0.5 * (w * a + y * c - z * b), 0.5 * (w * b + z * a - x * c), 0.5 * (w * c + x * b - y * a), -0.5 * (x * a + y * b + z * c),
            )  # fmt: skip
            if place >= 0:
                rotation = pin.Quaternion(w, x, y, z).normalized().toRotationMatrix()
                rate[place : place + 3] = rotation @ v[turning - 3 : turning]
        return rate

    def timed(self, reps: int) -> float:
        aba, model, data, tau, h, rates = pin.aba, self.model, self.data, self.tau, self.dt, self._rates
        place = (lambda q: pin.normalize(model, q)) if self.balls else (lambda q: q)
        q, v = self.q, self.v
        began = clock()
        for _ in range(reps):
            q1, a1 = rates(q, v), aba(model, data, q, v, tau).copy()
            vb = v + h / 2 * a1
            qb = place(q + h / 2 * q1)
            q2, a2 = rates(qb, vb), aba(model, data, qb, vb, tau).copy()
            vc = v + h / 2 * a2
            qc = place(q + h / 2 * q2)
            q3, a3 = rates(qc, vc), aba(model, data, qc, vc, tau).copy()
            vd = v + h * a3
            qd = place(q + h * q3)
            q4, a4 = rates(qd, vd), aba(model, data, qd, vd, tau)
            q = place(q + h / 6 * (q1 + 2 * q2 + 2 * q3 + q4))
            v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        seconds = (clock() - began) / reps
        self.q, self.v = q, v
        return seconds

    def poses(self) -> Array:
        pin.forwardKinematics(self.model, self.data, self.q)
        places = [self.data.oMi[self.joint_of[link.index]] for link in self.links]
        return np.array([np.column_stack([pose.rotation, pose.translation]) for pose in places])


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
