"""Numbers that remember how they were computed.

A `Term` stands for a float that is known only when the program runs.  Arithmetic on terms and plain floats folds what is
known: 0 x, 1 x, x + 0, -(-x), x - x, (x - y) + y, c1 (c2 x),
(1/x) x.  Signs move outwards, so that they end in a subtraction.  A result that is
known is a plain float again.

Folding takes x - x and 0 x for zero, which is wrong for infinite x: programs stay right as long as their results are finite.
"""

from __future__ import annotations

from typing import Any

Number = Any  # a Term or a float


class TraceError(Exception):
    """The program branches on a number that is known only at run time."""


class Term:
    """One operation on numbers; made by `Graph`."""

    __slots__ = ("graph", "op", "args", "known")

    def __init__(self, graph: Graph, op: str, args: tuple, known: float | None = None):
        self.graph, self.op, self.args = graph, op, args
        self.known = known  #: of a constant that is loaded from memory: its value, never 0

    def __add__(self, other):
        return self.graph.add(self, other)

    __radd__ = __add__

    def __sub__(self, other):
        return self.graph.sub(self, other)

    def __rsub__(self, other):
        return self.graph.sub(other, self)

    def __mul__(self, other):
        return self.graph.mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self.graph.div(self, other)

    def __rtruediv__(self, other):
        return self.graph.div(other, self)

    def __neg__(self):
        return self.graph.neg(self)

    def __eq__(self, other):
        if self.known is not None and not isinstance(other, Term):
            return self.known == other
        raise TraceError(f"comparison of {self.op} with {other!r}")

    __hash__ = object.__hash__

    def __lt__(self, other):
        raise TraceError(f"comparison of {self.op} with {other!r}")

    __le__ = __gt__ = __ge__ = __lt__

    def __bool__(self):
        raise TraceError(f"truth value of {self.op}")


class Graph:
    """Makes terms; the same operation on the same numbers is the same term."""

    def __init__(self):
        self._made: dict[tuple, Term] = {}

    def term(self, op: str, *args) -> Term:
        key = (op, *[id(a) if isinstance(a, Term) else a for a in args])
        found = self._made.get(key)
        if found is None and op in ("add", "mul"):
            found = self._made.get((op, key[2], key[1]))
        if found is None:
            found = self._made[key] = Term(self, op, args)
        return found

    def fresh(self, op: str, *args, known: float | None = None) -> Term:
        """A term that equals no other, such as a load from memory that may have changed."""
        found = self._made[("fresh", len(self._made))] = Term(self, op, args, known)
        return found

    def neg(self, a: Number) -> Number:
        if not isinstance(a, Term):
            return -a
        if a.op == "neg":
            return a.args[0]
        return self.term("neg", a)

    def add(self, a: Number, b: Number) -> Number:
        if _is(a, 0.0):
            return b
        if _is(b, 0.0):
            return a
        if not isinstance(a, Term) and not isinstance(b, Term):
            return a + b
        if _negative(b):
            return self.sub(a, b.args[0])
        if _negative(a):
            return self.sub(b, a.args[0])
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Term) and x.op == "sub" and x.args[1] is y:
                return x.args[0]
        return self.term("add", *_ordered(a, b))

    def sub(self, a: Number, b: Number) -> Number:
        if _is(b, 0.0):
            return a
        if _is(a, 0.0):
            return self.neg(b)
        if not isinstance(a, Term) and not isinstance(b, Term):
            return a - b
        if a is b:
            return 0.0
        if _negative(b):
            return self.add(a, b.args[0])
        if _negative(a):
            return self.neg(self.add(a.args[0], b))
        return self.term("sub", a, b)

    def mul(self, a: Number, b: Number) -> Number:
        if _is(a, 0.0) or _is(b, 0.0):
            return 0.0
        if _is(a, 1.0):
            return b
        if _is(b, 1.0):
            return a
        if _is(a, -1.0):
            return self.neg(b)
        if _is(b, -1.0):
            return self.neg(a)
        if not isinstance(a, Term) and not isinstance(b, Term):
            return a * b
        if _negative(a):
            return self.neg(self.mul(a.args[0], b))
        if _negative(b):
            return self.neg(self.mul(a, b.args[0]))
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Term):
                rest = _without(y, x)
                if rest is not None:
                    return rest
                continue
            if x < 0.0:
                return self.neg(self.mul(-x, y))
            if y.op == "mul" and not isinstance(y.args[0], Term):
                return self.mul(x * y.args[0], y.args[1])
        return self.term("mul", *_ordered(a, b))

    def div(self, a: Number, b: Number) -> Number:
        if _is(b, 0.0):  # infinite, as in the compiled kernels
            return self.term("div", a, b)
        if not isinstance(b, Term):
            return a / b if not isinstance(a, Term) else self.mul(1.0 / b, a)
        if _is(a, 0.0):
            return 0.0
        if _negative(b):
            return self.neg(self.div(a, b.args[0]))
        if _negative(a):
            return self.neg(self.div(a.args[0], b))
        return self.term("div", a, b)


def _is(a: Number, value: float) -> bool:
    return not isinstance(a, Term) and a == value


def _negative(a: Number) -> bool:
    return isinstance(a, Term) and a.op == "neg"


def _without(y: Number, x: Term) -> Number | None:
    """x y where y contains 1/x, or y contains x and x is 1/z: what is left.  None if nothing cancels.

    Eliminating a joint takes the row of its axis out of an inertia; so the zeros it leaves are found.
    """
    if not isinstance(y, Term):
        return None
    if _reciprocal(x, y):
        return 1.0
    if y.op == "mul":
        for one, other in (y.args, y.args[::-1]):
            if isinstance(one, Term) and _reciprocal(x, one):
                return other
    return None


def _reciprocal(x: Term, y: Term) -> bool:
    return any(p.op == "div" and p.args[1] is q and _is(p.args[0], 1.0) for p, q in ((x, y), (y, x)))


def _ordered(a: Number, b: Number) -> tuple[Number, Number]:
    """Constants first, so that they can be folded."""
    return (b, a) if isinstance(a, Term) and not isinstance(b, Term) else (a, b)
