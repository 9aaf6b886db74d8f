"""The same motion by MuJoCo, for `leastaction compare`: a semi-implicit Euler step, without contacts, limits and soft constraints.

It gets the mechanism as URDF text from our own writer, without shapes: MuJoCo would open whatever files a robot names.
"""

from __future__ import annotations

import time
from copy import copy
from typing import Any

import numpy as np

import leastaction as la

from ..analysis.conservation import one_sided_change
from ..errors import FormatError, StateError
from ..io.urdf import write

NAME = "MuJoCo Euler"


def installed() -> bool:
    try:
        import mujoco  # noqa: F401
    except ImportError:
        return False
    return True


def measured(mechanism: la.Mechanism, model: la.Model, state: la.State, dt: float, duration: float) -> dict[str, Any]:
    """Energy error and drift, time per step; or why there is none."""
    try:
        theirs = _model(mechanism, model, dt)
    except (FormatError, StateError, ValueError) as error:  # ValueError: MuJoCo's own, of inertias and masses it does not take
        return {"refused": str(error).splitlines()[0]}
    import mujoco

    data = mujoco.MjData(theirs)
    _set_state(theirs, data, model, state)
    mujoco.mj_forward(theirs, data)
    energy = [float(data.energy.sum())]
    steps = max(int(round(duration / dt)), 1)
    elapsed = 0.0
    for _ in range(steps):
        began = time.perf_counter()
        mujoco.mj_step(theirs, data)
        elapsed += time.perf_counter() - began
        mujoco.mj_energyPos(theirs, data)
        mujoco.mj_energyVel(theirs, data)
        energy.append(float(data.energy.sum()))
    change = np.array(energy) - energy[0]
    return {
        "largest energy error": float(np.abs(change).max()), "energy drift": one_sided_change(change), "constraint error": 0.0,
        "seconds per step": elapsed / steps, "message": "finished",
    }  # fmt: skip


def _model(mechanism: la.Mechanism, model: la.Model, dt: float) -> Any:
    import mujoco

    if model.closures:
        raise StateError("couplings and loops are soft in MuJoCo, and its URDF reader drops them")
    bare = copy(mechanism)
    bare.shapes, bare.limits = [], {}
    theirs = mujoco.MjModel.from_xml_string(write(bare))
    theirs.opt.timestep = dt
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    theirs.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    missing = [name for name in model.joint_names if mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_JOINT, name) < 0]
    if missing or theirs.nv != model.nv:
        raise StateError(f"MuJoCo made {theirs.nv} degrees of freedom of {model.nv}; it does not know joints {missing}")
    for name in model.joint_names:  # its URDF reader knows no rotors
        first = theirs.jnt_dofadr[mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_JOINT, name)]
        armature = model.tree.armature[model.v_slice(name)]
        theirs.dof_armature[first : first + len(armature)] = armature
    return theirs


def _set_state(theirs: Any, data: Any, model: la.Model, state: la.State) -> None:
    import mujoco

    for name in model.joint_names:
        joint = mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_JOINT, name)
        q, v = state.q[model.q_slice(name)], state.v[model.v_slice(name)]
        at, moving = theirs.jnt_qposadr[joint], theirs.jnt_dofadr[joint]
        if len(q) == 7:  # theirs: linear velocity first, in the axes of the world
            R = la.dynamics.pose(model, state.q, model.bodies[model.joint_names.index(name)].name).R
            v = np.concatenate([R @ v[3:], v[:3]])
        data.qpos[at : at + len(q)], data.qvel[moving : moving + len(v)] = q, v
