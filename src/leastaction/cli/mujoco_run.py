"""The same motion by MuJoCo, for `leastaction compare`: a semi-implicit Euler step, without contacts and limits.

It gets the mechanism as text from our own writer, without shapes: MuJoCo would open whatever files a robot names.  Its loops are soft.
"""

from __future__ import annotations

import time
from copy import copy
from typing import Any

import numpy as np

import leastaction as la

from ..analysis.conservation import one_sided_change
from ..errors import FormatError
from ..io.mjcf import write

NAME = "MuJoCo Euler"
_LOOKS = 1000  # at the constraints, on the way


def installed() -> bool:
    try:
        import mujoco  # noqa: F401
    except ImportError:
        return False
    return True


def measured(mechanism: la.Mechanism, model: la.Model, state: la.State, dt: float, duration: float) -> dict[str, Any]:
    """Energy error and drift, time per step; or why there is none."""
    try:
        theirs = _model(mechanism, dt)
    except (FormatError, ValueError) as error:  # ValueError: MuJoCo's own
        return {"refused": str(error).splitlines()[0]}
    import mujoco

    data = mujoco.MjData(theirs)
    _set_state(theirs, data, model, state)
    mujoco.mj_forward(theirs, data)
    energy = [float(data.energy.sum())]
    steps = max(int(round(duration / dt)), 1)
    elapsed, closure = 0.0, 0.0
    for step in range(steps):
        began = time.perf_counter()
        mujoco.mj_step(theirs, data)
        elapsed += time.perf_counter() - began
        mujoco.mj_energyPos(theirs, data)
        mujoco.mj_energyVel(theirs, data)
        energy.append(float(data.energy.sum()))
        if model.closures and step % -(-steps // _LOOKS) == 0:
            closure = max(closure, float(np.abs(la.constraints.values(model, _coordinates(theirs, data, model))).max()))
    change = np.array(energy) - energy[0]
    return {
        "largest energy error": float(np.abs(change).max()), "energy drift": one_sided_change(change), "constraint error": closure,
        "seconds per step": elapsed / steps, "message": "finished",
    }  # fmt: skip


def _model(mechanism: la.Mechanism, dt: float) -> Any:
    import mujoco

    bare = copy(mechanism)
    bare.shapes, bare.limits, bare.keyframes = [], {}, {}
    theirs = mujoco.MjModel.from_xml_string(write(bare))
    theirs.opt.timestep = dt
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    theirs.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    return theirs


def _places(theirs: Any, model: la.Model) -> list[tuple[slice, slice, slice, slice]]:
    """Where the joints stand: in our q and v, in their qpos and qvel."""
    found = []
    for body in model.bodies:
        q, v, first = model.q_slice(body.joint_name), model.v_slice(body.joint_name), body.joint_name
        if body.joint.nv > 1 and not body.joint.has_quaternion:  # written as joints one after the other
            first = f"{body.joint_name} {body.joint.coordinates[0]}"
        at, moving = theirs.joint(first).qposadr[0], theirs.joint(first).dofadr[0]
        found.append((q, v, slice(at, at + q.stop - q.start), slice(moving, moving + v.stop - v.start)))
    return found


def _set_state(theirs: Any, data: Any, model: la.Model, state: la.State) -> None:
    for body, (q, v, qpos, qvel) in zip(model.bodies, _places(theirs, model), strict=True):
        rates = state.v[v]
        if isinstance(body.joint, la.Free):  # theirs: linear velocity first, in the axes of the world
            rates = np.concatenate([la.dynamics.pose(model, state.q, body.name).R @ rates[3:], rates[:3]])
        data.qpos[qpos], data.qvel[qvel] = state.q[q], rates


def _coordinates(theirs: Any, data: Any, model: la.Model) -> Any:
    q = model.neutral()
    for ours, _, qpos, _ in _places(theirs, model):
        q[ours] = data.qpos[qpos]
    return q
