"""What forces and constraints write themselves into when a mechanism is compiled: names become rows, descriptions become arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import listed, numbers, shown
from .constraints import base as closures
from .constraints.rows import ACROSS, ALONG, HEIGHT, NONE, SIDE, SPEED, Row, Vector
from .errors import MechanismError
from .forces.functions import Law, compile_joint_force, compile_law
from .joints import Joint, SymbolicJoint
from .joints.primitives import ON_Z
from .kernels.tree import layout as L
from .mechanism import Body
from .pose import Pose

if TYPE_CHECKING:
    from .symbolic.potential import PotentialExpression

#: of so many coordinates: may the function move what it holds?  None: it may
Driven = Callable[[int], bool] | None


class _Places:
    """Where bodies and frames are: name -> (body row, pose in its canonical frame)."""

    def __init__(self, place: dict[str, tuple[int, Pose]]):
        self._place = place

    def _find(self, name: str, where: str, known: Sequence[str] = ()) -> tuple[int, Pose]:
        if not isinstance(name, str) or name not in self._place:
            raise MechanismError(f"{where}: {shown(name)} is neither a body nor a frame; give one of {listed(known or self._place)}")
        return self._place[name]

    def _find_moving(self, name: str, where: str) -> tuple[int, Pose]:
        i, pose = self._find(name, where, [known for known, (row, _) in self._place.items() if row > 0])
        if i == 0:
            raise MechanismError(f"{where}: {name!r} is fixed to the world and cannot move; give a body that moves, or a frame on one")
        return i, pose


class ConstraintBuilder(_Places):
    """Collects the closures of a model.  `Constraint.apply` calls these methods."""

    def __init__(self, moving: list[Body], row: dict[str, int], place: dict[str, tuple[int, Pose]]):
        super().__init__(place)
        self._joints: dict[str, tuple[Joint, int]] = {b.joint_name: (b.joint, row[b.name]) for b in moving}
        self._first_q = [0, *np.cumsum([0] + [b.joint.nq for b in moving]).tolist()]  # by body row
        self._first_v = [0, *np.cumsum([0] + [b.joint.nv for b in moving]).tolist()]
        self.closures: list[closures.Closure] = []

    def add_rows(self, name: str, a: str, b: str, rows: tuple[Row, ...], axes: NDArray[np.float64] | None = None) -> None:
        """Equations between two places; `axes` turns both frames, as the canonical frame of a joint does."""
        turn = Pose() if axes is None else Pose(rotation=axes)
        (i, pose_a), (j, pose_b) = self._apart(name, a, b)
        self.closures.append(closures.Closure(name, closures.ROWS, (i, pose_a @ turn), (j, pose_b @ turn), rows))

    def _apart(self, name: str, a: str, b: str) -> tuple[tuple[int, Pose], tuple[int, Pose]]:
        """Two places that can move against each other."""
        (i, pose_a), (j, pose_b) = self._find(a, name), self._find(b, name)
        if i == j:
            raise MechanismError(f"{name}: {a!r} and {b!r} belong to the same body and never move apart; give places on two bodies")
        return (i, pose_a), (j, pose_b)

    def add_joint(self, name: str, a: str, b: str, joint: SymbolicJoint) -> None:
        """Frame b moves against frame a as a joint given by its pose allows; a row says which of the directions it forbids it is."""
        rows = tuple(Row(-1, f"direction {k + 1}", value=float(k)) for k in range(6 - joint.nv))
        (i, pose_a), (j, pose_b) = self._apart(name, a, b)
        self.closures.append(closures.Closure(name, closures.JOINT, (i, pose_a), (j, pose_b), rows, function=joint))

    def add_gear(self, name: str, joint1: str, joint2: str, ratio: float, offset: float) -> None:
        found = []
        for joint_name in (joint1, joint2):
            joint, i = self._find_joint(joint_name, name)
            motions = joint.primitives() or ()
            if len(motions) != 1 or motions[0].motion not in ON_Z:
                raise MechanismError(f"{name}: joint {joint_name!r} is {joint!r}; a gear couples revolute, prismatic and helical joints")
            found.append(i)
        world = (0, Pose())
        rows = (Row(-1, "ratio"),)
        self.closures.append(closures.Closure(name, closures.GEAR, world, world, rows, (found[0], found[1]), (ratio, offset)))

    def add_function(self, name: str, joint_names: tuple[str, ...], compile_function: Callable[[int], Any], driven: Driven = None) -> None:
        """h(q, t) = 0; `compile_function(number of coordinates)` gives the compiled function.

        driven(number of coordinates): does h know the time?  If not, it does no work, and the account of the energy need not look at it.
        """
        self._add_function(name, closures.COORDINATES, joint_names, compile_function, driven)

    def add_speeds(self, name: str, joint_names: tuple[str, ...], compile_function: Callable[[int], Any], driven: Driven = None) -> None:
        """g(q, v, t) = A(q, t) v - b(q, t) = 0, likewise; driven: is there a b?"""
        self._add_function(name, closures.SPEEDS, joint_names, compile_function, driven)

    def _add_function(
        self, name: str, kind: int, joint_names: tuple[str, ...], compile_function: Callable[[int], Any], driven: Driven
    ) -> None:
        arguments: list[tuple[int, int]] = []
        for joint_name in joint_names:
            joint, i = self._find_joint(joint_name, name)
            if joint.has_quaternion or joint.charts > 1:
                raise MechanismError(
                    f"{name}: joint {joint_name!r} is {joint!r}, whose coordinates cannot be constrained one by one; "
                    "constrain frames instead"
                )
            arguments.extend((self._first_q[i] + j, self._first_v[i] + j) for j in range(joint.nv))
        world = (0, Pose())
        function = compile_function(len(arguments))
        row = Row(SPEED if kind == closures.SPEEDS else -1, "")
        moves = driven is None or driven(len(arguments))
        self.closures.append(
            closures.Closure(name, kind, world, world, (row,), function=function, arguments=tuple(arguments), driven=moves)
        )

    def add_skate(self, name: str, frame: str, direction: NDArray[np.float64], on: str = "world") -> None:
        """The origin of the frame does not move along the direction (of the frame), as seen from the body of `on`."""
        rows = (Row(SIDE, "sideways", w=tuple(direction.tolist())),)
        self._add_on_velocities(name, closures.SKATE, on, Pose(), frame, rows)

    def add_rolling(self, name: str, frame: str, radius: float, axis, normal, height: float, on: str = "world") -> None:
        """A disc with this axis on the plane with this normal, at this height above the origin of the frame `on`."""
        rows = _rolling_rows(tuple(normal.tolist()), tuple(axis.tolist()), radius)
        self._add_on_velocities(name, closures.ROLLING, on, Pose(height * normal), frame, rows, (radius,))

    def add_ball(self, name: str, frame: str, radius: float, normal, height: float, on: str = "world") -> None:
        """A ball on such a plane."""
        rows = _rolling_rows(tuple(normal.tolist()), NONE, radius)
        self._add_on_velocities(name, closures.BALL, on, Pose(height * normal), frame, rows, (radius,))

    def add_ellipsoid(self, name: str, frame: str, half_axes, normal, height: float, on: str = "world") -> None:
        """An ellipsoid with these half axes along those of the frame, on such a plane."""
        rows = _rolling_rows(tuple(normal.tolist()), tuple(half_axes.tolist()), 0.0)
        self._add_on_velocities(name, closures.ELLIPSOID, on, Pose(height * normal), frame, rows, tuple(half_axes.tolist()))

    def add_ball_on_sphere(self, name: str, frame: str, radius: float, apart: float, side: float, on: str = "world") -> None:
        """A ball whose centre stays `apart` from the origin of the frame `on`, outside of a sphere (side = 1) or inside (-1)."""
        self._add_on_velocities(name, closures.SPHERE, on, Pose(), frame, _rolling_rows(NONE, NONE, radius), (radius, apart, side))

    def _add_on_velocities(self, name: str, kind: int, on: str, place: Pose, frame: str, rows, numbers: tuple[float, ...] = ()) -> None:
        (i, pose_a), (j, pose_b) = self._find(on, name), self._find_moving(frame, name)
        if i == j:
            raise MechanismError(f"{name}: {frame!r} and {on!r} belong to the same body and never move apart; give places on two bodies")
        self.closures.append(closures.Closure(name, kind, (i, pose_a @ place), (j, pose_b), rows, numbers=numbers))

    def _find_joint(self, name: str, where: str) -> tuple[Joint, int]:
        if not isinstance(name, str) or name not in self._joints:
            raise MechanismError(f"{where}: joint {shown(name)} does not exist or is fixed; joints are {listed(self._joints)}")
        return self._joints[name]


def _rolling_rows(normal: Vector, axis: Vector, radius: float) -> tuple[Row, ...]:
    labels = ((HEIGHT, "height"), (ALONG, "slip along"), (ACROSS, "slip across"))
    return tuple(Row(kind, label, normal, axis, radius) for kind, label in labels)


class LoadBuilder(_Places):
    """Collects what forces add to a model.  `Force.apply` calls these methods, which are all a force can do:

    on a body              add_wrench (constant), add_body_force (a function of time, pose and twist)
    between two bodies     add_point_spring, add_body_force with seen_from
    of coordinates         add_potential, add_spring, add_damper, add_friction (one joint)
    in joint space         add_custom
    """

    def __init__(self, moving: list[Body], place: dict[str, tuple[int, Pose]], nq: int, nv: int):
        super().__init__(place)
        self._joints: dict[str, tuple[Joint, int, int]] = {}
        qi = vi = 0
        self.rest = np.zeros(nq)
        for b in moving:
            self._joints[b.joint_name] = (b.joint, qi, vi)
            self.rest[qi : qi + b.joint.nq] = b.joint.neutral()
            qi, vi = qi + b.joint.nq, vi + b.joint.nv
        self._neutral = self.rest.copy()
        self.stiffness = np.zeros(nv)
        self.damping = np.zeros(nv)
        self.friction = np.zeros(nv)
        self.wrench_on: list[tuple[int, int]] = []
        self.wrench: list[NDArray[np.float64]] = []
        self.custom: list = []
        self.laws: list[tuple[int, int, NDArray[np.float64], NDArray[np.float64], Law]] = []  # rows, places, parameters, compiled functions
        self.law_energies: list[bool] = []  # has the law an energy?
        self.law_losses: list[bool] = []  # is its work heat?
        self.pairs: list[tuple[int, int, NDArray[np.float64], PotentialExpression | None]] = []  # row a, row b, numbers, energy
        self.energies: list[tuple[list[tuple[int, int]], PotentialExpression]] = []  # (entries of q and of v), energy

    def add_spring(self, joint_name: str, stiffness: ArrayLike, rest: ArrayLike | None) -> None:
        joint, qi, vi = self._find_joint(joint_name, "Spring")
        _refuse_charts(joint, joint_name, "Spring")
        what = f"Spring on joint {joint_name!r}: stiffness"
        values = joint.stiffness_per_freedom(_non_negative(stiffness, what), what)
        if np.any(self.stiffness[vi : vi + joint.nv] != 0.0):
            raise MechanismError(f"joint {joint_name!r} has two springs; add their stiffnesses and give one")
        self.stiffness[vi : vi + joint.nv] = values
        if rest is not None:
            r = np.atleast_1d(numbers(rest, f"Spring on joint {joint_name!r}: rest", MechanismError))
            if r.shape != (joint.nq,):
                raise MechanismError(f"Spring on joint {joint_name!r}: rest = {shown(rest)}; it needs {joint.nq} number(s)")
            if joint.has_quaternion:
                length = np.linalg.norm(r[-4:])
                if abs(length - 1.0) > 1e-6:
                    raise MechanismError(
                        f"Spring on joint {joint_name!r}: rest quaternion (w, x, y, z) = {r[-4:]} has length {length:.6g}, not 1"
                    )
                r[-4:] /= length
            self.rest[qi : qi + joint.nq] = r

    def add_damper(self, joint_name: str, damping: ArrayLike) -> None:
        joint, _, vi = self._find_joint(joint_name, "Damper")
        _refuse_charts(joint, joint_name, "Damper")
        what = f"Damper on joint {joint_name!r}: damping"
        self.damping[vi : vi + joint.nv] += joint.per_freedom(_non_negative(damping, what), what)

    def add_friction(self, joint_name: str, torque: ArrayLike) -> None:
        joint, _, vi = self._find_joint(joint_name, "DryFriction")
        _refuse_charts(joint, joint_name, "DryFriction")
        what = f"DryFriction on joint {joint_name!r}: torque"
        if joint.has_quaternion:
            raise MechanismError(
                f"DryFriction on joint {shown(joint_name)}, which is {joint!r}: it acts on coordinates one by one, and this joint "
                "has a quaternion; give a Damper, or describe it as three joints"
            )
        self.friction[vi : vi + joint.nv] += joint.per_freedom(_non_negative(torque, what), what)

    def add_wrench(self, place_name: str, force, moment, point, frame: str) -> None:
        i, pose = self._find_moving(place_name, "Wrench")
        if frame == "body":
            force, moment = pose.R @ force, pose.R @ moment
        self.wrench_on.append((i, int(L.BODY_FIXED if frame == "body" else L.WORLD_FIXED)))
        self.wrench.append(np.concatenate([force, moment, pose.p + pose.R @ point]))

    def add_body_force(
        self,
        name: str,
        place: str,
        law: Callable[..., None],
        parameters: ArrayLike = (),
        *,
        point: ArrayLike = (0.0, 0.0, 0.0),
        energy: Callable[..., float] | None = None,
        slopes: Callable[..., None] | None = None,
        seen_from: str | None = None,
        dissipates: bool = False,
    ) -> None:
        """A force on a body as functions that Numba can compile; docs/forces.md.

        place    body or frame that it acts on, at `point` (m) in the axes of that frame: all below are of and in this place
        law      law(t, R, x, V, p, W) adds to W (6,) the moment (N m) and force (N) at the place: t time, R (3, 3) axes and x (3,)
                 position in the world, V (6,) angular and linear velocity, p the parameters
        energy   energy(R, x, p) -> J of a force that has a potential, for `run.energy`
        slopes   slopes(t, R, x, V, p, D) writes D (6, 12), the derivatives of W in a rotation and a displacement of the place (3 each, in
                 its axes) and in V (6); without it Newton's method and `la.linearize` take differences
        seen_from   body or frame that R, x and V are relative to, instead of the world; its body feels the opposite wrench
        dissipates  is what it takes heat (`run.dissipated`), not work?
        """
        (i, pose), base, base_pose = self._find(place, name) if seen_from else self._find_moving(place, name), -1, Pose()
        if seen_from:
            base, base_pose = self._find(seen_from, name)
            if i == base:
                raise MechanismError(
                    f"{name}: {place!r} and {seen_from!r} belong to the same body and never move apart; give places on two bodies"
                )
        values = np.atleast_1d(numbers(parameters, f"{name}: parameters", MechanismError))
        at = pose @ Pose(numbers(point, f"{name}: point", MechanismError, (3,)))
        places = np.concatenate([at.R.ravel(), at.p, base_pose.R.ravel(), base_pose.p])
        self.laws.append((i, base, places, values, compile_law(name, law, energy, slopes, values)))
        self.law_energies.append(energy is not None)
        self.law_losses.append(bool(dissipates))

    def add_point_spring(
        self, name: str, a: str, b: str, stiffness: float, length: float, energy: PotentialExpression | None = None
    ) -> None:
        """A spring between two places: linear, or with an energy of the distance."""
        (i, pose_a), (j, pose_b) = self._find(a, name), self._find(b, name)
        if i == j:
            raise MechanismError(f"{name}: {a!r} and {b!r} belong to the same body and never move apart; give places on two bodies")
        self.pairs.append((i, j, np.array([*pose_a.p, *pose_b.p, stiffness, length]), energy))

    def add_potential(self, name: str, joints: Sequence[str], energy: Callable[[int], PotentialExpression]) -> None:
        """An energy of the coordinates of some joints; `energy` is called with their number."""
        entries: list[tuple[int, int]] = []
        for joint_name in joints:
            joint, qi, vi = self._find_joint(joint_name, name.split(" ")[0])
            if joint.has_quaternion:
                raise MechanismError(
                    f"{name}: joint {joint_name!r} is {joint!r}; an energy cannot depend on the entries of its quaternion; "
                    "use springs between points of its body"
                )
            _refuse_charts(joint, joint_name, name)
            entries += [(qi + c, vi + c) for c in range(joint.nv)]
        if len(set(entries)) < len(entries):
            raise MechanismError(f"{name}: a joint is named twice; name each once")
        self.energies.append((entries, energy(len(entries))))

    def add_custom(self, function: Callable[..., None]) -> None:
        """function(t, q, v, tau) adds joint forces to tau."""
        self.custom.append(compile_joint_force(function, self._neutral, len(self.damping)))

    def keep_alive(self) -> tuple:
        """What owns the machine code that the model calls by address."""
        expressions = [*(e for *_, e in self.pairs if e), *(e for _, e in self.energies)]
        return (*self.custom, *(law for *_, law in self.laws), *(e.module.compiled for e in expressions))

    def fields(self) -> dict[str, Any]:
        """The fields of `Tree` about forces."""
        return {
            "has_springs": int(np.any(self.stiffness != 0.0)), "has_dampers": int(np.any(self.damping != 0.0)),
            "has_friction": int(np.any(self.friction != 0.0)),
            "stiffness": self.stiffness, "rest": self.rest, "damping": self.damping, "friction": self.friction,
            "wrench_on": self.wrench_on, "wrench": self.wrench, "custom": [f.address for f in self.custom],
            "law_on": [(i, law.address, law.has_slopes, base) for i, base, *_, law in self.laws],
            "law_at": [at for _, _, at, *_ in self.laws], "law_param": _padded([values for *_, values, _ in self.laws]),
            **self._potentials(),
        }  # fmt: skip

    def _potentials(self) -> dict[str, Any]:
        """Springs between points and energies of coordinates."""
        generated = [energy for *_, energy in self.pairs] + [energy for _, energy in self.energies]
        first = np.cumsum([0, *(len(entries) for entries, _ in self.energies)])
        return {
            "pair_on": [(i, j, e.address if e else 0) for i, j, _, e in self.pairs],
            "pair": [given for _, _, given, _ in self.pairs],
            "energy_on": [*zip((e.address for _, e in self.energies), first, strict=False), (0, first[-1])],
            "energy_at": [entry for entries, _ in self.energies for entry in entries],
            "energy_param": _padded([energy.values if energy else () for energy in generated]),
        }

    def _find_joint(self, name: str, what: str):
        if not isinstance(name, str) or name not in self._joints:
            raise MechanismError(f"{what} on joint {shown(name)}, which does not exist or is fixed; joints are {listed(self._joints)}")
        return self._joints[name]


def _padded(rows: Sequence[Sequence[float] | NDArray[np.float64]]) -> NDArray[np.float64]:
    """Rows of different lengths as one array, at least one column wide."""
    out = np.zeros((len(rows), max([1, *map(len, rows)])))
    for row, given in zip(out, rows, strict=True):
        row[: len(given)] = given
    return out


def _refuse_charts(joint: Joint, joint_name: str, what: str) -> None:
    if joint.charts > 1:
        raise MechanismError(
            f"{what} on joint {shown(joint_name)}, which changes between {joint.charts} charts: what acts on coordinates would change "
            "with them; give a Wrench on the body, or a joint with one chart"
        )


def _non_negative(value: ArrayLike, what: str) -> NDArray[np.float64]:
    a = numbers(value, what, MechanismError)
    if np.any(a < 0.0):
        raise MechanismError(f"{what} = {shown(value)}; it needs numbers >= 0")
    return a
