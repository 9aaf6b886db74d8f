"""Reading and writing one-dimensional arrays without Numba's test for negative indices.

The test costs little by itself, but with computed offsets it keeps LLVM from using vector instructions: the innermost loops of
kernels/fronts.py are four times slower with it.
"""

from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def _get(context, array, index):
    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(cgutils.gep(builder, data, arguments[1]))

    return types.float64(array, index), codegen


@intrinsic
def _put(context, array, index, value):
    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        builder.store(arguments[2], cgutils.gep(builder, data, arguments[1]))
        return context.get_dummy_value()

    return types.void(array, index, types.float64), codegen


def _plain_get(array, index):
    return array[index]


def _plain_put(array, index, value):
    array[index] = value


get = _plain_get if config.DISABLE_JIT else _get
put = _plain_put if config.DISABLE_JIT else _put
