"""The words a pose is written in: rotations, translations, frames, and anything SymPy knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import sympy

from ..errors import MechanismError
from .grammar import quick_cos, quick_sin
from .reading import NO_NAMES, expression


class Transform:
    """A rigid transform as a product of factors (R, p); `A @ B` moves by B in the frame that A leads to.

    The factors stay apart: multiplied out, their entries would grow like the product of their lengths.
    """

    def __init__(self, *factors: tuple[sympy.Matrix, sympy.Matrix]):
        self.factors = factors

    def __matmul__(self, other: Any) -> Transform:
        return Transform(*self.factors, *as_transform(other).factors)

    __mul__ = __matmul__

    def __rmatmul__(self, other: Any) -> Transform:
        return as_transform(other) @ self

    __rmul__ = __rmatmul__

    def inverse(self) -> Transform:
        none, still = sympy.eye(3), sympy.zeros(3, 1)
        return Transform(*(part for R, p in reversed(self.factors) for part in ((R.T, still), (none, -p))))

    def matrix(self) -> sympy.Matrix:
        """4x4, multiplied out."""
        result = sympy.eye(4)
        for R, p in self.factors:
            result = result * R.row_join(p).col_join(sympy.Matrix([[0, 0, 0, 1]]))
        return result


def as_transform(value: Any, where: str = "", names: Mapping[str, sympy.Expr] = NO_NAMES) -> Transform:
    """A Transform, or a 4x4 matrix read as one."""
    if isinstance(value, Transform):
        return value
    matrix = _matrix(value, where, names)
    if matrix is None or matrix.shape != (4, 4):
        got = type(value).__name__ + ("" if matrix is None else f" of shape {matrix.shape}")
        raise MechanismError(f"{where}a pose is a product such as sp.rot_z(angle) @ sp.move(x, y, z), or a 4x4 matrix; got {got}")
    if list(matrix.row(3)) != [0, 0, 0, 1]:
        raise MechanismError(f"{where}the last row of a pose is (0, 0, 0, 1); got {tuple(matrix.row(3))}")
    return Transform((matrix[:3, :3], matrix[:3, 3]))


def _matrix(value: Any, where: str, names: Mapping[str, sympy.Expr]) -> sympy.Matrix | None:
    """Rows of expressions as a matrix; None if it is something else."""
    if isinstance(value, sympy.MatrixBase):
        rows = value.tolist()
    elif isinstance(value, str) or not isinstance(value, Iterable):
        return None
    else:
        rows = [list(row) if isinstance(row, (Iterable, sympy.MatrixBase)) and not isinstance(row, str) else [row] for row in value]
    if len({len(row) for row in rows}) != 1:
        return None
    return sympy.Matrix([[expression(x, f"{where}entry ({r}, {c}) of the pose", names) for c, x in enumerate(row)]
                         for r, row in enumerate(rows)])  # fmt: skip


def _vector(entries: Iterable[Any], what: str) -> sympy.Matrix:
    """Three expressions."""
    several = isinstance(entries, (Iterable, sympy.MatrixBase)) and not isinstance(entries, str)
    given = list(entries) if several else [entries]
    if len(given) != 3:
        raise MechanismError(f"{what} has {len(given)} entries; it needs three")
    return sympy.Matrix([expression(x, f"entry {k} of {what}") for k, x in enumerate(given)])


class Words:
    """What a pose function gets as `sp`: the words below, and every name of SymPy (`sp.sin`, `sp.sqrt`, `sp.Matrix`, ...)."""

    def rot_x(self, angle) -> Transform:
        """Turn about x."""
        c, s = _cos_sin(angle, "sp.rot_x")
        return _turn([[1, 0, 0], [0, c, -s], [0, s, c]])

    def rot_y(self, angle) -> Transform:
        """Turn about y."""
        c, s = _cos_sin(angle, "sp.rot_y")
        return _turn([[c, 0, s], [0, 1, 0], [-s, 0, c]])

    def rot_z(self, angle) -> Transform:
        """Turn about z."""
        c, s = _cos_sin(angle, "sp.rot_z")
        return _turn([[c, -s, 0], [s, c, 0], [0, 0, 1]])

    def move(self, x, y=None, z=None) -> Transform:
        """Move by (x, y, z), given as three numbers or as one vector."""
        p = _vector(x if y is None else (x, y, 0 if z is None else z), "sp.move")
        return Transform((sympy.eye(3), p))

    def frame(self, x, y, z, origin=(0, 0, 0)) -> Transform:
        """The frame with these orthonormal axes and this origin."""
        R = sympy.Matrix.hstack(*(_vector(axis, f"axis {name} of sp.frame") for name, axis in zip("xyz", (x, y, z), strict=True)))
        return Transform((R, _vector(origin, "the origin of sp.frame")))

    def sin(self, angle) -> sympy.Expr:
        """Sine."""
        return quick_sin(angle)

    def cos(self, angle) -> sympy.Expr:
        """Cosine."""
        return quick_cos(angle)

    def __getattr__(self, name: str) -> Any:
        return getattr(sympy, name)


def _cos_sin(angle: Any, what: str) -> tuple[sympy.Expr, sympy.Expr]:
    angle = expression(angle, f"the angle of {what}")
    return quick_cos(angle), quick_sin(angle)


def _turn(rows) -> Transform:
    return Transform((sympy.Matrix(rows), sympy.zeros(3, 1)))


class Parameters:
    """What a pose function gets as third argument: its parameters by name, numbers or nested lists of SymPy symbols."""

    def __init__(self, values: dict[str, Any]):
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python looks for when it copies
            raise AttributeError(name)
        raise MechanismError(f"the pose uses the parameter {name!r}; those given are {', '.join(map(repr, self.__dict__)) or 'none'}")


@lru_cache(maxsize=1)
def words() -> Words:
    return Words()
