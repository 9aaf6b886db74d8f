"""Mechanisms written as trees of frames (Johnson and Murphey 2009), all of them in `la.examples`."""

from __future__ import annotations

from importlib.resources import as_file, files
from math import cos

import numpy as np

from ..checks import one_of
from ..constraints import Cam, Coincident, Distance, Gear
from ..errors import MechanismError
from ..forces import CustomForce, Damper
from ..frames import FrameNode, FrameTree
from ..io import load
from ..mechanism import Mechanism
from ..pose import Pose
from .look import dress_puppet

#: an assembled configuration of `listing_1`: the constraints hold to 4e-16 m
LISTING_1_START = {
    "J": -0.6, "K": 0.0, "A": 0.0, "H": 1.225020328835039, "M": -1.107121359993769, "C": 1.261666836863624, "E": 0.942525331138866,
}  # fmt: skip


def listing_1() -> Mechanism:
    """The closed-chain device of Fig. 6, read from Listing 1 of the paper; start it at `LISTING_1_START`."""
    with as_file(files("leastaction") / "data" / "closed_chain.sexp") as path:
        return load(path)


def hanging_scissor_lift(
    segments: int = 5,
    length: float = 1.0,
    link_mass: float = 1.0,
    slider_mass: float = 1.0,
    inertia: float = 0.0,
    closing: str = "points",
) -> Mechanism:
    """A hanging scissor lift: 2 links per segment, one degree of freedom; the upper right joint slides along x.

    Coordinates: the slider, the links a1, a2, ... from the fixed joint and b1, b2, ... from the slider.  `inertia` (kg m^2) of a link
    about its midpoint, its mass is there.  Start it at `hanging_scissor_start`; leastaction.reference.scissor has the exact motion.

    closing="points" (Johnson and Murphey): the midpoints of both links of a segment coincide.  When all links are vertical these
    constraints lose rank: the lift could go on as a bundle of links that swings to and fro, and a step that ends too close to there (about
    1e-3 rad at 10 ms) goes astray.  closing="coordinates": the same motion by as many relations between coordinates, regular everywhere.
    """
    one_of(closing, ("points", "coordinates"), "closing", MechanismError)
    tree = FrameTree(name=f"scissor lift, {segments} segment{'s' * (segments > 1)}")
    moments = (inertia / 2, inertia, inertia / 2)  # only the middle one moves
    slider = tree.tx("slider", mass=slider_mass)
    ends: dict[str, FrameTree | FrameNode] = {"a": tree, "b": slider}
    for n in range(1, segments + 1):
        for side, parity in (("a", n % 2), ("b", (n + 1) % 2)):
            along = length if parity else -length  # links lean to the right and to the left in turn
            link = ends[side].ry(f"{side}{n}")
            link.tx(along / 2, name=f"middle {side}{n}", mass=link_mass, inertia=moments)
            ends[side] = link.tx(along, name=f"end {side}{n}")
        if closing == "points":
            tree.add_constraint(Coincident(f"middle a{n}", f"middle b{n}", directions=[(1, 0, 0), (0, 0, 1)]))
    if closing == "coordinates":
        tree.add_constraint(Cam("slider", "a1", lambda x, sp: length * sp.cos(x)))
        for joint, angle in hanging_scissor_start(segments, angle=1.0).items():
            if joint not in ("slider", "a1"):
                tree.add_constraint(Gear(joint, "a1", angle))
    return tree.mechanism


def hanging_scissor_start(segments: int = 5, angle: float = 0.6, length: float = 1.0) -> dict[str, float]:
    """Coordinates of `hanging_scissor_lift` with its links at `angle` (rad) below the horizontal."""
    q = {"slider": length * cos(angle)}
    for n in range(1, segments + 1):
        q[f"a{n}"] = angle if n == 1 else (2 * angle if n % 2 else -2 * angle)
        q[f"b{n}"] = -angle if n == 1 else (-2 * angle if n % 2 else 2 * angle)
    return q


def planar_human() -> Mechanism:
    """A human in the x-z plane: trunk free to move, head, arms with elbows, legs with knees and ankles; 15 coordinates, 71 kg."""
    tree = FrameTree(name="planar human")
    pelvis = tree.tx("x").tz("z").ry("pelvis", mass=11.0, inertia=(0.1, 0.1, 0.1))
    chest = _limb(pelvis, "chest", 0.50, 25.0, up=True)
    _limb(chest, "head", 0.25, 5.0, up=True)
    for side in ("left", "right"):
        _limb(_limb(chest, f"{side} upper arm", 0.30, 2.0), f"{side} forearm", 0.40, 1.5)
        thigh = _limb(pelvis, f"{side} thigh", 0.42, 7.0)
        ankle = _limb(thigh, f"{side} shank", 0.42, 3.5)
        ankle.ry(f"{side} foot").tx(0.1, mass=1.0, inertia=(0.001, 0.004, 0.004))
    return tree.mechanism


def _limb(node: FrameNode, name: str, length: float, mass: float, up: bool = False) -> FrameNode:
    """A rod that turns about y; returns its far end."""
    away = length if up else -length
    transverse = mass * length**2 / 12
    joint = node.ry(name)
    joint.tz(away / 2, mass=mass, inertia=(transverse, transverse, 0.1 * transverse))
    return joint.tz(away, name=f"end of {name}")


def driven_pendulum(length: float = 1.0, mass: float = 1.0, damping: float = 0.2, torque: float = 2.0, frequency: float = 2.0) -> Mechanism:
    """A damped pendulum driven by the torque  torque * sin(frequency t),  N m and rad/s."""
    tree = FrameTree(name="driven pendulum")
    tree.ry("theta").tz(-length, name="bob", mass=mass)
    tree.add_force(Damper("theta", damping))

    def drive(t, q, v, tau):
        tau[0] += torque * np.sin(frequency * t)

    tree.add_force(CustomForce(drive))
    return tree.mechanism


def screw(pitch: float = 0.1, mass: float = 1.0, inertia: float = 0.02) -> Mechanism:
    """A heavy nut on a vertical screw: turns by "turn" and moves by "travel" = pitch * turn (m per rad), kept by a constraint."""
    tree = FrameTree(name="screw")
    tree.rz("turn").tz("travel", name="nut", mass=mass, inertia=(inertia / 2, inertia / 2, inertia))
    tree.add_constraint(Gear("travel", "turn", pitch))
    return tree.mechanism


def marionette() -> Mechanism:
    """A puppet that hangs on five strings (distances): shoulders, hands and a knee.  Neutral coordinates are assembled."""
    tree = FrameTree(name="marionette")
    trunk = tree.tx("x").ty("y").tz("z").rz("yaw").ry("pitch").rx("roll", name="trunk", mass=1.0, inertia=(0.03, 0.03, 0.01))
    trunk.tz(0.25).tz(0.10, name="head", mass=0.4, inertia=(0.002, 0.002, 0.002))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        shoulder = trunk.ty(0.12 * sign).tz(0.22, name=f"{side} shoulder")
        elbow = _puppet_limb(shoulder, f"{side} arm", 0.20, 0.10)
        _puppet_limb(elbow, f"{side} forearm", 0.20, 0.08, single=True)
        knee = _puppet_limb(trunk.ty(0.08 * sign).tz(-0.20), f"{side} thigh", 0.25, 0.20)
        _puppet_limb(knee, f"{side} shank", 0.25, 0.15, single=True)
    for side in ("left", "right"):
        _hang(tree, f"{side} shoulder", 0.8)
        _hang(tree, f"end of {side} forearm", 1.2, forward=0.25)
    _hang(tree, "end of left thigh", 1.2, forward=0.15)
    dress_puppet(tree.mechanism)
    return tree.mechanism


def _puppet_limb(node: FrameNode, name: str, length: float, mass: float, single: bool = False) -> FrameNode:
    """A limb that turns about y, or about x and y; returns its far end."""
    transverse = mass * length**2 / 12 + 1e-5
    joint = node.ry(name) if single else node.rx(f"{name} out").ry(name)
    joint.tz(-length / 2, mass=mass, inertia=(transverse, transverse, 1e-5))
    return joint.tz(-length, name=f"end of {name}")


def _hang(tree: FrameTree, name: str, above: float, forward: float = 0.0) -> None:
    """A string from a frame to a point of the world above where the frame is at neutral coordinates."""
    at = _neutral_position(tree.mechanism, name)
    hook = f"hook of {name}"
    tree.mechanism.add_frame(hook, placement=Pose(xyz=at + np.array([forward, 0.0, above])))
    tree.add_constraint(Distance(name, hook, float(np.hypot(forward, above))))


def _neutral_position(mechanism: Mechanism, name: str) -> np.ndarray:
    """Place of a frame in the world with all coordinates zero, m."""
    pose = Pose()
    while name in mechanism.frames or name in mechanism.bodies:
        thing = mechanism.frames.get(name) or mechanism.bodies[name]
        pose = thing.placement @ pose
        name = thing.parent
    return pose.p
