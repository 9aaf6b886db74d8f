"""Where the energy of a run comes from and goes to: powers at nodes, summed over the steps between them.

A step adds up the means of the powers at its two ends, which is as accurate as the steps of an integrator of order 2.  Dampers can stop a
motion within one step, which its ends do not tell: their heat is taken as the integrator takes their force, where that is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..coordinates import ties as tree
from ..dynamics import forward
from ..dynamics.discrete import increment
from ..errors import StateError
from ..joints.base import Joint
from ..kernels.constraints.velocities import constraint_values
from ..kernels.stepping.evaluation import applied_powers
from ..kernels.tree.layout import with_laws
from ..model import Model
from .closing import reduce

Array = NDArray[np.float64]

WORK, HEAT = 0, 1  #: columns of a ledger; behind them stand the forces of the servos in the step that led to the node

UNEXPLAINED = 0.5  # of the energy that moves: what a run may not be able to explain
_ROUNDING = 1e-9  # of the largest energy: what cannot be told from rounding


def acts(model: Model) -> bool:
    """Do forces act whose work the energy does not contain: wrenches, functions of the user, laws on bodies without an energy?"""
    return bool(len(model.tree.wrench_on) or len(model.tree.custom) or any(_working(model)))


def loses(model: Model) -> bool:
    """Are there dampers, of joints or between points?"""
    return bool(model.tree.has_dampers or any(model.law_losses))


def _working(model: Model) -> list[bool]:
    """Which laws on bodies do work that is neither in the energy nor heat?"""
    return [not (known or lost) for known, lost in zip(model.law_energies, model.law_losses, strict=True)]


def may_change(model: Model, inputs: Array | None) -> bool:
    """Can anything change the energy of a run under these inputs, (1 or steps, ...) or none?"""
    driven = any(closure.driven for closure in model.closures)
    pushed = model.servos or (inputs is not None and inputs[:, : model.nv].any())
    return bool(pushed or driven or acts(model) or loses(model) or model.tree.has_friction)


class Ledger:
    """Adds up work and heat step by step: the same numbers however many steps are given at a time."""

    def __init__(self, model: Model, implicit: bool, q: Array, t: float):
        """implicit: are forces of servos taken at the ends of steps, and those of dampers at the mean velocity?  q, t: where the constraint
        rows that count are chosen."""
        self.model, self.implicit = model, implicit
        self.totals = np.zeros(2 + len(model.servos))  #: of the last node, a row of the ledger
        self._first = True  # no force of a servo is known from before
        self._applied = _Powers(model, _working(model), laws_only=False) if acts(model) else None
        self._lost = _Powers(model, model.law_losses, laws_only=True) if any(model.law_losses) else None
        driven = any(closure.driven for closure in model.closures)
        self._ties = tree.make_ties(model, reduce(model, q, t).closures) if driven else None
        self._scratch = model.make_work() if driven else None

    def begin(self, t: float, q: Array, v: Array, totals: Array | None = None) -> None:
        """Stand at a node; totals: what was added up until there, if something was."""
        self._last = self._at_nodes(np.array([t]), q[None], v[None])
        self.totals[:], self._first = (0.0, True) if totals is None else (totals, False)

    def add(self, t: Array, q: Array, v: Array, inputs: Array, multipliers: Array | None = None) -> Array:
        """(n, 2 + servos) ledger at n nodes that follow the last one.

        inputs        (1 or n, ...) of the steps that lead there
        multipliers   (n, rows) impulses of the constraint rows over these steps, if they are known
        """
        if not len(t):
            return np.empty((0, len(self.totals)))
        new = self._at_nodes(t, q, v)
        t, q, v, powers, heat, rates = (np.concatenate([a, b]) for a, b in zip(self._last, new, strict=True))
        h, tau = np.diff(t), inputs[:, : self.model.nv]
        steps = np.zeros((len(h), len(self.totals)))
        steps[:, WORK] = 0.5 * h * (powers[1:] + powers[:-1] + np.sum(tau * (v[1:] + v[:-1]), axis=1))
        if rates.any():
            steps[:, WORK] += self._driving_work(t, q, v, inputs, rates, multipliers)
        steps[:, HEAT] = _friction_loss(self.model, q)
        steps[:, HEAT] += _damper_loss(self.model, q, h) if self.implicit else 0.5 * h * (heat[1:] + heat[:-1])
        if self._lost is not None:
            for end, d in _both_ends(self.model, q):
                steps[:, HEAT] -= 0.5 * h * self._lost(t[end], q[end], d / h[:, None])
        forces = None
        if self.model.servos:
            work, forces = self._servo_work(t, q, v, inputs)
            steps[:, WORK] += work
        self._last = tuple(array[-1:] for array in (t, q, v, powers, heat, rates))
        # one after the other from the total on, so that the sum does not depend on where the steps were divided
        out = np.cumsum(np.concatenate([self.totals[None], steps]), axis=0)[1:]
        if forces is not None:
            out[:, 2:] = forces
        self.totals[:], self._first = out[-1], False
        return out

    def _at_nodes(self, t: Array, q: Array, v: Array) -> tuple[Array, ...]:
        """(t, q, v, powers of applied forces, powers of dampers, how fast constraint rows are driven) at nodes."""
        powers = np.zeros(len(t)) if self._applied is None else self._applied(t, q, v)
        heat = np.sum(self.model.tree.damping * v**2, axis=1)
        rates = np.zeros((len(t), 0))
        if self._ties is not None:
            rates = np.empty((len(t), len(self._ties.rate)))
            for k, (time, place) in enumerate(zip(t, q, strict=True)):
                constraint_values(self.model.tree, self._scratch, self._ties, float(time), place)
                rates[k] = self._ties.rate
        return t, q, v, powers, heat, rates

    def _driving_work(self, t: Array, q: Array, v: Array, inputs: Array, rates: Array, multipliers: Array | None) -> Array:
        """(n,) work of what moves prescribed coordinates: impulses of their rows, times how fast they are driven."""
        count = rates.shape[1]
        # in maximal coordinates those of the joints come first; what joins bodies there is known better from the equations of motion, but
        # these do not know what dry friction holds
        known = 0 if multipliers is None else multipliers.shape[1]
        if multipliers is not None and (known == count or (known > count and self.model.joints_with_dry_friction)):
            return -np.sum(multipliers[:, known - count :] * 0.5 * (rates[1:] + rates[:-1]), axis=1)
        # the integrator did not record impulses: forces of the equations of motion at both ends of a step
        ties, out = tree.make_ties(self.model), np.empty(len(t) - 1)
        for k in range(len(out)):
            row, powers = inputs[min(k, len(inputs) - 1)], np.empty(2)
            for end in (0, 1):
                _, lam = forward(self.model, q[k + end], v[k + end], row, float(t[k + end]), multipliers=True)
                powers[end] = -lam @ tree.evaluate(self.model, ties, q[k + end], float(t[k + end])).rate
            out[k] = 0.5 * (t[k + 1] - t[k]) * powers.sum()
        return out

    def _servo_work(self, t: Array, q: Array, v: Array, inputs: Array) -> tuple[Array, Array]:
        """(n,) work of the servos step by step, J, and (n, servos) their forces.

        If they are taken at the ends of steps, the momentum at a node has half of the force of the step before, and what changes it from
        node to node is (3 f_k - f_{k-1}) / 2; kernels/tree/actuation.py
        """
        n, tree_, h = len(self.model.servos), self.model.tree, np.diff(t)[:, None]
        dofs, at = tree_.servo_on[:, 0], tree_.servo_on[:, 1]
        kp, kd, low, high = tree_.servo.T
        aim, rate = inputs[:, self.model.nv : self.model.nv + n], inputs[:, self.model.nv + n :]
        if not self.implicit:
            ends = ((q[:-1, at], v[:-1, dofs]), (q[1:, at], v[1:, dofs]))
            powers = [np.clip(kp * (aim - x) + kd * (rate - y), low, high) * y for x, y in ends]
            return 0.5 * np.diff(t) * np.sum(powers[0] + powers[1], axis=1), np.zeros((len(h), n))
        force = np.clip(kp * (aim - q[1:, at]) + kd * (rate - np.diff(q[:, at], axis=0) / h), low, high)
        before = np.concatenate([force[:1] if self._first else self.totals[None, 2:], force[:-1]])
        means = 0.5 * (v[1:, dofs] + v[:-1, dofs])
        return np.diff(t) * np.sum((force + 0.5 * (force - before)) * means, axis=1), force


class _Powers:
    """Powers of some laws on bodies and, unless laws_only, of wrenches and functions of the user."""

    def __init__(self, model: Model, laws: Sequence[bool], laws_only: bool):
        self._full, self._work = model.tree, model.make_work()
        kept = ~np.array(laws, dtype=bool)
        names = () if laws_only else ("wrench_on", "wrench", "custom")
        self._bare = with_laws(self._full, kept)._replace(**{name: getattr(self._full, name)[:0] for name in names})
        self._nothing, self._forces = model.inputs(), np.zeros(model.nv)

    def __call__(self, t: Array, q: Array, v: Array) -> Array:
        """(T,) at nodes, W."""
        out = np.empty(len(t))
        applied_powers(self._full, self._bare, self._work, *map(np.ascontiguousarray, (t, q, v)), self._nothing, self._forces, out)
        return out


def _increments(model: Model, before: Array, after: Array) -> Array:
    """(T, nv) from nodes to others, in the axes and charts of the first."""
    if all(_is_plain(body.joint) for body in model.bodies):
        return after - before
    return np.array([increment(model, a, b) for a, b in zip(before, after, strict=True)]).reshape(-1, model.nv)


def _is_plain(joint: Joint) -> bool:
    """Is the increment of a step a difference of coordinates?"""
    return not joint.has_quaternion and joint.charts == 1


def _both_ends(model: Model, q: Array) -> tuple[tuple[slice, Array], tuple[slice, Array]]:
    """(which nodes, (T-1, nv) increments of the steps seen from there) for the starts of steps and for their ends.

    Half of the impulse of what resists a motion acts at each, by the mean velocity of the step.
    """
    return (slice(None, -1), _increments(model, q[:-1], q[1:])), (slice(1, None), -_increments(model, q[1:], q[:-1]))


def _damper_loss(model: Model, q: Array, h: Array) -> Array:
    """(T-1,) energy that dampers of joints take, step by step, J."""
    loss, damping = np.zeros(len(h)), model.tree.damping
    damped = [body for body in model.bodies if damping[model.v_slice(body.joint_name)].any()]
    if all(_is_plain(body.joint) for body in damped):
        for name in (body.joint_name for body in damped):
            loss += np.diff(q[:, model.q_slice(name)], axis=0) ** 2 @ damping[model.v_slice(name)]
    else:
        loss += sum(0.5 * d**2 @ damping for _, d in _both_ends(model, q))
    return loss / h


def _friction_loss(model: Model, q: Array) -> Array:
    """(T-1,) energy that dry friction takes, step by step, J."""
    loss = np.zeros(max(len(q) - 1, 0))
    for name in model.joints_with_dry_friction:
        loss += np.abs(np.diff(q[:, model.q_slice(name)], axis=0)) @ model.tree.friction[model.v_slice(name)]
    return loss


def work_and_heat(model: Model, t: Array, q: Array, v: Array, multipliers: Array | None, inputs: Array, implicit: bool) -> Array:
    """(T, 2 + servos) ledger of nodes one after the other, from the first on.

    multipliers   (T, rows) impulses over the step that ends in the node;  inputs (1 or T-1, ...);  implicit as of `Ledger`
    """
    book = Ledger(model, implicit, q[0], float(t[0]))
    book.begin(float(t[0]), q[0], v[0])
    added = book.add(t[1:], q[1:], v[1:], inputs, None if multipliers is None else multipliers[1:])
    return np.concatenate([np.zeros((1, added.shape[1])), added])


class Explanation:
    """Judges nodes one after the other by what their energy would have to be."""

    def __init__(self, kinetic: float, potential: float, moving: float = 0.0):
        """Energies at the first node; moving: the largest energy that has been moving until now."""
        self._potential, self._moving = potential, moving
        self._floor = _ROUNDING * max(abs(kinetic), abs(potential), 1e-300)

    def fails(self, balance: Array, kinetic: Array, potential: Array) -> NDArray[np.bool_]:
        """At which of the next nodes is the energy off by half of the energy that has been moving until then, or more?"""
        with np.errstate(all="ignore"):
            moving = np.fmax(np.abs(kinetic), np.abs(potential - self._potential))
            moving = np.maximum.accumulate(np.concatenate([[self._moving], np.nan_to_num(moving, nan=0.0)]))[1:]
            self._moving = float(moving[-1]) if len(moving) else self._moving
            return ~(np.abs(balance) <= np.maximum(UNEXPLAINED * moving, self._floor))


def first_unexplained(balance: Array, kinetic: Array, potential: Array) -> int | None:
    """The first node whose energy cannot be explained, and that of the next node neither.

    (The first step of semi-implicit Euler from rest is off by just the limit, and by less from then on.)
    """
    bad = Explanation(kinetic[0], potential[0]).fails(balance, kinetic, potential)
    bad &= np.append(bad[1:], not np.isfinite(balance[-1]))
    return int(np.argmax(bad)) if bad.any() else None


def in_words(t: float, extra: float, energy: float, first: float, dt: float, remedy: str) -> str:
    """An energy that cannot be explained from t on: `extra` too much; energy there and at the start."""
    return (
        f"from t = {t:g} s on the energy cannot be explained: {extra:+.3g} J more than work and dampers account for "
        f"(energy {energy:.3g} J after {first:.3g} J); the step dt = {dt:g} s is probably too long for the fastest oscillation "
        f"(leastaction.solvability.report says how long it may be): give a smaller dt, or {remedy}"
    )


def calmer(integrator: object) -> str:
    """What to try instead of an integrator."""
    return 'quadrature="midpoint"' if getattr(integrator, "quadrature", "") == "trapezoid" else "integrator=Variational()"


def not_kept(what: str) -> StateError:
    return StateError(
        f"{what} is summed over all steps, but only some nodes are recorded and nobody kept the account meanwhile; simulate with "
        "la.simulate, or with record_every=1"
    )
