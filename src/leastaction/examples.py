"""Mechanisms to play with: `la.examples.chain(10)` and friends.  Each function returns a Mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import library
from .constraints import Close, Coincident, Rolling, Skate
from .forces import Spring
from .frame_examples import (  # noqa: F401
    LISTING_1_START,
    driven_pendulum,
    hanging_scissor_lift,
    hanging_scissor_start,
    listing_1,
    marionette,
    planar_human,
    screw,
)
from .joints import Cylindrical, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, SymbolicJoint, Universal
from .linkage_examples import closed_chain_device, radial_engine  # noqa: F401
from .mechanism import Mechanism
from .pose import Pose

_ROD: dict[str, Any] = {"mass": 1.0, "com": (0.0, 0.0, -0.5), "inertia": (1 / 12, 1 / 12, 0.01)}


def chain(n: int = 10, spatial: bool = False) -> Mechanism:
    """n rods of 1 m and 1 kg hanging along -z on revolute joints about y; alternating y and x if `spatial`."""
    axes = [(0.0, 1.0, 0.0), (1.0, 0.0, 0.0)] if spatial else [(0.0, 1.0, 0.0)]
    return _rods(n, lambda i: Revolute(axis=axes[i % len(axes)]), f"{n}-link {'3-D ' if spatial else ''}chain")


def ball_chain(n: int = 10) -> Mechanism:
    """n rods of 1 m and 1 kg hanging along -z on ball joints."""
    return _rods(n, lambda i: Spherical(), f"{n}-link ball-joint chain")


def _rods(n: int, joint, name: str) -> Mechanism:
    mech = Mechanism(name=name)
    parent = "world"
    for i in range(n):
        placement = Pose(xyz=(0.0, 0.0, -1.0 if i else 0.0))
        mech.add_body(f"link{i + 1}", parent, joint(i), placement, **_ROD)
        parent = f"link{i + 1}"
    mech.add_frame("tip", parent, Pose(xyz=(0.0, 0.0, -1.0)))
    return mech


def double_pendulum(length1: float = 1.0, length2: float = 1.0, mass1: float = 1.0, mass2: float = 1.0) -> Mechanism:
    """Two point masses on massless rods, swinging in the x-z plane."""
    mech = Mechanism(name="double pendulum")
    mech.add_body("upper", joint=Revolute(axis=(0, 1, 0)), mass=mass1, com=(0, 0, -length1))
    mech.add_body("lower", "upper", Revolute(axis=(0, 1, 0)), Pose(xyz=(0, 0, -length1)), mass=mass2, com=(0, 0, -length2))
    return mech


def heavy_top(mass: float = 1.0, height: float = 0.5, inertia: tuple[float, float, float] = (0.02, 0.02, 0.04)) -> Mechanism:
    """A symmetric top whose tip is held by a ball joint, centre of mass at (0, 0, height) of the body."""
    mech = Mechanism(name="heavy top")
    mech.add_body("top", joint=Spherical(), mass=mass, com=(0, 0, height), inertia=inertia)
    return mech


def tumbling_body(inertia: tuple[float, float, float] = (1.0, 2.0, 2.8), mass: float = 1.0) -> Mechanism:
    """A free body without gravity; spin it about its middle axis and it turns over (Dzhanibekov)."""
    mech = Mechanism(gravity=(0, 0, 0), name="tumbling body")
    mech.add_body("body", joint=Free(), mass=mass, inertia=inertia)
    return mech


def cart_pole(cart_mass: float = 1.0, pole_mass: float = 0.1, length: float = 1.0) -> Mechanism:
    """A cart on a rail along x with a pole; the pole stands upright at angle 0."""
    mech = Mechanism(name="cart-pole")
    mech.add_body("cart", joint=Prismatic(axis=(1, 0, 0)), mass=cart_mass)
    inertia = pole_mass * length**2 / 12
    mech.add_body(
        "pole", "cart", Revolute(axis=(0, 1, 0)), mass=pole_mass, com=(0, 0, length / 2), inertia=(inertia, inertia, 1e-3 * inertia)
    )
    return mech


def random_tree(
    n: int = 10,
    seed: int = 0,
    joints: tuple[type[Joint], ...] | None = None,
    floating: bool = False,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
) -> Mechanism:
    """A random tree of n bodies over the given joint types; `floating` puts a Free joint at the root."""
    rng = np.random.default_rng(seed)
    kinds = joints or (Revolute, Prismatic, Helical, Cylindrical, Universal, Planar, Spherical)
    mech = Mechanism(gravity=gravity, name=f"random tree {seed}")
    for i in range(n):
        kind = Free if floating and i == 0 else kinds[rng.integers(len(kinds))]
        parent = "world" if i == 0 else f"body{rng.integers(i) + 1}"
        quaternion = rng.normal(size=4)
        mech.add_body(
            f"body{i + 1}", parent, random_joint(kind, rng), Pose(rng.normal(size=3), quaternion=quaternion),
            mass=rng.uniform(0.5, 2.0), com=0.3 * rng.normal(size=3), inertia=random_inertia(rng),
        )  # fmt: skip
    return mech


def random_joint(kind: type[Joint] | Joint, rng: np.random.Generator) -> Joint:
    """A joint of the given type with random axes, or the given joint itself."""
    if isinstance(kind, Joint):
        return kind
    a, b = rng.normal(size=3), rng.normal(size=3)
    if kind is Universal:
        return Universal(a, np.cross(a, b))
    if kind is Planar:
        return Planar(a, b)
    if kind is Helical:
        return Helical(a, pitch=rng.normal())
    if kind in (Revolute, Prismatic, Cylindrical):
        return kind(a)
    return kind()


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """Inertia of a random solid: trace(B) 1 - B with B positive definite obeys the triangle inequality."""
    a = rng.normal(size=(3, 3))
    b = a @ a.T
    return 0.1 * (np.trace(b) * np.eye(3) - b)


def humanoid() -> Mechanism:
    """A floating humanoid-like tree: pelvis, spine, head, two arms and two legs; 6 + 29 degrees of freedom, 1.7 m, 70 kg."""
    mech = Mechanism(name="humanoid")
    x, y, z = (1, 0, 0), (0, 1, 0), (0, 0, 1)

    def limb(prefix, parent, start, parts):
        """parts: (name, axis, length, mass); a length of 0 is a further axis of the same joint."""
        at, on = start, parent
        for name, axis, length, mass in parts:
            full = prefix + name
            r2 = mass * 0.05**2
            inertia = (mass * length**2 / 12 + r2 / 4, mass * length**2 / 12 + r2 / 4, r2 / 2)
            mech.add_body(full, on, Revolute(axis=axis), Pose(xyz=at), mass=mass, com=(0, 0, -length / 2), inertia=inertia)
            at, on = (0.0, 0.0, -length), full
        return on

    mech.add_body("pelvis", joint=Free(), mass=10.0, inertia=(0.10, 0.08, 0.10))
    for name, axis, mass, up in (("waist_yaw", z, 1.0, 0.10), ("waist_roll", x, 1.0, 0.0), ("chest", y, 20.0, 0.05)):
        parent = {"waist_yaw": "pelvis", "waist_roll": "waist_yaw", "chest": "waist_roll"}[name]
        size = 0.35 if name == "chest" else 0.05
        inertia = (mass * size**2 / 12 + 0.01, mass * size**2 / 12 + 0.01, 0.015 * mass)
        inertia = (inertia[0], inertia[1], min(inertia[2], inertia[0] + inertia[1]))
        mech.add_body(name, parent, Revolute(axis=axis), Pose(xyz=(0, 0, up)), mass=mass, com=(0, 0, size / 2), inertia=inertia)
    mech.add_body("neck", "chest", Revolute(axis=z), Pose(xyz=(0, 0, 0.40)), mass=0.5, inertia=(0.001, 0.001, 0.001))
    mech.add_body("head", "neck", Revolute(axis=y), Pose(xyz=(0, 0, 0.05)), mass=4.5, com=(0, 0, 0.10), inertia=(0.02, 0.02, 0.015))
    for side, sign in (("left_", 1.0), ("right_", -1.0)):
        limb(side, "chest", (0.0, sign * 0.20, 0.35), [
            ("shoulder_pitch", y, 0.0, 0.5), ("shoulder_roll", x, 0.0, 0.5), ("upper_arm", z, 0.30, 2.0),
            ("forearm", y, 0.25, 1.5), ("wrist_yaw", z, 0.0, 0.2), ("hand", y, 0.15, 0.5)])  # fmt: skip
        limb(side, "pelvis", (0.0, sign * 0.10, -0.05), [
            ("hip_yaw", z, 0.0, 1.0), ("hip_roll", x, 0.0, 1.0), ("thigh", y, 0.42, 7.0),
            ("shank", y, 0.42, 4.0), ("ankle_pitch", y, 0.0, 0.3), ("foot", x, 0.05, 1.2)])  # fmt: skip
    return mech


# ---------------------------------------------------------------------------------------- with loops

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
    mech = Mechanism(name=f"loop of {len(lengths)} rods")
    parent, at = "world", 0.0
    for k, length in enumerate(lengths, start=1):
        mech.add_body(f"rod{k}", parent, Revolute(axis=(0, 1, 0)), Pose(xyz=(0, 0, at)), **_rod(length, length))
        parent, at = f"rod{k}", -length
    mech.add_frame("tip", parent, Pose(xyz=(0, 0, at)))
    mech.add_frame("anchor", "world", Pose(xyz=(anchor, 0, 0)))
    mech.add_constraint(Close(Revolute(axis=(0, 1, 0)), "anchor", "tip") if joint else Coincident("anchor", "tip", _IN_PLANE))
    return mech


def closed_chain(n: int = 10, ball: bool = False) -> Mechanism:
    """n rods of 1 m and 1 kg between two supports sqrt(n) m apart, sagging as a regular zigzag in its zero position."""
    span = float(np.sqrt(n)) if n > 1 else 0.5
    mech = Mechanism(name=f"closed {n}-link chain")
    # rods lean by the same angle, alternately down and up, so that their x extents add up to the span
    lean = float(np.arccos(span / n)) if n % 2 == 0 else None
    angles = [(-1) ** k * lean for k in range(n)] if lean is not None else _odd_zigzag(n, span)
    parent, at, before = "world", 0.0, 0.0
    for k, angle in enumerate(angles):
        turn = -np.pi / 2 + angle  # a rod along -z turned about y by -90 degrees points along +x; positive angles point down
        joint = Spherical() if ball else Revolute(axis=(0, 1, 0))
        mech.add_body(f"link{k + 1}", parent, joint, Pose(xyz=(0, 0, at), rpy=(0, turn - before, 0)), **_ROD)
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
    return mech


# ------------------------------------------------------------------------------------------ joints between surfaces and curves


def torus_chain(n: int = 20, radius: float = 1.0, tube: float = 0.25, mass: float = 1.0) -> Mechanism:
    """n rings that hang in each other like the links of a chain: 2 + 4 (n - 1) degrees of freedom.     Si and Guenter 2010, figure 1

    The first ring slides over a point of the world (2 degrees of freedom), each further one over the ring above it with the tubes at right
    angles (4).  In the start configuration every ring hangs from its innermost circle, straight below the one above it.
    """
    ring = library.torus(radius, tube)
    inner, top, bottom = np.pi, 0.0, np.pi  # around the tube; around the axis, from the top
    mech = Mechanism(name=f"chain of {n} tori")
    # the normal of the innermost circle leads to the ring's centre: down, at the top of a ring
    down = Pose(rotation=np.diag([1.0, -1.0, -1.0]))
    hanging = library.surface_point(ring, carrier="child", start=(top, inner))
    linked = library.surface_surface(ring, ring, start=(bottom, inner, top, inner))
    for i in range(n):
        parent, joint, placement = (f"ring{i}", linked, None) if i else ("world", hanging, down)
        mech.add_body(f"ring{i + 1}", parent, joint, placement, mass=mass, inertia=_torus_inertia(mass, radius, tube))
    return mech


def spline_chain(n: int = 5, radius: float = 0.5, tube: float = 0.12, mass: float = 1.0) -> Mechanism:
    """A chain of n rings on a wire, a Bezier curve of 7 control points with a valley.                  Si and Guenter 2010, figure 3

    The wire runs through the centre of the first ring, along its axis; the ring may turn about it: 2 + 4 (n - 1) degrees of freedom.
    It starts at rest on a slope.
    """
    wire = library.bezier_curve([(-9, 0, 8), (-6, 2, 0), (-3, 3, -2), (0, 0, 1), (3, -3, -2), (6, -2, 0), (9, 0, 8)], start=0.2)
    ring = library.torus(radius, tube)
    mech = Mechanism(name=f"{n} tori on a spline")
    inertia = _torus_inertia(mass, radius, tube)
    mech.add_body("ring1", joint=library.curve_point(wire, spin=None), mass=mass, inertia=inertia)
    # x of the first ring points up: its lowest point is half a turn away
    linked = library.surface_surface(ring, ring, start=(np.pi, np.pi, 0.0, np.pi))
    for i in range(1, n):
        mech.add_body(f"ring{i + 1}", f"ring{i}", linked, mass=mass, inertia=inertia)
    return mech


def board_on_surface() -> Mechanism:
    """A board that slides in a bowl, a Bezier surface of 25 control points, with a pendulum on a mast.  Si and Guenter 2010, figure 4

    The board stays tangent to the bowl and may turn about the normal (3 degrees of freedom); the pendulum hangs on a ball joint.
    """
    across = np.linspace(-4.0, 4.0, 5)
    bowl = [[(x, y, 0.25 * (x**2 + y**2) + 0.03 * x * y * (y - 1.0)) for y in across] for x in across]
    mech = Mechanism(name="board on a Bezier surface")
    mech.add_body("board", joint=library.surface_point(library.bezier_surface(bowl), spin=None, start=(0.75, 0.6, 0.3)), mass=3.0,
                  com=(0.0, 0.0, 0.02), inertia=(0.02, 0.25, 0.26))  # fmt: skip
    mech.add_body("pendulum", "board", Spherical(), Pose(xyz=(0.0, 0.0, 0.8)), mass=1.0, com=(0.0, 0.0, -0.5), inertia=(0.03, 0.03, 0.002))
    return mech


def knee_leg() -> Mechanism:
    """A leg that hangs along -z and swings in the x-z plane; its knee is a four-bar linkage, held by a weak spring like the ankle."""
    mech = Mechanism(name="leg with a four-bar knee")
    mech.add_body("thigh", joint=Revolute(axis=(0, 1, 0)), mass=7.0, com=(0, 0, -0.2), inertia=(0.1, 0.1, 0.02))
    # the knee bends in its x-y plane: x to the back, y up, z along the hip's axis
    sagittal = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    mech.add_body("shank", "thigh", library.four_bar_knee(), Pose((0, 0, -0.42), rotation=sagittal),
                  mass=3.5, com=(0, -0.2, 0), inertia=(0.05, 0.005, 0.05))  # fmt: skip
    mech.add_body("foot", "shank", Revolute(axis=(0, 0, 1)), Pose((0, -0.42, 0)),
                  mass=1.0, com=(-0.06, -0.03, 0), inertia=(0.001, 0.004, 0.004))  # fmt: skip
    mech.add_force(Spring("shank", 10.0, rest=0.2))
    mech.add_force(Spring("foot", 5.0))
    return mech


def windmill(stiffness: float = 30.0) -> Mechanism:
    """A hub on a horizontal axis with six blades of three bodies each: 1 + 18 x 4 degrees of freedom.  After Si and Guenter 2010, figure 2

    The paper gives the kinds of contact and the number of coordinates only; which touches which is our choice.  The arms of the hub end in
    spheres.  On every second one hang two spheres and an ellipsoid (sphere-sphere twice, sphere-ellipsoid), on the others two interlocked
    tori and an ellipsoid (sphere-torus, torus-torus, torus-ellipsoid).  At the start all blades point outwards; springs of `stiffness`
    (N m / rad) in all contacts bring them back there.  Without them (0) the bodies whirl about each other at hundreds of rad/s, which
    needs steps far below 1 ms.
    """
    ball, ring, egg = library.sphere(0.25), library.torus(0.5, 0.12), library.ellipsoid(0.3, 0.2, 0.15)
    masses = {"ball": 1.0, "ring": 0.8, "egg": 0.7}
    inertias = {"ball": _ellipsoid_inertia(1.0, 0.25, 0.25, 0.25), "ring": _torus_inertia(0.8, 0.5, 0.12),
                "egg": _ellipsoid_inertia(0.7, 0.3, 0.2, 0.15)}  # fmt: skip
    # Angles at which bodies touch: a body's 0 looks inwards, half a turn further is its outer end.  With spin 0 its axis is parallel to
    # that of the body before, with a quarter turn it is at right angles.  So the poles stay away from the contacts.
    far = np.pi
    blades: list[list[tuple[str, SymbolicJoint]]] = [
        [("ball", library.surface_surface(ball, ball, spin=0.0)),
         ("ball", library.surface_surface(ball, ball, spin=0.0, start=(far, 0.0, 0.0, 0.0))),
         ("egg", library.surface_surface(ball, egg, spin=0.0, start=(far, 0.0, 0.0, 0.0)))],
        [("ring", library.surface_surface(ball, ring, spin=0.0)),
         ("ring", library.surface_surface(ring, ring, start=(far, np.pi, 0.0, np.pi))),
         ("egg", library.surface_surface(ring, egg, start=(far, 0.0, 0.0, 0.0)))],
    ]  # fmt: skip
    mech = Mechanism(name="windmill")
    mech.add_body("hub", joint=Revolute(axis=(0, 1, 0)), mass=10.0, inertia=(3.0, 5.0, 3.0))
    for k, angle in enumerate(np.arange(6) * np.pi / 3):
        outwards, axis = np.array([np.cos(angle), 0.0, np.sin(angle)]), np.array([0.0, 1.0, 0.0])
        tip = Pose(1.5 * outwards, rotation=np.column_stack([outwards, np.cross(axis, outwards), axis]))
        parent: str = "hub"
        for i, (shape, joint) in enumerate(blades[k % 2]):
            name = f"{shape}{k + 1}{'abc'[i]}"
            mech.add_body(name, parent, joint, None if i else tip, mass=masses[shape], inertia=inertias[shape])
            parent = name
            if stiffness:
                mech.add_force(Spring(name, stiffness, rest=joint.neutral()))
    return mech


def _torus_inertia(mass: float, radius: float, tube: float) -> tuple[float, float, float]:
    """Solid torus with axis z."""
    across = mass * (radius**2 / 2 + 5 * tube**2 / 8)
    return across, across, mass * (radius**2 + 3 * tube**2 / 4)


def _ellipsoid_inertia(mass: float, a: float, b: float, c: float) -> tuple[float, float, float]:
    """Solid ellipsoid with half axes along x, y, z."""
    return mass * (b**2 + c**2) / 5, mass * (a**2 + c**2) / 5, mass * (a**2 + b**2) / 5
