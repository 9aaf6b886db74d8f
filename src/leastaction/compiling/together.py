"""Straight-line functions on several bodies at once: one in every lane of the vector registers.

    @together
    def both(row, q, h, i, k, i1, k1):
        piece(row, q, h, i, k)
        piece(row, q, h, i1, k1)

`piece` is a function of straight.py, and the calls must not depend on each other: none may read or write what another one writes.  Then
their order does not matter, and every operation can be one on vectors.  Entries of arrays are gathered from, and scattered to, the places
of each call.  With compilation switched off, with bounds checks, and where only Numba's public interface is used, the calls are made one
after the other, as it says.
"""

import ast

from llvmlite import ir
from numba import config, types

from .decorators import kernel
from .lanes import LaneWriter
from .numba_private import AVAILABLE
from .straight import Straight, described
from .syntax import definition
from .vectors import Number, neighbours, store_rows

_WIDE, _TUPLE = "a number in every lane", "a list of values"
_DOUBLE, _INT = ir.DoubleType(), ir.IntType(32)


def together(function):
    """A decorator of a function that calls one straight-line function several times."""
    if config.DISABLE_JIT or config.BOUNDSCHECK or not AVAILABLE:
        return kernel(function)
    return described(function, _write_calls)


def _write_calls(context, builder, scope, function):
    calls = [statement.value for statement in definition(function).body]
    (name,) = {call.func.id for call in calls}
    piece = next(f for f in function.__globals__["__straight__"] if f.__name__ == name)
    tree = definition(piece)
    scopes = [{p.arg: scope[a.id] for p, a in zip(tree.args.args, call.args, strict=True)} for call in calls]
    differing = {p for p in scopes[0] if any(s[p][1] is not scopes[0][p][1] for s in scopes)}
    writer = _Writer(context, builder, scopes, differing, piece.__globals__)
    writer.run(tree.body)
    writer.write_out()


class _Writer(Straight):
    """Writes instructions; a value is (Numba type, LLVM value), (_WIDE, LLVM vector), or (_TUPLE, list of values)."""

    def __init__(self, context, builder, scopes, differing, functions):
        super().__init__(context, builder, scopes[0], functions)
        self.lanes = [Straight(context, builder, scope, functions) for scope in scopes]
        self.differing = differing
        self.vector = ir.VectorType(_DOUBLE, len(scopes))
        self.functions_in_lanes = LaneWriter(context, builder, len(scopes))
        self.kept = {}  # array and row, as they are written -> {column: (target, vector)}

    def _differs(self, node):
        return any(isinstance(n, ast.Name) and n.id in self.differing for n in ast.walk(node))

    def _joined(self, values):
        vector = ir.Constant(self.vector, ir.Undefined)
        for k, value in enumerate(values):
            vector = self.builder.insert_element(vector, value, ir.Constant(_INT, k))
        return vector

    def _split(self, value):
        """The number of every lane."""
        kind, llvm = value
        if kind != _WIDE:
            return [self._float(value)] * len(self.lanes)
        return [self.builder.extract_element(llvm, ir.Constant(_INT, k)) for k in range(len(self.lanes))]

    def _wide(self, value):
        return value[1] if value[0] == _WIDE else self._joined(self._split(value))

    def _assign(self, target, value):
        if isinstance(target, ast.Name):
            self.scope[target.id] = value
        elif value[0] == _WIDE and isinstance(target.slice, ast.Tuple):
            row, column = target.slice.elts
            self.kept.setdefault((target.value.id, ast.unparse(row)), {})[column.value] = target, value[1]
        else:
            for lane, part in zip(self.lanes, self._split(value), strict=True):
                self.builder.store(part, lane._pointer(target))

    def write_out(self):
        """Write what goes to rows: nothing that was loaded meanwhile is among it, for what a piece has stored it does not load."""
        for columns in self.kept.values():
            for taken in neighbours(columns):
                target = columns[taken[0]][0]
                store_rows(self.builder, [columns[c][1] for c in taken], [lane._pointer(target) for lane in self.lanes])

    def value(self, node):
        if isinstance(node, ast.UnaryOp):
            kind, value = self.value(node.operand)
            return kind, self.builder.fneg(value)
        if isinstance(node, ast.Tuple):
            return _TUPLE, [self.value(e) for e in node.elts]
        return super().value(node)

    def _operation(self, operation, left, right):
        if _WIDE not in (left[0], right[0]):
            return super()._operation(operation, left, right)
        b = self.builder
        make = {ast.Add: b.fadd, ast.Sub: b.fsub, ast.Mult: b.fmul, ast.Div: b.fdiv}[operation]
        return _WIDE, make(self._wide(left), self._wide(right))

    def _entry(self, node):
        if isinstance(node.value, ast.Name) and isinstance(self.scope[node.value.id][0], types.Array):
            if not self._differs(node.slice):
                return super()._entry(node)
            return _WIDE, self._joined([self.builder.load(lane._pointer(node)) for lane in self.lanes])
        return self.value(node.value)[1][node.slice.value]

    def _call(self, node):
        function = eval(ast.unparse(node.func), self.functions)
        made = self.functions_in_lanes.call(function, [self._taken(self.value(a)) for a in node.args])
        return self._given(made)

    def _taken(self, value):
        """For a function in lanes."""
        return tuple(map(self._taken, value[1])) if value[0] == _TUPLE else Number("f", True, self._wide(value))

    def _given(self, made):
        """From a function in lanes."""
        if isinstance(made, tuple):
            return _TUPLE, [self._given(part) for part in made]
        return _WIDE, self.functions_in_lanes.cast(made, "f", True)
