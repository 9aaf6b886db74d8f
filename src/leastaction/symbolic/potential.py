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
from .graph import Graph, Node
from .program import Block
from .reading import comment, expression, shown
from .transform import Parameters, words

_HEAD = '''"""A potential energy, generated from its expression."""

{energy}

from math import atan2, cosh, exp, expm1, log, log1p, sinh, sqrt

from leastaction.compiling.straight import pieces, straight
from leastaction.symbolic.runtime import Tape, compiled_joint, floor, half_sincos, interpret, kernel, sign, sincos, stack

on_disk = True

{function}


def potential(what, param, q, d, f, out, S):
    energy(param, q, S)


compiled = compiled_joint(potential, on_disk)
'''


class PotentialExpression:
    """Energy U(q) of `size` numbers; its code writes U, the gradient and the Hessian (row by row) one after the other.

    single   the function takes the number itself, not a list of numbers
    """

    def __init__(self, name: str, energy: Callable[..., Any] | str, size: int, parameters: Mapping[str, float], single: bool = False):
        self.name, self.size = name, size
        self.q = [sympy.Symbol(f"q{j}", real=True) for j in range(size)]
        symbols = {key: sympy.Symbol(f"p{k}", real=True) for k, key in enumerate(parameters)}
        self.parameters, self.values = list(symbols.values()), tuple(parameters.values())
        arguments: tuple[Any, ...] = (self.q[0] if single else tuple(self.q), words(), Parameters(symbols))
        if isinstance(energy, str):
            arguments, energy = (), lambda text=energy: text
        elif not _takes(energy, 3):
            if symbols:
                raise MechanismError(f"{name} has parameters, but its energy does not take them; write energy(x, sp, p)")
            arguments = arguments[:2]
        try:
            self.energy = expression(energy(*arguments), f"{name}: its energy", self._names(symbols))
        except MechanismError:
            raise
        except Exception as error:
            raise MechanismError(f"{name}: its energy fails with {type(error).__name__}: {error}") from error
        unknown = sorted(str(s) for s in self.energy.free_symbols - {*self.q, *self.parameters})
        if unknown:
            raise MechanismError(
                f"{name}: its energy depends on {', '.join(unknown)}; it needs one expression of the coordinates and parameters={{...}}"
            )
        try:
            self.block = self._derive()
        except MechanismError as error:
            raise MechanismError(f"{name}: {error}") from None

    def _names(self, symbols: Mapping[str, sympy.Symbol]) -> dict[str, sympy.Symbol]:
        """What an energy written as text may name: x or q0, q1, ..., and the parameters."""
        return {**{s.name: s for s in self.q}, **({"x": self.q[0]} if self.size == 1 else {}), **symbols}

    def _derive(self) -> Block:
        block = Block(Graph())
        g = block.graph
        inputs = [g.input(s.name) for s in self.q]
        value = g.of(self.energy)
        gradient = [g.tangent(value, {x: g.one}) for x in inputs]
        seeds: list[tuple[dict[Node, Node], dict[Node, Node]]] = [({x: g.one}, {}) for x in inputs]
        hessian = [g.tangent(slope, along, known) for slope in gradient for along, known in seeds]
        block.write("out[{}]", 0, [value, *gradient, *hessian])
        return block

    @cached_property
    def module(self) -> ModuleType:
        """Compiled code, from disk if this energy has been compiled before."""
        made_from = "\n".join([str(self.size), str(len(self.parameters)), self.block.graph.fingerprint([self.block.writes[0][1]])])
        return generated_module("potential", made_from, self.source)

    @property
    def address(self) -> int:
        return self.module.compiled.address

    def source(self) -> str:
        loads = {s.name: f"q[{j}]" for j, s in enumerate(self.q)} | {s.name: f"param[{j}]" for j, s in enumerate(self.parameters)}
        code = emit.function("energy", "param, q, out", "out = U, gradient, Hessian.", self.block, loads)
        return _HEAD.format(energy=comment(shown(self.energy, 1000)), function=code)

    @cached_property
    def _function(self) -> Callable[..., Any]:
        return sympy.lambdify([*self.q, *self.parameters], self.energy, [_COMPLEX, "numpy"])

    def evaluate(self, q: list[NDArray]) -> Any:
        """U at `size` numbers or arrays, real or complex; SymPy's own code, independent of the generated one."""
        return self._function(*q, *self.values)
