"""Between joint coordinates and the poses and velocities of all bodies: minimal state <-> maximal state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import instance, numbers
from ..errors import StateError
from ..kernels.maximal import evaluate as kernels
from ..kernels.maximal import layout as M
from ..model import Coordinates, Model, takes_model
from ..pose import quaternion_of_rotation, rotation_of_quaternion
from ..state import State
from .network import build

Array = NDArray[np.float64]

_HELD = 1e-6  # m or rad: what poses may violate the joints by


@dataclass(frozen=True)
class MaximalState:
    """Every body with six degrees of freedom, in the order of `model.bodies`.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> bodies = la.to_maximal(model.state(q={"link1": 0.5}))
    >>> la.to_minimal(model, bodies).q.round(6)
    array([0.5, 0. ])
    """

    t: float  #: s
    poses: Array  #: (n, 7) position and unit quaternion (x, y, z, w, x, y, z) of the body frames in the world
    twists: Array  #: (n, 6) angular velocity and velocity of the frame's origin (omega, v), body axes


def to_maximal(state: State) -> MaximalState:
    """Poses and velocities of all bodies of a state.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.to_maximal(model.state(q={"link2": 0.5})).poses[:, :3].round(6) + 0.0  # m: one body hangs at the end of the other
    array([[ 0.,  0.,  0.],
           [ 0.,  0., -1.]])
    """
    model = instance(state, State, "state", "give a State, as model.state(...) and run.state() make them").model
    network = build(model, ())
    net, flow, n = network.net, network.make_flow(), len(model.bodies)
    moving = np.zeros((n + 1, 6))
    kernels.twists_entry(model.tree, model.make_work(), net, flow, state.q, state.v, moving)
    poses, twists = np.empty((n, 7)), np.empty((n, 6))
    for i, body in enumerate(model.bodies, start=1):
        local = model.frames[body.name][1].R  # the user's axes in the kernel's; both have their origin in the joint
        R = flow.node[i, M.POSE_R : M.POSE_R + 9].reshape(3, 3)
        poses[i - 1, :3] = flow.node[i, M.POSE_X : M.POSE_X + 3] - R @ net.com[i]
        poses[i - 1, 3:] = quaternion_of_rotation(R @ local)
        omega, velocity = moving[i, :3], moving[i, 3:]
        twists[i - 1, :3] = local.T @ omega
        twists[i - 1, 3:] = local.T @ (velocity - np.cross(omega, net.com[i]))
    return MaximalState(state.t, poses, twists)


@takes_model
def to_minimal(model: Model, bodies: MaximalState, near: Coordinates = None) -> State:
    """Joint coordinates and velocities of poses and velocities; angles are those closest to `near` (zero if left out).

    Poses that violate a joint by more than 1e-6 m or rad are an error.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> bodies = la.to_maximal(model.state(q={"link1": 0.5}, v={"link2": 1.0}))
    >>> la.to_minimal(model, bodies).v.round(6) + 0.0
    array([0., 1.])
    """
    bodies = instance(bodies, MaximalState, "bodies", "give what to_maximal(state) returned")
    n = len(model.bodies)
    poses, twists = numbers(bodies.poses, "poses", StateError, (n, 7)), numbers(bodies.twists, "twists", StateError, (n, 6))
    network = build(model, ())
    net, flow = network.net, network.make_flow()
    moving = np.zeros((n + 1, 6))
    for i, body in enumerate(model.bodies, start=1):
        local = model.frames[body.name][1].R
        R = rotation_of_quaternion(poses[i - 1, 3:]) @ local.T
        flow.node[i, M.POSE_R : M.POSE_R + 9] = R.ravel()
        flow.node[i, M.POSE_W : M.POSE_W + 4] = quaternion_of_rotation(R)
        flow.node[i, M.POSE_X : M.POSE_X + 3] = poses[i - 1, :3] + R @ net.com[i]
        moving[i, :3] = local @ twists[i - 1, :3]
        moving[i, 3:] = local @ twists[i - 1, 3:] + np.cross(moving[i, :3], net.com[i])
    flow.q[:] = model.coordinates(near)
    q, v, errors = np.empty(model.nq), np.empty(model.nv), np.zeros(len(net.row))
    kernels.minimal_entry(model.tree, net, flow, moving, q, v, errors)
    if len(errors) and np.abs(errors).max() > _HELD:
        row = int(np.argmax(np.abs(errors)))
        joint = int(np.searchsorted(net.con[:, M.FIRST_ROW], row, side="right")) - 1
        raise StateError(
            f"the poses violate joint {model.bodies[joint].joint_name!r} by {errors[row]:.3g} m or rad; give poses that the joints allow"
        )
    return model.state(q=q, v=v, t=bodies.t)
