"""Running a kernel with terms instead of numbers: partial evaluation by tracing.

The source of every kernel is an ordinary Python function.  It is called here with arrays that hand out terms, and with a
`range` that sees the outermost loops: a loop over the bodies becomes a `Sweep`, in which bodies about which the same is known
share one `Trace`.  Nothing here knows any mechanics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ..joints import dispatch
from ..kernels.tree import loads
from ..kernels.tree.layout import KIND, NV, PARENT, QI, VI, F, P, R
from ..lie import retraction_exp, trig
from .memory import UNKNOWN, Bodies, Cell, Constants, Facts, Place, Recorder, Row, Trace, cell_of
from .terms import Graph, Number, Term, TraceError

# of joints/dispatch.py, with the sizes of the tuples they return (0: a number)
_JOINT_FUNCTIONS: dict[str, tuple[int, ...]] = {
    "pose": (9, 3), "place": (9, 3), "columns": (), "displacement": (0, 3, 3), "bias": (3, 3),
}  # fmt: skip


@dataclass
class Sweep:
    """A loop of the program: its values of the loop variable, and what happens for each."""

    indices: list[int] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)  #: one per index; bodies of one class share theirs


@dataclass
class TopCall:
    """A call of a compiled kernel between two loops."""

    text: str
    numbers: tuple


class Tracer:
    """Runs one unit of a program.  `parts` then holds its sweeps and calls."""

    def __init__(self, bodies: Bodies, facts: Facts, wrenches: int):
        self.graph = Graph()
        self.bodies, self.facts, self.wrenches = bodies, facts, wrenches
        self.parts: list[Sweep | TopCall] = []
        self.recorder: Recorder | None = None
        self._now = 0
        self._copies: dict[Any, Any] = {}
        self._special: dict[Any, Callable] = {
            math.sqrt: self._pure(math.sqrt, "sqrt"),
            _python(trig.sincos): self._pure(trig.sincos, "sincos", 2),
            _python(trig.half_sincos): self._pure(trig.half_sincos, "half_sincos", 2),
            _python(retraction_exp.half_angle_ratio): self._pure(retraction_exp.half_angle_ratio, "half_angle_ratio"),
            _python(retraction_exp.gammas): self._pure(retraction_exp.gammas, "gammas", 2),
            _python(retraction_exp.gamma2): self._pure(retraction_exp.gamma2, "gamma2"),
            _python(loads.add_wrenches): self._add_wrenches,
        }
        for name, shape in _JOINT_FUNCTIONS.items():
            function = getattr(dispatch, name)
            self._special[_python(function)] = self._joint_function(name, function, shape)

    # ------------------------------------------------------------------------------------- running kernels

    def run(self, kernel, *arguments) -> None:
        self.copy(kernel)(*arguments)

    def parameter(self, name: str) -> Term:
        """A number the generated function is called with."""
        return self.graph.term("param", name)

    def copy(self, thing: Any) -> Any:
        """A kernel whose calls lead to copies of kernels; whatever is not a kernel comes back as it is."""
        function = _python(thing)
        if isinstance(thing, ModuleType):
            return _Module(self, thing)
        if isinstance(function, (FunctionType, BuiltinFunctionType)) and function in self._special:
            return self._special[function]
        if isinstance(function, FunctionType) and function.__module__.startswith("leastaction."):
            return self._clone(function)
        return thing

    def _clone(self, function: FunctionType) -> FunctionType:
        if function not in self._copies:
            scope: dict[str, Any] = {"range": self._range, "__builtins__": function.__globals__["__builtins__"]}
            self._copies[function] = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
            for name in function.__code__.co_names:
                if name in function.__globals__:
                    scope[name] = self.copy(function.__globals__[name])
        return self._copies[function]

    def _range(self, *bounds) -> Iterator[int]:
        values = [int(b) for b in bounds]
        if self.recorder is None:
            return self._sweep(range(*values))
        start = bounds[0] if len(bounds) > 1 else 0
        return iter([start + (j - values[0]) if isinstance(start, Row) else j for j in range(*values)])

    def _sweep(self, indices) -> Iterator[int]:
        sweep = Sweep()
        self.parts.append(sweep)
        known: list[Trace] = []  # one of each class
        for i in indices:
            trace = next((t for t in known if self._agrees(t, i)), None)
            if trace is None:
                self.recorder, self._now = Recorder(self.graph, self._literals), i
                yield Row(i, "i")
                trace = self.recorder.done()
                self.recorder = None
                known.append(trace)
            sweep.indices.append(i)
            sweep.traces.append(trace)
            self._apply(trace, i)

    def _agrees(self, trace: Trace, i: int) -> bool:
        """Would tracing body i give the same?"""
        if trace.joint is not None and trace.joint != self.bodies.joint(i):
            return False
        bases = self.bodies.bases(i)
        return all(self._fact(cell_of(place, bases)) == fact for place, fact in trace.facts.items())

    def _apply(self, trace: Trace, i: int) -> None:
        bases = self.bodies.bases(i)
        for place in trace.facts:
            self._fact(cell_of(place, bases))  # notes what the unit takes for granted
        for place, value in trace.results.items():
            self.facts.written[cell_of(place, bases)] = value

    # ---------------------------------------------------------------------------------------------- arrays

    def arrays(self, constants: dict[str, Constants], states: tuple[str, ...], vectors: dict[str, int]) -> dict[str, Any]:
        """Arrays by name: of the model, of the work memory (with facts), and vectors (with their length) about which nothing is known."""
        self.constants = constants
        self.vectors = vectors
        self._literals = {0.0, 1.0, -1.0}.union(*(c.literals() for c in constants.values()))
        return {name: _Array(self, name, vectors.get(name, 0)) for name in (*constants, *states, *vectors)}

    def link(self) -> Any:
        return _Link(self)

    def _fact(self, cell: Cell) -> float | str | None:
        name, row, column = cell
        if name in self.vectors:
            return UNKNOWN
        if name in self.constants:
            return self.constants[name].fact(row, column)
        return self.facts.get(cell)

    def load(self, name: str, row: int, column: int) -> Number:
        assert self.recorder is not None
        cell = (name, int(row), column)
        fact = UNKNOWN if self.recorder.knows(cell) else self._fact(cell)
        known = None
        if fact == "loaded":
            array = self.constants[name].array
            known = float(array[int(row), column] if array.ndim == 2 else array[int(row)])
        return self.recorder.read(_place(name, row, column), cell, fact, known)

    def store(self, name: str, row: int, column: int, value: Number) -> None:
        assert self.recorder is not None
        self.recorder.write(_place(name, row, column), (name, int(row), column), value)

    def joint(self) -> tuple:
        """Of the body in turn; from now on its trace depends on it."""
        assert self.recorder is not None
        self.recorder.trace.joint = self.bodies.joint(self._now)
        return self.recorder.trace.joint

    # -------------------------------------------------------------- functions that are called, not traced

    def _pure(self, function, name: str, results: int = 0) -> Callable:
        """A function that branches on its arguments: numbers, or tuples of numbers."""

        def call(*arguments):
            flat: list[Number] = []
            parts: list[str] = []
            for a in arguments:
                if isinstance(a, tuple):
                    parts.append("(" + ", ".join(f"{{{len(flat) + k}}}" for k in range(len(a))) + ")")
                    flat.extend(a)
                else:
                    parts.append(f"{{{len(flat)}}}")
                    flat.append(a)
            if not any(isinstance(a, Term) for a in flat):
                return function(*arguments) if isinstance(function, BuiltinFunctionType) else self._clone(_python(function))(*arguments)
            made = self.graph.term("call", f"{name}({', '.join(parts)})", *flat)
            return tuple(self.graph.term("item", made, f"[{k}]") for k in range(results)) if results else made

        return call

    def _joint_function(self, name: str, function, shape) -> Callable:
        """Joints of built-in kinds are traced; for others their compiled code is called."""
        python = _python(function)

        def call(kind, param, i, q, k, x, v, *rest):
            if kind < dispatch.COUNT:
                return self._clone(python)(kind, param, i, q, k, x, v, *rest)
            fraction = [f"{rest[0]!r}"] if rest else []
            arrays = [r.name for r in rest[1:]]
            text = f"dispatch.{name}({', '.join(['link[i, 1]', 'param', 'i', q.name, 'k', x.name, 'j', *fraction, *arrays])})"
            made = self.graph.fresh("call", text) if shape else None
            freedoms = self.joint()[1]
            if arrays:  # joint columns are written
                cells = [(_place(arrays[0], v + j, c), (arrays[0], int(v) + j, c)) for j in range(freedoms) for c in range(6)]
                assert self.recorder is not None
                self.recorder.call(text, (), cells, made)
            if made is None:
                return None

            def item(index):
                return self.graph.term("item", made, index)

            return tuple(tuple(item(f"[{a}][{b}]") for b in range(size)) if size else item(f"[{a}]") for a, size in enumerate(shape))

        return call

    def _add_wrenches(self, m, w, impulse) -> None:
        """Reads the poses of all bodies and adds to F of some: everything it touches has to be in memory."""
        if not self.wrenches:
            return
        for i in range(1, self.bodies.n):
            cells = [("row", i, c) for c in (*range(R, R + 9), *range(P, P + 3), *range(F, F + 6))]
            self.facts.needed.update(cells)
            for cell in cells[12:]:
                self.facts.written[cell] = UNKNOWN
        self.parts.append(TopCall("add_wrenches(m, w, {0})", (impulse,)))


class _Array:
    def __init__(self, tracer: Tracer, name: str, length: int):
        self.tracer, self.name = tracer, name
        self.shape = (length,)

    def __getitem__(self, at):
        row, column = at if isinstance(at, tuple) else (at, -1)
        return self.tracer.load(self.name, row, int(column))

    def __setitem__(self, at, value):
        row, column = at if isinstance(at, tuple) else (at, -1)
        self.tracer.store(self.name, row, int(column), value)


class _Link:
    """Tree.link: its numbers decide what is traced, so they are handed out as they are."""

    def __init__(self, tracer: Tracer):
        self.tracer = tracer
        self.shape = tracer.bodies.link.shape

    def __getitem__(self, at):
        i, column = at
        if getattr(i, "base", "") != "i" or i.offset:
            raise TraceError(f"link[{i}] of another body than the one in turn")
        self.tracer.joint()
        value = int(self.tracer.bodies.link[i, column])
        base = {int(PARENT): "p", int(VI): "j", int(QI): "k"}.get(int(column))
        assert column in (PARENT, KIND, QI, VI, NV)
        return value if base is None else Row(value, base)


class _Module:
    """A module whose kernels are copies."""

    def __init__(self, tracer: Tracer, module: ModuleType):
        self._tracer, self._module = tracer, module

    def __getattr__(self, name):
        return self._tracer.copy(getattr(self._module, name))


def _python(thing: Any) -> Any:
    """The Python source function of a compiled one."""
    return getattr(thing, "py_func", thing)


def _place(name: str, row: int, column: int) -> Place:
    if isinstance(row, Row):
        return (name, row.base, row.offset, column)
    return (name, "", int(row), column)
