"""Motors and servos: from what a controller sends to what a joint feels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import listed, number, numbers, shown
from .checks import name as checked_name
from .errors import MechanismError, StateError


class Motor:
    """A motor with a gear on a joint with one degree of freedom: an input u gives the joint force gear * (u, kept within the limits).

    joint    name of the joint; or {name: share} of several joints that it pulls together, as by a cable: each feels its share of the force
    gear     joint force per unit of the input: turns of the motor per turn of the joint, if the input is its torque
    limit    largest input: one number for both directions, or (lowest, highest)
    name     what it is called in inputs; the name of the joint if left out; one that pulls several joints needs one

    A motor does nothing by itself: `model.torques(u)` gives the joint forces, which `simulate` takes as tau or from a control law.  The
    inertia of its rotor is the `armature` of the joint: gear**2 times its own.

    >>> import leastaction as la
    >>> mech = la.examples.chain(2)
    >>> _ = mech.add_motor(la.Motor("link2", gear=50.0, limit=0.2))
    >>> mech.compile().torques({"link2": 0.7})
    array([ 0., 10.])
    """

    def __init__(
        self, joint: str | Mapping[str, float], gear: float = 1.0, limit: float | Sequence[float] = inf, name: str | None = None
    ):
        self.joint: str | dict[str, float]
        if isinstance(joint, Mapping):
            self.joint = {checked_name(j, "Motor: joint"): number(x, f"Motor: share of {j!r}", MechanismError) for j, x in joint.items()}
            if not self.joint or name is None:
                raise MechanismError(f"Motor on the joints {shown(joint)}; give one or more joints, and a name: Motor(..., name='cable')")
        else:
            self.joint = checked_name(joint, "Motor: joint")
            name = self.joint if name is None else name
        where = f"Motor on joint {self.joint!r}"
        self.name = checked_name(name, f"{where}: name")
        self.gear = number(gear, f"{where}: gear", MechanismError)
        self.limit = _ends(limit, f"{where}: limit")

    @property
    def shares(self) -> dict[str, float]:
        """{joint: its share of the force}"""
        return {self.joint: 1.0} if isinstance(self.joint, str) else self.joint

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, Motor) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, *self.shares, self.gear))

    def __repr__(self) -> str:
        return f"Motor({self.joint!r}, gear={self.gear:g}, limit={self.limit}, name={self.name!r})"


class Servo:
    """A position controller on a joint with one degree of freedom: the force kp (target - q) + kd (velocity - v), kept within the limits.

    joint      name of the joint
    kp, kd     N m/rad and N m s/rad, or N/m and N s/m; numbers >= 0.  kp = 0: a velocity controller
    limit      largest force: one number for both directions, or (lowest, highest)
    target     where it holds the joint if a run is given no targets, rad or m
    velocity   the velocity it wants there, rad/s or m/s
    range      (lowest, highest) target it accepts, or velocity if kp = 0; others are moved to the nearest end
    name       what it is called in targets; the name of the joint if left out

    It is part of the mechanism: its force is computed inside the step, from where the step ends, so that gains of any size neither diverge
    nor ring (docs/actuation.md).  `simulate(..., targets={"elbow": 0.3})` moves it; `model.inputs` says what control laws return.

    >>> import leastaction as la
    >>> mech = la.examples.chain(2)
    >>> _ = mech.add_servo(la.Servo("link2", kp=1e4, kd=1e2, limit=40.0))
    >>> run = la.simulate(mech.compile(), dt=1e-2, duration=2.0, targets={"link2": 0.5})
    >>> bool(abs(run["link2"][-1, 0] - 0.5) < 1e-2)
    True
    """

    def __init__(
        self,
        joint: str,
        kp: float,
        kd: float = 0.0,
        limit: float | Sequence[float] = inf,
        *,
        target: float = 0.0,
        velocity: float = 0.0,
        range: Sequence[float] = (-inf, inf),
        name: str | None = None,
    ):
        self.joint = checked_name(joint, "Servo: joint")
        where = f"Servo on joint {joint!r}"
        self.name = self.joint if name is None else checked_name(name, f"{where}: name")
        self.kp, self.kd = (number(gain, f"{where}: {what}", MechanismError) for gain, what in ((kp, "kp"), (kd, "kd")))
        if self.kp < 0.0 or self.kd < 0.0:
            raise MechanismError(f"{where}: kp = {shown(kp)}, kd = {shown(kd)}; they need numbers >= 0, or the joint would run away")
        self.limit = _ends(limit, f"{where}: limit")
        self.range = _ends(range, f"{where}: range", pair=True)
        self.target = number(target, f"{where}: target", MechanismError)
        self.velocity = number(velocity, f"{where}: velocity", MechanismError)

    @property
    def shares(self) -> dict[str, float]:
        """{joint: its share of the force}, as of motors."""
        return {self.joint: 1.0}

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, Servo) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, self.joint, self.kp, self.kd))

    def __repr__(self) -> str:
        accepted = "" if self.range == (-inf, inf) else f", range={self.range}"
        return (
            f"Servo({self.joint!r}, kp={self.kp:g}, kd={self.kd:g}, limit={self.limit}, target={self.target:g}, "
            f"velocity={self.velocity:g}{accepted}, name={self.name!r})"
        )


def _ends(value: float | Sequence[float], what: str, pair: bool = False) -> tuple[float, float]:
    """(lowest, highest) from a pair, or from one number for both directions."""
    ends = numbers(value, what, MechanismError, finite=False, wanted="two numbers" if pair else "one number, or two")
    low, high = (-ends, ends) if ends.shape == () and not pair else ends if ends.shape == (2,) else (np.nan, np.nan)
    if not low <= high:
        raise MechanismError(f"{what} = {shown(value)}; it needs {'' if pair else 'a number >= 0, or '}(lowest, highest)")
    return float(low), float(high)


def aims(servos: Sequence[Servo], given: ArrayLike | Mapping[str, ArrayLike] | None) -> NDArray[np.float64]:
    """Targets as part of a row of inputs: (2 n,) coordinates of all servos, then velocities; or (steps, 2 n) of a series."""
    names, n = [servo.name for servo in servos], len(servos)
    rows = np.array([servo.target for servo in servos] + [servo.velocity for servo in servos])
    if isinstance(given, Mapping):
        for name, values in given.items():
            if name not in names:
                known = listed(names) or "none: mech.add_servo(...) adds one"
                raise StateError(f"targets: there is no servo {shown(name)}; servos are {known}")
            pair = np.atleast_1d(numbers(values, f"targets[{name!r}]", StateError))
            if pair.shape not in ((1,), (2,)):
                raise StateError(
                    f"targets[{name!r}] = {shown(values)}; it needs a coordinate, or (coordinate, velocity); give a series of steps as one "
                    f"array, a row per step, a column per servo"
                )
            at = names.index(name)
            rows[[at, n + at][: len(pair)]] = pair
    elif given is not None:
        values = numbers(given, "targets", StateError)
        if values.ndim not in (1, 2) or values.shape[-1] not in (n, 2 * n) or n == 0:
            raise StateError(
                f"targets has shape {values.shape}; it needs one entry per servo, ({n},) or with velocities behind ({2 * n},), or such a "
                f"row for every step; servos are {listed(names) or 'none: mech.add_servo(...) adds one'}"
            )
        rows = np.broadcast_to(rows, (*values.shape[:-1], 2 * n)).copy()
        rows[..., : values.shape[-1]] = values
    for k, servo in enumerate(servos):
        at = k if servo.kp > 0.0 else n + k
        rows[..., at] = np.clip(rows[..., at], *servo.range)
    return rows


def torques(
    motors: Sequence[Motor], rows: Sequence[Mapping[int, float]], nv: int, u: ArrayLike | Mapping[str, float]
) -> NDArray[np.float64]:
    """Joint forces (nv,), or (steps, nv) from inputs of many steps; `rows` says which degrees of freedom each motor drives, and with
    which share."""
    names = [motor.name for motor in motors]
    if isinstance(u, Mapping):
        for given in u:
            if given not in names:
                raise StateError(f"u: there is no motor {shown(given)}; motors are {listed(names) or 'none: mech.add_motor(...) adds one'}")
        values = numbers([u.get(name, 0.0) for name in names], "u", StateError)
    else:
        values = numbers(u, "u", StateError)
    if values.ndim not in (1, 2) or values.shape[-1] != len(names):
        raise StateError(f"u has shape {values.shape}; it needs one entry per motor, ({len(names)},), or one row per step: {listed(names)}")
    tau = np.zeros((*values.shape[:-1], nv))
    for k, (motor, driven) in enumerate(zip(motors, rows, strict=True)):
        for row, share in driven.items():
            tau[..., row] += share * motor.gear * np.clip(values[..., k], *motor.limit)
    return tau
