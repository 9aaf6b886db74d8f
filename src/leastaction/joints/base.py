"""What a joint is.

A joint is a class with a few numbers (below) and a file of kernels.  Inside the kernels the joint works in its
*canonical frame* (a revolute joint turns about z, ...); `frame()` says how the user's axes lie in it, and the
compiler turns the body frame accordingly, so that no kernel multiplies with an axis.

The kernels of a joint, all module-level functions of its file, with `q[k:]` the joint's coordinates at the start of
a step, `d[v:]` their increment over the step (left-trivialised chart for ball and free joints), f in {0, 1/2, 1}:

    pose(param, i, q, k, d, v, f)            R, p           pose of the joint at the fraction f of the step
    displacement(param, i, q, k, d, v)       w, u, t        X(q)^-1 X(q + d) as quaternion and translation,
                                                            computed without subtracting nearly equal numbers
    columns(param, i, q, k, d, v, f, S)                     S[v+j, :] = body twist at fraction f (0 or 1) per unit
                                                            rate of coordinate j (f = 0) or of increment j (f = 1)
    mid_columns(param, i, q, k, d, v, S0, S1, S2)           twist of the midpoint pose per unit variation of the start
                                                            (S0), of the increment (S1) and of the end (S2)
    mid_curvature(..., E)                                   how S0 changes with the increment, contracted with a wrench
    advance(q, k, d, v)                                     q <- q + d in place
    bias(param, i, q, k, qd, v)              a, l           (dS/dt) qd, only needed in continuous time
    rate(q, k, qd, v, out)                                  time derivative of the coordinates
    spring(q, k, rest, d, v, f, stiffness, g)  energy       gradient added to g[v:], joint spring at fraction f (0, 1/2)
    spring_curvature(..., E)                                derivative of the midpoint spring force
    carry(d, v, r, target)                                  target -= r, a momentum at the start of a step seen from its end
    end_increment(d, v, out)                                the increment in the axes of the step's end

Joints whose coordinates are plain numbers need only pose, displacement, columns and, if S is not constant, bias and
mid_curvature; `dispatch.py`, the only place that knows which joint is which, has defaults for the rest.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import number, numbers
from ..errors import MechanismError


class Joint:
    """Base class.  Subclasses set the class attributes and override `frame` and `parameters` where they need to."""

    kind: ClassVar[int]  #: number in joints/dispatch.py
    nq: ClassVar[int]  #: coordinates
    nv: ClassVar[int]  #: degrees of freedom
    coordinates: ClassVar[tuple[str, ...]]  #: what the coordinates mean, for messages and plots
    angular: ClassVar[tuple[bool, ...]]  #: per degree of freedom: angle (rad) or length (m)
    has_quaternion: ClassVar[bool] = False  #: are the last four coordinates a unit quaternion, the velocity a twist?
    charts: int = 1  #: with two, the last coordinate says which one a joint is in

    def frame(self) -> NDArray[np.float64]:
        """Rotation whose columns are the canonical x, y, z axes in the body frame."""
        return np.eye(3)

    def parameters(self) -> tuple[float, ...]:
        """Numbers the kernels of this joint read, at most `PARAMETERS` of them."""
        return ()

    def columns_at_zero(self) -> NDArray[np.float64]:
        """(nv, 6) body twists (angular, linear) per unit coordinate rate in the zero position, canonical frame."""
        raise TypeError(f"{type(self).__name__} does not say how it moves: override columns_at_zero()")

    def neutral(self) -> NDArray[np.float64]:
        """Coordinates of the joint's zero position."""
        return np.zeros(self.nq)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={_short(v)}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({inside})"


def _short(value) -> str:
    if isinstance(value, np.ndarray):
        return "(" + ", ".join(f"{x:g}" for x in value.ravel()) + ")"
    return repr(value)


def unit_vector(value: ArrayLike, what: str) -> NDArray[np.float64]:
    """`value` as a unit vector, or an error that names it."""
    v = numbers(value, what, MechanismError, (3,), finite=False)
    length = float(np.linalg.norm(v))
    if not np.isfinite(length) or length < 1e-12:
        raise MechanismError(f"{what} = {value!r} has no direction; give a finite vector of non-zero length, for example (0, 0, 1)")
    return v / length


def finite(value: float, what: str) -> float:
    return number(value, what, MechanismError)


def frame_with_z(z: NDArray[np.float64], x_hint: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Right-handed frame with the given z axis; x as close as possible to the hint."""
    if x_hint is None:
        if np.array_equal(z, (0.0, 0.0, 1.0)):
            return np.eye(3)
        x_hint = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x_hint - z * (z @ x_hint)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
