"""The same mechanisms in MuJoCo, an engine that balances forces and closes loops by soft constraints.

Johnson and Murphey compare with the Open Dynamics Engine, which is not on PyPI.  Like it, MuJoCo computes accelerations and pulls
constraints
back after they were violated.  Default settings, but for the integrator; bodies without inertia get 1e-9 kg m^2, which MuJoCo needs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import leastaction as la

Array = NDArray[np.float64]
SMALLEST = 1e-9  # kg m^2


@dataclass(frozen=True)
class Run:
    t: Array
    q: Array  #: (T, nq) in the order of leastaction
    energy: Array  #: J
    seconds: float  #: of computing


def simulate(mechanism: la.Mechanism, q, dt: float, duration: float, integrator: str = "Euler", every: int = 1) -> Run:
    """From rest at q; what is recorded every `every` steps."""
    import mujoco

    model, order = build(mechanism, dt, integrator)
    data = mujoco.MjData(model)
    data.qpos[order] = mechanism.compile().coordinates(q)
    mujoco.mj_forward(model, data)
    count = round(duration / dt / every)
    t, path, energy = np.empty(count + 1), np.empty((count + 1, model.nq)), np.empty(count + 1)
    seconds = 0.0
    for k in range(count + 1):
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
        t[k], path[k], energy[k] = data.time, data.qpos[order], data.energy.sum()
        began = time.perf_counter()
        mujoco.mj_step(model, data, nstep=every)
        seconds += time.perf_counter() - began
    return Run(t, path, energy, seconds)


def build(mechanism: la.Mechanism, dt: float, integrator: str) -> tuple[Any, list[int]]:
    """(model, places of our coordinates in theirs).  Constraints between points become `connect`."""
    import mujoco
    from benchmarks.peers.base import links_of
    from benchmarks.peers.mujoco_ import compiled

    links = [replace(link, inertia=link.inertia + SMALLEST * np.eye(3)) for link in links_of(mechanism)]
    model = compiled(mechanism, links, dt, integrator)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    return model, [int(model.joint(link.name).qposadr[0]) for link in links]
