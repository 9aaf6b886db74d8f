"""One residual evaluation: discrete recursive Newton-Euler against Johnson and Murphey's recursion, planar chains.

    python benchmarks/residual_cost.py [links ...]

Times are microseconds per evaluation inside a compiled loop, one core, minimum over interleaved repeats.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from numba import njit

import leastaction as la
from leastaction.kernels import drnea, svi
from leastaction.lie.retractions import NAMES as RETRACTIONS
from leastaction.svi import ScalableVariational

STEP = 1e-3
VARIANTS = {
    "svi, matrices, primitive frames (paper)": ("matrices", True),
    "svi, matrices, merged frames": ("matrices", False),
    "svi, twists, merged frames": ("twists", False),
}


@njit(nogil=True)
def repeat_drnea(m, w, h, retraction, count):
    total = 0.0
    for k in range(count):
        w.d[0] = 1e-4 * (1.0 + 1e-3 * k)  # another step every time: nothing can be moved out of the loop
        drnea.residual(m, w, h, retraction)
        total += w.r[0]
    return total


@njit(nogil=True)
def repeat_svi(f, s, q, d, p, h, evaluation, r, count):
    total = 0.0
    for k in range(count):
        d[0] = 1e-4 * (1.0 + 1e-3 * k)
        svi.svi_residual(f, s, q, d, p, h, evaluation, r)
        total += r[0]
    return total


@njit
def set_node(m, w, h):
    drnea.set_node(m, w, h, h, False, w.target)


def contenders(links: int) -> dict[str, object]:
    """name -> function of the number of evaluations."""
    model = la.examples.chain(links).compile()
    rng = np.random.default_rng(0)
    q, d, p = 0.3 * rng.normal(size=model.nv), 1e-3 * rng.normal(size=model.nv), np.zeros(model.nv)
    calls: dict[str, object] = {}
    for retraction in ("cayley", "exp"):
        work = model.make_work()
        work.q[:], work.d[:] = q, d
        set_node(model.tree, work, STEP)
        calls[f"drnea, {retraction}"] = lambda n, w=work, r=RETRACTIONS[retraction]: repeat_drnea(model.tree, w, STEP, r, n)
    for name, (evaluation, primitive) in VARIANTS.items():
        c = ScalableVariational(model, evaluation, primitive)
        calls[name] = lambda n, c=c: repeat_svi(c.frames, c.scratch, q, d.copy(), p, STEP, c.evaluation, np.empty(model.nv), n)
    return calls


def measure(links: int, repeats: int = 15, seconds: float = 0.02) -> dict[str, float]:
    """name -> microseconds per evaluation."""
    calls = contenders(links)
    counts = {}
    for name, call in calls.items():
        call(2)
        began = time.perf_counter()
        call(20)
        counts[name] = max(20, int(20 * seconds / (time.perf_counter() - began)))
    best = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            began = time.perf_counter()
            call(counts[name])
            best[name] = min(best[name], 1e6 * (time.perf_counter() - began) / counts[name])
    return best


def main(sizes: list[int]) -> None:
    rows = {n: measure(n) for n in sizes}
    print("us per evaluation (times drnea, cayley)".ljust(44) + "".join(f"{n:>6} links     " for n in sizes))
    for name in rows[sizes[0]]:
        cells = (f"{rows[n][name]:9.3f} ({rows[n][name] / rows[n]['drnea, cayley']:5.1f})" for n in sizes)
        print(name.ljust(44) + " ".join(cells))


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [10, 100])
