"""MuJoCo: one step, semi-implicit Euler (its default) or RK4, many steps per Python call.

Contacts are off; pinned points are soft, as MuJoCo has them.
"""

from __future__ import annotations

import mujoco
import numpy as np

import leastaction as la

from ..timing import clock
from .base import Array, Link, Peer, WorldAxes, links_of

_TYPES = {la.Revolute: "hinge", la.Prismatic: "slide", la.Spherical: "ball", la.Free: "free"}


class Step:
    """`mj_step` on a model compiled from a string.  Free joint: linear velocity in world axes, angular in body axes."""

    def __init__(self, mechanism: la.Mechanism, dt: float, integrator: str):
        self.links = links_of(mechanism)
        self.model = compiled(mechanism, self.links, dt, integrator)
        self.data = mujoco.MjData(self.model)
        joints = [self.model.joint(link.name) for link in self.links]
        self.first_q = [int(j.qposadr[0]) for j in joints]
        self.axes = WorldAxes(self.links, [int(j.dofadr[0]) for j in joints], _free_velocity)

    def set_state(self, q: Array, v: Array) -> None:
        for link, start in zip(self.links, self.first_q, strict=True):
            self.data.qpos[start : start + link.joint.nq] = q[link.qi : link.qi + link.joint.nq]
        self.data.qvel[:] = self.axes.set_state(q, v)
        self.data.qacc_warmstart[:] = 0.0
        self.data.time = 0.0
        mujoco.mj_forward(self.model, self.data)

    def timed(self, reps: int) -> float:
        began = clock()
        mujoco.mj_step(self.model, self.data, nstep=reps)
        seconds = (clock() - began) / reps
        if self.data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
            raise FloatingPointError("MuJoCo became unstable while it was timed; the times are of no use")
        return seconds

    def poses(self) -> Array:
        mujoco.mj_kinematics(self.model, self.data)
        bodies = [self.data.body(link.name) for link in self.links]
        return np.array([np.column_stack([body.xmat.reshape(3, 3), body.xpos]) for body in bodies])

    def mass_matrix(self) -> Array:
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        return self.axes.mass_matrix(full)

    def acceleration(self) -> Array:
        return self.axes.acceleration(self.data.qacc)


def _free_velocity(R: Array) -> Array:
    """(omega, v) in body axes -> (v in world axes, omega in body axes)."""
    zero = np.zeros((3, 3))
    return np.block([[zero, R], [np.eye(3), zero]])


def compiled(mechanism: la.Mechanism, links: list[Link], dt: float, integrator: str):
    """The mechanism as a model of MuJoCo; constraints between points become `connect`."""
    text = mjcf(mechanism, links, dt, integrator)
    if not mechanism.constraints:
        return mujoco.MjModel.from_xml_string(text)
    spec = mujoco.MjSpec.from_string(text.replace('constraint="disable"', 'constraint="enable"'))
    own = mechanism.compile()
    for constraint in mechanism.constraints:
        for name in (constraint.a, constraint.b):
            link, pose = own.frames[name]
            body = own.bodies[link - 1].name if link else "world"
            place = own.frames[body][1].inverse() @ pose if link else pose
            if name not in [site.name for site in spec.sites]:
                spec.body(body).add_site(name=name, pos=place.p)
        spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE, name1=constraint.a, name2=constraint.b)
    return spec.compile()


def mjcf(mechanism: la.Mechanism, links: list[Link], dt: float, integrator: str) -> str:
    """The mechanism as MJCF, without geometry."""
    children: dict[int, list[Link]] = {}
    for link in links:
        children.setdefault(link.parent, []).append(link)
    text = [
        f'<mujoco><compiler angle="radian"/><option timestep="{dt!r}" integrator="{integrator}" gravity="{_numbers(mechanism.gravity)}">'
        '<flag contact="disable" constraint="disable"/></option><worldbody>'
    ]
    stack: list[Link | str] = list(reversed(children.get(0, [])))
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            text.append(item)
            continue
        I = item.inertia
        full = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        kind = _TYPES[type(item.joint)]
        axis = f' axis="{_numbers(item.joint.axis)}"' if kind in ("hinge", "slide") else ""
        quaternion = la.pose.quaternion_of_rotation(item.placement.R)
        text.append(
            f'<body name="{item.name}" pos="{_numbers(item.placement.p)}" quat="{_numbers(quaternion)}">'
            f'<joint name="{item.name}" type="{kind}"{axis}/>'
            f'<inertial pos="{_numbers(item.com)}" mass="{item.mass!r}" fullinertia="{_numbers(full)}"/>'
        )
        stack.append("</body>")
        stack.extend(reversed(children.get(item.index, [])))
    return "".join(text) + "</worldbody></mujoco>"


def _numbers(values) -> str:
    return " ".join(repr(float(x)) for x in values)


def _peer(name: str, integrator: str) -> Peer:
    return Peer(
        name, mujoco.__version__, tuple(_TYPES), lambda mechanism, dt: Step(mechanism, dt, integrator),
        max_dofs=400, max_dofs_because="its XML reader does not nest that deep", loops=True,
    )  # fmt: skip


PEERS = [_peer("MuJoCo Euler", "Euler"), _peer("MuJoCo RK4", "RK4")]
