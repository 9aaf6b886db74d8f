"""A force written by the user in Python and compiled with Numba."""

from __future__ import annotations

from collections.abc import Callable

from ..checks import shown
from ..errors import MechanismError
from .base import Force


class CustomForce(Force):
    """Generalised force `function(t, q, v, tau)` that adds to `tau` (one entry per degree of freedom).

    The function is compiled with Numba when the mechanism is compiled, so it may use arithmetic, `math`, NumPy
    scalars and indexing.  It returns nothing; q and v are read-only, indices are checked, and an exception ends the run with its line.
    Over a step from (t, q) to (t + h, q + d) it acts as two half impulses, h/2 at each end, both at the mean
    velocity d/h of the step (the discrete Lagrange-d'Alembert principle).

    >>> def drag(t, q, v, tau):
    ...     for i in range(len(v)):
    ...         tau[i] -= 0.1 * v[i] * abs(v[i])
    """

    def __init__(self, function: Callable[..., None]):
        if not callable(function):
            raise MechanismError(f"CustomForce got {shown(function)}; give a function f(t, q, v, tau)")
        self.function = function

    def apply(self, builder) -> None:
        builder.add_custom(self.function)
