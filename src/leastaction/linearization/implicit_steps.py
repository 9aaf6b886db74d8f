"""Steps that solve equations, linearised by the implicit function theorem.

    leaving(q0, q1) - p0 - Dh(q0)' lam - kick f(q0, q1) = 0        h(q0, q1) = 0        p1 = arriving(q0, q1)

f are the forces of servos and dry friction in the mode the step was solved in (modes.py); a joint that sticks has dq1 = dq0 in place of
its equation.  p0 and p1 are momenta without the half impulse of these forces, which belongs to another step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..dynamics.discrete import increment
from ..errors import ConvergenceError, StateError
from ..integrators import Midpoint, Trapezoid, Variational
from ..kernels.maximal.evaluate import advance
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Model
from ..state import State
from .constraint_derivatives import Allowed, Curvature, RowsOverStep, project_momentum, rows, rows_over_step
from .modes import Mode, mode_of_step, set_kick
from .result import Linearization
from .step_derivatives import StepDerivatives, midpoint_derivatives, trapezoid_derivatives, variational_derivatives

Array = NDArray[np.float64]
Implicit = Midpoint | Trapezoid | Variational  # whose equations are differentiated


class Step:
    """One solved step and the equations it solves.

    state   where it starts, the momenta without the half impulse of servos and dry friction
    kick    the time that their impulse stands for, s
    row     of inputs, as `Model.inputs` makes it
    q1      where it leads, if that is known; else it is solved, and deserves to be polished
    """

    def __init__(self, model: Model, integrator: Implicit, state: State, dt: float, row: Array, kick: float = 0.0, q1: Array | None = None):
        self.model, self.integrator, self.dt, self.kick, self.row, self.tau = model, integrator, dt, kick, row, row[: model.nv]
        stepper = integrator.start(model, state, dt)
        self.ties = stepper.ties
        if self.ties is not None and model.is_actuated:  # what was taken from the momenta may have been more than constraints allow
            p = project_momentum(Curvature(model, self.ties, state.q, state.t), state.p).p
            state = State.with_velocity(model, state.t, state.q, p, state.v)
        self.state = state
        self.J0 = rows(model, self.ties, state.q, state.t)[1]
        if q1 is None:
            self._solve(stepper)
        else:
            self.d = increment(model, state.q, q1)
            self.derivatives = self._derivatives()
            mode = self.mode()
            b, free = self.unbalanced(mode), ~mode.sticks
            self.lam = np.asarray(np.linalg.lstsq(self.J0[:, free].T, b[free], rcond=None)[0], dtype=np.float64)

    def _solve(self, stepper) -> None:
        set_kick(stepper, self.kick, self.row)
        record = stepper.make_record(1, 1)
        result = stepper.advance(1, self.row[None], record)
        if result.failure:
            message = f"the step to linearise, of dt = {self.dt:g} s from t = {self.state.t:g} s, was not solved: {result.failure}"
            raise ConvergenceError(message, step=0, time=self.state.t, residual=result.residual)
        refuse_new_charts(self.model, self.state.q[None], record.q[:1])
        self.d = stepper.work.d.copy()
        self.lam = np.zeros(0) if self.ties is None else self.ties.lam.copy()

    def polish(self) -> Step:
        """One more Newton correction: the solver stops at its tolerance, derivatives deserve the last digits."""
        self.derivatives = self._derivatives()
        held, mode = self._rows(), self.mode()
        r = self.unbalanced(mode) - self.J0.T @ self.lam
        r[mode.sticks] = 0.0
        x = np.linalg.solve(self._matrix(held, mode), -np.concatenate([r, held.value]))
        x[: self.model.nv][mode.sticks] = 0.0
        q1 = self.end()
        advance(self.model.tree, q1, x[: self.model.nv])
        self.d = increment(self.model, self.state.q, q1)
        self.lam = self.lam + x[self.model.nv :]
        self.derivatives = self._derivatives()
        return self

    def left(self) -> float:
        """By how much it misses the equations, relative to the largest momentum or impulse in them."""
        mode = self.mode()
        r = (self.unbalanced(mode) - self.J0.T @ self.lam)[~mode.sticks]
        sizes = np.concatenate([self.state.p, self.derivatives.leaving, [self.kick * mode.size]])
        return float(np.abs(r).max(initial=0.0) / max(np.abs(sizes).max(), 1e-300))

    def linearization(self) -> Linearization:
        nv, half, s = self.model.nv, 0.5 * self.dt, self.derivatives
        held, mode = self._rows(), self.mode()
        bent = s.P00 - np.diag(self.kick * mode.by_q0)
        if self.ties is not None:
            bent = bent - Curvature(self.model, self.ties, self.state.q, self.state.t).of_impulse(self.lam)
        inputs = np.hstack([half * np.eye(nv), self.kick * mode.by_targets])
        right = np.zeros((nv + len(self.lam), 2 * nv + len(self.row)))  # what changes the equations: dq, dp, inputs
        right[:nv] = np.hstack([-bent, np.eye(nv), inputs])
        right[:nv][mode.sticks] = np.eye(nv, right.shape[1])[mode.sticks]
        right[nv:, :nv] = -held.by_q0
        x = np.asarray(np.linalg.solve(self._matrix(held, mode), right), dtype=np.float64)
        moved = x[:nv]
        moved[mode.sticks] = right[:nv][mode.sticks]
        momenta = s.P11 @ moved
        momenta[:, :nv] += s.P10
        momenta[:, 2 * nv : 3 * nv] += half * np.eye(nv)
        p1, lam, impulses = s.arriving, self.lam, x[nv:]
        end = p1 + half * self._drive(mode)
        if self.ties is not None:
            allowed = self._allowed(p1)
            # the step starts and ends with momenta the constraints allow: at its end they take the other half of their impulse
            lam, impulses = lam + allowed.impulse, impulses + allowed.impulse_by_q @ moved + allowed.impulse_by_p @ momenta
            momenta = allowed.p_by_q @ moved + allowed.p_by_p @ momenta
            end = self._allowed(end).p if self.model.is_actuated else allowed.p
        both = np.vstack([moved, momenta])
        there = State(self.model, self.state.t + self.dt, self.end(), end)
        return Linearization(both[:, : 2 * nv], both[:, 2 * nv :], lam, impulses[:, : 2 * nv], impulses[:, 2 * nv :], there)

    def end(self) -> Array:
        q1 = self.state.q.copy()
        advance(self.model.tree, q1, self.d)
        return q1

    def arrives(self) -> Array:
        """Momenta (nv,) at its end, without the half impulse of servos and dry friction."""
        return self.derivatives.arriving if self.ties is None else self._allowed(self.derivatives.arriving).p

    def mode(self) -> Mode:
        return mode_of_step(self.model, self.state.q, self.d, self.dt, self.row)

    def unbalanced(self, mode: Mode) -> Array:
        """Impulses (nv,) that constraints have, and the dry friction of joints that stick."""
        return self.derivatives.leaving - self.state.p - self.kick * mode.force

    def _drive(self, mode: Mode) -> Array:
        """Forces (nv,) of servos and dry friction, those that hold joints too."""
        holding = (self.unbalanced(mode) - self.J0.T @ self.lam)[mode.sticks]
        drive = mode.force.copy()
        drive[mode.sticks] += holding / self.kick
        return drive

    def _allowed(self, p: Array) -> Allowed:
        assert self.ties is not None
        return project_momentum(Curvature(self.model, self.ties, self.end(), self.state.t + self.dt), p)

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

    def _matrix(self, held: RowsOverStep, mode: Mode) -> Array:
        """Of the equations of the step in q1 and lam."""
        nv, m = self.model.nv, len(self.lam)
        matrix = np.block([[self.derivatives.P01 - self.kick * np.diag(mode.by_q1), -self.J0.T], [held.by_q1, np.zeros((m, m))]])
        matrix[:nv][mode.sticks] = np.eye(nv, nv + m)[mode.sticks]
        return matrix


def refuse_new_charts(model: Model, q0: Array, q1: Array, nodes: NDArray[np.int64] | None = None) -> None:
    """q0, q1: (N, nq) before and after steps, which start from these nodes of a run."""
    for body in model.bodies:
        last = model.q_slice(body.joint_name).stop - 1
        if body.joint.charts > 1 and (changes := np.flatnonzero(q0[:, last] != q1[:, last])).size:
            where = "this step" if nodes is None else f"the step from node {nodes[changes[0]]}"
            raise StateError(
                f"joint {body.joint_name!r} changes its coordinates in {where}, so it has no single set of them to differentiate in; "
                "linearise from the state after it"
            )
