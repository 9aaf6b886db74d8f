"""Motors: from what a controller sends to what a joint feels."""

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

    joint    name of the joint
    gear     joint force per unit of the input: turns of the motor per turn of the joint, if the input is its torque
    limit    largest input: one number for both directions, or (lowest, highest)
    name     what it is called in inputs; the name of the joint if left out

    A motor does nothing by itself: `model.torques(u)` gives the joint forces, which `simulate` takes as tau or from a control law.  The
    inertia of its rotor is the `armature` of the joint: gear**2 times its own.

    >>> import leastaction as la
    >>> mech = la.examples.chain(2)
    >>> _ = mech.add_motor(la.Motor("link2", gear=50.0, limit=0.2))
    >>> mech.compile().torques({"link2": 0.7})
    array([ 0., 10.])
    """

    def __init__(self, joint: str, gear: float = 1.0, limit: float | Sequence[float] = inf, name: str | None = None):
        self.joint = checked_name(joint, "Motor: joint")
        where = f"Motor on joint {joint!r}"
        self.name = self.joint if name is None else checked_name(name, f"{where}: name")
        self.gear = number(gear, f"{where}: gear", MechanismError)
        ends = numbers(limit, f"{where}: limit", MechanismError, finite=False, wanted="one number, or two")
        low, high = (-ends, ends) if ends.shape == () else ends if ends.shape == (2,) else (np.nan, np.nan)
        if not low <= high:
            raise MechanismError(f"{where}: limit = {shown(limit)}; it needs a number >= 0, or (lowest, highest)")
        self.limit = (float(low), float(high))

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, Motor) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, self.joint, self.gear))

    def __repr__(self) -> str:
        return f"Motor({self.joint!r}, gear={self.gear:g}, limit={self.limit}, name={self.name!r})"


def torques(motors: Sequence[Motor], rows: Sequence[int], nv: int, u: ArrayLike | Mapping[str, float]) -> NDArray[np.float64]:
    """Joint forces (nv,), or (steps, nv) from inputs of many steps; `rows` says which degree of freedom each motor drives."""
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
    for k, (motor, row) in enumerate(zip(motors, rows, strict=True)):
        tau[..., row] += motor.gear * np.clip(values[..., k], *motor.limit)
    return tau
