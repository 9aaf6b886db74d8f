"""Four numbers that belong together in the lanes of one register, and what moves them from lane to lane.

    @four_lanes(factorise_joint)
    def factorise_hinge(m, w, i, h):
        ...

The function stands in for another one with the same parameters and results, which is used with compilation switched off, with bounds
checks, where only Numba's public interface is used, and for code of one mechanism.  It is written as lanes.py writes functions, with

    lane_numbers()          0, 1, 2, 3, one in each lane; as an index it gathers neighbours
    mixed(x, p, q, r, s)    the numbers of lanes p, q, r and s of x, in this order
    lane(x, k)              the number of lane k
    each(a, b, c, d)        these numbers, one in each lane
"""

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from .cache import depend_on
from .lanes import LaneWriter
from .numba_private import AVAILABLE
from .vectors import Number

_FOUR = 4
_INT, _LANE = ir.IntType(64), ir.IntType(32)


def four_lanes(plain):
    """A decorator of a function of four lanes; plain: the function it stands in for."""

    def decorate(function):
        depend_on(function)
        if config.DISABLE_JIT or config.BOUNDSCHECK or not AVAILABLE:
            return plain
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]

        def typed(arguments):
            def generate(context, builder, signature, values):
                writer = LaneWriter(context, builder, _FOUR)
                writer.gathers = True
                writer.inline(function, [writer.taken(t, v) for t, v in zip(signature.args, values, strict=True)])
                return context.get_dummy_value()

            return types.void(*arguments), generate

        # Numba counts the parameters of an intrinsic, so they are written out
        made = eval(f"lambda typing, {', '.join(names)}: typed(({', '.join(names)},))", {"typed": typed})
        made.__name__, made.__doc__ = function.__name__, function.__doc__
        found = intrinsic(made)
        found.py_func = getattr(plain, "py_func", plain)
        return found

    return decorate


def _in_lanes(function):
    """It is written by `function.write`, where lanes.py meets it."""

    def decorate(write):
        function.write = write
        return write

    return decorate


def lane_numbers():
    raise TypeError("lane_numbers() only stands in functions of four lanes")


def mixed(x, p, q, r, s):
    raise TypeError("mixed() only stands in functions of four lanes")


def lane(x, k):
    raise TypeError("lane() only stands in functions of four lanes")


def each(a, b, c, d):
    raise TypeError("each() only stands in functions of four lanes")


@_in_lanes(lane_numbers)
def _write_lane_numbers(writer):
    return Number("i", True, ir.Constant(ir.VectorType(_INT, _FOUR), list(range(_FOUR))))


@_in_lanes(mixed)
def _write_mixed(writer, x, *places):
    return Number("f", True, writer.builder.shuffle_vector(x.llvm, x.llvm, ir.Constant(ir.VectorType(_LANE, _FOUR), list(places))))


@_in_lanes(lane)
def _write_lane(writer, x, k):
    return Number("f", False, writer.builder.extract_element(x.llvm, ir.Constant(_LANE, k)))


@_in_lanes(each)
def _write_each(writer, *numbers):
    vector = ir.Constant(ir.VectorType(ir.DoubleType(), _FOUR), ir.Undefined)
    for k, number in enumerate(numbers):
        vector = writer.builder.insert_element(vector, writer.cast(number, "f", False), ir.Constant(_LANE, k))
    return Number("f", True, vector)
