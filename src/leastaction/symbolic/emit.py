"""A graph as readable Python: one statement per value that is used twice, the rest written into the statement that uses it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from . import tape
from .graph import Graph, Node
from .program import Block

_MANY = 600  # statements, from which on LLVM would take too long for them at once
_LONG = 100  # characters, after which an expression gets a name of its own
_PAIRS = {"sin": ("sincos", 0), "cos": ("sincos", 1), "half_sin": ("half_sincos", 0), "half_cos": ("half_sincos", 1)}
_SYMBOL = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<"}
_STRENGTH = {"lt": 0, "add": 1, "sub": 1, "neg": 2, "mul": 3, "div": 3}


class Writer:
    """Statements that compute the outputs of a block."""

    def __init__(self, graph: Graph, loads: Mapping[str, str]):
        self.graph, self.loads = graph, loads
        self.lines: list[str] = []
        self._text: dict[Node, tuple[str, int]] = {}  # how a node is written, and how strongly it binds
        self._pair: dict[tuple[str, Node], str] = {}
        self._names = 0

    def block(self, block: Block) -> list[str]:
        outputs = [n for _, n in block.writes]
        self._uses = Counter(outputs)
        needed = self.graph.needed_together(outputs)
        for n in needed:
            if self.graph.op[n] not in ("const", "input"):
                self._uses.update(self.graph.args[n])
        for n in needed:
            self._visit(n)
        for target, n in block.writes:
            self.lines.append(f"{target} = {self._text[n][0]}")
        return self.lines

    def _name(self, prefix: str = "t") -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _visit(self, n: Node) -> None:
        op, args = self.graph.op[n], self.graph.args[n]
        if op == "const":
            self._text[n] = (_number(args[0]), 2 if args[0] < 0 else 9)
        elif op == "input":
            self.lines.append(f"{args[0]} = {self.loads[args[0]]}")
            self._text[n] = (args[0], 9)
        elif op in _PAIRS:
            function, which = _PAIRS[op]
            if (function, args[0]) not in self._pair:
                name = self._name("")
                self._pair[function, args[0]] = name
                self.lines.append(f"s{name}, c{name} = {function}({self._text[args[0]][0]})")
            self._text[n] = ("sc"[which] + self._pair[function, args[0]], 9)
        else:
            text, strength = self._expression(op, args)
            if op != "lt" and (self._uses[n] > 1 or len(text) > _LONG):  # a comparison can only stand in a choice
                name = self._name()
                self.lines.append(f"{name} = {text}")
                text, strength = name, 9
            self._text[n] = (text, strength)

    def _expression(self, op: str, args: tuple[Node, ...]) -> tuple[str, int]:
        if op in _STRENGTH:
            strength = _STRENGTH[op]
            if op == "neg":
                return f"-{self._bound(args[0], strength + 1)}", strength
            left = self._bound(args[0], strength)
            right = self._bound(args[1], strength + 1 if op in ("sub", "div") else strength)
            return f"{left} {_SYMBOL[op]} {right}", strength
        inside = [self._text[a][0] for a in args]
        if op == "select":
            return f"({inside[1]} if {inside[0]} else {inside[2]})", 9
        return f"{op}({', '.join(inside)})", 9

    def _bound(self, n: Node, strength: int) -> str:
        text, own = self._text[n]
        return text if own >= strength else f"({text})"


def _number(value: float) -> str:
    """Text of a number; there is none for what is not finite, which is computed instead."""
    if math.isnan(value):
        return "(1e999 - 1e999)"
    return repr(value) if math.isfinite(value) else "-1e999" if value < 0.0 else "1e999"


def function(name: str, arguments: str, doc: str, block: Block, loads: Mapping[str, str], end: tuple[str, ...] = ()) -> str:
    """Source of a function that computes a block: statements, or a list of operations where there would be thousands."""
    if tape.is_long(block):
        return tape.function(name, arguments, doc, block, loads, end)
    lines = [*Writer(block.graph, loads).block(block), *end]
    how = "@straight" if len(lines) <= _MANY else "@pieces"
    return "\n".join([how, f"def {name}({arguments}):", f'    """{doc}"""', *(f"    {line}" for line in lines)])
