"""What a peer is, the description adapters translate from, and the check every adapter has to pass before it is timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import leastaction as la
from leastaction.joints import Fixed

Array = NDArray[np.float64]


class AdapterError(AssertionError):
    """An adapter built a different mechanism from the one it was given: its times would mean nothing."""


class PeerModel(Protocol):
    """A mechanism inside a peer.  q, v and all results use leastaction's order and conventions."""

    def set_state(self, q: Array, v: Array) -> None: ...

    def timed(self, reps: int) -> float:
        """Seconds per call by `timing.clock`, mean of `reps` calls made one after the other."""
        ...

    def mass_matrix(self) -> Array | None:
        """(nv, nv) at the state set, or None if the peer does not tell."""
        ...

    def acceleration(self) -> Array | None:
        """(nv,) at the state set without joint forces, or None if the peer does not tell."""
        ...


class Mover(Protocol):
    """A peer that makes steps, to see where they lead."""

    links: list[Link]

    def set_state(self, q: Array, v: Array) -> None: ...

    def timed(self, reps: int) -> float:
        """Make `reps` steps; seconds per step."""
        ...

    def poses(self) -> Array:
        """(links, 3, 4) rotation and position of every link in the world after the last step, in the user's frames."""
        ...


@dataclass(frozen=True)
class Peer:
    """A column of the benchmark."""

    name: str  #: what is timed, for example "pin.aba"
    version: str  #: of the package
    joints: tuple[type, ...]  #: joints the adapter translates
    build: Callable[[la.Mechanism, float], PeerModel]  #: (mechanism, dt)
    max_dofs: int = 10**9  #: larger models need too much memory or time
    max_dofs_because: str = ""
    loops: bool = False  #: does the adapter translate pinned points?
    note: str = ""  #: what a reader of the table has to know

    def supports(self, mechanism: la.Mechanism) -> str:
        """Empty if the peer can run the mechanism, otherwise the reason why not."""
        dofs = 0
        for body in mechanism.bodies.values():
            if not isinstance(body.joint, (Fixed, *self.joints)):
                return f"no {type(body.joint).__name__} joint"
            if isinstance(body.joint, la.Free) and (body.parent != "world" or not _is_identity(body.placement)):
                return "free joint not at the origin of the world"
            dofs += body.joint.nv
        if mechanism.forces:
            return "forces are not translated"
        if mechanism.constraints and not self.loops:
            return "loops are not translated"
        return self.max_dofs_because if dofs > self.max_dofs else ""


@dataclass(frozen=True)
class Link:
    """A moving body with everything that is fixed to it, in the user's frame of that body."""

    index: int  #: 1, 2, ... in the order of leastaction's q and v
    parent: int  #: index of the parent link, 0 is the world
    name: str
    joint: la.joints.Joint
    placement: la.Pose  #: joint at zero coordinates in the parent link's frame
    mass: float
    com: Array  #: (3,)
    inertia: Array  #: (3, 3) about the com
    qi: int  #: first coordinate and first degree of freedom in leastaction's q and v
    vi: int


def links_of(mechanism: la.Mechanism) -> list[Link]:
    """The tree with rigid parts merged, in the user's frames, parents first."""
    model = mechanism.compile()
    row = {0: "world"} | {i: b.name for i, b in enumerate(model.bodies, start=1)}
    in_link = {name: (i, _user_frame(model, row[i]) @ pose) for name, (i, pose) in model.frames.items()}
    links = []
    for i, body in enumerate(model.bodies, start=1):
        parent, pose = in_link[body.parent]
        parts = [b for b in mechanism.bodies.values() if in_link[b.name][0] == i]
        mass, com, inertia = _merge([(b.mass, b.com, b.inertia, in_link[b.name][1]) for b in parts])
        links.append(
            Link(i, parent, body.name, body.joint, pose @ body.placement, mass, com, inertia,
                 model.q_slice(body.joint_name).start, model.v_slice(body.joint_name).start)
        )  # fmt: skip
    return links


def _user_frame(model: la.Model, body_name: str) -> la.Pose:
    """Canonical frame of a kernel row in the user's frame of its body."""
    return model.frames[body_name][1].inverse()


def _merge(parts: list[tuple[float, Array, Array, la.Pose]]) -> tuple[float, Array, Array]:
    mass = sum(m for m, *_ in parts)
    if mass == 0.0:
        return 0.0, np.zeros(3), sum((pose.R @ inertia @ pose.R.T for *_, inertia, pose in parts), np.zeros((3, 3)))
    centres = [pose.p + pose.R @ com for _, com, _, pose in parts]
    com = sum(m * c for (m, *_), c in zip(parts, centres, strict=True)) / mass
    inertia = np.zeros((3, 3))
    for (m, _, own, pose), centre in zip(parts, centres, strict=True):
        arm = centre - com
        inertia += pose.R @ own @ pose.R.T + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return mass, com, inertia


def _is_identity(pose: la.Pose) -> bool:
    return bool(np.array_equal(pose.R, np.eye(3)) and np.array_equal(pose.p, np.zeros(3)))


def verify(peer: Peer, built: PeerModel, model: la.Model, q: Array, v: Array, tolerance: float = 1e-9) -> float:
    """Compare mass matrix and acceleration at (q, v) with leastaction; returns the largest relative error.

    Accelerations are compared through the forces they belong to, |M a + bias| against |M| |a| + |bias|: the mass matrices
    of long chains are so badly conditioned that two correct accelerations differ.
    """
    built.set_state(q, v)
    ours = la.dynamics.mass_matrix(model, q)
    errors = {}
    theirs = built.mass_matrix()
    if theirs is not None:
        errors["mass matrix"] = np.abs(theirs - ours).max() / np.abs(ours).max()
    theirs = built.acceleration()
    if theirs is not None:
        bias = la.dynamics.inverse(model, q, v, np.zeros(model.nv))
        terms = (np.abs(ours) @ np.abs(theirs) + np.abs(bias)).max()
        errors["acceleration"] = np.abs(ours @ theirs + bias).max() / terms
    if not errors:
        raise AdapterError(f"{peer.name} on {model.name!r}: nothing to compare, give the adapter mass_matrix() or acceleration()")
    for what, error in errors.items():
        if not error <= tolerance:
            raise AdapterError(
                f"{peer.name} on {model.name!r}: its {what} differs from leastaction's by {error:.2g} relative (allowed {tolerance:g}); "
                "the adapter describes another mechanism, compare joint axes, placements and inertias"
            )
    return float(max(errors.values()))


class WorldAxes:
    """Velocities of peers whose free joints have their linear velocity in world axes: theirs = matrix @ ours.

    first  where each link's velocities start in the peer
    free   R -> (6, 6), from our body twist (omega, v) to the peer's velocities of a free joint turned by R
    """

    def __init__(self, links: list[Link], first: list[int], free: Callable[[Array], Array]):
        self.links, self.first, self.free = links, first, free

    def set_state(self, q: Array, v: Array) -> Array:
        """The peer's velocities at (q, v)."""
        self.v = v.copy()
        self.matrix = np.zeros((len(v), len(v)))
        for link, start in zip(self.links, self.first, strict=True):
            n = link.joint.nv
            R = la.Pose(quaternion=q[link.qi + 3 : link.qi + 7]).R if isinstance(link.joint, la.Free) else None
            self.matrix[start : start + n, link.vi : link.vi + n] = np.eye(n) if R is None else self.free(R)
        return self.matrix @ v

    def mass_matrix(self, theirs: Array) -> Array:
        return self.matrix.T @ theirs @ self.matrix

    def acceleration(self, theirs: Array) -> Array:
        """d/dt (R v) = R (a + omega x v), so the linear acceleration of a free joint in body axes is less by omega x v."""
        a = np.linalg.solve(self.matrix, theirs)
        for link in self.links:
            if isinstance(link.joint, la.Free):
                omega, velocity = self.v[link.vi : link.vi + 3], self.v[link.vi + 3 : link.vi + 6]
                a[link.vi + 3 : link.vi + 6] -= np.cross(omega, velocity)
        return a
