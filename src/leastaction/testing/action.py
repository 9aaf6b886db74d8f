"""The discrete action of a mechanism and its derivatives: an independent reference for every variational kernel.

Works on the user's description with 4x4 matrices and complex-step derivatives; O(n^2) and slow, and therefore easy to
trust.  With Ld the discrete Lagrangian of one step (q0, q1, h),

    leaving momentum    p0 = -D1 Ld - (impulses at the start)
    arriving momentum   p1 =  D2 Ld + (impulses at the end)

and the residual of the discrete Euler-Lagrange equations is the leaving momentum of one step minus the arriving one of
the step before.  Components are left-trivialised for ball and free joints: dq = q exp(delta).

    trapezoid   Ld = sum of x'Gx / 2h  -  h/2 (P(q0) + P(q1)),   wrenches h/2 at each end
    midpoint    Ld = sum of x'Gx / 2h  -  h P(q_mid),            wrenches h at the midpoint
with x = tau^-1(T0^-1 T1) per body.  Dampers act with -c d/2, joint forces with h/2 tau, user forces with h/2 f(d/h) at
both ends, d the increment of the joint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..forces import CustomForce, Damper, LinearSpring, NonlinearSpring, Spring, UserPotential, Wrench
from ..joints import Free, Spherical
from ..mechanism import Body, Mechanism
from . import matrices as mat
from .kinematics import Kinematics
from .matrices import Array

QUADRATURES = ("trapezoid", "midpoint")

_STEP = 1e-40  # of the complex-step derivatives: no subtraction, so it may be as small as we like


def spatial_inertia(body: Body) -> Array:
    """6x6 inertia of a body about the origin of the user's frame, twists as (omega, v)."""
    c = mat.hat(body.com)
    return np.block([[body.inertia - body.mass * c @ c, body.mass * c], [-body.mass * c, body.mass * np.eye(3)]])


def kinetic_action(kin: Kinematics, q0: Array, q1: Array, h: float, retraction: str) -> Array:
    """Sum over the bodies of x'Gx / 2h."""
    start: dict[str, Array] = {}
    end: dict[str, Array] = {}
    total: Array = np.zeros(())
    for body in kin.mechanism.bodies.values():
        if body.mass == 0.0 and not body.inertia.any():
            continue
        displacement = mat.rigid_inverse(kin.place(body.name, q0, start)) @ kin.place(body.name, q1, end)
        x = mat.INVERSE_RETRACTIONS[retraction](displacement)
        total = total + mat.dot(x, mat.times(spatial_inertia(body), x)) / (2 * h)
    return total


def mass_matrix(kin: Kinematics, q: Array) -> Array:
    """M(q) as the sum of J'GJ over the bodies, J from complex steps of the poses, (nv, nv)."""
    varied = kin.varied(np.broadcast_to(q, (kin.nv, kin.nq)), 1j * _STEP * np.eye(kin.nv))
    known: dict[str, Array] = {}
    M = np.zeros((kin.nv, kin.nv))
    for body in kin.mechanism.bodies.values():
        T = kin.place(body.name, varied, known)
        twist = mat.rigid_inverse(T.real) @ (T.imag / _STEP)
        J = np.concatenate([mat.vee(twist[:, :3, :3]), twist[:, :3, 3]], axis=1)
        M += J @ spatial_inertia(body) @ J.T
    return M


def potential(kin: Kinematics, q: Array) -> Array:
    """Gravity of all bodies, fixed ones too, joint springs, springs between points and user potentials, J."""
    known: dict[str, Array] = {}
    total: Array = np.zeros(())
    for body in kin.mechanism.bodies.values():
        pose = kin.place(body.name, q, known)
        com = mat.times(pose[..., :3, :3], body.com) + pose[..., :3, 3]
        total = total - body.mass * mat.dot(com, kin.mechanism.gravity)
    for force in kin.mechanism.forces:
        if isinstance(force, Spring):
            total = total + spring_energy(kin, force, q)
        elif isinstance(force, (LinearSpring, NonlinearSpring, UserPotential)):
            total = total + user_energy(kin, force, q, known)
    return total


def user_energy(kin: Kinematics, force: LinearSpring | NonlinearSpring | UserPotential, q: Array, known: dict[str, Array]) -> Array:
    """Springs between points and energies written by the user."""
    if isinstance(force, UserPotential):
        coordinates = [q[..., k] for joint in force.joints for k in range(*kin.by_joint[joint][1].indices(kin.nq))]
        return force.expression(len(coordinates)).evaluate(coordinates)
    if isinstance(force, LinearSpring):
        return force.stiffness / 2 * (_distance(kin, force.a, force.b, q, known) - force.length) ** 2
    if force.between is not None:
        return force.expression().evaluate([_distance(kin, *force.between, q, known)])
    return force.expression().evaluate([q[..., kin.by_joint[str(force.joint)][1].start]])


def _distance(kin: Kinematics, a: str, b: str, q: Array, known: dict[str, Array]) -> Array:
    vector = kin.place(a, q, known)[..., :3, 3] - kin.place(b, q, known)[..., :3, 3]
    return np.sqrt(mat.dot(vector, vector))


def spring_energy(kin: Kinematics, spring: Spring, q: Array) -> Array:
    """k/2 stretch^2 per coordinate; k/2 angle^2 from the rest quaternion and k/2 distance^2 for ball and free joints."""
    body, qs, _ = kin.by_joint[spring.joint]
    q, rest = q[..., qs], np.atleast_1d(body.joint.neutral() if spring.rest is None else np.asarray(spring.rest, dtype=float))
    stiffness = np.atleast_1d(np.asarray(spring.stiffness, dtype=float))
    if not isinstance(body.joint, (Spherical, Free)):
        return (stiffness / 2 * (q - rest) ** 2).sum(-1)
    rest_turn = rest[-4:] / np.linalg.norm(rest[-4:])
    turn = mat.quaternion_product(mat.quaternion_inverse(rest_turn), q[..., -4:])
    energy = stiffness[0] / 2 * mat.quaternion_angle_squared(turn)
    if isinstance(body.joint, Free):
        stretch = q[..., :3] - rest[:3]
        energy = energy + stiffness[1] / 2 * mat.dot(stretch, stretch)
    return energy


def discrete_lagrangian(
    kin: Kinematics, q0: Array, q1: Array, h: float, retraction: str = "exp", quadrature: str = "trapezoid"
) -> Array:
    """Ld of one step, J s; q0 and q1 (..., nq) of any number type."""
    kinetic = kinetic_action(kin, q0, q1, h, retraction)
    if quadrature == "trapezoid":
        return kinetic - h / 2 * (potential(kin, q0) + potential(kin, q1))
    if quadrature == "midpoint":
        return kinetic - h * potential(kin, kin.middle(q0, q1))
    raise ValueError(f"quadrature = {quadrature!r}; it is one of {', '.join(map(repr, QUADRATURES))}")


def wrench_work(kin: Kinematics, q: Array) -> Array:
    """Virtual work of all wrenches per unit of the imaginary variation carried by q (..., nq), complex."""
    known: dict[str, Array] = {}
    total = np.zeros(q.shape[:-1])
    for force in kin.mechanism.forces:
        if not isinstance(force, Wrench):
            continue
        pose = kin.place(force.body, q, known)
        rotation, motion = pose[..., :3, :3].real, pose.imag / _STEP
        point_motion = mat.times(motion[..., :3, :3], force.point) + motion[..., :3, 3]
        turn_motion = mat.vee(motion[..., :3, :3] @ np.swapaxes(rotation, -1, -2))
        f, moment = force.force, force.moment
        if force.frame == "body":
            f, moment = mat.times(rotation, f), mat.times(rotation, moment)
        total = total + mat.dot(point_motion, f) + mat.dot(turn_motion, moment)
    return total


def joint_impulses(kin: Kinematics, q0: Array, q1: Array, h: float, tau: Array, at_end: bool, t: float) -> Array:
    """Impulse of dampers, joint forces and user forces at one end of the step, (nv,)."""
    d = -kin.increment(q1, q0) if at_end else kin.increment(q0, q1)  # in the axes of that end
    impulse = h / 2 * tau
    for force in kin.mechanism.forces:
        if isinstance(force, Damper):
            _, _, vs = kin.by_joint[force.joint]
            impulse[vs] -= np.asarray(force.damping, dtype=float) * d[vs] / 2
        elif isinstance(force, CustomForce):
            value = np.zeros(kin.nv)
            force.function(t + h if at_end else t, q1 if at_end else q0, d / h, value)
            impulse += h / 2 * value
    return impulse


def leaving_momentum(
    mechanism: Mechanism | Kinematics, q0: ArrayLike, q1: ArrayLike, h: float, tau: ArrayLike | None = None,
    retraction: str = "exp", quadrature: str = "trapezoid", t: float = 0.0,
) -> Array:  # fmt: skip
    """Momentum (nv,) a step from q0 to q1 of length h starts with: -D1 Ld minus the impulses at its start."""
    work, impulse = _variation(mechanism, q0, q1, h, tau, retraction, quadrature, t, at_end=False)
    return -work - impulse


def arriving_momentum(
    mechanism: Mechanism | Kinematics, q0: ArrayLike, q1: ArrayLike, h: float, tau: ArrayLike | None = None,
    retraction: str = "exp", quadrature: str = "trapezoid", t: float = 0.0,
) -> Array:  # fmt: skip
    """Momentum (nv,) the step ends with: D2 Ld plus the impulses at its end.  `t` is the time of its start."""
    work, impulse = _variation(mechanism, q0, q1, h, tau, retraction, quadrature, t, at_end=True)
    return work + impulse


def _variation(mechanism, q0, q1, h, tau, retraction, quadrature, t, at_end):
    """(derivative of Ld plus virtual work of the wrenches, joint impulses) for a variation of one end of the step."""
    kin = mechanism if isinstance(mechanism, Kinematics) else Kinematics(mechanism)
    q0, q1 = np.asarray(q0, dtype=float), np.asarray(q1, dtype=float)
    tau = np.zeros(kin.nv) if tau is None else np.asarray(tau, dtype=float)
    directions = 1j * _STEP * np.eye(kin.nv)  # one row per degree of freedom, all evaluated at once
    a, b = np.broadcast_to(q0, (kin.nv, kin.nq)), np.broadcast_to(q1, (kin.nv, kin.nq))
    if at_end:
        b = kin.varied(b, directions)
    else:
        a = kin.varied(a, directions)
    work = discrete_lagrangian(kin, a, b, h, retraction, quadrature).imag / _STEP
    if quadrature == "midpoint":
        work = work + h * wrench_work(kin, kin.middle(a, b))
    else:
        work = work + h / 2 * wrench_work(kin, b if at_end else a)
    return work, joint_impulses(kin, q0, q1, h, tau, at_end, t)
