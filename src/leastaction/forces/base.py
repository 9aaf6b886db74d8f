"""What a force is: a description that says once what it does."""

from __future__ import annotations

from ..compiling.portable import Carrier
from ..errors import MechanismError


class Force(Carrier):
    """Base class of everything `Mechanism.add_force` takes.

    A force has one method, `apply(builder)`, in which it says what it does by methods of the builder (`leastaction.builders.LoadBuilder`):

    on a body              add_wrench, add_body_force
    between two bodies     add_point_spring, add_body_force with seen_from
    of coordinates         add_potential, add_spring, add_damper, add_friction
    in joint space         add_custom

    That is all there is to a force: integrators, energies, `la.linearize` and the independent action of `leastaction.testing` take it from
    there.  The class may live in any module; names it acts on are names of bodies, frames and joints as the user wrote them.

    To have a law on a body checked against a second formulation (`leastaction.testing.check_force`), a force may also have

    reference_wrench(t, T, V) -> (6,)     moment and force at the place the law acts at, in its axes, with NumPy: T (4, 4) is the pose of
                                          that place in the world, V (6,) its angular and linear velocity in its own axes
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if not callable(cls.apply):
            raise MechanismError(f"{cls.__name__}.apply = {cls.apply!r} is not a method; write apply(self, builder)")

    def apply(self, builder) -> None:
        raise MechanismError(f"{type(self).__name__} does not say what it does; write a method apply(self, builder)")

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
        return f"{type(self).__name__}({inside})"
