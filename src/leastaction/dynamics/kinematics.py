"""Where things are and how they move, at one configuration or at many: frames, centre of mass, centroidal momentum.

q (nq,) or {joint: values} gives results of one configuration, q (T, nq) those of T of them, time first.  Twists are (angular, linear), the
linear part that of the frame's origin; momenta are (angular, linear), the angular part about the centre of mass; all in world axes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import listed, numbers, shown
from ..errors import StateError
from ..kernels.tree import evaluate
from ..kernels.tree.layout import ETA, INERTIA, MASS, MOMENT, NV, PARENT, VI
from ..model import Coordinates, Model, takes_model
from ..pose import quaternion_of_rotation

Array = NDArray[np.float64]


class Configurations:
    """Configurations of a model, one after the other: poses and joint columns of all bodies."""

    def __init__(self, model: Model, q: Any):
        self.model = model
        self.single = not (isinstance(q, (np.ndarray, list, tuple)) and numbers(q, "q", StateError, finite=False).ndim == 2)
        self.q = _rows(model.coordinates(q)[None] if self.single else q, model.nq, "q")
        self._work = model.make_work()

    def __len__(self) -> int:
        return len(self.q)

    @cached_property
    def _placed(self) -> tuple[Array, Array]:
        """(T, n+1, 12) poses of the bodies in the world, (T, nv, 6) joint columns in body axes."""
        tree, work = self.model.tree, self._work
        world, columns = np.empty((len(self), *work.world.shape)), np.empty((len(self), *work.S0.shape))
        for k, q in enumerate(self.q):
            evaluate.world(tree, work, q)
            world[k], columns[k] = work.world, work.S0
        return world, columns

    @property
    def R(self) -> Array:
        """(T, n+1, 3, 3) body axes in the world; row 0 is the world."""
        return self._placed[0][..., :9].reshape(len(self), -1, 3, 3)

    @property
    def p(self) -> Array:
        """(T, n+1, 3) body origins in the world, m."""
        return self._placed[0][..., 9:]

    @cached_property
    def columns(self) -> Array:
        """(T, nv, 6) twist of everything beyond the joint per unit velocity of each freedom, at the world origin, world axes."""
        link, own = self.model.tree.link, self._placed[1]
        rows = np.repeat(np.arange(1, len(link)), link[1:, NV])
        angular = np.einsum("tjab,tjb->tja", self.R[:, rows], own[..., :3])
        linear = np.einsum("tjab,tjb->tja", self.R[:, rows], own[..., 3:]) + np.cross(self.p[:, rows], angular)
        return np.concatenate([angular, linear], axis=-1)

    def motions(self, v: Array, a: Array) -> tuple[Array, Array]:
        """(T, n+1, 6) twists of the bodies and their accelerations, body axes at the body origins."""
        tree, work, n = self.model.tree, self._work, len(self.model.bodies)
        twists, accelerations = np.zeros((len(self), n + 1, 6)), np.zeros((len(self), n + 1, 6))
        forces = np.zeros(self.model.nv)
        for k in range(len(self)):
            evaluate.inverse(tree, work, self.q[k], v[k], a[k], accelerations[k], forces)
            twists[k] = work.row[:, ETA : ETA + 6]
        return twists, accelerations

    def out(self, array: Array) -> Array:
        """Without the time axis if one configuration was given."""
        return array[0] if self.single else array


class FrameMotion:
    """A body or frame at one configuration, or along a run.  Made by `la.dynamics.frame` and `run.frame`.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> tip = run.frame("tip")
    >>> tip.position.shape, tip.velocity.shape  # m; rad/s and m/s
    ((101, 3), (101, 6))
    """

    def __init__(self, at: Configurations, name: str, v: Any = None, a: Any = None):
        if not isinstance(name, str) or name not in at.model.frames:
            raise StateError(f"there is no body or frame {shown(name)}; there are {listed(at.model.frames)}")
        self.name, self._at, self._v, self._a = name, at, v, a
        self._row, self._local = at.model.frames[name]

    @cached_property
    def _position(self) -> Array:
        return self._at.p[:, self._row] + self._at.R[:, self._row] @ self._local.p

    @property
    def position(self) -> Array:
        """(..., 3) origin in the world, m."""
        return self._at.out(self._position)

    @property
    def rotation(self) -> Array:
        """(..., 3, 3) axes in the world."""
        return self._at.out(self._at.R[:, self._row] @ self._local.R)

    @property
    def quaternion(self) -> Array:
        """(..., 4) the same as (w, x, y, z), without jumps along a run."""
        found = np.array([quaternion_of_rotation(R) for R in self._at.R[:, self._row] @ self._local.R])
        signs = np.where(np.sum(found[1:] * found[:-1], axis=1) < 0.0, -1.0, 1.0)
        found[1:] *= np.cumprod(signs)[:, None]
        return self._at.out(found)

    @property
    def jacobian(self) -> Array:
        """(..., 6, nv) twist per unit velocity of each freedom: velocity = jacobian @ v."""
        columns = np.zeros_like(self._at.columns)
        moving = _moving(self._at.model, self._row)
        columns[:, moving] = self._at.columns[:, moving]
        columns[..., 3:] += np.cross(columns[..., :3], self._position[:, None])
        return self._at.out(np.swapaxes(columns, 1, 2))

    @property
    def velocity(self) -> Array:
        """(..., 6) angular velocity, rad/s, and velocity of the origin, m/s."""
        v = self._need(self._v, "v")
        return self._at.out(self._in_world(self._at.motions(v, np.zeros_like(v)))[0])

    @property
    def acceleration(self) -> Array:
        """(..., 6) angular acceleration, rad/s^2, and acceleration of the origin, m/s^2."""
        v = self._need(self._v, "v")
        return self._at.out(self._in_world(self._at.motions(v, self._need(self._a, "a")))[1])

    def _need(self, given: Any, what: str) -> Array:
        if given is None:
            wanted = "velocities" if what == "v" else "accelerations"
            raise StateError(f"the motion of {self.name!r} needs the {wanted} of the joints; give them: la.dynamics.frame(..., {what}=...)")
        return given() if callable(given) else given

    def _in_world(self, motions: tuple[Array, Array]) -> tuple[Array, Array]:
        """Velocity and acceleration of the frame from those of its body."""
        (omega, u), (alpha, b) = ((m[:, self._row, :3], m[:, self._row, 3:]) for m in motions)
        r, R = self._local.p, self._at.R[:, self._row]
        linear = b + np.cross(omega, u) + np.cross(alpha, r) + np.cross(omega, np.cross(omega, r))
        parts = ((omega, u + np.cross(omega, r)), (alpha, linear))
        velocity, acceleration = (np.concatenate([np.einsum("tab,tb->ta", R, x) for x in pair], axis=1) for pair in parts)
        return velocity, acceleration

    def __repr__(self) -> str:
        return f"<{self.name!r} of {self._at.model.name!r} at {len(self._at)} configuration{'s' * (len(self._at) != 1)}>"


@takes_model
def frame(model: Model, q: Coordinates, name: str, v: Coordinates = None, a: Coordinates = None) -> FrameMotion:
    """Position, rotation, Jacobian of a body or frame; with velocities v its velocity, with accelerations a its acceleration.

    >>> import leastaction as la
    >>> tip = frame(la.examples.chain(2).compile(), None, "tip", v=[1.0, 0.0], a=[0.0, 0.0])
    >>> tip.velocity.round(12) + 0.0, tip.acceleration.round(12) + 0.0  # two metres below a hinge that turns with 1 rad/s
    (array([ 0.,  1.,  0., -2.,  0.,  0.]), array([0., 0., 0., 0., 0., 2.]))
    """
    at = Configurations(model, q)
    return FrameMotion(at, name, *(_rates(at, x, what) for x, what in ((v, "v"), (a, "a"))))


@takes_model
def jacobian(model: Model, q: Coordinates, name: str) -> Array:
    """(..., 6, nv) twist of a body or frame per unit velocity of each freedom, at its origin, world axes.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.dynamics.jacobian(model, None, "tip")[3:].round(6) + 0.0  # m/s of the tip per rad/s
    array([[-2., -1.],
           [ 0.,  0.],
           [ 0.,  0.]])
    """
    return FrameMotion(Configurations(model, q), name).jacobian


@takes_model
def centre_of_mass(model: Model, q: Coordinates = None) -> Array:
    """(..., 3) of all moving bodies together, m.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.dynamics.centre_of_mass(model).round(6) + 0.0  # m
    array([ 0.,  0., -1.])
    """
    at = Configurations(model, q)
    return at.out(centres(at))


@takes_model
def centroidal_matrix(model: Model, q: Coordinates = None) -> Array:
    """(..., 6, nv) A(q): A v is the momentum of all moving bodies, angular about their centre of mass, and linear.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> (la.dynamics.centroidal_matrix(model) @ [1.0, 0.0]).round(4) + 0.0  # angular about the centre of mass, linear
    array([ 0.    ,  0.6667,  0.    , -2.    ,  0.    ,  0.    ])
    """
    at = Configurations(model, q)
    link, parents = at.model.tree.link, at.model.tree.link[:, PARENT]
    inertia = _inertias(at)
    for i in range(len(link) - 1, 0, -1):
        if parents[i] > 0:
            inertia[:, parents[i]] += inertia[:, i]
    rows = np.repeat(np.arange(1, len(link)), link[1:, NV])
    momenta = np.einsum("tjab,tjb->tja", inertia[:, rows], at.columns)
    return at.out(np.swapaxes(about(momenta, centres(at)[:, None]), 1, 2))


def about(momentum: Array, point: Array) -> Array:
    """Momentum (..., 6) about the world origin, about another point."""
    return np.concatenate([momentum[..., :3] - np.cross(point, momentum[..., 3:]), momentum[..., 3:]], axis=-1)


def centres(at: Configurations) -> Array:
    """(T, 3) centre of mass of all moving bodies."""
    body = at.model.tree.body[1:]
    mass = float(body[:, MASS].sum())
    if mass == 0.0:
        raise StateError(f"no body of {at.model.name!r} that moves has a mass, so there is no centre of mass; give one a mass")
    moments = body[:, MASS, None] * at.p[:, 1:] + np.einsum("tiab,ib->tia", at.R[:, 1:], body[:, MOMENT : MOMENT + 3])
    return moments.sum(axis=1) / mass


def _inertias(at: Configurations) -> Array:
    """(T, n+1, 6, 6) momentum of each body about the world origin per unit twist there, world axes."""
    body, R = at.model.tree.body, at.R
    own = np.zeros((len(body), 3, 3))
    upper = np.triu_indices(3)
    own[:, upper[0], upper[1]] = body[:, INERTIA : INERTIA + 6]
    own = own + np.swapaxes(np.triu(own, 1), 1, 2)
    mass, p = body[:, MASS, None, None], _cross(at.p)
    s = _cross(np.einsum("tiab,ib->tia", R, body[:, MOMENT : MOMENT + 3]))
    moment = mass * p + s  # mass times the centre of mass, as a cross product
    turning = R @ own @ np.swapaxes(R, 2, 3) - p @ s - s @ p - mass * (p @ p)
    return np.block([[turning, moment], [-moment, np.broadcast_to(mass * np.eye(3), moment.shape)]])


def _cross(x: Array) -> Array:
    """(..., 3, 3) matrices of the cross product with x (..., 3)."""
    zero = np.zeros(x.shape[:-1])
    rows = [[zero, -x[..., 2], x[..., 1]], [x[..., 2], zero, -x[..., 0]], [-x[..., 1], x[..., 0], zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _moving(model: Model, row: int) -> NDArray[np.int64]:
    """Freedoms that move a body."""
    link, found = model.tree.link, []
    while row != 0:
        found += list(range(int(link[row, VI]), int(link[row, VI] + link[row, NV])))
        row = int(link[row, PARENT])
    return np.array(sorted(found), dtype=np.int64)


def _rates(at: Configurations, given: Any, what: str) -> Array | None:
    if given is None:
        return None
    if at.single:
        return at.model.velocities(given, what)[None]
    rates = _rows(given, at.model.nv, what)
    if len(rates) != len(at):
        raise StateError(f"{what} has {len(rates)} rows, q has {len(at)}; give one row per configuration")
    return rates


def _rows(given: ArrayLike, size: int, what: str) -> Array:
    rows = numbers(given, what, StateError, finite=True)
    if rows.ndim != 2 or rows.shape[1] != size:
        raise StateError(f"{what} has shape {rows.shape}; it needs (T, {size}), one row per configuration")
    return rows
