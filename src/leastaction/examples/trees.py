"""Chains, tops, carts, random trees, a humanoid: mechanisms without loops."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import instance, shown
from ..errors import MechanismError
from ..io import load
from ..joints import Cylindrical, Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from ..mechanism import Mechanism
from ..pose import Pose
from .look import dress_humanoid, dress_top

ROD: dict[str, Any] = {"mass": 1.0, "com": (0.0, 0.0, -0.5), "inertia": (1 / 12, 1 / 12, 0.01)}


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
        mech.add_body(f"link{i + 1}", parent, joint(i), placement, **ROD)
        parent = f"link{i + 1}"
    mech.add_frame("tip", parent, Pose(xyz=(0.0, 0.0, -1.0)))
    return mech


def robot_arm() -> Mechanism:
    """A six-axis arm with a gripper, read from a URDF file: turn, lift, elbow, roll, bend, twist; upright at zero, without brakes."""
    with as_file(files("leastaction") / "data" / "arm.urdf") as path:
        return load(path)


def double_pendulum(length1: float = 1.0, length2: float = 1.0, mass1: float = 1.0, mass2: float = 1.0) -> Mechanism:
    """Two point masses on massless rods, swinging in the x-z plane."""
    mech = Mechanism(name="double pendulum")
    mech.add_body("upper", joint=Revolute(axis=(0, 1, 0)), mass=mass1, com=(0, 0, -length1))
    mech.add_body("lower", "upper", Revolute(axis=(0, 1, 0)), Pose(xyz=(0, 0, -length1)), mass=mass2, com=(0, 0, -length2))
    mech.add_frame("tip", "lower", Pose(xyz=(0, 0, -length2)))
    return mech


def heavy_top(mass: float = 1.0, height: float = 0.5, inertia: tuple[float, float, float] = (0.02, 0.02, 0.04)) -> Mechanism:
    """A symmetric top whose tip is held by a ball joint, centre of mass at (0, 0, height) of the body."""
    mech = Mechanism(name="heavy top")
    mech.add_body("top", joint=Spherical(), mass=mass, com=(0, 0, height), inertia=inertia)
    mech.add_frame("end", "top", Pose(xyz=(0, 0, 1.35 * height)))
    dress_top(mech, height, radius=0.5 * height)
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
    if joints is not None and not isinstance(joints, (tuple, list)):
        raise MechanismError(f"random_tree: joints = {shown(joints)}; give types of joints, for example (Revolute, Prismatic)")
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
    if not (isinstance(kind, type) and issubclass(kind, Joint)):
        raise MechanismError(f"random_joint: {shown(kind)} is no type of joints; give for example Revolute")
    return kind.sample(_generator(rng))


def _generator(rng: np.random.Generator) -> np.random.Generator:
    return instance(rng, np.random.Generator, "rng", "make one with np.random.default_rng(0)", MechanismError)


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """Inertia of a random solid: trace(B) 1 - B with B positive definite obeys the triangle inequality."""
    a = _generator(rng).normal(size=(3, 3))
    b = a @ a.T
    return 0.1 * (np.trace(b) * np.eye(3) - b)


def humanoid(gravity: ArrayLike = (0.0, 0.0, -9.81)) -> Mechanism:
    """A floating humanoid-like tree: pelvis, spine, head, two arms and two legs; 6 + 29 degrees of freedom, 1.7 m, 70 kg."""
    mech = Mechanism(gravity=gravity, name="humanoid")
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
    dress_humanoid(mech)
    return mech
