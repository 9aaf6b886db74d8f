"""Constraints written by the user as an expression of joint coordinates and time, and two that are so often needed that they have names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..checks import name as checked_name
from ..checks import names, shown
from ..errors import MechanismError
from .base import Constraint


class SymbolicConstraint(Constraint):
    """h = 0 for an expression h of joint coordinates, and of time if it is to be driven.

    name         what it is called in messages
    joints       names of the joints it depends on; each gives its coordinates in turn (joints without quaternions)
    expression   function (q, sp) or (q, t, sp) -> h: `q` are the coordinates of those joints, `sp` is SymPy; or text, "sin(q0) + q1 / 2"

    >>> import leastaction as la
    >>> mech = la.examples.double_pendulum()
    >>> _ = mech.add_constraint(la.SymbolicConstraint("linkage", ["upper", "lower"], lambda q, sp: sp.sin(q[0]) + q[1] / 2))
    >>> mech.compile().assemble({"upper": 0.3}, hold=["upper"]).round(6)
    array([ 0.3    , -0.59104])
    """

    name: str

    def __init__(self, name: str, joints: Sequence[str], expression: Callable[..., Any] | str):
        self._concern(name, joints)
        if not isinstance(expression, str) and not callable(expression):
            raise MechanismError(
                f"constraint {name!r}: expression = {shown(expression)} is not a function; give for example "
                "lambda q, sp: sp.sin(q[0]) - q[1]"
            )
        self.expression = expression

    def _concern(self, name: str, joints: Sequence[str]) -> None:
        self.name = checked_name(name, "name of the constraint")
        self.joints = (joints,) if isinstance(joints, str) else tuple(joints) if isinstance(joints, (tuple, list)) else ()
        names(f"constraint {name!r}", *self.joints)
        if not self.joints or len(set(self.joints)) != len(self.joints):
            raise MechanismError(f"constraint {name!r}: joints = {shown(joints)}; give the names of one or more joints, each once")

    def _written(self, q: tuple[Any, ...], t: Any) -> Any:
        """h of these coordinates and the time: an expression, or text that spells one."""
        import sympy

        if isinstance(self.expression, str):
            return self.expression
        arguments = (q, t, sympy) if len(inspect.signature(self.expression).parameters) > 2 else (q, sympy)
        return self.expression(*arguments)

    def apply(self, builder) -> None:
        builder.add_function(self.name, self.joints, self._compile, self._is_driven)

    def _of_symbols(self, q: tuple[Any, ...], t: Any) -> Any:
        return self._read(lambda: self._written(q, t), (*q, t), "the coordinates q and the time t")

    def _is_driven(self, count: int) -> bool:
        t = _time()
        return t in self._of_symbols(_symbols("q", count), t).free_symbols

    def _compile(self, count: int):
        """Compiled h of so many coordinates."""
        from ..symbolic.constraint_module import constraint_module
        from ..symbolic.reading import shown

        q, t = _symbols("q", count), _time()
        h = self._of_symbols(q, t)
        if not h.free_symbols & set(q):
            raise MechanismError(f"constraint {self.name!r}: h = {shown(h)} depends on no coordinate, so no motion can satisfy it")
        return constraint_module(h, q, t).compiled

    def _read(self, written: Callable[[], Any], known: tuple[Any, ...], knows: str) -> Any:
        """What the user wrote as a SymPy expression of the known symbols, or an error that names the constraint."""
        from ..symbolic.graph import Graph
        from ..symbolic.reading import expression as read

        where = f"constraint {self.name!r}"
        try:
            h = read(written(), f"{where}: its expression", {s.name: s for s in known})
            Graph().of(h)
        except MechanismError as error:
            raise MechanismError(f"{where}: {str(error).replace('the pose contains', 'its expression contains')}") from None
        except Exception as error:
            raise MechanismError(f"{where}: its expression fails with {type(error).__name__}: {error}") from error
        unknown = sorted(str(s) for s in h.free_symbols - set(known))
        if unknown:
            raise MechanismError(f"{where} depends on {', '.join(unknown)}; it knows only {knows}")
        return h


def _symbols(letter: str, count: int) -> tuple[Any, ...]:
    import sympy

    return tuple(sympy.Symbol(f"{letter}{j}", real=True) for j in range(count))


def _time() -> Any:
    import sympy

    return sympy.Symbol("t", real=True)


class Prescribed(SymbolicConstraint):
    """A joint coordinate that follows a function of time: q = motion(t).

    joint    name of a joint with one degree of freedom
    motion   function (t, sp) -> coordinate, a SymPy expression: lambda t, sp: 0.3 * sp.sin(2 * t); or text, "0.3 * sin(2 * t)"; or a
             number, which locks the joint

    The force that drives it does work, so the energy is not kept.

    >>> import leastaction as la
    >>> mech = la.examples.chain(2)
    >>> _ = mech.add_constraint(la.Prescribed("link1", "0.3 * sin(2 * t)"))
    >>> run = la.simulate(mech.compile(), dt=1e-2, duration=1.0, v={"link1": 0.6})
    >>> run["link1"][-1].round(6)  # 0.3 sin 2
    array([0.272789])
    """

    def __init__(self, joint: str, motion: Callable[..., Any] | str | float):
        names("Prescribed", joint)
        self._concern(f"Prescribed({joint!r})", (joint,))
        self.motion = motion

    def _written(self, q: tuple[Any, ...], t: Any) -> Any:
        import sympy

        from ..symbolic.reading import expression

        place = self.motion(t, sympy) if callable(self.motion) else self.motion
        return q[0] - expression(place, "its motion", {"t": t})


class Cam(SymbolicConstraint):
    """A joint that follows another one: q1 = profile(q2), for joints with one degree of freedom each.

    follower, driver   names of the joints
    profile            function (x, sp) -> coordinate of the follower, a SymPy expression of the driver's coordinate x; or text in x

    >>> import leastaction as la
    >>> mech = la.Mechanism()
    >>> _ = mech.add_body("shaft", joint=la.Revolute(axis=(0, 1, 0)), mass=1.0, inertia=(0.01, 0.01, 0.01))
    >>> _ = mech.add_body("valve", joint=la.Prismatic(axis=(0, 0, 1)), mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    >>> _ = mech.add_constraint(la.Cam("valve", "shaft", "0.01 * (1 - cos(x))"))
    """

    def __init__(self, follower: str, driver: str, profile: Callable[..., Any] | str):
        names("Cam", follower, driver)
        name = f"Cam({follower!r}, {driver!r})"
        if not isinstance(profile, str) and not callable(profile):
            raise MechanismError(f"{name}: profile = {shown(profile)} is not a function; give for example lambda x, sp: 0.1 * sp.cos(x)")
        self._concern(name, (follower, driver))
        self.profile = profile

    def _written(self, q: tuple[Any, ...], t: Any) -> Any:
        import sympy

        from ..symbolic.reading import expression

        if len(q) != 2:
            raise MechanismError(f"its joints have {len(q)} coordinates together; a cam couples two joints with one each")
        place = self.profile if isinstance(self.profile, str) else self.profile(q[1], sympy)
        return q[0] - expression(place, "its profile", {"x": q[1]})


class VelocityConstraint(SymbolicConstraint):
    """g = A(q, t) v - b(q, t) = 0 for an expression g that is affine in joint velocities.  Nonholonomic.

    name         what it is called in messages
    joints       names of the joints it depends on; each gives its coordinates and velocities in turn (joints without quaternions)
    expression   function (q, v, sp) or (q, v, t, sp) -> g: coordinates and velocities of those joints, `sp` is SymPy; or text,
                 "v0 * sin(q2) - v1 * cos(q2)"

    Kept by the discrete Lagrange-d'Alembert principle, in joint coordinates (`la.Variational`).  A right-hand side b drives the mechanism:
    the force that does so does work, so the energy is not kept.

    >>> import leastaction as la
    >>> mech = la.Mechanism(gravity=(0, 0, 0))
    >>> _ = mech.add_body("sled", joint=la.Planar(), mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    >>> _ = mech.add_constraint(la.VelocityConstraint("edge", ["sled"], lambda q, v, sp: v[0] * sp.sin(q[2]) - v[1] * sp.cos(q[2])))
    >>> mech.compile().project_velocity({"sled": [0, 0, 0]}, [1.0, 0.5, 0.0]).round(6)
    array([1.      , 0.      , 0.789474])
    """

    def apply(self, builder) -> None:
        builder.add_speeds(self.name, self.joints, self._compile, self._is_driven)

    def _of_rates(self, q: tuple[Any, ...], v: tuple[Any, ...], t: Any) -> Any:
        import sympy

        def written() -> Any:
            if isinstance(self.expression, str):
                return self.expression
            takes_time = len(inspect.signature(self.expression).parameters) > 3
            return self.expression(*((q, v, t, sympy) if takes_time else (q, v, sympy)))

        return self._read(written, (*q, *v, t), "the coordinates q, the velocities v and the time t")

    def _is_driven(self, count: int) -> bool:
        v = _symbols("v", count)
        return self._of_rates(_symbols("q", count), v, _time()).subs(dict.fromkeys(v, 0)) != 0

    def _compile(self, count: int):
        """Compiled g of so many coordinates and velocities."""
        import sympy

        from ..symbolic.constraint_module import speed_module

        q, v, t = _symbols("q", count), _symbols("v", count), _time()
        g = self._of_rates(q, v, t)
        slopes = [sympy.diff(g, s) for s in v]
        bent = sorted({str(s) for slope in slopes for s in slope.free_symbols & set(v)})
        if any(sympy.simplify(sympy.diff(slope, s)) != 0 for slope in slopes for s in slope.free_symbols & set(v)):
            raise MechanismError(
                f"constraint {self.name!r} is not affine in the velocities ({', '.join(bent)}); give A(q, t) v - b(q, t), in which each "
                "velocity has a factor without velocities"
            )
        if not any(slope != 0 for slope in slopes):
            raise MechanismError(
                f"constraint {self.name!r} depends on no velocity; give A(q, t) v - b(q, t), or a SymbolicConstraint for coordinates"
            )
        return speed_module(g, q, v, t).compiled
