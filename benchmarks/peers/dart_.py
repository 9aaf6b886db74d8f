"""DART: one world.step() (semi-implicit Euler) per Python call.  No shapes, so nothing collides."""

from __future__ import annotations

import dartpy as dart
import numpy as np

import leastaction as la

from ..timing import clock
from .base import Array, Peer, WorldAxes, links_of


class WorldStep:
    """Ball joint positions are rotation vectors, free joint positions (rotation vector, translation) and velocities in world axes."""

    def __init__(self, mechanism: la.Mechanism, dt: float):
        self.links = links_of(mechanism)
        self.skeleton = dart.dynamics.Skeleton(mechanism.name)
        bodies = {0: None}
        joints, self.bodies = [], []
        for link in self.links:
            joint, body = _add(self.skeleton, bodies[link.parent], link)
            bodies[link.index] = body
            joints.append(joint)
            self.bodies.append(body)
            transform = dart.math.Isometry3()
            transform.set_rotation(link.placement.R)
            transform.set_translation(link.placement.p)
            joint.setTransformFromParentBodyNode(transform)
            body.setInertia(dart.dynamics.Inertia(link.mass, link.com, link.inertia))
        self.world = dart.simulation.World()
        self.world.setTimeStep(dt)
        self.world.setGravity(mechanism.gravity)
        self.world.addSkeleton(self.skeleton)
        self.first = [joint.getIndexInSkeleton(0) for joint in joints]
        self.axes = WorldAxes(self.links, self.first, _free_velocity)

    def set_state(self, q: Array, v: Array) -> None:
        positions = np.zeros(len(v))
        for link, start in zip(self.links, self.first, strict=True):
            own = q[link.qi : link.qi + link.joint.nq]
            if link.joint.nq >= 4:
                own = np.concatenate([_rotation_vector(own[-4:]), own[:-4]])
            positions[start : start + link.joint.nv] = own
        self.skeleton.setPositions(positions)
        self.skeleton.setVelocities(self.axes.set_state(q, v))
        self.skeleton.computeForwardDynamics()

    def timed(self, reps: int) -> float:
        step = self.world.step
        began = clock()
        for _ in range(reps):
            step()
        return (clock() - began) / reps

    def poses(self) -> Array:
        return np.array([np.array(body.getWorldTransform().matrix())[:3] for body in self.bodies])

    def mass_matrix(self) -> Array:
        return self.axes.mass_matrix(np.array(self.skeleton.getMassMatrix()))

    def acceleration(self) -> Array:
        return self.axes.acceleration(np.array(self.skeleton.getAccelerations()))


def _free_velocity(R: Array) -> Array:
    """(omega, v) in body axes -> both in world axes."""
    zero = np.zeros((3, 3))
    return np.block([[R, zero], [zero, R]])


def _rotation_vector(quaternion: Array) -> Array:
    """Axis times angle of a unit quaternion, scalar first."""
    w, u = quaternion[0], quaternion[1:]
    sine = np.linalg.norm(u)
    return 2.0 * u if sine < 1e-12 else 2.0 * np.arctan2(sine, w) / sine * u


def _add(skeleton, parent, link):
    d = dart.dynamics
    if isinstance(link.joint, la.Revolute):
        create, properties = skeleton.createRevoluteJointAndBodyNodePair, d.RevoluteJointProperties()
        properties.mAxis = link.joint.axis
    elif isinstance(link.joint, la.Prismatic):
        create, properties = skeleton.createPrismaticJointAndBodyNodePair, d.PrismaticJointProperties()
        properties.mAxis = link.joint.axis
    elif isinstance(link.joint, la.Spherical):
        create, properties = skeleton.createBallJointAndBodyNodePair, d.BallJointProperties()
    else:
        create, properties = skeleton.createFreeJointAndBodyNodePair, d.FreeJointProperties()
    properties.mName = link.name
    return create(parent, properties)


PEERS = [Peer("DART step", dart.__version__, (la.Revolute, la.Prismatic, la.Spherical, la.Free), WorldStep)]
