"""Arithmetic as a graph: every expression once, zeros and ones folded, derivatives and differences as more of the same graph.

Derivatives are taken along the graph, in one pass per direction, so their size stays a small multiple of the pose's: the
reason Si and Guenter use D*, and why no expression is ever multiplied out here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import sympy

from ..errors import MechanismError
from .reading import expression, shown

Node = int

# what SymPy calls a function and how the graph computes it; everything else is written with these
_PLAIN = {"sin", "cos", "exp", "log", "sinh", "cosh", "sqrt", "atan2", "abs", "sign", "floor", "expm1", "log1p"}


class Graph:
    """Nodes are numbers; `op[n]` and `args[n]` say what node n is.  Equal nodes are the same node."""

    def __init__(self) -> None:
        self.op: list[str] = []
        self.args: list[tuple[Any, ...]] = []
        self._known: dict[tuple, Node] = {}
        self._of: dict[sympy.Basic, Node] = {}
        self.read = 0  # nodes before this one were read from expressions, the others follow from them
        self.zero, self.one = self.const(0.0), self.const(1.0)

    # ------------------------------------------------------------------------------------------------ making nodes

    def _node(self, op: str, *args: Any) -> Node:
        key = (op, *args)
        if key not in self._known:
            self._known[key] = len(self.op)
            self.op.append(op)
            self.args.append(args)
        return self._known[key]

    def known(self, op: str, *args: Any) -> Node | None:
        """The node that is this, if there is one."""
        return self._known.get((op, *args))

    def input(self, name: str) -> Node:
        return self._node("input", name)

    def const(self, value: float) -> Node:
        return self._node("const", float(value) + 0.0)  # + 0.0: no negative zero

    def value(self, n: Node) -> float | None:
        """The number of a constant node, otherwise None."""
        return self.args[n][0] if self.op[n] == "const" else None

    def add(self, a: Node, b: Node) -> Node:
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(x + y)
        if x == 0.0:
            return b
        if y == 0.0:
            return a
        if self.op[b] == "neg":
            return self.sub(a, self.args[b][0])
        if self.op[a] == "neg":
            return self.sub(b, self.args[a][0])
        return self._node("add", *sorted((a, b)))

    def sub(self, a: Node, b: Node) -> Node:
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(x - y)
        if a == b:
            return self.zero
        if y == 0.0:
            return a
        if x == 0.0:
            return self.neg(b)
        if self.op[b] == "neg":
            return self.add(a, self.args[b][0])
        return self._node("sub", a, b)

    def neg(self, a: Node) -> Node:
        x = self.value(a)
        if x is not None:
            return self.const(-x)
        if self.op[a] == "neg":
            return self.args[a][0]
        if self.op[a] == "sub":
            return self._node("sub", self.args[a][1], self.args[a][0])
        return self._node("neg", a)

    def mul(self, a: Node, b: Node) -> Node:
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(x * y)
        for number, other in ((x, b), (y, a)):
            if number == 0.0:
                return self.zero
            if number == 1.0:
                return other
            if number == -1.0:
                return self.neg(other)
        if self.op[a] == "neg":
            return self.neg(self.mul(self.args[a][0], b))
        if self.op[b] == "neg":
            return self.neg(self.mul(a, self.args[b][0]))
        return self._node("mul", *sorted((a, b)))

    def div(self, a: Node, b: Node) -> Node:
        x, y = self.value(a), self.value(b)
        if x is not None and y:
            return self.const(x / y)
        if x == 0.0:
            return self.zero
        if y is not None and y != 0.0:
            return self.mul(a, self.const(1.0 / y))
        if self.op[a] == "neg":
            return self.neg(self.div(self.args[a][0], b))
        return self._node("div", a, b)

    def power(self, a: Node, n: int) -> Node:
        """a^n by multiplications, for derivatives and differences need no further rule then."""
        x = self.value(a)
        if x is not None:
            return self._computed(math.pow, x, float(n))
        if n < 0:
            return self.div(self.one, self.power(a, -n))
        if n == 0:
            return self.one
        half = self.power(a, n // 2)
        square = self.mul(half, half)
        return self.mul(square, a) if n % 2 else square

    def call(self, name: str, *args: Node) -> Node:
        if name in ("sin", "cos") and self.op[args[0]] == "neg":  # one argument, one pair of sine and cosine
            inner = self.call(name, self.args[args[0]][0])
            return inner if name == "cos" else self.neg(inner)
        values = [self.value(a) for a in args]
        if all(v is not None for v in values):
            return self._computed(_NUMBER[name], *values)
        return self._node(name, *args)

    def _computed(self, function: Callable[..., float], *values: float | None) -> Node:
        try:
            result = function(*values)
        except (ValueError, OverflowError, ZeroDivisionError):
            result = math.nan
        if not math.isfinite(result):
            name = getattr(function, "__name__", "a function")
            raise MechanismError(f"the pose contains {name} of {', '.join(map(str, values))}, which is not a finite real number")
        return self.const(result)

    def sum(self, *terms: Node) -> Node:
        total = self.zero
        for t in terms:
            total = self.add(total, t)
        return total

    def dot(self, a, b) -> Node:
        return self.sum(*(self.mul(x, y) for x, y in zip(a, b, strict=True)))

    # ------------------------------------------------------------------------------------------------ from SymPy

    def of(self, given: Any) -> Node:
        """The node of a SymPy expression of inputs (symbols) and numbers."""
        whole = expression(given, "what the graph is made of")
        stack = [whole]
        while stack:  # no recursion: expressions may be nested deeper than Python's stack
            e = stack[-1]
            missing = [part for part in _parts(e) if part not in self._of]
            if missing:
                stack += missing
                continue
            stack.pop()
            if e not in self._of:
                self._of[e] = self._read(e)
        self.read = len(self.op)
        return self._of[whole]

    def _read(self, e: sympy.Basic) -> Node:
        """The node of an expression whose parts are known."""
        if e.is_Symbol:
            return self.input(e.name)
        if not e.args:
            return self._read_number(e)
        if e.is_Add:
            return self.sum(*(self._of[a] for a in e.args))
        if e.is_Mul:
            above, below = self.one, self.one
            for a in e.args:
                if a.is_Pow and a.exp.is_Number and a.exp.is_negative:
                    below = self.mul(below, self._read_power(a.base, -a.exp))
                else:
                    above = self.mul(above, self._of[a])
            return self.div(above, below)
        if e.is_Pow:
            return self._read_power(e.base, e.exp)
        return self._read_function(e)

    def _read_number(self, e: sympy.Basic) -> Node:
        try:
            value = complex(e)
        except (TypeError, ValueError, OverflowError):
            value = complex(math.nan)
        if value.imag != 0.0 or not math.isfinite(value.real):
            raise MechanismError(f"the pose contains {shown(e)}, which is not a finite real number")
        return self.const(value.real)

    def _read_power(self, base: sympy.Basic, exponent: sympy.Basic) -> Node:
        if exponent.is_Integer:
            return self.power(self._of[base], int(exponent))
        if exponent.is_Rational and exponent.q == 2:
            return self.power(self.call("sqrt", self._of[base]), int(exponent.p))
        power = self._of[exponent] if exponent in self._of else self._read_number(exponent)
        if base is sympy.E:
            return self.call("exp", power)
        return self.call("exp", self.mul(power, self.call("log", self._of[base])))

    def _read_function(self, e: sympy.Basic) -> Node:
        name = e.func.__name__.lower()
        if isinstance(e, sympy.Piecewise):
            result = self.const(math.nan)
            for value, condition in reversed(e.args):
                result = self._of[value] if condition is sympy.true else self._select(condition, self._of[value], result)
            return result
        args = [self._of[a] for a in e.args]
        if name in _PLAIN:
            return self.call(name, *args)
        if name == "tan":
            return self.div(self.call("sin", *args), self.call("cos", *args))
        if name == "tanh":
            return self.div(self.call("sinh", *args), self.call("cosh", *args))
        if name == "atan":
            return self.call("atan2", args[0], self.one)
        if name in ("asin", "acos"):
            other = self.call("sqrt", self.mul(self.sub(self.one, args[0]), self.add(self.one, args[0])))
            return self.call("atan2", args[0], other) if name == "asin" else self.call("atan2", other, args[0])
        if name in ("min", "max"):
            result = args[0]
            for a in args[1:]:
                below = self._node("lt", result, a)
                result = self._node("select", below, *((result, a) if name == "min" else (a, result)))
            return result
        raise MechanismError(
            f"the pose contains {shown(e)}; {e.func.__name__} is not among the functions a joint can be made of: "
            "+ - * / **, sin, cos, tan, asin, acos, atan, atan2, sqrt, exp, log, sinh, cosh, tanh, Abs, sign, floor, Min, Max, Piecewise"
        )

    def _select(self, condition: sympy.Basic, a: Node, b: Node) -> Node:
        return self._node("select", self._node("lt", self._of[condition.lts], self._of[condition.gts]), a, b)

    # ------------------------------------------------------------------------------------------------ calculus

    def tangent(self, n: Node, seeds: Mapping[Node, Node], known: dict[Node, Node] | None = None) -> Node:
        """Derivative of node n when each input moves at the rate `seeds` says (others stand still).

        `known` carries what was found already to further calls with the same seeds.
        """
        known = {} if known is None else known
        for m in self.needed([n]):  # in order, so no recursion
            if m not in known:
                known[m] = self._tangent(m, seeds, known)
        return known[n]

    def _tangent(self, n: Node, seeds: Mapping[Node, Node], known: dict[Node, Node]) -> Node:
        op, args = self.op[n], self.args[n]
        if op == "input":
            return seeds.get(n, self.zero)
        if op in ("const", "sign", "floor", "lt"):
            return self.zero
        d = [known[a] for a in args]
        a = args[0]
        if all(x == self.zero for x in (d[1:] if op == "select" else d)):
            return self.zero
        if op == "add":
            return self.add(*d)
        if op == "sub":
            return self.sub(*d)
        if op == "neg":
            return self.neg(d[0])
        if op == "mul":
            return self.add(self.mul(d[0], args[1]), self.mul(a, d[1]))
        if op == "div":
            return self.div(self.sub(d[0], self.mul(n, d[1])), args[1])
        if op == "sin":
            return self.mul(self.call("cos", a), d[0])
        if op == "cos":
            return self.neg(self.mul(self.call("sin", a), d[0]))
        if op == "sqrt":
            return self.div(self.mul(self.const(0.5), d[0]), n)
        if op == "exp":
            return self.mul(n, d[0])
        if op == "log":
            return self.div(d[0], a)
        if op in ("sinh", "cosh"):
            return self.mul(self.call("cosh" if op == "sinh" else "sinh", a), d[0])
        if op == "abs":
            return self.mul(self.call("sign", a), d[0])
        if op == "atan2":
            y, x = args
            square = self.add(self.mul(x, x), self.mul(y, y))
            return self.div(self.sub(self.mul(x, d[0]), self.mul(y, d[1])), square)
        if op == "select":
            return self._node("select", a, d[1], d[2])
        raise ValueError(f"the graph has no derivative of {op!r}: differences are not differentiated")

    def difference(self, n: Node, increments: Mapping[Node, Node], known: dict[Node, Node]) -> Node:
        """Value of node n when each input has grown by its increment, minus its value now, without subtracting the two.

        An increment of 1e-9 keeps all its digits.  Only Abs, floor, Min, Max and Piecewise are subtracted.
        """
        for m in self.needed([n]):
            if m not in known:
                known[m] = self._difference(m, increments, known)
        return known[n]

    def _difference(self, n: Node, increments: Mapping[Node, Node], known: dict[Node, Node]) -> Node:
        op, args = self.op[n], self.args[n]
        if op == "input":
            return increments.get(n, self.zero)
        if op == "const":
            return self.zero
        d = [known[a] for a in args]
        if all(x == self.zero for x in d):
            return self.zero
        a, da = args[0], d[0]
        end = [self.add(x, dx) for x, dx in zip(args, d, strict=True)]
        if op == "add":
            return self.add(*d)
        if op == "sub":
            return self.sub(*d)
        if op == "neg":
            return self.neg(da)
        if op == "mul":
            return self.add(self.mul(da, args[1]), self.mul(end[0], d[1]))
        if op == "div":
            return self.div(self.sub(da, self.mul(n, d[1])), end[1])
        if op in ("sin", "cos"):  # 2 sin(da/2) times sine or cosine half way
            half_sin, half_cos = self._node("half_sin", da), self._node("half_cos", da)
            s, c, twice = self.call("sin", a), self.call("cos", a), self.add(half_sin, half_sin)
            if op == "sin":
                return self.mul(twice, self.sub(self.mul(c, half_cos), self.mul(s, half_sin)))
            return self.neg(self.mul(twice, self.add(self.mul(s, half_cos), self.mul(c, half_sin))))
        if op == "sqrt":
            return self.div(da, self.add(n, self.call("sqrt", end[0])))
        if op == "exp":
            return self.mul(n, self.call("expm1", da))
        if op == "log":
            return self.call("log1p", self.div(da, a))
        if op in ("sinh", "cosh"):
            half = self.call("sinh", self.mul(self.const(0.5), da))
            grown = self.mul(self.const(2.0), self.mul(half, half))  # cosh(da) - 1
            other = self.call("cosh" if op == "sinh" else "sinh", a)
            return self.add(self.mul(n, grown), self.mul(other, self.call("sinh", da)))
        if op == "atan2":
            y, x = args
            turned = self.sub(self.mul(x, d[0]), self.mul(y, d[1]))
            return self.call("atan2", turned, self.add(self.mul(x, end[1]), self.mul(y, end[0])))
        if op == "lt":
            return self._node("lt", *end)
        if op == "select":  # the condition at the end stands in the place of its difference
            end_condition = d[0] if d[0] != self.zero else a
            return self.sub(self._node("select", end_condition, end[1], end[2]), n)
        return self.sub(self.call(op, *end), n)  # abs, sign, floor

    # ------------------------------------------------------------------------------------------------ reading it

    def needed(self, outputs: list[Node]) -> list[Node]:
        """All nodes the outputs depend on, each after its arguments."""
        found: set[Node] = set()
        stack = list(outputs)
        while stack:
            n = stack.pop()
            if n not in found:
                found.add(n)
                if self.op[n] not in ("const", "input"):
                    stack.extend(self.args[n])
        return sorted(found)  # arguments are made before what uses them

    def needed_together(self, outputs: list[Node]) -> list[Node]:
        """As `needed`, but derivatives of a term beside the term: what is computed is soon used."""
        term: dict[Node, Node] = {}
        for n in self.needed(outputs):
            inner = self.op[n] not in ("const", "input")
            term[n] = n if n < self.read else max(term[a] for a in self.args[n]) if inner else 0
        return sorted(term, key=lambda n: (term[n], n))

    def evaluate(self, outputs: list[Node], inputs: Mapping[str, float]) -> list[float]:
        """Numbers of the outputs; NaN where they are not defined."""
        value: dict[Node, float] = {}
        for n in self.needed(outputs):
            op, args = self.op[n], self.args[n]
            if op in ("const", "input"):
                value[n] = args[0] if op == "const" else inputs[args[0]]
                continue
            try:
                value[n] = _ARITHMETIC[op](*(value[a] for a in args))
            except (ValueError, ZeroDivisionError, OverflowError):
                value[n] = math.nan
        return [value[n] for n in outputs]

    def fingerprint(self, outputs: list[Node]) -> str:
        """What the outputs are, as text: equal for equal expressions, whatever else the graph contains."""
        number = {n: k for k, n in enumerate(self.needed(outputs))}
        lines = []
        for n in number:
            op, args = self.op[n], self.args[n]
            lines.append(f"{op} {args[0]!r}" if op in ("const", "input") else f"{op} {' '.join(str(number[a]) for a in args)}")
        return "\n".join([*lines, " ".join(str(number[n]) for n in outputs)])


_COMPARISONS = (sympy.StrictLessThan, sympy.LessThan, sympy.StrictGreaterThan, sympy.GreaterThan)


def _parts(e: sympy.Basic) -> tuple[sympy.Basic, ...]:
    """The expressions that an expression is made of."""
    if not isinstance(e, sympy.Piecewise):
        return e.args
    parts: list[sympy.Basic] = []
    for value, condition in e.args:
        parts.append(value)
        if condition is sympy.true:
            continue
        if not isinstance(condition, _COMPARISONS):
            raise MechanismError(f"the pose contains a Piecewise with the condition {shown(condition)}; give one such as q < 1")
        parts += [condition.lts, condition.gts]
    return tuple(parts)


def _sign(x: float) -> float:
    return math.copysign(1.0, x) if x else 0.0


_NUMBER: dict[str, Callable[..., float]] = {name: getattr(math, name) for name in _PLAIN - {"abs", "sign"}} | {"abs": abs, "sign": _sign}

_ARITHMETIC: dict[str, Callable[..., Any]] = _NUMBER | {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg, "lt": operator.lt,
    "select": lambda condition, a, b: a if condition else b,
}  # fmt: skip
