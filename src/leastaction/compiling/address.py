"""Calling compiled functions by their address, so that kernels need no recompilation for a new one.

Two kinds of functions are called so.  Forces and densities of users: f(t, q, v, tau).  Answers of generated code (joints, constraints,
potentials; symbolic/runtime.py says what can be asked): answer(what, param, q, d, f, out, S).  In machine code an array is the address of
its first number.

Entry points can be called so too (`call_run`): a loop around the time loop of an integrator runs the machine code that Python calls, to the
last bit, and is compiled in seconds because it contains none of it.

With compilation switched off (NUMBA_DISABLE_JIT) an address is a number in a list.
"""

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, config, njit, typeof, types
from numba.extending import intrinsic

from . import cache
from .decorators import inlined
from .numba_private import PUBLIC_OPTIONS, forget_intermediate_code, lean_compilation

_POINTER = types.CPointer(types.float64)
_FORCE = types.void(types.float64, _POINTER, types.int64, _POINTER, _POINTER, types.int64)
# what, parameters, coordinates, increments or rates, fraction of the step or time, results, columns or derivatives
_ANSWER = types.void(types.int64, _POINTER, _POINTER, _POINTER, types.float64, _POINTER, _POINTER)

RESULTS = 12  # numbers that an answer can have


class Plain:
    """A function while compilation is switched off."""

    functions: list = []
    first = 1 << 20  # not the kind of a built-in joint

    def __init__(self, function):
        self.address = self.first + len(self.functions)
        self.functions.append(function)

    @classmethod
    def at(cls, address):
        return cls.functions[address - cls.first]


TRACE = 4096  # numbers that are kept of a call that failed


def compile_users(function):
    """A function of the user for compiled code to call: it checks indices; division by zero gives infinity, which the solver reports."""
    return njit(function, error_model="numpy", boundscheck=True)


def compile_force(function):
    """f(t, q, v, tau) -> object whose `.address` the kernels can call; keep it alive with the model.

    An exception cannot leave the compiled time loop: tau becomes NaN, which ends the run, and `.trace` keeps what the function was called
    with, so that the exception can be shown: 1, t, number of coordinates, number of freedoms, q, v.
    """
    if config.DISABLE_JIT:
        return Plain(function)
    inner = compile_users(function)
    trace = np.zeros(TRACE)
    place = trace.ctypes.data

    def call(t, q, nq, v, tau, nv):
        try:
            inner(t, read_only(carray(q, (nq,))), read_only(carray(v, (nv,))), carray(tau, (nv,)))
        except Exception:
            failed = carray(pointer_at(place), (TRACE,))
            failed[0], failed[1], failed[2], failed[3] = 1.0, t, nq, nv
            if 4 + nq + nv <= TRACE:
                for k in range(nq):
                    failed[4 + k] = q[k]
                for k in range(nv):
                    failed[4 + nq + k] = v[k]
            for k in range(nv):
                tau[k] = np.nan

    code = _compiled(_FORCE, call)
    code.trace = trace
    return code


def _compiled(signature, function, **options):
    """Machine code without what only compiling needs."""
    with lean_compilation():
        code = cfunc(signature, **options)(function)
    forget_intermediate_code(getattr(code, "_library", None))
    return code


def compile_answer(function, on_disk: bool = True):
    """Machine code of a function that answers, with its `.address`; on_disk: of a generated module, kept for later processes."""
    if config.DISABLE_JIT:
        return Plain(function)
    if not on_disk:
        return _compiled(_ANSWER, function)
    with cache.storing("generated") as stored:
        try:
            return _compiled(_ANSWER, function, cache=stored, **PUBLIC_OPTIONS)
        except RuntimeError:  # Numba keeps no code of functions without a file
            if not stored:
                raise
    return _compiled(_ANSWER, function, **PUBLIC_OPTIONS)


@intrinsic
def read_only(typing, array):
    """The same array, which code compiled for it cannot write to."""
    return array.copy(readonly=True)(array), lambda context, builder, signature, arguments: arguments[0]


@intrinsic
def pointer_at(typing, address):
    """The numbers at an address."""

    def codegen(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], _DOUBLE.as_pointer())

    return _POINTER(types.int64), codegen


@intrinsic
def integers_at(typing, address):
    """The integers at an address."""

    def codegen(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], _INT.as_pointer())

    return types.CPointer(types.int64)(types.int64), codegen


@intrinsic
def _stack(typing, count):
    def codegen(context, builder, signature, arguments):
        return builder.alloca(_DOUBLE, arguments[0])

    return _POINTER(types.int64), codegen


def _plain_stack(count):
    return [0.0] * count


#: room for some numbers, until the function returns
stack = _plain_stack if config.DISABLE_JIT else _stack


# -------------------------------------------------------------------------------------------------- from kernels

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)


def _call(builder, address, arguments):
    """Call the function at `address` with numbers and, where the type is a pointer, addresses."""
    function = ir.FunctionType(ir.VoidType(), [kind for kind, _ in arguments])
    values = [builder.inttoptr(v, kind) if isinstance(kind, ir.PointerType) and v.type == _INT else v for kind, v in arguments]
    builder.call(builder.inttoptr(address, function.as_pointer()), values)


@intrinsic
def _call_force(typing, address, t, q, nq, v, tau, nv):
    def codegen(context, builder, signature, arguments):
        kinds = (_DOUBLE, _DOUBLE.as_pointer(), _INT, _DOUBLE.as_pointer(), _DOUBLE.as_pointer(), _INT)
        _call(builder, arguments[0], list(zip(kinds, arguments[1:], strict=True)))
        return ir.Constant(context.get_value_type(signature.return_type), None)

    numbers = [types.int64] * 5
    return types.void(types.int64, types.float64, *numbers), codegen


@intrinsic
def _call_answer(typing, address, what, param, q, d, f, S):
    def codegen(context, builder, signature, arguments):
        pointer = _DOUBLE.as_pointer()
        with builder.goto_entry_block():
            out = builder.alloca(_DOUBLE, RESULTS)
        kinds = (_INT, pointer, pointer, pointer, _DOUBLE, pointer, pointer)
        _call(builder, arguments[0], list(zip(kinds, (*arguments[1:6], out, arguments[6]), strict=True)))
        found = ir.Constant(context.get_value_type(signature.return_type), ir.Undefined)
        for k in range(RESULTS):
            found = builder.insert_value(found, builder.load(builder.gep(out, [ir.Constant(ir.IntType(32), k)])), k)
        return found

    numbers = [types.int64] * 5
    return types.UniTuple(types.float64, RESULTS)(*numbers, types.float64, types.int64), codegen


_MADE_AND_STATUS = types.UniTuple(types.int64, 2)


@intrinsic
def _call_run(typing, address, a, record, tau, steps, end):
    def codegen(context, builder, signature, arguments):
        convention, kinds = context.call_conv, signature.args[1:]
        function = convention.get_function_type(_MADE_AND_STATUS, kinds)
        callee = builder.inttoptr(arguments[0], function.as_pointer())
        status, made = convention.call_function(builder, callee, _MADE_AND_STATUS, kinds, arguments[1:])
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return made

    return _MADE_AND_STATUS(types.int64, a, record, tau, types.int64, types.float64), codegen


def run_address(entry, arguments):
    """Of the time loop `entry` for arguments of these kinds, (arrays, record, tau, steps, end); for `call_run`."""
    if config.DISABLE_JIT:
        return Plain(entry.py_func).address
    entry.compiled(entry.kinds(arguments), arguments)
    result, address = entry.addresses[tuple(typeof(a) for a in arguments)]
    if result != _MADE_AND_STATUS:
        raise TypeError(f"{entry} returns {result}, not (steps made, status)")
    return address


@inlined
def _address(array, row):
    """Of the first number of a row of an array; of nothing if there is no array."""
    if array is None:
        return np.int64(0)
    if not 0 <= row <= array.shape[0]:
        raise IndexError("a row that does not exist was given to a function that is called by its address")
    return np.int64(array.ctypes.data) + row * array.strides[0]


@inlined
def _quick_address(array, row):
    if array is None:
        return np.int64(0)
    return np.int64(array.ctypes.data) + row * array.strides[0]


_address_of = _address if config.BOUNDSCHECK else _quick_address


@inlined
def _compiled_force(address, t, q, v, tau):
    _call_force(address, t, _address_of(q, 0), q.shape[0], _address_of(v, 0), _address_of(tau, 0), tau.shape[0])


@inlined
def _compiled_answer(address, what, param, i, q, k, d, v, f, S):
    return _call_answer(address, what, _address_of(param, i), _address_of(q, k), _address_of(d, v), f, _address_of(S, v))


@inlined
def _compiled_run(address, a, record, tau, steps, end):
    return _call_run(address, a, record, tau, steps, end)


def _plain_run(address, a, record, tau, steps, end):
    return Plain.at(address)(a, record, tau, steps, end)


def _plain_force(address, t, q, v, tau):
    Plain.at(address)(t, q, v, tau)


def _plain_answer(address, what, param, i, q, k, d, v, f, S):
    out = [0.0] * RESULTS
    columns = None if S is None else S[v:].reshape(-1)
    Plain.at(address)(what, param[i], q[k:], d[v:], f, out, columns)
    return tuple(out)


#: (address, t, q, v, tau): the user's function writes tau
call_force = _plain_force if config.DISABLE_JIT else _compiled_force
#: (address, what, param, i, q, k, d, v, f, S): results of the generated function for param[i], q[k:], d[v:]; it writes S[v:]
call_joint = _plain_answer if config.DISABLE_JIT else _compiled_answer
#: (address, arrays, record, tau, steps, end) -> (steps made, status): an entry point with the address `run_address`
call_run = _plain_run if config.DISABLE_JIT else _compiled_run
