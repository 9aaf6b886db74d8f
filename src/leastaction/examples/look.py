"""What mechanisms of `la.examples` look like: a few colours, bars between two points, rings."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike

from ..joints.base import frame_with_z
from ..mechanism import Mechanism
from ..pose import Pose
from ..shapes import Box, Capsule, Cylinder, Sphere

STEEL, DARK = (0.62, 0.66, 0.70), (0.25, 0.27, 0.30)
GOLD, RED, BLUE, GREEN = (0.87, 0.64, 0.20), (0.80, 0.27, 0.22), (0.20, 0.38, 0.68), (0.25, 0.58, 0.40)
_SIDES = 28  # of what is drawn as a ring


def add_bar(mech: Mechanism, body: str, a: ArrayLike, b: ArrayLike, radius: float, color: tuple[float, ...]) -> None:
    """A round bar on a body, between two points of its frame, m."""
    start, end = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    length = float(np.linalg.norm(end - start))
    mech.add_shape(body, Capsule(radius, length), Pose((start + end) / 2, rotation=frame_with_z((end - start) / length)), color=color)


def add_ring(mech: Mechanism, body: str, radius: float, axis: int, thickness: float, color: tuple[float, ...]) -> None:
    """A ring around the x, y or z axis (0, 1, 2) of a body, made of straight bars."""
    angles = np.linspace(0.0, 2 * np.pi, _SIDES + 1)
    points = np.zeros((_SIDES + 1, 3))
    points[:, (axis + 1) % 3], points[:, (axis + 2) % 3] = radius * np.cos(angles), radius * np.sin(angles)
    for a, b in zip(points[:-1], points[1:], strict=True):
        add_bar(mech, body, a, b, thickness, color)


def add_wheel(
    mech: Mechanism, body: str, radius: float, thickness: float, axis: int, color: tuple[float, ...], at: ArrayLike = (0, 0, 0)
) -> None:
    """A disc around an axis through a point of a body, with four spots, so that one sees it spin."""
    direction = np.eye(3)[axis]
    turn, centre = frame_with_z(direction), np.asarray(at, dtype=float)
    mech.add_shape(body, Cylinder(radius, thickness), Pose(centre, rotation=turn), color=color)
    for angle in np.arange(4) * np.pi / 2:
        spot = centre + 0.68 * radius * (turn @ (np.cos(angle), np.sin(angle), 0.0))
        mech.add_shape(body, Cylinder(0.14 * radius, 1.15 * thickness), Pose(spot, rotation=turn), color=GOLD)


def dress_humanoid(mech: Mechanism) -> None:
    """Trunk, head, limbs, hands and feet of `humanoid`."""
    mech.add_shape("pelvis", Box((0.18, 0.30, 0.12)), Pose(xyz=(0, 0, 0.02)), color=DARK)
    mech.add_shape("chest", Box((0.20, 0.34, 0.36)), Pose(xyz=(0, 0, 0.19)), color=BLUE)
    mech.add_shape("head", Sphere(0.11), Pose(xyz=(0, 0, 0.10)), color=GOLD)
    for side in ("left_", "right_"):
        for part, length, radius, color in (
            ("upper_arm", 0.30, 0.045, BLUE), ("forearm", 0.25, 0.038, STEEL), ("thigh", 0.42, 0.065, DARK), ("shank", 0.42, 0.05, STEEL),
        ):  # fmt: skip
            add_bar(mech, side + part, (0, 0, -0.02), (0, 0, 0.02 - length), radius, color)
        mech.add_shape(side + "hand", Box((0.04, 0.08, 0.14)), Pose(xyz=(0, 0, -0.08)), color=GOLD)
        mech.add_shape(side + "foot", Box((0.24, 0.09, 0.05)), Pose(xyz=(0.05, 0, -0.03)), color=DARK)


def dress_quadruped(mech: Mechanism, upper: float, lower: float) -> None:
    """Trunk and legs of `quadruped`."""
    mech.add_shape("body", Box((0.50, 0.24, 0.08)), color=BLUE)
    mech.add_shape("body", Box((0.06, 0.16, 0.05)), Pose(xyz=(0.26, 0, 0.05)), color=GOLD)
    for name in list(mech.bodies):
        if name.endswith(("thigh", "shin")):
            is_upper = name.endswith("thigh")
            add_bar(mech, name, (0, 0, 0), (0, 0, -(upper if is_upper else lower)), 0.013, DARK if is_upper else STEEL)
    for name in list(mech.frames):
        if name.endswith("fore_foot"):
            mech.add_shape(name, Sphere(0.02), color=RED)


def dress_engine(mech: Mechanism, cylinders: int, crank: float, rod: float) -> None:
    """Crank, rods and pistons of `radial_engine`."""
    add_wheel(mech, "crank", 1.5 * crank, 0.02, 1, DARK, at=(0, 0.03, 0))
    add_bar(mech, "crank", (0, 0, crank), (0, 0.03, crank), 0.01, STEEL)
    for k in range(1, cylinders + 1):
        add_bar(mech, f"rod{k}", (0, 0, 0), (0, 0, rod), 0.01, STEEL)
        mech.add_shape(f"piston{k}", Cylinder(0.04, 0.05), Pose(xyz=(0, 0, 0.015)), color=RED)


def dress_slider_crank(mech: Mechanism, crank: float, rod: float, offset: float) -> None:
    """Crank, rod, slider and rail of `slider_crank`."""
    add_wheel(mech, "crank", 1.15 * crank, 0.03, 0, DARK, at=(-0.03, 0, 0))
    add_bar(mech, "rod", (0, 0, 0), (0, 0, rod), 0.018, STEEL)
    mech.add_shape("slider", Box((0.09, 0.12, 0.12)), color=RED)
    add_bar(mech, "world", (offset, 0, rod - 1.5 * crank), (offset, 0, rod + 1.5 * crank), 0.015, DARK)


def dress_top(mech: Mechanism, height: float, radius: float) -> None:
    """Stem and disc of `heavy_top`."""
    add_bar(mech, "top", (0, 0, 0), (0, 0, 1.35 * height), 0.05 * height, STEEL)
    add_wheel(mech, "top", radius, 0.12 * height, 2, RED, at=(0, 0, height))


def dress_board(mech: Mechanism, bowl: ArrayLike, lines: int = 11, pieces: int = 14) -> None:
    """Board and mast of `board_on_surface`, and lines of its bowl, given by control points (m, n, 3)."""
    points = np.asarray(bowl, dtype=float)
    fine = np.linspace(0.2, 0.8, pieces + 1)  # the middle of the surface
    for fixed in np.linspace(0.2, 0.8, lines):
        for along_u in (True, False):
            u, v = (fine, np.full_like(fine, fixed)) if along_u else (np.full_like(fine, fixed), fine)
            line = np.einsum("ti,tj,ijk->tk", _bernstein(points.shape[0], u), _bernstein(points.shape[1], v), points)
            for a, b in zip(line[:-1], line[1:], strict=True):
                add_bar(mech, "world", a, b, 0.012, STEEL)
    mech.add_shape("board", Box((1.1, 0.32, 0.05)), color=RED)
    add_bar(mech, "board", (0, 0, 0), (0, 0, 0.8), 0.03, DARK)
    add_bar(mech, "pendulum", (0, 0, 0), (0, 0, -0.5), 0.02, GOLD)
    mech.add_shape("pendulum", Sphere(0.1), Pose(xyz=(0, 0, -0.5)), color=GOLD)


def _bernstein(count: int, t: np.ndarray) -> np.ndarray:
    """(T, count) the polynomials of degree count - 1 at t."""
    n = count - 1
    return np.stack([comb(n, i) * t**i * (1 - t) ** (n - i) for i in range(count)], axis=1)


def dress_sleigh(mech: Mechanism, arm: float) -> None:
    """Plate and knife of `chaplygin_sleigh`."""
    mech.add_shape("sleigh", Box((2.2 * arm, 1.2 * arm, 0.1 * arm)), Pose(xyz=(0.8 * arm, 0, 0.15 * arm)), color=BLUE)
    mech.add_shape("sleigh", Box((0.7 * arm, 0.06 * arm, 0.2 * arm)), color=RED)
    mech.add_shape("sleigh", Sphere(0.12 * arm), Pose(xyz=(arm, 0, 0.25 * arm)), color=GOLD)


def dress_puppet(mech: Mechanism) -> None:
    """Trunk, head and limbs of `marionette`."""
    mech.add_shape("trunk", Box((0.10, 0.20, 0.42)), Pose(xyz=(0, 0, 0.01)), color=RED)
    mech.add_shape("head", Sphere(0.08), color=GOLD)
    for side in ("left", "right"):
        for limb, length, color in (("arm", 0.20, RED), ("forearm", 0.20, GOLD), ("thigh", 0.25, BLUE), ("shank", 0.25, DARK)):
            add_bar(mech, f"{side} {limb}", (0, 0, 0), (0, 0, -length), 0.026, color)


def dress_car(mech: Mechanism, wheelbase: float, track: float, radius: float) -> None:
    """Body and cabin of `car`; wheels are drawn from what rolls."""
    middle = wheelbase / 2
    mech.add_shape("chassis", Box((1.5 * wheelbase, 0.7 * track, 1.3 * radius)), Pose(xyz=(middle, 0, 0.9 * radius)), color=RED)
    mech.add_shape("chassis", Box((0.65 * wheelbase, 0.62 * track, 1.4 * radius)), Pose(xyz=(0.9 * middle, 0, 2.2 * radius)), color=DARK)


def dress_bicycle(mech: Mechanism) -> None:
    """Tubes of `bicycle` and its rider, z down; the frame's origin is the rear hub, the fork's where its axis meets the ground."""
    seat, head, crank = (0.25, 0, -0.62), (0.81, 0, -0.60), (0.42, 0, 0.03)
    for a, b in (((0, 0, 0), seat), ((0, 0, 0), crank), (crank, seat), (seat, head), (crank, head)):
        add_bar(mech, "frame", a, b, 0.018, BLUE)
    hub, top = (-0.08, 0, -0.35), (-0.29, 0, -0.92)
    add_bar(mech, "fork", hub, top, 0.016, STEEL)
    add_bar(mech, "fork", (-0.31, -0.25, -0.97), (-0.31, 0.25, -0.97), 0.014, DARK)
    add_bar(mech, "fork", top, (-0.31, 0, -0.97), 0.014, STEEL)
    add_bar(mech, "frame", (0.25, 0, -0.70), (0.45, 0, -1.15), 0.13, GOLD)
    mech.add_shape("frame", Sphere(0.12), Pose(xyz=(0.5, 0, -1.42)), color=GOLD)


def dress_stone(mech: Mechanism, half_axes: tuple[float, float, float]) -> None:
    """The ellipsoid of `rattleback` as slices, z up to its rim."""
    a, b, c = half_axes
    for z in np.linspace(-0.95, -0.05, 7):
        wide = float(np.sqrt(1 - z * z))
        mech.add_shape("stone", Box((1.7 * a * wide, 1.7 * b * wide, 0.15 * c)), Pose(xyz=(0, 0, z * c)), color=GREEN)
