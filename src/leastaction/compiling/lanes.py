"""Lanes: one function on several simulations at once, a simulation in every lane of the vector registers.

    several = in_lanes(8)

    @several
    def advance(w, h):
        for j in range(w.q.shape[0]):
            x = w.q[j] + h * w.v[j]
            w.q[j] = x if x < 1.0 else half(x)

The source is that of a kernel for one simulation; kernels it calls are read as they stand.  What differs from lane to lane lives in arrays
with one more axis, the last, as long as there are lanes: an entry with all indices but that one is a vector of LLVM.  Everything else is
the same in all lanes: models, loop counters, indices.

Where lanes disagree in a branch, each side runs if any lane takes it, and only the lanes that do are written; so with `return` and
`break`.  What a lane computes depends on nothing in its neighbours.

Allowed are the statements of straight.py, `if`, `for` over a range or a tuple of numbers, `while True`, `break`, `return`, records, calls
of kernels, and of generated kernels that take no lanes but in arrays; these are compiled by Numba.
"""

import ast
import builtins
import functools
import inspect
import math
import weakref

from llvmlite import binding, ir
from numba import config, types
from numba.extending import intrinsic

from .numba_private import AVAILABLE, cgutils
from .syntax import definition
from .vectors import Array, Number, Record, Vectors, is_wide, kind_of, known, known_number

_LLVM_FUNCTIONS = {math.sqrt: "sqrt", math.floor: "floor", math.fabs: "fabs", abs: "fabs"}
_INT = ir.IntType(64)

class _Slot:
    """Memory of a name that is assigned several times."""

    def __init__(self, kind, pointer):
        self.kind, self.pointer = kind, pointer


# how lanes leave a statement: none does, some may, all have
_NONE, _SOME, _ALL = 0, 1, 2


@functools.cache
def lanes_of_this_machine():
    """How many numbers its vectors have; 1 if that is less than four, or if vectors cannot be named here."""
    if config.DISABLE_JIT or config.BOUNDSCHECK or not AVAILABLE:
        return 1
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # unknown
        return 1
    if config.CPU_NAME and binding.get_host_cpu_name() != config.CPU_NAME:  # code for another machine
        asked = config.CPU_FEATURES or ""
        features = {name: f"+{name}" in asked.split(",") for name in ("avx512f", "avx2")}
    return 8 if features.get("avx512f") else 4 if features.get("avx2") else 1


def in_lanes(width, masked=False):
    """A decorator: the function in `width` lanes, as a Numba intrinsic that returns nothing.

    masked: it has a parameter `live`, an array of a number for every lane, 0 for those that are not to be written
    """

    def decorate(function):
        names = list(inspect.signature(function).parameters)
        # Numba never forgets an intrinsic: it knows the function weakly, and what keeps the function is its own module
        function.__globals__.setdefault("__straight__", []).append(function)
        known_weakly = weakref.ref(function)

        def typed(arguments):
            def generate(context, builder, signature, values):
                function = known_weakly()
                writer = LaneWriter(context, builder, width)
                given = [writer.taken(t, v) for t, v in zip(signature.args, values, strict=True)]
                if masked:
                    live = writer.entry(given[names.index("live")], (0,))
                    writer.start_mask(writer.compare(ast.Gt, live, 0.5).llvm)
                writer.inline(function, given)
                return context.get_dummy_value()

            return types.void(*arguments), generate

        # Numba counts the parameters of an intrinsic, so they are written out
        described = eval(f"lambda typing, {', '.join(names)}: typed(({', '.join(names)},))", {"typed": typed})
        described.__name__, described.__doc__ = function.__name__, function.__doc__
        return intrinsic(described)

    return decorate


class _Frame:
    """A function being written: its names, and what it returns."""

    def __init__(self, function, tree):
        self.function = function
        stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        stored += [n.target.id for n in ast.walk(tree) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)]
        self.several = {name for name in stored if stored.count(name) > 1}
        self.names = {}
        self.result, self.slots, self.depth = None, None, 0
        self.broken = []  # of the loops it is in: which lanes have left


class LaneWriter(Vectors):
    """Writes the instructions of functions."""

    def __init__(self, context, builder, width):
        super().__init__(context, builder, width)
        self.frame = None

    # --------------------------------------------------------------------------------------------------------- statements

    def inline(self, function, arguments):
        """The function written here; what it returns."""
        tree = _tree(function)
        caller, live = self.frame, self.live
        frame = self.frame = _Frame(function, tree)
        frame.names.update(zip([a.arg for a in tree.args.args], arguments, strict=True))
        for name in frame.several & set(frame.names):
            raise TypeError(f"{function.__qualname__} in lanes assigns to its parameter {name}")
        if live is not None:
            self.start_mask(self.builder.load(live))  # lanes return from here only
        self.block(tree.body)
        self.frame, self.live = caller, live
        return frame.result if frame.slots is None else _each(self._read, frame.slots)

    def block(self, statements):
        """Write them; how lanes have left."""
        for k, statement in enumerate(statements):
            left = getattr(self, "_" + type(statement).__name__.lower())(statement)
            if left == _ALL:
                return _ALL
            if left == _SOME:
                if statements[k + 1 :]:
                    self.frame.depth += 1
                    with self.builder.if_then(self.any(self.mask())):
                        self.block(statements[k + 1 :])
                    self.frame.depth -= 1
                return _SOME
        return _NONE

    def _pass(self, node):
        return _NONE

    def _expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)
        return _NONE

    def _assign(self, node):
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, value)
        return _NONE

    def _augassign(self, node):
        old = self.value(ast.Name(node.target.id, ast.Load()) if isinstance(node.target, ast.Name) else node.target)
        self.assign(node.target, self.operate(type(node.op), old, self.value(node.value)))
        return _NONE

    def assign(self, target, value):
        names = self.frame.names
        if isinstance(target, ast.Tuple):
            for part, item in zip(target.elts, value, strict=True):
                self.assign(part, item)
        elif isinstance(target, ast.Subscript):
            array, index = self.value(target.value), self.value(target.slice)
            self.store(array, index if isinstance(index, tuple) else (index,), value)
        elif target.id in self.frame.several and (known_number(value) or isinstance(value, Number)):
            if target.id not in names:
                names[target.id] = self._slot(kind_of(value))
                full, self.live = self.live, None
                self._write(names[target.id], 0)  # lanes that come here later find a number
                self.live = full
            self._write(names[target.id], value)
        else:
            names[target.id] = value

    def _slot(self, kind):
        return _Slot(kind, cgutils.alloca_once(self.builder, self.type(kind, True)))

    def _write(self, slot, value):
        self.put(value, slot.pointer, slot.kind)

    def _read(self, slot):
        return Number(slot.kind, True, self.builder.load(slot.pointer))

    def _return(self, node):
        frame = self.frame
        value = None if node.value is None else self.value(node.value)
        if frame.depth == 0 and frame.slots is None:
            frame.result = value
            return _ALL
        if frame.slots is None:
            frame.slots = _each(lambda v: self._slot(kind_of(v)), value)
        _each(self._write, frame.slots, value)
        return self._leave()

    def _leave(self):
        if self.live is not None:
            self.builder.store(ir.Constant(self.type("b", True), [0] * self.width), self.live)
        return _ALL

    def _break(self, node):
        broken = self.frame.broken[-1]
        self.builder.store(self.builder.or_(self.builder.load(broken), self.mask()), broken)
        return self._leave()

    def _if(self, node):
        test = self.value(node.test)
        if known(test):
            return self.block(node.body if test else node.orelse)
        leaves = _leaves(node)
        self.frame.depth += 1
        if not test.wide and not leaves:
            with self.builder.if_else(self.cast(test, "b", False)) as (then, otherwise):
                with then:
                    self.block(node.body)
                with otherwise:
                    self.block(node.orelse)
            self.frame.depth -= 1
            return _NONE
        outer, before, bits = self.live, self.mask(), self.cast(test, "b", True)
        remaining = []
        for side, chosen in ((node.body, bits), (node.orelse, None)):
            if not side and not leaves:
                continue
            taken = self.builder.and_(before, self.builder.not_(bits) if chosen is None else chosen)
            self.start_mask(taken)
            if _is_short(side):
                self.block(side)
            else:
                with self.builder.if_then(self.any(taken)):
                    self.block(side)
            remaining.append(self.builder.load(self.live))
        self.frame.depth -= 1
        self.live = outer
        if not leaves:
            return _NONE
        left = self.builder.or_(*remaining)
        if outer is None:
            self.start_mask(left)
        else:
            self.builder.store(left, outer)
        return _SOME

    def _while(self, node):
        if not (isinstance(node.test, ast.Constant) and node.test.value is True):
            raise TypeError("in lanes only `while True`")
        return self._loop(node, lambda: None, lambda: None)

    def _for(self, node):
        name, turns = node.target.id, self.value(node.iter)
        first, last, step = (0, len(turns), 1) if isinstance(turns, tuple) else (turns.start, turns.stop, turns.step)
        counter = cgutils.alloca_once(self.builder, _INT)
        self.builder.store(self.cast(first, "i", False), counter)

        def begin():
            turn = Number("i", False, self.builder.load(counter))
            value = turn
            if isinstance(turns, tuple):
                value = turns[-1]
                for k in range(len(turns) - 1):
                    value = self.choose(self.compare(ast.Eq, turn, k), turns[k], value)
            self.frame.names[name] = value
            return self.compare(ast.Lt if step > 0 else ast.Gt, turn, last)

        def end():
            turn = self.builder.load(counter)
            self.builder.store(self.builder.add(turn, ir.Constant(_INT, step)), counter)

        return self._loop(node, begin, end, is_wide(last))

    def _loop(self, node, begin, end, different=False):
        """A loop that goes on as long as begin() says, None: until all lanes have left; different: begin() differs from lane to lane."""
        b, frame, outer = self.builder, self.frame, self.live
        head, body, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
        leaves = different or _leaves(node) or isinstance(node, ast.While)
        if leaves:
            self.start_mask(self.mask())
            frame.broken.append(cgutils.alloca_once(b, self.type("b", True)))
            b.store(ir.Constant(self.type("b", True), [0] * self.width), frame.broken[-1])
        frame.depth += 1
        b.branch(head)
        b.position_at_end(head)
        go_on = begin()
        tests = [] if go_on is None or different else [self.cast(go_on, "b", False)]
        if different:  # whoever is through waits as if by a break
            b.store(b.or_(b.load(frame.broken[-1]), b.and_(self.mask(), b.not_(go_on.llvm))), frame.broken[-1])
            b.store(b.and_(self.mask(), go_on.llvm), self.live)
        if leaves:
            tests.append(self.any(self.mask()))
        b.cbranch(tests[0] if len(tests) == 1 else b.and_(*tests), body, after)
        b.position_at_end(body)
        self.block(node.body)
        end()
        b.branch(head)
        b.position_at_end(after)
        frame.depth -= 1
        remaining = b.or_(b.load(frame.broken.pop()), self.mask()) if leaves else None
        self.live = outer
        if not _finds(node, (ast.Return,)):
            return _NONE
        if outer is None:
            self.start_mask(remaining)
        else:
            b.store(remaining, outer)
        return _SOME

    # -------------------------------------------------------------------------------------------------------- expressions

    def value(self, node):
        return getattr(self, "_" + type(node).__name__.lower())(node)

    def _constant(self, node):
        return node.value

    def _name(self, node):
        found = self.frame.names.get(node.id, self.frame)
        if isinstance(found, _Slot):
            return self._read(found)
        if found is not self.frame:
            return found
        scope = self.frame.function.__globals__
        return scope[node.id] if node.id in scope else getattr(builtins, node.id)

    def _attribute(self, node):
        owner = self.value(node.value)
        if isinstance(owner, Record):
            k = owner.kind.fields.index(node.attr)
            return self.taken(owner.kind.types[k], self.builder.extract_value(owner.llvm, k))
        if isinstance(owner, Array):
            if node.attr != "shape":
                raise TypeError(f"{node.attr} of an array in lanes")
            array = self.context.make_array(owner.kind)(self.context, self.builder, owner.llvm)
            return tuple(Number("i", False, x) for x in cgutils.unpack_tuple(self.builder, array.shape))
        return getattr(owner, node.attr)

    def _tuple(self, node):
        return tuple(self.value(e) for e in node.elts)

    def _binop(self, node):
        return self.operate(type(node.op), self.value(node.left), self.value(node.right))

    def _unaryop(self, node):
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return self.invert(value)
        if known(value):
            return -value
        make = self.builder.fneg if value.kind == "f" else self.builder.neg
        return Number(value.kind, value.wide, make(value.llvm))

    def _compare(self, node):
        ((operation, right),) = zip(node.ops, node.comparators, strict=True)
        return self.compare(type(operation), self.value(node.left), self.value(right))

    def _boolop(self, node):
        make, enough = (self.builder.and_, False) if isinstance(node.op, ast.And) else (self.builder.or_, True)
        values = []
        for part in node.values:
            values.append(self.value(part))
            if known(values[-1]) and bool(values[-1]) is enough:
                break
        return self.both(values, make, enough)

    def _ifexp(self, node):
        test = self.value(node.test)
        if known(test):
            return self.value(node.body if test else node.orelse)
        return self.choose(test, self.value(node.body), self.value(node.orelse))

    def _subscript(self, node):
        owner, index = self.value(node.value), self.value(node.slice)
        return self.entry(owner, index if isinstance(index, tuple) else (index,)) if isinstance(owner, Array) else owner[index]

    def _call(self, node):
        return self.call(self.value(node.func), [self.value(a) for a in node.args])

    def call(self, function, arguments):
        if function is range:
            return _Range(arguments)
        if hasattr(function, "write"):  # of mixing.py
            return function.write(self, *arguments)
        if function in (max, min):
            found = arguments[0]
            for other in arguments[1:]:
                found = self.choose(self.compare(ast.Gt if function is max else ast.Lt, other, found), other, found)
            return found
        if all(map(known, arguments)) and (function in _LLVM_FUNCTIONS or function in (int, float, bool)):
            return function(*arguments)
        if function in (int, float, bool):
            kind = {int: "i", float: "f", bool: "b"}[function]
            return Number(kind, is_wide(arguments[0]), self.cast(arguments[0], kind, is_wide(arguments[0])))
        if function in _LLVM_FUNCTIONS:
            return self.function_of_llvm(_LLVM_FUNCTIONS[function], arguments[0])
        if inspect.getmodule(function) is math or getattr(function, "__module__", "") == "math":
            return self.each_lane(function, arguments)
        if isinstance(function, type) and issubclass(function, tuple):
            return function(*arguments)
        python = getattr(function, "py_func", function)
        if python is not function and python.__module__.startswith("leastaction_"):  # a generated module
            return self.compiled(function, arguments)
        return self.inline(python, arguments)

class _Range:
    def __init__(self, bounds):
        self.start, self.stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        self.step = bounds[2] if len(bounds) == 3 else 1


def _each(function, first, *others):
    """The function on a value, or on the parts of a tuple."""
    if isinstance(first, tuple):
        return tuple(_each(function, *parts) for parts in zip(first, *others, strict=True))
    return None if first is None else function(first, *others)


def _leaves(node):
    """May lanes leave a statement: by a return, or a break of a loop around it?"""
    inner = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt)]
    if isinstance(node, (ast.For, ast.While)):
        return any(_finds(n, (ast.Return, ast.Break)) for n in inner)
    return any(isinstance(n, (ast.Return, ast.Break)) or _finds(n, (ast.Return,)) or _breaks(n) for n in inner)


def _finds(node, kinds):
    return any(isinstance(n, kinds) for n in ast.walk(node))


def _breaks(node):
    """A break that belongs to a loop around the node."""
    if isinstance(node, ast.Break):
        return True
    return not isinstance(node, (ast.For, ast.While)) and any(_breaks(n) for n in ast.iter_child_nodes(node))


def _is_short(statements):
    """Is it cheaper to do than to ask whether to do it?"""
    return all(isinstance(s, ast.Assign) and not _finds(s, (ast.Call, ast.BinOp)) for s in statements)


_trees: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # code of models that are dropped goes with them


def _tree(function):
    if function not in _trees:
        _trees[function] = definition(function)
    return _trees[function]
