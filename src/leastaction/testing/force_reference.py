"""What forces do, from their own words and with NumPy alone: the independent counterpart of `builders.LoadBuilder`.

`Force.apply` is called with an object that has the methods of the builder and keeps what it is told, names and numbers as the user wrote
them.  Energies are functions of 4x4 poses and coordinates of any number type, so that complex steps differentiate them; functions of the
user are called as the Python functions they are.  Nothing here knows a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import MechanismError
from ..forces import Force
from ..joints import Free, Spherical
from . import matrices as mat
from .kinematics import Kinematics
from .matrices import Array

STEP = 1e-40  # of the complex-step derivatives: no subtraction, so it may be as small as we like


class _Wrench(NamedTuple):
    body: str
    force: Array
    moment: Array
    point: Array
    frame: str


class _Law(NamedTuple):
    place: str
    law: Callable[..., None]
    parameters: Array
    point: Array
    energy: Callable[..., Any] | None
    seen_from: str | None


class ForceReference:
    """All forces of a mechanism, or those given."""

    def __init__(self, kin: Kinematics, forces: Iterable[Force] | None = None):
        self.kin = kin
        self._springs: list[tuple[str, Any, Any]] = []
        self._dampers: list[tuple[str, Any]] = []
        self._wrenches: list[_Wrench] = []
        self._pairs: list[tuple[str, str, Callable[[Array], Array]]] = []
        self._potentials: list[tuple[tuple[str, ...], Callable[[int], Any]]] = []
        self._custom: list[Callable[..., None]] = []
        self._laws: list[_Law] = []
        for force in kin.mechanism.forces if forces is None else forces:
            force.apply(self)

    # --------------------------------------------------------------------------------- what a force may say of itself

    def add_spring(self, joint_name: str, stiffness: Any, rest: Any) -> None:
        self._springs.append((joint_name, stiffness, rest))

    def add_damper(self, joint_name: str, damping: Any) -> None:
        self._dampers.append((joint_name, damping))

    def add_friction(self, joint_name: str, torque: Any) -> None:
        raise MechanismError(f"DryFriction on joint {joint_name!r} is no part of the discrete action; remove it from the mechanism first")

    def add_wrench(self, place_name: str, force: Any, moment: Any, point: Any, frame: str) -> None:
        given = [np.asarray(x, dtype=float) for x in (force, moment, point)]
        self._wrenches.append(_Wrench(place_name, given[0], given[1], given[2], frame))

    def add_body_force(
        self, name: str, place: str, law: Any, parameters: Any = (), *, point: Any = (0.0, 0.0, 0.0), energy: Any = None,
        slopes: Any = None, seen_from: str | None = None, dissipates: bool = False,
    ) -> None:  # fmt: skip
        law, energy = getattr(law, "py_func", law), getattr(energy, "py_func", energy)
        given = [np.asarray(x, dtype=float) for x in (parameters, point)]
        self._laws.append(_Law(place, law, np.atleast_1d(given[0]), given[1], energy, seen_from))

    def add_point_spring(self, name: str, a: str, b: str, stiffness: float, length: float, energy: Any = None) -> None:
        if energy is not None:
            self._pairs.append((a, b, lambda distance: energy.evaluate([distance])))
        else:
            self._pairs.append((a, b, lambda distance: stiffness / 2 * (distance - length) ** 2))

    def add_potential(self, name: str, joints: Sequence[str], energy: Callable[[int], Any]) -> None:
        self._potentials.append((tuple(joints), energy))

    def add_custom(self, function: Any) -> None:
        self._custom.append(getattr(function, "py_func", function))

    # ------------------------------------------------------------------------------------------- what it amounts to

    def energy(self, q: Array, known: dict[str, Array] | None = None) -> Array:
        """Potential energy, J, of what acts by its gradient, at the coordinates q (..., nq).  `known` remembers poses at the same q."""
        kin, known = self.kin, {} if known is None else known
        total: Array = np.zeros(())
        for joint, stiffness, rest in self._springs:
            total = total + self._spring_energy(joint, stiffness, rest, q)
        for a, b, of_distance in self._pairs:
            vector = kin.place(a, q, known)[..., :3, 3] - kin.place(b, q, known)[..., :3, 3]
            total = total + of_distance(np.sqrt(mat.dot(vector, vector)))
        for joints, energy in self._potentials:
            coordinates = [q[..., k] for joint in joints for k in range(*kin.by_joint[joint][1].indices(kin.nq))]
            total = total + energy(len(coordinates)).evaluate(coordinates)
        return total

    def law_energy(self, q: Array) -> Array:
        """Energy that laws on bodies say they have, J; their wrenches do its work."""
        known: dict[str, Array] = {}
        total: Array = np.zeros(())
        for law in self._laws:
            if law.energy is not None:
                T = self._place(law, q, known)
                energies = [law.energy(t[:3, :3], t[:3, 3], law.parameters) for t in T.reshape(-1, 4, 4)]
                total = total + np.array(energies).reshape(T.shape[:-2])
        return total

    def constant_work(self, q: Array) -> Array:
        """Virtual work of the constant wrenches per unit of the imaginary variation carried by q (..., nq)."""
        known: dict[str, Array] = {}
        total = np.zeros(q.shape[:-1])
        for w in self._wrenches:
            pose = self.kin.place(w.body, q, known)
            rotation, motion = pose[..., :3, :3].real, pose.imag / STEP
            point_motion = mat.times(motion[..., :3, :3], w.point) + motion[..., :3, 3]
            turn_motion = mat.vee(motion[..., :3, :3] @ np.swapaxes(rotation, -1, -2))
            f, moment = w.force, w.moment
            if w.frame == "body":
                f, moment = mat.times(rotation, f), mat.times(rotation, moment)
            total = total + mat.dot(point_motion, f) + mat.dot(turn_motion, moment)
        return total

    def law_work(self, t: float, q: Array, twist: Callable[[str, Array], Array]) -> Array:
        """Virtual work of the laws on bodies per unit of the imaginary variation carried by q (..., nq).

        twist(place, point) gives the twist (6,) of a place in its own axes.
        """
        known: dict[str, Array] = {}
        total = np.zeros(q.shape[:-1])
        for law in self._laws:
            T = self._place(law, q, known)
            pose = T.real.reshape(-1, 4, 4)[0]  # the same for all variations
            V, W = twist(law.place, law.point), np.zeros(6)
            if law.seen_from is not None:
                moving = mat.rigid_inverse(pose) @ mat.twist_matrix(twist(law.seen_from, np.zeros(3))) @ pose
                V = V - np.concatenate([mat.vee(moving[:3, :3]), moving[:3, 3]])
            law.law(t, pose[:3, :3].copy(), pose[:3, 3].copy(), V, law.parameters.copy(), W)
            total = total + twists_of(T) @ W
        return total

    def joint_forces(self, t: float, q: Array, v: Array) -> Array:
        """(nv,) of dampers and of the user's functions in joint space."""
        out = np.zeros(self.kin.nv)
        for joint, damping in self._dampers:
            _, _, vs = self.kin.by_joint[joint]
            out[vs] -= np.asarray(damping, dtype=float) * v[vs]
        for function in self._custom:
            function(t, q.copy(), v.copy(), out)
        return out

    def generalised(self, t: float, q: Array, v: Array) -> Array:
        """(nv,) joint forces of everything in continuous time, gravity not included."""
        kin = self.kin
        varied = kin.varied(np.broadcast_to(q, (kin.nv, kin.nq)), 1j * STEP * np.eye(kin.nv))
        moving = kin.varied(q.astype(complex), 1j * STEP * v)

        def twist(place: str, point: Array) -> Array:
            return twists_of(kin.place(place, moving) @ mat.rigid(np.eye(3), point))

        out = self.joint_forces(t, q, v) + self.constant_work(varied) + self.law_work(t, varied, twist)
        return out - np.imag(self.energy(varied)) / STEP

    def _place(self, law: _Law, q: Array, known: dict[str, Array]) -> Array:
        """Where the law acts, in the world or where it is seen from."""
        place = self.kin.place(law.place, q, known) @ mat.rigid(np.eye(3), law.point)
        return place if law.seen_from is None else mat.rigid_inverse(self.kin.place(law.seen_from, q, known)) @ place

    def _spring_energy(self, joint: str, stiffness: Any, rest: Any, q: Array) -> Array:
        """k/2 stretch^2 per coordinate; k/2 angle^2 from the rest quaternion and k/2 distance^2 for ball and free joints."""
        body, qs, _ = self.kin.by_joint[joint]
        q, rest = q[..., qs], np.atleast_1d(body.joint.neutral() if rest is None else np.asarray(rest, dtype=float))
        k = np.atleast_1d(np.asarray(stiffness, dtype=float))
        if not isinstance(body.joint, (Spherical, Free)):
            return (k / 2 * (q - rest) ** 2).sum(-1)
        rest_turn = rest[-4:] / np.linalg.norm(rest[-4:])
        turn = mat.quaternion_product(mat.quaternion_inverse(rest_turn), q[..., -4:])
        energy = k[0] / 2 * mat.quaternion_angle_squared(turn)
        if isinstance(body.joint, Free):
            stretch = q[..., :3] - rest[:3]
            energy = energy + k[1] / 2 * mat.dot(stretch, stretch)
        return energy


def twists_of(T: Array) -> Array:
    """(..., 6) body twists of poses (..., 4, 4) that carry imaginary steps."""
    motion = mat.rigid_inverse(T.real) @ (T.imag / STEP)
    return np.concatenate([mat.vee(motion[..., :3, :3]), motion[..., :3, 3]], -1)
