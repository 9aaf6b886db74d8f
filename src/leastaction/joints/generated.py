"""Joints whose code is generated from their pose (see joints/symbolic.py).

The kind of such a joint is the address of its compiled code, which answers the questions of symbolic/runtime.py: so kernels
need no recompilation for a new joint.
"""

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from ..compiling.decorators import inlined, kernel
from ..lie.algebra import add, cross, load3
from ..symbolic.runtime import BIAS, DISPLACEMENT, PLACE, POSE, PlainJoint

_RESULTS = 12


@intrinsic
def call_compiled(context, address, what, param, i, q, k, d, v, f, S):
    """Results of the joint at `address`; its columns are written to rows S[v:].  q[k:], d[v:], param[i] are its arguments."""
    signature = types.UniTuple(types.float64, _RESULTS)(address, what, param, i, q, k, d, v, f, S)

    def codegen(context, builder, signature, args):
        double, i64 = ir.DoubleType(), ir.IntType(64)
        pointer = double.as_pointer()

        def element(which, index):
            """Address of row `index` of a C-contiguous array."""
            kind = signature.args[which]
            if isinstance(kind, types.NoneType):
                return ir.Constant(pointer, None)
            array = context.make_array(kind)(context, builder, args[which])
            offset = context.cast(builder, args[index], signature.args[index], types.int64)
            if kind.ndim == 2:
                offset = builder.mul(offset, builder.extract_value(array.shape, 1))
            return builder.gep(array.data, [offset])

        function = builder.inttoptr(args[0], ir.FunctionType(ir.VoidType(), [i64] + 3 * [pointer] + [double] + 2 * [pointer]).as_pointer())
        with builder.goto_entry_block():
            out = builder.alloca(double, _RESULTS)
        question = context.cast(builder, args[1], signature.args[1], types.int64)
        fraction = context.cast(builder, args[8], signature.args[8], types.float64)
        builder.call(function, [question, element(2, 3), element(4, 5), element(6, 7), fraction, out, element(9, 7)])
        results = [builder.load(builder.gep(out, [ir.Constant(ir.IntType(32), r)])) for r in range(_RESULTS)]
        return context.make_tuple(builder, signature.return_type, results)

    return signature, codegen


def call_plain(address, what, param, i, q, k, d, v, f, S):
    out = [0.0] * _RESULTS
    columns = None if S is None else S[v:].reshape(-1)
    PlainJoint.functions[address - PlainJoint.first](what, param[i], q[k:], d[v:], f, out, columns)
    return tuple(out)


call_joint = call_plain if config.DISABLE_JIT else call_compiled


@kernel
def pose(kind, param, i, q, k, d, v, f):
    o = call_joint(kind, POSE, param, i, q, k, d, v, f, None)
    return o[0:9], o[9:12]


@kernel
def place(kind, param, i, q, k, d, v, f, S):
    """Pose at the fraction f of the step, and its columns in S: together they cost little more than the columns alone."""
    o = call_joint(kind, PLACE, param, i, q, k, d, v, f, S)
    return o[0:9], o[9:12]


@kernel
def displacement(kind, param, i, q, k, d, v):
    o = call_joint(kind, DISPLACEMENT, param, i, q, k, d, v, 0.0, None)
    return o[0], o[1:4], o[4:7]


@inlined
def bias(kind, param, i, q, k, qd, v):
    o = call_joint(kind, BIAS, param, i, q, k, qd, v, 0.0, None)
    return o[0:3], o[3:6]


@kernel
def mid_curvature(kind, param, q, k, d, v, nv, S1, G, i, E, scratch):
    """How the columns change, from the bias b(v) = (dS/dt) v alone, which is quadratic in v.

    d_l S_j + d_j S_l = b(e_j + e_l) - b(e_j) - b(e_l),   d_l S_j - d_j S_l = ad_{S_j} S_l
    S1 holds half the columns at the midpoint; scratch: (6, 6).  q stands at the midpoint while the joint is asked, so that the number
    of its chart, if it has two, stands behind its coordinates as it should, and comes back as it was.
    """
    start, rate, G_a, G_l = scratch[0], scratch[1], load3(G, i, 0), load3(G, i, 3)
    for j in range(nv):
        start[j] = q[k + j]
        q[k + j] += 0.5 * d[v + j]
        rate[j] = 0.0
    for j in range(nv):
        rate[j] = 1.0
        scratch[2, j] = felt(bias(kind, param, i, q, k, rate, 0), G_a, G_l)
        rate[j] = 0.0
    for j in range(nv):
        E[j, j] += 0.25 * scratch[2, j]
        rate[j] = 1.0
        for l in range(j):
            rate[l] = 1.0
            both = felt(bias(kind, param, i, q, k, rate, 0), G_a, G_l) - scratch[2, j] - scratch[2, l]
            rate[l] = 0.0
            ja, jl, la, ll = load3(S1, v + j, 0), load3(S1, v + j, 3), load3(S1, v + l, 0), load3(S1, v + l, 3)
            turned = 4.0 * felt((cross(ja, la), add(cross(ja, ll), cross(jl, la))), G_a, G_l)
            E[j, l] += 0.125 * (both + turned)
            E[l, j] += 0.125 * (both - turned)
        rate[j] = 0.0
    for j in range(nv):
        q[k + j] = start[j]


@inlined
def felt(twist, moment, force):
    a, l = twist
    return a[0] * moment[0] + a[1] * moment[1] + a[2] * moment[2] + l[0] * force[0] + l[1] * force[1] + l[2] * force[2]
