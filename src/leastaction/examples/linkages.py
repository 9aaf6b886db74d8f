"""Mechanisms with loops and with velocity constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import numbers
from ..constraints import Close, Coincident, Rolling, Skate
from ..errors import MechanismError
from ..joints import Free, Planar, Prismatic, Revolute, Spherical, Universal
from ..mechanism import Mechanism
from ..pose import Pose
from .look import dress_engine, dress_quadruped, dress_sleigh, dress_slider_crank
from .trees import ROD

_Y = (0.0, 1.0, 0.0)
_IN_PLANE = ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def _rod(mass: float, length: float) -> dict[str, Any]:
    """A slender rod along -z of its frame."""
    inertia = mass * length**2 / 12
    return {"mass": mass, "com": (0.0, 0.0, -length / 2), "inertia": (inertia, inertia, 0.01 * mass * length**2)}


def four_bar(lengths: Sequence[float] = (1.0, 2.0, 1.5), anchor: float = 2.0, joint: bool = False) -> Mechanism:
    """Three rods (1 kg/m) in a closed loop with the ground, in the x-z plane; the last tip is pinned at (anchor, 0, 0).

    joint: closed by a revolute joint (five rows, three of them redundant) instead of its two rows in the plane.  Zero coordinates
    are rods hanging straight down: start from `model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})`, for example.
    """
    lengths = np.atleast_1d(numbers(lengths, "four_bar: lengths", MechanismError)).ravel().tolist()
    mech = Mechanism(name=f"loop of {len(lengths)} rods")
    parent, at = "world", 0.0
    for k, length in enumerate(lengths, start=1):
        mech.add_body(f"rod{k}", parent, Revolute(axis=(0, 1, 0)), Pose(xyz=(0, 0, at)), **_rod(length, length))
        parent, at = f"rod{k}", -length
    mech.add_frame("tip", parent, Pose(xyz=(0, 0, at)))
    mech.add_frame("anchor", "world", Pose(xyz=(anchor, 0, 0)))
    mech.add_constraint(Close(Revolute(axis=(0, 1, 0)), "anchor", "tip") if joint else Coincident("anchor", "tip", _IN_PLANE))
    return mech


def closed_chain(n: int = 10, ball: bool = False, hairpin: bool = False) -> Mechanism:
    """n rods of 1 m and 1 kg between two supports sqrt(n) m apart, sagging as a regular zigzag in its zero position.

    hairpin: supports 1 m apart, n odd; half of the rods in a row at 45 degrees, one across, the others back.  Bruedigam and Manchester's
    program starts from there; the zigzag falls and swings far more wildly.
    """
    if hairpin and (n < 3 or n % 2 == 0):
        raise MechanismError(f"closed_chain({n}, hairpin=True): a hairpin has an odd number of links, 3 or more")
    span = 1.0 if hairpin else float(np.sqrt(n)) if n > 1 else 0.5
    mech = Mechanism(name=f"closed {n}-link chain")
    # rods lean by the same angle, alternately down and up, so that their x extents add up to the span
    lean = float(np.arccos(span / n)) if n % 2 == 0 else None
    if hairpin:
        half = n // 2
        angles = [np.pi / 4] * half + [0.0] + [np.pi / 4 + np.pi] * half
    else:
        angles = [(-1) ** k * lean for k in range(n)] if lean is not None else _odd_zigzag(n, span)
    parent, at, before = "world", 0.0, 0.0
    for k, angle in enumerate(angles):
        turn = -np.pi / 2 + angle  # a rod along -z turned about y by -90 degrees points along +x; positive angles point down
        joint = Spherical() if ball else Revolute(axis=(0, 1, 0))
        mech.add_body(f"link{k + 1}", parent, joint, Pose(xyz=(0, 0, at), rpy=(0, turn - before, 0)), **ROD)
        parent, at, before = f"link{k + 1}", -1.0, turn
    mech.add_frame("tip", parent, Pose(xyz=(0, 0, -1)))
    mech.add_frame("support", "world", Pose(xyz=(span, 0, 0)))
    mech.add_constraint(Coincident("support", "tip", None if ball else _IN_PLANE))
    return mech


def _odd_zigzag(n: int, span: float) -> list[float]:
    """Angles of n unit rods, n odd, from (0, 0) to (span, 0): the last three form a trapezium, the others a zigzag."""
    if n == 1:
        raise ValueError("closed_chain needs at least two links")
    pairs = (n - 3) // 2
    lean = float(np.arccos(min(1.0, max(0.0, (span - 1.0) / (n - 1)))))
    return [(-1) ** k * lean for k in range(2 * pairs)] + [lean, 0.0, -lean]


def four_bar_chain(segments: int = 3, opening: float = 0.2, length: float = 2.0, swing: float = 0.0) -> Mechanism:
    """Rhombi of four rods (1 kg/m) in a row in the x-z plane, each closed by a pin; rods lean by `opening` (rad) at zero.

    The row hangs down, or stands at the angle `swing` (rad) to the vertical with its last rhombus at twice that angle: 1 m, pi/8 and
    pi/4 are what Bruedigam and Manchester's program starts from.  Every rhombus is singular when its rods overlap, which gravity
    makes them do again and again.  What hangs below pulls the upper rods straight: long chains of short rods vibrate fast, about
    sqrt(12 g segments / length) rad/s, and need small steps.
    """
    mech = Mechanism(name=f"chain of {segments} four-bars")
    parent, at, before = "world", 0.0, 0.0
    down = (0.0, 0.0, -length)
    for k in range(1, segments + 1):
        middle = swing if k < segments else 2 * swing
        for side, sign in (("left", 1.0), ("right", -1.0)):
            turn = middle + sign * opening
            upper, lower = f"{side}_upper{k}", f"{side}_lower{k}"
            mech.add_body(
                upper, parent, Revolute(axis=(0, 1, 0)), Pose(xyz=(0, 0, at), rpy=(0, turn - before, 0)), **_rod(length, length)
            )
            mech.add_body(lower, upper, Revolute(axis=(0, 1, 0)), Pose(xyz=down, rpy=(0, -2 * sign * opening, 0)), **_rod(length, length))
            mech.add_frame(f"{side}_end{k}", lower, Pose(xyz=down))
        mech.add_constraint(Coincident(f"left_end{k}", f"right_end{k}", _IN_PLANE))
        parent, at, before = f"left_lower{k}", -length, middle - opening
    return mech


def scissor_lift(levels: int = 4, angle: float = 0.5, length: float = 1.0, slider_mass: float = 1.0) -> Mechanism:
    """Crossed rods pinned in their middles and at their ends; one foot on a slider along x.  One degree of freedom, zero position at
    `angle` (rad) over the horizontal."""
    mech = Mechanism(name=f"scissor lift, {levels} levels")
    along, middle = Pose(xyz=(length, 0, 0)), Pose(xyz=(length / 2, 0, 0))
    inertia = length**2 / 12
    rod: dict[str, Any] = {"mass": 1.0, "com": (length / 2, 0, 0), "inertia": (0.01 * inertia, inertia, inertia)}
    y = (0.0, 1.0, 0.0)
    mech.add_body("slider", joint=Prismatic(axis=(1, 0, 0)), placement=Pose(xyz=(length * np.cos(angle), 0, 0)), mass=slider_mass)
    supports = {"a": ("world", Pose(), 0.0), "b": ("slider", Pose(), 0.0)}
    for k in range(1, levels + 1):
        rods = {}
        for side, turn in (("a", -angle), ("b", -np.pi + angle)):  # turning about y by a negative angle lifts a rod along x
            name = f"{side}{k}"
            parent, place, before = supports[side]
            mech.add_body(name, parent, Revolute(axis=y), place @ Pose(rpy=(0, turn - before, 0)), **rod)
            mech.add_frame(f"{name}_middle", name, middle)
            rods[side] = (name, along, turn)
        mech.add_constraint(Coincident(f"a{k}_middle", f"b{k}_middle", _IN_PLANE))
        supports = {"a": rods["b"], "b": rods["a"]}  # rods cross: what stands left goes on from the right one
    return mech


def slider_crank(crank: float = 0.2, rod: float = 0.6, offset: float = 0.1) -> Mechanism:
    """A crank turning about x, a connecting rod on a universal joint, and a slider along z beside it: a spatial slider-crank.

    Zero position: crank up, rod up to the slider, which stands `offset` m aside along x.
    """
    mech = Mechanism(name="spatial slider-crank")
    lean = float(np.arcsin(offset / rod))
    x, y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    mech.add_body("crank", joint=Revolute(axis=x), mass=1.0, com=(0, 0, crank / 2), inertia=(0.02, 0.02, 0.005))
    mech.add_body(
        "rod", "crank", Universal(axis1=x, axis2=y), Pose(xyz=(0, 0, crank), rpy=(0, lean, 0)),
        mass=0.5, com=(0, 0, rod / 2), inertia=(0.5 * rod**2 / 12, 0.5 * rod**2 / 12, 0.001),
    )  # fmt: skip
    mech.add_frame("rod_end", "rod", Pose(xyz=(0, 0, rod)))
    height = crank + rod * np.cos(lean)
    mech.add_body("slider", joint=Prismatic(axis=(0, 0, 1)), placement=Pose(xyz=(offset, 0, height)), mass=0.8)
    mech.add_constraint(Close(Spherical(), "slider", "rod_end"))
    dress_slider_crank(mech, crank, rod, offset)
    return mech


def quadruped(gravity: ArrayLike = (0.0, 0.0, -9.81)) -> Mechanism:
    """A Minitaur-like robot: floating body and four five-bar legs, each of two driven upper and two lower rods that meet in the foot."""
    mech = Mechanism(gravity=gravity, name="quadruped with closed-loop legs")
    upper, lower, y = 0.1, 0.2, (0.0, 1.0, 0.0)
    spread = 0.9  # of the upper rods against the vertical
    knee = float(np.arcsin(upper * np.sin(spread) / lower))  # of the lower ones, so that they meet below the hip
    mech.add_body("body", joint=Free(), mass=5.0, inertia=(0.03, 0.08, 0.1))
    hips = {"front_left": (0.2, 0.15), "front_right": (0.2, -0.15), "back_left": (-0.2, 0.15), "back_right": (-0.2, -0.15)}
    for leg, (px, py) in hips.items():
        for side, sign in (("fore", -1.0), ("hind", 1.0)):
            thigh, shin = f"{leg}_{side}_thigh", f"{leg}_{side}_shin"
            mech.add_body(thigh, "body", Revolute(axis=y), Pose(xyz=(px, py, 0), rpy=(0, sign * spread, 0)), **_rod(0.1, upper))
            bend = -sign * (spread + knee)
            mech.add_body(shin, thigh, Revolute(axis=y), Pose(xyz=(0, 0, -upper), rpy=(0, bend, 0)), **_rod(0.15, lower))
            mech.add_frame(f"{leg}_{side}_foot", shin, Pose(xyz=(0, 0, -lower)))
        mech.add_constraint(Coincident(f"{leg}_fore_foot", f"{leg}_hind_foot", _IN_PLANE))
    dress_quadruped(mech, upper, lower)
    return mech


# ------------------------------------------------------------------------------------------------- nonholonomic


def rolling_disc(radius: float = 0.3, mass: float = 1.0) -> Mechanism:
    """A thin disc that rolls without slipping on the plane z = 0; its axis is y of the body, zero position upright at the origin."""
    mech = Mechanism(name="rolling disc")
    inertia = mass * radius**2 / 4
    mech.add_body("disc", joint=Free(), placement=Pose(xyz=(0, 0, radius)), mass=mass, inertia=(inertia, 2 * inertia, inertia))
    mech.add_constraint(Rolling("disc", radius))
    return mech


def chaplygin_sleigh(arm: float = 0.3, mass: float = 1.0, inertia: float = 0.1) -> Mechanism:
    """A plate sliding on a plane on a knife edge; its centre of mass is `arm` m ahead of the edge, which points along x."""
    mech = Mechanism(gravity=(0, 0, 0), name="Chaplygin sleigh")
    mech.add_body("sleigh", joint=Planar(), mass=mass, com=(arm, 0, 0), inertia=(inertia, inertia, inertia))
    mech.add_constraint(Skate("sleigh", direction=(0, 1, 0)))
    dress_sleigh(mech, arm)
    return mech


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
    dress_engine(mech, cylinders, crank, rod)
    return mech
