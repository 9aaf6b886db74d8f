"""Cost of one step: leastaction against other simulators, all in one run of one process on one core."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from leastaction.kernels import probe_speed

from . import ours, peers
from .cases import Case, all_cases
from .peers.base import Peer, verify
from .timing import interleaved_minimum, pin_to_one_core

DT = 1e-3
STEP, ABA = "leastaction step", "leastaction ABA"
TIMED_STEPS = 1000  # steps of ours per repeat: the same stretch of the motion every time


@dataclass
class Row:
    """Seconds per call of every column for one mechanism."""

    case: Case
    seconds: dict[str, float]
    evaluations: float  #: residual evaluations per step of leastaction
    left_out: dict[str, str] = field(default_factory=dict)  #: column -> reason

    def ratio(self, numerator: str, denominator: str) -> float | None:
        if numerator not in self.seconds or denominator not in self.seconds:
            return None
        return self.seconds[numerator] / self.seconds[denominator]


def measure(case: Case, columns: list[Peer], repeats: int) -> Row:
    step = ours.Step(case.model, DT)
    candidates = {STEP: step, ABA: ours.Kernel(case.model, DT, probe_speed.ABA)}
    left_out = {}
    for peer in columns:
        reason = peer.supports(case.mechanism)
        if reason:
            left_out[peer.name] = reason
            continue
        built = peer.build(case.mechanism, DT)
        verify(peer, built, case.model, *case.random_state())
        candidates[peer.name] = built
    seconds = interleaved_minimum(candidates, case.q, case.v, repeats=repeats, fixed_reps={STEP: TIMED_STEPS})
    return Row(case, seconds, step.evaluations, left_out)


def kernel_times(case: Case, repeats: int) -> dict[str, float]:
    """Seconds per call of the single kernels a step is made of."""
    candidates = {name: ours.Kernel(case.model, DT, what) for what, name in enumerate(probe_speed.NAMES)}
    return interleaved_minimum(candidates, case.q, case.v, repeats=repeats)


def run(repeats: int = 15, cases: list[Case] | None = None) -> tuple[list[Row], dict[str, dict[str, float]], list[Peer], dict[str, str]]:
    """Measure everything; returns rows, kernel times of two chains, the peers and the reasons why some are missing."""
    pin_to_one_core()
    columns, missing = peers.installed()
    rows = []
    cases = all_cases() if cases is None else cases
    for case in cases:
        print(f"  {case.name} ...", file=sys.stderr, flush=True)
        rows.append(measure(case, columns, repeats))
    kernels = {c.name: kernel_times(c, repeats) for c in cases if c.kind == "3-D chain" and c.links in (10, 100) or c.kind in ("humanoid",)}
    return rows, kernels, columns, missing
