"""Planned sweeps as the source of a Numba module."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

from ..kernels.tree.layout import PARENT, QI, VI
from .memory import Bodies, Call, Store, Trace
from .plan import Planned, Unit, live_terms
from .schedule import groups
from .terms import Number, Term, TraceError
from .trace import Sweep, TopCall

_COLUMN = {"p": int(PARENT), "j": int(VI), "k": int(QI)}
_SYMBOL = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_BINDING = {"add": 1, "sub": 1, "neg": 1, "mul": 2, "div": 2}
_MODEL_ARRAYS = ("link", "body", "param", "damping", "armature", "stiffness", "rest")
_WORK_ARRAYS = ("row", "S0", "S1", "factor", "linear", "art", "q", "d", "r", "z", "target", "load", "step", "live")
_LONGEST = 110  # characters of an expression before it gets a name of its own
_IN_A_ROW = 4  # bodies of a chain that one function moves, so that what they pass on stays in registers
_MOST_SEGMENTS = 8  # loops written one after the other; beyond, one loop with a switch


def unit_source(planned: Planned, bodies: Bodies) -> str:
    """The function of one unit, and before it one straight-line function for every class of bodies in every loop."""
    pieces: list[str] = []
    lines: list[str] = []
    for number, part in enumerate(planned.parts):
        if isinstance(part, TopCall):
            lines.append(part.text.format(*(_operand(x) for x in part.numbers)))
        else:
            loop = _Loop(part, bodies, f"{planned.unit.name}_{number}", planned.unit)
            lines += loop.lines
            pieces += loop.pieces
    body = lines or ["pass"]
    known = [*_MODEL_ARRAYS, *_WORK_ARRAYS]
    head = [f"{name} = {'m' if name in _MODEL_ARRAYS else 'w'}.{name}" for name in known if name in _words(body)]
    function = "\n".join(["@inlined", f"def {planned.unit.name}({planned.unit.parameters}):", *_indented([*head, *body])])
    return "\n\n\n".join([*pieces, function])


def _words(lines: Iterable[str]) -> set[str]:
    return {word for line in lines for word in re.findall(r"[A-Za-z_]\w*", line)}


# ----------------------------------------------------------------------------------------------------- loops


class _Loop:
    """A sweep as source: `pieces` are the functions of its classes, `lines` the loops that call them."""

    def __init__(self, sweep: Sweep, bodies: Bodies, name: str, unit: Unit):
        self.bodies, self.name, self.masked, self.in_lanes = bodies, name, unit.masked, unit.in_lanes
        self.pieces: list[str] = []
        self.lines: list[str] = []
        self._possible = [*_MODEL_ARRAYS, *_WORK_ARRAYS, *unit.parameters.replace("m, w", "").replace(",", " ").split(), "i", *_COLUMN]
        self._calls: list[str] = []  # of the piece of each class; "" if it does nothing
        numbers = self._numbered(sweep)
        # where the lanes are those of a batch, none is left for a second body
        at_once = groups(sweep, bodies, numbers) if any(self._calls) and not unit.in_lanes else None
        if at_once is not None:
            self._add_groups(at_once, dict(zip(sweep.indices, numbers, strict=True)))
            return
        segments = [(which, [i for i, _ in group]) for which, group in groupby(zip(sweep.indices, numbers, strict=True), key=itemgetter(1))]
        if len(segments) <= max(_MOST_SEGMENTS, len(self._calls)):
            for which, indices in segments:
                self._add_segment(self._calls[which], indices)
        else:
            self._add_switch(sweep.indices, numbers)

    def _numbered(self, sweep: Sweep) -> list[int]:
        """The class of every body; writes the piece of each class."""
        programs: dict[tuple[str, ...], int] = {}
        number: dict[int, int] = {}  # id of a trace -> its class
        for trace in sweep.traces:
            if id(trace) not in number:
                program = tuple(_trace_lines(trace))
                number[id(trace)] = programs.setdefault(program, len(programs))
        for program, which in programs.items():
            words = _words(program) | ({"live"} if self.masked else set())
            arguments = ", ".join(dict.fromkeys(name for name in self._possible if name in words))
            self._calls.append(f"{self.name}_{which}({arguments})" if program else "")
            if program:
                decorator = "@masked" if self.masked else "@straight"
                self.pieces.append("\n".join([decorator, f"def {self._calls[-1]}:", *_indented(list(program))]))
        return [number[id(t)] for t in sweep.traces]

    def _add_segment(self, call: str, indices: list[int]) -> None:
        """Bodies one after the other that share their code."""
        if not call:
            return
        if self._is_chain(call, indices):
            indices = self._add_chain(call, indices)
        lines = [*self._base_lines([call], indices), call]
        if len(indices) == 1:
            self.lines += [f"i = {indices[0]}", *lines]
        elif indices:
            step = indices[1] - indices[0]
            self.lines += [f"for i in range({indices[0]}, {indices[-1] + step}, {step}):", *_indented(lines)]

    def _is_chain(self, call: str, indices: list[int]) -> bool:
        """Is every body the parent of the next one or of the one before, and are there enough of them?"""
        if self.in_lanes or "p" not in _arguments(call) or len(indices) < 2 * _IN_A_ROW:
            return False
        parents = [int(self.bodies.link[i, PARENT]) for i in indices]
        step = indices[1] - indices[0]
        grows = all(self._rule(name, indices) for name in _COLUMN if name in _arguments(call))
        return grows and step in (1, -1) and all(p == i - 1 for i, p in zip(indices, parents, strict=True))

    def _add_chain(self, call: str, indices: list[int]) -> list[int]:
        """Some bodies of a chain in one function, then the next ones; returns those that are left over."""
        step, whole = indices[1] - indices[0], len(indices) // _IN_A_ROW * _IN_A_ROW
        name = f"{call.partition('(')[0]}_in_a_row"
        lines, calls = [], []
        for k in range(_IN_A_ROW):
            own = _renaming(k)
            own["p"] = f"i{k - 1 or ''}" if step == 1 and k else f"i{k + 1}" if step == -1 and k + 1 < _IN_A_ROW else own["p"]
            if k:
                lines.append(f"{own['i']} = i {'+' if step == 1 else '-'} {k}")
            for base in _COLUMN:
                if base in _arguments(call) and (base != "p" or own[base] == _renaming(k)[base]):
                    lines.append(f"{own[base]} = {self._rule(base, indices, own['i'])}")
            calls.append(f"{call.partition('(')[0]}({', '.join(own.get(word, word) for word in _arguments(call))})")
        parameters = ", ".join(dict.fromkeys(word for c in calls for word in _arguments(c)))
        self.pieces.append("\n".join(["@in_a_row", f"def {name}({parameters}):", *_indented(calls)]))
        head = f"for i in range({indices[0]}, {indices[whole - 1] + step}, {step * _IN_A_ROW}):"
        self.lines += [head, *_indented([*lines, f"{name}({parameters})"])]
        return indices[whole:]

    def _add_switch(self, indices: list[int], numbers: list[int]) -> None:
        """One loop; a table says which code each body runs."""
        if not any(self._calls):
            return
        table = f"_{self.name.upper()}"
        classes = [0] * (max(indices) + 1)
        for i, which in zip(indices, numbers, strict=True):
            classes[i] = which
        self.pieces.append(f"{table} = np.array({classes!r}, dtype=np.int64)")
        step = indices[1] - indices[0]
        lines = [f"which = {table}[i]", *self._base_lines(self._calls, None)]
        for which, call in enumerate(self._calls):
            lines += [f"{'elif' if which else 'if'} which == {which}:", f"    {call or 'pass'}"]
        self.lines += [f"for i in range({indices[0]}, {indices[-1] + step}, {step}):", *_indented(lines)]

    def _add_groups(self, at_once: list[list[int]], numbers: dict[int, int]) -> None:
        """One loop over groups of bodies; tables say which code they run, and who they are."""
        kinds = sorted({(numbers[g[0]], len(g)) for g in at_once if self._calls[numbers[g[0]]]})
        lines: list[str] = []
        for which, (number, size) in enumerate(kinds):
            call, name = self._calls[number], f"{self.name}_{number}_{size}_together"
            calls = [self._renamed(call, lane) for lane in range(size)]
            bases = [line for lane in range(size) for line in self._lane_lines(call, lane)]
            if size > 1:
                parameters = ", ".join(dict.fromkeys(word for c in calls for word in _arguments(c)))
                self.pieces.append("\n".join(["@together", f"def {name}({parameters}):", *_indented(calls)]))
                call = f"{name}({parameters})"
            lines += [f"{'elif' if which else 'if'} kind == {which}:", *_indented([*bases, call])]
        rows = [[kinds.index((numbers[g[0]], len(g))), *g] for g in at_once if self._calls[numbers[g[0]]]]
        table = f"_{self.name.upper()}"
        widest = max(map(len, rows))
        self.pieces.append(f"{table} = np.array({[row + [0] * (widest - len(row)) for row in rows]!r}, dtype=np.int64)")
        self.lines += [f"for s in range({len(rows)}):", *_indented([f"kind = {table}[s, 0]", *lines])]

    def _lane_lines(self, call: str, lane: int) -> list[str]:
        """i, p, j and k of the body in a lane, as far as the call needs them."""
        own = _renaming(lane)
        table = f"_{self.name.upper()}"
        return [
            f"{own['i']} = {table}[s, {lane + 1}]",
            *(f"{own[name]} = link[{own['i']}, {column}]" for name, column in _COLUMN.items() if name in _arguments(call)),
        ]

    def _renamed(self, call: str, lane: int) -> str:
        own = _renaming(lane)
        return f"{call.partition('(')[0]}({', '.join(own.get(word, word) for word in _arguments(call))})"

    def _base_lines(self, calls: list[str], indices: list[int] | None) -> list[str]:
        """p, j and k of the body in turn: computed from i where they grow with it, else looked up."""
        lines = []
        for name, column in _COLUMN.items():
            if name in _words(calls):
                rule = self._rule(name, indices) if indices else None
                lines.append(f"{name} = {rule or f'link[i, {column}]'}")
        return lines

    def _rule(self, name: str, indices: list[int], i: str = "i") -> str | None:
        """p, j or k of these bodies, as it is computed from i."""
        return _affine([(body, int(self.bodies.link[body, _COLUMN[name]])) for body in indices], i)


def _renaming(lane: int) -> dict[str, str]:
    """What i, p, j and k are called in a lane."""
    return {name: f"{name}{lane or ''}" for name in ("i", *_COLUMN)}


def _arguments(call: str) -> list[str]:
    return call.partition("(")[2].rstrip(")").split(", ")


def _affine(points: list[tuple[int, int]], i: str = "i") -> str | None:
    (i0, x0), (i1, x1) = points[0], points[-1]
    if len(points) == 1:
        return str(x0)
    slope, rest = divmod(x1 - x0, i1 - i0)
    if rest or any(x != x0 + slope * (at - i0) for at, x in points):
        return None
    shift = x0 - slope * i0
    return (i if slope == 1 else f"{slope} * {i}") + (f" - {-shift}" if shift < 0 else f" + {shift}" if shift else "")


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
                text = e.text.format(*(self._write(x)[0] for x in e.numbers))
                if e.result is None:
                    self.out.append(text)
                else:
                    self._name(e.result, text, "c")
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
