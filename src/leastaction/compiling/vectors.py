"""Numbers, vectors of numbers and arrays of them, as values of LLVM: what compiling/lanes.py writes its instructions with.

A value is a `Number` (known when the program runs, one for all lanes or one in every lane), an `Array`, a `Record`, a tuple of values, or
any other object: known now.
"""

import ast
import math
import operator

import numpy as np
from llvmlite import ir
from numba import types

from .numba_private import cgutils

_DOUBLE, _INT, _BIT = ir.DoubleType(), ir.IntType(64), ir.IntType(1)
_LLVM = {"f": _DOUBLE, "i": _INT, "b": _BIT}
_NUMBA = {"f": types.float64, "i": types.int64, "b": types.boolean}
_PYTHON = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.BitAnd: operator.and_,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_FLOATS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_INTEGERS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and_"}
_COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class Number:
    """A number known at run time: kind "f", "i" or "b"; wide: one in every lane."""

    def __init__(self, kind, wide, llvm):
        self.kind, self.wide, self.llvm = kind, wide, llvm


class Array:
    def __init__(self, kind, llvm):
        self.kind, self.llvm = kind, llvm


class Record(Array):
    """A named tuple."""


def known(value):
    return not isinstance(value, (Number, Array))


def known_number(value):
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def is_wide(value):
    return isinstance(value, Number) and value.wide


def kind_of(value):
    if isinstance(value, Number):
        return value.kind
    return "b" if isinstance(value, (bool, np.bool_)) else "i" if isinstance(value, (int, np.integer)) else "f"


class Vectors:
    """Writes arithmetic, loads and stores; only the lanes that are live are written."""

    gathers = False  #: may an index differ from lane to lane?

    def __init__(self, context, builder, width):
        self.context, self.builder, self.width = context, builder, width
        self.live = None  # where the mask is; None: all lanes are live

    # ------------------------------------------------------------------------------------------------------------- numbers

    def taken(self, kind, llvm):
        """A value of Numba."""
        if isinstance(kind, types.BaseNamedTuple):
            return Record(kind, llvm)
        if isinstance(kind, types.BaseTuple):
            return tuple(self.taken(t, self.builder.extract_value(llvm, k)) for k, t in enumerate(kind))
        if isinstance(kind, types.Array):
            return Array(kind, llvm)
        if isinstance(kind, types.NoneType):
            return None
        for letter, wanted in _NUMBA.items():
            if types.unliteral(kind) == wanted:
                return Number(letter, False, llvm)
        raise TypeError(f"{kind} in lanes")

    def given(self, value):
        """(type, value) for Numba."""
        if isinstance(value, Array):
            return value.kind, value.llvm
        if value is None:
            return types.none, self.context.get_dummy_value()
        number = value if isinstance(value, Number) else self.constant(value)
        if number.wide:
            raise TypeError("a number of several lanes is given to a compiled function")
        return _NUMBA[number.kind], number.llvm

    def constant(self, value):
        kind = "b" if isinstance(value, (bool, np.bool_)) else "i" if isinstance(value, (int, np.integer)) else "f"
        return Number(kind, False, ir.Constant(_LLVM[kind], {"b": int, "i": int, "f": float}[kind](value)))

    def type(self, kind, wide):
        return ir.VectorType(_LLVM[kind], self.width) if wide else _LLVM[kind]

    def cast(self, value, kind, wide):
        """The number as an LLVM value of this kind, in all lanes if wide."""
        number = value if isinstance(value, Number) else self.constant(value)
        llvm, target = number.llvm, self.type(kind, number.wide)
        if (number.kind, kind) in (("i", "f"), ("f", "i")):
            llvm = (self.builder.sitofp if kind == "f" else self.builder.fptosi)(llvm, target)
        elif (number.kind, kind) == ("b", "i"):
            llvm = self.builder.zext(llvm, target)
        elif (number.kind, kind) == ("b", "f"):
            llvm = self.builder.uitofp(llvm, target)
        elif number.kind != kind:
            llvm = self.compare(ast.NotEq, number, 0).llvm
        if wide and not number.wide:
            if isinstance(llvm, ir.Constant):
                return ir.Constant(self.type(kind, True), [llvm.constant] * self.width)
            vector, index = self.type(kind, True), ir.VectorType(ir.IntType(32), self.width)
            first = self.builder.insert_element(ir.Constant(vector, ir.Undefined), llvm, ir.Constant(ir.IntType(32), 0))
            return self.builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), ir.Constant(index, [0] * self.width))
        return llvm

    def operate(self, operation, left, right):
        if operation not in _FLOATS and operation not in _INTEGERS and operation is not ast.Pow:
            raise TypeError(f"{operation.__name__} is no operation that lanes know: + - * / ** & and comparisons are")
        if known(left) and known(right):
            return _PYTHON[operation](left, right)
        if operation is ast.Pow:
            return self.power(left, right)
        wide = is_wide(left) or is_wide(right)
        if operation is ast.Div or "f" in (kind_of(left), kind_of(right)):
            make = getattr(self.builder, _FLOATS[operation])
            return Number("f", wide, make(self.cast(left, "f", wide), self.cast(right, "f", wide)))
        make = getattr(self.builder, _INTEGERS[operation])
        return Number("i", wide, make(self.cast(left, "i", wide), self.cast(right, "i", wide)))

    def power(self, base, exponent):
        if known(exponent) and exponent == 0.5:
            return self.function_of_llvm("sqrt", base)
        if known(exponent) and exponent in (2, 3):
            square = self.operate(ast.Mult, base, base)
            return square if exponent == 2 else self.operate(ast.Mult, square, base)
        if is_wide(base) or is_wide(exponent):
            return self.each_lane(math.pow, [base, exponent])
        return self.compiled(math.pow, [base, exponent])

    def compare(self, operation, left, right):
        if (known(left) and known(right)) or operation in (ast.Is, ast.IsNot):
            return _PYTHON[operation](left, right)
        wide = is_wide(left) or is_wide(right)
        kind = "f" if "f" in (kind_of(left), kind_of(right)) else "i"
        values, sign = (self.cast(left, kind, wide), self.cast(right, kind, wide)), _COMPARED[operation]
        if kind == "i":
            return Number("b", wide, self.builder.icmp_signed(sign, *values))
        make = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered  # a NaN differs from itself
        return Number("b", wide, make(sign, *values))

    def choose(self, condition, yes, no):
        if known(condition):
            return yes if condition else no
        wide = is_wide(condition) or is_wide(yes) or is_wide(no)
        kind = max(kind_of(yes), kind_of(no), key="bif".index)
        picked = self.builder.select(self.cast(condition, "b", wide), self.cast(yes, kind, wide), self.cast(no, kind, wide))
        return Number(kind, wide, picked)

    def invert(self, value):
        return (not value) if known(value) else Number("b", value.wide, self.builder.not_(self.cast(value, "b", value.wide)))

    def both(self, values, make, enough):
        """`and` or `or`: enough is the value that decides."""
        found = not enough
        for value in values:
            if known(value):
                if bool(value) is enough:
                    return enough
            elif known(found):
                found = value
            else:
                wide = found.wide or value.wide
                found = Number("b", wide, make(self.cast(found, "b", wide), self.cast(value, "b", wide)))
        return found

    # -------------------------------------------------------------------------------------------------------------- masks

    def start_mask(self, bits):
        self.live = cgutils.alloca_once(self.builder, self.type("b", True))
        self.builder.store(bits, self.live)

    def mask(self):
        return ir.Constant(self.type("b", True), [1] * self.width) if self.live is None else self.builder.load(self.live)

    def any(self, bits):
        packed = self.builder.bitcast(bits, ir.IntType(self.width))
        return self.builder.icmp_unsigned("!=", packed, ir.Constant(ir.IntType(self.width), 0))

    def put(self, value, pointer, kind, align=None):
        """Into memory of all lanes, but only of those that are live."""
        new = self.cast(value, kind, True)
        if self.live is not None:
            new = self.builder.select(self.mask(), new, self.builder.load(pointer, align=align))
        self.builder.store(new, pointer, align=align)

    # ------------------------------------------------------------------------------------------------------------- arrays

    def entry(self, array, indices):
        kind = "f" if array.kind.dtype == types.float64 else "i"
        if any(is_wide(i) for i in indices):
            vector = ir.Constant(self.type(kind, True), ir.Undefined)
            for k, pointer in enumerate(self.pointers_to(array, indices)):
                vector = self.builder.insert_element(vector, self.builder.load(pointer), ir.Constant(ir.IntType(32), k))
            return Number(kind, True, vector)
        pointer, wide = self.pointer_to(array, indices)
        return Number(kind, wide, self.builder.load(pointer, align=8))

    def store(self, array, indices, value):
        kind = "f" if array.kind.dtype == types.float64 else "i"
        if any(is_wide(i) for i in indices):
            new = self.cast(value, kind, True)
            if self.live is not None:
                new = self.builder.select(self.mask(), new, self.entry(array, indices).llvm)
            for k, pointer in enumerate(self.pointers_to(array, indices)):
                self.builder.store(self.builder.extract_element(new, ir.Constant(ir.IntType(32), k)), pointer)
            return
        pointer, wide = self.pointer_to(array, indices)
        if wide:
            self.put(value, pointer, kind, 8)
        elif self.live is not None or is_wide(value):
            raise TypeError("a number of one lane is written to an array that all lanes share")
        else:
            self.builder.store(self.cast(value, kind, False), pointer)

    def pointer_to(self, array, indices):
        wide = len(indices) == array.kind.ndim - 1
        if not wide and len(indices) != array.kind.ndim:
            raise TypeError(f"{len(indices)} indices of an array with {array.kind.ndim} axes")
        struct = self.context.make_array(array.kind)(self.context, self.builder, array.llvm)
        places = [self.cast(i, "i", False) for i in (*indices, *([0] if wide else []))]
        pointer = cgutils.get_item_pointer(self.context, self.builder, array.kind, struct, places, wraparound=False)
        kind = "f" if array.kind.dtype == types.float64 else "i"
        return (self.builder.bitcast(pointer, self.type(kind, True).as_pointer()) if wide else pointer), wide

    def pointers_to(self, array, indices):
        """The place of every lane, where an index differs from lane to lane."""
        if not self.gathers or len(indices) != array.kind.ndim:
            raise TypeError("an index that differs from lane to lane")
        struct = self.context.make_array(array.kind)(self.context, self.builder, array.llvm)
        for k in range(self.width):
            at = ir.Constant(ir.IntType(32), k)
            places = [self.builder.extract_element(i.llvm, at) if is_wide(i) else self.cast(i, "i", False) for i in indices]
            yield cgutils.get_item_pointer(self.context, self.builder, array.kind, struct, places, wraparound=False)

    # -------------------------------------------------------------------------------------------------------------- calls

    def each_lane(self, function, arguments):
        """A function of the C library."""
        result = ir.Constant(self.type("f", True), ir.Undefined)
        wide = [self.cast(a, "f", True) for a in arguments]
        for k in range(self.width):
            at = ir.Constant(ir.IntType(32), k)
            one = self.compiled(function, [Number("f", False, self.builder.extract_element(w, at)) for w in wide])
            result = self.builder.insert_element(result, one.llvm, at)
        return Number("f", True, result)

    def compiled(self, function, arguments):
        """A call of what Numba compiles."""
        given = [self.given(a) for a in arguments]
        kind = self.context.typing_context.resolve_value_type(function)
        signature = kind.get_call_type(self.context.typing_context, tuple(t for t, _ in given), {})
        values = [self.context.cast(self.builder, v, t, to) for (t, v), to in zip(given, signature.args, strict=True)]
        return self.taken(signature.return_type, self.context.get_function(kind, signature)(self.builder, values))

    def function_of_llvm(self, name, value):
        wide = is_wide(value)
        kind = self.type("f", wide)
        callee = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(kind, [kind]), f"llvm.{name}.{f'v{self.width}' if wide else ''}f64"
        )  # fmt: skip
        return Number("f", wide, self.builder.call(callee, [self.cast(value, "f", wide)]))


# ------------------------------------------------------------------------------------------ several columns of several rows


def neighbours(columns):
    """The numbers of columns in fours, twos and ones that lie side by side."""
    found, left = [], sorted(columns)
    while left:
        size = next(n for n in (4, 2, 1) if left[:n] == list(range(left[0], left[0] + n)))
        found.append(left[:size])
        left = left[size:]
    return found


def store_rows(builder, columns, places):
    """Write vectors that are one, two or four columns of some rows, from these places on: row by row."""
    for place, part in zip(places, _rows_of(builder, columns), strict=True):
        if isinstance(part.type, ir.VectorType):
            place = builder.bitcast(place, part.type.as_pointer())
        builder.store(part, place, align=8)


def _rows_of(builder, columns):
    def mixed(a, b, *places):
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places)))

    rows = columns[0].type.count
    if len(columns) == 1:
        return [builder.extract_element(columns[0], ir.Constant(ir.IntType(32), k)) for k in range(rows)]
    if len(columns) == 2:
        return [mixed(*columns, k, k + rows) for k in range(rows)]
    a, b, c, d = columns
    if rows != 4:
        return [mixed(mixed(a, b, k, k + rows), mixed(c, d, k, k + rows), 0, 1, 2, 3) for k in range(rows)]
    even, odd = (mixed(a, b, 0, 4, 2, 6), mixed(c, d, 0, 4, 2, 6)), (mixed(a, b, 1, 5, 3, 7), mixed(c, d, 1, 5, 3, 7))
    low, high = (0, 1, 4, 5), (2, 3, 6, 7)
    return [mixed(*even, *low), mixed(*odd, *low), mixed(*even, *high), mixed(*odd, *high)]
