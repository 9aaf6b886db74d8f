"""The steps an integrator makes from a node, ahead and back, with the impulses of its constraints.

A node between two steps is where the discrete equations balance: the momentum that leaves less the one that arrives is the impulse of half
the step before and half the step behind it.  Both steps follow from the state at the node alone, since the map of an integrator and its
inverse do, so they can be made again: at the first and the last node too, and where neighbours were not recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dynamics.discrete import increment
from ..errors import ConvergenceError
from ..integrators import Integrator, Maximal, Midpoint, Variational
from ..integrators.maximal import MaximalStepper
from ..integrators.midpoint import MidpointStepper
from ..integrators.variational import VariationalStepper
from ..kernels.stepping.record import rewind
from ..model import Model
from ..state import State

Array = NDArray[np.float64]

_TOL = 1e-12  # what the steps are solved to where rounding allows it


@dataclass(frozen=True)
class Nodes:
    """States of a run, and the joint forces around them."""

    model: Model
    t: Array  #: (T,)
    q: Array  #: (T, nq)
    v: Array  #: (T, nv)
    p: Array  #: (T, nv)
    tau: Array  #: (T, 2, nv) joint forces of the step that ends in the node and of the one that starts there
    failed: bool = False  #: could the step after the last node not be made?

    def state(self, k: int) -> State:
        return State.with_velocity(self.model, float(self.t[k]), self.q[k], self.p[k], self.v[k])


class Side(NamedTuple):
    """The steps that leave the nodes in one direction of time."""

    dt: float  #: negative: backwards
    d: Array  #: (T, nv) increments
    impulses: Array  #: (T, m) of the constraint rows that are kept
    momenta: Array  #: (T, n+1, 6) of the bodies at their centres of mass where they leave, body axes; of Maximal only
    laws: Array  #: (T, n+1, 6) wrenches of laws on bodies there, at their origins; of Maximal only


def is_balanced(integrator: Integrator, model: Model) -> bool:
    """Are its reactions those of its own discrete equations?  Not with servos and dry friction: their steps do not go back."""
    if model.is_actuated:
        return False
    if isinstance(integrator, Midpoint) and any(b.joint.nq != b.joint.nv for b in model.bodies):
        return False
    return isinstance(integrator, (Variational, Midpoint, Maximal))


def both_sides(integrator: Integrator, nodes: Nodes, dt: float) -> tuple[Side, Side]:
    """(ahead, behind)."""
    return _leave(integrator, nodes, dt, 1), _leave(integrator, nodes, -dt, 0)


def _plain(integrator: Integrator, tol: float, back: bool) -> Variational | Midpoint | Maximal:
    """The integrator with the same equations, solved in the usual way; back: the one whose step of -dt undoes a step of dt."""
    if isinstance(integrator, Variational):
        return Variational(integrator.retraction, quadrature=integrator.quadrature, tol=tol, max_evaluations=integrator.max_evaluations)
    if isinstance(integrator, Midpoint):
        return Midpoint(1.0 - integrator.alpha if back else integrator.alpha, tol, integrator.max_evaluations)
    assert isinstance(integrator, Maximal)
    return Maximal(integrator.retraction, integrator.elimination, tol, integrator.max_evaluations, integrator.quadrature)


def _leave(integrator: Integrator, nodes: Nodes, dt: float, side: int) -> Side:
    """Solved as exactly as rounding allows, since forces are differences of momenta over dt, and never less than in the run."""
    model, count = nodes.model, len(nodes.t)
    own: float = integrator.tol  # type: ignore[attr-defined]
    tols = (_TOL, own) if own > _TOL else (own,)
    steppers = [_plain(integrator, tol, dt < 0.0).start(model, nodes.state(0), dt) for tol in tols]
    stepper = steppers[0]
    record = stepper.make_record(1, 1)
    on_bodies = (count, len(model.bodies) + 1, 6)
    out = Side(dt, np.empty((count, model.nv)), np.empty((count, stepper.closure_rows)), np.zeros(on_bodies), np.zeros(on_bodies))
    for k in range(count):
        state = nodes.state(k)
        for stepper in steppers:
            stepper.restart(state)
            rewind(record)
            result = stepper.advance(1, nodes.tau[k, side][None].copy(), record)
            if not result.failure:
                break
        else:
            if nodes.failed and k == count - 1:  # nobody knows what would have been there
                out.d[k] = out.impulses[k] = out.momenta[k] = np.nan
                continue
            raise ConvergenceError(
                f"the reactions at t = {nodes.t[k]:g} s need the step of {dt:g} s from there, which was not solved: {result.failure}",
                step=k, time=float(nodes.t[k]), residual=result.residual,
            )  # fmt: skip
        _read(stepper, state, record.q[0], out, k)
    return out


def _read(stepper: VariationalStepper | MidpointStepper | MaximalStepper, start: State, end: Array, out: Side, k: int) -> None:
    if isinstance(stepper, MaximalStepper):
        out.d[k] = increment(stepper.model, start.q, end)
        out.impulses[k] = stepper.closure_impulses
        out.momenta[k] = stepper.flow.mu
        if stepper.flow.laws is not None:
            out.laws[k] = stepper.law_wrenches(start)
        return
    changed = stepper.model.tree.has_charts  # then the increment may be written in another chart by now
    out.d[k] = increment(stepper.model, start.q, end) if changed else stepper.work.d
    if stepper.ties is not None:
        out.impulses[k] = stepper.ties.lam
