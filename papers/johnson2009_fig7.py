"""Johnson and Murphey 2009, Fig. 7: run time of an N-link pendulum with and without caching of (2)-(10), 20 s at 10 ms.

The paper finds that caching makes simulations drastically faster and lets them grow more slowly with the number of links.
Beside both: the composites of kernels/lagrangian/derivatives.py, which need no derivatives of single frames at all.  Times are those of
this machine; the ratios are what to look at.

Run it with   python papers/johnson2009_fig7.py
"""

from __future__ import annotations

import time

import numpy as np

import leastaction as la
from leastaction.yardsticks import Johnson2009

EVALUATIONS = ("uncached", "cached", "composite")
DT, DURATION = 1e-2, 20.0


def run_time(links: int, evaluation: str, seconds: float = 1.0) -> float:
    """Seconds the 20 s take, from as many steps as can be made in about `seconds`."""
    model = la.examples.chain(links).compile()
    integrator = la.Midpoint() if evaluation == "composite" else Johnson2009(evaluation)
    simulator = la.Simulator(model, dt=DT, q={"link1": np.pi / 4}, integrator=integrator)
    simulator.run(5, progress=False)  # compiled, and past the first steps from rest
    made, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds and made < DURATION / DT:
        simulator.run(20, record_every=20, progress=False)
        made += 20
    return (time.perf_counter() - began) / made * DURATION / DT


def growth(sizes: list[int], times: list[float]) -> float:
    """Exponent of the run time in the number of links."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def measure(sizes: list[int], seconds: float = 1.0) -> dict[str, list[float]]:
    return {evaluation: [run_time(n, evaluation, seconds) for n in sizes] for evaluation in EVALUATIONS}


def main() -> None:
    sizes = [2, 4, 8, 12, 16, 24, 32]
    times = measure(sizes)
    print(f"{'links':>5}" + "".join(f"{name + ', s':>16}" for name in EVALUATIONS) + f"{'gain of caching':>18}{'of composites':>16}")
    for k, n in enumerate(sizes):
        slow, cached, fast = (times[name][k] for name in EVALUATIONS)
        print(f"{n:>5}{slow:>16.4g}{cached:>16.4g}{fast:>16.4g}{slow / cached:>17.1f}x{slow / fast:>15.1f}x")
    large = slice(3, None)
    exponents = [f"{name} {growth(sizes[large], times[name][large]):.1f}" for name in EVALUATIONS]
    print(f"growth with the number of links, from 12 on: {', '.join(exponents)}")


if __name__ == "__main__":
    main()
