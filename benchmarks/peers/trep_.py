"""trep: a step of its midpoint variational integrator.  The release on PyPI is written for Python 2; a port has to be at hand."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import trep

import leastaction as la

from ..timing import clock
from .base import Array, Link, Peer, links_of

# trep's tolerance is absolute and 1e-10 is below what rounding lets it reach from 20 links on
TOLERANCE = 1e-9


class MidpointStep:
    """`MidpointVI.step`, one Python call per step, one thread."""

    def __init__(self, mechanism: la.Mechanism, dt: float):
        self.dt = dt
        self.links = links_of(mechanism)
        self.system = trep.System()
        frames = {0: self.system.world_frame}
        for link in self.links:
            frames[link.index] = _add(frames[link.parent], link)
        trep.potentials.Gravity(self.system, tuple(mechanism.gravity))
        self.integrator = trep.MidpointVI(self.system, tolerance=TOLERANCE, num_threads=1)
        # where each of our coordinates stands in trep's
        names = [config.name for config in self.system.configs]
        self.order = np.array([names.index(link.name) for link in self.links])

    def set_state(self, q: Array, v: Array) -> None:
        theirs_q, theirs_v = np.zeros(len(q)), np.zeros(len(q))
        theirs_q[self.order], theirs_v[self.order] = q, v
        self.system.set_state(q=theirs_q, dq=theirs_v, t=0.0)
        momentum = self._mass_matrix() @ theirs_v
        self.integrator.initialize_from_state(0.0, theirs_q, momentum)
        self.steps = 0

    def timed(self, reps: int) -> float:
        step, dt, first = self.integrator.step, self.dt, self.steps
        began = clock()
        for k in range(first + 1, first + reps + 1):
            step(k * dt)
        self.steps += reps
        return (clock() - began) / reps

    def _mass_matrix(self) -> Array:
        configs = self.system.configs
        upper = np.zeros((len(configs), len(configs)))
        for i, a in enumerate(configs):
            for j in range(i, len(configs)):
                upper[i, j] = self.system.L_ddqddq(a, configs[j])
        return upper + np.triu(upper, 1).T

    def mass_matrix(self) -> Array:
        return self._mass_matrix()[np.ix_(self.order, self.order)]

    def acceleration(self) -> Array:
        return np.array([self.system.f(config) for config in self.system.configs])[self.order]


def _add(parent, link: Link):
    """Frames of a link: placement, joint, and a frame at the centre of mass along the principal axes."""
    moves = (trep.RX, trep.RY, trep.RZ) if isinstance(link.joint, la.Revolute) else (trep.TX, trep.TY, trep.TZ)
    aligned = [k for k in range(3) if np.array_equal(link.joint.axis, np.eye(3)[k])]
    # an axis that is not a coordinate axis: turn to the joint's canonical frame and back
    turned = np.eye(3) if aligned else link.joint.frame()
    frame = _fixed(parent, link.placement.R @ turned, link.placement.p)
    frame = trep.Frame(frame, moves[aligned[0] if aligned else 2], link.name)
    frame = _fixed(frame, turned.T, np.zeros(3))
    if np.array_equal(link.inertia, np.diag(np.diag(link.inertia))):
        moments, axes = np.diag(link.inertia), np.eye(3)
    else:
        moments, axes = np.linalg.eigh(link.inertia)
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    _fixed(frame, axes, link.com, always=True).set_mass(link.mass, *moments)
    return frame


def _fixed(parent, R: Array, p: Array, always: bool = False):
    """A frame at (R, p); none if it is not needed, a plain translation if that will do: trep is fastest with few simple frames."""
    if np.array_equal(R, np.eye(3)):
        for transform, length in zip((trep.TX, trep.TY, trep.TZ), p, strict=True):
            if length != 0.0:
                parent, always = trep.Frame(parent, transform, float(length)), False
        return trep.Frame(parent, trep.TX, 0.0) if always else parent
    return trep.Frame(parent, trep.CONST_SE3, (R[:, 0], R[:, 1], R[:, 2], p))


def _version() -> str:
    try:
        return importlib.metadata.version("trep")
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(trep, "__version__", "unknown"))


PEERS = [
    Peer(
        "trep step", _version(), (la.Revolute, la.Prismatic), MidpointStep,
        max_dofs=20, max_dofs_because="tens of milliseconds per step and more, growing with about nv^3",
        note="the release on PyPI is for Python 2 and does not build; measured with its sources ported mechanically to Python 3",
    )
]  # fmt: skip
