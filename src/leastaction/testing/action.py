"""The discrete action of a mechanism and its derivatives: an independent reference for every variational kernel.

Works on the user's description with 4x4 matrices and complex-step derivatives; O(n^2) and slow, and therefore easy to
trust.  With Ld the discrete Lagrangian of one step (q0, q1, h),

    leaving momentum    p0 = -D1 Ld - (impulses at the start)
    arriving momentum   p1 =  D2 Ld + (impulses at the end)

and the residual of the discrete Euler-Lagrange equations is the leaving momentum of one step minus the arriving one of
the step before.  Components are left-trivialised for ball and free joints: dq = q exp(delta).

    trapezoid   Ld = sum of x'Gx / 2h  -  h/2 (P(q0) + P(q1)),   wrenches h/2 at each end
    midpoint    Ld = sum of x'Gx / 2h  -  h P(q_mid),            wrenches h at the midpoint
with x = tau^-1(T0^-1 T1) per body; an armature a adds a d^2/2h, d the increment of the joint.  Dampers act with -c d/2, joint
forces with h/2 tau, user forces with h/2 f(d/h) at both ends; laws on bodies with h/2 W at both ends, each with the mean twist x/h in
its axes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..forces import Force
from ..mechanism import Body, Mechanism
from . import matrices as mat
from .force_reference import STEP as _STEP
from .force_reference import ForceReference
from .kinematics import Kinematics
from .matrices import Array

QUADRATURES = ("trapezoid", "midpoint")


def spatial_inertia(body: Body) -> Array:
    """6x6 inertia of a body about the origin of the user's frame, twists as (omega, v)."""
    c = mat.hat(body.com)
    return np.block([[body.inertia - body.mass * c @ c, body.mass * c], [-body.mass * c, body.mass * np.eye(3)]])


def kinetic_action(kin: Kinematics, q0: Array, q1: Array, h: float, retraction: str) -> Array:
    """Sum over the bodies of x'Gx / 2h, and over the rotors of a d^2 / 2h."""
    start: dict[str, Array] = {}
    end: dict[str, Array] = {}
    total: Array = np.zeros(())
    for body in kin.mechanism.bodies.values():
        if body.armature.any():
            _, qs, _ = kin.by_joint[body.joint_name]
            total = total + mat.dot((q1[..., qs] - q0[..., qs]) ** 2, body.armature) / (2 * h)
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
        if body.armature.any():
            _, _, vs = kin.by_joint[body.joint_name]
            M[vs, vs] += np.diag(body.armature)
    return M


def potential(kin: Kinematics, q: Array) -> Array:
    """Gravity of all bodies, fixed ones too, and every force that has an energy, J."""
    forces = ForceReference(kin)
    return _acting_potential(kin, q, forces) + forces.law_energy(q)


def _acting_potential(kin: Kinematics, q: Array, forces: ForceReference) -> Array:
    """The same without laws on bodies, which act by their wrenches."""
    known: dict[str, Array] = {}
    total: Array = np.zeros(())
    for body in kin.mechanism.bodies.values():
        pose = kin.place(body.name, q, known)
        com = mat.times(pose[..., :3, :3], body.com) + pose[..., :3, 3]
        total = total - body.mass * mat.dot(com, kin.mechanism.gravity)
    return total + forces.energy(q, known)


def user_energy(kin: Kinematics, force: Force, q: Array, known: dict[str, Array]) -> Array:
    """Potential energy of one force."""
    return ForceReference(kin, [force]).energy(q, known)


def spring_energy(kin: Kinematics, spring: Force, q: Array) -> Array:
    return user_energy(kin, spring, q, {})


def discrete_lagrangian(
    kin: Kinematics,
    q0: Array,
    q1: Array,
    h: float,
    retraction: str = "exp",
    quadrature: str = "trapezoid",
    forces: ForceReference | None = None,
) -> Array:
    """Ld of one step, J s; q0 and q1 (..., nq) of any number type."""
    kinetic, forces = kinetic_action(kin, q0, q1, h, retraction), forces or ForceReference(kin)
    if quadrature == "trapezoid":
        return kinetic - h / 2 * (_acting_potential(kin, q0, forces) + _acting_potential(kin, q1, forces))
    if quadrature == "midpoint":
        return kinetic - h * _acting_potential(kin, kin.middle(q0, q1), forces)
    raise ValueError(f"quadrature = {quadrature!r}; it is one of {', '.join(map(repr, QUADRATURES))}")


def wrench_work(kin: Kinematics, q: Array) -> Array:
    """Virtual work of all constant wrenches per unit of the imaginary variation carried by q (..., nq), complex."""
    return ForceReference(kin).constant_work(q)


def joint_impulses(forces: ForceReference, q0: Array, q1: Array, h: float, tau: Array, at_end: bool, t: float) -> Array:
    """Impulse of dampers, joint forces and user forces at one end of the step, (nv,)."""
    d = -forces.kin.increment(q1, q0) if at_end else forces.kin.increment(q0, q1)  # in the axes of that end
    return h / 2 * (tau + forces.joint_forces(t + h if at_end else t, q1 if at_end else q0, d / h))


def law_impulses(forces: ForceReference, q0: Array, q1: Array, varied: Array, h: float, retraction: str, at_end: bool, t: float) -> Array:
    """Impulse of the laws on bodies at one end of the step, (nv,); `varied` (nv, nq) is that end with imaginary variations."""

    def twist(place: str, point: Array) -> Array:
        start, end = (forces.kin.place(place, q) @ mat.rigid(np.eye(3), point) for q in (q0, q1))
        if at_end:  # the way back, seen from there
            return -mat.INVERSE_RETRACTIONS[retraction](mat.rigid_inverse(end) @ start) / h
        return mat.INVERSE_RETRACTIONS[retraction](mat.rigid_inverse(start) @ end) / h

    return h / 2 * forces.law_work(t + h if at_end else t, varied, twist)


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
    forces, varied = ForceReference(kin), b if at_end else a
    work = discrete_lagrangian(kin, a, b, h, retraction, quadrature, forces).imag / _STEP
    pushed = h * forces.constant_work(kin.middle(a, b)) if quadrature == "midpoint" else h / 2 * forces.constant_work(varied)
    impulse = joint_impulses(forces, q0, q1, h, tau, at_end, t) + law_impulses(forces, q0, q1, varied, h, retraction, at_end, t)
    return work + pushed, impulse
