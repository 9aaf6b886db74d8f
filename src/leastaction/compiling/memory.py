"""Reading and writing one-dimensional arrays without Numba's test for negative indices, and four numbers at once.

The test costs little by itself, but with computed offsets it keeps LLVM from using vector instructions.  Where all depends on
them, in the innermost loops of kernels/maximal/fronts.py, they are asked for by name.

    get(a, i)                                    a[i]
    put(a, i, x)                                 a[i] = x
    take_one(a, at, x, j, factor)                a[at:at+4] -= factor x[j:j+4]
    take_four(a, at, i, j, k, l, p, q, u, v)     a[at:at+4] -= p a[i:i+4] + q a[j:j+4] + u a[k:k+4] + v a[l:l+4]
    scale_four(a, at, factor)                    a[at:at+4] *= factor

With NUMBA_BOUNDSCHECK=1, and where only Numba's public interface is used, all of them are plain indexing.
"""

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from .decorators import inlined
from .numba_private import AVAILABLE, cgutils

__all__ = ["get", "put", "scale_four", "take_four", "take_one"]

_FOUR = ir.VectorType(ir.DoubleType(), 4)


def _plain_get(array, index):
    return array[index]


def _plain_put(array, index, value):
    array[index] = value


def _plain_take_one(a, at, x, j, factor):
    for e in range(4):
        a[at + e] -= factor * x[j + e]


def _plain_take_four(a, at, i, j, k, l, p, q, u, v):
    for e in range(4):
        a[at + e] = a[at + e] - p * a[i + e] - q * a[j + e] - u * a[k + e] - v * a[l + e]


def _plain_scale_four(a, at, factor):
    for e in range(4):
        a[at + e] *= factor


def _pointer(context, builder, kind, array, index):
    return cgutils.gep(builder, context.make_array(kind)(context, builder, array).data, index)


def _load(context, builder, kind, array, index):
    """Four numbers from array[index] on, and where they are."""
    pointer = builder.bitcast(_pointer(context, builder, kind, array, index), _FOUR.as_pointer())
    value = builder.load(pointer)
    value.align = 8
    return value, pointer


def _store(context, builder, value, pointer):
    builder.store(value, pointer).align = 8
    return context.get_dummy_value()


def _spread(builder, number):
    """The number four times."""
    nothing = ir.Constant(_FOUR, ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), 4), [0, 0, 0, 0]))


def _take(context, builder, signature, arguments, kind, x, places, factors):
    total, pointer = _load(context, builder, signature.args[0], arguments[0], arguments[1])
    for index, factor in zip(places, factors, strict=True):
        column, _ = _load(context, builder, kind, x, index)
        product = builder.fmul(_spread(builder, factor), column, flags=("contract",))
        total = builder.fsub(total, product, flags=("contract",))
    return _store(context, builder, total, pointer)


@intrinsic
def _get(context, array, index):
    def codegen(context, builder, signature, arguments):
        return builder.load(_pointer(context, builder, signature.args[0], *arguments))

    return types.float64(array, index), codegen


@intrinsic
def _put(context, array, index, value):
    def codegen(context, builder, signature, arguments):
        builder.store(arguments[2], _pointer(context, builder, signature.args[0], *arguments[:2]))
        return context.get_dummy_value()

    return types.void(array, index, types.float64), codegen


@intrinsic
def _take_one(context, array, index, x, j, factor):
    def codegen(context, builder, signature, arguments):
        return _take(context, builder, signature, arguments, signature.args[2], arguments[2], arguments[3:4], arguments[4:])

    return types.void(array, types.intp, x, types.intp, types.float64), codegen


@intrinsic
def _take_four(context, array, index, i, j, k, l, p, q, u, v):
    def codegen(context, builder, signature, arguments):
        return _take(context, builder, signature, arguments, signature.args[0], arguments[0], arguments[2:6], arguments[6:])

    return types.void(array, *[types.intp] * 5, *[types.float64] * 4), codegen


@intrinsic
def _scale_four(context, array, index, factor):
    def codegen(context, builder, signature, arguments):
        value, pointer = _load(context, builder, signature.args[0], arguments[0], arguments[1])
        return _store(context, builder, builder.fmul(_spread(builder, arguments[2]), value), pointer)

    return types.void(array, types.intp, types.float64), codegen


if AVAILABLE and not config.BOUNDSCHECK and not config.DISABLE_JIT:
    get, put, take_one, take_four, scale_four = _get, _put, _take_one, _take_four, _scale_four
else:
    _plain = (_plain_get, _plain_put, _plain_take_one, _plain_take_four, _plain_scale_four)
    get, put, take_one, take_four, scale_four = map(inlined, _plain)
