"""Exact derivatives of one step: how the momenta at its ends change with the configurations at its ends.

    leaving   p0 = -D1 Ld(q0, q1) - impulses at the start         dp0 = P00 dq0 + P01 dq1 - (dt/2) dtau
    arriving  p1 =  D2 Ld(q0, q1) + impulses at the end           dp1 = P10 dq0 + P11 dq1 + (dt/2) dtau

dq are tangent vectors: differences of coordinates, on ball and free joints left-trivialised, q exp(dq).  Momenta are compared
component by component.  Everything is analytic except forces given as functions by the user (`CustomForce`, and laws on bodies that do not
say their slopes), and the midpoint quadrature of mechanisms with ball or free joints: there the forces are differentiated by differences of
order six.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dynamics.discrete import increment
from ..integrators import Midpoint, Variational
from ..integrators.midpoint import midpoint_arrays
from ..kernels.maximal.evaluate import advance
from ..kernels.solving.memory import make_memory
from ..kernels.stepping import midpoint as midpoint_kernels
from ..kernels.tree import discrete as discrete_kernels
from ..kernels.tree import layout as L
from ..kernels.tree import linearization as kernels
from ..kernels.tree.evaluate import place_entry
from ..kernels.tree.evaluate import world as world_entry
from ..lie.retractions import NAMES as RETRACTIONS
from ..model import Model
from ..pose import rotation_of_quaternion

Array = NDArray[np.float64]

_REACH = 1e-2  # of the differences of order six, in the units of q and v
_LAW_REACH = 1e-3  # of those of functions of the user, which need not be smooth everywhere


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
    """Of `Midpoint`: d = q1 - q0."""
    work, a = model.make_work(), integrator.alpha
    work.q[:], work.d[:] = q0, d
    arrays = midpoint_arrays(model, work, None, make_memory(t), integrator.numbers(dt))
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


# ------------------------------------------------------------------------------------------------------------ trees


def variational_derivatives(integrator: Variational, model: Model, q0: Array, d: Array, dt: float, tau: Array, t: float) -> StepDerivatives:
    """Of `Variational`: d leads from q0 to q1 in the charts of the joints."""
    q1 = q0.copy()
    advance(model.tree, q1, d)
    result, start_place, end_place, work = _kinetic(integrator, model, q0, d, dt)
    if integrator.quadrature == "trapezoid":
        for q, at_end in ((q0, False), (q1, True)):
            force, force_q = _node_forces(model, q)
            _push(result, at_end, 0.5 * dt * force, **{"by_q1" if at_end else "by_q0": 0.5 * dt * force_q})
    elif any(b.joint.has_quaternion for b in model.bodies):
        _push_middle(result, model, q0, q1, dt)
    else:
        middle = q0.copy()
        advance(model.tree, middle, 0.5 * d)
        force, force_q = _node_forces(model, middle)
        for at_end in (False, True):
            _push(result, at_end, 0.5 * dt * force, 0.25 * dt * force_q, 0.25 * dt * force_q)
    if len(model.tree.law_on):
        _push_laws(result, integrator, model, start_place, end_place, work, dt, t)
    damping, in_joint_space = model.tree.damping, model.tree._replace(law_on=model.tree.law_on[:0])
    for at_end in (False, True):
        moved, by_q0, by_q1 = _increment_derivatives(model, d, at_end)
        _push(result, at_end, 0.5 * (dt * tau - damping * moved), -0.5 * damping[:, None] * by_q0, -0.5 * damping[:, None] * by_q1)
        if len(model.tree.custom):
            q, when, v = (q1, t + dt, moved / dt) if at_end else (q0, t, moved / dt)
            c_q, c_v = _user_force_derivatives(model, in_joint_space, when, q, v)
            by_q0, by_q1 = 0.5 * c_v @ by_q0, 0.5 * c_v @ by_q1
            if at_end:
                by_q1 = by_q1 + 0.5 * dt * c_q
            else:
                by_q0 = by_q0 + 0.5 * dt * c_q
            _push(result, at_end, 0.5 * dt * _user_forces(model, in_joint_space, when, q, v), by_q0, by_q1)
    return result


def _push(s: StepDerivatives, at_end: bool, impulse: Array, by_q0: Array | float = 0.0, by_q1: Array | float = 0.0) -> None:
    """Add an impulse at one end of the step and its derivatives."""
    if at_end:
        s.arriving, s.P10, s.P11 = s.arriving + impulse, s.P10 + by_q0, s.P11 + by_q1
    else:
        s.leaving, s.P00, s.P01 = s.leaving - impulse, s.P00 - by_q0, s.P01 - by_q1


class _Place(NamedTuple):
    """One end of a step."""

    q: Array
    poses: list[tuple[Array, Array]]  # of the bodies in their parents
    columns: Array  # (nv, 6) of the joints
    J: Array  # (n+1, 6, nv) body twists per unit of each joint velocity


def _kinetic(integrator: Variational, model: Model, q0: Array, d: Array, dt: float) -> tuple[StepDerivatives, _Place, _Place, L.Work]:
    """Without any force: what rotors do, and sums over the bodies of J' mu, with mu and its stiffness K of docs/theory (1)-(3).  Also where
    the step starts and ends, and the Work with the displacements.

    The displacement D = T0^-1 T1 of a body varies by chi = J1 dq1 - Ad_{D^-1} J0 dq0, its momenta by K chi at the start and by
    (Ad_D' K + ad'mu') chi at the end.
    """
    tree = model.tree
    free = tree._replace(
        gravity=np.zeros(3), has_springs=0, has_dampers=0, has_armature=0, stiffness=0.0 * tree.stiffness, damping=0.0 * tree.damping,
        armature=0.0 * tree.armature,
        wrench_on=tree.wrench_on[:0], wrench=tree.wrench[:0], custom=tree.custom[:0], law_on=tree.law_on[:0],
        pair_on=tree.pair_on[:0], pair=tree.pair[:0], energy_on=0 * tree.energy_on[:1], energy_at=tree.energy_at[:0],
    )  # fmt: skip
    retraction = RETRACTIONS[integrator.retraction]
    work = model.make_work()
    work.row[0, L.GRAVITY : L.GRAVITY + 3] = 0.0
    work.q[:], work.d[:] = q0, d
    discrete_kernels.leaving(free, work, None, dt, 0.0, retraction)
    kernels.stiffness_blocks(free, work, dt, retraction)
    n, nv = len(model.bodies), model.nv
    columns0, columns1 = work.S0.copy(), work.S1.copy()
    for i, body in enumerate(model.bodies, start=1):
        if body.joint.has_quaternion:  # per tangent vector at the end, not per increment
            columns1[_dofs(model, i)] = columns0[_dofs(model, i)]
    poses0 = [(work.linear[i, L.L_R : L.L_R + 9].reshape(3, 3), work.linear[i, L.L_P : L.L_P + 3]) for i in range(n + 1)]
    poses1 = [(work.linear[i, L.L_R1 : L.L_R1 + 9].reshape(3, 3), work.linear[i, L.L_P1 : L.L_P1 + 3]) for i in range(n + 1)]
    J0, J1 = _jacobians(model, poses0, columns0), _jacobians(model, poses1, columns1)
    mu = work.row[:, L.MU : L.MU + 6].copy()
    mu1 = np.zeros_like(mu)
    P00, P01, P10, P11 = (np.zeros((nv, nv)) for _ in range(4))
    for i in range(1, n + 1):
        aa, al, la, ll = (work.art[i, k : k + 9].reshape(3, 3) for k in (L.AA, L.AL, L.LA, L.LL))
        K = np.block([[aa, al], [la, ll]])
        D = _adjoint_inverse(rotation_of_quaternion(work.row[i, L.DW : L.DW + 4]), work.row[i, L.DT : L.DT + 3])  # Ad_{D^-1}
        back = np.linalg.inv(D)
        mu1[i] = back.T @ mu[i]
        a, l = _hat(mu1[i, :3]), _hat(mu1[i, 3:])
        K1 = back.T @ K + np.block([[a, l], [l, np.zeros((3, 3))]])
        start = D @ J0[i]
        P00 -= J0[i].T @ K @ start
        P01 += J0[i].T @ K @ J1[i]
        P10 -= J1[i].T @ K1 @ start
        P11 += J1[i].T @ K1 @ J1[i]
    q1 = q0.copy()
    advance(model.tree, q1, d)
    start_place, end_place = _Place(q0, poses0, columns0, J0), _Place(q1, poses1, columns1, J1)
    leaving, bend0 = _project(model, start_place, mu)
    arriving, bend1 = _project(model, end_place, mu1)
    rotors = tree.armature / dt  # d/dq of a d^2/2dt, the same at both ends
    leaving, arriving = leaving + rotors * d, arriving + rotors * d
    P00, P01, P10, P11 = P00 + bend0 - np.diag(rotors), P01 + np.diag(rotors), P10 - np.diag(rotors), P11 + bend1 + np.diag(rotors)
    return StepDerivatives(leaving, arriving, P00, P01, P10, P11), start_place, end_place, work


def _jacobians(model: Model, poses: list[tuple[Array, Array]], columns: Array) -> Array:
    """(n+1, 6, nv) body twist of every body per unit of each joint velocity."""
    J = np.zeros((len(model.bodies) + 1, 6, model.nv))
    for i in range(1, len(J)):
        J[i] = _adjoint_inverse(*poses[i]) @ J[model.tree.link[i, L.PARENT]]
        J[i][:, _dofs(model, i)] = columns[_dofs(model, i)].T
    return J


def _project(model: Model, place: _Place, wrenches: Array) -> tuple[Array, Array]:
    """Joint forces of wrenches (n+1, 6) on the bodies, and their derivative (nv, nv) with the wrenches fixed in the bodies."""
    q, poses, columns, J = place
    beyond = wrenches.copy()
    for i in range(len(beyond) - 1, 0, -1):
        beyond[model.tree.link[i, L.PARENT]] += _adjoint_inverse(*poses[i]).T @ beyond[i]
    work = model.make_work()
    work.q[:] = q
    own = np.zeros((len(beyond), 6, 6))
    kernels.column_curvature(model.tree, work, beyond, np.zeros((model.nv, 6)), own, np.zeros((6, 6)))
    force, bend = np.zeros(model.nv), np.zeros((model.nv, model.nv))
    for i in range(1, len(beyond)):
        dofs = _dofs(model, i)
        force[dofs] = columns[dofs] @ beyond[i]
        moment, push = beyond[i, :3], beyond[i, 3:]
        for l in range(dofs.start, dofs.stop):  # joints above see everything beyond this one turn
            omega, vel = columns[l, :3], columns[l, 3:]
            bend[:, l] += J[i].T @ np.concatenate([np.cross(omega, moment) + np.cross(vel, push), np.cross(omega, push)])
        size = dofs.stop - dofs.start
        bend[dofs, dofs] = own[i, :size, :size]
    return force, bend


def momentum_derivative(model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """Mass matrix M(q) and derivative of M(q) v in q, (nv, nv) each."""
    work = model.make_work()
    place_entry(model.tree, work, q, np.zeros(model.nv))
    n, nv = len(model.bodies), model.nv
    poses = [(work.row[i, L.R : L.R + 9].reshape(3, 3), work.row[i, L.P : L.P + 3]) for i in range(n + 1)]
    J = _jacobians(model, poses, work.S0)
    bends = np.zeros((6, n + 1, 6, 6))  # how each component of the joint columns changes
    for a, unit in enumerate(np.eye(6)):
        wrench = np.tile(unit, (n + 1, 1))
        kernels.column_curvature(model.tree, work, wrench, np.zeros((nv, 6)), bends[a], np.zeros((6, 6)))
    M, wrenches, turned = np.diag(model.tree.armature), np.zeros((n + 1, 6)), np.zeros((n + 1, 6, nv))
    derivative = np.zeros((nv, nv))
    for i in range(1, n + 1):
        parent, dofs = model.tree.link[i, L.PARENT], _dofs(model, i)
        Ad = _adjoint_inverse(*poses[i])
        turned[i] = Ad @ turned[parent]
        omega, vel = np.split(Ad @ J[parent] @ v, 2)
        for k, l in enumerate(range(dofs.start, dofs.stop)):
            turn, slide = work.S0[l, :3], work.S0[l, 3:]
            turned[i, :, l] = np.concatenate([np.cross(omega, turn), np.cross(omega, slide) + np.cross(vel, turn)])
            turned[i, :, l] += bends[:, i, : dofs.stop - dofs.start, k] @ v[dofs]
        G = _spatial_inertia(model.tree.body[i])
        M += J[i].T @ G @ J[i]
        wrenches[i] = G @ J[i] @ v
        derivative += J[i].T @ G @ turned[i]
    return M, derivative + _project(model, _Place(q, poses, work.S0, J), wrenches)[1]


def _spatial_inertia(body: Array) -> Array:
    """(6, 6) from a row of Tree.body."""
    inertia = np.zeros((3, 3))
    inertia[np.triu_indices(3)] = body[L.INERTIA : L.INERTIA + 6]
    c = _hat(body[L.MOMENT : L.MOMENT + 3])
    return np.block([[inertia + np.triu(inertia, 1).T, c], [-c, body[L.MASS] * np.eye(3)]])


# ----------------------------------------------------------------------------------------------------------- forces


def _node_forces(model: Model, q: Array) -> tuple[Array, Array]:
    """Joint forces (nv,) of gravity, wrenches, springs and potentials at q, and their derivative (nv, nv)."""
    tree, work = model.tree, model.make_work()
    force = np.zeros(model.nv)
    place_entry(tree, work, q, force)
    n = len(model.bodies)
    poses = [(work.row[i, L.R : L.R + 9].reshape(3, 3), work.row[i, L.P : L.P + 3]) for i in range(n + 1)]
    J = _jacobians(model, poses, work.S0)
    wrenches, turned = np.zeros((n + 1, 6)), np.zeros((n + 1, 6, 6))
    kernels.node_loads(tree, work, wrenches, turned)
    _, derivative = _project(model, _Place(q, poses, work.S0, J), wrenches)
    derivative += np.einsum("kai,kab,kbj->ij", J, turned, J)
    for e in range(len(tree.pair_on)):
        derivative -= _stretch(model, work, e, J)
    kernels.subtract_potential_curvatures(tree, work, q, derivative)
    return force, derivative - _spring_stiffness(model, q)


def _stretch(model: Model, work: L.Work, e: int, J: Array) -> Array:
    """Stiffness (nv, nv) of spring e between points: what the change of its force does.  Reads Work.world."""
    tree, out, moves = model.tree, np.zeros(5), np.zeros((3, model.nv))
    kernels.spring_stiffness(tree, work, e, out)
    for side, (column, sign) in enumerate(((L.PAIR_A, 1.0), (L.PAIR_B, -1.0))):
        i, point = int(tree.pair_on[e, side]), tree.pair[e, column : column + 3]
        moves += sign * work.world[i, :9].reshape(3, 3) @ (J[i][3:] - _hat(point) @ J[i][:3])
    return moves.T @ (out[0] * np.eye(3) + out[1] * np.outer(out[2:], out[2:])) @ moves


def _push_laws(
    s: StepDerivatives, integrator: Variational, model: Model, start: _Place, end: _Place, moved: L.Work, dt: float, t: float
) -> None:
    """Half impulses of the laws on bodies at both ends, at the mean twist x/dt of the step: x changes by T1 J1 dq1 - T0 J0 dq0."""
    tree, work, n = model.tree, model.make_work(), len(model.bodies)
    slopes = np.zeros((n + 1, 2, 6, 6))
    kernels.retraction_slopes(tree, moved, RETRACTIONS[integrator.retraction], slopes)
    for here, when, at_end in ((start, t, False), (end, t + dt, True)):
        world_entry(tree, work, here.q)
        wrenches, by_q0, by_q1 = np.zeros((n + 1, 6)), np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv))
        for e in range(len(tree.law_on)):
            i, at = int(tree.law_on[e, L.LAW_BODY]), tree.law_at[e]
            R, p = at[L.LAW_R : L.LAW_R + 9].reshape(3, 3), at[L.LAW_P : L.LAW_P + 3]
            to_place = _adjoint_inverse(R, p)
            turn, origin = work.world[i, :9].reshape(3, 3), work.world[i, 9:]
            twist = to_place @ moved.row[i, L.X : L.X + 6] / dt
            W, by_pose, by_twist = _law(model, e, when, turn @ R, origin + turn @ p, twist)
            wrenches[i] += to_place.T @ W
            felt = here.J[i].T @ to_place.T
            change = felt @ by_twist @ to_place / dt
            by_q0 -= change @ slopes[i, 0] @ start.J[i]
            by_q1 += change @ slopes[i, 1] @ end.J[i]
            by_here = felt @ by_pose @ to_place @ here.J[i]
            by_q0, by_q1 = (by_q0, by_q1 + by_here) if at_end else (by_q0 + by_here, by_q1)
        force, bend = _project(model, here, wrenches)
        by_q0, by_q1 = (by_q0, by_q1 + bend) if at_end else (by_q0 + bend, by_q1)
        _push(s, at_end, 0.5 * dt * force, 0.5 * dt * by_q0, 0.5 * dt * by_q1)


def _law(model: Model, e: int, t: float, R: Array, x: Array, V: Array) -> tuple[Array, Array, Array]:
    """Wrench (6,) of law e in the axes of its place, and its derivatives (6, 6) in the pose (left-trivialised) and twist of the place.

    By the slopes the law knows, otherwise by differences.
    """
    tree, laws = model.tree, model.make_work().laws

    def wrench(move: Array, faster: Array) -> Array:
        out = np.zeros(6)
        pose = np.concatenate([(R @ rotation_of_quaternion([1.0, *(0.5 * move[:3])])).ravel(), x + R @ move[3:]])
        kernels.law_wrench(tree, laws, e, float(t), pose, V + faster, out)
        return out

    zero = np.zeros(6)
    W = wrench(zero, zero)
    if tree.law_on[e, L.LAW_SLOPES]:
        kernels.law_slopes(tree, laws, e)
        both = laws.slope[e].reshape(6, 12)
        return W, both[:, :6], both[:, 6:]
    return W, _difference(lambda y: wrench(y, zero), 6, _LAW_REACH), _difference(lambda y: wrench(zero, y), 6, _LAW_REACH)


def _spring_stiffness(model: Model, q: Array) -> Array:
    """(nv, nv) derivative of the gradient of the joint springs."""
    tree = model.tree
    out = np.zeros((model.nv, model.nv))
    for body in model.bodies:
        qs, vs = model.q_slice(body.joint_name), model.v_slice(body.joint_name)
        out[vs, vs] = body.joint.spring_stiffness(q[qs], tree.rest[qs], tree.stiffness[vs])
    return out


def _push_middle(s: StepDerivatives, model: Model, q0: Array, q1: Array, dt: float) -> None:
    """Forces at the midpoint of ball and free joints, by differences."""
    work, middle = model.make_work(), model.make_middle()

    def forces(a: Array, b: Array) -> Array:
        work.q[:], work.d[:] = a, increment(model, a, b)
        kernels.middle_forces(model.tree, work, middle)
        return np.concatenate([middle.start, middle.end])

    nv = model.nv
    by_q0 = _difference(lambda x: forces(_moved(model, q0, x), q1), nv)
    by_q1 = _difference(lambda x: forces(q0, _moved(model, q1, x)), nv)
    force = forces(q0, q1)
    _push(s, False, dt * force[:nv], dt * by_q0[:nv], dt * by_q1[:nv])
    _push(s, True, dt * force[nv:], dt * by_q0[nv:], dt * by_q1[nv:])


def _user_forces(model: Model, tree: L.Tree, t: float, q: Array, v: Array) -> Array:
    """Joint forces (nv,) of those functions of the user that `tree` has."""
    out = np.zeros(model.nv)
    kernels.user_forces(tree, model.make_work(), float(t), q, v, out)
    return out


def _user_force_derivatives(model: Model, tree: L.Tree, t: float, q: Array, v: Array) -> tuple[Array, Array]:
    """(nv, nv) each: derivatives of the joint forces of the user's functions in q (tangent) and v, by differences."""
    by_q = _difference(lambda x: _user_forces(model, tree, t, _moved(model, q, x), v), model.nv, _LAW_REACH)
    return by_q, _difference(lambda x: _user_forces(model, tree, t, q, v + x), model.nv, _LAW_REACH)


def _difference(function: Callable[[Array], Array], size: int, reach: float = _REACH) -> Array:
    """Derivative at zero by central differences of order six."""
    columns = []
    for unit in reach * np.eye(size):
        near, far, farther = (function(s * unit) - function(-s * unit) for s in (1.0, 2.0, 3.0))
        columns.append((45.0 * near - 9.0 * far + farther) / (60.0 * reach))
    return np.array(columns).T


def _moved(model: Model, q: Array, x: Array) -> Array:
    moved = q.copy()
    advance(model.tree, moved, x)
    return moved


def _increment_derivatives(model: Model, d: Array, at_end: bool) -> tuple[Array, Array, Array]:
    """(increment, its derivative in q0, in q1), in the axes of the start or of the end of the step."""
    moved = np.empty(model.nv)
    by_q0, by_q1 = np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv))
    for body in model.bodies:
        vs = model.v_slice(body.joint_name)
        moved[vs], by_q0[vs, vs], by_q1[vs, vs] = body.joint.increment_derivatives(d[vs], at_end)
    return moved, by_q0, by_q1


# ------------------------------------------------------------------------------------------------------------ tools


def _dofs(model: Model, i: int) -> slice:
    start = int(model.tree.link[i, L.VI])
    return slice(start, start + int(model.tree.link[i, L.NV]))


def _hat(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def _adjoint_inverse(R: Array, p: Array) -> Array:
    """Ad of the inverse of the pose (R, p), for twists (omega, v)."""
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ _hat(p), R.T]])
