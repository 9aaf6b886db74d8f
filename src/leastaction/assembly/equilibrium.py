"""Where a mechanism stays at rest, and the small vibrations about it, with constraints.

At rest the forces f(q) are carried by the constraints: f + C' lam = 0, C their Jacobian.  On a basis N of the motions they allow,
    N' K N x = w^2 N' M N x,    K = -d(f + C' lam)/dq with lam kept
are the undamped vibrations.  K is taken by differences along the increments of the joints, so ball and free joints are no exception.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import listed
from ..dynamics import mass_matrix
from ..errors import SingularMassError, StateError
from ..kernels.maximal.evaluate import advance
from ..kernels.tree import evaluate
from ..model import Model
from .closing import assemble
from .equations import TreeClosing

Array = NDArray[np.float64]

_WIDTH = 1e-5  # rad or m, of the differences
_MOST = 200  # iterations
_LONGEST = 0.3  # rad or m, of a correction
_AT_REST = 1e-9  # of the size of the forces: what is left of them at rest
_SOFT = 1e-8  # of the largest stiffness: less is none
_SYMMETRIC = 1e-5  # of the largest stiffness: by which forces with a potential may seem to have none


@dataclass(frozen=True)
class Modes:
    """Small undamped vibrations about an equilibrium, slowest first."""

    q: Array  #: (nq,) the equilibrium
    squares: Array  #: (k,) squared angular frequencies, rad^2/s^2; negative ones grow, those about zero move freely
    shapes: Array  #: (nv, k) motions of the joints, with kinetic energy 1/2 J per unit velocity
    names: tuple[str, ...]  #: of the joints

    @property
    def omega(self) -> Array:
        """(k,) angular frequencies, rad/s; zero where nothing leads back, NaN where the equilibrium is unstable."""
        return np.sqrt(np.where(self.squares < -self._none, np.nan, np.where(self.squares > self._none, self.squares, 0.0)))

    @property
    def _none(self) -> float:
        """Squares this small are rounding."""
        return _SOFT * float(np.abs(self.squares).max(initial=0.0))

    @property
    def frequencies(self) -> Array:
        """(k,) Hz; NaN where the equilibrium is unstable."""
        return self.omega / (2.0 * np.pi)

    @property
    def stable(self) -> bool:
        """Does every motion lead back?"""
        return bool(np.all(self.squares > self._none))

    def __repr__(self) -> str:
        listing = ", ".join(f"{f:.4g}" for f in self.frequencies[:6]) + (", ..." if len(self.squares) > 6 else "")
        return f"<Modes: {len(self.squares)}, {listing} Hz, {'stable' if self.stable else 'not stable'}>"


class _Rest:
    """Forces, constraints and stiffness of a model that does not move."""

    def __init__(self, model: Model, tau: Array, t: float, held: tuple[str, ...] = ()):
        self.model, self.tau, self.t = model, tau, t
        self._work, self._scratch = model.make_work(), np.zeros((len(model.bodies) + 1, 6))
        self._closing = TreeClosing(model, t) if model.closures else None
        freedoms = [j for name in held for j in range(*model.v_slice(name).indices(model.nv))]
        self._held = np.eye(model.nv)[freedoms]

    def forces(self, q: Array) -> Array:
        """(nv,) all forces at rest, without those of constraints."""
        a = np.zeros(self.model.nv)
        evaluate.forward(self.model.tree, self._work, self.t, q, np.zeros(self.model.nv), self.tau, self._scratch, a)
        if not np.all(np.isfinite(a)):
            raise SingularMassError(f"forces of {self.model.name!r} are not finite at q = {q}; is a part of it massless?")
        return mass_matrix(self.model, q) @ a

    def rows(self, q: Array) -> Array:
        """(m, nv) what carries forces: constraints, and joints that are held."""
        own = [] if self._closing is None else [self._closing.jacobian(q)]
        return np.concatenate([*own, self._held])

    def carried(self, q: Array) -> tuple[Array, Array, Array]:
        """Forces, multipliers of the rows that carry them as far as they can, and a basis (nv, k) of the motions the rows allow."""
        force, rows = self.forces(q), self.rows(q)
        _, values, right = np.linalg.svd(rows)
        rank = int(np.sum(values > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)))
        lam: Array = np.asarray(np.linalg.lstsq(rows.T, -force, rcond=1e-9)[0], dtype=np.float64)
        return force, lam, right[rank:].T

    def stiffness(self, q: Array, lam: Array) -> Array:
        """(nv, nv) K = -d(f + C' lam)/dq."""
        K = np.empty((self.model.nv, self.model.nv))
        for j in range(self.model.nv):
            ends = []
            for width in (_WIDTH, -_WIDTH):
                moved, d = q.copy(), np.zeros(self.model.nv)
                d[j] = width
                advance(self.model.tree, moved, d)
                ends.append(self.forces(moved) + self.rows(moved).T @ lam)
            K[:, j] = (ends[1] - ends[0]) / (2.0 * _WIDTH)
        return K

    def size(self, force: Array, q: Array) -> float:
        """What is left of the forces is compared with it."""
        weight = float(np.linalg.norm(self.model.gravity)) * np.sqrt(float(np.trace(mass_matrix(self.model, q))))
        return max(float(np.abs(force).max(initial=0.0)), float(np.abs(self.tau).max(initial=0.0)), weight, 1e-300)


def equilibrium(model: Model, q: Array, hold: tuple[str, ...] = (), tau: Array | None = None, t: float = 0.0) -> Array:
    """Coordinates near q at which nothing moves: Newton's method along directions in which the potential falls."""
    rest = _Rest(model, np.zeros(model.nv) if tau is None else tau, t, hold)
    left, basis = np.zeros(0), np.zeros((model.nv, 0))
    for _ in range(_MOST):
        q = assemble(model, q, hold, t)
        force, lam, basis = rest.carried(q)
        left = basis.T @ force
        if np.abs(left).max(initial=0.0) <= _AT_REST * rest.size(force, q):
            return q
        K = rest.stiffness(q, lam)
        values, vectors = np.linalg.eigh(basis.T @ (0.5 * (K + K.T)) @ basis)
        steep = np.maximum(np.abs(values), _SOFT * max(float(np.abs(values).max()), 1e-300))
        step = basis @ (vectors @ ((vectors.T @ left) / steep))
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
        q = q.copy()
        advance(model.tree, q, step)
    pushed = basis @ left
    worst = max(model.joint_names, key=lambda name: float(np.abs(pushed[model.v_slice(name)]).max()))
    raise StateError(
        f"no equilibrium of {model.name!r} was found from here: joint {worst!r} is still pushed by "
        f"{np.abs(pushed[model.v_slice(worst)]).max():.3g} N or N m; does anything hold it?  Give a q closer to where it rests, or "
        f"hold=({worst!r},)"
    )


def modes(model: Model, q: Array, hold: tuple[str, ...] = (), tau: Array | None = None, t: float = 0.0) -> Modes:
    """Small vibrations about the equilibrium q."""
    rest = _Rest(model, np.zeros(model.nv) if tau is None else tau, t, hold)
    force, lam, basis = rest.carried(q)
    left = basis.T @ force
    if np.abs(left).max(initial=0.0) > 1e3 * _AT_REST * rest.size(force, q):
        raise StateError(
            f"q is not an equilibrium of {model.name!r}: forces of up to {np.abs(left).max():.3g} N or N m are left; give "
            "q=model.equilibrium(q)"
        )
    K = rest.stiffness(q, lam)
    reduced, mass = basis.T @ K @ basis, basis.T @ mass_matrix(model, q) @ basis
    if np.abs(reduced - reduced.T).max(initial=0.0) > _SYMMETRIC * max(float(np.abs(reduced).max(initial=0.0)), 1e-300):
        names = listed([type(f).__name__ for f in model.description.forces] if model.description else [])
        raise StateError(f"the forces of {model.name!r} ({names}) have no potential at q, so there are no modes; use la.linearize")
    root = np.linalg.inv(np.linalg.cholesky(mass))
    squares, vectors = np.linalg.eigh(root @ (0.5 * (reduced + reduced.T)) @ root.T)
    return Modes(q, squares, basis @ root.T @ vectors, model.joint_names)
