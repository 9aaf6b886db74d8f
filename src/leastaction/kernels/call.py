"""Calling a user's compiled function by its address, so that kernels need no recompilation for it."""

from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

_POINTER = types.CPointer(types.float64)
FORCE_SIGNATURE = types.void(types.float64, _POINTER, types.int64, _POINTER, _POINTER, types.int64)


def compile_force(function):
    """f(t, q, v, tau) -> object whose `.address` the kernels can call; keep it alive with the model.

    Division by zero gives infinity, which the solver reports; an exception could not leave the compiled time loop.
    """
    inner = njit(function, error_model="numpy")

    def call(t, q, nq, v, tau, nv):
        inner(t, carray(q, (nq,)), carray(v, (nv,)), carray(tau, (nv,)))

    return cfunc(FORCE_SIGNATURE)(call)


@intrinsic
def call_force(context, address, t, q, v, tau):
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
