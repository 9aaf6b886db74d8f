"""How times are taken: one core, warm, interleaved repeats, the minimum."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Protocol

import numpy as np


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


def interleaved_minimum(
    candidates: Mapping[str, Timed], q, v, *, repeats: int = 15, slice_seconds: float = 0.02, fixed_reps: Mapping[str, int] | None = None
) -> dict[str, float]:
    """Seconds per call of every candidate: minimum over repeats taken in turn.

    Taking turns makes a slow phase of the machine hit all candidates alike; the minimum forgets it.
    fixed_reps  {name: calls per repeat} where the work of a call depends on how many came before
    """
    fixed_reps = fixed_reps or {}
    reps = {}
    for name, candidate in candidates.items():  # the first calls warm up and tell how many calls fill a slice
        candidate.set_state(q, v)
        candidate.timed(3)
        once = candidate.timed(3)
        reps[name] = fixed_reps.get(name, int(np.clip(slice_seconds / once, 3, 20_000)))
    best = dict.fromkeys(candidates, np.inf)
    for _ in range(repeats):
        for name, candidate in candidates.items():
            candidate.set_state(q, v)
            best[name] = min(best[name], candidate.timed(reps[name]))
    return best
