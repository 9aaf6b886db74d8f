"""Cost of one step: leastaction against other simulators, all in one run of one process on one core."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from . import ours, peers, probe
from .cases import Case, all_cases
from .peers.base import Peer, verify
from .timing import Interleaved, measure_all, pin_to_one_core

DT = 1e-3
STEP, ABA = "leastaction step", "leastaction ABA"
@dataclass
class Row:
    """Seconds per call of every column for one mechanism."""

    case: Case
    seconds: dict[str, float]
    evaluations: float  #: residual evaluations per step of leastaction
    confirmed: bool  #: every minimum was reached several times
    left_out: dict[str, str] = field(default_factory=dict)  #: column -> reason

    def ratio(self, numerator: str, denominator: str) -> float | None:
        if numerator not in self.seconds or denominator not in self.seconds:
            return None
        return self.seconds[numerator] / self.seconds[denominator]


def timed_steps(case: Case) -> int:
    """Steps of ours per repeat: the same stretch of the motion every time."""
    return 1000 if case.links <= 50 else 300


class Comparison:
    """One mechanism in leastaction and in every peer that can have it, each peer checked against leastaction."""

    def __init__(self, case: Case, columns: list[Peer]):
        self.case = case
        self.step = ours.Step(case.model, DT)
        candidates = {STEP: self.step, ABA: ours.Kernel(case.model, DT, probe.ABA)}
        self.left_out = {}
        for peer in columns:
            reason = peer.supports(case.mechanism)
            if reason:
                self.left_out[peer.name] = reason
                continue
            built = peer.build(case.mechanism, DT)
            verify(peer, built, case.model, *case.random_state())
            candidates[peer.name] = built
        self.times = Interleaved(candidates, case.q, case.v, fixed_reps={STEP: timed_steps(case)})

    def add(self, name: str, candidate: ours.Step) -> None:
        """Another column of ours, timed over the same stretch of the motion."""
        self.times.add(name, candidate, timed_steps(self.case))

    def row(self) -> Row:
        return Row(self.case, self.times.best, self.step.evaluations, self.times.confirmed, self.left_out)


@dataclass
class Results:
    rows: list[Row]
    kernels: dict[str, dict[str, float]]  #: mechanism -> kernel -> seconds
    peers: list[Peer]
    missing: dict[str, str]  #: peer that is not installed -> reason


def run(cases: list[Case] | None = None, passes: int = 3, max_passes: int = 20) -> Results:
    """Measure everything."""
    pin_to_one_core()
    columns, missing = peers.installed()
    cases = all_cases() if cases is None else cases
    comparisons = []
    for case in cases:
        print(f"  building and checking: {case.name}", file=sys.stderr, flush=True)
        comparisons.append(Comparison(case, columns))
    in_parts = [("3-D chain", 10), ("3-D chain", 100), ("ball chain", 50)]
    parts = {c.name: _kernels(c) for c in cases if c.kind == "humanoid" or (c.kind, c.links) in in_parts}
    print("  timing", file=sys.stderr, flush=True)
    measure_all([*(c.times for c in comparisons), *parts.values()], passes, max_passes=max_passes)
    return Results([c.row() for c in comparisons], {name: times.best for name, times in parts.items()}, columns, missing)


def _kernels(case: Case) -> Interleaved:
    """The single kernels a step is made of."""
    return Interleaved({name: ours.Kernel(case.model, DT, what) for what, name in enumerate(probe.NAMES)}, case.q, case.v)
