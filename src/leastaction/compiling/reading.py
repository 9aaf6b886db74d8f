"""Which kernels an entry point will call, for which types: found by reading its source, before anything is compiled.

    Reader().read(run, types)  ->  [(kernel, types), ...] in the order in which Numba meets them

Numba learns it only while it compiles, and the last one when it is nearly done.  Whoever wants to compile some of them meanwhile (ahead.py)
has to know sooner.  Kernels are plain: records, arrays, numbers, tuples of numbers, and calls of other kernels; so the types follow from
those of the arguments by looking at every statement once.  What cannot be told (None) is left out, and what is told wrongly is compiled for
nobody: neither changes what an entry point is made of.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import types

from .numba_private import kernels
from .syntax import definition

INT, FLOAT, BOOL = types.int64, types.float64, types.boolean
_NUMBERS_OF = {int: INT, len: INT, float: FLOAT, bool: BOOL}
_LARGEST = (abs, min, max, sum)


class Call(NamedTuple):
    """A kernel for certain types of arguments."""

    kernel: Any
    arguments: tuple[Any, ...]


class Value(NamedTuple):
    """Something that is known itself, not only its type: a module, a class, a function that is no kernel."""

    value: Any


class Reader:
    """Reads kernels; remembers what they call and give back."""

    def __init__(self) -> None:
        self.calls: dict[Call, list[Call]] = {}  #: every kernel that was met -> those that it calls itself
        self.callers: dict[Call, Call | None] = {}  #: by whom it is met first
        self._results: dict[Call, Any] = {}

    def read(self, kernel: Any, arguments: tuple[Any, ...]) -> list[Call]:
        """All that it calls, and what these call, each once, in the order in which they are met; itself first."""
        first = Call(kernel, arguments)
        self.result(first)
        found: list[Call] = []
        ahead: list[tuple[Call, Call | None]] = [(first, None)]
        while ahead:
            call, caller = ahead.pop()
            if call not in self.callers:
                self.callers[call] = caller
                found.append(call)
                ahead += [(callee, call) for callee in reversed(self.calls.get(call, ()))]
        return [call for call in found if None not in call.arguments]

    def way_to(self, call: Call) -> list[Any]:
        """The kernels by which it is met first, from the entry point on."""
        way, caller = [], self.callers.get(call)
        while caller is not None:
            way.append(caller.kernel)
            caller = self.callers[caller]
        return way[::-1]

    def below(self, call: Call) -> set[Call]:
        """All that it calls, and what these call."""
        found: set[Call] = set()
        ahead = [call]
        while ahead:
            new = [c for c in self.calls.get(ahead.pop(), ()) if c not in found]
            found.update(new)
            ahead += new
        return found

    def result(self, call: Call) -> Any:
        """The type of what it gives back; None if that cannot be told."""
        if call not in self._results:
            self._results[call] = None  # of those that call themselves
            self.calls[call] = []
            definition = definition_of(call.kernel.py_func)
            if definition is not None:
                self._results[call] = _Scope(self, call, definition).result()
        return self._results[call]


def definition_of(function: Any) -> ast.FunctionDef | None:
    """The syntax tree of a function; None if its source is not to be had."""
    try:
        return definition(function)
    except (OSError, SyntaxError, StopIteration):
        return None


@cache
def _nodes(function: Any) -> int:
    definition = definition_of(function)
    return sum(1 for _ in ast.walk(definition)) if definition else 0


def size(call: Call) -> int:
    """How much there is to compile, as the nodes of the syntax tree."""
    return _nodes(call.kernel.py_func)


class _Scope:
    """One kernel for one tuple of types, being read."""

    def __init__(self, reader: Reader, call: Call, definition: ast.FunctionDef):
        self._reader, self._calls, self._body = reader, reader.calls[call], definition.body
        self._function = call.kernel.py_func
        self._outside = inspect.getclosurevars(self._function).nonlocals if self._function.__closure__ else {}
        names = [a.arg for a in definition.args.args]
        self._types: dict[str, Any] = dict(zip(names, call.arguments, strict=False))
        self._returned: list[Any] = []

    def result(self) -> Any:
        self._statements(self._body)
        return _common(self._returned) if self._returned else types.none

    # -------------------------------------------------------------------------------------------------------- statements

    def _statements(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            visit = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if visit is not None:
                visit(statement)

    def _expr(self, statement: ast.Expr) -> None:
        self._type(statement.value)

    def _return(self, statement: ast.Return) -> None:
        self._returned.append(_plain(self._type(statement.value)) if statement.value else types.none)

    def _assign(self, statement: ast.Assign) -> None:
        value = self._type(statement.value)
        for target in statement.targets:
            self._bind(target, value)

    def _augassign(self, statement: ast.AugAssign) -> None:
        value = _of_operation(statement.op, self._type(statement.target), self._type(statement.value))
        self._bind(statement.target, value)

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._types[target.id] = value
        elif isinstance(target, ast.Tuple):
            parts = list(value) if isinstance(value, types.BaseTuple) and len(value) == len(target.elts) else [None] * len(target.elts)
            for part, what in zip(target.elts, parts, strict=True):
                self._bind(part, what)
        else:
            self._type(target)  # calls in indices

    def _for(self, statement: ast.For) -> None:
        over = self._type(statement.iter)
        if isinstance(over, Value):
            self._bind(statement.target, INT if over.value is range else None)
        else:
            self._bind(statement.target, _common(list(over)) if isinstance(over, types.BaseTuple) and len(over) else None)
        self._loop(statement.body)
        self._statements(statement.orelse)

    def _while(self, statement: ast.While) -> None:
        self._forget_constants([statement])
        self._type(statement.test)
        self._loop(statement.body)

    def _loop(self, body: list[ast.stmt]) -> None:
        """Names that are bound inside are no constants at its start."""
        self._forget_constants(body)
        before = dict(self._types)
        self._statements(body)
        self._join(before, self._types)

    def _forget_constants(self, body: list[ast.stmt]) -> None:
        for node in (n for statement in body for n in ast.walk(statement)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in self._types:
                self._types[node.id] = _plain(self._types[node.id])

    def _if(self, statement: ast.If) -> None:
        holds = self._known(statement.test)
        self._type(statement.test)
        if holds is not None:
            return self._statements(statement.body if holds else statement.orelse)
        before = dict(self._types)
        self._statements(statement.body)
        one, self._types = self._types, before
        self._statements(statement.orelse)
        return self._join(one, self._types)

    def _join(self, one: dict[str, Any], other: dict[str, Any]) -> None:
        """What comes after two ways."""
        self._types = {name: _common([t[name] for t in (one, other) if name in t]) for name in {**one, **other}}

    def _known(self, test: ast.expr) -> bool | None:
        """Does a condition hold, as far as types say: `x is None`, `not`, `and`, `or`."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            known = self._known(test.operand)
            return None if known is None else not known
        if isinstance(test, ast.BoolOp):
            parts, decisive = [self._known(v) for v in test.values], isinstance(test.op, ast.Or)
            return decisive if decisive in parts else None if None in parts else not decisive
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
            what, with_none = self._type(test.left), isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
            if what is not None and with_none:
                return (what is types.none) == isinstance(test.ops[0], ast.Is)
        return None

    # ------------------------------------------------------------------------------------------------------- expressions

    def _type(self, node: ast.expr) -> Any:
        """The type of an expression, a Value, or None; notes the kernels that it calls."""
        visit = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if visit is not None:
            return visit(node)
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self._type(part)
        return None

    def _of_constant(self, node: ast.Constant) -> Any:
        return _of_object(node.value)

    def _of_name(self, node: ast.Name) -> Any:
        if node.id in self._types:
            return self._types[node.id]
        for scope in (self._outside, self._function.__globals__, self._function.__globals__.get("__builtins__", {})):
            scope = vars(scope) if isinstance(scope, ModuleType) else scope
            if node.id in scope:
                return _of_object(scope[node.id])
        return None

    def _of_attribute(self, node: ast.Attribute) -> Any:
        of = self._type(node.value)
        if isinstance(of, Value):
            return _of_object(getattr(of.value, node.attr, None))
        if isinstance(of, types.BaseNamedTuple) and node.attr in of.fields:
            return of[of.fields.index(node.attr)]
        if isinstance(of, types.Array):
            return {"shape": types.UniTuple(INT, of.ndim), "size": INT, "ndim": INT}.get(node.attr)
        return None

    def _of_subscript(self, node: ast.Subscript) -> Any:
        of, index = self._type(node.value), self._type(node.slice)
        if isinstance(of, types.Array):
            indices = list(index) if isinstance(index, types.BaseTuple) else [index]
            if not all(isinstance(_plain(i), types.Integer) for i in indices):
                return None
            left = of.ndim - len(indices)
            return of.dtype if left == 0 else of.copy(ndim=left)
        if isinstance(of, types.BaseTuple) and isinstance(index, types.IntegerLiteral) and -len(of) <= index.literal_value < len(of):
            return of[index.literal_value]
        return of.dtype if isinstance(of, types.UniTuple) and not isinstance(node.slice, ast.Slice) else None

    def _of_tuple(self, node: ast.Tuple) -> Any:
        parts = [_plain(self._type(e)) for e in node.elts]
        return types.BaseTuple.from_types(parts) if all(isinstance(p, types.Type) for p in parts) else None

    def _of_binop(self, node: ast.BinOp) -> Any:
        return _of_operation(node.op, self._type(node.left), self._type(node.right))

    def _of_unaryop(self, node: ast.UnaryOp) -> Any:
        of = _plain(self._type(node.operand))
        if isinstance(node.op, ast.Not):
            return BOOL
        return of if of in (INT, FLOAT) else None

    def _of_compare(self, node: ast.Compare) -> Any:
        for part in (node.left, *node.comparators):
            self._type(part)
        return BOOL

    def _of_boolop(self, node: ast.BoolOp) -> Any:
        return _common([self._type(v) for v in node.values])

    def _of_ifexp(self, node: ast.IfExp) -> Any:
        holds = self._known(node.test)
        self._type(node.test)
        ways = [node.body, node.orelse] if holds is None else [node.body if holds else node.orelse]
        return _common([self._type(way) for way in ways]) if holds is None else self._type(ways[0])

    def _of_call(self, node: ast.Call) -> Any:
        function = self._type(node.func)
        arguments: list[Any] = []
        for a in node.args:
            if isinstance(a, ast.Starred):
                many = self._type(a.value)
                arguments += list(many) if isinstance(many, types.BaseTuple) else [None]
            else:
                arguments.append(self._type(a))
        named = {k.arg: self._type(k.value) for k in node.keywords}
        if isinstance(function, types.Dispatcher):
            return self._of_kernel(function.dispatcher, arguments, named)
        if not isinstance(function, Value):
            return None
        return _of_builtin(function.value, arguments)

    def _of_kernel(self, kernel: Any, arguments: list[Any], named: dict[str | None, Any]) -> Any:
        parameters = kernel.py_func.__code__.co_varnames[: kernel.py_func.__code__.co_argcount]
        whole = [*arguments, *(named.get(name) for name in parameters[len(arguments) :])]
        call = Call(kernel, tuple(a if isinstance(a, types.Type) else None for a in whole))
        if call not in self._calls:
            self._calls.append(call)
        return self._reader.result(call)


# ------------------------------------------------------------------------------------------------------------------- types


def _of_object(value: Any) -> Any:
    """Of something that stands in a module."""
    if value is None:
        return types.none
    if isinstance(value, float) or (isinstance(value, int) and abs(value) >= 1 << 63):  # large whole numbers: in series, divided by others
        return FLOAT
    if isinstance(value, int):
        return types.literal(value)
    if isinstance(value, np.int64):
        return INT
    try:
        if value in kernels:
            return types.Dispatcher(value)
    except TypeError:
        pass
    if isinstance(value, tuple):
        parts = [_plain(_of_object(v)) for v in value]
        if all(isinstance(p, types.Type) for p in parts):
            return types.BaseTuple.from_types(parts, type(value) if hasattr(value, "_fields") else None)
        return None
    return Value(value)


def _of_builtin(function: Any, arguments: list[Any]) -> Any:
    """What is called and is no kernel."""
    if function is range:
        return Value(range)
    if function in _NUMBERS_OF:
        return _NUMBERS_OF[function]
    if function in _LARGEST:
        return _common([_plain(a) for a in arguments])
    if isinstance(function, type) and hasattr(function, "_fields"):
        parts = [_plain(a) for a in arguments]
        return types.BaseTuple.from_types(parts, function) if all(isinstance(p, types.Type) for p in parts) else None
    module = getattr(function, "__module__", None)
    if module in ("math", "numpy") or isinstance(getattr(function, "nin", None), int):  # functions of numbers
        return FLOAT if all(_plain(a) in (INT, FLOAT) for a in arguments) else None
    return None


def _of_operation(operation: ast.operator, left: Any, right: Any) -> Any:
    left, right = _plain(left), _plain(right)
    if left not in (INT, FLOAT, BOOL) or right not in (INT, FLOAT, BOOL):
        return None
    return FLOAT if FLOAT in (left, right) or isinstance(operation, ast.Div) else INT


def _plain(kind: Any) -> Any:
    """Without the value of a constant."""
    return types.unliteral(kind) if isinstance(kind, types.Literal) else kind


def _common(kinds: Iterable[Any]) -> Any:
    """What is one of these, of which some cannot be told: the others say what it is.  None if they do not go together."""
    known = [k for k in kinds if k is not None]
    if not known or all(k == known[0] for k in known):
        return known[0] if known else None
    plain = {_plain(k) for k in known if isinstance(k, types.Type)}
    if len(plain) == 1:
        return plain.pop()
    return FLOAT if plain <= {INT, FLOAT} else None
