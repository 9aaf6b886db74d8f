"""What a joint is: a class that answers for itself, and a file of kernels.

Inside the kernels the joint works in its *canonical frame* (a revolute joint turns about z, ...); `frame()` says how the user's axes
lie in it, and the compiler turns the body frame accordingly, so that no kernel multiplies with an axis.

The kernels of a joint are module-level functions of its file.  q[k:] are the joint's coordinates at the start of a step, d[v:] their
increment over the step (nv numbers; a Cayley vector, and a translation, for ball and free joints), f in {0, 1/2, 1} a fraction of
the step, param[i] the numbers of `parameters()`.  Every joint has

    pose(param, i, q, k, d, v, f)                  R, p     pose of the joint at the fraction f of the step
    displacement(param, i, q, k, d, v)             w, u, shift  X(q)^-1 X(q + d) as quaternion and translation,
                                                            computed without subtracting nearly equal numbers
    columns(param, i, q, k, d, v, f, S)                     S[v+j, :] = body twist at fraction f (0 or 1) per unit
                                                            rate of coordinate j (f = 0) or of increment j (f = 1)
    coordinates_of(param, i, R, p, old, k, out)             out[k:] = coordinates of the pose (R, p), angles and signs of
                                                            quaternions closest to old[k:]; of a pose near the joint's, a best fit

Joints whose columns depend on their coordinates also have

    bias(param, i, q, k, rate, v)                  a, l     (dS/dt) rate
    mid_curvature(param, q, k, d, v, nv, S1, G, i, E, scratch)
                                                            how mid_columns S0 changes with the increment, contracted with the
                                                            wrench G[i]; if left out, it follows from bias

Joints whose columns are neither orthonormal (`orthonormal`) nor their own choice of dual get the smallest wrenches Z with Z S = 1;

    dual_column(S, dual, j)                        a, l     is that choice

Joints whose velocity is a twist (`has_quaternion`) also have what is the same for all plain coordinates:

    advance(q, k, d, v, nv)                                 q <- q + d in place
    increment(q0, q1, k, v, nv, at_end, out)                out[v:] = d that leads from q0 to q1, in the axes of q0 or of q1
    end_increment(d, v, nv, out)                            out[v:] = d in the axes of the step's end
    increment_slope(d, v, j, a, l)                 a, l     derivative of increment j in the pose of the end; (a, l): dual column there
    carry(d, v, nv, r, target)                              target -= r, a momentum at the start of a step seen from its end
    rate(q, k, velocity, v, nv, out)                        out[k:] = time derivative of the coordinates
    normalise(q, k)                                         q[k:] back on its manifold
    mid_columns(param, i, q, k, d, v, nv, S0, S1, S2)       twist of the midpoint pose per unit variation of the start (S0), of
                                                            the increment (S1) and of the end (S2)
    spring(q, k, rest, d, v, nv, f, stiffness, g)  energy   gradient added to g[v:], joint spring at fraction f (0, 1/2)
    spring_curvature(q, k, rest, d, v, nv, stiffness, S0, S1, E)
                                                            E += derivative of the midpoint spring force
    retract(retraction, x, v, nv, d)                        d[v:] = increment tau(x), x a displacement in the joint's algebra
    retraction_cotangent(retraction, x, v, nv, sign, p)     p[v:] <- (dtau^-1 at sign x)' p
    rotate_and_slide(x, v, nv, d)                           d[v:] = increment that turns by exp of the rotation vector in x and
                                                            slides by the rest of x
    canonical_rate(x, v, nv, velocity, out)                 out[v:] = dexp^-1_{-x} velocity, to second order in x

`dispatch.py` makes of these one function each that chooses by the joint's number.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import number, numbers, shown
from ..errors import MechanismError
from .primitives import Primitive
from .rows import Row

Array = NDArray[Any]  #: of references: float, complex or mpmath numbers

_TINY = 1e-40  # of complex steps

# values of Joint.turns
ABOUT_Z, FREELY = "about z", "freely"
# values of Joint.drawn
AS_RAIL, AS_ANCHOR, NOT_DRAWN = "as rail", "as anchor", "not drawn"


class Joint:
    """Base class.  Subclasses set the class attributes, say `reference_pose` and `reference_coordinates`, and override what else differs.

    What is here holds for joints whose coordinates are plain numbers.
    """

    nq: ClassVar[int]  #: coordinates
    nv: ClassVar[int]  #: degrees of freedom
    coordinates: ClassVar[tuple[str, ...]]  #: what the coordinates mean, for messages and plots
    angular: ClassVar[tuple[bool, ...]]  #: per degree of freedom: angle (rad) or length (m)
    has_quaternion: ClassVar[bool] = False  #: are the last four coordinates a unit quaternion, the velocity a twist?
    charts: int = 1  #: with two, the last coordinate says which one a joint is in
    ranges: tuple[tuple[float, float] | None, ...] = ()  #: what each coordinate has to stay in, where a joint says so
    leave: str = "error"  #: what it is to leave a range: "error", "stop" (the run ends there) or "continue" (it is not looked at)
    orthonormal: ClassVar[bool] = False  #: are the columns orthonormal at every q?  Then each is its own dual
    drawn: ClassVar[str] = AS_RAIL  #: a line from its place to its body, AS_ANCHOR: only its place, or NOT_DRAWN
    #: what the fast paths of kernels know: ABOUT_Z, the pose is a rotation by q about z; FREELY, the columns at the start of a step
    #: are the three unit rotations and the increment is a Cayley vector
    turns: ClassVar[str] = ""

    @property
    def kind(self) -> int:
        """The number compiled code knows the joint's type by: its place in the list joints.ALL."""
        raise MechanismError(
            f"{type(self).__name__} is not in the list joints.ALL, so compiled code does not know it; enter it there "
            "(docs/extending.md), or describe the joint by its pose as a SymbolicJoint"
        )

    # ------------------------------------------------------------------------------------------------ what the compiler asks

    def frame(self) -> NDArray[np.float64]:
        """Rotation whose columns are the canonical x, y, z axes in the body frame."""
        return np.eye(3)

    def parameters(self) -> tuple[float, ...]:
        """Numbers the kernels of this joint read, at most `PARAMETERS` of them."""
        return ()

    def neutral(self) -> NDArray[np.float64]:
        """Coordinates of the joint's zero position."""
        return np.zeros(self.nq)

    def columns_at_zero(self) -> NDArray[np.float64]:
        """(nv, 6) body twists (angular, linear) per unit coordinate rate in the zero position, canonical frame."""
        C = self.frame()
        X = self.reference_pose(self.neutral() + 1j * _TINY * np.eye(self.nv))
        motion = np.swapaxes(X[..., :3, :3].real, -1, -2) @ X[..., :3, :].imag / _TINY
        omega = np.stack([motion[:, 2, 1], motion[:, 0, 2], motion[:, 1, 0]], -1)
        return np.concatenate([omega @ C, motion[:, :, 3] @ C], -1)

    def constraint_rows(self) -> tuple[Row, ...]:
        """What the joint forbids, as rows between its two canonical frames; 6 - nv of them."""
        raise MechanismError(f"{self!r} cannot be written as a constraint between two bodies; give a joint with rows in constraint_rows()")

    def primitives(self) -> tuple[Primitive, ...] | None:
        """The motions by one coordinate each that the joint is the product of, parent first; None if it is not such a product."""
        return None

    def limits(self) -> NDArray[np.float64]:
        """(nq, 2) lower and upper bound of each coordinate; infinite where there is none.  Simulations do not enforce them."""
        return np.tile([-np.inf, np.inf], (self.nq, 1))

    def per_freedom(self, given: NDArray[np.float64], what: str) -> NDArray[np.float64]:
        """(nv,) numbers from those given: one for all degrees of freedom, or one for each."""
        if given.shape not in ((), (self.nv,)):
            wanted = f"one number{f' or {self.nv} of them' * (self.nv > 1)}"
            raise MechanismError(f"{what} = {given.tolist()!r} has shape {given.shape}; it needs {wanted}")
        return np.broadcast_to(given, (self.nv,)).copy()

    def stiffness_per_freedom(self, given: NDArray[np.float64], what: str) -> NDArray[np.float64]:
        """(nv,) stiffnesses from those a Spring was given."""
        return self.per_freedom(given, what)

    # ------------------------------------------------------------------------------------------------ random joints

    @classmethod
    def sample(cls, rng: np.random.Generator) -> Joint:
        """A random joint of this type; to override where the constructor takes arguments."""
        two_directions(rng)  # every type draws these, so that a seed means the same tree whatever its joints are
        return cls()

    def sample_coordinates(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Random coordinates (nq,) within the limits, of the size of a radian and a metre."""
        low, high = self.limits().T
        return np.clip(rng.normal(size=self.nq), low, high)

    # ------------------------------------------------------------ the joint once more, from definitions (joints/reference.py)

    def reference_pose(self, q: Array) -> Array:
        """4x4 pose (..., 4, 4) at q (..., nq) of any number type, in the frame of the joint's placement, user's axes.

        Independent of the kernels: what everything else is tested against.
        """
        raise TypeError(f"{type(self).__name__} does not say where it puts its body: override reference_pose(q)")

    def reference_coordinates(self, R: Array, p: Array) -> Array:
        """(..., nq) coordinates of the pose R (..., 3, 3), p (..., 3), real or complex, canonical frame; angles in (-pi, pi]."""
        raise TypeError(f"{type(self).__name__} does not say where it is: override reference_coordinates(R, p)")

    def reference_advance(self, q: Array, d: Array) -> Array:
        """q + d; of small d also the variation q exp(d)."""
        return np.concatenate([q[..., : self.nv] + d, q[..., self.nv :]], -1)  # a chart stays

    def reference_increment(self, q0: Array, q1: Array) -> Array:
        """d (..., nv) with reference_advance(q0, d) = q1."""
        return (q1 - q0)[..., : self.nv]

    def reference_middle(self, q0: Array, q1: Array) -> Array:
        """Coordinates of the midpoint of a step."""
        return (q0 + q1) / 2

    def dual_columns(self, S: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z (nv, 6) with Z S' = 1 for the columns S (nv, 6): wrenches by which unit joint forces act; the smallest ones."""
        return np.linalg.pinv(S).T

    # ------------------------------------------------------------------------------------ NumPy answers to linearisation and references

    def coordinate_rates(self, q: NDArray[np.float64], velocity: NDArray[np.float64]) -> NDArray[np.float64]:
        """dq/dt (nq,) for the joint velocity (nv,)."""
        return np.append(velocity, np.zeros(self.nq - self.nv))  # a chart stays

    def increment_rate(self, d: NDArray[np.float64], velocity: NDArray[np.float64]) -> NDArray[np.float64]:
        """dd/dt (nv,) of the increment d when the end of the step moves with this joint velocity."""
        return velocity.copy()

    def increment_derivatives(self, d: NDArray[np.float64], at_end: bool) -> tuple[NDArray[np.float64], ...]:
        """(increment, its derivative in the start, in the end), in the axes of the step's start or of its end; tangent vectors."""
        return d.copy(), -np.eye(self.nv), np.eye(self.nv)

    def bracket_form(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """(nv, nv) F[j, l] = p.[e_l, e_j] of the joint's Lie algebra; plain coordinates commute."""
        return np.zeros((self.nv, self.nv))

    def spring_stiffness(
        self, q: NDArray[np.float64], rest: NDArray[np.float64], stiffness: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(nv, nv) derivative of the gradient of the joint spring with the stiffnesses (nv,) at q."""
        return np.diag(stiffness)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={_short(v)}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({inside})"


class AxisJoint(Joint):
    """A joint with one axis, the canonical z."""

    def __init__(self, axis=(0.0, 0.0, 1.0)):
        self.axis = unit_vector(axis, f"{type(self).__name__} axis")

    def frame(self):
        return frame_with_z(self.axis)

    @classmethod
    def sample(cls, rng):
        return cls(two_directions(rng)[0])


def _short(value) -> str:
    if isinstance(value, np.ndarray):
        return "(" + ", ".join(f"{x:g}" for x in value.ravel()) + ")"
    return repr(value)


def two_directions(rng: np.random.Generator) -> NDArray[np.float64]:
    """(2, 3) random vectors, for axes of random joints."""
    return rng.normal(size=(2, 3))


def unit_vector(value: ArrayLike, what: str) -> NDArray[np.float64]:
    """`value` as a unit vector, or an error that names it."""
    v = numbers(value, what, MechanismError, (3,), finite=False)
    length = float(np.linalg.norm(v))
    if not np.isfinite(length) or length < 1e-12:
        raise MechanismError(f"{what} = {shown(value)} has no direction; give a finite vector of non-zero length, for example (0, 0, 1)")
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
