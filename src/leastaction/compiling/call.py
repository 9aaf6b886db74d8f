"""Calling a user's compiled function by its address, so that kernels need no recompilation for it."""

from llvmlite import ir
from numba import carray, cfunc, config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

_POINTER = types.CPointer(types.float64)
FORCE_SIGNATURE = types.void(types.float64, _POINTER, types.int64, _POINTER, _POINTER, types.int64)


def compile_force(function):
    """f(t, q, v, tau) -> object whose `.address` the kernels can call; keep it alive with the model.

    Division by zero gives infinity, which the solver reports; an exception could not leave the compiled time loop.
    """
    if config.DISABLE_JIT:
        return _Plain(function)
    inner = njit(function, error_model="numpy")

    def call(t, q, nq, v, tau, nv):
        inner(t, carray(q, (nq,)), carray(v, (nv,)), carray(tau, (nv,)))

    return cfunc(FORCE_SIGNATURE)(call)


class _Plain:
    """A force while compilation is switched off (NUMBA_DISABLE_JIT): its address is its number in a list."""

    functions: list = []

    def __init__(self, function):
        self.address = len(self.functions)
        self.functions.append(function)


@intrinsic
def call_compiled(context, address, t, q, v, tau):
    signature = types.void(address, t, q, v, tau)

    def codegen(context, builder, signature, args):
        double, pointer, i64 = ir.DoubleType(), ir.DoubleType().as_pointer(), ir.IntType(64)
        function_type = ir.FunctionType(ir.VoidType(), [double, pointer, i64, pointer, pointer, i64])
        function = builder.inttoptr(args[0], function_type.as_pointer())
        q, v, tau = (context.make_array(ty)(context, builder, a) for ty, a in zip(signature.args[2:], args[2:], strict=True))

        def length(array):
            return cgutils.unpack_tuple(builder, array.shape, 1)[0]

        builder.call(function, [args[1], q.data, length(q), v.data, tau.data, length(tau)])
        return context.get_dummy_value()

    return signature, codegen


def call_plain(address, t, q, v, tau):
    _Plain.functions[address](t, q, v, tau)


call_force = call_plain if config.DISABLE_JIT else call_compiled
