"""The module of one joint: its pose as a graph, four functions, one compiled function that the kernels call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType

import sympy

from ..compiling.modules import generated_module
from . import emit
from .graph import Graph
from .program import Block, PoseGraph
from .reading import comment, shown
from .transform import Transform

_HEAD = '''"""A joint, generated from its pose."""

{pose}

from math import atan2, cosh, exp, expm1, log, log1p, sinh, sqrt

from leastaction.compiling.straight import pieces, straight
from leastaction.symbolic.runtime import (
    BIAS, COORDINATES, DISPLACEMENT, PLACE, POSE, Tape, compiled_joint, floor, half_sincos, interpret, kernel, quaternion_of_difference,
    sign, sincos, stack,
)

on_disk = True
'''

_ANSWER = '''

@kernel
def answer{chart}(what, param, q, d, f, out, S):
    if what == POSE:
        pose{chart}(param, q, d, f, out)
    elif what == PLACE:
        place{chart}(param, q, d, f, out, S)
    elif what == DISPLACEMENT:
        displacement{chart}(param, q, d, out)
    elif what == BIAS:
        bias{chart}(param, q, d, out)
'''

_CHOOSE_CHART = '''

@kernel
def answer(what, param, q, d, f, out, S):
    if what == COORDINATES:
        if f < 0.5:
            coordinates_first(param, q, out)
        else:
            coordinates_second(param, q, out)
    elif q[{nv}] < 0.5:
        answer_first(what, param, q, d, f, out, S)
    else:
        answer_second(what, param, q, d, f, out, S)
'''

_TAIL = '''

def joint(what, param, q, d, f, out, S):
    answer(what, param, q, d, f, out, S)


compiled = compiled_joint(joint, on_disk)
'''

_QUATERNION = "out[0], out[1], out[2], out[3] = quaternion_of_difference(E0, E1, E2, E3, E4, E5, E6, E7, E8)"

Symbols = list[sympy.Symbol]


class Chart:
    """A pose as a function of coordinates, and these as a function of the pose (only where there is a second chart)."""

    def __init__(self, transform: Transform, q: Symbols, inverse: tuple[sympy.Expr, ...] = ()):
        self.transform, self.inverse = transform, inverse
        self.pose = PoseGraph(Graph(), transform, [s.name for s in q])
        self.back = Block(Graph())
        self.back.write("out[{}]", 0, [self.back.graph.of(e) for e in inverse])

    def fingerprint(self) -> str:
        back = [n for _, n in self.back.writes]
        return self.pose.graph.fingerprint(self.pose.rows) + self.back.graph.fingerprint(back)


def pose_symbols() -> tuple[sympy.Matrix, sympy.Matrix]:
    """R and p as symbols, what `Chart.inverse` is written in."""
    rotation = sympy.Matrix(3, 3, lambda r, c: sympy.Symbol(f"R{r}{c}", real=True))
    return rotation, sympy.Matrix([sympy.Symbol(f"x{r}", real=True) for r in range(3)])


def joint_module(charts: Sequence[Chart], q: Symbols, parameters: Symbols) -> ModuleType:
    """The compiled module of a joint, from disk if its pose has been compiled before."""
    made_from = "\n".join([str(len(q)), str(len(parameters)), *(chart.fingerprint() for chart in charts)])
    return generated_module("joint", made_from, lambda: source(charts, q, parameters))


def source(charts: Sequence[Chart], q: Symbols, parameters: Symbols) -> str:
    """Contains nothing that the user wrote: coordinates and parameters are numbered, what is described is a comment."""
    described = "\n\n".join(_described(chart.transform, q, parameters) for chart in charts)
    parts = [_HEAD.format(pose=comment(described))]
    suffixes = ["_first", "_second"] if len(charts) > 1 else [""]
    for suffix, chart in zip(suffixes, charts, strict=True):
        parts += _chart_functions(suffix, chart, q, parameters)
    if len(charts) > 1:
        parts.append(_CHOOSE_CHART.format(nv=len(q)))
    return "".join([*parts, _TAIL])


def _chart_functions(suffix: str, chart: Chart, q: Symbols, parameters: Symbols) -> list[str]:
    pose = chart.pose
    fixed = {s.name: f"param[{k}]" for k, s in enumerate(parameters)}
    at_q = fixed | {s.name: f"q[{j}]" for j, s in enumerate(q)}
    at_fraction = fixed | {s.name: f"q[{j}] + f * d[{j}]" for j, s in enumerate(q)}
    increments = [f"d{j}" for j in range(len(q))]
    with_steps = at_q | {name: f"d[{j}]" for j, name in enumerate(increments)}

    def function(what: str, arguments: str, doc: str, block: Block, loads: Mapping[str, str], end: tuple[str, ...] = ()) -> str:
        return "\n\n" + emit.function(what + suffix, arguments, doc, block, loads, end) + "\n"

    parts = [
        function("pose", "param, q, d, f, out", "Pose at q + f d.", pose.pose(), at_fraction),
        function("place", "param, q, d, f, out, S", "Pose and columns at q + f d.", pose.place(), at_fraction),
        function("displacement", "param, q, d, out", "X(q)^-1 X(q + d).", pose.displacement(increments), with_steps, (_QUATERNION,)),
        function("bias", "param, q, d, out", "(dS/dt) d.", pose.bias(increments), with_steps),
        _ANSWER.format(chart=suffix),
    ]
    if chart.inverse:
        rotation, position = pose_symbols()
        from_pose = fixed | {s.name: f"X[{k}]" for k, s in enumerate([*rotation, *position])}
        parts.append(function("coordinates", "param, X, out", "Coordinates of the pose X.", chart.back, from_pose))
    return parts


def _described(transform: Transform, q: Symbols, parameters: Symbols) -> str:
    lines = [f"coordinates {', '.join(map(str, q))}" + (f"; parameters {', '.join(map(str, parameters))}" if parameters else "")]
    for R, p in transform.factors:
        turn = "" if sympy.eye(3) == R else f"  turn {shown(R.tolist(), 1000)}"
        move = "" if p == sympy.zeros(3, 1) else f"  move {shown(list(p), 1000)}"
        lines.append(f"{turn}{move}")
    return "\n".join(lines)
