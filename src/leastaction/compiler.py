"""Mechanism -> Model: check the description, order the tree, merge rigid parts, turn names into rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from .builders import ConstraintBuilder, LoadBuilder
from .checks import listed
from .compiling.records import allocate
from .constraints import base as closures
from .errors import MechanismError, SingularMassError
from .joints.dispatch import PARAMETERS
from .kernels.tree import layout as L
from .limits import Limit
from .mechanism import PRINTED, WORLD, Body, Frame, Mechanism
from .model import Model, Part
from .motors import Motor, Servo
from .pose import Pose
from .shapes import PlacedShape

if TYPE_CHECKING:
    pass


def compile_mechanism(mechanism: Mechanism) -> Model:
    order = _tree_order(mechanism)
    moving = [b for b in order if b.joint.nv > 0]
    if not moving:
        raise MechanismError(f"mechanism {mechanism.name!r} has nothing that moves; add a body with a joint other than Fixed")
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
        link[i] = parent_row, _kind(b), qi, vi, b.joint.nv, b.joint.charts > 1
        arrays[i, L.PLACE_R : L.PLACE_R + 9] = pose.R.ravel()
        arrays[i, L.PLACE_P : L.PLACE_P + 3] = pose.p
        values = b.joint.parameters()
        param[i, : len(values)] = values
        qi, vi = qi + b.joint.nq, vi + b.joint.nv
    armature = np.concatenate([b.armature for b in moving])
    fixed_potential = 0.0
    for b in order:
        i, pose = place[b.name]
        if i == 0:
            fixed_potential -= b.mass * float(mechanism.gravity @ (pose.p + pose.R @ b.com))
        else:
            _add_inertia(arrays[i], b, pose)

    _check_sizes(mechanism, moving, arrays)
    builder = LoadBuilder(moving, place, qi, vi)
    for force in mechanism.forces:
        force.apply(builder)
    loads, felt = builder.fields(), _felt_inertias(moving, link, arrays, armature)
    for name in ("stiffness", "rest", "damping", "friction", "wrench", "law_param", "pair", "energy_param"):
        if not np.all(np.abs(np.asarray(loads[name], dtype=float)) < LARGEST):
            raise MechanismError(f"a force of {mechanism.name!r} contains a number of {LARGEST:g} or more ({name}); {_TOO_LARGE}")
    sizes = {
        "n": len(moving), "nq": qi, "nv": vi, "parameters": param.shape[1], "wrenches": len(builder.wrench), "customs": len(builder.custom),
        "laws": len(builder.laws), "law_parameters": loads["law_param"].shape[1], "pairs": len(builder.pairs),
        "energies": len(builder.energies), "energy_arguments": sum(len(e) for e, _ in builder.energies),
        "energy_parameters": loads["energy_param"].shape[1], "servos": len(mechanism.servos), "unequal": len(felt),
    }  # fmt: skip
    tree = allocate(
        L.Tree, sizes, link=link, body=arrays, param=param, gravity=mechanism.gravity.copy(), has_charts=int(np.any(link[:, L.CHARTED])),
        has_armature=int(np.any(armature != 0.0)), armature=armature, felt=felt, **loads, **_servo_rows(mechanism, moving),
    )  # fmt: skip
    frames = dict(place)
    model = Model(
        name=mechanism.name, tree=tree, bodies=tuple(moving), nq=qi, nv=vi, frames=frames,
        fixed_potential=fixed_potential, keep_alive=builder.keep_alive(), law_energies=tuple(builder.law_energies),
        law_losses=tuple(builder.law_losses),
        closures=_compile_constraints(mechanism, moving, row, place),
        parts=(*(_part(body, place) for body in order), *(_part(frame, place) for frame in mechanism.frames.values())),
        shapes=_shapes(mechanism, place), limits=_limits(mechanism, moving), notes=mechanism.notes,
        motors=_driving(mechanism.motors, "motor", moving), servos=_driving(mechanism.servos, "servo", moving),
        slack=mechanism.slack, description=mechanism.snapshot(),
    )  # fmt: skip
    _check_inertias(model)
    _check_mass(model)
    return model


def _shapes(mechanism: Mechanism, place: dict[str, tuple[int, Pose]]) -> tuple[PlacedShape, ...]:
    for placed in mechanism.shapes:
        if placed.body not in place:
            raise MechanismError(f"a shape was given to {placed.body!r}, which does not exist; bodies and frames are {listed(place)}")
    return tuple(mechanism.shapes)


def _limits(mechanism: Mechanism, moving: list[Body]) -> tuple[Limit, ...]:
    limited = {b.joint_name: b.joint for b in moving}
    for name in mechanism.limits:
        if name not in limited:
            raise MechanismError(f"limits were given to joint {name!r}, which does not exist or is fixed; joints are {listed(limited)}")
        if limited[name].nq != 1:
            raise MechanismError(f"limits were given to joint {name!r}, which is {limited[name]!r}; joints with one coordinate have them")
    return tuple(mechanism.limits[name] for name in limited if name in mechanism.limits)


_Driving = TypeVar("_Driving", Motor, Servo)


def _driving(drives: list[_Driving], what: str, moving: list[Body]) -> tuple[_Driving, ...]:
    """Motors or servos, each on a joint it can drive."""
    driven = {b.joint_name: b.joint for b in moving}
    for drive in drives:
        for joint in drive.shares:
            if joint not in driven:
                raise MechanismError(f"a {what} is on joint {joint!r}, which does not exist or is fixed; joints are {listed(driven)}")
            if driven[joint].nv != 1:
                raise MechanismError(
                    f"{what} {drive.name!r} is on joint {joint!r}, which is {driven[joint]!r}; {what}s drive joints with one degree of "
                    "freedom"
                )
            if what == "servo" and driven[joint].charts > 1:
                raise MechanismError(f"servo {drive.name!r} is on joint {joint!r}, which changes its coordinates; give it one chart")
    return tuple(drives)


def _servo_rows(mechanism: Mechanism, moving: list[Body]) -> dict[str, list]:
    """The fields of `Tree` about servos."""
    servos = _driving(mechanism.servos, "servo", moving)
    for servo in servos:
        if max(servo.kp, servo.kd) >= LARGEST:
            raise MechanismError(f"servo {servo.name!r} has a gain of {LARGEST:g} or more; {_TOO_LARGE}")
    first = np.cumsum([[0, 0], *([b.joint.nv, b.joint.nq] for b in moving)], axis=0)
    at = {b.joint_name: tuple(first[i].tolist()) for i, b in enumerate(moving)}
    return {"servo_on": [at[servo.joint] for servo in servos], "servo": [(servo.kp, servo.kd, *servo.limit) for servo in servos]}


UNEQUAL = 1e5  # times heavier: from there on every joint is solved to a tolerance of its own
LARGEST = 1e60  # of any number in a description, SI units: products of four of them can still be computed
_TOO_LARGE = "arithmetic cannot hold what follows from it; choose other units, or correct it"


def _check_sizes(mechanism: Mechanism, moving: list[Body], arrays: NDArray[np.float64]) -> None:
    """Numbers so large that their products are infinite would give a mechanism that cannot move."""
    if np.abs(mechanism.gravity).max() >= LARGEST:
        raise MechanismError(f"gravity = {mechanism.gravity.tolist()} m/s^2 has an entry of {LARGEST:g} or more; {_TOO_LARGE}")
    for body, row in zip(moving, arrays[1:], strict=True):
        if not np.all(np.abs(row) < LARGEST):
            raise MechanismError(
                f"body {body.name!r}, with what is fixed to it, has a mass, a distance or an inertia of {LARGEST:g} or more; {_TOO_LARGE}"
            )
        if not np.all(body.armature < LARGEST):
            raise MechanismError(f"body {body.name!r}: armature = {body.armature.tolist()} has {LARGEST:g} or more; {_TOO_LARGE}")


def _kind(body: Body) -> int:
    try:
        return body.joint.kind
    except MechanismError as error:
        raise MechanismError(f"joint {body.joint_name!r}: {error}") from None


def _tree_order(mechanism: Mechanism) -> list[Body]:
    """Bodies with parents before children; unknown parents and cycles are named."""
    things: list[Body | Frame] = [*mechanism.bodies.values(), *mechanism.frames.values()]
    for thing in things:
        if thing.parent != WORLD and thing.parent not in mechanism.bodies and thing.parent not in mechanism.frames:
            known = listed([WORLD, *mechanism.bodies, *mechanism.frames])
            raise MechanismError(f"{thing.name!r} hangs on {thing.parent!r}, which does not exist; bodies and frames are {known}")
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
        if body.joint.nv == 0:
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
        before = len(builder.closures)
        constraint.apply(builder)
        if constraint.name is not None:
            _call(mechanism, constraint.name, builder.closures, before)
    return tuple(builder.closures)


def _call(mechanism: Mechanism, name: str, made: list[closures.Closure], first: int) -> None:
    """Give the closures from the first one on the name of their constraint."""
    if name in (*mechanism.bodies, *mechanism.joint_names):
        raise MechanismError(f"constraint name {name!r} is also the name of a body or joint, hiding its reaction; choose another")
    several = len(made) > first + 1
    for k in range(first, len(made)):
        made[k] = replace(made[k], name=f"{name} {k - first + 1}" if several else name)


def _check_inertias(model: Model) -> None:
    """Single parts may have inertias that no body has; what moves as one must have no negative moment, or its energy could be negative."""
    for i, row in enumerate(model.tree.body[1:], start=1):
        about_origin = _spatial_inertia(row)[:3, :3]
        com = row[L.MOMENT : L.MOMENT + 3] / (row[L.MASS] or 1.0)
        moments = np.linalg.eigvalsh(about_origin - row[L.MASS] * (com @ com * np.eye(3) - np.outer(com, com)))
        if moments[0] < -PRINTED * moments[2] - 1e-14 * np.abs(about_origin).max():
            parts = [part.name for part in model.parts if part.place[0] == i and part.mass > 0.0]
            together = f" (with everything fixed to it: {listed(parts)})" if len(parts) > 1 else ""
            raise MechanismError(
                f"body {model.bodies[i - 1].name!r}{together} has the negative principal moment of inertia {moments[0]:.3g} kg m^2 beside "
                f"the largest of {moments[2]:.3g}, so that its kinetic energy could be negative; correct its inertia"
            )


def _felt_inertias(moving: list[Body], link: NDArray[np.int64], body: NDArray[np.float64], armature: NDArray[np.float64]):
    """(nv,) inertia that each degree of freedom feels in the zero position, the rest of the mechanism free to move; empty unless what some
    joint moves is UNEQUAL times heavier than what another one does.

    These are the pivots of the articulated-body elimination.  Joints change them with their coordinates, by far less than they differ here.
    """
    carried = body[:, L.MASS].copy()
    for i in range(len(moving), 0, -1):
        carried[link[i, L.PARENT]] += carried[i]
    carried = carried[1:][carried[1:] > 0.0]
    if not len(carried) or carried.max() < UNEQUAL * carried.min():
        return np.empty(0)
    A, felt = [_spatial_inertia(row) for row in body], np.ones(len(armature))
    for i in range(len(moving), 0, -1):
        for j, s in enumerate(moving[i - 1].joint.columns_at_zero(), start=int(link[i, L.VI])):
            u = A[i] @ s
            felt[j] = s @ u + armature[j]
            if not felt[j] > 0.0:  # found out elsewhere, or only here: then it has no measure of its own
                return np.empty(0)
            A[i] = A[i] - np.outer(u, u) / felt[j]
        R, (x, y, z) = body[i, L.PLACE_R : L.PLACE_R + 9].reshape(3, 3), body[i, L.PLACE_P : L.PLACE_P + 3]
        hat = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        to_child = np.block([[R.T, np.zeros((3, 3))], [-R.T @ hat, R.T]])
        A[link[i, L.PARENT]] = A[link[i, L.PARENT]] + to_child.T @ A[i] @ to_child
    return felt


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
        if carried[i] == 0.0 and not np.all(body.armature > 0.0):
            raise SingularMassError(
                f"joint {body.joint_name!r} moves body {body.name!r}, and neither it nor anything hanging on it has mass or "
                "inertia, so its acceleration is undefined; give it a mass, or fix it to its parent with Fixed()"
            )
        if is_leaf[i]:
            columns = body.joint.columns_at_zero()
            felt = np.linalg.eigvalsh(columns @ _spatial_inertia(tree.body[i]) @ columns.T + np.diag(body.armature))
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
