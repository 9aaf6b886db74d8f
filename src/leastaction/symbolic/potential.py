"""A potential energy as the user wrote it: read once, compiled with its exact first and second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from types import ModuleType
from typing import Any

import sympy
from numpy.typing import NDArray

from ..compiling.modules import generated_module
from ..errors import MechanismError
from . import emit
from .description import _COMPLEX, _takes
from .graph import Graph
from .program import Block
from .transform import Parameters, words

_HEAD = '''"""Potential energy, generated from  {energy}"""

from math import atan2, cosh, exp, expm1, log, log1p, sinh, sqrt

from leastaction.compiling.decorators import kernel
from leastaction.symbolic.runtime import compiled_joint, half_sincos, sign, sincos


@kernel
{function}


def potential(what, param, q, d, f, out, S):
    energy(param, q, S)


compiled = compiled_joint(potential)
'''


class PotentialExpression:
    """Energy U(q) of `size` numbers; its code writes U, the gradient and the Hessian (row by row) one after the other.

    single   the function takes the number itself, not a list of numbers
    """

    def __init__(self, name: str, energy: Callable[..., Any], size: int, parameters: Mapping[str, float], single: bool = False):
        self.name, self.size = name, size
        self.q = [sympy.Symbol(f"q{j}", real=True) for j in range(size)]
        symbols = {key: sympy.Symbol(f"p_{key}", real=True) for key in parameters}
        self.parameters, self.values = list(symbols.values()), tuple(parameters.values())
        arguments: tuple[Any, ...] = (self.q[0] if single else tuple(self.q), words(), Parameters(symbols))
        if not _takes(energy, 3):
            if symbols:
                raise MechanismError(f"{name} has parameters, but its energy does not take them; write energy(x, sp, p)")
            arguments = arguments[:2]
        try:
            self.energy = sympy.sympify(energy(*arguments))
        except MechanismError:
            raise
        except Exception as error:
            raise MechanismError(f"{name}: its energy fails with {type(error).__name__}: {error}") from error
        unknown = sorted(str(s) for s in getattr(self.energy, "free_symbols", set()) - {*self.q, *self.parameters})
        if not isinstance(self.energy, sympy.Expr) or unknown:
            what = f"depends on {', '.join(unknown)}" if unknown else f"is {self.energy!r}"
            raise MechanismError(f"{name}: its energy {what}; it needs one expression of the coordinates and parameters={{...}}")
        try:
            self.block = self._derive()
        except MechanismError as error:
            raise MechanismError(f"{name}: {error}") from None

    def _derive(self) -> Block:
        block = Block(Graph())
        g = block.graph
        inputs = [g.input(s.name) for s in self.q]
        value = g.of(self.energy)
        gradient = [g.tangent(value, {x: g.one}) for x in inputs]
        hessian = [g.tangent(slope, {x: g.one}) for slope in gradient for x in inputs]
        block.write("out[{}]", 0, [value, *gradient, *hessian])
        return block

    @cached_property
    def module(self) -> ModuleType:
        """Compiled code, from disk if this energy has been compiled before."""
        made_from = "\n".join([str(self.size), str(self.parameters), str(self.energy)])
        return generated_module("potential", made_from, self.source)

    @property
    def address(self) -> int:
        return self.module.compiled.address

    def source(self) -> str:
        loads = {s.name: f"q[{j}]" for j, s in enumerate(self.q)} | {s.name: f"param[{j}]" for j, s in enumerate(self.parameters)}
        code = emit.function("energy", "param, q, out", "out = U, gradient, Hessian.", self.block, loads)
        return _HEAD.format(energy=str(self.energy)[:1000].replace("\\", "/").replace('"', "'"), function=code)

    @cached_property
    def _function(self) -> Callable[..., Any]:
        return sympy.lambdify([*self.q, *self.parameters], self.energy, [_COMPLEX, "numpy"])

    def evaluate(self, q: list[NDArray]) -> Any:
        """U at `size` numbers or arrays, real or complex; SymPy's own code, independent of the generated one."""
        return self._function(*q, *self.values)
