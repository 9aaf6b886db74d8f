"""Bodies abreast: what is done for every body by itself is done for four at once, one in each lane of the vector registers.

    @abreast
    def leave(i, row, h):
        row[i, MU] = h * row[i, X]

    leave(1, n, row, h)          # for i in range(1, n)

What it does for one body must not depend on what it does for another: it may read and write the rows of body i, and read what nobody
writes.  It takes arrays and numbers, no records.  Entries of arrays are gathered from the rows of four bodies.  What it writes outside of
branches goes to memory at its end, four columns of four bodies at a time; so columns it writes to are known when it is compiled, and it
does not return early.  Of bodies that are left over, one runs by itself; two or three run in a block whose last lanes repeat the last one.
With compilation switched off, with bounds checks, and where only Numba's public interface is used, it is the loop it stands for.
"""

import inspect
import linecache

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from .cache import depend_on
from .decorators import inlined, kernel
from .lanes import LaneWriter
from .numba_private import AVAILABLE, cgutils
from .vectors import Number, is_wide, known, neighbours, store_rows

AT_ONCE = 4  # numbers of a register of most machines; with eight, half of them would be idle in most robots
_INT = ir.IntType(64)


def abreast(function):
    """A decorator of what is done for body i, its first parameter; the result takes (first, last) in its place."""
    depend_on(function)
    loop = _loop(function)
    if config.DISABLE_JIT or config.BOUNDSCHECK or not AVAILABLE:
        return kernel(loop)
    names = ["first", "last", *list(inspect.signature(function).parameters)[1:]]

    def typed(arguments):
        def generate(context, builder, signature, values):
            def run(width, first, last):
                writer = _Rows(context, builder, width)
                given = [writer.taken(t, v) for t, v in zip(signature.args[2:], values[2:], strict=True)]
                with cgutils.for_range_slice(builder, first, last, ir.Constant(_INT, width), intp=_INT) as (i, _):
                    writer.inline(function, [_bodies(builder, width, i, last), *given])
                    writer.write_out()

            first, last = (context.cast(builder, v, t, types.int64) for t, v in zip(signature.args[:2], values[:2], strict=True))
            left = builder.and_(builder.sub(last, first), ir.Constant(_INT, AT_ONCE - 1))
            alone = builder.zext(builder.icmp_signed("==", left, ir.Constant(_INT, 1)), _INT)
            end = builder.sub(last, alone)
            run(AT_ONCE, first, end)
            run(1, end, last)
            return context.get_dummy_value()

        return types.void(*arguments), generate

    # Numba counts the parameters of an intrinsic, so they are written out
    made = eval(f"lambda typing, {', '.join(names)}: typed(({', '.join(names)},))", {"typed": typed})
    made.__name__, made.__doc__ = function.__name__, function.__doc__
    found = intrinsic(made)
    found.py_func = loop
    return found


def _bodies(builder, width, i, last):
    """i, i + 1, i + 2, ..., but none beyond the last."""
    vector = ir.Constant(ir.VectorType(_INT, width), ir.Undefined)
    final = builder.sub(last, ir.Constant(_INT, 1))
    for k in range(width):
        mine = builder.add(i, ir.Constant(_INT, k))
        mine = builder.select(builder.icmp_signed("<", mine, final), mine, final) if k else i
        vector = builder.insert_element(vector, mine, ir.Constant(ir.IntType(32), k))
    return Number("i", True, vector)


def _loop(function):
    """The loop over the bodies, one after the other, as a Python function."""
    name, (i, *others) = function.__name__, inspect.signature(function).parameters
    passed = ", ".join(others)
    source = f"def {name}(first, last, {passed}):\n    for {i} in range(first, last):\n        one({i}, {passed})\n"
    scope = {"one": inlined(function)}
    filename = f"<abreast {name} {id(scope)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), scope)
    scope[name].__module__, scope[name].__doc__ = __name__, function.__doc__
    if function.__module__.startswith("leastaction.") and "<" not in function.__qualname__:  # by which other processes know it (parts.py)
        scope[name].made_from = (False, function.__module__, function.__qualname__, source), ()
    return scope[name]


class _Rows(LaneWriter):
    """Keeps what is written to columns known now until the end, and writes neighbouring ones together."""

    gathers = True

    def __init__(self, context, builder, width):
        super().__init__(context, builder, width)
        self.kept = {}  # (id of an array, id of its rows) -> (array, rows, {column: vector})
        self.nested = 0

    def _if(self, node):
        self.nested += 1
        left = super()._if(node)
        self.nested -= 1
        return left

    def _loop(self, *arguments):
        self.nested += 1
        left = super()._loop(*arguments)
        self.nested -= 1
        return left

    def _columns(self, array, indices):
        """Where columns of these rows are kept; None if they are not."""
        if len(indices) != 2 or not is_wide(indices[0]) or not known(indices[1]) or array.kind.dtype != types.float64:
            return None
        return self.kept.setdefault((id(array.llvm), id(indices[0].llvm)), (array, indices[0], {}))[2]

    def entry(self, array, indices):
        columns = self._columns(array, indices)
        if columns and indices[1] in columns:
            return Number("f", True, columns[indices[1]])
        if is_wide(indices[0]) and not known(indices[-1]) and any(a.llvm is array.llvm and kept for a, _, kept in self.kept.values()):
            raise TypeError("abreast, a column is read that is not known now, of an array that has been written to")
        return super().entry(array, indices)

    def store(self, array, indices, value):
        if self.live is not None and not self.nested:
            raise TypeError("abreast, something is written behind a return in a branch")
        columns = self._columns(array, indices)
        if columns is None or (self.nested and indices[1] not in columns):
            super().store(array, indices, value)
        elif self.nested:
            raise TypeError(f"abreast, column {indices[1]} is written in a branch and before it")
        else:
            columns[int(indices[1])] = self.cast(value, "f", True)

    def write_out(self):
        """Write what is kept."""
        for array, rows, columns in self.kept.values():
            for taken in neighbours(columns) if self.width > 1 else [[c] for c in columns]:
                places = self.pointers_to(array, (rows, taken[0]))
                store_rows(self.builder, [columns[c] for c in taken], places)
