"""Tree of frames (Johnson and Murphey 2009): six primitive transformations, constant or variable, masses on frames.

A way to write a `Mechanism` down: variable primitives become revolute and prismatic joints, constant ones placements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .checks import name as checked_name
from .checks import number, numbers, shown
from .constraints.base import Constraint
from .errors import MechanismError
from .forces.base import Force
from .joints import Fixed, Prismatic, Revolute
from .mechanism import WORLD, Mechanism
from .pose import Pose

if TYPE_CHECKING:
    from .model import Model

PRIMITIVES = ("tx", "ty", "tz", "rx", "ry", "rz")

_POINT_MASS = (0.0, 0.0, 0.0)


def axis_of(primitive: str) -> tuple[float, float, float]:
    """Unit vector of the axis a primitive moves along or turns about."""
    x, y, z = (float(letter == primitive[1]) for letter in "xyz")
    return x, y, z


def constant_pose(primitive: str, value: float) -> Pose:
    """The pose of a primitive with a constant parameter, m or rad."""
    if primitive[0] == "t":
        return Pose(xyz=value * np.array(axis_of(primitive)))
    return Pose(rpy=value * np.array(axis_of(primitive)))


Parameter = float | str


class _Hangable:
    """The six ways to hang a frame on something."""

    tree: FrameTree
    name: str

    def tx(self, parameter: Parameter, name: str | None = None, *, mass: float = 0.0, inertia: ArrayLike = _POINT_MASS) -> FrameNode:
        return self.tree.add(self.name, "tx", parameter, name, mass=mass, inertia=inertia)

    def ty(self, parameter: Parameter, name: str | None = None, *, mass: float = 0.0, inertia: ArrayLike = _POINT_MASS) -> FrameNode:
        return self.tree.add(self.name, "ty", parameter, name, mass=mass, inertia=inertia)

    def tz(self, parameter: Parameter, name: str | None = None, *, mass: float = 0.0, inertia: ArrayLike = _POINT_MASS) -> FrameNode:
        return self.tree.add(self.name, "tz", parameter, name, mass=mass, inertia=inertia)

    def rx(self, parameter: Parameter, name: str | None = None, *, mass: float = 0.0, inertia: ArrayLike = _POINT_MASS) -> FrameNode:
        return self.tree.add(self.name, "rx", parameter, name, mass=mass, inertia=inertia)

    def ry(self, parameter: Parameter, name: str | None = None, *, mass: float = 0.0, inertia: ArrayLike = _POINT_MASS) -> FrameNode:
        return self.tree.add(self.name, "ry", parameter, name, mass=mass, inertia=inertia)

    def rz(self, parameter: Parameter, name: str | None = None, *, mass: float = 0.0, inertia: ArrayLike = _POINT_MASS) -> FrameNode:
        return self.tree.add(self.name, "rz", parameter, name, mass=mass, inertia=inertia)


class FrameTree(_Hangable):
    """A mechanism as a tree of frames.

    Each of the methods tx, ty, tz (move) and rx, ry, rz (turn) adds a frame and returns it, so that frames can be hung on it in turn.
    Their parameter is a number (m or rad) or the name of a coordinate.  Options: name, mass (kg), inertia (Ixx, Iyy, Izz, kg m^2
    about the frame's origin, where the mass is; a point mass if left out).

    >>> import leastaction as la
    >>> tree = la.FrameTree(name="pendulum on a cart")
    >>> cart = tree.tx("x", name="cart", mass=2.0)
    >>> bob = cart.ry("theta").tz(-1.0, name="bob", mass=1.0)
    >>> tree.compile().joint_names
    ('x', 'theta')

    `tree.mechanism` is the mechanism being built; constraints and forces name frames and coordinates.
    """

    def __init__(self, gravity: ArrayLike = (0.0, 0.0, -9.81), name: str = "tree of frames"):
        self.mechanism = Mechanism(gravity=gravity, name=name)
        self.tree, self.name = self, WORLD
        self.reserved: set[str] = set()  #: names that frames without a name do not get
        self._unnamed = 0

    def add(
        self,
        parent: str,
        primitive: str,
        parameter: Parameter,
        name: str | None = None,
        *,
        mass: float = 0.0,
        inertia: ArrayLike = _POINT_MASS,
    ) -> FrameNode:
        """Hang a frame on the frame (or body) named `parent`; `primitive` is one of tx ty tz rx ry rz."""
        if not isinstance(primitive, str) or primitive not in PRIMITIVES:
            raise MechanismError(f"frame {shown(name)}: {shown(primitive)} is not a transformation; it is one of {', '.join(PRIMITIVES)}")
        if name is not None:
            checked_name(name, "name of a frame")
        if isinstance(parameter, str):
            joint = Prismatic(axis_of(primitive)) if primitive[0] == "t" else Revolute(axis_of(primitive))
            own = name or self._free_name(parameter)
            self.mechanism.add_body(own, parent, joint, mass=mass, inertia=inertia, joint_name=parameter)
            return FrameNode(self, own)
        own = name or self._free_name()
        placement = constant_pose(primitive, number(parameter, f"frame {own!r}: the parameter of {primitive}", MechanismError))
        heavy = number(mass, f"frame {own!r}: mass", MechanismError) != 0.0
        if not heavy and not np.any(numbers(inertia, f"frame {own!r}: inertia", MechanismError)):
            self.mechanism.add_frame(own, parent, placement)
        else:
            self.mechanism.add_body(own, parent, Fixed(), placement, mass=mass, inertia=inertia)
        return FrameNode(self, own)

    def add_constraint(self, constraint: Constraint, name: str | None = None) -> Constraint:
        return self.mechanism.add_constraint(constraint, name)

    def add_force(self, force: Force) -> Force:
        return self.mechanism.add_force(force)

    def compile(self) -> Model:
        return self.mechanism.compile()

    def __repr__(self) -> str:
        return f"<FrameTree {self.mechanism.name!r}: {len(self.mechanism.bodies) + len(self.mechanism.frames)} frames>"

    def _free_name(self, wanted: str | None = None) -> str:
        """The wanted name if nothing else has it, or a numbered one."""
        taken = ({WORLD}, self.reserved, self.mechanism.bodies, self.mechanism.frames)
        if wanted is not None and not any(wanted in names for names in taken):
            return wanted
        while True:
            self._unnamed += 1
            name = f"frame {self._unnamed}"
            if not any(name in names for names in taken):
                return name


class FrameNode(_Hangable):
    """One frame of a FrameTree; hang further frames on it."""

    def __init__(self, tree: FrameTree, name: str):
        self.tree, self.name = tree, name

    def __repr__(self) -> str:
        return f"<frame {self.name!r}>"
