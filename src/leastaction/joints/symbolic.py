"""Joints of any kind: the user writes the pose as a function of the coordinates, everything else is derived from it.

A joint is its pose here; derivatives, compiled code and checks come from the room `symbolic/` (Si and Guenter 2010).
"""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import name as checked_name
from ..checks import numbers, one_of, shown
from ..errors import MechanismError
from ..symbolic.runtime import PLACE
from .base import Joint

MOST_COORDINATES = 6
LEAVE = ("error", "stop", "continue")

_RIGID = 1e-9  # how orthonormal a rotation has to be
_SINGULAR = 1e-8  # ratio of the columns' singular values below which they count as dependent


class SymbolicJoint(Joint):
    """A joint given by its pose.

    name          what it is called in messages and in its generated code
    pose          function (q, sp) or (q, sp, p) -> pose of the body in the frame of the joint's placement: a product of
                  `sp.rot_x(angle)`, `sp.rot_y`, `sp.rot_z`, `sp.move(x, y, z)`, `sp.frame(x, y, z, origin)`, or a 4x4 matrix.
                  `sp` knows every name of SymPy; `q` are the coordinates, `p.name` the parameters
    nq            number of independent coordinates, 1 to 6
    parameters    numbers or arrays by name; they can differ from joint to joint without new code, see `with_parameters`
    coordinates   names of the coordinates, for messages and plots
    start         coordinates of the joint unless a state says otherwise; zero if not given
    inverse       function (R, x, sp) or (R, x, sp, p) -> coordinates of the pose with rotation R and position x,
    second_chart  (pose, inverse) of the same motion in other coordinates, singular elsewhere: with it a simulation changes
                  coordinates before they become singular.  The joint has one coordinate more then, the chart it is in (0 or 1)
    ranges        for every coordinate (lower, upper) or None: where the pose describes the joint, such as a wire that ends
    leave         what it is to leave a range: "error"; "stop", a run ends with the first node outside; "continue", nobody looks

    >>> import leastaction as la
    >>> slope = la.SymbolicJoint("slide on a parabola", nq=1, parameters={"width": 2.0},
    ...                          pose=lambda q, sp, p: sp.move(q[0], 0, q[0]**2 / p.width))
    >>> slope.nv, slope.with_parameters(width=0.5).parameters()
    (1, (0.5,))
    """

    def __init__(
        self,
        name: str,
        pose: Callable[..., Any],
        nq: int,
        *,
        parameters: Mapping[str, ArrayLike] | None = None,
        coordinates: Sequence[str] | None = None,
        start: ArrayLike | None = None,
        inverse: Callable[..., Any] | None = None,
        second_chart: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
        ranges: Sequence[tuple[float, float] | None] | None = None,
        leave: str = "error",
    ):
        from ..symbolic.description import Description

        self.name = checked_name(name, "name of a SymbolicJoint")
        if parameters is not None and not isinstance(parameters, Mapping):
            raise MechanismError(f"joint {name!r}: parameters = {shown(parameters)}; give numbers by name, as in {{'width': 2.0}}")
        if not isinstance(nq, int) or isinstance(nq, bool) or not 1 <= nq <= MOST_COORDINATES:
            raise MechanismError(f"joint {name!r}: nq = {shown(nq)}; a joint has 1 to {MOST_COORDINATES} coordinates")
        self.nq = self.nv = nq
        if coordinates is not None and not (isinstance(coordinates, (list, tuple)) and all(isinstance(c, str) for c in coordinates)):
            raise MechanismError(f"joint {name!r}: coordinates = {shown(coordinates)}; give a list of names, one per coordinate")
        self.coordinates = tuple(coordinates) if coordinates is not None else tuple(f"q{j}" for j in range(nq))
        if len(self.coordinates) != nq:
            raise MechanismError(f"joint {name!r}: {len(self.coordinates)} names of coordinates {self.coordinates}, but nq = {nq}")
        self._values = {key: self._checked(key, value) for key, value in (parameters or {}).items()}
        self.ranges, self.leave = self._checked_ranges(ranges, leave, second_chart), leave
        self._start = self._checked_start(np.zeros(nq) if start is None else start)
        charts = self._functions(pose, inverse, second_chart)
        if len(charts) > 1:
            self.charts, self.nq = 2, nq + 1
            self.coordinates += ("chart",)
        self._description = Description(name, charts, nq, {key: value.shape for key, value in self._values.items()})
        self._check_pose()

    def with_parameters(self, **values: ArrayLike) -> SymbolicJoint:
        """The same joint with other numbers; its code is shared."""
        other = copy.copy(self)
        other.__dict__.pop("angular", None)
        other._values = dict(self._values)
        for key, value in values.items():
            if key not in self._values:
                raise MechanismError(f"joint {self.name!r} has no parameter {key!r}; it has {', '.join(map(repr, self._values)) or 'none'}")
            new, old = self._checked(key, value), self._values[key]
            if new.shape != old.shape:
                raise MechanismError(f"joint {self.name!r}: parameter {key!r} has shape {new.shape}; this joint needs {old.shape}")
            other._values[key] = new
        other._check_pose()
        return other

    def with_start(self, start: ArrayLike) -> SymbolicJoint:
        """The same joint with another start configuration (in its first chart)."""
        other = copy.copy(self)
        other._start = self._checked_start(start)
        other._check_pose()
        return other

    # ------------------------------------------------------------------------------------------------ what the compiler asks

    @property
    def kind(self) -> int:  # type: ignore[override]
        """Address of the compiled code; made, or loaded from disk, when it is first needed."""
        return self._description.module.compiled.address

    @cached_property
    def angular(self) -> tuple[bool, ...]:  # type: ignore[override]
        """A coordinate is an angle if a whole turn changes nothing."""
        turned = [self.pose(self._start + 2 * np.pi * e) for e in np.eye(self.nv)]
        return tuple(bool(np.allclose(X, self.pose(self._start), rtol=0.0, atol=1e-9)) for X in turned)

    def parameters(self) -> tuple[float, ...]:
        return tuple(float(x) for value in self._values.values() for x in value.ravel())

    def neutral(self) -> NDArray[np.float64]:
        return np.append(self._start, np.zeros(self.nq - self.nv))

    def sample_coordinates(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Near the start, away from where coordinates may be singular, in the first chart."""
        q = self.neutral()
        q[: self.nv] += 0.3 * rng.normal(size=self.nq)[: self.nv]
        for j, limits in enumerate(self.ranges):
            if limits is not None:
                q[j] = min(max(q[j], limits[0]), limits[1])
        return q

    def columns_at_zero(self) -> NDArray[np.float64]:
        return self.columns(self._start)

    # ------------------------------------------------------------------------------------------------ to look at and to test with

    def pose(self, q: ArrayLike, chart: int = 0) -> NDArray[np.float64]:
        """4x4 pose at q (nv,)."""
        return self._description.pose(np.asarray(q, dtype=float), self.parameters(), chart)

    def columns(self, q: ArrayLike, chart: int = 0) -> NDArray[np.float64]:
        """(nv, 6) body twists (angular, linear) per unit rate of each coordinate."""
        return self._description.columns(np.asarray(q, dtype=float), self.parameters(), chart)

    def compiled(self, q: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Pose (4x4) and columns (nv, 6) at q (nq,) by the code that simulations run."""
        result, still, columns = np.zeros(12), np.zeros(self.nv), np.zeros((self.nv, 6))
        arrays = (np.array([*self.parameters(), 0.0]), np.array(q, dtype=float), still)
        call = self._description.module.compiled.ctypes
        call(PLACE, *map(_pointer, arrays), 0.0, _pointer(result), _pointer(columns))
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = result[:9].reshape(3, 3), result[9:]
        return pose, columns

    def reference_pose(self, q: ArrayLike, chart: int = 0) -> NDArray:
        """4x4 poses at q (..., nv), real or complex, evaluated by SymPy and NumPy alone: what everything else is tested against."""
        return self._description.reference(np.asarray(q), self.parameters(), chart)

    def in_chart(self, q: ArrayLike, chart: int) -> NDArray[np.float64]:
        """Coordinates q (nq,) of one chart, written in another one."""
        q = np.asarray(q, dtype=float)
        pose = self.pose(q[: self.nv], int(q[self.nv]))
        return np.append(self._description.coordinates(pose, self.parameters(), chart), float(chart))

    def source(self) -> str:
        """The generated Python code."""
        return self._description.source()

    def __repr__(self) -> str:
        inside = "".join(f", {k}={np.round(v, 6).tolist()}" for k, v in self._values.items())
        return f"SymbolicJoint({self.name!r}, nq={self.nq}{inside})"

    # ------------------------------------------------------------------------------------------------ checks

    def _checked(self, key: str, value: ArrayLike) -> NDArray[np.float64]:
        if not isinstance(key, str) or not key.isidentifier():
            raise MechanismError(f"joint {self.name!r}: parameter name {key!r} is not an identifier; give a name such as radius")
        return numbers(value, f"joint {self.name!r}: parameter {key!r}", MechanismError)

    def _checked_start(self, start: ArrayLike) -> NDArray[np.float64]:
        q = np.atleast_1d(numbers(start, f"joint {self.name!r}: start", MechanismError))
        if q.shape != (self.nv,):
            raise MechanismError(f"joint {self.name!r}: start = {shown(start)}; it needs {self.nv} number(s), one per coordinate")
        for x, name, limits in zip(q, self.coordinates, self.ranges, strict=False):
            if limits is not None and not limits[0] <= x <= limits[1]:
                raise MechanismError(f"joint {self.name!r}: its start {name} = {x:g} is not in its range {limits[0]:g} to {limits[1]:g}")
        return q

    def _checked_ranges(self, ranges: Any, leave: str, second_chart: Any) -> tuple[tuple[float, float] | None, ...]:
        one_of(leave, LEAVE, f"joint {self.name!r}: leave", MechanismError)
        if ranges is None:
            return ()
        if second_chart is not None:
            raise MechanismError(f"joint {self.name!r}: a second_chart has other coordinates than those of ranges; leave one of them out")
        if not isinstance(ranges, (list, tuple)) or len(ranges) != self.nv:
            raise MechanismError(f"joint {self.name!r}: ranges = {shown(ranges)}; give {self.nv}, each (lower, upper) or None")
        found: list[tuple[float, float] | None] = []
        for name, limits in zip(self.coordinates, ranges, strict=True):
            what = f"joint {self.name!r}: range of {name!r}"
            pair = None if limits is None else numbers(limits, what, MechanismError, (2,))
            if pair is not None and not pair[0] < pair[1]:
                raise MechanismError(f"{what} = {shown(limits)}; it needs (lower, upper) with lower < upper")
            found.append(None if pair is None else (float(pair[0]), float(pair[1])))
        return tuple(found)

    def _functions(self, pose, inverse, second_chart) -> list[tuple[Callable[..., Any], Callable[..., Any] | None]]:
        if not callable(pose):
            raise MechanismError(
                f"joint {self.name!r}: pose = {shown(pose)} is not a function; give for example pose=lambda q, sp: sp.rot_z(q[0])"
            )
        if second_chart is None:
            return [(pose, None)]
        try:
            other_pose, other_inverse = second_chart
        except (TypeError, ValueError):
            other_pose = other_inverse = None
        if not (callable(inverse) and callable(other_pose) and callable(other_inverse)):
            raise MechanismError(
                f"joint {self.name!r}: to change charts both need a way back; give inverse=lambda R, x, sp: ... and "
                "second_chart=(pose, inverse) of the other coordinates"
            )
        return [(pose, inverse), (other_pose, other_inverse)]

    def _check_pose(self) -> None:
        """Rigid near the start, every coordinate moves the body in its own way there, and charts agree."""
        rng = np.random.default_rng(0)
        for k, q in enumerate(self._start + np.concatenate([np.zeros((1, self.nv)), 0.3 * rng.normal(size=(4, self.nv))])):
            X = self.pose(q)
            if not np.all(np.isfinite(X)):
                if k == 0:
                    raise MechanismError(f"joint {self.name!r}: the pose is not finite at its start {_at(q)}; give another start=")
                continue
            self._check_rigid(X, q)
            if k > 0 and self.charts > 1:  # the start may be where the second chart is singular
                self._check_chart(X, q, 0)
                self._check_chart(X, q, 1)
        self._check_rank()

    def _check_rigid(self, X: NDArray[np.float64], q: NDArray[np.float64]) -> None:
        R = X[:3, :3]
        error = max(float(np.abs(R.T @ R - np.eye(3)).max()), abs(float(np.linalg.det(R)) - 1.0))
        if error > _RIGID:
            handed = " (it mirrors: its determinant is -1)" if np.linalg.det(R) < 0 else ""
            raise MechanismError(
                f"joint {self.name!r}: the pose is not a rigid transform at {_at(q)}: its rotation is off by {error:.2g}{handed}; "
                "build it from sp.rot_x, sp.rot_y, sp.rot_z, sp.move and frames with orthonormal, right-handed axes"
            )

    def _check_chart(self, X: NDArray[np.float64], q: NDArray[np.float64], chart: int) -> None:
        there = self._description.coordinates(X, self.parameters(), chart)
        error = float(np.abs(self.pose(there, chart) - X).max())
        if not error < _RIGID:
            which = ("inverse", "the inverse of the second chart")[chart]
            raise MechanismError(
                f"joint {self.name!r}: {which} does not lead back to the pose: at {_at(q)} it gives {_at(there)}, a pose that differs "
                f"by {error:.2g}"
            )

    def _check_rank(self) -> None:
        """No two coordinates may move the body in the same way at the start."""
        S = self.columns(self._start)
        if not np.all(np.isfinite(S)):
            j = int(np.flatnonzero(~np.isfinite(S).all(axis=1))[0])
            raise MechanismError(
                f"joint {self.name!r}: the pose has no finite derivative in {self.coordinates[j]!r} at its start {_at(self._start)}; give "
                "another start=, or write the pose with functions that are smooth there"
            )
        left, values, _ = np.linalg.svd(S)
        if values[-1] > _SINGULAR * values[0]:
            return
        involved = [repr(c) for c, x in zip(self.coordinates, left[:, -1], strict=False) if abs(x) > 1e-6]
        how = f"moving {involved[0]} does nothing" if len(involved) == 1 else f"{' and '.join(involved)} move the body in the same way"
        raise MechanismError(
            f"joint {self.name!r} is singular at its start {_at(self._start)}: {how} (singular values {values[0]:.2g} to "
            f"{values[-1]:.2g}); give another start=, or write the pose with independent coordinates"
        )


def _pointer(array: NDArray[np.float64]):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def _at(q: NDArray[np.float64]) -> str:
    return "q = (" + ", ".join(f"{x:.4g}" for x in q) + ")"
