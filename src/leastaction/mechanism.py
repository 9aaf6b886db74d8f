"""Mechanism: bodies, joints, frames and forces with names and numbers as the user wrote them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import name as checked_name
from .checks import number, numbers, same, shown
from .constraints.base import Constraint
from .errors import MechanismError
from .forces.base import Force
from .joints import Joint
from .limits import Limit
from .motors import Motor, Servo
from .pose import Pose
from .shapes import VISUAL, PlacedShape, Shape, place

if TYPE_CHECKING:
    from .model import Model

WORLD = "world"
LARGEST_SLACK = 1e-2  # rad


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body and the joint that holds it to its parent."""

    name: str
    parent: str
    joint: Joint
    joint_name: str
    placement: Pose  #: joint frame at zero coordinates in the parent's frame
    mass: float  #: kg
    com: NDArray[np.float64]  #: centre of mass in the body frame, m
    inertia: NDArray[np.float64]  #: 3x3, about the centre of mass, body axes, kg m^2
    armature: NDArray[np.float64]  #: (nv of the joint,) inertia of rotors geared to its coordinates, kg m^2 or kg

    def __eq__(self, other: object) -> bool:
        return same(vars(self), vars(other)) if isinstance(other, Body) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, self.parent, self.joint_name, self.mass))


@dataclass(frozen=True)
class Frame:
    """A named place on a body."""

    name: str
    parent: str
    placement: Pose


class Mechanism:
    """A tree of bodies, and constraints that close loops in it.  Describe it in any order, then `compile()` it.

    >>> import leastaction as la
    >>> mech = la.Mechanism(gravity=(0, 0, -9.81))
    >>> _ = mech.add_body("rod", joint=la.Revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(1/12, 1/12, 0.01))
    >>> mech.compile().nv
    1
    """

    def __init__(self, gravity: ArrayLike = (0.0, 0.0, -9.81), name: str = "mechanism", slack: float = 1e-5):
        self.name = checked_name(name, "name of the mechanism")
        self.gravity = gravity
        self.slack = slack
        self.bodies: dict[str, Body] = {}
        self.frames: dict[str, Frame] = {}
        self.forces: list[Force] = []
        self.constraints: list[Constraint] = []
        self.shapes: list[PlacedShape] = []
        self.limits: dict[str, Limit] = {}  # by joint name
        self.motors: list[Motor] = []
        self.servos: list[Servo] = []
        self.keyframes: dict[str, dict[str, Any]] = {}  # name -> arguments of `Model.state`
        self._notes: list[str] = []
        self._moved_by: dict[str, str] = {}  # joint name -> body name

    @property
    def gravity(self) -> NDArray[np.float64]:
        """(3,) in world axes, m/s^2."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self._gravity = numbers(value, "gravity", MechanismError, (3,))

    @property
    def slack(self) -> float:
        """By how much constraints may contradict each other, rad, lengths over the size of the mechanism: rows that follow from others up
        to it are left out and named in `run.redundant`, as those of loops in files with six digits.  0: none are.  docs/constraints.md"""
        return self._slack

    @slack.setter
    def slack(self, value: float) -> None:
        self._slack = number(value, "slack", MechanismError)
        if not 0.0 <= self._slack <= LARGEST_SLACK:
            raise MechanismError(
                f"slack = {shown(value)}; it needs a number from 0 to {LARGEST_SLACK:g} rad: loops that are further from closing are "
                "described wrongly"
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed or left out of what was given, one sentence each: inertias that were rounded, parts of files that were
        ignored.  Empty if everything was taken as it was written."""
        return tuple(self._notes)

    def note(self, sentence: str) -> None:
        """Add a sentence to `notes`."""
        if sentence not in self._notes:
            self._notes.append(sentence)

    def add_body(
        self,
        name: str,
        parent: str = WORLD,
        joint: Joint | None = None,
        placement: Pose | None = None,
        *,
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
        armature: ArrayLike = 0.0,
        joint_name: str | None = None,
        unphysical: bool = False,
    ) -> Body:
        """Add a body.

        parent      name of the body it hangs on, which may be added later; "world" is the ground
        joint       how it moves against the parent, for example Revolute(axis=(0, 1, 0)); axes in the body frame
        placement   pose of the joint in the parent's frame when the joint coordinates are zero
        mass, com, inertia   kg; m, in the body frame; kg m^2 about the com, 3 principal numbers or 3x3, body axes
        armature    inertia that the rotor of a motor adds to the joint: gear ratio squared times its moment of inertia, kg m^2 (kg if the
                    joint slides); one number, or one per degree of freedom.  Each has the kinetic energy armature * v**2 / 2
        joint_name  name of the joint if it differs from the body's
        unphysical  take an inertia that no body can have as it is written, with a note: many robot files contain such ones
        """
        self._check_new_name(name, "body")
        where = f"body {name!r}"
        if joint is None or isinstance(joint, type) or not isinstance(joint, Joint):
            raise MechanismError(f"{where}: joint = {shown(joint)} is not a joint; give for example joint=Revolute(axis=(0, 0, 1))")
        if placement is not None and not isinstance(placement, Pose):
            raise MechanismError(f"{where}: placement = {shown(placement)} is not a Pose; give for example Pose(xyz=(0, 0, 1))")
        joint_name = name if joint_name is None else checked_name(joint_name, f"{where}: joint_name")
        if joint_name in self._moved_by:
            raise MechanismError(f"{where}: the joint name {joint_name!r} is already used by body {self._moved_by[joint_name]!r}")
        moments, changed = _inertia(inertia, where, unphysical)
        body = Body(
            name=name,
            parent=checked_name(parent, f"{where}: parent"),
            joint=joint,
            joint_name=joint_name,
            placement=placement or Pose(),
            mass=_mass(mass, where),
            com=numbers(com, f"{where}: com", MechanismError, (3,)),
            inertia=moments,
            armature=_armature(armature, joint, f"{where}: armature"),
        )
        if changed:
            self.note(changed)
        self.bodies[name] = body
        self._moved_by[joint_name] = name
        return body

    def add_frame(self, name: str, parent: str = WORLD, placement: Pose | None = None) -> Frame:
        """Name a place on a body (or on the world)."""
        self._check_new_name(name, "frame")
        if placement is not None and not isinstance(placement, Pose):
            raise MechanismError(f"frame {name!r}: placement = {shown(placement)} is not a Pose; give for example Pose(xyz=(0, 0, 1))")
        frame = Frame(name, checked_name(parent, f"frame {name!r}: parent"), placement or Pose())
        self.frames[name] = frame
        return frame

    def add_force(self, force: Force) -> Force:
        """Add a spring, damper, wrench, drag or user force."""
        if not isinstance(force, Force):
            raise MechanismError(f"add_force got {shown(force)}; give a Spring, Damper, Wrench, Drag or CustomForce")
        if type(force).apply is Force.apply:
            raise MechanismError(f"add_force got {shown(force)}, which does not say what it does; write a method apply(self, builder)")
        self.forces.append(force)
        return force

    def add_constraint(self, constraint: Constraint, name: str | None = None) -> Constraint:
        """Close a loop (Close, Coincident, Distance, PointOnPlane, Screw), couple joints (Gear, Cam, SymbolicConstraint), drive one
        (Prescribed) or restrict velocities (Skate, Rolling).

        name   what it is called in messages and in `run.reactions`; by default its kind and what it connects: "Coincident('tip', 'anchor')"
        """
        if not isinstance(constraint, Constraint) or isinstance(constraint, type):
            raise MechanismError(f"add_constraint got {shown(constraint)}; give for example Coincident('tip', 'anchor')")
        if name is not None:
            if checked_name(name, "constraint name") in [c.name for c in self.constraints]:
                raise MechanismError(f"the constraint name {name!r} is already taken; names of constraints are unique")
            constraint = copy.copy(constraint)  # the one given may serve elsewhere under another name
            constraint.name = name
        self.constraints.append(constraint)
        return constraint

    def add_shape(
        self, body: str, shape: Shape, placement: Pose | None = None, *, color: Sequence[float] | None = None, role: str = VISUAL
    ) -> PlacedShape:
        """Give a body (a frame, the world) a look: Box, Sphere, Cylinder, Capsule or Mesh.  It has no mass.

        color   red, green, blue and optionally opacity, each 0 to 1
        role    "visual": drawn; "collision": what could touch, kept but not simulated
        """
        placed = place(checked_name(body, "shape: body"), shape, placement, color, role)
        self.shapes.append(placed)
        return placed

    def add_limit(
        self, joint: str, lower: float = -np.inf, upper: float = np.inf, *, velocity: float = np.inf, effort: float = np.inf
    ) -> Limit:
        """Say how far a joint with one coordinate goes (rad or m).  A run stops where it goes further, unless told to ignore limits.

        velocity, effort   largest speed and largest joint force; kept in `model.limits`, runs do not look at them
        """
        limit = Limit(joint, lower, upper, velocity, effort)
        if joint in self.limits:
            raise MechanismError(f"joint {joint!r} has limits already, {self.limits[joint]!r}; give them once")
        self.limits[joint] = limit
        return limit

    def add_motor(self, motor: Motor) -> Motor:
        """Put a motor on a joint; its inputs become joint forces by `model.torques(u)`."""
        if not isinstance(motor, Motor):
            raise MechanismError(f"add_motor got {shown(motor)}; give for example Motor('elbow', gear=100, limit=0.5)")
        if motor.name in [known.name for known in self.motors]:
            raise MechanismError(f"the motor name {motor.name!r} is already taken; give another one: Motor(..., name=...)")
        self.motors.append(motor)
        return motor

    def add_servo(self, servo: Servo) -> Servo:
        """Put a servo on a joint: it holds the joint at its target, which a run can move; see `simulate(targets=...)`."""
        if not isinstance(servo, Servo):
            raise MechanismError(f"add_servo got {shown(servo)}; give for example Servo('elbow', kp=1e3, kd=50.0, limit=80.0)")
        if servo.name in [known.name for known in self.servos]:
            raise MechanismError(f"the servo name {servo.name!r} is already taken; give another one: Servo(..., name=...)")
        self.servos.append(servo)
        return servo

    @property
    def joint_names(self) -> list[str]:
        return [b.joint_name for b in self.bodies.values()]

    def compile(self) -> Model:
        """Check everything and turn names into arrays."""
        from .compiler import compile_mechanism

        return compile_mechanism(self)

    def snapshot(self) -> Mechanism:
        """A copy that later changes of this description do not reach."""
        new = copy.copy(self)
        new._gravity = self._gravity.copy()
        new.bodies, new.frames, new._moved_by = dict(self.bodies), dict(self.frames), dict(self._moved_by)
        new._notes, new.shapes, new.limits = list(self._notes), list(self.shapes), dict(self.limits)
        new.keyframes, new.motors, new.servos = dict(self.keyframes), list(self.motors), list(self.servos)
        new.forces = [_copied(force) for force in self.forces]
        new.constraints = [_copied(constraint) for constraint in self.constraints]
        return new

    def save(self, path: str | PathLike[str]) -> None:
        """Write the description to a file; the suffix says the format (.urdf, .xml, .sexp)."""
        from .io import save

        save(self, path)

    def _repr_html_(self) -> str:
        from .page import tables

        return tables.of_mechanism(self)

    def __repr__(self) -> str:
        dofs = sum(b.joint.nv for b in self.bodies.values())
        return f"<Mechanism {self.name!r}: {len(self.bodies)} bodies, {dofs} degrees of freedom{in_words(self.notes)}>"

    def _check_new_name(self, name: str, what: str) -> None:
        checked_name(name, f"{what} name")
        if name == WORLD:
            raise MechanismError(f"{what} name {WORLD!r} is reserved for the ground; choose another")
        if name in self.bodies or name in self.frames:
            raise MechanismError(f"{what} name {name!r} is already taken; names of bodies and frames are unique")


_T = TypeVar("_T")


def _copied(thing: _T) -> _T:
    """A copy of a force or constraint with arrays and lists of its own; functions are shared."""
    new = copy.copy(thing)
    for key, value in vars(new).items():
        if isinstance(value, (np.ndarray, list, dict)):
            setattr(new, key, value.copy())
    return new


def _mass(value: float, where: str) -> float:
    mass = number(value, f"{where}: mass", MechanismError)
    if mass < 0.0:
        raise MechanismError(f"{where}: mass = {shown(value)} kg; it needs a finite number >= 0 (0 for a massless frame)")
    return mass


def _armature(value: ArrayLike, joint: Joint, what: str) -> NDArray[np.float64]:
    given = numbers(value, what, MechanismError)
    if np.any(given < 0.0):
        raise MechanismError(f"{what} = {shown(value)}; it needs numbers >= 0")
    if np.any(given != 0.0):
        if joint.nv == 0:
            raise MechanismError(f"{what} = {shown(value)}, but {joint!r} does not move, and no rotor with it; leave it out")
        if joint.has_quaternion or joint.charts > 1:
            raise MechanismError(
                f"{what} = {shown(value)} of {joint!r}; a rotor turns with a coordinate of its joint, and these velocities are no rates: "
                "give a joint with plain coordinates, such as Revolute, Universal or Planar, or add the rotor to the inertia of the body"
            )
    return joint.per_freedom(given, what)


def in_words(notes: tuple[str, ...]) -> str:
    """For a repr: that there are notes, so that nobody has to look for them in vain."""
    return f", {len(notes)} note{'s' * (len(notes) > 1)} (see .notes)" if notes else ""


_LARGEST = 1e100  # kg m^2: squares of it are still numbers
PRINTED = 1e-6  # of the largest moment: what is lost when an inertia is written to a file with six digits
_ROUNDING = 1e-15  # of the largest moment: what arithmetic cannot tell from zero


def _inertia(value: ArrayLike | Sequence[float], where: str, unphysical: bool) -> tuple[NDArray[np.float64], str]:
    """(3, 3) inertia, and a sentence on what was changed or is wrong; empty if nothing is."""
    a = numbers(value, f"{where}: inertia", MechanismError, finite=False, wanted="3 principal moments or a 3x3 matrix")
    if a.shape == (3,):
        a = np.diag(a)
    if a.shape != (3, 3):
        raise MechanismError(f"{where}: inertia has shape {a.shape}; it needs 3 principal moments or a 3x3 matrix, kg m^2 about the com")
    if not np.all(np.isfinite(a)):
        raise MechanismError(f"{where}: inertia = {shown(value)} contains a number that is not finite")
    if np.abs(a).max() > _LARGEST:
        raise MechanismError(f"{where}: inertia = {shown(value)} kg m^2 is more than arithmetic can hold; give moments below {_LARGEST:g}")
    skewness = float(np.abs(a - a.T).max())
    if skewness > 1e-9 * float(np.abs(a).max()):
        raise MechanismError(f"{where}: inertia is not symmetric (largest difference {skewness:.3g}); use (a + a.T)/2 if that is rounding")
    try:
        return _possible(0.5 * (a + a.T), where)
    except MechanismError as error:
        if not unphysical:
            raise
        return 0.5 * (a + a.T), f"{error}; it is taken as it is written"


def _possible(a: NDArray[np.float64], where: str) -> tuple[NDArray[np.float64], str]:
    """An inertia that some body can have, and a sentence on what was changed for that.

    Principal moments are judged relative to the largest of them.  Those that rounding made negative, or left beside zero, become zero.
    """
    moments, axes = np.linalg.eigh(a)
    largest = moments[2]
    if moments[0] < -PRINTED * largest:
        raise MechanismError(
            f"{where}: inertia has the negative principal moment {moments[0]:.3g} kg m^2, which is more than rounding beside the largest, "
            f"{largest:.3g}; all must be >= 0"
        )
    zeroed = (moments != 0.0) & (moments <= _ROUNDING * largest)
    kept = np.where(zeroed, 0.0, moments)
    if kept[0] + kept[1] < largest * (1.0 - PRINTED):
        raise MechanismError(
            f"{where}: principal moments {kept[0]:.4g}, {kept[1]:.4g}, {kept[2]:.4g} kg m^2 belong to no body "
            "(the two smaller must add up to at least the largest); is the inertia about the com, and complete?"
        )
    if not zeroed.any():
        return a, ""
    named = " and ".join(f"{m:.3g}" for m in moments[zeroed])
    changed = f"{where}: the principal moment {named} kg m^2 of its inertia, beside the largest of {largest:.3g}, was taken as zero"
    return (axes * kept) @ axes.T, changed
