"""Joints whose code is generated from their pose (see joints/symbolic.py).

The kind of such a joint is the address of its compiled code, which answers the questions of symbolic/runtime.py: so kernels
need no recompilation for a new joint.
"""

from ..compiling.address import call_joint
from ..compiling.decorators import inlined, kernel
from ..symbolic.runtime import BIAS, DISPLACEMENT, PLACE, POSE


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
def columns(kind, param, i, q, k, d, v, f, S):
    call_joint(kind, PLACE, param, i, q, k, d, v, f, S)


@kernel
def displacement(kind, param, i, q, k, d, v):
    o = call_joint(kind, DISPLACEMENT, param, i, q, k, d, v, 0.0, None)
    return o[0], o[1:4], o[4:7]


@inlined
def bias(kind, param, i, q, k, qd, v):
    o = call_joint(kind, BIAS, param, i, q, k, qd, v, 0.0, None)
    return o[0:3], o[3:6]
