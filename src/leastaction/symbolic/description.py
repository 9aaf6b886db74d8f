"""What a user's pose function says, read once: symbols, transforms, and how to evaluate or compile them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from ..errors import MechanismError
from .joint_module import Chart, joint_module, pose_symbols, source
from .reading import expression, shown
from .transform import Parameters, Transform, as_transform, words

#: pose function and, where there is a second chart, the function that gives coordinates of a pose
Functions = tuple[Callable[..., Any], Callable[..., Any] | None]


class Description:
    """The pose of a joint as SymPy expressions of its coordinates and parameters, in one or two charts."""

    def __init__(self, name: str, charts: Sequence[Functions], nv: int, shapes: Mapping[str, tuple[int, ...]]):
        self.name = name
        self.q = [sympy.Symbol(f"q{j}", real=True) for j in range(nv)]
        self.parameters: list[sympy.Symbol] = []
        self._given = Parameters({key: self._symbols(shape) for key, shape in shapes.items()})
        self.charts = [self._read(pose, inverse) for pose, inverse in charts]

    def _symbols(self, shape: tuple[int, ...]) -> Any:
        """A symbol, or nested tuples of symbols for an array."""

        def build(rest: tuple[int, ...]) -> Any:
            if not rest:
                symbol = sympy.Symbol(f"p{len(self.parameters)}", real=True)  # numbered: code contains no names of the user
                self.parameters.append(symbol)
                return symbol
            return tuple(build(rest[1:]) for _ in range(rest[0]))

        return build(shape)

    def _read(self, pose: Callable[..., Any], inverse: Callable[..., Any] | None) -> Chart:
        where = f"joint {self.name!r}: "
        own = {s.name: s for s in self.q}
        given = {key: value for key, value in vars(self._given).items() if isinstance(value, sympy.Symbol)}
        transform = as_transform(self._call(pose, "pose", tuple(self.q)), where, {**own, **given})
        self._check_symbols({s for factor in transform.factors for part in factor for s in part.free_symbols}, "pose", set(self.q))
        values: tuple[sympy.Expr, ...] = ()
        if inverse is not None:
            rotation, position = pose_symbols()
            found = self._call(inverse, "inverse", rotation, position)
            if isinstance(found, str) or not isinstance(found, (Iterable, sympy.MatrixBase)):
                raise MechanismError(f"{where}inverse gives {shown(found)}; it needs a list of {len(self.q)} coordinates")
            names = {s.name: s for s in (*rotation, *position)}
            values = tuple(expression(e, f"{where}coordinate {k} of inverse", {**names, **given}) for k, e in enumerate(found))
            if len(values) != len(self.q):
                raise MechanismError(f"joint {self.name!r}: inverse gives {len(values)} coordinates; it needs {len(self.q)}")
            self._check_symbols({s for e in values for s in e.free_symbols}, "inverse", {*rotation, *position})
        return self._chart(transform, values)

    def _chart(self, transform: Transform, inverse: tuple[sympy.Expr, ...]) -> Chart:
        try:
            return Chart(transform, self.q, inverse)
        except MechanismError as error:
            raise MechanismError(f"joint {self.name!r}: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        """Expressions, which can be sent anywhere; not the functions they came from, nor graphs and code made of them."""
        charts = [(chart.transform.factors, chart.inverse) for chart in self.charts]
        return {"name": self.name, "q": self.q, "parameters": self.parameters, "charts": charts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.name, self.q, self.parameters, self._given = state["name"], state["q"], state["parameters"], Parameters({})
        self.charts = [self._chart(Transform(*factors), inverse) for factors, inverse in state["charts"]]

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

    @cached_property
    def module(self) -> ModuleType:
        """Compiled code, from disk if this joint has been compiled before."""
        return joint_module(self.charts, self.q, self.parameters)

    def source(self) -> str:
        return source(self.charts, self.q, self.parameters)

    def _inputs(self, q: NDArray[np.float64], parameters: tuple[float, ...]) -> dict[str, float]:
        names = [s.name for s in (*self.q, *self.parameters)]
        return dict(zip(names, [*map(float, q), *parameters], strict=True))

    def pose(self, q: NDArray[np.float64], parameters: tuple[float, ...], chart: int) -> NDArray[np.float64]:
        """4x4 pose at q (nv,)."""
        graph = self.charts[chart].pose
        values = graph.graph.evaluate(graph.rows, self._inputs(q, parameters))
        result = np.eye(4)
        result[:3, :3], result[:3, 3] = np.reshape(values[:9], (3, 3)), values[9:]
        return result

    def columns(self, q: NDArray[np.float64], parameters: tuple[float, ...], chart: int) -> NDArray[np.float64]:
        """(nv, 6) body twists per unit rate of the coordinates."""
        graph = self.charts[chart].pose
        nodes = [n for j in range(len(self.q)) for n in graph.column(j)]
        return np.reshape(graph.graph.evaluate(nodes, self._inputs(q, parameters)), (-1, 6))

    def coordinates(self, pose: NDArray[np.float64], parameters: tuple[float, ...], chart: int) -> NDArray[np.float64]:
        """(nv,) coordinates of a 4x4 pose in a chart."""
        rotation, position = pose_symbols()
        names = [s.name for s in (*rotation, *position, *self.parameters)]
        inputs = dict(zip(names, [*map(float, pose[:3, :3].ravel()), *map(float, pose[:3, 3]), *parameters], strict=True))
        back = self.charts[chart].back
        return np.array(back.graph.evaluate([n for _, n in back.writes], inputs))

    @cached_property
    def _factors(self) -> list[Callable[..., Any]]:
        entries = [[list(R) + list(p) for R, p in chart.transform.factors] for chart in self.charts]
        return [sympy.lambdify([*self.q, *self.parameters], e, [_COMPLEX, "numpy"], cse=True) for e in entries]

    def reference(self, q: NDArray, parameters: tuple[float, ...], chart: int) -> NDArray:
        """4x4 poses (..., 4, 4) at q (..., nv), real or complex, by SymPy and NumPy alone."""
        result = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        for entries in self._factors[chart](*np.moveaxis(q, -1, 0), *parameters):
            factor = np.zeros((*q.shape[:-1], 4, 4), dtype=np.result_type(q, float))
            for k, value in enumerate(entries):
                factor[(..., k // 3, k % 3) if k < 9 else (..., k - 9, 3)] = value
            factor[..., 3, 3] = 1.0
            result = result @ factor
        return result


def _sign(x):
    return np.sign(np.real(x))


def _atan2(y, x):
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return np.arctan2(y, x)
    slope = np.imag(np.conj(x) * y) / (np.real(x) ** 2 + np.real(y) ** 2)
    return np.arctan2(np.real(y), np.real(x)) + 1j * slope


# functions that NumPy does not continue into the complex numbers, where derivatives by tiny imaginary steps are taken
_COMPLEX = {"Abs": lambda x: x * _sign(x), "sign": _sign, "floor": lambda x: np.floor(np.real(x)), "atan2": _atan2, "arctan2": _atan2}


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Can the function be called with so many arguments?"""
    try:
        inspect.signature(function).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True
