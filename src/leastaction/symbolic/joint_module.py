"""The module of one joint: its pose as a graph, four functions, one compiled function that the kernels call."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

import sympy

from . import emit, store
from .graph import Graph
from .program import PoseGraph
from .transform import Transform

_HEAD = '''"""Joint {name!r}, generated from its pose.

{pose}
"""

from math import atan2, cosh, exp, expm1, log, log1p, sinh, sqrt

from leastaction.lie.jit import kernel
from leastaction.symbolic.runtime import (
    BIAS, DISPLACEMENT, PLACE, POSE, compiled_joint, half_sincos, quaternion_of_difference, sign, sincos,
)
'''

_TAIL = '''

def joint(what, param, q, d, f, out, S):
    if what == POSE:
        pose(param, q, d, f, out)
    elif what == PLACE:
        place(param, q, d, f, out, S)
    elif what == DISPLACEMENT:
        displacement(param, q, d, out)
    elif what == BIAS:
        bias(param, q, d, out)


compiled = compiled_joint(joint)
'''

_QUATERNION = "out[0], out[1], out[2], out[3] = quaternion_of_difference(E0, E1, E2, E3, E4, E5, E6, E7, E8)"


def joint_module(name: str, transform: Transform, q: list[sympy.Symbol], parameters: list[sympy.Symbol]) -> ModuleType:
    """The compiled module of a joint, from disk if its pose has been compiled before."""
    described = [str(part) for factor in transform.factors for part in factor]
    key = store.key(name, str(q), str(parameters), *described)
    return store.load(key, lambda: source(name, transform, q, parameters))


def source(name: str, transform: Transform, q: list[sympy.Symbol], parameters: list[sympy.Symbol]) -> str:
    graph = Graph()
    pose = PoseGraph(graph, transform, [s.name for s in q])
    n = len(q)
    increments = [f"d{j}" for j in range(n)]
    fixed = {s.name: f"param[{k}]" for k, s in enumerate(parameters)}
    at_q = fixed | {s.name: f"q[{j}]" for j, s in enumerate(q)}
    at_fraction = fixed | {s.name: f"q[{j}] + f * d[{j}]" for j, s in enumerate(q)}
    steps = {name: f"d[{j}]" for j, name in enumerate(increments)}

    def function(what: str, arguments: str, doc: str, block, loads: Mapping[str, str], end: tuple[str, ...] = ()) -> str:
        return "\n\n@kernel\n" + emit.function(what, arguments, doc, block, loads, end) + "\n"

    return "".join([
        _HEAD.format(name=name, pose=_described(transform, q, parameters)),
        function("pose", "param, q, d, f, out", "Pose at q + f d.", pose.pose(), at_fraction),
        function("place", "param, q, d, f, out, S", "Pose and columns at q + f d.", pose.place(), at_fraction),
        function("displacement", "param, q, d, out", "X(q)^-1 X(q + d).", pose.displacement(increments), at_q | steps, (_QUATERNION,)),
        function("bias", "param, q, d, out", "(dS/dt) d.", pose.bias(increments), at_q | steps),
        _TAIL,
    ])  # fmt: skip


def _described(transform: Transform, q: list[sympy.Symbol], parameters: list[sympy.Symbol]) -> str:
    lines = [f"coordinates {', '.join(map(str, q))}" + (f"; parameters {', '.join(map(str, parameters))}" if parameters else "")]
    for R, p in transform.factors:
        turn = "" if R.is_Identity else f"  turn {R.tolist()}"
        move = "" if p.is_zero_matrix else f"  move {list(p)}"
        lines.append(f"{turn}{move}")
    return "\n".join(line[:1000].replace("\\", "/") for line in lines)
