"""Potentials: springs between two points, and energies written by the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..checks import name as checked_name
from ..checks import names, number, shown
from ..errors import MechanismError
from .base import Force

if TYPE_CHECKING:
    from ..symbolic.potential import PotentialExpression


class LinearSpring(Force):
    """Spring between the origins of two bodies or frames with energy k/2 (distance - length)^2.

    `stiffness` in N/m, >= 0; `length` at rest in m, >= 0.  With length 0 the points may meet; otherwise the force has no
    direction where they do, and a simulation that gets there says so.

    >>> import leastaction as la
    >>> mech = la.examples.chain(2)
    >>> _ = mech.add_frame("hook", placement=la.Pose(xyz=(1, 0, 0)))
    >>> _ = mech.add_force(la.LinearSpring("tip", "hook", stiffness=50.0, length=0.5))
    """

    def __init__(self, a: str, b: str, stiffness: float, length: float = 0.0):
        self.a, self.b = (checked_name(x, f"LinearSpring: frame {i}") for i, x in enumerate((a, b), start=1))
        where = f"LinearSpring({a!r}, {b!r})"
        self.stiffness = number(stiffness, f"{where}: stiffness", MechanismError)
        self.length = number(length, f"{where}: length", MechanismError)
        if self.stiffness < 0.0 or self.length < 0.0:
            raise MechanismError(f"{where}: stiffness = {shown(stiffness)} N/m, length = {shown(length)} m; both need numbers >= 0")

    def apply(self, builder) -> None:
        builder.add_point_spring(f"LinearSpring({self.a!r}, {self.b!r})", self.a, self.b, self.stiffness, self.length)


class NonlinearSpring(Force):
    """Spring whose energy is your function of a distance or of one coordinate.

    energy   function (x, sp) or (x, sp, p) -> energy in J as a SymPy expression of x; `sp` knows every name of SymPy, `p.name` are
             the `parameters`.  The force is its exact derivative.  Or text in x and the names of the parameters: "50 * x**2"
    between  names of two bodies or frames: x is the distance of their origins, m
    joint    or the name of a joint with one coordinate: x is that coordinate, m or rad

    >>> import leastaction as la
    >>> hardening = la.NonlinearSpring(lambda x, sp: 50 * x**2 + 400 * x**4, joint="cart")
    >>> rubber = la.NonlinearSpring(lambda x, sp, p: p.k * (x - sp.log(x)), between=("tip", "world"), parameters={"k": 20.0})
    """

    def __init__(
        self,
        energy: Callable[..., Any] | str,
        *,
        between: tuple[str, str] | None = None,
        joint: str | None = None,
        parameters: dict[str, float] | None = None,
    ):
        if not isinstance(energy, str) and not callable(energy):
            raise MechanismError(f"NonlinearSpring: energy = {shown(energy)} is not a function; give for example lambda x, sp: 50 * x**2")
        if (between is None) == (joint is None):
            raise MechanismError(f"NonlinearSpring: between = {shown(between)}, joint = {shown(joint)}; give one of the two")
        if between is not None and not (isinstance(between, (tuple, list)) and len(between) == 2):
            raise MechanismError(f"NonlinearSpring: between = {shown(between)}; give the names of two bodies or frames")
        names("NonlinearSpring", *(between or (joint,)))
        self.energy, self.between, self.joint = energy, between, joint
        self.parameters = _parameters(parameters, "NonlinearSpring")

    def apply(self, builder) -> None:
        if self.between is not None:
            a, b = self.between
            builder.add_point_spring(f"NonlinearSpring({a!r}, {b!r})", a, b, 0.0, 0.0, self.expression())
        else:
            builder.add_potential(f"NonlinearSpring on joint {self.joint!r}", (self.joint,), self.expression)

    def expression(self, size: int = 1) -> PotentialExpression:
        from ..symbolic.potential import PotentialExpression

        if size != 1:
            raise MechanismError(f"NonlinearSpring on joint {self.joint!r}, which has {size} coordinates; give a UserPotential of them")
        return PotentialExpression("NonlinearSpring", self.energy, 1, self.parameters, single=True)


class UserPotential(Force):
    """Potential energy that you write as a function of joint coordinates; its force is the exact gradient.

    energy   function (q, sp) or (q, sp, p) -> energy in J; q are the coordinates of `joints` in this order.  Or text in q0, q1, ...
             and the names of the parameters
    joints   names of joints; ball and free joints have no coordinates a function could be taken of

    >>> import leastaction as la
    >>> coupling = la.UserPotential(lambda q, sp: 3 * sp.cos(q[0] - q[1]), joints=["link1", "link2"])
    """

    def __init__(self, energy: Callable[..., Any] | str, joints: list[str] | tuple[str, ...], parameters: dict[str, float] | None = None):
        if not isinstance(energy, str) and not callable(energy):
            raise MechanismError(f"UserPotential: energy = {shown(energy)} is not a function; give for example lambda q, sp: sp.cos(q[0])")
        if not isinstance(joints, (tuple, list)) or not joints:
            raise MechanismError(f"UserPotential: joints = {shown(joints)}; give a list of names of joints")
        self.energy, self.joints = energy, tuple(joints)
        self.parameters = _parameters(parameters, "UserPotential")

    def apply(self, builder) -> None:
        builder.add_potential(f"UserPotential of {', '.join(map(repr, self.joints))}", self.joints, self.expression)

    def expression(self, size: int) -> PotentialExpression:
        from ..symbolic.potential import PotentialExpression

        return PotentialExpression("UserPotential", self.energy, size, self.parameters)


def _parameters(given: dict[str, float] | None, what: str) -> dict[str, float]:
    if given is not None and not isinstance(given, Mapping):
        raise MechanismError(f"{what}: parameters = {shown(given)}; give numbers by name, as in {{'k': 20.0}}")
    for key in given or {}:
        if not isinstance(key, str) or not key.isidentifier():
            raise MechanismError(f"{what}: parameter name {key!r} is not an identifier; give a name such as k")
    return {key: number(value, f"{what}: parameter {key!r}", MechanismError) for key, value in (given or {}).items()}
