"""Expressions as text, read by a grammar of our own: text from a file must never be run, and SymPy would run it.

    sum      = product (("+" | "-") product)*
    product  = sign (("*" | "/") sign)*
    sign     = ("+" | "-") sign | power
    power    = atom ["**" sign]
    atom     = number | name | function "(" sum ("," sum)* ")" | "(" sum ")"

Names are those the caller gives, and pi.  What consists of numbers alone is computed while it is read, in floating point, so that no text
of a few characters can ask for a number of a million digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import sympy

from ..checks import listed
from ..errors import MechanismError

MOST_CHARACTERS = 200_000
DEEPEST = 100  # parentheses, signs and powers within one another

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|[-+*/(),])|(?P<end>$)|(?P<other>.))",
    re.DOTALL,
)

def _quick(function: Any, angle: Any) -> sympy.Expr:
    """Sine or cosine without SymPy's search for simpler forms, four milliseconds each time, where there are none: of polynomials."""
    plain = isinstance(angle, sympy.Expr) and angle.free_symbols and all(
        part.is_Symbol or part.is_Add or part.is_Mul or part.is_Pow or part.is_Rational or part.is_Float
        for part in sympy.preorder_traversal(angle)
    )  # fmt: skip
    return function(angle, evaluate=not plain)


def quick_sin(angle: Any) -> sympy.Expr:
    return _quick(sympy.sin, angle)


def quick_cos(angle: Any) -> sympy.Expr:
    return _quick(sympy.cos, angle)


#: name -> SymPy's function, the same for numbers, how many arguments (0: any number but none)
_FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., float], int]] = {
    "sin": (quick_sin, math.sin, 1), "cos": (quick_cos, math.cos, 1), "tan": (sympy.tan, math.tan, 1),
    "asin": (sympy.asin, math.asin, 1), "acos": (sympy.acos, math.acos, 1), "atan": (sympy.atan, math.atan, 1),
    "atan2": (sympy.atan2, math.atan2, 2), "sqrt": (sympy.sqrt, math.sqrt, 1), "exp": (sympy.exp, math.exp, 1),
    "log": (sympy.log, math.log, 1), "sinh": (sympy.sinh, math.sinh, 1), "cosh": (sympy.cosh, math.cosh, 1),
    "tanh": (sympy.tanh, math.tanh, 1), "abs": (sympy.Abs, abs, 1),
    "sign": (sympy.sign, lambda x: math.copysign(1.0, x) if x else 0.0, 1), "min": (sympy.Min, min, 0), "max": (sympy.Max, max, 0),
}  # fmt: skip


def parse(text: str, names: Mapping[str, sympy.Expr], what: str) -> sympy.Expr:
    """The expression that a text spells; `what` is how messages begin."""
    if len(text) > MOST_CHARACTERS:
        raise MechanismError(f"{what} has {len(text)} characters; at most {MOST_CHARACTERS} are read, give a function instead")
    return _Reader(text, names, what).read()


class _Reader:
    def __init__(self, text: str, names: Mapping[str, sympy.Expr], what: str):
        self.text, self.names, self.what = text, names, what
        self.depth = 0
        self.at = 0
        self._next()

    def read(self) -> sympy.Expr:
        value = self._sum()
        if self.kind != "end":
            self._fail(f"{self.piece!r} stands where the expression should end")
        return value

    def _next(self) -> None:
        match = _TOKEN.match(self.text, self.at)
        assert match is not None  # the alternatives cover everything
        self.kind = match.lastgroup or "end"
        self.piece = match.group(self.kind)
        self.place = match.start(self.kind)
        self.at = match.end()
        if self.kind == "other":
            self._fail(f"the character {self.piece!r} has no meaning here")

    def _fail(self, problem: str) -> None:
        raise MechanismError(
            f"{self.what} = {_shown(self.text)!r}, character {self.place + 1}: {problem}; it is made of numbers, + - * / ** ( ), "
            f"{', '.join(_FUNCTIONS)}, and the names {listed([*self.names, 'pi'])}"
        )

    def _take(self, sign: str) -> None:
        if self.piece != sign or self.kind != "sign":
            self._fail(f"{sign!r} is missing" + (f" before {self.piece!r}" if self.piece else ""))
        self._next()

    def _sum(self) -> sympy.Expr:
        self.depth += 1
        if self.depth > DEEPEST:
            self._fail(f"it is nested more than {DEEPEST} deep")
        terms = [self._product()]
        while self.kind == "sign" and self.piece in "+-":
            minus = self.piece == "-"
            self._next()
            term = self._product()
            terms.append(self._negative(term) if minus else term)
        self.depth -= 1
        return self._combined(sympy.Add, math.fsum, terms)

    def _product(self) -> sympy.Expr:
        factors = [self._sign()]
        while self.kind == "sign" and self.piece in ("*", "/"):
            over = self.piece == "/"
            self._next()
            factor = self._sign()
            factors.append(self._power_of(factor, sympy.Integer(-1)) if over else factor)
        return self._combined(sympy.Mul, math.prod, factors)

    def _sign(self) -> sympy.Expr:
        minus = False
        while self.kind == "sign" and self.piece in ("+", "-"):
            minus ^= self.piece == "-"
            self._next()
        value = self._power()
        return self._negative(value) if minus else value

    def _power(self) -> sympy.Expr:
        base = self._atom()
        if self.kind != "sign" or self.piece != "**":
            return base
        self._next()
        self.depth += 1
        if self.depth > DEEPEST:
            self._fail(f"it is nested more than {DEEPEST} deep")
        exponent = self._sign()
        self.depth -= 1
        return self._power_of(base, exponent)

    def _atom(self) -> sympy.Expr:
        kind, piece = self.kind, self.piece
        if kind == "number":
            value = self._number(float(piece))
            self._next()
            return value
        if kind == "name":
            if piece in _FUNCTIONS:
                return self._function(piece)
            if piece not in self.names and piece != "pi":
                self._fail(f"the name {piece!r} is unknown")
            self._next()
            return self.names[piece] if piece in self.names else sympy.Float(math.pi)
        if kind == "sign" and piece == "(":
            self._next()
            value = self._sum()
            self._take(")")
            return value
        self._fail(f"{piece!r} stands where a number or a name is wanted" if piece else "the expression is not complete")
        raise AssertionError

    def _function(self, name: str) -> sympy.Expr:
        symbolic, numeric, count = _FUNCTIONS[name]
        self._next()
        self._take("(")
        arguments = [self._sum()]
        while self.kind == "sign" and self.piece == ",":
            self._next()
            arguments.append(self._sum())
        self._take(")")
        if count and len(arguments) != count:
            self._fail(f"{name} takes {count} argument(s), not {len(arguments)}")
        if all(a.is_Number for a in arguments):
            return self._computed(numeric, *map(float, arguments))
        return symbolic(*arguments)

    def _combined(self, symbolic: Callable[..., Any], numeric: Callable[..., Any], parts: list[sympy.Expr]) -> sympy.Expr:
        if len(parts) == 1:
            return parts[0]
        if all(part.is_Number for part in parts):
            return self._computed(numeric, [float(part) for part in parts])
        return symbolic(*parts)

    def _negative(self, value: sympy.Expr) -> sympy.Expr:
        return self._number(-float(value)) if value.is_Number else sympy.Mul(sympy.Integer(-1), value)

    def _power_of(self, base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
        if base.is_Number and exponent.is_Number:
            return self._computed(math.pow, float(base), float(exponent))
        return sympy.Pow(base, exponent)

    def _computed(self, function: Callable[..., Any], *arguments: Any) -> sympy.Expr:
        try:
            return self._number(float(function(*arguments)))
        except (ValueError, ZeroDivisionError, OverflowError):
            return self._number(math.nan)

    def _number(self, value: float) -> sympy.Expr:
        if not math.isfinite(value):
            self._fail("this is not a finite real number")
        return sympy.Integer(int(value)) if value.is_integer() and abs(value) < 2.0**53 else sympy.Float(value)


def _shown(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
