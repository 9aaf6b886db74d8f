"""The discrete map of an integrator, linearised exactly: what discrete control and estimation are built on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ..checks import listed, numbers, shown, time_step
from ..dynamics.discrete import increment
from ..errors import StateError
from ..integrators import AdaptiveStep, Composition, Integrator, Maximal, Midpoint, Trapezoid, Variational
from ..integrators.explicit import Explicit
from ..kernels.maximal.evaluate import increments_between
from ..kernels.tree.step_maps import Steps
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Coordinates, Model, takes_model
from ..state import State, checked_state
from ..trajectory import Trajectory
from .changing_length import length_of_step
from .driven_runs import driven_steps
from .explicit_steps import explicit_step
from .implicit_steps import Implicit, Step, refuse_new_charts
from .modes import beginning
from .result import Linearization, Linearizations
from .step_derivatives import difference, has_step_maps, maps_of_steps

Array = NDArray[np.float64]

_ROUNDING = 1e-11  # of the largest momentum: what rounding may leave of the equations
_CORRECTIONS = 20  # by Newton's method, at most; rounding stops it after four or five
_LENGTHENED = 0.05  # by which fraction steps are made longer and shorter to difference them
_SHORT = 0.5  # rad or m: a step that moves no joint further has no other solution nearby


@overload
def linearize(
    model: Model, integrator: Integrator, state: State, dt: float, tau: Coordinates = None, *, targets: Coordinates = None
) -> Linearization: ...


@overload
def linearize(model: Trajectory, *, nodes: Sequence[int] | slice | None = None) -> Linearizations: ...


def linearize(model, integrator=None, state=None, dt=None, tau=None, *, targets=None, nodes=None):
    """Derivatives of one step of an integrator from `state` under the joint forces tau, or of the steps of a run.

    tau, targets: joint forces and targets of servos as `Model.inputs` takes them, or tau a row of inputs.

    `Variational`, `Midpoint`, `Maximal`, `Trapezoid`, `FloatingBase`, a `Composition` of one of them and `AdaptiveStep`.  Exact, by the
    implicit function theorem on the solved discrete equations; see step_derivatives.py for what is differenced, and changing_length.py.
    Explicit integrators, of mechanisms without constraints: their steps are differenced.  With servos and dry friction the step is
    linearised in the mode it was solved in; a state that comes from a run, `run.state()` or `Simulator.state`, knows what was before it.

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
        if any(given is not None for given in (integrator, state, dt, tau, targets)):
            raise StateError("linearize(run) takes integrator, states, dt and joint forces from the run; give nothing but nodes=")
        return _along(model, nodes)
    if nodes is not None:
        raise StateError(f"nodes = {shown(nodes)} are those of a run: linearize(run, nodes=...)")
    return _of_step(model, integrator, state, dt, tau, targets)


@takes_model
def _of_step(model: Model, integrator: Integrator, state: State, dt: float, tau: Coordinates, targets: Coordinates) -> Linearization:
    dt = time_step(dt)
    forces = model.inputs(tau, targets)
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
        refuse_new_charts(model, state.q[None], end.q[None])
        none = np.zeros((0, 2 * model.nv + len(tau)))
        return Linearization(A, B, none[:, 0], none[:, : 2 * model.nv], none[:, 2 * model.nv :], end)
    base = _in_joint_coordinates(integrator)
    if isinstance(base, Variational) and has_step_maps(base, model):
        return _mapped(model, base, state, dt, tau)
    start, kick = beginning(model, integrator, state, dt)
    return Step(model, base, start, dt, tau, kick).polish().linearization()


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
        found = corrected(Step(model, integrator, state, dt, tau).d)
    none, nv = np.zeros((0, 3 * model.nv)), model.nv
    end = State(model, state.t + dt, found.q_end[0], found.p_end[0])
    return Linearization(found.A[0], found.B[0], none[:, 0], none[:, : 2 * nv], none[:, 2 * nv :], end)


def _solved(integrator: Implicit) -> float:
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


def _in_joint_coordinates(integrator: Integrator) -> Implicit:
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
    rows = model.inputs()[None] if run.tau is None else run.tau
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

    if model.is_actuated and not isinstance(base, (AdaptiveStep, Composition, Explicit)):
        return _stacked(driven_steps(run, base, chosen, rows, _solved(base)), chosen)
    if isinstance(base, Variational) and has_step_maps(base, model) and run.every == 1:
        q, after, nv = run.q[chosen], run.q[chosen + 1], model.nv
        refuse_new_charts(model, q, after, chosen)
        d, ends = np.zeros((len(q), nv)), _Nodes(run, chosen + 1)
        increments_between(model.tree, q, after, d)
        steps = maps_of_steps(base, model, run.t[chosen], q, p, tau, d, dt)
        for k in np.flatnonzero(~(steps.left < _solved(base))):  # the next node is not where the step leads: an event was there
            step = solved_anew(int(k))
            steps.A[k], steps.B[k], ends.others[int(k)] = step.A, step.B, step.next_state
        none = np.zeros((len(q), 0, 3 * nv))
        return Linearizations(steps.A, steps.B, none[:, :, 0], none[:, :, : 2 * nv], none[:, :, 2 * nv :], chosen, ends)
    return _stacked([solved_anew(k) for k in range(len(chosen))], chosen)


def _stacked(each: Sequence[Linearization], chosen: NDArray[np.int64]) -> Linearizations:
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
