"""What a user's pose function says, read once: symbols, transform, and how to evaluate or compile it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from ..errors import MechanismError
from .joint_module import joint_module, source
from .transform import Parameters, Transform, as_transform, words


class Description:
    """The pose of a joint as SymPy expressions of its coordinates and parameters."""

    def __init__(self, name: str, pose: Callable[..., Any], nq: int, shapes: Mapping[str, tuple[int, ...]], takes_parameters: bool):
        self.name = name
        self.q = [sympy.Symbol(f"q{j}", real=True) for j in range(nq)]
        self.parameters: list[sympy.Symbol] = []
        given = {key: self._symbols(key, shape) for key, shape in shapes.items()}
        if given and not takes_parameters:
            raise MechanismError(
                f"joint {name!r} has parameters {', '.join(given)}, but its pose function takes no third argument; write pose(q, sp, p)"
            )
        arguments = (tuple(self.q), words(), Parameters(given))[: 3 if takes_parameters else 2]
        try:
            self.transform: Transform = as_transform(pose(*arguments))
        except MechanismError as error:
            raise MechanismError(f"joint {name!r}: {error}") from None
        except Exception as error:
            raise MechanismError(f"joint {name!r}: its pose function fails with {type(error).__name__}: {error}") from error
        self._check_symbols()

    def _symbols(self, key: str, shape: tuple[int, ...]) -> Any:
        """A symbol, or nested tuples of symbols for an array."""

        def build(prefix: str, rest: tuple[int, ...]) -> Any:
            if not rest:
                symbol = sympy.Symbol(prefix, real=True)
                self.parameters.append(symbol)
                return symbol
            return tuple(build(f"{prefix}_{k}", rest[1:]) for k in range(rest[0]))

        return build(f"p_{key}", shape)

    def _check_symbols(self) -> None:
        known = {*self.q, *self.parameters}
        unknown = sorted({str(s) for factor in self.transform.factors for part in factor for s in part.free_symbols - known})
        if unknown:
            raise MechanismError(
                f"joint {self.name!r}: its pose depends on {', '.join(unknown)}, which is neither a coordinate "
                f"(q[0] to q[{len(self.q) - 1}]) nor a parameter; give it in parameters={...} and use it as p.name"
            )

    @cached_property
    def module(self) -> ModuleType:
        """Compiled code, from disk if this pose has been compiled before."""
        return joint_module(self.name, self.transform, self.q, self.parameters)

    def source(self) -> str:
        return source(self.name, self.transform, self.q, self.parameters)

    @cached_property
    def _factors(self) -> Callable[..., Any]:
        entries = [list(R) + list(p) for R, p in self.transform.factors]
        return sympy.lambdify([*self.q, *self.parameters], entries, [{"Abs": _absolute, "sign": _sign}, "numpy"])

    def evaluate(self, q: NDArray, parameters: tuple[float, ...]) -> NDArray:
        """4x4 poses (..., 4, 4) at q (..., nq)."""
        q = np.asarray(q)
        result = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        for entries in self._factors(*np.moveaxis(q, -1, 0), *parameters):
            factor = np.zeros((*q.shape[:-1], 4, 4), dtype=np.result_type(q, float))
            for k, value in enumerate(entries):
                factor[(..., k // 3, k % 3) if k < 9 else (..., k - 9, 3)] = value
            factor[..., 3, 3] = 1.0
            result = result @ factor
        return result


def _sign(x):
    return np.sign(np.real(x))


def _absolute(x):
    """|x| that complex-step derivatives can be taken of."""
    return x * _sign(x)
