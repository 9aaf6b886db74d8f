"""Mechanisms on wheels: what rolls without slipping.  Wheels roll on the plane z = 0 of the world and drive along x at first."""

from __future__ import annotations

import numpy as np

from ..checks import one_of
from ..constraints import Distance, Prescribed, Rolling, RollingBall, RollingEllipsoid, Skate, SymbolicConstraint
from ..errors import MechanismError
from ..joints import Free, Planar, Revolute
from ..mechanism import Mechanism
from ..pose import Pose
from .look import dress_bicycle, dress_car, dress_stone

_Y, _Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def _add_wheel(mech: Mechanism, name: str, parent: str, at: tuple[float, float, float], radius: float, mass: float = 1.0) -> None:
    """A wheel that turns about y of its parent and rolls on the ground; an even disc."""
    inertia = mass * radius**2 / 4
    mech.add_body(name, parent, Revolute(_Y), Pose(xyz=at), mass=mass, inertia=(inertia, 2 * inertia, inertia))
    mech.add_constraint(Rolling(name, radius))


def _chassis(mech: Mechanism, height: float, mass: float, com: float, length: float, width: float) -> None:
    """A plate that stays level at the height of the wheels' centres; its origin is the middle of the rear axle."""
    inertia = mass / 12 * np.array([width**2, length**2, length**2 + width**2])
    mech.add_body("chassis", joint=Planar(), placement=Pose(xyz=(0, 0, height)), mass=mass, com=(com, 0, 0), inertia=inertia)


def differential_drive(track: float = 0.4, radius: float = 0.1, trail: float = 0.05) -> Mechanism:
    """A robot with two driven wheels, "left" and "right", `track` m apart, and a caster in front: "fork" turns, "caster" rolls.

    What the wheels imply (heights, one of the two rows across the axle) is left out: `run.redundant`.
    """
    mech = Mechanism(name="differential drive")
    _chassis(mech, radius, mass=10.0, com=0.1, length=0.4, width=track)
    _add_wheel(mech, "left", "chassis", (0, track / 2, 0), radius)
    _add_wheel(mech, "right", "chassis", (0, -track / 2, 0), radius)
    mech.add_body("fork", "chassis", Revolute(_Z), Pose(xyz=(0.3, 0, 0)), mass=0.2, com=(-trail / 2, 0, 0), inertia=(2e-4, 2e-4, 2e-4))
    _add_wheel(mech, "caster", "fork", (-trail, 0, -radius / 2), radius / 2, mass=0.3)
    return mech


def car(wheelbase: float = 2.5, track: float = 1.5, radius: float = 0.3, linkage: str = "exact") -> Mechanism:
    """Four wheels, the front ones on knuckles "knuckle left" and "knuckle right" that turn about z.

    linkage   "exact": the angles obey sin(l - r) = track/wheelbase sin(l) sin(r) (Ackermann), so that all axes meet in one point and one of
              the front wheels' rows is redundant; "trapezoid": arms and a tie rod, which are only nearly so: ideal wheels contradict each
              other and lock, which is an error at the start
    """
    one_of(linkage, ("exact", "trapezoid"), "car: linkage", MechanismError)
    mech = Mechanism(name="car")
    _chassis(mech, radius, mass=800.0, com=0.5 * wheelbase, length=1.5 * wheelbase, width=track)
    arm = 0.2
    inward = np.arctan2(track / 2, wheelbase)  # the arms point to the middle of the rear axle
    for side, sign in (("left", 1.0), ("right", -1.0)):
        y = sign * track / 2
        _add_wheel(mech, f"rear {side}", "chassis", (0, y, 0), radius, mass=15.0)
        mech.add_body(f"knuckle {side}", "chassis", Revolute(_Z), Pose(xyz=(wheelbase, y, 0)), mass=5.0, inertia=(0.1, 0.1, 0.1))
        mech.add_frame(f"arm {side}", f"knuckle {side}", Pose(xyz=(-arm * np.cos(inward), -sign * arm * np.sin(inward), 0)))
        _add_wheel(mech, f"front {side}", f"knuckle {side}", (0, 0, 0), radius, mass=15.0)
    if linkage == "trapezoid":
        mech.add_constraint(Distance("arm left", "arm right", track - 2 * arm * float(np.sin(inward))))
    else:
        ratio = track / wheelbase
        mech.add_constraint(
            SymbolicConstraint(
                "Ackermann",
                ["knuckle left", "knuckle right"],
                lambda q, sp: sp.sin(q[0] - q[1]) - ratio * sp.sin(q[0]) * sp.sin(q[1]),
            )
        )
    dress_car(mech, wheelbase, track, radius)
    return mech


def snakeboard(length: float = 0.8) -> Mechanism:
    """A board with a truck at each end, which a knife edge keeps from moving sideways, and a "rotor" that turns above its middle.

    Turning rotor and trucks in time with each other drives it without touching the ground (Ostrowski, Burdick, Lewis and Murray 1995).
    """
    mech = Mechanism(gravity=(0, 0, 0), name="snakeboard")
    mech.add_body("board", joint=Planar(), mass=4.0, inertia=(0.05, 0.2, 0.2))
    mech.add_body("rotor", "board", Revolute(_Z), mass=2.0, inertia=(0.2, 0.2, 0.4))
    for name, x in (("front", length / 2), ("back", -length / 2)):
        mech.add_body(name, "board", Revolute(_Z), Pose(xyz=(x, 0, 0)), mass=0.5, inertia=(0.01, 0.01, 0.01))
        mech.add_constraint(Skate(name, direction=(0, 1, 0)))
    return mech


def ball_on_turntable(rate: float = 2.0, radius: float = 0.1, share: float = 0.4) -> Mechanism:
    """A ball that rolls on a table which turns with a given `rate` (rad/s); share: its moment of inertia over mass radius^2.

    Its centre runs in circles with the rate share / (1 + share) of the table's, 2/7 for an even ball, whatever their size.
    """
    mech = Mechanism(name="ball on a turntable")
    mech.add_body("table", joint=Revolute(_Z), mass=1.0, inertia=(1.0, 1.0, 1.0))
    inertia = share * radius**2
    mech.add_body("ball", joint=Free(), placement=Pose(xyz=(0.5, 0, radius)), mass=1.0, inertia=(inertia, inertia, inertia))
    mech.add_constraint(RollingBall("ball", radius, on="table"))
    mech.add_constraint(Prescribed("table", lambda t, sp: rate * t))
    return mech


def rattleback() -> Mechanism:
    """A stone with an ellipsoid as its lower side, whose axes of inertia are turned against the ellipsoid's (Kane and Levinson 1982).

    Spun one way (here a negative rate about z) it begins to rattle, stops and turns back.
    """
    mech = Mechanism(name="rattleback")
    mech.add_body("stone", joint=Free(), placement=Pose(xyz=(0, 0, 0.02)), mass=1.0, com=(0, 0, -0.01),
                  inertia=((2e-4, -2e-5, 0), (-2e-5, 1.6e-3, 0), (0, 0, 1.7e-3)))  # fmt: skip
    mech.add_constraint(RollingEllipsoid("stone", (0.2, 0.03, 0.02)))
    dress_stone(mech, (0.2, 0.03, 0.02))
    mech.add_frame("end", "stone", Pose(xyz=(0.2, 0, 0)))
    return mech


def bicycle() -> Mechanism:
    """The benchmark bicycle of Meijaard, Papadopoulos, Ruina and Schwab 2007, with their parameters and z down as in their paper.

    Bodies: "frame" with the rider (free), "fork" with the handlebar, and the wheels "rear" and "front".  In the zero position it stands
    upright and straight; from about 4.3 to 6.0 m/s it balances by itself.
    """
    wheelbase, trail, tilt, r_rear, r_front = 1.02, 0.08, np.pi / 10, 0.3, 0.35
    mech = Mechanism(gravity=(0, 0, 9.81), name="bicycle")
    rear = np.array([0.0, 0.0, -r_rear])
    mech.add_body("frame", joint=Free(), placement=Pose(xyz=rear), mass=85.0, com=np.array([0.3, 0.0, -0.9]) - rear,
                  inertia=((9.2, 0, 2.4), (0, 11.0, 0), (2.4, 0, 2.8)))  # fmt: skip
    steer = np.array([wheelbase + trail, 0.0, 0.0])  # where the steering axis meets the ground
    axis = (float(np.sin(tilt)), 0.0, float(np.cos(tilt)))
    mech.add_body("fork", "frame", Revolute(axis), Pose(xyz=steer - rear), mass=4.0, com=np.array([0.9, 0.0, -0.7]) - steer,
                  inertia=((0.05892, 0, -0.00756), (0, 0.06, 0), (-0.00756, 0, 0.00708)))  # fmt: skip
    mech.add_body("rear", "frame", Revolute(_Y), mass=2.0, inertia=(0.0603, 0.12, 0.0603))
    front = np.array([wheelbase, 0.0, -r_front]) - steer
    mech.add_body("front", "fork", Revolute(_Y), Pose(xyz=front), mass=3.0, inertia=(0.1405, 0.28, 0.1405))
    mech.add_constraint(Rolling("rear", r_rear, normal=(0, 0, -1)))
    mech.add_constraint(Rolling("front", r_front, normal=(0, 0, -1)))
    dress_bicycle(mech)
    return mech
