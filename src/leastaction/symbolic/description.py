"""What a user's pose function says, read once: symbols, transforms, and how to evaluate or compile them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from ..errors import MechanismError
from .graph import Graph
from .joint_module import Chart, joint_module, pose_symbols, source
from .transform import Parameters, as_transform, words

#: pose function and, where there is a second chart, the function that gives coordinates of a pose
Functions = tuple[Callable[..., Any], Callable[..., Any] | None]


class Description:
    """The pose of a joint as SymPy expressions of its coordinates and parameters, in one or two charts."""

    def __init__(self, name: str, charts: Sequence[Functions], nv: int, shapes: Mapping[str, tuple[int, ...]]):
        self.name = name
        self.q = [sympy.Symbol(f"q{j}", real=True) for j in range(nv)]
        self.parameters: list[sympy.Symbol] = []
        self._given = Parameters({key: self._symbols(key, shape) for key, shape in shapes.items()})
        self.charts = [self._read(pose, inverse) for pose, inverse in charts]

    def _symbols(self, key: str, shape: tuple[int, ...]) -> Any:
        """A symbol, or nested tuples of symbols for an array."""

        def build(prefix: str, rest: tuple[int, ...]) -> Any:
            if not rest:
                symbol = sympy.Symbol(prefix, real=True)
                self.parameters.append(symbol)
                return symbol
            return tuple(build(f"{prefix}_{k}", rest[1:]) for k in range(rest[0]))

        return build(f"p_{key}", shape)

    def _read(self, pose: Callable[..., Any], inverse: Callable[..., Any] | None) -> Chart:
        transform = as_transform(self._call(pose, "pose", tuple(self.q)), f"joint {self.name!r}: ")
        self._check_symbols({s for factor in transform.factors for part in factor for s in part.free_symbols}, "pose", set(self.q))
        self._check_functions([e for factor in transform.factors for part in factor for e in part])
        if inverse is None:
            return Chart(transform)
        rotation, position = pose_symbols()
        values = tuple(sympy.sympify(e) for e in self._call(inverse, "inverse", rotation, position))
        if len(values) != len(self.q):
            raise MechanismError(f"joint {self.name!r}: inverse gives {len(values)} coordinates; it needs {len(self.q)}")
        self._check_symbols({s for e in values for s in e.free_symbols}, "inverse", {*rotation, *position})
        self._check_functions(values)
        return Chart(transform, values)

    def _call(self, function: Callable[..., Any], what: str, *arguments: Any) -> Any:
        """function(..., sp), or function(..., sp, p) if it takes the parameters too."""
        arguments = (*arguments, words(), self._given)
        if not _takes(function, len(arguments)):
            if self.parameters:
                raise MechanismError(
                    f"joint {self.name!r} has parameters, but its {what} function does not take them; give it one argument more, "
                    f"as in {what}({'q' if what == 'pose' else 'R, x'}, sp, p)"
                )
            arguments = arguments[:-1]
        try:
            return function(*arguments)
        except MechanismError as error:
            raise MechanismError(f"joint {self.name!r}: {error}") from None
        except Exception as error:
            raise MechanismError(f"joint {self.name!r}: its {what} function fails with {type(error).__name__}: {error}") from error

    def _check_symbols(self, used: set[sympy.Symbol], what: str, own: set[sympy.Symbol]) -> None:
        unknown = sorted(str(s) for s in used - own - set(self.parameters))
        if unknown:
            raise MechanismError(
                f"joint {self.name!r}: its {what} depends on {', '.join(unknown)}, which is neither one of its arguments nor a parameter; "
                "give it in parameters={...} and use it as p.name"
            )

    def _check_functions(self, expressions: Sequence[sympy.Expr]) -> None:
        try:
            graph = Graph()
            for e in expressions:
                graph.of(e)
        except MechanismError as error:
            raise MechanismError(f"joint {self.name!r}: {error}") from None

    @cached_property
    def module(self) -> ModuleType:
        """Compiled code, from disk if this joint has been compiled before."""
        return joint_module(self.name, self.charts, self.q, self.parameters)

    def source(self) -> str:
        return source(self.name, self.charts, self.q, self.parameters)

    @cached_property
    def _factors(self) -> list[Callable[..., Any]]:
        return [
            _numeric([*self.q, *self.parameters], [list(R) + list(p) for R, p in chart.transform.factors]) for chart in self.charts
        ]

    @cached_property
    def _inverses(self) -> list[Callable[..., Any]]:
        rotation, position = pose_symbols()
        return [_numeric([*rotation, *position, *self.parameters], list(chart.inverse)) for chart in self.charts]

    def evaluate(self, q: NDArray, parameters: tuple[float, ...], chart: int = 0) -> NDArray:
        """4x4 poses (..., 4, 4) at q (..., nv)."""
        result = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        for entries in self._factors[chart](*np.moveaxis(q, -1, 0), *parameters):
            factor = np.zeros((*q.shape[:-1], 4, 4), dtype=np.result_type(q, float))
            for k, value in enumerate(entries):
                factor[(..., k // 3, k % 3) if k < 9 else (..., k - 9, 3)] = value
            factor[..., 3, 3] = 1.0
            result = result @ factor
        return result

    def coordinates(self, pose: NDArray, parameters: tuple[float, ...], chart: int) -> NDArray[np.float64]:
        """(nv,) coordinates of a 4x4 pose in a chart."""
        return np.array(self._inverses[chart](*pose[:3, :3].ravel(), *pose[:3, 3], *parameters), dtype=float)


def _numeric(arguments: list[sympy.Symbol], expressions: Any) -> Callable[..., Any]:
    return sympy.lambdify(arguments, expressions, [{"Abs": _absolute, "sign": _sign}, "numpy"])


def _sign(x):
    return np.sign(np.real(x))


def _absolute(x):
    """|x| that complex-step derivatives can be taken of."""
    return x * _sign(x)


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Can the function be called with so many arguments?"""
    try:
        inspect.signature(function).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True
