"""Joints with one coordinate and a motion of their own: knee, cam, planet gear.  All turn about z."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import numbers, yes_or_no
from ..errors import MechanismError
from ..joints import SymbolicJoint
from .surfaces import positive


def four_bar_knee(
    femur: ArrayLike = ((0.008, 0.012), (-0.004, 0.006)), tibia: ArrayLike = ((-0.013, -0.018), (0.014, -0.020)), start: float = 0.0
) -> SymbolicJoint:
    """The shank on the thigh, held by two bars (the cruciate ligaments) that cross: its axis wanders as the knee bends.

    femur  ((x, y), (x, y)) where the first and the second bar end on the thigh, metres, in the frame of the joint's placement;
           with y up and x to the back positive angles flex the knee
    tibia  where they end on the shank, in the body frame, which coincides with the placement at q = 0

    The coordinate is the angle (rad) of the shank about z.  Each bar's end runs on a circle, so for a given angle the origin of the shank
    lies on two circles; it is their intersection that leads through q = 0.  If there are angles at which the circles do not meet, the
    joint ends there, with a singularity; the default bars (37 and 32 mm) reach every angle.

    >>> import leastaction as la
    >>> joint = la.library.four_bar_knee()
    >>> joint.nv  # degrees of freedom
    1
    """
    thigh, shank = (numbers(x, f"four_bar_knee: {what}", MechanismError, (2, 2)) for what, x in (("femur", femur), ("tibia", tibia)))

    def pose(q: Any, sp: Any, p: Any) -> Any:
        (a, b), (c, d) = ([sp.Matrix(list(point)) for point in pair] for pair in (p.femur, p.tibia))
        R = sp.Matrix([[sp.cos(q[0]), -sp.sin(q[0])], [sp.sin(q[0]), sp.cos(q[0])]])
        first, between = a - R * c, (b - R * d) - (a - R * c)  # centre of the first circle, and from it to the second
        length1, length2 = (a - c).dot(a - c), (b - d).dot(b - d)  # squares of the bars
        distance = between.dot(between)
        along = (length1 - length2 + distance) / (2 * distance)
        across = sp.sqrt(length1 / distance - along**2)
        at_zero = (b - d) - (a - c)
        side = sp.sign(at_zero[0] * (c - a)[1] - at_zero[1] * (c - a)[0])
        x, y = first + along * between + side * across * sp.Matrix([-between[1], between[0]])
        return sp.move(x, y, 0) @ sp.rot_z(q[0])

    return SymbolicJoint("four-bar knee", pose, 1, parameters={"femur": thigh, "tibia": shank}, coordinates=["flexion"], start=[start])


def barrel_cam(
    lift: Callable[..., Any] | None = None,
    *,
    cosine: ArrayLike = (),
    sine: ArrayLike = (),
    parameters: Mapping[str, ArrayLike] | None = None,
) -> SymbolicJoint:
    """A drum that turns by the angle q about z and is lifted along it by its track: a screw whose pitch changes as it turns.

    lift           function (angle, sp, p) -> height in metres, with `parameters` as p.name; or
    cosine, sine   height = sum over k = 1, 2, ... of cosine[k-1] cos(k q) + sine[k-1] sin(k q), metres; both are parameters of the joint

    >>> import leastaction as la
    >>> joint = la.library.barrel_cam(cosine=[0.0, 0.05])
    >>> joint.nv  # degrees of freedom
    1
    """
    a, b = (np.atleast_1d(numbers(x, f"barrel_cam: {what}", MechanismError)) for what, x in (("cosine", cosine), ("sine", sine)))
    if (lift is None) == (a.size + b.size == 0):
        raise MechanismError("barrel_cam: give the track either as lift=function or by its coefficients cosine= and sine=")
    if lift is not None:
        return SymbolicJoint("barrel cam", lambda q, sp, p: sp.rot_z(q[0]) @ sp.move(0, 0, lift(q[0], sp, p)), 1,
                             parameters=parameters, coordinates=["angle"])  # fmt: skip

    def waves(q: Any, sp: Any, p: Any) -> Any:
        even = [x * sp.cos(k * q[0]) for k, x in enumerate(p.cosine, start=1)]
        odd = [x * sp.sin(k * q[0]) for k, x in enumerate(p.sine, start=1)]
        return sp.rot_z(q[0]) @ sp.move(0, 0, sp.Add(*even, *odd))

    return SymbolicJoint("barrel cam", waves, 1, parameters={"cosine": a, "sine": b}, coordinates=["angle"])


def planet_gear(fixed: float, planet: float, inside: bool = False) -> SymbolicJoint:
    """A wheel of radius `planet` that rolls about z on a fixed wheel of radius `fixed`, or inside a fixed ring.

    The coordinate is the angle (rad) of the line between the centres; the origin of the body is the planet's centre.

    >>> import leastaction as la
    >>> joint = la.library.planet_gear(fixed=0.3, planet=0.1)
    >>> joint.nv  # degrees of freedom
    1
    """
    fixed, planet = positive(fixed, "planet_gear: fixed"), positive(planet, "planet_gear: planet")
    if yes_or_no(inside, "planet_gear: inside", MechanismError) and planet >= fixed:
        raise MechanismError(f"planet_gear: a planet of {planet:g} m does not fit inside a ring of {fixed:g} m")

    def pose(q: Any, sp: Any, p: Any) -> Any:
        return sp.rot_z(q[0]) @ sp.move(p.fixed + p.planet, 0, 0) @ sp.rot_z(q[0] * p.fixed / p.planet)

    # inside the ring the planet turns the other way: as if its radius were negative
    signed = -planet if inside else planet
    return SymbolicJoint("planet gear", pose, 1, parameters={"fixed": fixed, "planet": signed}, coordinates=["angle"])
