"""The discrete map of an integrator, linearised exactly: what discrete control and estimation are built on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import listed, shown, time_step
from ..coordinates.ties import on_velocities
from ..dynamics.discrete import increment
from ..errors import ConvergenceError, StateError
from ..integrators import Integrator, Midpoint, Variational
from ..kernels.maximal.evaluate import advance
from ..model import Coordinates, Model, takes_model
from ..state import State, checked_state
from .constraint_derivatives import Curvature, project_momentum, rows
from .step_derivatives import StepDerivatives, midpoint_derivatives, variational_derivatives

Array = NDArray[np.float64]


@dataclass(repr=False)
class Linearization:
    """x_{k+1} = A x_k + B tau_k around one step, x = (dq, dp): small changes of the configuration and the momenta.

    dq is a difference of coordinates, on ball and free joints left-trivialised (q exp(dq)), so that A is (2 nv, 2 nv) for every
    mechanism.  p is the momentum of the discrete equations, as in `run.p`: with constraints it is the one they allow, and A takes what
    they allow before the step to what they allow after it.

    >>> import leastaction as la
    >>> model = la.examples.chain(1).compile()
    >>> step = la.linearize(model, la.Variational(), model.state(), dt=1e-2)
    >>> import numpy as np
    >>> np.abs(np.linalg.eigvals(step.A)).round(6)  # hanging: it swings and neither grows nor fades
    array([1., 1.])
    """

    A: Array  #: (2 nv, 2 nv) derivative of (q, p) after the step in (q, p) before it
    B: Array  #: (2 nv, nv) derivative in the joint forces tau, constant over the step
    multipliers: Array  #: (m,) impulses of the constraints over the step, those at both its ends together; over dt the forces half way
    C: Array  #: (m, 2 nv) derivative of the multipliers in (q, p)
    D: Array  #: (m, nv) derivative of the multipliers in tau
    next_state: State  #: where the step leads

    def __repr__(self) -> str:
        return f"<Linearization of {self.next_state.model.name!r}: A {self.A.shape}, B {self.B.shape}, {len(self.multipliers)} multipliers>"


@takes_model
def linearize(model: Model, integrator: Integrator, state: State, dt: float, tau: Coordinates = None) -> Linearization:
    """Derivatives of one step of `Variational` or `Midpoint` from `state` under the joint forces tau.

    Exact, by the implicit function theorem on the solved discrete equations; see step_derivatives.py for what is differenced.

    >>> import leastaction as la
    >>> model = la.examples.cart_pole().compile()
    >>> step = la.linearize(model, la.Variational(), model.state(q={"pole": 0.1}), dt=1e-2)
    >>> step.A.shape, step.B.shape
    ((4, 4), (4, 2))
    """
    dt = time_step(dt)
    forces = model.velocities(tau, "tau")
    step = _Step(model, _checked(model, integrator, state), state, dt, forces)
    step.polish()
    return step.linearization()


def _checked(model: Model, integrator: Integrator, state: State) -> Midpoint | Variational:
    if not isinstance(integrator, (Midpoint, Variational)) or not integrator.linearisable:
        raise StateError(f"integrator = {shown(integrator)} cannot be linearised; give Variational(...) or Midpoint(...)")
    if model.is_actuated:
        raise StateError(
            f"steps of {model.name!r} are not differentiable where a servo meets its limit or a joint sticks, so models with servos or dry "
            "friction are not linearised; linearise the mechanism without them, with Spring and Damper for servos within their limits"
        )
    checked_state(state, model)
    if named := on_velocities(model.closures):
        raise StateError(
            f"{listed(named)} of {model.name!r} restricts velocities, whose steps are not linearised; take differences of steps, or of "
            "la.dynamics.forward"
        )
    turning = [b.joint_name for b in model.bodies if b.joint.has_quaternion]
    if isinstance(integrator, Midpoint) and turning:
        raise StateError(f"Midpoint cannot be linearised with the ball joint {listed(turning)} of {model.name!r}; use Variational()")
    return integrator


class _Step:
    """One solved step and the equations it solves."""

    def __init__(self, model: Model, integrator: Midpoint | Variational, state: State, dt: float, tau: Array):
        self.model, self.integrator, self.state, self.dt, self.tau = model, integrator, state, dt, tau
        stepper = integrator.start(model, state, dt)
        record = stepper.make_record(1, 1)
        result = stepper.advance(1, tau[None], record)
        if result.failure:
            message = f"the step to linearise, of dt = {dt:g} s from t = {state.t:g} s, was not solved: {result.failure}"
            raise ConvergenceError(message, step=0, time=state.t, residual=result.residual)
        self._refuse_new_chart(record.q[0])
        self.d = stepper.work.d.copy()
        self.ties = stepper.ties
        self.lam = np.zeros(0) if self.ties is None else self.ties.lam.copy()
        self.J0 = rows(model, self.ties, state.q, state.t)[1]

    def polish(self) -> None:
        """One more Newton correction: the solver stops at its tolerance, derivatives deserve the last digits."""
        s = self._derivatives()
        value, J1 = rows(self.model, self.ties, self.end(), self.state.t + self.dt)
        r = s.leaving - self.state.p - self.J0.T @ self.lam
        x = np.linalg.solve(self._matrix(s, J1), -np.concatenate([r, value]))
        q1 = self.end()
        advance(self.model.tree, q1, x[: self.model.nv])
        self.d = increment(self.model, self.state.q, q1)
        self.lam = self.lam + x[self.model.nv :]

    def linearization(self) -> Linearization:
        nv, half = self.model.nv, 0.5 * self.dt
        s = self._derivatives()
        _, J1 = rows(self.model, self.ties, self.end(), self.state.t + self.dt)
        bent = s.P00
        if self.ties is not None:
            bent = bent - Curvature(self.model, self.ties, self.state.q, self.state.t).of_impulse(self.lam)
        right = np.zeros((nv + len(self.lam), 3 * nv))  # what changes the equations: dq, dp, dtau
        right[:nv] = np.hstack([-bent, np.eye(nv), half * np.eye(nv)])
        x = np.asarray(np.linalg.solve(self._matrix(s, J1), right), dtype=np.float64)
        moved = x[:nv]
        momenta = s.P11 @ moved
        momenta[:, :nv] += s.P10
        momenta[:, 2 * nv :] += half * np.eye(nv)
        p1, lam, impulses = s.arriving, self.lam, x[nv:]
        if self.ties is not None:
            allowed = project_momentum(Curvature(self.model, self.ties, self.end(), self.state.t + self.dt), p1)
            # the step starts and ends with momenta the constraints allow: at its end they take the other half of their impulse
            lam, impulses = lam + allowed.impulse, impulses + allowed.impulse_by_q @ moved + allowed.impulse_by_p @ momenta
            p1, momenta = allowed.p, allowed.p_by_q @ moved + allowed.p_by_p @ momenta
        both = np.vstack([moved, momenta])
        end = State(self.model, self.state.t + self.dt, self.end(), p1)
        return Linearization(both[:, : 2 * nv], both[:, 2 * nv :], lam, impulses[:, : 2 * nv], impulses[:, 2 * nv :], end)

    def end(self) -> Array:
        q1 = self.state.q.copy()
        advance(self.model.tree, q1, self.d)
        return q1

    def _derivatives(self) -> StepDerivatives:
        where = (self.model, self.state.q, self.d, self.dt, self.tau, self.state.t)
        if isinstance(self.integrator, Midpoint):
            return midpoint_derivatives(self.integrator, *where)
        return variational_derivatives(self.integrator, *where)

    def _matrix(self, s: StepDerivatives, J1: Array) -> Array:
        """Of the equations  leaving - Dh(q0)' lam = p0,  h(q1) = 0."""
        m = len(self.lam)
        return np.block([[s.P01, -self.J0.T], [J1, np.zeros((m, m))]])

    def _refuse_new_chart(self, q1: Array) -> None:
        for body in self.model.bodies:
            place = self.model.q_slice(body.joint_name)
            if body.joint.charts > 1 and self.state.q[place][-1] != q1[place][-1]:
                raise StateError(
                    f"joint {body.joint_name!r} changes its coordinates in this step, so it has no single set of them to differentiate in; "
                    "linearise from the state after it"
                )

