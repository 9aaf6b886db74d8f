"""What Python costs: runs of few steps, and control laws in Python, beside the compiled steps alone; interleaved in one process."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import leastaction as la

from .report import machine, number, table

DT, LINKS, FEW, MANY = 1e-3, 10, 100, 2000
ANGLE = 0.1  # rad, of all joints at the start

LOOP, RUN = f"{FEW} steps, compiled loop alone", f"{FEW} steps, `la.simulate`"
STEPS, LAW, READS, PD, BY_HAND = "compiled loop", "law returns zeros", "law reads q", "law reads q and v", "`Simulator.step`"


class Candidates:
    """Functions that make steps from the same start; `best` are minima of the CPU time, in seconds."""

    def __init__(self) -> None:
        self.model = la.examples.chain(LINKS).compile()
        self.start = self.model.state(q=np.full(LINKS, ANGLE))
        self.zeros = np.zeros(LINKS)
        self.functions: dict[str, Callable[[], float]] = {
            LOOP: lambda: self.loop(FEW),
            RUN: self.timed(lambda: la.simulate(self.model, self.start, dt=DT, steps=FEW, progress=False)),
            STEPS: lambda: self.loop(MANY),
            LAW: self.law(lambda t, state: self.zeros),
            READS: self.law(lambda t, state: -0.1 * state.q),
            PD: self.law(lambda t, state: -0.1 * state.q - 0.1 * state.v),
            BY_HAND: self.by_hand,
        }
        self.best = dict.fromkeys(self.functions, np.inf)

    @staticmethod
    def timed(function: Callable[[], object]) -> Callable[[], float]:
        def run() -> float:
            began = time.process_time()
            function()
            return time.process_time() - began

        return run

    def law(self, control) -> Callable[[], float]:
        return self.timed(lambda: la.simulate(self.model, self.start, dt=DT, steps=MANY, control=control, progress=False))

    def loop(self, steps: int) -> float:
        """What nobody can do without: the steps in one compiled call, everything else prepared."""
        stepper = la.Variational().start(self.model, self.start, DT)
        record, tau = stepper.make_record(steps + 1, steps), np.zeros((1, LINKS))
        stepper.advance(0, tau, record)
        began = time.process_time()
        stepper.advance(steps, tau, record)
        return time.process_time() - began

    def by_hand(self) -> float:
        simulator = la.Simulator(self.model, self.start, dt=DT)
        began = time.process_time()
        for _ in range(MANY):
            simulator.step(self.zeros)
        return time.process_time() - began

    def round(self) -> None:
        for name, function in self.functions.items():
            in_a_row = 10 if name in (LOOP, RUN) else 2  # runs of few steps are made again and again where they matter
            self.best[name] = min(self.best[name], *(function() for _ in range(in_a_row)))


def page(quick: bool, passes: int) -> str:
    """docs/small-runs.md"""
    candidates = Candidates()
    for _ in range(5 if quick else 50 * max(passes, 4)):
        candidates.round()
    best = candidates.best
    python = best[RUN] - best[LOOP]
    rows = [
        [name, number(1e6 * best[name] / MANY), f"{MANY / best[name]:,.0f}", number(best[name] / best[STEPS])]
        for name in (STEPS, BY_HAND, LAW, READS, PD)
    ]
    targets = [
        [f"Python in `la.simulate` of {FEW} steps", f"{1e3 * python:.3f} ms", "<= 0.1 ms", "holds" if python <= 1e-4 else "MISSED"],
        ["steps per second, law returns zeros", rows[2][2], ">= 100,000", "holds" if best[LAW] <= MANY * 1e-5 else "MISSED"],
    ]
    return "\n".join([
        "# Small runs",
        "",
        "Written by `python -m benchmarks small`: what Python costs where it is called often.  Minima of the CPU time over repeats,",
        "a few in a row and then the next candidate, in one process.",
        "",
        f"- Machine: {machine()}",
        f"- A chain of {LINKS} links, `la.Variational()`, steps of 1 ms, all nodes recorded, everything warm.",
        "",
        "## Few steps",
        "",
        table(["", "milliseconds"], [[name, number(1e3 * best[name])] for name in (LOOP, RUN)]),
        "",
        "## One step at a time",
        "",
        "A control law is called before every step with the state there, whose momenta and velocities are computed when it asks for them.",
        "",
        table(["", "microseconds per step", "steps per second", "ratio"], rows),
        "",
        "## Targets",
        "",
        table(["target", "measured", "limit", ""], targets),
        "",
    ])  # fmt: skip
