"""What users give as an expression, brought into one form: a SymPy expression.  Text is read by our own grammar, never by SymPy."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
import sympy

from ..errors import MechanismError
from . import grammar

NO_NAMES: Mapping[str, sympy.Expr] = {}


def expression(value: Any, what: str, names: Mapping[str, sympy.Expr] = NO_NAMES) -> sympy.Expr:
    """A number, a SymPy expression, or text in the given names."""
    if isinstance(value, str):
        return grammar.parse(value, names, what)
    if isinstance(value, sympy.Expr) and not isinstance(value, sympy.MatrixExpr):
        return value
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value.item()
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise MechanismError(f"{what} is {shown(value)}, which is not a finite number")
        return sympy.Integer(int(number)) if number.is_integer() and abs(number) < 2.0**53 else sympy.Float(number)
    raise MechanismError(f"{what} is {shown(value)} of the type {type(value).__name__}; it needs an expression, such as 2 * sp.cos(q[0])")


def shown(value: Any, most: int = 200) -> str:
    """A value in a message: not longer than a few lines, however large it is."""
    if isinstance(value, sympy.Basic) and len(list(islice(sympy.preorder_traversal(value), most))) == most:
        return "an expression of many terms"  # SymPy takes minutes to print what is very long
    try:
        text = value if isinstance(value, str) else str(value)
    except (RecursionError, ValueError):  # nested too deeply, or an integer of thousands of digits
        return f"a {type(value).__name__} too large to print"
    return text if len(text) <= most else text[: most - 3] + "..."


def comment(text: str) -> str:
    """Text that cannot be anything but a comment of generated code, whatever it contains."""
    return "\n".join("# " + "".join(c if c.isascii() and c.isprintable() else "?" for c in line[:1000]) for line in text.splitlines())
