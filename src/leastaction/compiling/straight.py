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

LLVM takes much more than twice as long for a block of twice the length.  So `pieces` cuts a long function into functions to LLVM that are
not inlined; what one piece computes and a later one needs is kept in a list on the stack.  Time is linear in the length then.
"""

import ast
import weakref

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic, is_jitted

from .decorators import kernel
from .numba_private import AVAILABLE, cgutils
from .syntax import definition

LONGEST = 60  # statements of a piece
RETURNED = 12  # floats that a kernel returns, at most: a pose


def straight(function):
    """A function of one piece."""
    return _straight(function, cut=False)


def pieces(function):
    """A long function, cut into pieces."""
    return _straight(function, cut=True)


def _straight(function, cut):
    if config.DISABLE_JIT or config.BOUNDSCHECK or not AVAILABLE:
        return kernel(function)

    def write(context, builder, scope, function):
        statements = definition(function).body
        if cut:
            _write_pieces(context, builder, scope, function.__globals__, statements)
        else:
            Straight(context, builder, scope, function.__globals__).run(statements)

    return described(function, write)


def described(function, write):
    """An intrinsic that returns nothing; write(context, builder, scope, function) writes its instructions."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    # Numba never forgets an intrinsic: it knows the function weakly, and what keeps the function is its own module
    function.__globals__.setdefault("__straight__", []).append(function)
    known = weakref.ref(function)

    def typed(arguments):
        def generate(context, builder, signature, values):
            write(context, builder, dict(zip(names, zip(signature.args, values, strict=True), strict=True)), known())
            return context.get_dummy_value()

        return types.void(*arguments), generate

    # Numba counts the parameters of an intrinsic, so they are written out
    made = eval(f"lambda typing, {', '.join(names)}: typed(({', '.join(names)},))", {"typed": typed})
    made.__name__, made.__doc__ = function.__name__, function.__doc__
    return intrinsic(made)


class Straight:
    """Writes instructions; a value is (Numba type, LLVM value)."""

    def __init__(self, context, builder, scope, functions, known=None):
        """known: functions that are called and not inlined, by name and kinds of arguments; None where all are inlined."""
        self.context, self.builder, self.scope, self.functions, self.known = context, builder, scope, functions, known

    def run(self, statements):
        for statement in statements:
            self.statement(statement)

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
        key = (function, *(t for t, _ in arguments))
        if self.known is not None and key in self.known:
            signature, make = self.known[key]
        else:
            kind = self.context.typing_context.resolve_value_type(function)
            signature = kind.get_call_type(self.context.typing_context, tuple(t for t, _ in arguments), {})
            make = self.context.get_function(kind, signature)
            if self.known is not None:
                if is_jitted(function):
                    make = _shared(self.context, self.builder.module, signature, make)
                self.known[key] = signature, make
        values = [self.context.cast(self.builder, v, t, to) for (t, v), to in zip(arguments, signature.args, strict=True)]
        return signature.return_type, make(self.builder, values)


# ----------------------------------------------------------------------------------------------------- long functions


def _numbas(context, module, result, kinds, write):
    """A function with Numba's way of calling; write(builder, arguments) writes it and gives its result."""
    convention = context.call_conv
    function = ir.Function(module, convention.get_function_type(result, kinds), module.get_unique_name("piece"))
    function.linkage = "internal"
    convention.decorate_function(function, [f"a{k}" for k in range(len(kinds))], kinds)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    values = context.get_arg_packer(kinds).from_arguments(builder, convention.get_arguments(function))
    convention.return_value(builder, write(builder, values))
    return function


def _shared(context, module, signature, make):
    """A kernel that is called in many places and not inlined: numbers go in and come out.  Its status is not looked at: kernels on
    numbers do not raise exceptions, and Numba's test after each call takes LLVM longer than all the rest."""
    inner = _numbas(context, module, signature.return_type, signature.args, make)
    inner.attributes.add("alwaysinline")
    kinds = [context.get_value_type(t) for t in signature.args]
    function = ir.Function(module, ir.FunctionType(context.get_value_type(signature.return_type), kinds), module.get_unique_name("shared"))
    function.linkage = "internal"
    function.attributes.add("noinline")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    b.ret(context.call_conv.call_function(b, inner, signature.return_type, signature.args, function.args)[1])
    return lambda builder, values: builder.call(function, values)


def _write_pieces(context, builder, scope, functions, statements):
    """The statements as functions of at most LONGEST of them, one called after the other."""
    pieces = [statements[k : k + LONGEST] for k in range(0, len(statements), LONGEST)]
    sets, gets = ([_names(piece, how) for piece in pieces] for how in (ast.Store, ast.Load))
    called = {s.targets[0].id for s in statements if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call) and _is_name(s.targets[0])}
    place: dict[str, int] = {}  # where a name is kept for later pieces; each is set once
    kept_as: dict[str, types.Type] = {}  # a number, or a tuple that a kernel returned
    before: set[str] = set()
    size = 0
    for new, needed in zip(sets, gets, strict=True):
        for name in sorted((needed & before) - place.keys()):
            place[name] = size
            size += RETURNED if name in called else 1
        before |= new
    kinds = (*(kind for kind, _ in scope.values()), types.CPointer(types.float64))
    with builder.goto_entry_block():
        kept = builder.alloca(ir.DoubleType(), max(1, size))
    known: dict = {}
    for piece, new, needed in zip(pieces, sets, gets, strict=True):

        def write(b, values, piece=piece, new=new, needed=needed):
            def entries(name):
                return (b.gep(values[-1], [ir.Constant(ir.IntType(64), place[name] + k)]) for k in range(RETURNED))

            across = sorted((new | needed) & place.keys())
            inside = dict(zip(scope, zip(kinds[:-1], values[:-1], strict=True), strict=True))
            for name in across:
                if name not in new:
                    inside[name] = kept_as[name], _recalled(context, b, kept_as[name], entries(name))
            writer = Straight(context, b, inside, functions, known)
            writer.run(piece)
            for name in across:
                if name in new:
                    kind, value = inside[name]
                    if not isinstance(kind, types.BaseTuple):
                        kind, value = types.float64, writer._float(inside[name])
                    kept_as[name] = kind
                    _keep(b, kind, value, entries(name))
            return context.get_dummy_value()

        function = _numbas(context, builder.module, types.none, kinds, write)
        function.attributes.add("noinline")
        status, _ = context.call_conv.call_function(builder, function, types.none, kinds, [*(value for _, value in scope.values()), kept])
        with builder.if_then(status.is_error, likely=False):
            context.call_conv.return_status_propagate(builder, status)


def _keep(builder, kind, value, entries):
    """Write the floats of a number or of a tuple of tuples to the entries."""
    if isinstance(kind, types.BaseTuple):
        for k, part in enumerate(kind):
            _keep(builder, part, builder.extract_value(value, k), entries)
    else:
        builder.store(value, next(entries))


def _recalled(context, builder, kind, entries):
    """What `_keep` has written."""
    if isinstance(kind, types.BaseTuple):
        return context.make_tuple(builder, kind, [_recalled(context, builder, part, entries) for part in kind])
    return builder.load(next(entries))


def _is_name(node):
    return isinstance(node, ast.Name)


def _names(piece, how):
    return {n.id for statement in piece for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, how)}
