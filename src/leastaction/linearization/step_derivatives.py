"""Exact derivatives of one step: how the momenta at its ends change with the configurations at its ends.

    leaving   p0 = -D1 Ld(q0, q1) - impulses at the start         dp0 = P00 dq0 + P01 dq1 - (dt/2) dtau
    arriving  p1 =  D2 Ld(q0, q1) + impulses at the end           dp1 = P10 dq0 + P11 dq1 + (dt/2) dtau

dq are tangent vectors: differences of coordinates, on ball and free joints left-trivialised, q exp(dq).  Momenta are compared
component by component.  Everything is analytic except forces given as functions by the user (`CustomForce`, laws on bodies that do not say
their slopes, laws between two bodies), the midpoint quadrature of mechanisms with ball or free joints, `Midpoint` with those or with joints
given by their pose, `Trapezoid`, and constraints on velocities: there differences of order six take the place of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..compiling.records import allocate
from ..dynamics.discrete import increment, momenta_of_increment
from ..errors import StateError
from ..integrators import Midpoint, Trapezoid, Variational
from ..integrators.midpoint import midpoint_arrays
from ..kernels.maximal.evaluate import advance
from ..kernels.solving.memory import make_memory
from ..kernels.stepping import midpoint as midpoint_kernels
from ..kernels.stepping import trapezoid as trapezoid_kernels
from ..kernels.tree import layout as L
from ..kernels.tree import linearization as kernels
from ..kernels.tree.dense_slopes import step_slopes
from ..kernels.tree.slopes import Parts, Slopes
from ..kernels.tree.step_maps import Maps, Steps, step_maps
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Model

Array = NDArray[np.float64]

_REACH = 1e-2  # of the differences of order six, in the units of q and v
_INVERSIONS = 60  # of a retraction, which turns of less than 1 rad need ten of
_HERE = 4e-16  # rad or m
_CUSTOM_REACH = 1e-3  # of those of functions of the user, which need not be smooth everywhere


@dataclass
class StepDerivatives:
    """Momenta (nv,) at both ends of a step, and their derivatives (nv, nv) in the configurations at its ends."""

    leaving: Array
    arriving: Array
    P00: Array
    P01: Array
    P10: Array
    P11: Array


# ----------------------------------------------------------------------------------------------- Johnson and Murphey


def midpoint_derivatives(integrator: Midpoint, model: Model, q0: Array, d: Array, dt: float, tau: Array, t: float) -> StepDerivatives:
    """Of `Midpoint`: d leads from q0 to q1."""
    work, a = model.make_work(), integrator.alpha
    work.q[:], work.d[:] = q0, d
    arrays = midpoint_arrays(model, work, None, make_memory(t), integrator.numbers(dt))
    if len(arrays.frames.balls) or arrays.lag.curved is not None:
        return _differenced(_midpoint_momenta(arrays, model, tau, t), model, q0, d)
    midpoint_kernels.step_derivatives(arrays, t, np.zeros((model.nv, model.nv)))
    lag, newton = arrays.lag, arrays.newton
    f = newton.force + tau
    f_q, f_v = lag.force_q, -np.diag(model.tree.damping)
    if len(model.tree.custom) or len(model.tree.law_on):
        c_q, c_v = _user_force_derivatives(model, model.tree, t + a * dt, newton.middle, newton.velocity)
        f_q, f_v = f_q + c_q, f_v + c_v

    def ends(by_q: Array, by_v: Array) -> tuple[Array, Array]:
        """Derivatives in q0 and q1 of a function of q = (1 - a) q0 + a q1 and v = (q1 - q0)/dt."""
        return (1.0 - a) * by_q - by_v / dt, a * by_q + by_v / dt

    momentum, force, extra = ends(lag.qv.T, lag.vv), ends(lag.qq, lag.qv), ends(f_q, f_v)
    P00, P01 = (momentum[k] - (1.0 - a) * dt * force[k] - 0.5 * dt * extra[k] for k in range(2))
    P10, P11 = (momentum[k] + a * dt * force[k] + 0.5 * dt * extra[k] for k in range(2))
    leaving = lag.v - (1.0 - a) * dt * lag.q - 0.5 * dt * f
    return StepDerivatives(leaving, lag.v + a * dt * lag.q + 0.5 * dt * f, P00, P01, P10, P11)


def _midpoint_momenta(arrays: midpoint_kernels.Arrays, model: Model, tau: Array, t: float) -> Callable[[Array, Array], Array]:
    """(q0, d) -> (2 nv,) momenta at both ends, where L is not that of constant twists."""
    work, leaving = arrays.w, np.empty(model.nv)

    def momenta(start: Array, way: Array) -> Array:
        work.q[:], work.d[:] = start, way
        midpoint_kernels.end_momenta(arrays, t, tau[None].copy(), leaving)
        return np.concatenate([leaving, work.target])

    return momenta


def _differenced(momenta: Callable[[Array, Array], Array], model: Model, q0: Array, d: Array) -> StepDerivatives:
    """Differences of the momenta themselves."""
    nv, q1 = model.nv, moved(model, q0, d)
    p = momenta(q0, d)
    by_q0 = difference(lambda x: momenta(start := moved(model, q0, x), increment(model, start, q1)), nv)
    by_q1 = difference(lambda x: momenta(q0, increment(model, q0, moved(model, q1, x))), nv)
    return StepDerivatives(p[:nv], p[nv:], by_q0[:nv], by_q1[:nv], by_q0[nv:], by_q1[nv:])


# --------------------------------------------------------------------------------------------------------- Kobilarov


def trapezoid_derivatives(integrator: Trapezoid, model: Model, q0: Array, d: Array, dt: float, tau: Array, t: float) -> StepDerivatives:
    """Of `Trapezoid` and `FloatingBase`: d leads from q0 to q1."""
    work, end, trap = model.make_work(), model.make_work(), trapezoid_kernels.make_trapezoid(model.nq, model.nv)
    retraction, out = RETRACTIONS[integrator.retraction], np.zeros((2, model.nv))

    def momenta(start: Array, way: Array) -> Array:
        trap.q_start[:], trap.v[:] = start, way / dt
        q1 = moved(model, start, way)
        for _ in range(_INVERSIONS):  # the velocity whose retraction leads there: way/dt on plain coordinates
            trapezoid_kernels.end_momenta(model.tree, work, end, trap, dt, t, tau, retraction, out)
            missing = increment(model, trap.q1, q1)
            if not np.abs(missing).max(initial=0.0) > _HERE:
                return out.ravel().copy()
            trap.v[:] += missing / dt
        turn = float(np.abs(way).max())
        raise StateError(f"a joint moves by {turn:.3g} rad or m in a step of {integrator!r}, too far to be linearised; take a smaller dt")

    return _differenced(momenta, model, q0, d)


# ------------------------------------------------------------------------------------------------------------ trees


def variational_derivatives(integrator: Variational, model: Model, q0: Array, d: Array, dt: float, tau: Array, t: float) -> StepDerivatives:
    """Of `Variational`: d leads from q0 to q1 in the charts of the joints."""
    q1 = moved(model, q0, d)
    retraction, loaded = RETRACTIONS[integrator.retraction], integrator.quadrature == "trapezoid"
    leaving, arriving = momenta_of_increment(model, q0, d, dt, tau, integrator.retraction, integrator.quadrature, t)
    P = _slopes(model, q0, d, q1, dt, t, retraction, Parts(1, int(loaded)))
    if not loaded:
        _add_middle(P, model, q0, d, q1, dt)
    if len(model.tree.custom):
        _add_custom(P, model, q0, d, q1, dt, t)
    if (model.tree.law_on[:, L.LAW_BASE] >= 0).any():
        _add_laws_between_bodies(P, model, q0, q1, dt, t, integrator.retraction)
    return StepDerivatives(leaving, arriving, *P)


def make_slopes(model: Model, forced: bool = True) -> Slopes:
    """Memory of the derivatives of one step; forced: do forces other than gravity act on bodies?"""
    without: dict = {} if forced else {"forces": None}
    slopes = allocate(Slopes, {"n": len(model.bodies), "nv": model.nv}, **without)
    if forced:
        slopes.forces.world[0, [0, 4, 8]] = 1.0
    return slopes


def _slopes(model: Model, q0: Array, d: Array, q1: Array, dt: float, t: float, retraction: int, parts: Parts) -> Array:
    """(4, nv, nv) P00, P01, P10, P11; kernels/tree/dense_slopes.py says of what."""
    tree, work, nv = L.with_laws(model.tree, model.tree.law_on[:, L.LAW_BASE] < 0), model.make_work(), model.nv
    work.q[:], work.d[:] = q0, d
    P = np.zeros((4, nv, nv))
    own, bare = quaternion_joints(model, q0, d, q1, dt, parts), tree._replace(law_on=tree.law_on[:0])
    step_slopes(tree, bare, work, make_slopes(model), parts, own, dt, t, retraction, q1, np.zeros((nv + 3, nv)), P)
    return P


def quaternion_joints(model: Model, q0: Array, d: Array, q1: Array, dt: float, parts: Parts) -> Array:
    """(4, nv, 6) what springs and dampers of ball and free joints add to P00, P01, P10, P11 within their joint."""
    tree, half = model.tree, 0.5 * dt if parts.kinetic else 1.0
    out = np.zeros((4, model.nv, 6))
    for body in model.bodies:
        if not body.joint.has_quaternion:
            continue
        qs, vs = model.q_slice(body.joint_name), model.v_slice(body.joint_name)
        size, damping, rest, stiffness = vs.stop - vs.start, tree.damping[vs, None], tree.rest[qs], tree.stiffness[vs]
        if parts.kinetic and damping.any():
            for at_end, sign in ((False, 0.5), (True, -0.5)):
                _, by_q0, by_q1 = body.joint.increment_derivatives(d[vs], at_end)
                out[2 * at_end, vs, :size] += sign * damping * by_q0
                out[2 * at_end + 1, vs, :size] += sign * damping * by_q1
        if parts.loaded and stiffness.any():
            out[0, vs, :size] += half * body.joint.spring_stiffness(q0[qs], rest, stiffness)
            out[3, vs, :size] -= half * body.joint.spring_stiffness(q1[qs], rest, stiffness)
    return out


def _add_middle(P: Array, model: Model, q0: Array, d: Array, q1: Array, dt: float) -> None:
    """Midpoint quadrature: forces at the configuration half way, by differences if there are ball or free joints."""
    if not any(b.joint.has_quaternion for b in model.bodies):
        middle, still = moved(model, q0, 0.5 * d), np.zeros(model.nv)
        by_q = 0.25 * dt * _slopes(model, middle, still, middle, dt, 0.0, 0, Parts(0, 1))[3]
        P += np.array([-1.0, -1.0, 1.0, 1.0])[:, None, None] * by_q
        return
    work, half_way, nv = model.make_work(), model.make_middle(), model.nv

    def forces(a: Array, b: Array) -> Array:
        work.q[:], work.d[:] = a, increment(model, a, b)
        kernels.middle_forces(model.tree, work, half_way)
        return np.concatenate([half_way.start, half_way.end])

    by_q0 = dt * difference(lambda x: forces(moved(model, q0, x), q1), nv)
    by_q1 = dt * difference(lambda x: forces(q0, moved(model, q1, x)), nv)
    P += np.array([-by_q0[:nv], -by_q1[:nv], by_q0[nv:], by_q1[nv:]])


def _add_custom(P: Array, model: Model, q0: Array, d: Array, q1: Array, dt: float, t: float) -> None:
    """Functions of the user in joint space: half impulses at both ends, at the mean velocity of the step."""
    in_joint_space = model.tree._replace(law_on=model.tree.law_on[:0])
    for at_end, q, when in ((False, q0, t), (True, q1, t + dt)):
        way, by_q0, by_q1 = _increment_derivatives(model, d, at_end)
        c_q, c_v = _user_force_derivatives(model, in_joint_space, when, q, way / dt)
        sign = 0.5 if at_end else -0.5
        P[2 * at_end] += sign * c_v @ by_q0
        P[2 * at_end + 1] += sign * c_v @ by_q1
        P[3 * at_end] += sign * dt * c_q


def _add_laws_between_bodies(P: Array, model: Model, q0: Array, q1: Array, dt: float, t: float, retraction: str) -> None:
    """Laws that are seen from another body: their impulses at both ends are what the momenta change by with them."""
    between, work = model.tree.law_on[:, L.LAW_BASE] >= 0, model.make_work()
    none = {name: getattr(model.tree, name)[:0] for name in ("custom", "pair_on", "pair", "wrench_on", "wrench")}
    tree = L.with_laws(model.tree, between)._replace(**none)

    def impulses(a: Array, b: Array) -> Array:
        out = np.zeros((2, model.nv))
        work.q[:], work.d[:] = a, increment(model, a, b)
        kernels.law_impulses(tree, work, dt, t, RETRACTIONS[retraction], out)
        return out.ravel()

    by_q0 = difference(lambda x: impulses(moved(model, q0, x), q1), model.nv)
    by_q1 = difference(lambda x: impulses(q0, moved(model, q1, x)), model.nv)
    nv = model.nv
    P += np.array([-by_q0[:nv], -by_q1[:nv], by_q0[nv:], by_q1[nv:]])


def _user_forces(model: Model, tree: L.Tree, t: float, q: Array, v: Array) -> Array:
    """Joint forces (nv,) of those functions of the user that `tree` has."""
    out = np.zeros(model.nv)
    kernels.user_forces(tree, model.make_work(), float(t), q, v, out)
    return out


def _user_force_derivatives(model: Model, tree: L.Tree, t: float, q: Array, v: Array) -> tuple[Array, Array]:
    """(nv, nv) each: derivatives of the joint forces of the user's functions in q (tangent) and v, by differences."""
    by_q = difference(lambda x: _user_forces(model, tree, t, moved(model, q, x), v), model.nv, _CUSTOM_REACH)
    return by_q, difference(lambda x: _user_forces(model, tree, t, q, v + x), model.nv, _CUSTOM_REACH)


def difference(function: Callable[[Array], Array], size: int, reach: float = _REACH) -> Array:
    """Derivative at zero by central differences of order six."""
    columns = []
    for unit in reach * np.eye(size):
        near, far, farther = (function(s * unit) - function(-s * unit) for s in (1.0, 2.0, 3.0))
        columns.append((45.0 * near - 9.0 * far + farther) / (60.0 * reach))
    return np.array(columns).T


def moved(model: Model, q: Array, x: Array) -> Array:
    """q advanced by x, in coordinates (nq,)."""
    there = q.copy()
    advance(model.tree, there, x)
    return there


def _increment_derivatives(model: Model, d: Array, at_end: bool) -> tuple[Array, Array, Array]:
    """(increment, its derivative in q0, in q1), in the axes of the start or of the end of the step."""
    way = np.empty(model.nv)
    by_q0, by_q1 = np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv))
    for body in model.bodies:
        vs = model.v_slice(body.joint_name)
        way[vs], by_q0[vs, vs], by_q1[vs, vs] = body.joint.increment_derivatives(d[vs], at_end)
    return way, by_q0, by_q1


# ----------------------------------------------------------------------------------------------- many steps in O(n nv) each


def has_step_maps(integrator: Midpoint | Variational, model: Model) -> bool:
    """Is the map of a step linearised by sweeps over the tree alone?  Otherwise by the four matrices."""
    tree = model.tree
    couples = len(tree.pair_on) or len(tree.energy_at) or len(tree.custom) or len(tree.law_on) or model.closures or model.is_actuated
    return isinstance(integrator, Variational) and integrator.quadrature == "trapezoid" and not couples


def maps_of_steps(
    integrator: Variational, model: Model, t: Array, q: Array, p: Array, tau: Array, d: Array, dt: float, corrections: int = 0
) -> Steps:
    """A (N, 2 nv, 2 nv) and B (N, 2 nv, nv) of N steps from the times t, coordinates q and momenta p by increments d (N, nv), and by how
    much each misses the equations (N,), relative to the largest momentum; tau: (N, nv) or (1, nv).

    corrections: of the increments by Newton's method; with them where the steps lead is given too, q_end and p_end.
    """
    count, nv, parts = len(q), model.nv, Parts(1, 1)
    held = [model.v_slice(b.joint_name) for b in model.bodies if b.joint.has_quaternion]
    held = [vs for vs in held if model.tree.damping[vs].any() or model.tree.stiffness[vs].any()]
    impulse, each = 0.5 * dt * tau, count if held else 1
    steps = allocate(
        Steps, {"N": count, "nq": q.shape[1], "nv": nv, "given": each, "ends": count if corrections else 0},
        t=t, q=q, start=np.ascontiguousarray(p + impulse), d=np.array(d),
    )  # fmt: skip
    work, slopes = model.make_work(), make_slopes(model, forced=len(model.tree.wrench_on) > 0)
    maps = allocate(Maps, {"n": len(model.bodies), "nv": nv})
    arguments = (model.tree, work, slopes, maps, steps, dt, RETRACTIONS[integrator.retraction])
    if held and corrections:  # springs and dampers of ball joints are differentiated here, at the increments that solve the equations
        step_maps(*arguments, corrections)
    if held:
        for k in range(count):
            steps.given[k] = quaternion_joints(model, q[k], steps.d[k], moved(model, q[k], steps.d[k]), dt, parts)
    step_maps(*arguments, corrections)
    steps.p_end[:] += impulse if corrections else 0.0
    return steps
