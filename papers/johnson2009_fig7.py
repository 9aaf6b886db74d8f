"""Johnson and Murphey 2009, Fig. 7: run time of an N-link pendulum with and without caching of (2)-(10), 20 s at 10 ms.

The paper finds that caching makes simulations drastically faster and lets them grow more slowly with the number of links.
Beside both: the composites of kernels/lagrangian/derivatives.py, which need no derivatives of single frames at all.  Times are those of
this machine; the ratios are what to look at.
"""

from __future__ import annotations

import time

import numpy as np

import leastaction as la
from leastaction.yardsticks import Johnson2009

from .result import Claim, Picture, Result, Table, growth

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


def measure(sizes: list[int], seconds: float = 1.0) -> dict[str, list[float]]:
    return {evaluation: [run_time(n, evaluation, seconds) for n in sizes] for evaluation in EVALUATIONS}


def make(quick: bool) -> Result:
    sizes = [2, 4, 8, 12] if quick else [2, 4, 8, 12, 16, 24, 32]
    times = measure(sizes, 0.2 if quick else 1.0)
    large = slice(-3, None)
    exponents = {name: growth(sizes[large], times[name][large]) for name in EVALUATIONS}
    gain = times["uncached"][-1] / times["cached"][-1]

    def draw(figure) -> None:
        left, right = figure.subplots(1, 2)
        for axes in (left, right):
            for name, style in zip(EVALUATIONS, ("o--", "o-", "s:"), strict=True):
                axes.plot(sizes, times[name], style, markersize=4, label={"composite": "composites (ours)"}.get(name, name))
            axes.set(xlabel="links", ylabel="run time, s")
        right.set(xscale="log", yscale="log")
        left.legend()

    return Result(
        f"Links aligned, the top one at 45 degrees, {DURATION:g} s at 10 ms, extrapolated from about a second of steps.",
        [
            Claim(
                "Caching makes simulations drastically faster.",
                "",
                f"{gain:.1f} times at {sizes[-1]} links",
                gain > 3.0,
                "drastically: more than 3 times",
            ),
            Claim(
                "With caching they grow at a slower rate.",
                "",
                f"links^{exponents['cached']:.1f} instead of links^{exponents['uncached']:.1f}",
                exponents["cached"] < exponents["uncached"],
            ),
        ],
        [Picture(draw)],
        [
            Table(
                ["links", *(f"{name}, s" for name in EVALUATIONS), "gain of caching", "of composites"],
                [
                    [
                        str(n),
                        *(f"{times[e][k]:.3g}" for e in EVALUATIONS),
                        *(f"{times['uncached'][k] / times[e][k]:.1f}" for e in EVALUATIONS[1:]),
                    ]
                    for k, n in enumerate(sizes)
                ],
            )
        ],
    )
