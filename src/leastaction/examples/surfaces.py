"""Mechanisms whose joints are contacts of surfaces and curves."""

from __future__ import annotations

import numpy as np

from .. import library
from ..forces import Spring
from ..joints import Revolute, Spherical, SymbolicJoint
from ..mechanism import Mechanism
from ..pose import Pose
from .look import BLUE, GOLD, STEEL, add_ring, dress_board


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
        add_ring(mech, f"ring{i + 1}", radius, 2, tube, STEEL if i % 2 else GOLD)
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
    dress_board(mech, bowl)
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
            if shape == "ring":
                add_ring(mech, name, 0.5, 2, 0.12, BLUE if i else STEEL)
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
