"""Things that turn in space: a T-handle, a gyroscope in gimbals, a satellite that unfolds, a rotary pendulum."""

from __future__ import annotations

import numpy as np

from ..forces import Damper, Spring
from ..joints import Fixed, Free, Revolute
from ..mechanism import Mechanism
from ..pose import Pose
from ..shapes import Box, Capsule, Cylinder
from .look import BLUE, DARK, GOLD, GREEN, RED, STEEL, add_bar, add_ring, add_wheel

_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def t_handle(bar: float = 0.12, stem: float = 0.07, radius: float = 0.008, density: float = 2700.0) -> Mechanism:
    """A T of two round bars without gravity: `bar` along y, `stem` along x, m.  Spin it about x, its middle axis, and it turns over."""
    mech = Mechanism(gravity=(0, 0, 0), name="T-handle")
    across, along = (density * np.pi * radius**2 * length for length in (bar, stem))  # kg
    com = along * (stem / 2) / (across + along)  # from the bar, along x
    thin_bar, thin_stem = across * radius**2, along * radius**2
    long_bar, long_stem = across * (radius**2 / 4 + bar**2 / 12), along * (radius**2 / 4 + stem**2 / 12)
    apart = across * com**2 + along * (stem / 2 - com) ** 2
    inertia = (long_bar + thin_stem / 2, thin_bar / 2 + long_stem + apart, long_bar + long_stem + apart)
    mech.add_body("handle", joint=Free(), mass=across + along, inertia=inertia)
    add_bar(mech, "handle", (-com, -bar / 2, 0), (-com, bar / 2, 0), radius, STEEL)
    add_bar(mech, "handle", (-com, 0, 0), (stem - com, 0, 0), radius, GOLD)
    mech.add_frame("end of bar", "handle", Pose(xyz=(-com, bar / 2, 0)))
    mech.add_frame("end of stem", "handle", Pose(xyz=(stem - com, 0, 0)))
    return mech


def gyroscope(radius: float = 0.12, weight: float = 0.1) -> Mechanism:
    """A rotor in two gimbals: "outer" turns about z, "inner" about x, "rotor" about y.  A weight (kg) hangs on the axis of spin.

    Without spin the weight falls.  With it, the weight makes the rotor precess about the vertical.
    """
    mech = Mechanism(name="gyroscope in gimbals")
    large, middle = 1.65 * radius, 1.3 * radius
    mech.add_body("outer", joint=Revolute(axis=_Z), mass=0.1, inertia=_ring_inertia(0.1, large, 0))
    mech.add_body("inner", "outer", Revolute(axis=_X), mass=0.08, inertia=_ring_inertia(0.08, middle, 2))
    disc = 0.5 * radius**2
    mech.add_body("rotor", "inner", Revolute(axis=_Y), mass=0.5, inertia=(0.25 * disc, 0.5 * disc, 0.25 * disc))
    mech.add_body("weight", "inner", Fixed(), placement=Pose(xyz=(0, middle + 0.02, 0)), mass=weight)
    add_ring(mech, "outer", large, 0, 0.005, STEEL)
    add_ring(mech, "inner", middle, 2, 0.005, GOLD)
    sideways = Pose(rpy=(np.pi / 2, 0, 0))
    add_wheel(mech, "rotor", radius, 0.022, 1, RED)
    mech.add_shape("rotor", Cylinder(0.25 * radius, 0.05), sideways, color=DARK)
    add_bar(mech, "inner", (0, -middle, 0), (0, middle, 0), 0.004, DARK)
    add_bar(mech, "outer", (-large, 0, 0), (-middle, 0, 0), 0.004, DARK)
    add_bar(mech, "outer", (middle, 0, 0), (large, 0, 0), 0.004, DARK)
    mech.add_shape("weight", Cylinder(0.025, 0.03), sideways, color=DARK)
    add_bar(mech, "world", (0, 0, -large), (0, 0, -2.1 * radius), 0.006, DARK)
    mech.add_shape("world", Cylinder(0.6 * radius, 0.012), Pose(xyz=(0, 0, -2.1 * radius)), color=DARK)
    mech.add_frame("end of axis", "inner", Pose(xyz=(0, middle, 0)))
    return mech


def satellite(panels: int = 3, size: float = 1.0, stiffness: float = 1.5, damping: float = 0.6) -> Mechanism:
    """A free body with two wings of `panels` panels each, whose hinges have springs (N m/rad) that unfold them, and dampers.

    Coordinates zero: unfolded.  Folded: the first hinges at a quarter turn, the others at half a turn and back.
    No force acts from outside: what the wings do to the body, momentum has to allow.
    """
    mech = Mechanism(gravity=(0, 0, 0), name="satellite that unfolds")
    mech.add_body("bus", joint=Free(), mass=60.0, inertia=(10.0, 10.0, 10.0))
    mech.add_shape("bus", Box((size, size, 0.9 * size)), color=GOLD)
    mech.add_shape("bus", Cylinder(0.12 * size, 0.5 * size), Pose(xyz=(0, 0, 0.6 * size)), color=STEEL)
    mech.add_shape("bus", Cylinder(0.35 * size, 0.03 * size), Pose(xyz=(0, 0, 0.85 * size)), color=STEEL)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        parent, at = "bus", Pose(xyz=(0, sign * 0.55 * size, 0.4 * size))
        for k in range(1, panels + 1):
            name = f"{side}{k}"
            mech.add_body(
                name, parent, Revolute(axis=_X), at, mass=4.0, com=(0, sign * size / 2, 0),
                inertia=(4 * size**2 / 12, 4 * size**2 / 12, 8 * size**2 / 12),
            )  # fmt: skip
            mech.add_shape(name, Box((0.9 * size, 0.94 * size, 0.02 * size)), Pose(xyz=(0, sign * size / 2, 0)), color=BLUE)
            mech.add_force(Spring(name, stiffness))
            mech.add_force(Damper(name, damping))
            parent, at = name, Pose(xyz=(0, sign * size, 0))
        mech.add_frame(f"{side} tip", parent, at)
    return mech


def furuta_pendulum(arm: float = 0.25, pole: float = 0.4, pole_mass: float = 0.1) -> Mechanism:
    """A rotary pendulum: "arm" turns about the vertical, "pole" hangs at its end and swings about the arm.  Zero: pole down."""
    mech = Mechanism(name="Furuta pendulum")
    mech.add_body("arm", joint=Revolute(axis=_Z), mass=0.2, com=(arm / 2, 0, 0), inertia=(1e-5, 0.2 * arm**2 / 12, 0.2 * arm**2 / 12))
    inertia = pole_mass * pole**2 / 12
    mech.add_body(
        "pole", "arm", Revolute(axis=_X), Pose(xyz=(arm, 0, 0)), mass=pole_mass, com=(0, 0, -pole / 2), inertia=(inertia, inertia, 1e-5)
    )
    mech.add_shape("world", Cylinder(0.035, 0.3), Pose(xyz=(0, 0, -0.17)), color=DARK)
    mech.add_shape("world", Cylinder(0.11, 0.02), Pose(xyz=(0, 0, -0.31)), color=DARK)
    add_bar(mech, "arm", (0, 0, 0), (arm, 0, 0), 0.012, STEEL)
    add_bar(mech, "pole", (0, 0, 0), (0, 0, -pole), 0.008, RED)
    mech.add_shape("pole", Capsule(0.02, 0.03), Pose(xyz=(0, 0, -pole)), color=GREEN)
    mech.add_frame("tip", "pole", Pose(xyz=(0, 0, -pole)))
    return mech


def _ring_inertia(mass: float, radius: float, axis: int) -> tuple[float, ...]:
    """A thin ring about the axis x, y or z (0, 1, 2)."""
    return tuple(mass * radius**2 * (1.0 if k == axis else 0.5) for k in range(3))
