"""Mechanism -> Model: check the description, order the tree, merge rigid parts, turn names into rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import listed, numbers
from .constraints import base as closures
from .constraints.rows import Row
from .errors import MechanismError, SingularMassError
from .joints import Fixed, Free, Helical, Joint, Prismatic, Revolute, Spherical
from .joints.base import frame_with_z
from .joints.dispatch import PARAMETERS
from .kernels.tree import layout as L
from .mechanism import WORLD, Body, Frame, Mechanism
from .model import Model, Part
from .pose import Pose

if TYPE_CHECKING:
    from .symbolic.potential import PotentialExpression


def compile_mechanism(mechanism: Mechanism) -> Model:
    order = _tree_order(mechanism)
    if not any(not isinstance(b.joint, Fixed) for b in order):
        raise MechanismError(f"mechanism {mechanism.name!r} has nothing that moves; add a body with a joint other than Fixed")
    moving = [b for b in order if not isinstance(b.joint, Fixed)]
    n = len(moving)
    row = {WORLD: 0} | {b.name: i for i, b in enumerate(moving, start=1)}
    place, kernel_frame = _place_everything(mechanism, order, row)

    link = np.zeros((n + 1, L.LINK_COLUMNS), dtype=np.int64)
    arrays = np.zeros((n + 1, L.BODY_COLUMNS))
    param = np.zeros((n + 1, max([PARAMETERS, *(len(b.joint.parameters()) for b in moving)])))
    qi = vi = 0
    for i, b in enumerate(moving, start=1):
        parent_row, parent_pose = place[b.parent]
        pose = parent_pose @ b.placement @ kernel_frame[i]
        link[i] = parent_row, b.joint.kind, qi, vi, b.joint.nv, b.joint.charts > 1
        arrays[i, L.PLACE_R : L.PLACE_R + 9] = pose.R.ravel()
        arrays[i, L.PLACE_P : L.PLACE_P + 3] = pose.p
        values = b.joint.parameters()
        param[i, : len(values)] = values
        qi, vi = qi + b.joint.nq, vi + b.joint.nv
    fixed_potential = 0.0
    for b in order:
        i, pose = place[b.name]
        if i == 0:
            fixed_potential -= b.mass * float(mechanism.gravity @ (pose.p + pose.R @ b.com))
        else:
            _add_inertia(arrays[i], b, pose)

    builder = LoadBuilder(moving, row, place, qi, vi)
    for force in mechanism.forces:
        force.apply(builder)
    tree = L.Tree(
        link=link, body=arrays, param=param, gravity=mechanism.gravity.copy(),
        has_charts=int(np.any(link[:, L.CHARTED])),
        has_springs=int(np.any(builder.stiffness != 0.0)), has_dampers=int(np.any(builder.damping != 0.0)),
        stiffness=builder.stiffness, rest=builder.rest, damping=builder.damping,
        wrench_on=np.array(builder.wrench_on, dtype=np.int64).reshape(-1, 2),
        wrench=np.array(builder.wrench).reshape(-1, L.WRENCH_COLUMNS),
        custom=np.array([f.address for f in builder.custom], dtype=np.int64),
        **builder.potentials(),
    )  # fmt: skip
    frames = dict(place)
    model = Model(
        name=mechanism.name, tree=tree, bodies=tuple(moving), nq=qi, nv=vi, frames=frames,
        fixed_potential=fixed_potential, keep_alive=tuple(builder.custom), closures=_compile_constraints(mechanism, moving, row, place),
        parts=(*(_part(body, place) for body in order), *(_part(frame, place) for frame in mechanism.frames.values())),
        notes=mechanism.notes,
    )  # fmt: skip
    _check_mass(model)
    return model


def _tree_order(mechanism: Mechanism) -> list[Body]:
    """Bodies with parents before children; unknown parents and cycles are named."""
    things: list[Body | Frame] = [*mechanism.bodies.values(), *mechanism.frames.values()]
    for thing in things:
        if thing.parent != WORLD and thing.parent not in mechanism.bodies and thing.parent not in mechanism.frames:
            known = listed([WORLD, *mechanism.bodies, *mechanism.frames])
            raise MechanismError(f"{thing.name!r} hangs on {thing.parent!r}, which does not exist; known are {known}")
    parent = {t.name: t.parent for t in things}
    rooted = {WORLD}
    for name in parent:
        path: dict[str, None] = {}
        while name not in rooted:
            if name in path:
                circle = list(path)[list(path).index(name) :] + [name]
                raise MechanismError(
                    f"the parents form a cycle: {' -> '.join(circle)}; a mechanism is a tree, hang one of them on {WORLD!r}"
                )
            path[name] = None
            name = parent[name]
        rooted.update(path)
    children: dict[str, list[Body]] = {}
    for body in mechanism.bodies.values():
        children.setdefault(_owner(mechanism, body.parent), []).append(body)
    order: list[Body] = []
    stack = list(reversed(children.get(WORLD, [])))
    while stack:  # depth first: a chain stays contiguous in memory
        body = stack.pop()
        order.append(body)
        stack.extend(reversed(children.get(body.name, [])))
    return order


def _owner(mechanism: Mechanism, name: str) -> str:
    """The body (or world) a frame belongs to."""
    while name in mechanism.frames:
        name = mechanism.frames[name].parent
    return name


def _place_everything(mechanism: Mechanism, order: list[Body], row: dict[str, int]):
    """name -> (kernel row, pose of the user's frame in that row's canonical frame), and row -> canonical frame in the body."""
    place: dict[str, tuple[int, Pose]] = {WORLD: (0, Pose())}
    kernel_frame: dict[int, Pose] = {}

    def locate(name: str) -> tuple[int, Pose]:
        path = []
        while name not in place:  # no recursion: frames may be nested deeper than Python's stack
            path.append(mechanism.frames[name])
            name = path[-1].parent
        for frame in reversed(path):
            i, pose = place[frame.parent]
            place[frame.name] = (i, pose @ frame.placement)
            name = frame.name
        return place[name]

    for body in order:
        i, pose = locate(body.parent)
        if isinstance(body.joint, Fixed):
            place[body.name] = (i, pose @ body.placement)
        else:
            i = row[body.name]
            kernel_frame[i] = Pose(rotation=body.joint.frame())
            place[body.name] = (i, kernel_frame[i].inverse())
    for name in mechanism.frames:
        locate(name)
    return place, kernel_frame


def _part(thing: Body | Frame, place: dict[str, tuple[int, Pose]]) -> Part:
    row, pose = place[thing.parent]
    mass, com = (thing.mass, thing.com) if isinstance(thing, Body) else (0.0, np.zeros(3))
    return Part(thing.name, thing.parent, (row, pose @ thing.placement), place[thing.name], mass, (com[0], com[1], com[2]))


def _add_inertia(arrays: NDArray[np.float64], body: Body, pose: Pose) -> None:
    """Add a body's mass, given in the user's frame placed at `pose`, to a row."""
    com = pose.p + pose.R @ body.com
    about_origin = pose.R @ body.inertia @ pose.R.T + body.mass * (com @ com * np.eye(3) - np.outer(com, com))
    arrays[L.MASS] += body.mass
    arrays[L.MOMENT : L.MOMENT + 3] += body.mass * com
    arrays[L.INERTIA : L.INERTIA + 6] += about_origin[np.triu_indices(3)]


def _compile_constraints(mechanism: Mechanism, moving: list[Body], row: dict[str, int], place) -> tuple[closures.Closure, ...]:
    builder = ConstraintBuilder(moving, row, place)
    for constraint in mechanism.constraints:
        constraint.apply(builder)
    return tuple(builder.closures)


class ConstraintBuilder:
    """Collects the closures of a model.  `Constraint.apply` calls these methods."""

    def __init__(self, moving: list[Body], row: dict[str, int], place: dict[str, tuple[int, Pose]]):
        self._place = place
        self._joints: dict[str, tuple[Joint, int]] = {b.joint_name: (b.joint, row[b.name]) for b in moving}
        self._first_q = [0, *np.cumsum([0] + [b.joint.nq for b in moving]).tolist()]  # by body row
        self._first_v = [0, *np.cumsum([0] + [b.joint.nv for b in moving]).tolist()]
        self.closures: list[closures.Closure] = []

    def add_rows(self, name: str, a: str, b: str, rows: tuple[Row, ...], axes: NDArray[np.float64] | None = None) -> None:
        """Equations between two places; `axes` turns both frames, as the canonical frame of a joint does."""
        turn = Pose() if axes is None else Pose(rotation=axes)
        (i, pose_a), (j, pose_b) = self._find(a, name), self._find(b, name)
        if i == j:
            raise MechanismError(f"{name}: {a!r} and {b!r} belong to the same body and never move apart; give places on two bodies")
        self.closures.append(closures.Closure(name, closures.ROWS, (i, pose_a @ turn), (j, pose_b @ turn), rows))

    def add_gear(self, name: str, joint1: str, joint2: str, ratio: float, offset: float) -> None:
        found = []
        for joint_name in (joint1, joint2):
            joint, i = self._find_joint(joint_name, name)
            if not isinstance(joint, (Revolute, Prismatic, Helical)):
                raise MechanismError(f"{name}: joint {joint_name!r} is {joint!r}; a gear couples revolute, prismatic and helical joints")
            found.append(i)
        world = (0, Pose())
        rows = (Row(-1, "ratio"),)
        self.closures.append(closures.Closure(name, closures.GEAR, world, world, rows, (found[0], found[1]), (ratio, offset)))

    def add_function(self, name: str, joint_names: tuple[str, ...], compile_function: Callable[[int], Any]) -> None:
        """h(q, t) = 0; `compile_function(number of coordinates)` gives the compiled function."""
        arguments: list[tuple[int, int]] = []
        for joint_name in joint_names:
            joint, i = self._find_joint(joint_name, name)
            if joint.has_quaternion or joint.charts > 1:
                raise MechanismError(
                    f"{name}: joint {joint_name!r} is {joint!r}, whose coordinates are no plain numbers; constrain frames instead"
                )
            arguments.extend((self._first_q[i] + j, self._first_v[i] + j) for j in range(joint.nv))
        world = (0, Pose())
        function = compile_function(len(arguments))
        self.closures.append(
            closures.Closure(name, closures.COORDINATES, world, world, (Row(-1, ""),), function=function, arguments=tuple(arguments))
        )

    def add_skate(self, name: str, frame: str, direction: NDArray[np.float64]) -> None:
        i, pose = self._find_moving(frame, name)
        rows = (Row(-1, "sideways", w=tuple(direction.tolist())),)
        self.closures.append(closures.Closure(name, closures.SKATE, (0, Pose()), (i, pose), rows))

    def add_rolling(self, name: str, frame: str, radius: float, axis, normal, height: float) -> None:
        i, pose = self._find_moving(frame, name)
        first = frame_with_z(normal)
        labels = ("height", "slip along", "slip across")
        rows = tuple(Row(-1, label, tuple(u.tolist()), tuple(axis.tolist())) for label, u in zip(labels, first.T[[2, 0, 1]], strict=True))
        self.closures.append(closures.Closure(name, closures.ROLLING, (0, Pose()), (i, pose), rows, numbers=(radius, height)))

    def _find_joint(self, name: str, where: str) -> tuple[Joint, int]:
        if not isinstance(name, str) or name not in self._joints:
            raise MechanismError(f"{where}: joint {name!r} does not exist or is fixed; joints are {listed(self._joints)}")
        return self._joints[name]

    def _find(self, name: str, where: str) -> tuple[int, Pose]:
        if not isinstance(name, str) or name not in self._place:
            raise MechanismError(f"{where}: {name!r} is neither a body nor a frame; give one of {listed(self._place)}")
        return self._place[name]

    def _find_moving(self, name: str, where: str) -> tuple[int, Pose]:
        i, pose = self._find(name, where)
        if i == 0:
            raise MechanismError(f"{where}: {name!r} is fixed to the world; give a frame on a body that moves")
        return i, pose


class LoadBuilder:
    """Collects what forces add to a model.  `Force.apply` calls these methods."""

    def __init__(self, moving, row, place, nq: int, nv: int):
        self._joints = {}
        self._place = place
        qi = vi = 0
        self.rest = np.zeros(nq)
        for b in moving:
            self._joints[b.joint_name] = (b.joint, qi, vi)
            self.rest[qi : qi + b.joint.nq] = b.joint.neutral()
            qi, vi = qi + b.joint.nq, vi + b.joint.nv
        self._neutral = self.rest.copy()
        self.stiffness = np.zeros(nv)
        self.damping = np.zeros(nv)
        self.wrench_on: list[tuple[int, int]] = []
        self.wrench: list[NDArray[np.float64]] = []
        self.custom: list = []
        self.pairs: list[tuple[int, int, NDArray[np.float64], PotentialExpression | None]] = []  # row a, row b, numbers, energy
        self.energies: list[tuple[list[tuple[int, int]], PotentialExpression]] = []  # (entries of q and of v), energy

    def add_spring(self, joint_name: str, stiffness: ArrayLike, rest: ArrayLike | None) -> None:
        joint, qi, vi = self._find_joint(joint_name, "Spring")
        _refuse_charts(joint, joint_name, "Spring")
        what = f"Spring on joint {joint_name!r}: stiffness"
        if isinstance(joint, (Spherical, Free)):
            groups = np.atleast_1d(_non_negative(stiffness, what))
            if groups.shape != (joint.nv // 3,):
                raise MechanismError(f"{what} = {stiffness!r}; a {type(joint).__name__} joint takes {joint.nv // 3} number(s), isotropic")
            values = np.repeat(groups, 3)
        else:
            values = _per_dof(stiffness, joint.nv, what)
        if np.any(self.stiffness[vi : vi + joint.nv] != 0.0):
            raise MechanismError(f"joint {joint_name!r} has two springs; add their stiffnesses and give one")
        self.stiffness[vi : vi + joint.nv] = values
        if rest is not None:
            r = np.atleast_1d(numbers(rest, f"Spring on joint {joint_name!r}: rest", MechanismError))
            if r.shape != (joint.nq,):
                raise MechanismError(f"Spring on joint {joint_name!r}: rest = {rest!r}; it needs {joint.nq} number(s)")
            if isinstance(joint, (Spherical, Free)):
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
        self.damping[vi : vi + joint.nv] += _per_dof(damping, joint.nv, f"Damper on joint {joint_name!r}: damping")

    def add_wrench(self, place_name: str, force, moment, point, frame: str) -> None:
        if not isinstance(place_name, str) or place_name not in self._place:
            known = listed(name for name, (row, _) in self._place.items() if row > 0)
            raise MechanismError(f"Wrench acts on {place_name!r}, which is neither a body nor a frame; give one of {known}")
        i, pose = self._place[place_name]
        if i == 0:
            raise MechanismError(f"Wrench acts on {place_name!r}, which is fixed to the world and cannot move; give a body that moves")
        if frame == "body":
            force, moment = pose.R @ force, pose.R @ moment
        self.wrench_on.append((i, int(L.BODY_FIXED if frame == "body" else L.WORLD_FIXED)))
        self.wrench.append(np.concatenate([force, moment, pose.p + pose.R @ point]))

    def add_point_spring(
        self, name: str, a: str, b: str, stiffness: float, length: float, energy: PotentialExpression | None = None
    ) -> None:
        """A spring between two places: linear, or with an energy of the distance."""
        for place in (a, b):
            if not isinstance(place, str) or place not in self._place:
                raise MechanismError(f"{name}: {place!r} is neither a body nor a frame; give one of {listed(self._place)}")
        (i, pose_a), (j, pose_b) = self._place[a], self._place[b]
        if i == j:
            raise MechanismError(f"{name}: {a!r} and {b!r} belong to the same body and never move apart; give places on two bodies")
        self.pairs.append((i, j, np.array([*pose_a.p, *pose_b.p, stiffness, length]), energy))

    def add_potential(self, name: str, joints: Sequence[str], energy: Callable[[int], PotentialExpression]) -> None:
        """An energy of the coordinates of some joints; `energy` is called with their number."""
        entries: list[tuple[int, int]] = []
        for joint_name in joints:
            joint, qi, vi = self._find_joint(joint_name, name.split(" ")[0])
            if isinstance(joint, (Spherical, Free)):
                raise MechanismError(
                    f"{name}: joint {joint_name!r} is {joint!r}, whose quaternion is no set of coordinates an energy could depend on; "
                    "use springs between points of its body"
                )
            _refuse_charts(joint, joint_name, name)
            entries += [(qi + c, vi + c) for c in range(joint.nv)]
        if len(set(entries)) < len(entries):
            raise MechanismError(f"{name}: a joint is named twice; name each once")
        self.energies.append((entries, energy(len(entries))))

    def potentials(self) -> dict[str, NDArray]:
        """The fields of `Tree` about springs between points and energies of coordinates."""
        generated = [energy for *_, energy in self.pairs] + [energy for _, energy in self.energies]
        values = [energy.values if energy else () for energy in generated]
        parameters = np.zeros((len(generated), max([1, *map(len, values)])))
        for row, given in zip(parameters, values, strict=True):
            row[: len(given)] = given
        first = np.cumsum([0, *(len(entries) for entries, _ in self.energies)])
        return {
            "pair_on": np.array([(i, j, e.address if e else 0) for i, j, _, e in self.pairs], dtype=np.int64).reshape(-1, 3),
            "pair": np.array([given for _, _, given, _ in self.pairs]).reshape(-1, L.PAIR_COLUMNS),
            "energy_on": np.array([*zip((e.address for _, e in self.energies), first, strict=False), (0, first[-1])], dtype=np.int64),
            "energy_at": np.array([entry for entries, _ in self.energies for entry in entries], dtype=np.int64).reshape(-1, 2),
            "energy_param": parameters,
        }

    def add_custom(self, function) -> None:
        from .compiling.call import compile_force

        function = getattr(function, "py_func", function)  # of a function that is compiled already
        what = f"CustomForce {getattr(function, '__name__', function)!r}"
        try:
            self.custom.append(compile_force(function))
        except Exception as error:
            raise MechanismError(f"{what} does not compile with Numba as f(t, q, v, tau): {error}") from error
        self._try_custom(function, what)

    def _try_custom(self, function, what: str) -> None:
        """Compiled code neither checks indices nor looks at what is returned: call the Python function once, with every joint at rest."""
        try:
            with np.errstate(all="ignore"):
                returned = function(np.float64(0.0), self._neutral.copy(), np.zeros(len(self.damping)), np.zeros(len(self.damping)))
        except IndexError as error:
            raise MechanismError(f"{what}: {error}; here q has {len(self._neutral)} entries, v and tau have {len(self.damping)}") from error
        except Exception:
            return  # arithmetic at the zero position, which a simulation need not meet
        if returned is not None:
            raise MechanismError(f"{what} returns {returned!r}, which would be ignored; add to tau instead, as in tau[0] += 1.0")

    def _find_joint(self, name: str, what: str):
        if not isinstance(name, str) or name not in self._joints:
            raise MechanismError(f"{what} on joint {name!r}, which does not exist or is fixed; joints are {listed(self._joints)}")
        return self._joints[name]


def _refuse_charts(joint: Joint, joint_name: str, what: str) -> None:
    if joint.charts > 1:
        raise MechanismError(
            f"{what} on joint {joint_name!r}, which changes between {joint.charts} charts: what acts on coordinates would change "
            "with them; give a Wrench on the body, or a joint with one chart"
        )


def _non_negative(value: ArrayLike, what: str) -> NDArray[np.float64]:
    a = numbers(value, what, MechanismError)
    if np.any(a < 0.0):
        raise MechanismError(f"{what} = {value!r}; it needs numbers >= 0")
    return a


def _per_dof(value: ArrayLike, nv: int, what: str) -> NDArray[np.float64]:
    a = _non_negative(value, what)
    if a.shape not in ((), (nv,)):
        raise MechanismError(f"{what} = {value!r} has shape {a.shape}; it needs one number{f' or {nv} of them' * (nv > 1)}")
    return np.broadcast_to(a, (nv,)).astype(float)


def _check_mass(model: Model) -> None:
    """A joint that moves no inertia has no equation of motion: whole subtrees without mass, and leaves their joint cannot feel.

    What depends on the configuration is found when a step meets it.
    """
    tree = model.tree
    carried = np.abs(tree.body[:, [L.MASS, L.INERTIA, L.INERTIA + 3, L.INERTIA + 5]]).sum(axis=1)
    is_leaf = np.ones(len(carried), dtype=bool)
    is_leaf[tree.link[:, L.PARENT]] = False
    for i in range(len(model.bodies), 0, -1):
        carried[tree.link[i, L.PARENT]] += carried[i]
        body = model.bodies[i - 1]
        if carried[i] == 0.0:
            raise SingularMassError(
                f"joint {body.joint_name!r} moves body {body.name!r}, and neither it nor anything hanging on it has mass or "
                "inertia, so its acceleration is undefined; give it a mass, or fix it to its parent with Fixed()"
            )
        if is_leaf[i]:
            columns = body.joint.columns_at_zero()
            felt = np.linalg.eigvalsh(columns @ _spatial_inertia(tree.body[i]) @ columns.T)
            if felt[0] < 1e-14 * max(felt[-1], carried[i]):
                raise SingularMassError(
                    f"joint {body.joint_name!r} can move body {body.name!r} without moving any mass (the smallest inertia it feels is "
                    f"{felt[0]:.2g}), so its acceleration is undefined; give the body an inertia about the joint's axis"
                )


def _spatial_inertia(row: NDArray[np.float64]) -> NDArray[np.float64]:
    """(6, 6) about the body origin, angular part first."""
    x, y, z = row[L.MOMENT : L.MOMENT + 3]
    inertia = np.zeros((3, 3))
    inertia[np.triu_indices(3)] = row[L.INERTIA : L.INERTIA + 6]
    inertia += np.triu(inertia, 1).T
    hat = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.block([[inertia, hat], [-hat, row[L.MASS] * np.eye(3)]])
