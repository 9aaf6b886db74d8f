"""Model: a compiled mechanism.  Immutable; any number of simulations can share it."""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import listed, number, numbers, same, shown, yes_or_no
from .compiling.records import allocate
from .constraints.base import ON_VELOCITIES, Closure
from .errors import StateError
from .joints import SymbolicJoint
from .joints.base import ABOUT_Z
from .kernels.tree.layout import GRAVITY, LAW_BASE, QI, UP, VI, Actuation, Charts, Middle, Tree, Work, make_middle, make_work
from .limits import Limit
from .mechanism import Body, Mechanism, in_words
from .motors import Motor, Servo, aims, torques
from .pose import Pose
from .shapes import PlacedShape

if TYPE_CHECKING:
    from .assembly.equilibrium import Modes
    from .specialise import Specialised
    from .state import State

Coordinates = ArrayLike | Mapping[str, ArrayLike] | None


@dataclass(frozen=True)
class Part:
    """A body or frame as it was described, for pictures."""

    name: str
    parent: str
    base: tuple[int, Pose]  #: kernel row of the parent, pose there with zero joint coordinates
    place: tuple[int, Pose]  #: its own kernel row, pose there
    mass: float = 0.0  #: kg
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)  #: in its own frame, m


@dataclass(frozen=True, repr=False, eq=False)
class Model:
    """Arrays of a mechanism, in tree order.  Made by `Mechanism.compile()`.

    Models are equal if the same motions follow from them.  A model is pickled as its description and compiled again where it arrives, with
    machine code from the cache there; one that arrives again, or comes back, is the same object.

    >>> import leastaction as la
    >>> model = la.examples.double_pendulum().compile()
    >>> model.nq, model.nv, model.joint_names
    (2, 2, ('upper', 'lower'))
    """

    name: str
    tree: Tree  #: what the kernels read, each field described in leastaction.kernels.tree.layout
    bodies: tuple[Body, ...]  #: the moving bodies, parents first; row i of the kernels is bodies[i - 1]
    nq: int  #: number of coordinates
    nv: int  #: number of degrees of freedom
    frames: Mapping[str, tuple[int, Pose]]  #: name of body or frame -> kernel row, pose in that row's frame
    fixed_potential: float  #: potential energy of bodies fixed to the world, J
    keep_alive: tuple[Any, ...] = field(default=())  #: compiled user forces
    closures: tuple[Closure, ...] = ()  #: constraints besides the joints of the tree
    parts: tuple[Part, ...] = ()  #: all bodies and frames of the description, also those merged into others
    shapes: tuple[PlacedShape, ...] = ()  #: looks of bodies and frames, see `Mechanism.add_shape`
    limits: tuple[Limit, ...] = ()  #: how far joints go, in the order of the joints; see `Mechanism.add_limit`
    motors: tuple[Motor, ...] = ()  #: in the order of the inputs of `torques`; see `Mechanism.add_motor`
    servos: tuple[Servo, ...] = ()  #: in the order of targets; see `Mechanism.add_servo`
    notes: tuple[str, ...] = ()  #: what was changed or left out of what was given, see `Mechanism.notes`
    law_energies: tuple[bool, ...] = ()  #: which laws on bodies have an energy
    law_losses: tuple[bool, ...] = ()  #: which of them turn what they take into heat
    specialised: Specialised | None = field(default=None)  #: code made for this mechanism alone; see `specialise`
    slack: float = 0.0  #: by how much constraints may contradict each other, see `Mechanism.slack`
    description: Mechanism | None = field(default=None)  #: what it was compiled from, as it was then

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        return tuple(b.name for b in self.bodies)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(b.joint_name for b in self.bodies)

    @property
    def gravity(self) -> NDArray[np.float64]:
        return self.tree.gravity

    @property
    def coordinate_names(self) -> list[str]:
        """One name per entry of q, for plots and messages."""
        return [_entry_name(b, c) for b in self.bodies for c in b.joint.coordinates]

    @cached_property
    def has_symbolic_joints(self) -> bool:
        return any(isinstance(b.joint, SymbolicJoint) for b in self.bodies)

    @property
    def joints_with_dry_friction(self) -> tuple[str, ...]:
        return tuple(name for name in self.joint_names if self.tree.friction[self.v_slice(name)].any()) if self.tree.has_friction else ()

    @property
    def is_actuated(self) -> bool:
        """Are there servos or dry friction: forces that are taken at the end of a step?"""
        return bool(self.servos or self.tree.has_friction)

    @property
    def calls_user_functions(self) -> bool:
        """Are there forces written as functions: CustomForce, laws on bodies?"""
        return bool(len(self.tree.custom) or len(self.tree.law_on))

    def q_slice(self, joint_name: str) -> slice:
        """Where the coordinates of a joint stand in q."""
        i = self._joint_row(joint_name)
        start = int(self.tree.link[i, QI])
        return slice(start, start + self.bodies[i - 1].joint.nq)

    def v_slice(self, joint_name: str) -> slice:
        """Where the velocities of a joint stand in v, p and tau."""
        i = self._joint_row(joint_name)
        start = int(self.tree.link[i, VI])
        return slice(start, start + self.bodies[i - 1].joint.nv)

    def neutral(self) -> NDArray[np.float64]:
        """Coordinates with every joint in its zero position."""
        return np.concatenate([b.joint.neutral() for b in self.bodies])

    def coordinates(self, q: Coordinates = None) -> NDArray[np.float64]:
        """q as a checked array: from an array, from {joint: values}, or neutral."""
        return self._fill(q, self.neutral(), self.q_slice, "q", quaternions=True)

    def velocities(self, v: Coordinates = None, what: str = "v") -> NDArray[np.float64]:
        """v (or tau, p) as a checked array: from an array, from {joint: values}, or zero."""
        return self._fill(v, np.zeros(self.nv), self.v_slice, what, quaternions=False)

    def state(self, q: Coordinates = None, v: Coordinates = None, *, p: Coordinates = None, t: float = 0.0) -> State:
        """State at time t.  Arrays or {joint: values}; joints left out are neutral and at rest.  Give v or p."""
        from .state import make_state

        return make_state(self, q, v, p, t)

    def assemble(self, q: Coordinates = None, hold: Sequence[str] = (), *, t: float = 0.0, verbose: bool = False) -> NDArray[np.float64]:
        """Coordinates near q that satisfy the constraints (at time t); joints named in `hold` keep their values.

        verbose   print which joints moved, and from where to where
        """
        from .assembly import closing

        guess = self.coordinates(q)
        found = closing.assemble(self, guess, _names(hold), number(t, "t", StateError))
        if yes_or_no(verbose, "verbose"):
            print(closing.report_moves(self, guess, found))
        return found

    def project_velocity(self, q: Coordinates, v: Coordinates, *, t: float = 0.0) -> NDArray[np.float64]:
        """The velocities the constraints allow at q that are closest to v, measured by the kinetic energy of the difference."""
        from .assembly import closing

        return closing.project_velocity(self, self.coordinates(q), self.velocities(v), number(t, "t", StateError))

    def torques(self, u: ArrayLike | Mapping[str, float]) -> NDArray[np.float64]:
        """Joint forces (nv,) of the inputs u of the motors: an array in the order of `motors`, or {name: input}, others zero.

        Of a series of inputs, one row per step, a series of joint forces.
        """
        rows = [{self.v_slice(joint).start: share for joint, share in motor.shares.items()} for motor in self.motors]
        return torques(self.motors, rows, self.nv, u)

    @property
    def inputs_per_step(self) -> int:
        """Entries of a row of inputs: nv joint forces, and two targets for every servo."""
        return self.nv + 2 * len(self.servos)

    def inputs(self, tau: Coordinates = None, targets: Coordinates = None) -> NDArray[np.float64]:
        """A row of inputs: joint forces (nv), then the targets of the servos (coordinates of all, then velocities of all).

        tau       joint forces (nv,) or {joint: values}, zero if left out; or a row of inputs, which is returned as it is
        targets   (n,) coordinates of the n servos, (2 n,) with velocities behind them, or {servo: coordinate or (coordinate, velocity)};
                  those left out are the servo's own

        It is what a control law returns that moves servos, and what `simulate` and `rollout` take as tau.  A model without servos has no
        targets: a row of inputs is the joint forces.

        >>> import leastaction as la
        >>> mech = la.examples.chain(2)
        >>> _ = mech.add_servo(la.Servo("link2", kp=100.0))
        >>> mech.compile().inputs([0.5, 0.0], {"link2": 0.3})
        array([0.5, 0. , 0.3, 0. ])
        """
        if not self.servos and targets is None:
            return self.velocities(tau, "tau")
        if targets is None and not isinstance(tau, Mapping) and np.shape(tau) == (self.inputs_per_step,):  # type: ignore[arg-type]
            return numbers(tau, "tau", StateError)  # type: ignore[arg-type]
        row = aims(self.servos, targets)
        if row.ndim != 1:
            raise StateError(f"targets has shape {row.shape}; of one step it needs one row")
        return np.concatenate([self.velocities(tau, "tau"), row])

    def equilibrium(
        self, q: Coordinates = None, hold: Sequence[str] = (), *, tau: Coordinates = None, t: float = 0.0
    ) -> NDArray[np.float64]:
        """Coordinates near q at which the mechanism stays at rest under all its forces, joint forces tau and constraints.

        From a general q it goes where the potential falls, so what it finds is stable; a q that is an equilibrium already is returned
        as it is.  Joints named in `hold` keep their values.

        >>> import leastaction as la
        >>> la.examples.double_pendulum().compile().equilibrium({"upper": 1.0}).round(9) + 0.0
        array([0., 0.])
        """
        from .assembly import equilibrium

        return equilibrium.equilibrium(self, self.coordinates(q), _names(hold), self.inputs(tau), number(t, "t", StateError))

    def modes(self, q: Coordinates = None, hold: Sequence[str] = (), *, tau: Coordinates = None, t: float = 0.0) -> Modes:
        """Small undamped vibrations about the equilibrium q: angular frequencies and shapes.  docs/kinematics.md

        >>> import leastaction as la
        >>> la.examples.double_pendulum().compile().modes()
        <Modes: 2, 0.3815, 0.9211 Hz, stable>
        """
        from .assembly import equilibrium

        return equilibrium.modes(self, self.coordinates(q), _names(hold), self.inputs(tau), number(t, "t", StateError))

    def specialise(self) -> Model:
        """The same model with code of its own, in which all constants of the mechanism are folded.

        Used by `la.dynamics.forward` and by `la.Variational()` with the trapezoidal quadrature and the Newton solver, for both
        retractions; everything else runs the general kernels.  The code is generated and compiled when it is first needed,
        which takes some seconds, and kept on disk.  docs/specialise.md says when that pays.

        >>> import leastaction as la
        >>> la.examples.chain(2).compile().specialise()
        <Model '2-link chain': 2 moving bodies, nq=2, nv=2, specialised>
        """
        from .specialise import Specialised

        return replace(self, specialised=Specialised(self.tree, self.make_work()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return self is other or same(self._compared(), other._compared())

    def _compared(self) -> tuple[Any, ...]:
        return (
            self.name, self.body_names, self.joint_names, self.tree, self.frames, self.fixed_potential, self.closures, self.parts,
            self.notes, self.motors, self.servos, self.slack, self.specialised is None,
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.name, self.nq, self.nv, self.joint_names))

    def __reduce__(self) -> tuple[Any, ...]:
        if self.description is None:
            raise StateError(f"{self!r} was not made by Mechanism.compile() and cannot be pickled; pickle what it was made from")
        if "_pickled" not in self.__dict__:
            content = pickle.dumps((self.description, self.specialised is not None))
            object.__setattr__(self, "_pickled", content)
            _remember(content, self)
        return _arrive, (self.__dict__["_pickled"],)

    def __copy__(self) -> Model:
        return self  # nothing about it can change

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self

    def make_work(self, *needs: type) -> Work:
        """Memory of a simulation of its own.

        needs: which of the records Actuation and Charts the kernels use; a model has all of them or, if it is plain, none
        """
        work = copied(self._first_work)
        if self.is_plain:
            return work
        if Actuation in needs:
            work = work._replace(actuation=allocate(Actuation, {"nv": self.nv, "servos": len(self.servos)}))
        if Charts in needs:
            work = work._replace(charts=allocate(Charts, {}))
        return work

    @cached_property
    def is_plain(self) -> bool:
        """Has it none of what few mechanisms have: servos, dry friction, joints with two charts, constraints on velocities?

        Kernels are compiled twice, for models that have none of it and for the others; not once for every combination.
        """
        return not (self.is_actuated or self.tree.has_charts or any(closure.kind in ON_VELOCITIES for closure in self.closures))

    @cached_property
    def _first_work(self) -> Work:
        """What every simulation begins with; nobody writes to it."""
        most = int(np.diff(self.tree.energy_on[:, UP]).max(initial=1))
        between = int((self.tree.law_on[:, LAW_BASE] >= 0).sum())
        work = make_work(len(self.bodies), self.nq, self.nv, most, len(self.tree.law_on), between)
        work.row[0, GRAVITY : GRAVITY + 3] = self.gravity
        for i, body in enumerate(self.bodies, start=1):
            if body.joint.turns == ABOUT_Z:  # constant, so no kernel writes it
                work.S0[self.tree.link[i, VI], 2] = work.S1[self.tree.link[i, VI], 2] = 1.0
        return work

    def make_middle(self) -> Middle:
        rows = 3 * len(self.tree.pair_on) + len(self.tree.energy_at)
        return make_middle(len(self.bodies), self.nq, self.nv, self.gravity, rows)

    def _repr_html_(self) -> str:
        from .page import tables

        return tables.of_model(self)

    def __repr__(self) -> str:
        specialised = ", specialised" if self.specialised else ""
        return f"<Model {self.name!r}: {len(self.bodies)} moving bodies, nq={self.nq}, nv={self.nv}{specialised}{in_words(self.notes)}>"

    def _joint_row(self, joint_name: str) -> int:
        if not isinstance(joint_name, str) or joint_name not in self.joint_names:
            raise StateError(f"there is no joint {shown(joint_name)} that moves; joints are {listed(self.joint_names)}")
        return self.joint_names.index(joint_name) + 1

    def _fill(self, value: Coordinates, base, where, what: str, quaternions: bool) -> NDArray[np.float64]:
        if value is None:
            return base
        if isinstance(value, Mapping):
            for joint, values in value.items():
                part = base[where(joint)]
                given = numbers(values, f"{what}[{joint!r}]", StateError)
                if given.shape not in ((), part.shape) or (given.shape == () and part.size != 1):
                    raise StateError(f"{what}[{joint!r}] = {shown(values)} has shape {given.shape}; this joint needs {part.size} number(s)")
                part[:] = given
            result = base
        else:
            result = numbers(value, what, StateError, finite=False)
            if result.ndim == 0 and base.size == 1:
                result = result.reshape(1)
            if result.shape != base.shape:
                entry = "coordinate" if quaternions else "degree of freedom"
                raise StateError(f"{what} has shape {result.shape}; this model needs {base.shape}, one entry per {entry}")
        if not np.all(np.isfinite(result)):
            j = int(np.flatnonzero(~np.isfinite(result))[0])
            raise StateError(f"{what}[{j}] = {result[j]} is not finite")
        if quaternions:
            self.normalise_quaternions(result[None])
        return result

    def normalise_quaternions(self, rows: NDArray[np.float64], name: str = "") -> None:
        """Make quaternions in rows of coordinates exactly as long as 1; an error if one is not nearly so.  name: of a row, in errors."""
        for body in self.bodies:
            if body.joint.has_quaternion:
                for k, part in enumerate(rows[:, self.q_slice(body.joint_name)][:, -4:]):
                    length = float(np.linalg.norm(part))
                    if abs(length - 1.0) > 1e-6:
                        where = f"{name} {k}: " if name else ""
                        raise StateError(
                            f"{where}q of joint {body.joint_name!r}: quaternion (w, x, y, z) = {part} has length {length:.6g}, not 1"
                        )
                    part /= length


def _names(hold: Any) -> tuple[str, ...]:
    return (hold,) if isinstance(hold, str) or not isinstance(hold, Iterable) else tuple(hold)


def checked_model(value: Any) -> Model:
    """The model, or an error for whatever else was given in its place."""
    if isinstance(value, Model):
        return value
    hint = "; call .compile() on the mechanism first" if hasattr(value, "compile") else ""
    raise StateError(f"expected a compiled Model, got {type(value).__name__}{hint}")


def copied(record: Any) -> Any:
    """A record of arrays and records, with arrays of its own."""
    return None if record is None else record._make([v.copy() if type(v) is np.ndarray else copied(v) for v in record])


_P = ParamSpec("_P")
_R = TypeVar("_R")


def takes_model(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """For public functions whose first argument is a model: whatever else is given is an error that says so."""

    @functools.wraps(function)
    def checked(*arguments: _P.args, **options: _P.kwargs) -> _R:
        if arguments and not isinstance(arguments[0], Model) or "model" in options:
            checked_model(arguments[0] if arguments else options["model"])
        return function(*arguments, **options)

    return checked


_here: WeakValueDictionary[bytes, Model] = WeakValueDictionary()  # models that were pickled or have arrived, by what was pickled
_latest: deque[Model] = deque(maxlen=16)  # kept, so that a hundred roll-outs in a pool compile their model once


def _remember(content: bytes, model: Model) -> Model:
    _latest.append(model)
    return _here.setdefault(hashlib.sha256(content).digest(), model)


def _arrive(content: bytes) -> Model:
    """The model that was pickled."""
    found = _here.get(hashlib.sha256(content).digest())
    if found is not None:
        return found
    description, specialised = pickle.loads(content)
    model = description.compile()
    model = model.specialise() if specialised else model
    object.__setattr__(model, "_pickled", content)
    return _remember(content, model)


def _entry_name(body: Body, coordinate: str) -> str:
    return body.joint_name if body.joint.nq == 1 else f"{body.joint_name}.{coordinate}"
