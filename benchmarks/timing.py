"""How times are taken: one core, warm, interleaved repeats, the minimum of the CPU time."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

# CPU time of this process: everything here runs in one thread, and time in which the system ran something else does not count
clock = time.process_time


class Timed(Protocol):
    def set_state(self, q, v) -> None: ...

    def timed(self, reps: int) -> float: ...


def pin_to_one_core() -> int | None:
    """Keep this process on the last core it may use; returns it, or None where the system cannot."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


class Interleaved:
    """Minimum over repeats taken in turn.

    Taking turns makes a slow phase of the machine hit all candidates alike, and all calls of a repeat together last about
    as long for every candidate: short ones would find a quiet moment more easily.  The minimum is trusted (`confirmed`)
    when every candidate came within 5 % of it at least three times.
    """

    def __init__(self, candidates: Mapping[str, Timed], q, v, *, slice_seconds: float = 0.01, fixed_reps: Mapping[str, int] | None = None):
        """fixed_reps: {name: calls per repeat} where the work of a call depends on how many came before."""
        self.q, self.v, self.slice_seconds = q, v, slice_seconds
        self.candidates: dict[str, Timed] = {}
        self.samples: dict[str, list[float]] = {}
        self.reps: dict[str, int] = {}
        for name, candidate in candidates.items():
            self.add(name, candidate, (fixed_reps or {}).get(name))

    def add(self, name: str, candidate: Timed, reps: int | None = None) -> None:
        """One more; its first calls warm up and tell how many calls fill a slice."""
        candidate.set_state(self.q, self.v)
        candidate.timed(3)
        self.candidates[name], self.samples[name] = candidate, []
        self.reps[name] = reps or int(np.clip(self.slice_seconds / candidate.timed(3), 3, 20_000))

    def round(self, repeats: int) -> None:
        """Take more repeats."""
        for _ in range(repeats):
            for name, candidate in self.candidates.items():
                candidate.set_state(self.q, self.v)
                self.samples[name].append(candidate.timed(self.reps[name]))

    @property
    def best(self) -> dict[str, float]:
        """Seconds per call."""
        return {name: min(samples) for name, samples in self.samples.items()}

    @property
    def confirmed(self) -> bool:
        return all(sum(x <= 1.05 * min(samples) for x in samples) >= 3 for samples in self.samples.values())


def measure_all(measurements: Sequence[Interleaved], passes: int = 3, repeats: int = 5, max_passes: int = 20) -> None:
    """Go round all measurements several times, and on with those whose minima are not confirmed."""
    for number in range(max_passes):
        left = [m for m in measurements if number < passes or not m.confirmed]
        if not left:
            break
        for m in left:
            m.round(repeats)
