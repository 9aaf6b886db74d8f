"""An integrator around an integrator: no step is accepted that was not solved on the right branch; what cannot be solved is subdivided.

A step that the integrator does not solve, or whose solution is not the one that grows out of no motion as the step grows from zero,
is made again as 2, 4, 8, ... equal steps: a symmetric composition of the same integrator.  Solutions of another branch are recognised
by what they must have passed on the way: a singular Jacobian, or half a turn of a joint within one step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import ClosedEvaluator
from ..coordinates import ties as tree
from ..dynamics import discrete, mass_matrix
from ..errors import LeastActionError, StateError
from ..kernels.stepping.record import ROWS, STEPS, Record, add_step, copy_row, rewind
from ..model import Model
from ..state import State
from .base import Advance, Integrator, Stepper
from .memory import Memory, below_prefix, packed, unpacked, with_prefix

MOST_PARTS = 64
_BLOCK = 64  # steps made at a time before their solutions are looked at
_SMALL_CHANGE = 0.05  # rad or m: an increment that changes by less from one step to the next is on the same branch
_MANY_EVALUATIONS = 8  # of a step that deserves a look
REGULAR = 0.3  # smallest eigenvalue of the Jacobian of an accepted step, relative to the mass matrix

Array = NDArray[np.float64]


class Guarded(Integrator):
    """The steps of `base`, subdivided where they cannot be solved or lead to another branch.  simulate(..., guard=True) makes one.

    bound   function (model, state, tau) -> a sentence about the longest step, for the message when nothing helps
    """

    def __init__(self, base: Integrator, bound: Callable[[Model, State, Array], str] | None = None):
        if not base.uniform:
            why = f": {base.unguarded}" if base.unguarded else "; leave guard out"
            raise StateError(f"guard=True subdivides steps of one length, which {base!r} does not make{why}")
        self.base, self.bound = base, bound
        self.order, self.symplectic = base.order, base.symplectic  # type: ignore[misc]
        self.plain_coordinates, self.self_adjoint = base.plain_coordinates, base.self_adjoint  # type: ignore[misc]

    def options(self):
        return {"base": self.base}

    def start(self, model: Model, state: State, dt: float) -> GuardedStepper:
        return GuardedStepper(self, model, state, dt)

    def why_general(self, model: Model) -> str:
        return "the guard starts steps anew; model.specialise() before the run gives the code to all of them"

    def recording(self, dt: float) -> tuple[int, float]:
        return self.base.recording(dt)

    def step_jacobian(self, model: Model, q0: Array, q1: Array, dt: float) -> Array | None:
        return self.base.step_jacobian(model, q0, q1, dt)


class GuardedStepper(Stepper):
    """A stepper around the stepper of the base."""

    integrator: Guarded

    def __init__(self, integrator: Guarded, model: Model, state: State, dt: float):
        super().__init__(integrator, model, dt)
        self.base = integrator.base
        self.subdivided: list[tuple[float, int]] = []  #: (time, number of parts) of every step that was subdivided
        self._evaluate = ClosedEvaluator(model)
        self._begun, self._made = state.t, 0
        self._start(state)
        self.multipliers, self.keeps_constraints = self._stepper.multipliers, self._stepper.keeps_constraints
        self.redundant = self._stepper.redundant
        self._block = self._stepper.make_record(_BLOCK, _BLOCK)

    def _start(self, state: State) -> None:
        self.state = self._started = state
        self._last_v = state.v
        self._stepper = self.base.start(self.model, state, self.dt)
        self._stepper.advance(0, np.zeros((1, self.model.nv)), self._stepper.make_record(0, 0))

    def write(self, record: Record) -> None:
        row = int(record.cursor[ROWS])
        self._stepper.write(record)
        record.t[row] = self._begun + self._made * self.dt  # the clock of the base began with the last step that was subdivided

    def remember(self) -> Memory | None:
        base = self._stepper.remember()
        if base is None:
            return None
        own = {
            "clock": np.array([self._begun, self._made]), "last_v": self._last_v.copy(), "state": packed(self.state),
            "started": packed(self._started), "subdivided": np.array(self.subdivided, dtype=float).reshape(-1, 2),
        }  # fmt: skip
        return own | with_prefix("base.", base)

    def recall(self, memory: Memory) -> None:
        self._start(unpacked(self.model, memory["started"]))
        self._stepper.recall(below_prefix("base.", memory))
        self.state, self._last_v = unpacked(self.model, memory["state"]), memory["last_v"].copy()
        self._begun, self._made = float(memory["clock"][0]), int(memory["clock"][1])
        self.subdivided = [(float(t), int(parts)) for t, parts in memory["subdivided"]]

    def take_over(self, before: Stepper, further: int, length: float) -> None:
        assert isinstance(before, GuardedStepper)
        self.subdivided = [(t, parts) for t, parts in before.subdivided if t < self.state.t]

    def advance(self, steps: int, tau: Array, record: Record, end: float = np.inf) -> Advance:
        done = 0
        while done < steps:
            size = min(_BLOCK, steps - done)
            forces = tau if len(tau) == 1 else tau[done : done + size]
            rewind(self._block)
            result = self._stepper.advance(size, forces, self._block)
            good = self._first_bad(result.steps)
            for k in range(good):
                self._made += 1
                self._block.t[k] = self._begun + self._made * self.dt
                if add_step(record, int(self._block.evaluations[k])):
                    copy_row(self._block, k, record)
            if good:
                self.state = self._state_of(self._block, good - 1, self.dt)
            done += good
            if good < size:
                row = forces[0 if len(forces) == 1 else good][None]
                failure, evaluations = self._subdivide(row, result)
                if failure:
                    return Advance(done, failure, result.residual)
                done, self._made = done + 1, self._made + 1
                if add_step(record, evaluations):
                    self.write(record)
        return Advance(steps)

    def _state_of(self, record: Record, row: int, length: float) -> State:
        at = slice(row, row + 1)
        node = self._evaluate(*self.base.recording(length), record.q[at], record.p[at], record.t[at])
        return State.with_velocity(self.model, float(record.t[row]), record.q[row].copy(), node.p[0], node.v[0])

    def _first_bad(self, made: int) -> int:
        """Number of steps at the start of the block that may be accepted."""
        before = self.state.q
        for k in range(made):
            after = self._block.q[k]
            try:
                change = discrete.increment(self.model, before, after)
            except StateError:  # half a turn
                return k
            velocity = change / self.dt
            sudden = self.dt * np.abs(velocity - self._last_v).max() > _SMALL_CHANGE
            if (sudden or self._block.evaluations[k] > _MANY_EVALUATIONS) and not on_branch(self.model, self.base, before, after, self.dt):
                return k
            before, self._last_v = after.copy(), velocity
        return made

    def _subdivide(self, tau: Array, failed: Advance) -> tuple[str, int]:
        """Make one step in parts; returns why it failed, empty if it did not, and the evaluations it took."""
        evaluations, parts = 0, 2
        while parts <= MOST_PARTS:
            state, used = self._in_parts(tau, parts)
            evaluations += used
            if state is not None:
                self.subdivided.append((self.state.t, parts))
                self._start(state)
                return "", evaluations
            parts *= 2
        self._start(self.state)
        bound = f"; {self.integrator.bound(self.model, self.state, tau[0])}" if self.integrator.bound else ""
        return (
            f"the step cannot be solved, not even in {MOST_PARTS} parts of {self.dt / MOST_PARTS:.3g} s "
            f"({failed.failure or 'its solution is on another branch'}){bound}"
        ), evaluations

    def _in_parts(self, tau: Array, parts: int) -> tuple[State | None, int]:
        length = self.dt / parts
        stepper = self.base.start(self.model, self.state, length)
        record = stepper.make_record(parts, parts)
        result = stepper.advance(parts, tau, record)
        evaluations = int(record.evaluations[: int(record.cursor[STEPS])].sum())
        if result.failure:
            return None, evaluations
        before = self.state.q
        for after in record.q:
            if not on_branch(self.model, self.base, before, after, length):
                return None, evaluations
            before = after
        end = self._state_of(record, parts - 1, length)
        return State.with_velocity(self.model, self._begun + (self._made + 1) * self.dt, end.q, end.p, end.v), evaluations


def on_branch(model: Model, integrator: Integrator, q0: Array, q1: Array, dt: float) -> bool:
    """Can the step from q0 to q1 have grown out of no motion, and is it well away from where its branch ends?

    The branch of solutions that starts at no motion ends where the Jacobian becomes singular.  In the norm of the kinetic energy the
    symmetric part of the Jacobian is the identity for short steps; on the motions the constraints allow it has to be larger than REGULAR.
    Half a turn of a joint within a step is refused for every integrator; where the Jacobian is not known nothing else is.
    """
    if _largest_turn(model, q0, q1) > np.pi - 1e-6:
        return False
    try:
        J = integrator.step_jacobian(model, q0, q1, dt)
    except LeastActionError:  # no such Jacobian for this model
        return True
    if J is None:
        return True
    if not np.isfinite(J).all():
        return False
    root = np.linalg.inv(np.linalg.cholesky(mass_matrix(model, q0)))
    scaled = root @ J @ root.T
    if model.closures:
        start, end = (_allowed(tree.jacobian(model, q) @ root.T) for q in (q0, q1))
        scaled = start.T @ scaled @ end @ (end.T @ start)
    return bool(np.linalg.eigvalsh(0.5 * (scaled + scaled.T))[0] > REGULAR) if scaled.size else True


def _allowed(rows: Array) -> Array:
    """(nv, k) orthonormal basis of the motions that leave the rows zero."""
    _, values, right = np.linalg.svd(rows)
    rank = int(np.sum(values > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)))
    return right[rank:].T


def _largest_turn(model: Model, q0: Array, q1: Array) -> float:
    """Largest angle a body turns by; turns of joints with an angle as coordinate are counted beyond half a turn."""
    angles = [0.0]
    for body in model.bodies:
        at = model.q_slice(body.joint_name)
        if body.joint.nq == body.joint.nv:
            angles += [abs(float(b - a)) for a, b, turns in zip(q0[at], q1[at], body.joint.angular, strict=True) if turns]
    return max(angles)
