"""How fast a mechanism can vibrate: the largest frequency of small oscillations, without a matrix.

    M x'' = -K x,   K the symmetric derivative of the forces of gravity, springs and potentials

Lanczos' method in the metric of M: every iteration takes one product K v, two evaluations of the forces, and one M^-1 y, one sweep of the
articulated-body algorithm.  O(n) each, and the largest eigenvalue is the first to be known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..checks import shown
from ..dynamics import explain_singular
from ..errors import StateError
from ..kernels.maximal.evaluate import advance
from ..kernels.tree.evaluate import forward, place_entry
from ..model import Model, takes_model

Array = NDArray[np.float64]

_REACH = 1e-5  # rad or m: of the differences that K v is made of
_EXACT = 1e-9  # relative change of the largest eigenvalue at which the iteration ends
_MOST = 200  # iterations; a chain of 1000 links needs some forty


@takes_model
def stable_step(model: Model, q: NDArray[np.float64]) -> float:
    """2 / omega of the fastest small oscillation under gravity and springs at q, s; infinite if nothing oscillates.

    Constraints, which only make a mechanism stiffer or slower in part, are not looked at.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> round(float(la.solvability.stable_step(model, model.neutral())), 3)  # s
    0.278
    """
    fastest = _largest_square(_Oscillation(model, model.coordinates(q)))
    return 2.0 / np.sqrt(fastest) if fastest > 0.0 else np.inf


class _Oscillation:
    """M and K of a model at q, as operators."""

    def __init__(self, model: Model, q: Array):
        self.model, self.q, self.work = model, np.array(q, dtype=float), model.make_work()
        self.still, self.scratch = np.zeros(model.nv), np.zeros((len(model.bodies) + 1, 6))
        self.force = self.forces(self.q)
        self.rest = self.accelerations(self.still)
        self.turning = [model.v_slice(body.joint_name) for body in model.bodies if body.joint.has_quaternion]

    def forces(self, q: Array) -> Array:
        out = np.zeros(self.model.nv)
        place_entry(self.model.tree, self.work, q, out)
        return out

    def accelerations(self, tau: Array) -> Array:
        out = np.zeros(self.model.nv)
        forward(self.model.tree, self.work, 0.0, self.q, self.still, tau, self.scratch, out)
        return out

    def by_inertia(self, y: Array) -> Array:
        """M^-1 y"""
        return self.accelerations(y) - self.rest

    def stiffness(self, v: Array) -> Array:
        """K v: the Hessian of the potential energy in exponential coordinates, which is symmetric on ball and free joints too."""
        size = float(np.abs(v).max())
        ends = []
        for reach in (_REACH / size, -_REACH / size):
            there = self.q.copy()
            advance(self.model.tree, there, reach * v)
            ends.append(self.forces(there))
        out = (ends[1] - ends[0]) * (size / (2.0 * _REACH))
        for vs in self.turning:  # half the bracket of v with the force: how the axes in which it is measured turn
            turn, moment = v[vs][:3], self.force[vs][:3]
            out[vs.start : vs.start + 3] -= 0.5 * np.cross(turn, moment)
            if vs.stop - vs.start == 6:
                way, force = v[vs][3:], self.force[vs][3:]
                out[vs.start : vs.start + 3] -= 0.5 * np.cross(way, force)
                out[vs.start + 3 : vs.stop] -= 0.5 * np.cross(turn, force)
        return out


def _largest_square(system: _Oscillation) -> float:
    """The largest eigenvalue omega^2 of M^-1 K, 1/s^2; zero or less if nothing oscillates."""
    nv = system.model.nv
    if nv == 0:
        return 0.0
    y = np.random.default_rng(0).standard_normal(nv)  # with a share of every vibration
    v = system.by_inertia(y)
    if not 0.0 < (square := float(v @ y)) < np.inf:
        why = explain_singular(system.model, system.q) or "its mass matrix is singular there"
        raise StateError(f"{system.model.name!r} has no frequencies at q = {shown(system.q)}: {why}")
    norm = np.sqrt(square)
    ways, momenta, largest = [v / norm], [y / norm], 0.0
    diagonal: list[float] = []  # of the tridiagonal matrix, and beside it
    beside: list[float] = []
    for k in range(min(nv, _MOST)):
        y = system.stiffness(ways[k])
        diagonal.append(float(ways[k] @ y))
        ritz = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
        before, largest = largest, float(ritz[-1])
        if k > 2 and abs(largest - before) <= _EXACT * abs(ritz).max():
            break
        for _ in range(2):  # twice: what rounding leaves of the directions that are known would come back
            y = y - np.array(momenta).T @ (np.array(ways) @ y)
        v = system.by_inertia(y)
        square = float(v @ y)
        if not square > 1e-24 * float(abs(ritz).max()) ** 2:  # no other direction is left
            break
        norm = np.sqrt(square)
        beside.append(norm)
        ways.append(v / norm)
        momenta.append(y / norm)
    return largest
