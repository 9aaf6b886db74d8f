"""Continuous-time dynamics of a model: mass matrix, inverse and forward dynamics, energy.

q are coordinates, v velocities, tau joint forces; shapes (nq,), (nv,), (nv,).
"""

from __future__ import annotations

from math import isfinite
from typing import Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ..checks import listed, number, numbers, shown, yes_or_no
from ..compiling.decorators import Direct
from ..coordinates import ties as tree
from ..errors import LeastActionError, SingularMassError, StateError
from ..kernels.constraints import velocities as constrained
from ..kernels.constraints.ties import RANK, Ties
from ..kernels.stepping import evaluation
from ..kernels.tree import evaluate
from ..kernels.tree.articulated import S_AA, S_AL, S_LL
from ..kernels.tree.layout import BODY_COLUMNS, NV, VI
from ..model import Coordinates, Model, takes_model
from ..pose import Pose

Array = NDArray[np.float64]

_SUSPICIOUS = 1e9  # rad/s^2 or m/s^2
_MOST_DENSE = 1000  # degrees of freedom up to which a mass matrix is formed to find out what is wrong


@takes_model
def mass_matrix(model: Model, q: Coordinates = None) -> Array:
    """M(q), (nv, nv), by the composite-rigid-body algorithm.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.dynamics.mass_matrix(model).round(4)  # hanging, kg m^2
    array([[2.6667, 0.8333],
           [0.8333, 0.3333]])
    """
    out = np.zeros((model.nv, model.nv))
    scratch = np.zeros((len(model.bodies) + 1, int(BODY_COLUMNS)))
    evaluate.matrix(model.tree, model.make_work(), model.coordinates(q), scratch, out)
    return out


@takes_model
def inverse(model: Model, q: Coordinates, v: Coordinates, a: Coordinates) -> Array:
    """Joint forces that give the acceleration a against gravity (recursive Newton-Euler).

    Springs, dampers and applied wrenches are not subtracted: this is M a + C v - gravity.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.dynamics.inverse(model, {"link1": 1.5708}, None, None).round(2)  # N m that hold it stretched out sideways
    array([19.62,  4.9 ])
    """
    out = np.zeros(model.nv)
    evaluate.inverse(
        model.tree, model.make_work(), model.coordinates(q), model.velocities(v), model.velocities(a, "a"), _scratch(model), out
    )  # fmt: skip
    return out


@overload
def forward(
    model: Model, q: Coordinates, v: Coordinates = None, tau: Coordinates = None, t: float = 0.0, *, multipliers: Literal[False] = False
) -> Array: ...
@overload
def forward(
    model: Model, q: Coordinates, v: Coordinates = None, tau: Coordinates = None, t: float = 0.0, *, multipliers: Literal[True]
) -> tuple[Array, Array]: ...
@takes_model
def forward(
    model: Model, q: Coordinates, v: Coordinates = None, tau: Coordinates = None, t: float = 0.0, *, multipliers: bool = False
) -> Array | tuple[Array, Array]:
    """Acceleration under tau, all forces of the model (articulated-body algorithm) and its constraints.

    multipliers   return (acceleration, multipliers): also the forces lam (m,) of the constraint rows, N or N m, in the order of
                  `la.constraints.values`.  They solve M a = f + Dh' lam, Dh a + d(Dh)/dt v = 0, as (36) of Johnson and Murphey 2009 at one
                  instant; where rows imply others those with the smallest sum of squares

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("lift", joint=la.Prismatic(axis=(0, 0, 1)), mass=2.0)
    >>> _ = mech.add_constraint(la.Prescribed("lift", lambda t, sp: t**2))
    >>> a, lam = forward(mech.compile(), None, multipliers=True)
    >>> a.round(6), lam.round(6)  # accelerated upwards by 2 m/s^2
    (array([2.]), array([23.62]))
    """
    out = np.zeros(model.nv)
    lam = np.zeros(0)
    if sticking := model.joints_with_dry_friction:
        raise StateError(
            f"accelerations with dry friction (joint {listed(sticking)}) are not offered: at rest they do not follow from q and v; give "
            "the friction of joints that slide as part of tau, to a model without DryFriction"
        )
    t = t if type(t) is float and isfinite(t) else number(t, "t", StateError)
    arguments = (t, model.coordinates(q), model.velocities(v), model.inputs(tau), _scratch(model), out)
    if model.closures:
        ties = tree.make_ties(model)
        constrained.constrained_forward(model.tree, model.make_work(), ties, *arguments)
        lam = ties.step if ties.rank[RANK] == len(ties.step) else np.linalg.pinv(ties.J0.T, rcond=1e-9) @ (ties.J0.T @ ties.step)
    else:
        kernel = (model.specialised and model.specialised.forward) or evaluate.forward
        kernel(model.tree, model.make_work(), *arguments)
    if not np.all(np.abs(out) < _SUSPICIOUS):
        _check_finite(model, model.coordinates(q), out)
    return (out, lam) if multipliers is not False and yes_or_no(multipliers, "multipliers") else out


@takes_model
def energy(model: Model, q: Coordinates, v: Coordinates = None) -> float:
    """Kinetic, gravitational and spring energy together, J.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> round(la.dynamics.energy(model, None, {"link1": 1.0}), 4)  # J
    -18.2867
    """
    return float(_at(model, q, v).energy.sum() + model.fixed_potential)


@takes_model
def momentum(model: Model, q: Coordinates, v: Coordinates) -> Array:
    """Joint momenta p = M(q) v.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.dynamics.momentum(model, None, {"link1": 1.0}).round(4)
    array([2.6667, 0.8333])
    """
    return _at(model, q, v).p[0]


@takes_model
def spatial_momentum(model: Model, q: Coordinates, v: Coordinates) -> Array:
    """Momentum of the whole mechanism about the world origin: (angular, linear), world axes.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.dynamics.spatial_momentum(model, None, {"link1": 1.0}).round(4) + 0.0  # angular, linear
    array([ 0.    ,  2.6667,  0.    , -2.    ,  0.    ,  0.    ])
    """
    return _at(model, q, v).momentum[0]


@takes_model
def velocity(model: Model, q: Coordinates, p: Coordinates) -> Array:
    """Velocities v = M(q)^-1 p.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> p = la.dynamics.momentum(model, None, {"link1": 1.0})
    >>> la.dynamics.velocity(model, None, p).round(6) + 0.0
    array([1., 0.])
    """
    momenta = model.velocities(p, "p")[None]
    return Evaluator(model)(evaluation.KICKED_MOMENTUM, 0.0, model.coordinates(q)[None], momenta).v[0]


@takes_model
def pose(model: Model, q: Coordinates, name: str) -> Pose:
    """Pose of a body or frame in the world (forward kinematics).

    >>> import leastaction as la
    >>> pose(la.examples.chain(2).compile(), {"link1": np.pi / 2}, "tip").p.round(12) + 0.0
    array([-2.,  0.,  0.])
    """
    if not isinstance(name, str) or name not in model.frames:
        raise StateError(f"there is no body or frame {shown(name)}; there are {listed(model.frames)}")
    work = model.make_work()
    evaluate.world(model.tree, work, model.coordinates(q))
    row, local = model.frames[name]
    return Pose(work.world[row, 9:], rotation=work.world[row, :9].reshape(3, 3)) @ local


class Evaluation(NamedTuple):
    """What follows from the T nodes of a recording.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> run.v.shape, run.energy.shape  # a run has one behind it
    ((101, 2), (101,))
    """

    v: Array  #: (T, nv) velocities
    p: Array  #: (T, nv) momenta
    energy: Array  #: (T, 3) kinetic, gravitational, springs, J
    momentum: Array  #: (T, 6) of the whole mechanism about the world origin: angular, linear


class Evaluator:
    """Evaluates recorded nodes of one model; keeps its memory, so that it can be called after every step.

    >>> import leastaction as la
    >>> evaluate = la.dynamics.Evaluator(la.examples.chain(2).compile())  # as a run has one, for velocities, energy and momentum
    """

    def __init__(self, model: Model):
        self.model = model
        self.work = model.make_work()
        self._evaluate = Direct(evaluation.evaluate_nodes)

    def __call__(
        self, what: int, half_step: float, q: Array, recorded: Array, t: Array | None = None, ties: Ties | None = None
    ) -> Evaluation:
        """q (T, nq); recorded (T, nv): velocities, or momenta plus half_step times the forces; ties: constraints, at the times t (T,)."""
        steps, nv = len(q), self.model.nv
        out = Evaluation(np.empty((steps, nv)), np.empty((steps, nv)), np.empty((steps, 3)), np.empty((steps, 6)))
        times = np.zeros(steps) if t is None else t
        self._evaluate(self.model.tree, self.work, ties, what, half_step, times, q, recorded, *out)
        if not isfinite(np.vdot(out.v, out.v)) and not np.isfinite(out.v).all():  # the first is quick, but may overflow
            bad = np.flatnonzero(~np.isfinite(out.v).all(axis=1))
            raise _not_finite(self.model, q[bad[0]])
        return out


def _at(model: Model, q: Coordinates, v: Coordinates) -> Evaluation:
    return Evaluator(model)(evaluation.VELOCITY, 0.0, model.coordinates(q)[None], model.velocities(v)[None])


@takes_model
def condition(model: Model, q: Coordinates = None) -> dict[str, float]:
    """How well each joint's coordinates are suited to its motion at q: condition number of S'AS, each coordinate scaled to one.

    A is the inertia of everything the joint moves.  1 is best; infinite where two coordinates do the same (gimbal lock).

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.dynamics.condition(model)  # 1: as good as can be
    {'link1': 1.0, 'link2': 1.0}
    """
    work = model.make_work()
    evaluate.articulated(model.tree, work, model.coordinates(q))
    result = {}
    for i, name in enumerate(model.joint_names, start=1):
        S = work.S0[model.v_slice(name)]
        D = S @ articulated_inertia(work.art[i]) @ S.T + np.diag(model.tree.armature[model.v_slice(name)])
        size = np.sqrt(np.maximum(np.diag(D), 0.0))
        if not np.all(np.isfinite(D)) or not np.all(size > 0.0):
            result[name] = np.inf
            continue
        values = np.linalg.eigvalsh(D / np.outer(size, size))
        result[name] = float(values[-1] / values[0]) if values[0] > 0.0 else np.inf
    return result


@takes_model
def explain_singular(model: Model, q: Array, limit: float = 1e8) -> str:
    """Which joint's motion is undefined at q, why, and what to do; empty if there is none.

    limit   condition of a symbolic joint's coordinates from which on they are called singular

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.dynamics.explain_singular(model, model.neutral())  # nothing to explain
    ''
    """
    q, limit = numbers(q, "q", StateError, (model.nq,), finite=False), number(limit, "limit", StateError)
    if not np.all(np.isfinite(q)):
        return ""  # a motion that has overflowed says nothing about the joints
    if model.has_symbolic_joints and (found := _singular_coordinates(model, q, limit)):
        return found
    joint = massless_joint(model, q)
    if joint is None:
        return ""
    return (
        f"joint {joint!r} moves no inertia in this configuration, so its motion is undefined; "
        "give the bodies it moves some inertia about its axis"
    )


def _singular_coordinates(model: Model, q: Array, limit: float) -> str:
    name, worst = max(condition(model, q).items(), key=lambda item: item[1])
    if worst < limit:
        return ""
    part = q[model.q_slice(name)]
    joint = model.bodies[model.joint_names.index(name)].joint
    charted = "write the state in its other chart, joint.in_chart(q, chart)"
    remedy = charted if joint.charts > 1 else "give it coordinates that are regular there, or a second_chart"
    nearly = "" if worst > 1e12 else "nearly "
    return (
        f"the coordinates of joint {name!r} ({', '.join(joint.coordinates)}) are {nearly}singular at {np.array2string(part, precision=6)}: "
        f"two of them move it in the same way (condition of S'AS {worst:.2g}); {remedy}"
    )


def articulated_inertia(row: Array) -> Array:
    """(6, 6) from a row of Work.art as `kernels.articulated` leaves it."""
    upper = np.triu_indices(3)
    aa, ll = np.zeros((3, 3)), np.zeros((3, 3))
    aa[upper], ll[upper] = row[S_AA : S_AA + 6], row[S_LL : S_LL + 6]
    al = row[S_AL : S_AL + 9].reshape(3, 3)
    return np.block([[aa + np.triu(aa, 1).T, al], [al.T, ll + np.triu(ll, 1).T]])


@takes_model
def massless_joint(model: Model, q: Array) -> str | None:
    """Name of a joint that can move at q without moving any mass, which makes M(q) singular; None if there is none.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.dynamics.massless_joint(model, model.neutral()) is None
    True
    """
    if model.nv > _MOST_DENSE:
        return _joint_without_pivot(model, model.coordinates(q))
    mass = mass_matrix(model, q)
    size = np.sqrt(np.diag(mass))
    if not np.all(np.isfinite(mass)):
        return None
    if np.all(size > 0.0):
        values, vectors = np.linalg.eigh(mass / np.outer(size, size))
        if values[0] > 1e-15 * model.nv:
            return None
        size = 1.0 - np.abs(vectors[:, 0])
    first = [model.v_slice(name).start for name in model.joint_names]
    return model.joint_names[int(np.searchsorted(first, np.argmin(size), side="right")) - 1]


def _joint_without_pivot(model: Model, q: Array) -> str | None:
    """As `massless_joint`, in O(n): the joint nearest to the leaves whose articulated inertia about its own axes vanishes."""
    work, link = model.make_work(), model.tree.link
    evaluate.articulated(model.tree, work, q)
    for i in range(len(model.bodies), 0, -1):
        S = work.S0[link[i, VI] : link[i, VI] + link[i, NV]]
        A = articulated_inertia(work.art[i])
        felt = S @ A @ S.T
        if not np.isfinite(felt).all():
            return None
        if np.linalg.eigvalsh(felt)[0] <= 1e-14 * np.abs(A).max():
            return model.bodies[i - 1].joint_name
    return None


def _check_finite(model: Model, q: Array, a: Array) -> None:
    """Accelerations beyond reason are either those of singular coordinates, or the user's."""
    if not np.all(np.isfinite(a)) or (model.has_symbolic_joints and _singular_coordinates(model, q, 1e12)):
        raise _not_finite(model, q)


def _not_finite(model: Model, q: Array) -> LeastActionError:
    singular = explain_singular(model, q)
    if singular:
        return SingularMassError(f"the mass matrix is singular at q = {q}: {singular}")
    return StateError(f"velocities or accelerations overflow at q = {q}; forces, momenta or masses of the model are too large")


def _scratch(model: Model) -> Array:
    return np.zeros((len(model.bodies) + 1, 6))
