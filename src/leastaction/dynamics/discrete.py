"""The discrete Euler-Lagrange equations of a model: residual, Jacobian, Newton direction, momenta of a step, start from two configurations.

Three configurations q0, q1, q2 one step dt apart solve the equations when `residual` is zero.  Ball and free joints: what
is asked for is per left-trivialised variation at q1, and per coordinate of the increment from q1 to q2 (joints/base.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..checks import number, shown, time_step
from ..compiling.records import allocate
from ..errors import StateError
from ..kernels.maximal.evaluate import increment as increment_entry
from ..kernels.tree import discrete as kernels
from ..kernels.tree.dense_jacobian import Columns
from ..kernels.tree.evaluate import place_entry
from ..kernels.tree.layout import QUADRATURES, Middle, Work
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Coordinates, Model, takes_model
from ..state import State
from .charts import in_charts_of

__all__ = ["increment", "jacobian", "momenta", "newton_direction", "residual", "start"]

Array = NDArray[np.float64]


@takes_model
def residual(
    model: Model, q0: Coordinates, q1: Coordinates, q2: Coordinates, dt: float, tau: Coordinates = None, *,
    method: str = "drnea", retraction: str = "exp", quadrature: str = "trapezoid", t: float = 0.0,
) -> Array:  # fmt: skip
    """Momentum leaving q1 towards q2 minus momentum arriving at q1 from q0, (nv,), kg m/s or kg m^2/s.

    tau acts on both steps.  method="drnea" is the only one; that of Johnson and Murphey is leastaction.yardsticks.svi_residual.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> r = la.discrete.residual(run.model, *run.q[5:8], dt=run.dt)
    >>> bool(abs(r).max() < 1e-9)  # three nodes of a run fulfil the equations
    True
    """
    if not isinstance(method, str) or method != "drnea":
        raise StateError(f"method = {shown(method)}; it is 'drnea'. Others to compare with are in leastaction.yardsticks")
    dt, t = time_step(dt), number(t, "t", StateError)
    _, p1 = momenta(model, q0, q1, dt, tau, retraction=retraction, quadrature=quadrature, t=t - dt)
    start, _ = momenta(model, q1, q2, dt, tau, retraction=retraction, quadrature=quadrature, t=t)
    return start - p1


@takes_model
def momenta(
    model: Model, q0: Coordinates, q1: Coordinates, dt: float, tau: Coordinates = None, *,
    retraction: str = "exp", quadrature: str = "trapezoid", t: float = 0.0,
) -> tuple[Array, Array]:  # fmt: skip
    """(p0, p1): the momenta at both ends of the step from q0 to q1, the discrete Legendre transforms with forces.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> leaving, arriving = la.discrete.momenta(run.model, run.q[5], run.q[6], dt=run.dt)
    >>> bool(abs(arriving - run.p[6]).max() < 1e-9)
    True
    """
    _check(model, retraction, quadrature)
    d, t = increment(model, q0, q1), number(t, "t", StateError)
    return momenta_of_increment(model, model.coordinates(q0), d, time_step(dt), model.velocities(tau, "tau"), retraction, quadrature, t)


@takes_model
def start(
    model: Model, q0: Coordinates, q1: Coordinates, dt: float, tau: Coordinates = None, *,
    retraction: str = "exp", quadrature: str = "trapezoid", t: float = 0.0,
) -> State:  # fmt: skip
    """The state at q1, at the time t + dt, after a step from q0: two configurations instead of one with velocities.

    `Variational` with the same dt, retraction and quadrature goes on as if it had made that step.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> state = la.discrete.start(run.model, run.q[5], run.q[6], dt=run.dt, t=run.t[5])
    >>> rest = la.simulate(run.model, state, dt=run.dt, steps=94)
    >>> bool(abs(rest.q[-1] - run.q[-1]).max() < 1e-9)
    True
    """
    _, p = momenta(model, q0, q1, dt, tau, retraction=retraction, quadrature=quadrature, t=t)
    state = model.state(q=q1, p=p, t=number(t, "t", StateError) + time_step(dt))
    if not model.closures:
        return state
    v = model.project_velocity(state.q, state.v, t=state.t)  # the impulse of the constraints at this node is not in p yet
    return model.state(q=q1, v=v, t=state.t)


def momenta_of_increment(
    model: Model, q0: Array, d: Array, dt: float, tau: Array, retraction: str, quadrature: str, t: float
) -> tuple[Array, Array]:
    """The same with the increment d instead of the end of the step."""
    work, middle = _leave(model, q0, d, dt, retraction, quadrature, t)
    impulse = 0.5 * dt * tau
    p0 = work.r - impulse
    kernels.arriving(model.tree, work, middle, dt, t + dt)
    p1 = work.target.copy()
    if middle is None:  # the kernel adds the half kick of the next step
        forces = np.zeros(model.nv)
        place_entry(model.tree, work, work.q.copy(), forces)
        p1 -= 0.5 * dt * forces
    return p0, p1 + impulse


@takes_model
def jacobian(model: Model, q1: Coordinates, q2: Coordinates, dt: float, *, retraction: str = "exp", quadrature: str = "trapezoid") -> Array:
    """Derivative of the residual in the increment from q1 to q2, dense (nv, nv).  User forces are not differentiated.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> la.discrete.jacobian(run.model, run.q[5], run.q[6], dt=run.dt).shape
    (2, 2)
    """
    work, middle = _set_up(model, q1, q2, dt, retraction, quadrature, 0.0)
    columns = allocate(Columns, {"n": len(model.bodies), "nv": model.nv})
    kernels.jacobian(model.tree, work, middle, columns, dt, RETRACTIONS[retraction])
    return columns.J


@takes_model
def newton_direction(
    model: Model, q1: Coordinates, q2: Coordinates, dt: float, r: Array, *, retraction: str = "exp", quadrature: str = "trapezoid"
) -> Array:
    """J^-1 r in O(n), J the Jacobian above.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> J = la.discrete.jacobian(run.model, run.q[5], run.q[6], dt=run.dt)
    >>> z = la.discrete.newton_direction(run.model, run.q[5], run.q[6], run.dt, J @ [1.0, 2.0])
    >>> z.round(6)
    array([1., 2.])
    """
    work, middle = _set_up(model, q1, q2, dt, retraction, quadrature, 0.0)
    work.r[:] = model.velocities(r, "r")
    kernels.direction(model.tree, work, middle, dt, RETRACTIONS[retraction])
    return work.z.copy()


@takes_model
def increment(model: Model, q0: Coordinates, q1: Coordinates) -> Array:
    """The increment d that takes q0 to q1: a difference, on ball and free joints the chart of joints/base.py.

    Of a joint with two charts it is a difference of coordinates in the chart of q0.

    >>> import leastaction as la
    >>> model = la.examples.chain(2).compile()
    >>> la.discrete.increment(model, {"link1": 0.1}, {"link1": 0.3}).round(6)
    array([0.2, 0. ])
    """
    a = model.coordinates(q0)
    b = in_charts_of(model, model.coordinates(q1), a)
    d = np.zeros(model.nv)
    for body in model.bodies:
        if body.joint.has_quaternion:
            qs = model.q_slice(body.joint_name)
            start, end = a[qs][-4:], b[qs][-4:]
            if abs(start @ end) < 1e-12:
                raise StateError(
                    f"joint {body.joint_name!r} makes half a turn from {start} to {end}, which no increment describes; take smaller steps"
                )
    increment_entry(model.tree, a, b, d)
    return d


def _set_up(model: Model, q0, q1, dt: float, retraction: str, quadrature: str, t: float) -> tuple[Work, Middle | None]:
    """Work with r = momentum leaving q0 (left halves of all forces but tau included)."""
    _check(model, retraction, quadrature)
    return _leave(model, model.coordinates(q0), increment(model, q0, q1), time_step(dt), retraction, quadrature, t)


def _check(model: Model, retraction: str, quadrature: str) -> None:
    if model.is_actuated:
        raise StateError(
            f"{model.name!r} has servos or dry friction, which are no part of the action: integrators add them to these equations; look "
            "at the model without them"
        )
    if not isinstance(retraction, str) or retraction not in RETRACTIONS:
        raise StateError(f"retraction = {shown(retraction)}; it is one of {', '.join(map(repr, RETRACTIONS))}")
    if not isinstance(quadrature, str) or quadrature not in QUADRATURES:
        raise StateError(f"quadrature = {shown(quadrature)}; it is one of {', '.join(map(repr, QUADRATURES))}")


def _leave(model: Model, q0: Array, d: Array, dt: float, retraction: str, quadrature: str, t: float) -> tuple[Work, Middle | None]:
    work = model.make_work()
    work.q[:], work.d[:] = q0, d
    middle = model.make_middle() if quadrature == "midpoint" else None
    kernels.leaving(model.tree, work, middle, dt, t, RETRACTIONS[retraction])
    return work, middle
