"""The module of one constraint given as an expression: three functions, one compiled function that the kernels call.

It has the signature of a generated joint (runtime.py): `what` is VALUE, GRADIENT or SECOND, `q` are its arguments, `d` their rates,
`f` is the time.

h(q, t) = 0       GRADIENT writes the derivatives in the arguments to S, the one in time to out[0]; SECOND is the second time derivative
g(q, v, t) = 0    affine in the rates v; GRADIENT writes the derivatives in the rates, then those in the arguments, to S, and g(q, 0, t) to
                  out[0]; SECOND is the time derivative of g for constant rates
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType

import sympy

from ..compiling.modules import generated_module
from . import emit
from .graph import Graph
from .program import Block
from .reading import comment, shown

Symbols = Sequence[sympy.Symbol]

_HEAD = '''"""A constraint, generated from its expression."""

{described}

from math import atan2, cosh, exp, expm1, log, log1p, sinh, sqrt

from leastaction.compiling.straight import pieces, straight
from leastaction.symbolic.runtime import Tape, compiled_joint, floor, half_sincos, interpret, kernel, sign, sincos, stack

on_disk = True
VALUE, GRADIENT, SECOND = range(3)
'''

_TAIL = '''

def constraint(what, param, q, d, f, out, S):
    if what == VALUE:
        value(q, d, f, out)
    elif what == GRADIENT:
        gradient(q, d, f, out, S)
    elif what == SECOND:
        second(q, d, f, out)


compiled = compiled_joint(constraint, on_disk)
'''


def constraint_module(expression: sympy.Expr, arguments: Sequence[sympy.Symbol], time: sympy.Symbol) -> ModuleType:
    """The compiled module of a constraint, from disk if it has been compiled before."""
    graph = Graph()
    made_from = "\n".join([str(len(arguments)), graph.fingerprint([graph.of(expression)])])
    return generated_module("constraint", made_from, lambda: source(expression, arguments, time))


def source(expression: sympy.Expr, arguments: Sequence[sympy.Symbol], time: sympy.Symbol) -> str:
    graph = Graph()
    h = graph.of(expression)
    inputs = [graph.input(s.name) for s in arguments]
    t = graph.input(time.name)
    rates = [graph.input(f"rate{j}") for j in range(len(inputs))]

    value = Block(graph)
    value.write("out[{}]", 0, [h])
    gradient = Block(graph)
    gradient.write("out[{}]", 0, [graph.tangent(h, {t: graph.one})])
    gradient.write("S[{}]", 0, [graph.tangent(h, {x: graph.one}) for x in inputs])
    along = {**dict(zip(inputs, rates, strict=True)), t: graph.one}
    second = Block(graph)
    second.write("out[{}]", 0, [graph.tangent(graph.tangent(h, along), along)])

    loads = {s.name: f"q[{j}]" for j, s in enumerate(arguments)} | {time.name: "f"}
    with_rates = loads | {f"rate{j}": f"d[{j}]" for j in range(len(inputs))}
    functions = (
        ("value", "q, d, f, out", "h", value, loads),
        ("gradient", "q, d, f, out, S", "Derivative of h in time, and in its arguments.", gradient, loads),
        ("second", "q, d, f, out", "Second time derivative of h for constant rates d.", second, with_rates),
    )
    return _written(expression, functions)


def _written(expression: sympy.Expr, functions: Iterable[tuple[str, str, str, Block, dict[str, str]]]) -> str:
    parts = [_HEAD.format(described=comment(shown(expression, 1000)))]
    parts += ["\n\n" + emit.function(*f) + "\n" for f in functions]
    return "".join([*parts, _TAIL])


def speed_module(expression: sympy.Expr, arguments: Symbols, rates: Symbols, time: sympy.Symbol) -> ModuleType:
    """The compiled module of a constraint on velocities, likewise."""
    graph = Graph()
    made_from = "\n".join(["speeds", str(len(arguments)), graph.fingerprint([graph.of(expression)])])
    return generated_module("constraint", made_from, lambda: speed_source(expression, arguments, rates, time))


def speed_source(expression: sympy.Expr, arguments: Symbols, rates: Symbols, time: sympy.Symbol) -> str:
    graph = Graph()
    g, at_rest = graph.of(expression), graph.of(expression.subs(dict.fromkeys(rates, 0)))
    inputs, speeds, t = [graph.input(s.name) for s in arguments], [graph.input(s.name) for s in rates], graph.input(time.name)
    value = Block(graph)
    value.write("out[{}]", 0, [g])
    gradient = Block(graph)
    gradient.write("out[{}]", 0, [at_rest])
    gradient.write("S[{}]", 0, [graph.tangent(g, {x: graph.one}) for x in (*speeds, *inputs)])
    second = Block(graph)
    second.write("out[{}]", 0, [graph.tangent(g, {**dict(zip(inputs, speeds, strict=True)), t: graph.one})])
    loads = {s.name: f"q[{j}]" for j, s in enumerate(arguments)} | {s.name: f"d[{j}]" for j, s in enumerate(rates)} | {time.name: "f"}
    functions = (
        ("value", "q, d, f, out", "g", value, loads),
        ("gradient", "q, d, f, out, S", "g at rest; derivatives of g in the rates and in the arguments.", gradient, loads),
        ("second", "q, d, f, out", "Time derivative of g for constant rates d.", second, loads),
    )
    return _written(expression, functions)
