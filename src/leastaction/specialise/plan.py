"""From traced units to the sweeps that are worth running: facts that hold throughout, fused loops, no stores nobody reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ..kernels.tree.layout import Tree, Work
from .memory import UNKNOWN, Bodies, Call, Cell, Constants, Facts, Place, Store, Trace, cell_of
from .terms import Graph, Number, Term
from .trace import Sweep, TopCall, Tracer

STATES = ("row", "S0", "S1", "factor", "linear", "art", "scratch")
ABREAST = 4  # bodies that run in the lanes of vector registers where none needs what another one does
_MUCH = 40  # operations for every body, which are worth gathering what they need
_ROUNDS = 10


@dataclass
class Unit:
    """Part of a program that always runs as a whole."""

    name: str
    parameters: str  #: of the generated function
    run: Callable[[Tracer, Any, Any, dict[str, Any]], None]  #: (tracer, m, w, vectors by name) runs the kernels
    vectors: tuple[str, ...] = ()  #: arrays among the parameters
    in_lanes: bool = False  #: its numbers are vectors, one lane for each member of a batch
    masked: bool = False  #: of code in lanes: writes only in some of them


@dataclass
class Planned:
    unit: Unit
    parts: list[Sweep | TopCall]
    needed: set[Cell]  #: what calls between the sweeps read


def plan(units: list[Unit], tree: Tree, work: Work, coarse: bool) -> list[Planned]:
    """Trace the units in the order given, until what each takes for granted holds whatever ran before it.

    The order is one in which they may run for the first time: what a unit reads was written by one before it, or never.
    """
    bodies = Bodies(tree.link)
    constants = {
        "body": Constants("body", tree.body, 1, coarse),
        "param": Constants("param", tree.param, 1, coarse),
        "damping": Constants("damping", tree.damping, 0, coarse),
        "armature": Constants("armature", tree.armature, 0, coarse),
        "stiffness": Constants("stiffness", tree.stiffness, 0, coarse),
        "rest": Constants("rest", tree.rest, 0, coarse),
    }
    entry: dict[Cell, float | None] = {}
    for _ in range(_ROUNDS):
        traced = [_traced(unit, bodies, constants, Facts(entry, _initial(work)), tree, work) for unit in units]
        if all(entry[cell] == value for _, facts in traced for cell, value in facts.entry_reads.items()):
            break
    else:
        raise RuntimeError("the facts about the arrays did not settle")  # impossible: they only ever become fewer
    planned = []
    for unit, (tracer, facts) in zip(units, traced, strict=True):
        _fuse_neighbours(tracer.parts, tracer.graph, bodies, unit)
        planned.append(Planned(unit, tracer.parts, facts.needed))
    _drop_dead_stores(planned, bodies)
    return planned


def _traced(unit: Unit, bodies: Bodies, constants, facts: Facts, tree: Tree, work: Work) -> tuple[Tracer, Facts]:
    tracer = Tracer(bodies, facts, len(tree.wrench_on) + len(tree.pair_on))  # mechanisms with laws on bodies are not specialised
    lengths = {name: len(getattr(work, name)) for name in ("q", "d", "r", "z", "target", "load", "step")}
    lengths |= dict.fromkeys(unit.vectors, len(work.d))
    arrays = tracer.arrays(constants, STATES, lengths)
    known = {"link": tracer.link()} | {name: arrays[name] for name in constants}
    m = SimpleNamespace(**tree._asdict() | known)
    none = {"laws": None, "actuation": None}  # mechanisms with servos or dry friction run the general kernels
    w = SimpleNamespace(**none, **{name: array for name, array in arrays.items() if name not in constants})
    unit.run(tracer, m, w, arrays)
    facts.leave()
    return tracer, facts


def _initial(work: Work) -> Callable[[Cell], float | None]:
    def fact(cell: Cell) -> float | None:
        name, row, column = cell
        return float(getattr(work, name)[row, column]) if hasattr(work, name) else UNKNOWN

    return fact


# ------------------------------------------------------------------------------------------------- fusing loops


def _fuse_neighbours(parts: list, graph: Graph, bodies: Bodies, unit: Unit) -> None:
    """Make one loop of two that follow each other, where no body reads or overwrites what another body would do later.

    A loop whose bodies run abreast stays by itself, unless the lanes are those of a batch.
    """
    apart = set() if unit.in_lanes else {id(part) for part in parts if isinstance(part, Sweep) and runs_abreast(part, bodies)}
    k = 0
    while k + 1 < len(parts):
        first, second = parts[k], parts[k + 1]
        sweeps = isinstance(first, Sweep) and isinstance(second, Sweep) and not {id(first), id(second)} & apart
        if sweeps and _may_fuse(first, second, bodies):
            made: dict[tuple[int, int], Trace] = {}
            for a, b in zip(first.traces, second.traces, strict=True):
                if (id(a), id(b)) not in made:
                    made[id(a), id(b)] = _fused(a, b, graph)
            fused = [made[id(a), id(b)] for a, b in zip(first.traces, second.traces, strict=True)]
            parts[k : k + 2] = [Sweep(first.indices, fused)]
        else:
            k += 1


def runs_abreast(sweep: Sweep, bodies: Bodies) -> bool:
    """Is there much to do for every body, and for enough of them the same, and does none need what another one does?"""
    if 0 in sweep.indices:  # not bodies
        return False
    most, times = Counter(map(id, sweep.traces)).most_common(1)[0] if sweep.traces else (0, 0)
    if times < ABREAST or len(live_terms(next(t for t in sweep.traces if id(t) == most))) < _MUCH:
        return False
    return not any(dependent(sweep, bodies))


def dependent(sweep: Sweep, bodies: Bodies) -> list[list[int]]:
    """By place in the order of the sweep: who has to come after it."""
    readers: dict[Cell, list[int]] = {}
    writers: dict[Cell, list[int]] = {}
    after: list[list[int]] = [[] for _ in sweep.indices]
    for turn, (i, trace) in enumerate(zip(sweep.indices, sweep.traces, strict=True)):
        bases = bodies.bases(i)
        reads, writes = ({cell_of(place, bases) for place in places} for places in accesses(trace))
        before = {x for cell in writes for x in readers.get(cell, ())} | {x for cell in reads | writes for x in writers.get(cell, ())}
        for x in sorted(before):
            after[x].append(turn)
        for cell in reads:
            readers.setdefault(cell, []).append(turn)
        for cell in writes:
            writers.setdefault(cell, []).append(turn)
    return after


def _may_fuse(first: Sweep, second: Sweep, bodies: Bodies) -> bool:
    if first.indices != second.indices:
        return False
    last_write: dict[Cell, int] = {}
    last_access: dict[Cell, int] = {}
    for turn, (i, trace) in enumerate(zip(first.indices, first.traces, strict=True)):
        reads, writes = accesses(trace)
        bases = bodies.bases(i)
        last_write.update((cell_of(p, bases), turn) for p in writes)
        last_access.update((cell_of(p, bases), turn) for p in reads | writes)
    for turn, (i, trace) in enumerate(zip(second.indices, second.traces, strict=True)):
        reads, writes = accesses(trace)
        bases = bodies.bases(i)
        if any(last_write.get(cell_of(p, bases), 0) > turn for p in reads):
            return False
        if any(last_access.get(cell_of(p, bases), 0) > turn for p in writes):
            return False
    return True


def _fused(a: Trace, b: Trace, graph: Graph) -> Trace:
    """a, then b; what b loads after a has loaded or stored it needs no memory."""
    values: dict[Place, Number] = {}
    for effect in a.effects:
        if isinstance(effect, Store):
            values[effect.place] = effect.value
        elif isinstance(effect, Call):
            for place in effect.writes:
                values.pop(place, None)
        else:
            values[effect.args] = effect
    overwritten = {e.place for e in b.effects if isinstance(e, Store)}
    effects = [e for e in a.effects if not (isinstance(e, Store) and e.place in overwritten)]
    again: dict[int, Number] = {}

    def rebuilt(x: Number) -> Number:
        if not isinstance(x, Term):
            return x
        if id(x) not in again:
            if x.op == "load":
                result: Number = values.get(x.args, x)
            else:
                args = [rebuilt(y) for y in x.args]
                same = all(p is q for p, q in zip(args, x.args, strict=True))
                result = x if same else getattr(graph, x.op)(*args) if x.op in _ARITHMETIC else graph.term(x.op, *args)
            again[id(x)] = result
        return again[id(x)]

    for effect in b.effects:
        if isinstance(effect, Store):
            effects.append(Store(effect.place, rebuilt(effect.value)))
        elif isinstance(effect, Call):
            effects.append(Call(effect.text, tuple(rebuilt(x) for x in effect.numbers), effect.writes))
            for place in effect.writes:
                values.pop(place, None)
        elif effect.args not in values:
            effects.append(effect)
    return Trace(effects=effects)


_ARITHMETIC = ("add", "sub", "mul", "div", "neg")

# ------------------------------------------------------------------------------------------------- dead stores


def _drop_dead_stores(planned: list[Planned], bodies: Bodies) -> None:
    """Stores into work arrays that are overwritten before anybody loads them go, and with them what was computed for them only.

    Liveness as in a compiler: each unit is walked backwards, over and over until no more is found to be alive.
    """
    alive: set[Cell] = set()  # at the end of a unit: what some unit loads before it stores it
    keep: dict[int, _Kept] = {id(t): _Kept(t) for p in planned for s in p.parts if isinstance(s, Sweep) for t in s.traces}
    while True:
        before = len(alive) + sum(len(k.stores) for k in keep.values())
        for p in planned:
            now = set(alive)
            for part in reversed(p.parts):
                if isinstance(part, TopCall):
                    now |= p.needed
                    continue
                for i, trace in zip(reversed(part.indices), reversed(part.traces), strict=True):
                    keep[id(trace)].walk_back(bodies.bases(i), now)
            alive |= now
        if len(alive) + sum(len(k.stores) for k in keep.values()) == before:
            break
    for kept in keep.values():
        kept.apply()


class _Kept:
    """The stores of a trace that were found to be alive, and the loads they need."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.stores = {e.place for e in trace.effects if isinstance(e, Store) and e.place[0] not in STATES}
        self.undecided = {e.place for e in trace.effects if isinstance(e, Store)} - self.stores
        self.by_calls = {place for e in trace.effects if isinstance(e, Call) for place in e.writes}
        self._find_loads()

    def _find_loads(self) -> None:
        terms = live_terms(self.trace, self.stores)
        self.loads = [x.args for x in terms if x.op == "load" and x.args[0] in STATES and x.args not in self.by_calls]

    def walk_back(self, bases: dict[str, int], alive: set[Cell]) -> None:
        """From what is alive after this body to what is alive before it."""
        found = {place for place in self.undecided if cell_of(place, bases) in alive}
        if found:
            self.stores |= found
            self.undecided -= found
            self._find_loads()
        for place in self.stores | self.by_calls:
            alive.discard(cell_of(place, bases))
        alive.update(cell_of(place, bases) for place in self.loads)

    def apply(self) -> None:
        needed = {id(x) for x in live_terms(self.trace, self.stores)}
        self.trace.effects = [
            e for e in self.trace.effects
            if isinstance(e, Call) or (e.place in self.stores if isinstance(e, Store) else id(e) in needed)
        ]  # fmt: skip


def live_terms(trace: Trace, stores: set[Place] | None = None) -> list[Term]:
    """Everything the calls and the given stores (all if None) of a trace need, operands first."""
    order: list[Term] = []
    seen: set[int] = set()
    for effect in trace.effects:
        if isinstance(effect, Term) or (isinstance(effect, Store) and stores is not None and effect.place not in stores):
            continue
        for root in effect.numbers if isinstance(effect, Call) else (effect.value,):
            _collect(root, seen, order)
    return order


def _collect(x: Number, seen: set[int], order: list[Term]) -> None:
    if isinstance(x, Term) and id(x) not in seen:
        seen.add(id(x))
        for y in x.args:
            _collect(y, seen, order)
        order.append(x)


def accesses(trace: Trace) -> tuple[set[Place], set[Place]]:
    """Places read and written."""
    reads = {e.args for e in trace.effects if isinstance(e, Term)}
    writes = {e.place for e in trace.effects if isinstance(e, Store)}
    for e in trace.effects:
        if isinstance(e, Call):
            writes.update(e.writes)
    return reads, writes


def _distinct(sweeps: list[Sweep]) -> list[Trace]:
    return list({id(t): t for s in sweeps for t in s.traces}.values())


def operations(planned: list[Planned]) -> int:
    """Number of operations in the code of all classes together."""
    return sum(len(live_terms(t)) for t in _distinct([part for p in planned for part in p.parts if isinstance(part, Sweep)]))

