"""Planned sweeps as the source of a Numba module."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from ..kernels.layout import PARENT, QI, VI
from .memory import Bodies, Call, Store, Trace
from .plan import Planned, live_terms
from .terms import Number, Term, TraceError
from .trace import Sweep, TopCall

_COLUMN = {"p": int(PARENT), "j": int(VI), "k": int(QI)}
_SYMBOL = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_BINDING = {"add": 1, "sub": 1, "neg": 1, "mul": 2, "div": 2}
_MODEL_ARRAYS = ("body", "param", "damping", "link")
_LONGEST = 110  # characters of an expression before it gets a name of its own
_MAX_SEGMENTS = 8  # loops written one after the other; beyond, one loop with a switch


def unit_source(planned: Planned, bodies: Bodies) -> str:
    """The function of one unit."""
    lines: list[str] = []
    tables: list[str] = []
    for number, part in enumerate(planned.parts):
        if isinstance(part, TopCall):
            lines.append(part.text.format(*(_operand(x) for x in part.numbers)))
            continue
        table = f"_{planned.unit.name.upper()}_{number}"
        code, classes = _sweep_lines(part, bodies, table)
        lines += code
        if classes:
            tables.append(f"{table} = np.array({classes!r}, dtype=np.uint8)")
    body = "\n".join(lines) or "pass"
    head = [f"{name} = {'m' if name in _MODEL_ARRAYS else 'w'}.{name}" for name in _arrays_in(body, planned)]
    text = "\n".join(["@inlined", f"def {planned.unit.name}({planned.unit.parameters}):", *_indented([*head, body])])
    return "\n".join([*tables, "", "", text]) if tables else text


def _arrays_in(body: str, planned: Planned) -> list[str]:
    words = set("".join(c if c.isalnum() or c == "_" else " " for c in body).split())
    known = ("link", "body", "param", "damping", "row", "S0", "S1", "factor", "linear", "art", "q", "d", "r", "z", "target")
    return [name for name in known if name in words and name not in planned.unit.vectors]


# ----------------------------------------------------------------------------------------------------- loops


@dataclass
class _Segment:
    """Bodies one after the other that share their code."""

    which: int
    indices: list[int]


def _sweep_lines(sweep: Sweep, bodies: Bodies, table: str) -> tuple[list[str], list[int]]:
    """Lines of a loop, and the classes of the bodies if it has a switch."""
    programs: list[tuple[str, ...]] = []  # of every class
    number: dict[int, int] = {}  # id of a trace -> its class
    for trace in sweep.traces:
        if id(trace) not in number:
            lines = tuple(_trace_lines(trace))
            if lines not in programs:
                programs.append(lines)
            number[id(trace)] = programs.index(lines)
    segments: list[_Segment] = []
    for i, trace in zip(sweep.indices, sweep.traces, strict=True):
        which = number[id(trace)]
        if not segments or segments[-1].which != which:
            segments.append(_Segment(which, []))
        segments[-1].indices.append(i)
    if not any(programs):
        return [], []
    if len(segments) <= max(_MAX_SEGMENTS, len(programs)):
        lines = []
        for segment in segments:
            lines += _segment_lines(segment, list(programs[segment.which]), bodies)
        return lines, []
    first, last = sweep.indices[0], sweep.indices[-1]
    step = 1 if last >= first else -1
    lines = [f"for i in range({first}, {last + step}, {step}):", f"    which = {table}[i]"]
    lines += [f"    {x}" for x in _base_lines([x for p in programs for x in p], None, bodies)]
    for which, program in enumerate(programs):
        lines.append(f"    {'elif' if which else 'if'} which == {which}:")
        lines += _indented(list(program) or ["pass"], 8)
    classes = [0] * (max(first, last) + 1)
    for i, trace in zip(sweep.indices, sweep.traces, strict=True):
        classes[i] = number[id(trace)]
    return lines, classes


def _segment_lines(segment: _Segment, program: list[str], bodies: Bodies) -> list[str]:
    if not program:
        return []
    indices = segment.indices
    lines = [*_base_lines(program, indices, bodies), *program]
    if len(indices) == 1:
        return [f"i = {indices[0]}", *lines]
    step = indices[1] - indices[0]
    return [f"for i in range({indices[0]}, {indices[-1] + step}, {step}):", *_indented(lines)]


def _base_lines(program: list[str], indices: list[int] | None, bodies: Bodies) -> list[str]:
    """p, j and k of the body in turn: computed from i where they grow with it, else looked up."""
    words = set("".join(c if c.isalnum() or c == "_" else " " for c in " ".join(program)).split())
    lines = []
    for name, column in _COLUMN.items():
        if name in words:
            rule = _affine([(i, int(bodies.link[i, column])) for i in indices]) if indices else None
            lines.append(f"{name} = {rule or f'link[i, {column}]'}")
    return lines


def _affine(points: list[tuple[int, int]]) -> str | None:
    (i0, x0), (i1, x1) = points[0], points[-1]
    if len(points) == 1:
        return str(x0)
    slope, rest = divmod(x1 - x0, i1 - i0)
    if rest or any(x != x0 + slope * (i - i0) for i, x in points):
        return None
    return f"{slope} * i + {x0 - slope * i0}"


# ------------------------------------------------------------------------------------------------ one class


def _trace_lines(trace: Trace) -> list[str]:
    order = live_terms(trace)
    uses = Counter(id(y) for x in order for y in x.args if isinstance(y, Term))
    for e in trace.effects:
        if not isinstance(e, Term):
            uses.update(id(x) for x in (e.numbers if isinstance(e, Call) else (e.value,)) if isinstance(x, Term))
    return _Writer(uses).lines(trace)


class _Writer:
    def __init__(self, uses: Counter):
        self.uses = uses
        self.text: dict[int, tuple[str, int]] = {}  # id of a term -> expression, how tightly it binds
        self.out: list[str] = []
        self.names = 0

    def lines(self, trace: Trace) -> list[str]:
        for e in trace.effects:
            if isinstance(e, Term):
                self._name(e, _entry(e.args))
            elif isinstance(e, Store):
                self.out.append(f"{_entry(e.place)} = {self._write(e.value)[0]}")
            else:
                self.out.append(e.text.format(*(self._write(x)[0] for x in e.numbers)))
        return self.out

    def _name(self, x: Term, expression: str, prefix: str = "t") -> tuple[str, int]:
        name = f"{prefix}{self.names}"
        self.names += 1
        self.out.append(f"{name} = {expression}")
        self.text[id(x)] = (name, 9)
        return self.text[id(x)]

    def _write(self, x: Number) -> tuple[str, int]:
        if not isinstance(x, Term) or x.op == "param":
            return _operand(x), 9
        if id(x) in self.text:
            return self.text[id(x)]
        if x.op == "call":
            return self._name(x, x.args[0].format(*(self._write(y)[0] for y in x.args[1:])), "c")
        if x.op == "item":
            self.text[id(x)] = (self._write(x.args[0])[0] + x.args[1], 9)
            return self.text[id(x)]
        binding = _BINDING[x.op]
        if x.op == "neg":
            expression = "-" + self._part(x.args[0], 2)
        else:
            left, right = self._part(x.args[0], binding), self._part(x.args[1], binding + 1)
            expression = f"{left} {_SYMBOL[x.op]} {right}"
        if self.uses[id(x)] > 1 or len(expression) > _LONGEST:
            return self._name(x, expression)
        self.text[id(x)] = (expression, binding)
        return self.text[id(x)]

    def _part(self, x: Number, at_least: int) -> str:
        expression, binding = self._write(x)
        return expression if binding >= at_least else f"({expression})"


def _operand(x: Number) -> str:
    if isinstance(x, Term):
        assert x.op == "param", x.op
        return x.args[0]
    if not math.isfinite(x):
        raise TraceError(f"{x} among the constants of the mechanism")
    return repr(float(x))


def _entry(place) -> str:
    name, base, offset, column = place
    row = base + (f" + {offset}" if offset > 0 else f" - {-offset}" if offset else "") if base else str(offset)
    return f"{name}[{row}]" if column < 0 else f"{name}[{row}, {column}]"


def _indented(lines: list[str], by: int = 4) -> list[str]:
    return [" " * by + line for text in lines for line in text.split("\n")]
