"""What passes through the joints: the balance of all that hangs on them, in O(n).   docs/reactions.md

Wrenches are (moment, force) about the world's origin in world axes here, so that those of different bodies can be added.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..coordinates import ties as tree
from ..coordinates.network import centres_of_mass
from ..integrators import Integrator, Maximal, Midpoint, Variational
from ..kernels.constraints import velocities as constrained
from ..kernels.maximal.evaluate import advance
from ..kernels.tree import evaluate
from ..kernels.tree import reactions as kernels
from ..kernels.tree.layout import PARENT
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Model
from .replay import Nodes, Side, both_sides, is_balanced
from .sticking import dry_friction

Array = NDArray[np.float64]


class Poses(NamedTuple):
    """Of all bodies in the world."""

    R: Array  #: (T, n+1, 3, 3)
    x: Array  #: (T, n+1, 3) origins

    def in_world(self, wrenches: Array) -> Array:
        """(T, n+1, 6) given in the axes of the bodies at their origins."""
        force = np.einsum("tnij,tnj->tni", self.R, wrenches[..., 3:])
        moment = np.einsum("tnij,tnj->tni", self.R, wrenches[..., :3]) + np.cross(self.x, force)
        return np.concatenate([moment, force], axis=-1)


class Balance(NamedTuple):
    """What the joints carry if constraints carry nothing, and what constraints carry."""

    poses: Poses
    columns: Array  #: (T, nv, 6) joint columns in the axes of the bodies
    through: Array  #: (T, n+1, 6) wrench on body i and all beyond it that nothing but joint i and constraints can supply
    multipliers: Array  #: (T, m) forces of the constraint rows that are kept


def balance(integrator: Integrator, nodes: Nodes, dt: float) -> Balance:
    """By the discrete equations of the integrator where they balance, otherwise by the continuous ones at the nodes."""
    if not is_balanced(integrator, nodes.model):
        return _continuous(nodes, dt)
    ahead, behind = both_sides(integrator, nodes, dt)
    applied, poses, columns = _applied(nodes.model, nodes.q)
    if isinstance(integrator, Midpoint):
        change, applied = _inside_the_steps(integrator, nodes, ahead, behind)
    else:
        after, laws_after = _momenta(integrator, nodes, poses, ahead)
        before, laws_before = _momenta(integrator, nodes, poses, behind)
        change = after - before
        if integrator.quadrature == "midpoint":  # type: ignore[attr-defined]
            applied = 0.5 * (_half_way(nodes, ahead) + _half_way(nodes, behind))
        applied = applied + 0.5 * (laws_after + laws_before)
    return Balance(poses, columns, change / dt - applied, (ahead.impulses - behind.impulses) / dt)


def accumulate(model: Model, wrenches: Array) -> Array:
    """(T, n+1, 6) on single bodies -> on bodies and all that hangs on them."""
    out = wrenches.copy()
    for i in range(len(model.bodies), 0, -1):
        out[:, model.tree.link[i, PARENT]] += out[:, i]
    return out


def _applied(model: Model, q: Array) -> tuple[Array, Poses, Array]:
    """Gravity, wrenches and springs between points at q (T, nq), poses and joint columns there."""
    count, n = len(q), len(model.bodies)
    out, world, columns = np.zeros((count, n + 1, 6)), np.empty((count, n + 1, 12)), np.empty((count, model.nv, 6))
    kernels.applied_wrenches(model.tree, model.make_work(), np.ascontiguousarray(q), out, world, columns)
    poses = Poses(world[..., :9].reshape(count, n + 1, 3, 3), world[..., 9:])
    return poses.in_world(out), poses, columns


def _momenta(integrator: Integrator, nodes: Nodes, poses: Poses, side: Side) -> tuple[Array, Array]:
    """Momenta that the steps leave with, and wrenches of laws on bodies during them."""
    model = nodes.model
    momenta, laws = (np.zeros((len(nodes.t), len(model.bodies) + 1, 6)) for _ in range(2))
    if isinstance(integrator, Maximal):
        com = centres_of_mass(model)
        momenta[:] = side.momenta
        momenta[..., :3] += np.cross(com, side.momenta[..., 3:])  # from the centres of mass to the origins
        laws[:] = side.laws
        return accumulate(model, poses.in_world(momenta)), accumulate(model, poses.in_world(laws))
    assert isinstance(integrator, Variational)
    retraction = RETRACTIONS[integrator.retraction]
    kernels.step_momenta(model.tree, model.make_work(), side.dt, retraction, nodes.t, nodes.q, side.d, momenta, laws)
    return poses.in_world(momenta), poses.in_world(laws)


def _half_way(nodes: Nodes, side: Side) -> Array:
    """What acts in the middle of the steps."""
    return _applied(nodes.model, _moved(nodes.model, nodes.q, 0.5 * side.d))[0]


def _moved(model: Model, q: Array, d: Array) -> Array:
    out = q.copy()
    for row, step in zip(out, d, strict=True):
        advance(model.tree, row, step)
    return out


def _inside_the_steps(integrator: Midpoint, nodes: Nodes, ahead: Side, behind: Side) -> tuple[Array, Array]:
    """Midpoint knows bodies only where it evaluates the Lagrangian: (change of their momenta from there to there, what acts on them)."""
    model, alpha = nodes.model, integrator.alpha
    found = []
    for side, fraction in ((ahead, alpha), (behind, 1.0 - alpha)):
        q, v = nodes.q + fraction * side.d, side.d / side.dt
        applied, poses, _ = _applied(model, q)
        momenta, _, laws = _motion(model, nodes.t + fraction * side.dt, q, v, np.zeros_like(v))
        found.append((poses.in_world(momenta), applied, poses.in_world(laws)))
    (after, above, laws_after), (before, below, laws_before) = found
    return after - before, (1.0 - alpha) * above + alpha * below + 0.5 * (laws_after + laws_before)


def _motion(model: Model, t: Array, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Momenta, what changes them per second, and laws on bodies, body axes."""
    momenta, inertial, laws = (np.zeros((len(t), len(model.bodies) + 1, 6)) for _ in range(3))
    scratch = np.zeros((len(model.bodies) + 1, 6))
    kernels.motion(model.tree, model.make_work(), scratch, np.ascontiguousarray(t), q, v, a, momenta, inertial, laws)
    return momenta, inertial, laws


def _continuous(nodes: Nodes, dt: float) -> Balance:
    """Accelerations and multipliers of the equations of motion at the nodes."""
    model, inputs = nodes.model, nodes.tau.mean(axis=1)
    work, scratch = model.make_work(), np.zeros((len(model.bodies) + 1, 6))
    ties = tree.make_ties(model) if model.closures else None
    a, multipliers = np.zeros_like(nodes.v), np.zeros((len(nodes.t), 0 if ties is None else len(ties.step)))

    def accelerations(k: int, forces: Array) -> Array:
        """(nv,) at node k with `forces` (nv,) in the joints beside those of the model; leaves the multipliers in the ties."""
        row, out = inputs[k].copy(), np.zeros(model.nv)
        row[: model.nv] += forces
        node = (float(nodes.t[k]), nodes.q[k], nodes.v[k], row, scratch, out)
        if ties is None:
            evaluate.forward(model.tree, work, *node)
        else:
            constrained.constrained_forward(model.tree, work, ties, *node)
        return out

    for k in range(len(nodes.t)):
        forces = np.zeros(model.nv)
        if model.tree.has_friction:
            forces = dry_friction(model.tree.friction, nodes.v[k], dt, partial(accelerations, k))
        a[k] = accelerations(k, forces)
        if ties is not None:
            multipliers[k] = ties.step
    applied, poses, columns = _applied(model, nodes.q)
    _, inertial, laws = _motion(model, nodes.t, nodes.q, nodes.v, a)
    return Balance(poses, columns, poses.in_world(inertial - laws) - applied, multipliers)
