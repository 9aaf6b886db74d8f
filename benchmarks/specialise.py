"""Method I (code for one mechanism) beside Method II (general kernels) and Pinocchio, all in one run of one process on one core."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numba import njit

import leastaction as la
from leastaction.kernels.tree.evaluate import acceleration_by

from . import ours, probe
from .cases import Case, ball_chain, chain, humanoid
from .peers.base import Array
from .timing import Interleaved, clock, measure_all, pin_to_one_core

DT = 1e-3
ABA, OWN_ABA, PIN, STEP, OWN_STEP = "ABA", "ABA, specialised", "pin.aba", "step", "step, specialised"


class OwnAba:
    """Specialised forward dynamics, repeated inside compiled code."""

    def __init__(self, model: la.Model):
        self.model = model
        self.scratch, self.out = np.zeros((len(model.bodies) + 1, 6)), np.zeros(model.nv)
        module = model.specialised.forward_module()
        set_node, forward_dynamics = module.set_node, module.forward_dynamics

        @njit
        def repeat(repeats, m, w, q, v, tau, scratch, out):
            for _ in range(repeats):
                acceleration_by(set_node, forward_dynamics, m, w, 0.0, q, v, tau, scratch, out)

        self.repeat = repeat

    def set_state(self, q: Array, v: Array) -> None:
        self.q, self.v, self.tau, self.work = q.copy(), v.copy(), np.zeros(self.model.nv), self.model.make_work()

    def timed(self, reps: int) -> float:
        began = clock()
        self.repeat(reps, self.model.tree, self.work, self.q, self.v, self.tau, self.scratch, self.out)
        return (clock() - began) / reps


@dataclass
class Row:
    case: Case
    seconds: dict[str, float]  #: per call of every column
    preparation: dict[str, float]  #: "forward", "step": from the model to the first result, CPU seconds; short if found on disk
    confirmed: bool

    def ratio(self, numerator: str, denominator: str) -> float:
        return self.seconds[numerator] / self.seconds[denominator]


class Comparison:
    def __init__(self, case: Case, peers: bool = True):
        self.case, model = case, case.model
        own = model.specialise()
        state = own.state(case.q, case.v)
        began = clock()
        la.dynamics.forward(own, state.q, state.v)
        between = clock()
        la.Simulator(own, state, dt=DT)
        self.preparation = {"forward": between - began, "step": clock() - between}
        candidates = {
            ABA: ours.Kernel(model, DT, probe.ABA), OWN_ABA: OwnAba(own),
            STEP: ours.Step(model, DT), OWN_STEP: ours.Step(own, DT),
        }  # fmt: skip
        if peers:
            from .peers.pinocchio import Aba

            candidates[PIN] = Aba(case.mechanism, DT)
        self.times = Interleaved(candidates, case.q, case.v, fixed_reps={STEP: 300, OWN_STEP: 300})

    def row(self) -> Row:
        return Row(self.case, self.times.best, self.preparation, self.times.confirmed)


def all_cases() -> list[Case]:
    chains = [chain(n, False) for n in (20, 50, 100)] + [chain(n, True) for n in (20, 100)]
    return [*chains, ball_chain(50), humanoid(), random_tree(20)]


def random_tree(n: int) -> Case:
    """Hinges with axes, placements and inertias in which nothing is 0 or 1."""
    mechanism = la.examples.random_tree(n, joints=(la.Revolute,))
    model = mechanism.compile()
    q, v = np.random.default_rng(0).normal(size=(2, model.nv))
    return Case(f"random tree of {n} hinges", "random tree", n, mechanism, model, q, v)


def run(cases: list[Case] | None = None, passes: int = 3, max_passes: int = 12) -> list[Row]:
    """Measure the mechanisms; seconds per call."""
    pin_to_one_core()
    comparisons = []
    for case in all_cases() if cases is None else cases:
        print(f"  specialising {case.name}", file=sys.stderr, flush=True)
        comparisons.append(Comparison(case))
    measure_all([c.times for c in comparisons], passes, max_passes=max_passes)
    return [c.row() for c in comparisons]


def table(rows: list[Row]) -> str:
    """Microseconds per call, as Markdown."""
    lines = [
        "| mechanism | ABA | specialised | ratio | `pin.aba` | specialised / pin | step | specialised | ratio | first use: forward, step |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        t = {k: f"{1e6 * x:.2f}" for k, x in r.seconds.items()}
        lines.append(
            f"| {r.case.name} | {t[ABA]} | {t[OWN_ABA]} | {r.ratio(OWN_ABA, ABA):.2f} | {t[PIN]} | {r.ratio(OWN_ABA, PIN):.2f} "
            f"| {t[STEP]} | {t[OWN_STEP]} | {r.ratio(OWN_STEP, STEP):.2f} "
            f"| {r.preparation['forward']:.1f} s, {r.preparation['step']:.1f} s |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(run()))
