"""The linearised step at nodes of a run beside `pin.computeABADerivatives`, all in one run of one process on one core."""

from __future__ import annotations

import sys

import leastaction as la

from . import peers
from .cases import Case, chain, humanoid
from .peers.base import Array
from .report import machine, number, table, versions
from .robot_speed import case as robot
from .robots import folder
from .timing import Interleaved, clock, measure_all, pin_to_one_core

DT, NODES = 1e-3, 256
RUN, ONE, PIN = "la.linearize(run), per step", "la.linearize, one step solved anew", "pin.computeABADerivatives"
LIMIT = 1.5  # times PIN


class Run:
    """All steps of a run, per step."""

    def __init__(self, case: Case):
        self.run = la.simulate(case.model, case.model.state(case.q, case.v), dt=DT, steps=NODES, progress=False)
        la.linearize(self.run)

    def set_state(self, q: Array, v: Array) -> None:
        """It is made already."""

    def timed(self, reps: int) -> float:
        runs = -(-reps // NODES)
        began = clock()
        for _ in range(runs):
            la.linearize(self.run)
        return (clock() - began) / (runs * NODES)


class One:
    """One step from a state, which has to be solved first."""

    def __init__(self, model: la.Model):
        self.model, self.integrator = model, la.Variational()

    def set_state(self, q: Array, v: Array) -> None:
        self.state = self.model.state(q, v)

    def timed(self, reps: int) -> float:
        began = clock()
        for _ in range(reps):
            la.linearize(self.model, self.integrator, self.state, DT)
        return (clock() - began) / reps


class AbaDerivatives:
    """Derivatives of the accelerations in q, v and tau, called from Python."""

    def __init__(self, mechanism: la.Mechanism):
        import pinocchio

        self.derive = pinocchio.computeABADerivatives
        self.aba = next(p for p in peers.installed()[0] if p.name == "pin.aba").build(mechanism, DT)

    def set_state(self, q: Array, v: Array) -> None:
        self.aba.set_state(q, v)

    def timed(self, reps: int) -> float:
        derive, aba = self.derive, self.aba
        began = clock()
        for _ in range(reps):
            derive(aba.model, aba.data, aba.q, aba.v, aba.tau)
        return (clock() - began) / reps


def cases(quick: bool) -> list[Case]:
    found = [chain(10, spatial=False), chain(100, spatial=False), humanoid()]
    root = folder()
    if root is None or quick:
        print("  without panda and talos: the robots of example-robot-data are not installed, or --quick is given", file=sys.stderr)
        return found
    return [robot("panda", root), robot("talos", root), *found]


def page(quick: bool, passes: int) -> str:
    pin_to_one_core()
    measured = []
    for case in cases(quick):
        print(f"  building: {case.name}", file=sys.stderr, flush=True)
        candidates = {RUN: Run(case), ONE: One(case.model), PIN: AbaDerivatives(case.mechanism)}
        measured.append((case, Interleaved(candidates, case.q, case.v)))
    measure_all([times for _, times in measured], 1 if quick else passes, max_passes=10)
    rows, ratios = [], []
    for case, times in measured:
        best = times.best
        rows.append([case.name + ("" if times.confirmed else " (noisy)"), *(number(best[k] * 1e6) for k in (RUN, ONE, PIN))])
        ratio = best[RUN] / best[PIN]
        ratios.append([case.name, number(ratio), f"<= {LIMIT:g}", "holds" if ratio <= LIMIT else "MISSED"])
    return f"""# Speed of derivatives

Written by `python -m benchmarks linearize`.  One process, one core, interleaved; minima of CPU time.  `la.linearize(run)` gives A and B of
every step of a run of {NODES} steps of 1 ms: six matrices of nv x nv where `pin.computeABADerivatives`, called from Python, gives three.
One step alone is solved first, and costs Python besides.

- Machine: {machine()}
- Versions: {versions([])}

## Microseconds

{table(["", RUN, ONE, PIN], rows)}

## {RUN} / {PIN}

{table(["", "measured", "limit", ""], ratios)}
"""
