"""Straight-line functions one after the other: what one leaves for the next stays in registers.

    @in_a_row
    def pair(row, r, i, p, j, p1, j1):
        piece(row, r, i, p, j)
        piece(row, r, p, p1, j1)

`piece` is a function of straight.py.  What a call has read or written is not read again by a later one: a number that has to go through
memory takes as long as two multiplications, and sweeps along a chain do nothing but wait for the body before.  Arrays do not overlap, and
indices of different names are different: i, p and p1 are bodies, j and j1 belong to them.  With compilation switched off, with bounds
checks, and where only Numba's public interface is used, the calls are what they say.
"""

import ast

from numba import config, types

from .decorators import kernel
from .numba_private import AVAILABLE
from .straight import Straight, described
from .syntax import definition


def in_a_row(function):
    """A decorator of a function that calls straight-line functions one after the other."""
    if config.DISABLE_JIT or config.BOUNDSCHECK or not AVAILABLE:
        return kernel(function)
    return described(function, _write_calls)


def _write_calls(context, builder, scope, function):
    known = {}
    for statement in definition(function).body:
        call = statement.value
        piece = next(f for f in function.__globals__["__straight__"] if f.__name__ == call.func.id)
        tree = definition(piece)
        inside = {p.arg: scope[a.id] for p, a in zip(tree.args.args, call.args, strict=True)}
        _Remembering(context, builder, inside, piece.__globals__, known).run(tree.body)


class _Remembering(Straight):
    """Knows what entries of arrays contain: (array, indices) -> value, indices as LLVM values or constants."""

    def __init__(self, context, builder, scope, functions, entries):
        super().__init__(context, builder, scope, functions)
        self.entries = entries

    def _place(self, node):
        """What an entry is known by; None if it is none of an array."""
        kind, llvm = self.scope.get(node.value.id, (None, None)) if isinstance(node.value, ast.Name) else (None, None)
        return (id(llvm), self._named(node.slice)) if isinstance(kind, types.Array) else None

    def _named(self, index):
        if isinstance(index, ast.Tuple):
            return tuple(map(self._named, index.elts))
        if isinstance(index, ast.Name):
            return id(self.scope[index.id][1])
        if isinstance(index, ast.BinOp):
            return type(index.op), self._named(index.left), self._named(index.right)
        return "constant", index.value

    def _entry(self, node):
        place = self._place(node)
        if place is None:
            return super()._entry(node)
        if place not in self.entries:
            self.entries[place] = super()._entry(node)
        return self.entries[place]

    def _assign(self, target, value):
        place = self._place(target) if isinstance(target, ast.Subscript) else None
        super()._assign(target, value)
        if place is not None:
            self.entries[place] = types.float64, self._float(value)

    def _call(self, node):
        found = super()._call(node)
        names = [a.id for a in node.args if isinstance(a, ast.Name)]
        if any(isinstance(self.scope[name][0], (types.Array, types.CPointer)) for name in names):
            self.entries.clear()  # it may have written there
        return found
