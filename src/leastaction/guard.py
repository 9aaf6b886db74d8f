"""guard=True: no step is accepted that was not solved on the right branch; what cannot be solved is subdivided.

A step that the integrator does not solve, or whose solution is not the one that grows out of no motion as the step grows from zero,
is made again as 2, 4, 8, ... equal steps: a symmetric composition of the same integrator.  Solutions of another branch are recognised
by what they must have passed on the way: a singular Jacobian, or half a turn of a joint within one step.
"""

from __future__ import annotations

import numpy as np

from . import dynamics, solvability
from .dynamics import discrete
from .errors import LeastActionError, StateError
from .integrators import Integrator, Trapezoid, Variational
from .integrators.base import Advance
from .model import Model
from .state import State

MOST_PARTS = 64
_BLOCK = 64  # steps made at a time before their solutions are looked at
_SMALL_CHANGE = 0.05  # rad or m: an increment that changes by less from one step to the next is on the same branch
REGULAR = 0.3  # smallest eigenvalue of the Jacobian of an accepted step, relative to the mass matrix


class GuardedStepper:
    """A stepper around the stepper of any integrator with equal steps."""

    def __init__(self, integrator: Integrator, model: Model, state: State, dt: float):
        if not integrator.uniform:
            raise StateError(f"guard=True subdivides steps of one length, which {integrator!r} does not make; leave guard out")
        self.integrator, self.model, self.dt = integrator, model, dt
        self.state = state
        self.subdivided: list[tuple[float, int]] = []  #: (time, number of parts) of every step that was subdivided
        self._evaluator = dynamics.Evaluator(model)
        self._start(state)

    def _start(self, state: State) -> None:
        self.state = state
        self._last_v = state.v
        self._stepper = self.integrator.start(self.model, state, self.dt)
        self._stepper.advance(0, np.zeros((1, self.model.nv)), 1, *self._rows(0))

    def _rows(self, count: int):
        return np.empty((count, self.model.nq)), np.empty((count, self.model.nv)), np.zeros(count, dtype=np.int64)

    def record(self, out_q, out_momentum) -> None:
        self._stepper.record(out_q, out_momentum)

    def advance(self, steps, tau, stride, out_q, out_momentum, evaluations) -> Advance:
        done = 0
        while done < steps:
            size = min(_BLOCK, steps - done)
            forces = tau if len(tau) == 1 else tau[done : done + size]
            q, recorded, used = self._rows(size)
            result = self._stepper.advance(size, forces, 1, q, recorded, used)
            good = self._first_bad(q[: result.steps], recorded[: result.steps], used)
            for k in range(good):
                self._keep(done + k + 1, stride, q[k], recorded[k], out_q, out_momentum)
            evaluations[done : done + good] = used[:good]
            if good:
                self._remember(q[good - 1 : good], recorded[good - 1 : good], good)
            done += good
            if good < size:
                row = forces[0 if len(forces) == 1 else good][None]
                failure = self._subdivide(row, evaluations[done : done + 1], result)
                if failure:
                    return Advance(done, failure, result.residual)
                q, recorded, _ = self._rows(1)
                self._stepper.record(q, recorded)
                done += 1
                self._keep(done, stride, q[0], recorded[0], out_q, out_momentum)
        return Advance(steps)

    @staticmethod
    def _keep(count: int, stride: int, q, recorded, out_q, out_momentum) -> None:
        if count % stride == 0:
            out_q[count // stride - 1], out_momentum[count // stride - 1] = q, recorded

    def _remember(self, q, recorded, steps: int) -> None:
        node = self._evaluator(*self.integrator.recording(self.dt), q, recorded)
        self.state = State.with_velocity(self.model, self.state.t + steps * self.dt, q[0].copy(), node.p[0], node.v[0])

    def _first_bad(self, q, recorded, used) -> int:
        """Number of steps at the start of the block that may be accepted."""
        before = self.state.q
        for k in range(len(q)):
            try:
                change = discrete.increment(self.model, before, q[k])
            except StateError:  # half a turn
                return k
            velocity = change / self.dt
            suspicious = self.dt * np.abs(velocity - self._last_v).max() > _SMALL_CHANGE or used[k] > 8
            if suspicious and not on_branch(self.model, self.integrator, before, q[k], self.dt):
                return k
            before, self._last_v = q[k], velocity
        return len(q)

    def _subdivide(self, tau, evaluations, failed: Advance) -> str:
        """Make one step in parts; returns an empty string, or why it failed."""
        evaluations[0] = 0
        parts = 2
        while parts <= MOST_PARTS:
            state = self._in_parts(tau, evaluations, parts)
            if state is not None:
                self.subdivided.append((self.state.t, parts))
                self._start(state)
                return ""
            parts *= 2
        self._start(self.state)
        return (
            f"the step cannot be solved, not even in {MOST_PARTS} parts of {self.dt / MOST_PARTS:.3g} s "
            f"({failed.failure or 'its solution is on another branch'}); {_bound_in_words(self.model, self.state, tau[0])}"
        )

    def _in_parts(self, tau, evaluations, parts: int) -> State | None:
        length = self.dt / parts
        stepper = self.integrator.start(self.model, self.state, length)
        q, recorded, used = self._rows(parts)
        result = stepper.advance(parts, tau, 1, q, recorded, used)
        evaluations[0] += int(used.sum())
        if result.failure:
            return None
        before = self.state.q
        for k in range(parts):
            if not on_branch(self.model, self.integrator, before, q[k], length):
                return None
            before = q[k]
        node = self._evaluator(*self.integrator.recording(length), q[-1:], recorded[-1:])
        return State.with_velocity(self.model, self.state.t + self.dt, q[-1].copy(), node.p[0], node.v[0])


def certified_dt(model: Model, state: State, integrator: Integrator) -> float:
    """The longest certified step from `state`, but no longer than half the linear stability limit."""
    if not isinstance(integrator, Trapezoid):
        raise StateError(f'dt="certified" is known for Trapezoid() only, not for {integrator!r}; leave the integrator out or give dt in s')
    stable = 0.5 * solvability.stable_step(model, state.q)
    dt = min(solvability.certified(model, state), stable)
    if not np.isfinite(dt):
        raise StateError('dt="certified": nothing limits the step of this model in this state; give dt in seconds')
    return float(dt)


def on_branch(model: Model, integrator: Integrator, q0, q1, dt: float) -> bool:
    """Can the step from q0 to q1 have grown out of no motion, and is it well away from where its branch ends?

    The branch of solutions that starts at no motion ends where the Jacobian becomes singular.  In the norm of the kinetic energy the
    symmetric part of the Jacobian is the identity for short steps; it has to be larger than REGULAR (Variational and Trapezoid).
    Half a turn of a joint within a step is refused for every integrator.  Of a composition only the whole step is looked at.
    """
    if _largest_turn(model, q0, q1) > np.pi - 1e-6:
        return False
    try:
        if isinstance(integrator, Variational) and integrator.residual == "drnea":
            J = dt * discrete.jacobian(model, q0, q1, dt, retraction=integrator.retraction, quadrature=integrator.quadrature)
        elif isinstance(integrator, Trapezoid):
            J = solvability.StepEquation(model, model.state(q0)).jacobian(discrete.increment(model, q0, q1) / dt, dt)
        else:
            return True
    except LeastActionError:  # no such Jacobian for this model
        return True
    if not np.isfinite(J).all():
        return False
    root = np.linalg.inv(np.linalg.cholesky(dynamics.mass_matrix(model, q0)))
    scaled = root @ J @ root.T
    return bool(np.linalg.eigvalsh(0.5 * (scaled + scaled.T))[0] > REGULAR)


def _largest_turn(model: Model, q0, q1) -> float:
    """Largest angle a body turns by; turns of joints with an angle as coordinate are counted beyond half a turn."""
    angles = [0.0]
    for body in model.bodies:
        at = model.q_slice(body.joint_name)
        if body.joint.nq == body.joint.nv:
            angles += [abs(float(b - a)) for a, b, turns in zip(q0[at], q1[at], body.joint.angular, strict=True) if turns]
    return max(angles)


def _bound_in_words(model: Model, state: State, tau) -> str:
    try:
        h = solvability.certified(model, state, tau)
    except (LeastActionError, np.linalg.LinAlgError):
        h = solvability.tried_limit(model, state, Variational(), tau)
        return f"from this state Variational solved steps up to {h:.3g} s when they were tried; see leastaction.solvability.report"
    return f"the bound certified for Trapezoid in this state is {h:.3g} s; see leastaction.solvability.report"
