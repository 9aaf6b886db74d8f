"""A disc, a ball or an ellipsoid that rolls without slipping.  Nonholonomic."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..checks import names, number, numbers, shown, yes_or_no
from ..errors import MechanismError
from ..joints.base import unit_vector
from .base import Constraint


class Rolling(Constraint):
    """The rim of a disc touches a plane and does not slip on it: a wheel.

    frame    its origin is the centre of the disc
    radius   m
    axis     of the disc, in the frame
    normal   of the plane, in the frame `on`; `height` its distance from the origin of that frame along it, m
    on       what it rolls on: a body or frame that carries the plane, the world if left out

    The contact keeps its height (holonomic), its velocity along the plane is zero (nonholonomic), along the way of the disc and across
    it.  The disc may lean, but not lie flat.  Rows that others imply, as of two wheels on one axle, are left out and are in
    `run.redundant`.

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("disc", joint=la.Free(), placement=la.Pose(xyz=(0, 0, 0.3)), mass=1.0, inertia=(0.02, 0.04, 0.02))
    >>> _ = mech.add_constraint(la.Rolling("disc", radius=0.3))
    >>> mech.compile().project_velocity(None, [0, 5.0, 0, 1.5, 0, 0]).round(6) + 0.0  # 5 rad/s and 1.5 m/s fit together
    array([0. , 5. , 0. , 1.5, 0. , 0. ])
    """

    def __init__(
        self,
        frame: str,
        radius: float,
        axis: ArrayLike = (0.0, 1.0, 0.0),
        normal: ArrayLike = (0.0, 0.0, 1.0),
        height: float = 0.0,
        on: str = "world",
    ):
        names(type(self).__name__, frame, on)
        where = f"Rolling on {frame!r}"
        self.frame, self.on = frame, on
        self.radius = _positive(radius, f"{where}: radius")
        self.axis = unit_vector(axis, f"{where}: axis")
        self.normal = unit_vector(normal, f"{where}: normal")
        self.height = number(height, f"{where}: height", MechanismError)

    def apply(self, builder) -> None:
        builder.add_rolling(f"Rolling({self.frame!r})", self.frame, self.radius, self.axis, self.normal, self.height, self.on)


class RollingBall(Constraint):
    """A ball touches a plane or a sphere and does not slip on it; it may spin about the normal.

    frame    its origin is the centre of the ball
    radius   m
    on       what it rolls on: a body or frame that carries the plane or the sphere, the world if left out
    normal   of the plane, in the frame `on`; `height` its distance from the origin of that frame along it, m
    sphere   radius of a sphere around the origin of `on` that the ball rolls on instead of a plane, m; inside=True: in it

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("ball", joint=la.Free(), placement=la.Pose(xyz=(0, 0, 0.1)), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> _ = mech.add_constraint(la.RollingBall("ball", radius=0.1))
    >>> run = la.simulate(mech.compile(), v=[0, 5.0, 0, 0.5, 0, 0], dt=1e-2, steps=100)
    >>> run.q[-1, :3].round(3) + 0.0
    array([0.5, 0. , 0. ])
    """

    def __init__(
        self,
        frame: str,
        radius: float,
        on: str = "world",
        normal: ArrayLike = (0.0, 0.0, 1.0),
        height: float = 0.0,
        sphere: float | None = None,
        inside: bool = False,
    ):
        names(type(self).__name__, frame, on)
        where = f"RollingBall({frame!r})"
        self.frame, self.on, self.inside = frame, on, yes_or_no(inside, f"{where}: inside", MechanismError)
        self.radius = _positive(radius, f"{where}: radius")
        self.normal = unit_vector(normal, f"{where}: normal")
        self.height = number(height, f"{where}: height", MechanismError)
        self.sphere = None if sphere is None else _positive(sphere, f"{where}: sphere")
        if self.inside and self.sphere is None:
            raise MechanismError(f"{where}: inside = True says nothing without a sphere; give its radius, sphere=...")
        if self.inside and self.sphere is not None and self.sphere <= self.radius:
            raise MechanismError(f"{where}: sphere = {self.sphere:g} m is too small for a ball of {self.radius:g} m inside; give more")

    def apply(self, builder) -> None:
        name = f"RollingBall({self.frame!r})"
        if self.sphere is None:
            builder.add_ball(name, self.frame, self.radius, self.normal, self.height, self.on)
            return
        apart = self.sphere - self.radius if self.inside else self.sphere + self.radius
        builder.add_ball_on_sphere(name, self.frame, self.radius, apart, -1.0 if self.inside else 1.0, self.on)


class RollingEllipsoid(Constraint):
    """An ellipsoid touches a plane and does not slip on it: an egg, a pebble, a rattleback.

    frame       its origin is the centre of the ellipsoid, its axes are the ellipsoid's
    half_axes   three lengths along x, y and z of the frame, m
    on          what it rolls on: a body or frame that carries the plane, the world if left out
    normal      of the plane, in the frame `on`; `height` its distance from the origin of that frame along it, m

    >>> import leastaction as la
    >>> egg = la.Mechanism()
    >>> _ = egg.add_body("egg", joint=la.Free(), placement=la.Pose(xyz=(0, 0, 0.02)), mass=0.06, inertia=(1e-5, 1e-5, 8e-6))
    >>> _ = egg.add_constraint(la.RollingEllipsoid("egg", half_axes=(0.03, 0.02, 0.02)))
    >>> egg.compile().project_velocity(None, [1.0, 0, 0, 0, 0, 0]).round(6) + 0.0  # turning about x it rolls along y
    array([ 0.294118,  0.      ,  0.      ,  0.      , -0.005882,  0.      ])
    """

    def __init__(self, frame: str, half_axes: ArrayLike, on: str = "world", normal: ArrayLike = (0.0, 0.0, 1.0), height: float = 0.0):
        names(type(self).__name__, frame, on)
        where = f"RollingEllipsoid({frame!r})"
        self.frame, self.on = frame, on
        self.half_axes = numbers(half_axes, f"{where}: half_axes", MechanismError, (3,))
        if self.half_axes.min() <= 0.0:
            raise MechanismError(f"{where}: half_axes = {shown(half_axes)} m; it needs three numbers > 0")
        self.normal = unit_vector(normal, f"{where}: normal")
        self.height = number(height, f"{where}: height", MechanismError)

    def apply(self, builder) -> None:
        builder.add_ellipsoid(f"RollingEllipsoid({self.frame!r})", self.frame, self.half_axes, self.normal, self.height, self.on)


def _positive(value: float, what: str) -> float:
    size = number(value, what, MechanismError)
    if size <= 0.0:
        raise MechanismError(f"{what} = {shown(value)} m; it needs a number > 0")
    return size
