"""Straight-line functions: generated code that needs no type inference.

    @straight
    def piece(row, q, h, i, k):
        t0 = q[k]
        c1 = sincos(t0)
        row[i, 0] = h * c1[1]

Everything is a float64 but for indices and arrays, so the source can be turned into LLVM instructions as it stands.  Numba would
find the same types by looking up every single operation: a program of thousands of generated lines takes three times as long then.
Allowed are assignments to names and entries of arrays and pointers, + - * / and signs, numbers, a choice `x if a < b else y` (both are
computed), calls of kernels and of functions of `math`, and the tuples they return.  With compilation switched off the function is
what it says; with bounds checks, and where only Numba's public interface is used, it is an ordinary kernel.
"""

import ast
import inspect
import textwrap

from numba import config, types
from numba.extending import intrinsic

from .decorators import kernel
from .numba_private import AVAILABLE, cgutils


def straight(function):
    if config.DISABLE_JIT or config.BOUNDSCHECK or not AVAILABLE:
        return kernel(function)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    names = [a.arg for a in tree.args.args]

    def typed(arguments):
        def generate(context, builder, signature, values):
            scope = dict(zip(names, zip(signature.args, values, strict=True), strict=True))
            writer = _Writer(context, builder, scope, function.__globals__)
            for statement in tree.body:
                writer.statement(statement)
            return context.get_dummy_value()

        return types.void(*arguments), generate

    # Numba counts the parameters of an intrinsic, so they are written out
    described = eval(f"lambda typing, {', '.join(names)}: typed(({', '.join(names)},))", {"typed": typed})
    described.__name__ = function.__name__
    described.__doc__ = function.__doc__
    return intrinsic(described)


class _Writer:
    """Writes instructions; a value is (Numba type, LLVM value)."""

    def __init__(self, context, builder, scope, functions):
        self.context, self.builder, self.scope, self.functions = context, builder, scope, functions

    def statement(self, node):
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Call):
                self._call(node.value)
            return  # else a docstring
        (target,) = node.targets
        self._assign(target, self.value(node.value))

    def _assign(self, target, value):
        if isinstance(target, ast.Tuple):
            kind, llvm = value
            for k, part in enumerate(target.elts):
                self._assign(part, (kind[k], self.builder.extract_value(llvm, k)))
        elif isinstance(target, ast.Name):
            self.scope[target.id] = value
        else:
            self.builder.store(self._float(value), self._pointer(target))

    def value(self, node):
        if isinstance(node, ast.Name):
            return self.scope[node.id]
        if isinstance(node, ast.Constant):
            kind = types.int64 if isinstance(node.value, int) else types.float64
            return kind, self.context.get_constant(kind, node.value)
        if isinstance(node, ast.BinOp):
            return self._operation(type(node.op), self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp):
            kind, value = self.value(node.operand)
            return (kind, self.builder.neg(value)) if isinstance(kind, types.Integer) else (kind, self.builder.fneg(value))
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.IfExp):
            return self._choice(node)
        if isinstance(node, ast.Tuple):
            parts = [self.value(e) for e in node.elts]
            kind = types.Tuple([t for t, _ in parts])
            return kind, self.context.make_tuple(self.builder, kind, [v for _, v in parts])
        return self._entry(node)

    def _operation(self, operation, left, right):
        b = self.builder
        if isinstance(left[0], types.Integer) and isinstance(right[0], types.Integer):
            make = {ast.Add: b.add, ast.Sub: b.sub, ast.Mult: b.mul}[operation]
            return types.int64, make(left[1], right[1])
        make = {ast.Add: b.fadd, ast.Sub: b.fsub, ast.Mult: b.fmul, ast.Div: b.fdiv}[operation]
        return types.float64, make(self._float(left), self._float(right))

    def _choice(self, node):
        left, right = self._float(self.value(node.test.left)), self._float(self.value(node.test.comparators[0]))
        condition = self.builder.fcmp_ordered("<", left, right)
        yes, no = self._float(self.value(node.body)), self._float(self.value(node.orelse))
        return types.float64, self.builder.select(condition, yes, no)

    def _float(self, value):
        kind, llvm = value
        return llvm if kind == types.float64 else self.context.cast(self.builder, llvm, kind, types.float64)

    def _entry(self, node):
        """array[i, k], array[i] or tuple[k]."""
        if isinstance(node.value, ast.Name):
            kind = self.scope[node.value.id][0]
            if isinstance(kind, (types.Array, types.CPointer)):
                return kind.dtype, self.builder.load(self._pointer(node))
        kind, llvm = self.value(node.value)
        return kind[node.slice.value], self.builder.extract_value(llvm, node.slice.value)

    def _pointer(self, node):
        kind, llvm = self.scope[node.value.id]
        if isinstance(kind, types.CPointer):
            return self.builder.gep(llvm, [self.value(node.slice)[1]])
        array = self.context.make_array(kind)(self.context, self.builder, llvm)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return cgutils.get_item_pointer(self.context, self.builder, kind, array, [self.value(i)[1] for i in indices], wraparound=False)

    def _call(self, node):
        function = eval(ast.unparse(node.func), self.functions)
        arguments = [self.value(a) for a in node.args]
        kind = self.context.typing_context.resolve_value_type(function)
        signature = kind.get_call_type(self.context.typing_context, tuple(t for t, _ in arguments), {})
        values = [self.context.cast(self.builder, v, t, to) for (t, v), to in zip(arguments, signature.args, strict=True)]
        return signature.return_type, self.context.get_function(kind, signature)(self.builder, values)
