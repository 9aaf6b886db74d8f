"""Linkages whose loops are closed by constraints; users reach them as `la.examples.<name>`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .constraints import Coincident
from .joints import Prismatic, Revolute
from .mechanism import Mechanism
from .pose import Pose

_Y = (0.0, 1.0, 0.0)
_IN_PLANE = ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def closed_chain_device() -> Mechanism:
    """Three arms in the x-z plane that close two loops.                        Johnson and Murphey 2009, figure 6

    Seven angles, four constraint rows, three degrees of freedom; a point mass of 1 kg in the middle of every rod.  In the zero position all
    rods hang down and nothing is closed: start at `model.assemble(q)` with q = {"J": -0.6, "H": 1.2, "M": -1.1, "C": 1.3, "E": 0.9}.
    """
    mech = Mechanism(name="closed-chain device")
    rods = (  # name, hangs on, x of its support, length
        ("J", "world", 0.0, 1.0), ("H", "J", 0.0, 2.0), ("K", "world", -1.5, 2.0), ("M", "K", 0.0, 1.0),
        ("A", "world", 1.5, 2.0), ("C", "A", 0.0, 0.75), ("E", "C", 0.0, 1.0),
    )  # fmt: skip
    length_of = {"world": 0.0}
    for name, parent, x, length in rods:
        mech.add_body(name, parent, Revolute(axis=_Y), Pose(xyz=(x, 0, -length_of[parent])), mass=1.0, com=(0, 0, -length / 2))
        length_of[name] = length
    # the second rod of the first arm carries both others: the third one in its middle, the second one at its end
    for frame, rod, down in (("middle of H", "H", 1.0), ("end of H", "H", 2.0), ("end of M", "M", 1.0), ("end of E", "E", 1.0)):
        mech.add_frame(frame, rod, Pose(xyz=(0, 0, -down)))
    mech.add_constraint(Coincident("middle of H", "end of E", _IN_PLANE))
    mech.add_constraint(Coincident("end of H", "end of M", _IN_PLANE))
    return mech


def radial_engine(cylinders: int = 5, crank: float = 0.05, rod: float = 0.18) -> Mechanism:
    """A crank with a flywheel and `cylinders` pistons around it in the x-z plane, whose rods all turn on one crank pin.

    One degree of freedom, two constraint rows for each cylinder.  Assembled in the zero position: crank up.
    """
    mech = Mechanism(name=f"radial engine, {cylinders} cylinders")
    mech.add_body("crank", joint=Revolute(axis=_Y), mass=3.0, com=(0, 0, 0.1 * crank), inertia=(0.01, 0.02, 0.01))
    inertia = 0.4 * rod**2 / 12
    slender: dict[str, Any] = {"mass": 0.4, "com": (0, 0, rod / 2), "inertia": (inertia, inertia, 0.01 * inertia)}
    for k in range(cylinders):
        turn = 2 * np.pi * k / cylinders
        reach = crank * np.cos(turn) + np.sqrt(rod**2 - (crank * np.sin(turn)) ** 2)
        piston = reach * np.array([np.sin(turn), 0.0, np.cos(turn)])
        x, _, z = piston - (0.0, 0.0, crank)
        mech.add_body(f"rod{k + 1}", "crank", Revolute(axis=_Y), Pose(xyz=(0, 0, crank), rpy=(0, np.arctan2(x, z), 0)), **slender)
        mech.add_body(f"piston{k + 1}", joint=Prismatic(axis=(0, 0, 1)), placement=Pose(xyz=piston, rpy=(0, turn, 0)), mass=0.5)
        mech.add_frame(f"small end{k + 1}", f"rod{k + 1}", Pose(xyz=(0, 0, rod)))
        mech.add_constraint(Coincident(f"piston{k + 1}", f"small end{k + 1}", _IN_PLANE))
    return mech
