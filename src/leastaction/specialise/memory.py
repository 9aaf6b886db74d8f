"""The arrays of a traced program: which entries are known numbers, and what a program does to the others.

An entry of an array is named in two ways.  A `Cell` is (array, row, column) with a row number.  A `Place` is the same relative
to the body in turn: (array, base, offset, column), where the base is the body itself ("i"), its parent ("p"), its first degree
of freedom ("j") or its first coordinate ("k").  Bodies whose programs agree in places share their code.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..joints.dispatch import COUNT
from ..kernels.tree.layout import KIND, NV, PARENT, QI, VI
from .terms import Graph, Number, Term

Cell = tuple[str, int, int]
Place = tuple[str, str, int, int]

UNKNOWN = None  # the fact about a cell whose content changes


def cell_of(place: Place, bases: dict[str, int]) -> Cell:
    """The cell a place means for the body with these bases."""
    name, base, offset, column = place
    return (name, bases[base] + offset, column)


class Row(int):
    """A row number that remembers what it was counted from."""

    base: str
    offset: int

    def __new__(cls, value: int, base: str, offset: int = 0):
        row = super().__new__(cls, value)
        row.base, row.offset = base, offset
        return row

    def __add__(self, other):
        return Row(int(self) + int(other), self.base, self.offset + int(other))

    def __sub__(self, other):
        if isinstance(other, Row):
            return int(self) - int(other)
        return Row(int(self) - int(other), self.base, self.offset - int(other))


@dataclass
class Store:
    place: Place
    value: Number


@dataclass
class Call:
    """A call that writes arrays."""

    text: str  #: with {0}, {1} for the numbers
    numbers: tuple
    writes: list[Place]
    result: Term | None = None  #: what it returns


@dataclass
class Trace:
    """What a sweep does with one body, and the facts that made it so."""

    joint: tuple | None = None  #: (kind, number of freedoms, on the world?) if the program looked at the joint
    facts: dict[Place, float | str | None] = field(default_factory=dict)  #: what was known about the places it reads
    effects: list = field(default_factory=list)  #: loads (Term), Store, Call in the order of the program
    results: dict[Place, float | None] = field(default_factory=dict)  #: facts about what it wrote


class Bodies:
    """Tree.link for the tracer: from the number of a body to the bases its places count from."""

    def __init__(self, link):
        self.link = np.asarray(link)
        self.n = len(self.link)

    def bases(self, i: int) -> dict[str, int]:
        own = {"": 0, "i": i}
        if 0 < i < self.n:
            own["p"], own["j"], own["k"] = (int(self.link[i, c]) for c in (PARENT, VI, QI))
        return own

    def joint(self, i: int) -> tuple:
        kind = int(self.link[i, KIND])
        return (kind if kind < COUNT else "other", int(self.link[i, NV]), int(self.link[i, PARENT]) == 0)


class Constants:
    """An array of the model.  Numbers that are worth folding become literals, others are loaded.

    Worth folding are 0, 1 and -1, and whatever all bodies share (apart from those with 0, 1 or -1 there).  With `coarse`
    only what all bodies share: fewer bodies differ then.
    """

    def __init__(self, name: str, array, first: int, coarse: bool):
        self.name = name
        self.array = np.asarray(array)
        table = self.array[first:] if self.array.ndim == 2 else self.array[first:, None]
        self.literal = np.zeros(self.array.shape, dtype=bool)
        for c in range(table.shape[1]):
            special = np.isin(table[:, c], (0.0, 1.0, -1.0)) & (not coarse)
            shared = len(np.unique(table[~special, c])) <= 1
            at = (slice(first, None), c) if self.array.ndim == 2 else slice(first, None)
            self.literal[at] = special | shared

    def literals(self) -> set[float]:
        return {sign * float(x) for x in self.array[self.literal] for sign in (1.0, -1.0)}

    def fact(self, row: int, column: int) -> float | str:
        at = (row, column) if self.array.ndim == 2 else row
        return float(self.array[at]) if self.literal[at] else "loaded"


class Facts:
    """What is known about the cells of the work arrays while one unit of the program runs.

    `entry` holds the facts at the start of every unit; it is shared by them all and updated between rounds.
    """

    def __init__(self, entry: dict[Cell, float | None], initial):
        self.entry, self.initial = entry, initial
        self.written: dict[Cell, float | None] = {}
        self.entry_reads: dict[Cell, float | None] = {}
        self.needed: set[Cell] = set()  #: what compiled code that is called between the sweeps reads

    def get(self, cell: Cell) -> float | None:
        if cell in self.written:
            return self.written[cell]
        if cell not in self.entry:
            self.entry[cell] = self.initial(cell)
        self.entry_reads[cell] = self.entry[cell]
        return self.entry[cell]

    def leave(self) -> None:
        """At the end of a unit: what holds after it and held before holds always."""
        for cell, value in self.written.items():
            known = self.entry.setdefault(cell, value)
            if known is not UNKNOWN and known != value:
                self.entry[cell] = UNKNOWN


class Recorder:
    """Records the trace of one body; hands out the numbers of the arrays."""

    def __init__(self, graph: Graph, literals: set[float]):
        self.graph, self.literals = graph, literals
        self.trace = Trace()
        self._values: dict[Cell, Number] = {}  # of the cells this body has read or written
        self._stored: dict[Cell, int] = {}  # where in the effects
        self._written_by_call: set[Cell] = set()

    def read(self, place: Place, cell: Cell, fact: float | str | None, known: float | None = None) -> Number:
        """The number at a place, given what is known about it."""
        if cell in self._values:
            return self._values[cell]
        if cell not in self._written_by_call:
            self.trace.facts[place] = fact
        if isinstance(fact, float):
            value: Number = fact
        else:
            value = self.graph.fresh("load", *place, known=known)
            self.trace.effects.append(value)
        self._values[cell] = value
        return value

    def write(self, place: Place, cell: Cell, value: Number) -> None:
        value = value if isinstance(value, Term) else float(value)
        self._values[cell] = value
        if cell in self._stored:  # only the last of several stores counts
            self.trace.effects[self._stored[cell]] = None
        self._stored[cell] = len(self.trace.effects)
        self.trace.effects.append(Store(place, value))
        # a computed constant such as the mass of all bodies beyond would be another one for every body: not a fact
        self.trace.results[place] = value if isinstance(value, float) and value in self.literals else UNKNOWN

    def call(self, text: str, numbers: tuple, writes: list[tuple[Place, Cell]], result: Term | None = None) -> None:
        self.trace.effects.append(Call(text, numbers, [place for place, _ in writes], result))
        for place, cell in writes:
            self._values.pop(cell, None)
            self._written_by_call.add(cell)
            self.trace.results[place] = UNKNOWN

    def knows(self, cell: Cell) -> bool:
        """Has this body read or written the cell, so that no fact about it is needed?"""
        return cell in self._values or cell in self._written_by_call

    def done(self) -> Trace:
        self.trace.effects = [e for e in self.trace.effects if e is not None and not _changes_nothing(e)]
        return self.trace


def _changes_nothing(effect) -> bool:
    """A store of what is there."""
    return isinstance(effect, Store) and isinstance(effect.value, Term) and effect.value.op == "load" and effect.value.args == effect.place
