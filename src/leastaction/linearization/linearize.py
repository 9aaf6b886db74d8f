"""The discrete map of an integrator, linearised exactly: what discrete control and estimation are built on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ..checks import listed, numbers, shown, time_step
from ..dynamics.discrete import increment
from ..errors import ConvergenceError, StateError
from ..integrators import AdaptiveStep, Composition, Integrator, Maximal, Midpoint, Trapezoid, Variational
from ..integrators.explicit import Explicit
from ..kernels.maximal.evaluate import advance, increments_between
from ..kernels.tree.step_maps import Steps
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Coordinates, Model, takes_model
from ..state import State, checked_state
from ..trajectory import Trajectory
from .changing_length import length_of_step
from .constraint_derivatives import Curvature, RowsOverStep, project_momentum, rows, rows_over_step
from .explicit_steps import explicit_step
from .step_derivatives import (
    StepDerivatives,
    difference,
    has_step_maps,
    maps_of_steps,
    midpoint_derivatives,
    trapezoid_derivatives,
    variational_derivatives,
)

Array = NDArray[np.float64]
_Implicit = Midpoint | Trapezoid | Variational  # whose equations are differentiated

_ROUNDING = 1e-11  # of the largest momentum: what rounding may leave of the equations
_CORRECTIONS = 20  # by Newton's method, at most; rounding stops it after four or five
_LENGTHENED = 0.05  # by which fraction steps are made longer and shorter to difference them
_SHORT = 0.5  # rad or m: a step that moves no joint further has no other solution nearby


@dataclass(repr=False)
class Linearization:
    """x_{k+1} = A x_k + B tau_k around one step, x = (dq, dp): small changes of the configuration and the momenta.

    dq is a difference of coordinates, on ball and free joints left-trivialised (q exp(dq)), so that A is (2 nv, 2 nv) for every
    mechanism.  p is the momentum of the discrete equations, as in `run.p`: with constraints it is the one they allow, and A takes what
    they allow before the step to what they allow after it.

    Of `AdaptiveStep` it is the first step of a simulation: how long it is follows from (q, p) and tau, so that the states after it belong
    to different times.

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


@dataclass(repr=False)
class Linearizations:
    """The linearised steps of a run, arrays with one more axis than those of `Linearization`: A[k] belongs to the step from node nodes[k].

    `steps[k]` is the `Linearization` of one of them.

    >>> import leastaction as la
    >>> steps = la.linearize(la.simulate(la.examples.cart_pole().compile(), dt=1e-2, steps=3, q={"pole": 0.1}))
    >>> steps.A.shape, steps[0].A.shape
    ((3, 4, 4), (4, 4))
    """

    A: Array  #: (N, 2 nv, 2 nv)
    B: Array  #: (N, 2 nv, nv)
    multipliers: Array  #: (N, m)
    C: Array  #: (N, m, 2 nv)
    D: Array  #: (N, m, nv)
    nodes: NDArray[np.int64]  #: (N,) nodes of the run that the steps start from
    next_states: Sequence[State]  #: where they lead

    def __len__(self) -> int:
        return len(self.A)

    def __getitem__(self, k: int) -> Linearization:
        return Linearization(self.A[k], self.B[k], self.multipliers[k], self.C[k], self.D[k], self.next_states[k])

    def __repr__(self) -> str:
        return f"<Linearizations of {len(self)} steps: A {self.A.shape}, B {self.B.shape}, {self.C.shape[1]} multipliers>"


@overload
def linearize(model: Model, integrator: Integrator, state: State, dt: float, tau: Coordinates = None) -> Linearization: ...


@overload
def linearize(model: Trajectory, *, nodes: Sequence[int] | slice | None = None) -> Linearizations: ...


def linearize(model, integrator=None, state=None, dt=None, tau=None, *, nodes=None):
    """Derivatives of one step of an integrator from `state` under the joint forces tau, or of the steps of a run.

    `Variational`, `Midpoint`, `Maximal`, `Trapezoid`, `FloatingBase`, a `Composition` of one of them and `AdaptiveStep`.  Exact, by the
    implicit function theorem on the solved discrete equations; see step_derivatives.py for what is differenced, and changing_length.py.
    Explicit integrators, of mechanisms without constraints: their steps are differenced.

    >>> import leastaction as la
    >>> model = la.examples.cart_pole().compile()
    >>> step = la.linearize(model, la.Variational(), model.state(q={"pole": 0.1}), dt=1e-2)
    >>> step.A.shape, step.B.shape
    ((4, 4), (4, 2))

    la.linearize(run) linearises every step of a run around the nodes that were recorded, with the joint forces that were given; nodes: from
    which of them, all but the last if left out.

    >>> run = la.simulate(model, dt=1e-2, steps=20, q={"pole": 0.1})
    >>> la.linearize(run).A.shape
    (20, 4, 4)
    """
    if isinstance(model, Trajectory):
        if not (integrator is None and state is None and dt is None and tau is None):
            raise StateError("linearize(run) takes integrator, states, dt and joint forces from the run; give nothing but nodes=")
        return _along(model, nodes)
    if nodes is not None:
        raise StateError(f"nodes = {shown(nodes)} are those of a run: linearize(run, nodes=...)")
    return _of_step(model, integrator, state, dt, tau)


@takes_model
def _of_step(model: Model, integrator: Integrator, state: State, dt: float, tau: Coordinates = None) -> Linearization:
    dt = time_step(dt)
    forces = model.velocities(tau, "tau")
    _check(model, integrator)
    checked_state(state, model)
    if isinstance(integrator, (Composition, Maximal)):  # other equations are differentiated, but what it refuses to simulate is refused
        integrator.start(model, state, dt)
    return _linearized(model, integrator, state, dt, forces)


def _linearized(model: Model, integrator: Integrator, state: State, dt: float, tau: Array) -> Linearization:
    if isinstance(integrator, Composition):
        return _composed(model, integrator, state, dt, tau)
    if isinstance(integrator, AdaptiveStep):
        return _of_changing_length(model, integrator, state, dt, tau)
    if isinstance(integrator, Explicit):
        A, B, end = explicit_step(model, integrator, state, dt, tau)
        _refuse_new_charts(model, state.q[None], end.q[None])
        none = np.zeros((0, 3 * model.nv))
        return Linearization(A, B, none[:, 0], none[:, : 2 * model.nv], none[:, 2 * model.nv :], end)
    base = _in_joint_coordinates(integrator)
    if isinstance(base, Variational) and has_step_maps(base, model):
        return _mapped(model, base, state, dt, tau)
    step = _Step(model, base, state, dt, tau)
    step.polish()
    return step.linearization()


def _mapped(model: Model, integrator: Variational, state: State, dt: float, tau: Array) -> Linearization:
    """By sweeps over the tree, which solve an ordinary step on their way: nobody waits for the kernels of a run to be compiled.

    The integrator itself solves steps that go far, which may have other solutions, and those whose joints may change their charts.
    """
    integrator.refuse_overheld(model, state)

    def corrected(d: Array) -> Steps:
        where = (np.array([state.t]), state.q[None], state.p[None], tau[None], d[None], dt)
        return maps_of_steps(integrator, model, *where, corrections=_CORRECTIONS)

    charted = any(body.joint.charts > 1 for body in model.bodies)
    found = None if charted else corrected(np.zeros(model.nv))
    if found is None or not found.left[0] < _solved(integrator) or not np.abs(found.d).max(initial=0.0) < _SHORT:
        found = corrected(_Step(model, integrator, state, dt, tau).d)
    none, nv = np.zeros((0, 3 * model.nv)), model.nv
    end = State(model, state.t + dt, found.q_end[0], found.p_end[0])
    return Linearization(found.A[0], found.B[0], none[:, 0], none[:, : 2 * nv], none[:, 2 * nv :], end)


def _solved(integrator: Variational) -> float:
    """Residual, relative to the largest momentum, of a step that is taken as it is."""
    return max(10.0 * integrator.tol, _ROUNDING)


def _check(model: Model, integrator: Integrator) -> None:
    base = integrator.base if isinstance(integrator, (AdaptiveStep, Composition)) else integrator
    if not isinstance(base, (Midpoint, Variational, Maximal, Trapezoid, Explicit)) or not base.linearisable:
        raise StateError(
            f"integrator = {shown(integrator)} cannot be linearised; give Variational(...), Midpoint(...), Maximal(...), Trapezoid(...), a "
            "Composition of one of them, AdaptiveStep(...) or an explicit one"
        )
    if isinstance(base, Explicit) and model.closures:
        names = listed([c.name for c in model.closures])
        raise StateError(
            f"{type(base).__name__} lets the constraints {names} of {model.name!r} drift, so its steps do not lead from states they allow "
            "to states they allow and are not linearised; use Variational()"
        )
    if isinstance(base, Maximal) and base.retraction not in RETRACTIONS:
        raise StateError(
            f"Maximal cannot be linearised with the retraction {base.retraction!r}, whose momenta are not those of a step in joint "
            f"coordinates; use one of {', '.join(map(repr, RETRACTIONS))}"
        )
    if model.is_actuated:
        raise StateError(
            f"steps of {model.name!r} are not differentiable where a servo meets its limit or a joint sticks, so models with servos or dry "
            "friction are not linearised; linearise the mechanism without them, with Spring and Damper for servos within their limits"
        )


def _in_joint_coordinates(integrator: Integrator) -> _Implicit:
    """The integrator whose equations are differentiated.

    A stationary point of the action under the constraints of the joints is one in joint coordinates: a step of `Maximal` is that of
    `Variational` with the same retraction, up to rounding.
    """
    if isinstance(integrator, Maximal):
        return Variational(
            integrator.retraction, quadrature=integrator.quadrature, tol=integrator.tol, max_evaluations=integrator.max_evaluations
        )
    assert isinstance(integrator, (Midpoint, Trapezoid, Variational))
    return integrator


def _composed(model: Model, integrator: Composition, state: State, dt: float, tau: Array) -> Linearization:
    """The chain rule over the stages."""
    first, *lengths = integrator.gammas * dt
    whole = _linearized(model, integrator.base, state, float(first), tau)
    for length in lengths:
        stage = _linearized(model, integrator.base, whole.next_state, float(length), tau)
        whole = Linearization(
            stage.A @ whole.A, stage.A @ whole.B + stage.B, whole.multipliers + stage.multipliers, whole.C + stage.C @ whole.A,
            whole.D + stage.C @ whole.B + stage.D, stage.next_state,
        )  # fmt: skip
    end = whole.next_state
    return replace(whole, next_state=State(model, state.t + dt, end.q, end.p))


def _of_changing_length(model: Model, integrator: AdaptiveStep, state: State, dt: float, tau: Array) -> Linearization:
    """The derivatives of a step of the same length, and what the length adds."""
    h, by_state = length_of_step(model, integrator, state, dt, tau)
    step, nv = _linearized(model, integrator.base, state, h, tau), model.nv

    def beside(x: Array) -> Array:
        """How far a longer step leads beside it, and its impulses."""
        other = _linearized(model, integrator.base, state, h * (1.0 + float(x[0])), tau)
        return np.concatenate([increment(model, step.next_state.q, other.next_state.q), other.next_state.p, other.multipliers])

    added = np.outer(difference(beside, 1, _LENGTHENED)[:, 0] / h, by_state)
    ends, impulses = added[: 2 * nv], added[2 * nv :]
    return replace(
        step, A=step.A + ends[:, : 2 * nv], B=step.B + ends[:, 2 * nv :], C=step.C + impulses[:, : 2 * nv], D=step.D + impulses[:, 2 * nv :]
    )


# ---------------------------------------------------------------------------------------------------------------- runs


def _along(run: Trajectory, nodes: Sequence[int] | slice | None) -> Linearizations:
    model, integrator, dt = run.model, run.integrator, run.dt
    _check(model, integrator)
    chosen = _chosen(run, nodes)
    rows = np.zeros((1, model.nv)) if run.tau is None else run.tau[:, : model.nv]
    tau = rows if len(rows) == 1 else rows[chosen * run.every]
    p = run.p[chosen]
    if isinstance(integrator, AdaptiveStep) and integrator.controller == "reversible":
        raise StateError(
            f"steps of a run of {integrator!r} are not functions of q and p: their lengths follow a density that is a variable of its own; "
            'give linearize(model, integrator, run.state(k), dt), whose density begins there, or run with controller="naive"'
        )
    base = integrator if isinstance(integrator, (AdaptiveStep, Composition, Explicit)) else _in_joint_coordinates(integrator)

    def solved_anew(k: int) -> Linearization:
        state = State.with_velocity(model, float(run.t[chosen[k]]), run.q[chosen[k]], p[k], run.v[chosen[k]])
        return _linearized(model, base, state, dt, tau[k if len(tau) > 1 else 0])

    if isinstance(base, Variational) and has_step_maps(base, model) and run.every == 1:
        q, after, nv = run.q[chosen], run.q[chosen + 1], model.nv
        _refuse_new_charts(model, q, after, chosen)
        d, ends = np.zeros((len(q), nv)), _Nodes(run, chosen + 1)
        increments_between(model.tree, q, after, d)
        steps = maps_of_steps(base, model, run.t[chosen], q, p, tau, d, dt)
        for k in np.flatnonzero(~(steps.left < _solved(base))):  # the next node is not where the step leads: an event was there
            step = solved_anew(int(k))
            steps.A[k], steps.B[k], ends.others[int(k)] = step.A, step.B, step.next_state
        none = np.zeros((len(q), 0, 3 * nv))
        return Linearizations(steps.A, steps.B, none[:, :, 0], none[:, :, : 2 * nv], none[:, :, 2 * nv :], chosen, ends)
    each = [solved_anew(k) for k in range(len(chosen))]
    A, B, lam, C, D = (np.array([getattr(step, name) for step in each]) for name in ("A", "B", "multipliers", "C", "D"))
    return Linearizations(A, B, lam, C, D, chosen, [step.next_state for step in each])


def _chosen(run: Trajectory, nodes: Sequence[int] | slice | None) -> NDArray[np.int64]:
    """(N,) the nodes to start from."""
    last = len(run) - 1
    if last < 1:
        raise StateError("the run has made no step that could be linearised")
    every = np.arange(last)
    if nodes is None:
        return every
    if isinstance(nodes, slice):
        chosen = every[nodes]
    else:
        chosen = np.atleast_1d(numbers(nodes, "nodes", StateError))
        if chosen.ndim != 1 or (chosen % 1.0).any() or (chosen < 0).any() or (chosen >= last).any():
            raise StateError(f"nodes = {shown(nodes)}; give a slice or nodes from 0 to {last - 1}, from which steps of the run start")
    if len(chosen) == 0:
        raise StateError(f"nodes = {shown(nodes)} names none of the {last} nodes from which steps start")
    return chosen.astype(np.int64)


class _Nodes(Sequence[State]):
    """States of a run, made when they are asked for."""

    def __init__(self, run: Trajectory, nodes: NDArray[np.int64]):
        self.run, self.nodes = run, nodes
        self.others: dict[int, State] = {}  #: those that are no nodes of the run

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, k):
        k = range(len(self))[k]
        return self.others[k] if k in self.others else self.run.state(int(self.nodes[k]))


def _refuse_new_charts(model: Model, q0: Array, q1: Array, nodes: NDArray[np.int64] | None = None) -> None:
    """q0, q1: (N, nq) before and after steps, which start from these nodes of a run."""
    for body in model.bodies:
        last = model.q_slice(body.joint_name).stop - 1
        if body.joint.charts > 1 and (changes := np.flatnonzero(q0[:, last] != q1[:, last])).size:
            where = "this step" if nodes is None else f"the step from node {nodes[changes[0]]}"
            raise StateError(
                f"joint {body.joint_name!r} changes its coordinates in {where}, so it has no single set of them to differentiate in; "
                "linearise from the state after it"
            )


# -------------------------------------------------------------------------------------------------------------- one step


class _Step:
    """One solved step and the equations it solves."""

    def __init__(self, model: Model, integrator: _Implicit, state: State, dt: float, tau: Array):
        self.model, self.integrator, self.state, self.dt, self.tau = model, integrator, state, dt, tau
        stepper = integrator.start(model, state, dt)
        record = stepper.make_record(1, 1)
        result = stepper.advance(1, tau[None], record)
        if result.failure:
            message = f"the step to linearise, of dt = {dt:g} s from t = {state.t:g} s, was not solved: {result.failure}"
            raise ConvergenceError(message, step=0, time=state.t, residual=result.residual)
        _refuse_new_charts(model, state.q[None], record.q[:1])
        self.d = stepper.work.d.copy()
        self.ties = stepper.ties
        self.lam = np.zeros(0) if self.ties is None else self.ties.lam.copy()
        self.J0 = rows(model, self.ties, state.q, state.t)[1]

    def polish(self) -> None:
        """One more Newton correction: the solver stops at its tolerance, derivatives deserve the last digits."""
        s, held = self._derivatives(), self._rows()
        r = s.leaving - self.state.p - self.J0.T @ self.lam
        x = np.linalg.solve(self._matrix(s, held), -np.concatenate([r, held.value]))
        q1 = self.end()
        advance(self.model.tree, q1, x[: self.model.nv])
        self.d = increment(self.model, self.state.q, q1)
        self.lam = self.lam + x[self.model.nv :]

    def linearization(self) -> Linearization:
        nv, half = self.model.nv, 0.5 * self.dt
        s, held = self._derivatives(), self._rows()
        bent = s.P00
        if self.ties is not None:
            bent = bent - Curvature(self.model, self.ties, self.state.q, self.state.t).of_impulse(self.lam)
        right = np.zeros((nv + len(self.lam), 3 * nv))  # what changes the equations: dq, dp, dtau
        right[:nv] = np.hstack([-bent, np.eye(nv), half * np.eye(nv)])
        right[nv:, :nv] = -held.by_q0
        x = np.asarray(np.linalg.solve(self._matrix(s, held), right), dtype=np.float64)
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
        if isinstance(self.integrator, Trapezoid):
            return trapezoid_derivatives(self.integrator, *where)
        return variational_derivatives(self.integrator, *where)

    def _rows(self) -> RowsOverStep:
        retraction = RETRACTIONS[self.integrator.retraction] if isinstance(self.integrator, Variational) else 0
        return rows_over_step(self.model, self.ties, self.state.q, self.d, self.end(), self.state.t, self.dt, retraction)

    def _matrix(self, s: StepDerivatives, held: RowsOverStep) -> Array:
        """Of the equations  leaving - Dh(q0)' lam = p0,  h(q0, q1) = 0."""
        m = len(self.lam)
        return np.block([[s.P01, -self.J0.T], [held.by_q1, np.zeros((m, m))]])
