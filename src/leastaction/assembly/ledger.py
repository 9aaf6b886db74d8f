"""Where the energy of a run comes from and goes to: powers at recorded nodes, summed over the steps between them.

A step adds up the means of the powers at its two ends, which is as accurate as the steps of an integrator of order 2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..coordinates import ties as tree
from ..dynamics import forward, mass_matrix
from ..errors import StateError
from ..model import Model
from .closing import reduce

Array = NDArray[np.float64]

UNEXPLAINED = 0.5  # of the energy that moves: what a run may not be able to explain
_ROUNDING = 1e-9  # of the largest energy: what cannot be told from rounding


def acts(model: Model) -> bool:
    """Do forces act whose work the energy does not contain: wrenches, functions of the user, laws on bodies without an energy?"""
    return bool(len(model.tree.wrench_on) or len(model.tree.custom) or not all(model.law_energies))


def applied_powers(model: Model, t: Array, q: Array, v: Array) -> Array:
    """(T,) power of these forces at nodes, W."""
    if not acts(model):
        return np.zeros(len(t))
    # constraints do no work, and without them forces are mass times acceleration; friction is accounted for elsewhere, servos cancel
    still = model.tree._replace(has_friction=0, friction=0.0 * model.tree.friction)
    full = replace(model, closures=(), specialised=None, tree=still)
    kept = np.array(model.law_energies, dtype=bool)
    laws = {name: getattr(model.tree, name)[kept] for name in ("law_on", "law_at", "law_param")}
    bare_tree = still._replace(wrench_on=model.tree.wrench_on[:0], wrench=model.tree.wrench[:0], custom=model.tree.custom[:0], **laws)
    bare = replace(full, tree=bare_tree)
    out = np.empty(len(t))
    for k, (time, place, rate) in enumerate(zip(t, q, v, strict=True)):
        difference = forward(full, place, rate, t=float(time)) - forward(bare, place, rate, t=float(time))
        out[k] = rate @ mass_matrix(full, place) @ difference
    return out


def driving_work(model: Model, t: Array, q: Array, multipliers: Array | None) -> Array:
    """(T-1,) work of what moves the prescribed coordinates, step by step, J: impulse of a row times how fast it is driven."""
    steps = np.zeros(max(len(t) - 1, 0))
    if not model.closures or not len(steps):
        return steps
    ties = tree.make_ties(model, reduce(model, q[0], float(t[0])).closures)
    rates = np.array([tree.evaluate(model, ties, place, float(time)).rate.copy() for time, place in zip(t, q, strict=True)])
    if not rates.any():
        return steps
    if multipliers is None or multipliers.shape[1] != rates.shape[1]:
        raise StateError(
            "the work of prescribed motions is known from the impulses that Variational and Midpoint record; use one of them as integrator"
        )
    return -np.sum(multipliers[1:] * 0.5 * (rates[1:] + rates[:-1]), axis=1)


def servo_work(model: Model, t: Array, q: Array, v: Array, inputs: Array, implicit: bool) -> Array:
    """(T-1,) work of the servos step by step, J.

    inputs     (1 or steps, ...) rows of inputs
    implicit   were their forces taken at the ends of steps?  Then the momentum at a node has half of the force of the step before, and
               what changes it from node to node is (3 f_k - f_{k-1}) / 2; kernels/tree/actuation.py
    """
    n, tree_, h = len(model.servos), model.tree, np.diff(t)[:, None]
    dofs, at = tree_.servo_on[:, 0], tree_.servo_on[:, 1]
    kp, kd, low, high = tree_.servo.T
    aim, rate = inputs[:, model.nv : model.nv + n], inputs[:, model.nv + n :]
    if not implicit:
        ends = ((q[:-1, at], v[:-1, dofs]), (q[1:, at], v[1:, dofs]))
        powers = [np.clip(kp * (aim - x) + kd * (rate - y), low, high) * y for x, y in ends]
        return 0.5 * np.diff(t) * np.sum(powers[0] + powers[1], axis=1)
    force = np.clip(kp * (aim - q[1:, at]) + kd * (rate - np.diff(q[:, at], axis=0) / h), low, high)
    force[1:] += 0.5 * np.diff(force, axis=0)
    return np.diff(t) * np.sum(force * 0.5 * (v[1:, dofs] + v[:-1, dofs]), axis=1)


def friction_loss(model: Model, q: Array) -> Array:
    """(T-1,) energy that dry friction takes, step by step, J."""
    loss = np.zeros(max(len(q) - 1, 0))
    for name in model.joints_with_dry_friction:
        loss += np.abs(np.diff(q[:, model.q_slice(name)], axis=0)) @ model.tree.friction[model.v_slice(name)]
    return loss


def work(model: Model, t: Array, q: Array, v: Array, multipliers: Array | None, inputs: Array, implicit: bool) -> Array:
    """(T,) work since the first node, J: of joint forces, servos, wrenches, functions of the user, prescribed motions.

    inputs   (1 or steps, ...) rows of inputs; implicit: as of `servo_work`
    """
    steps = driving_work(model, t, q, multipliers)
    tau = inputs[:, : model.nv]
    if tau.any():
        steps = steps + 0.5 * np.diff(t) * np.sum(tau * (v[1:] + v[:-1]), axis=1)
    if model.servos and len(steps):
        steps = steps + servo_work(model, t, q, v, inputs, implicit)
    return summed(t, applied_powers(model, t, q, v)) + np.concatenate([[0.0], np.cumsum(steps)])


def dissipated(model: Model, t: Array, q: Array, v: Array) -> Array:
    """(T,) energy that dampers and dry friction have turned into heat since the first node, J."""
    viscous = summed(t, np.sum(model.tree.damping * v**2, axis=1))
    return viscous + np.concatenate([[0.0], np.cumsum(friction_loss(model, q))])


def summed(t: Array, powers: Array) -> Array:
    """(T,) work since the first node of powers at the nodes."""
    return np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t) * (powers[1:] + powers[:-1]))])


def first_unexplained(balance: Array, kinetic: Array, potential: Array) -> int | None:
    """The first node whose energy cannot be explained: off by half of the energy that has been moving until then, or more, and still so at
    the next node.  (The first step of semi-implicit Euler from rest is off by just that half, and by less from then on.)"""
    with np.errstate(all="ignore"):
        moving = np.maximum.accumulate(np.maximum(np.abs(kinetic), np.abs(potential - potential[0])))
        floor = _ROUNDING * max(float(np.abs(kinetic[0])), float(np.abs(potential[0])), 1e-300)
        bad = ~(np.abs(balance) <= np.maximum(UNEXPLAINED * moving, floor))
        bad &= np.append(bad[1:], not np.isfinite(balance[-1]))
    return int(np.argmax(bad)) if bad.any() else None
