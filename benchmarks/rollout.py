"""Batches: `la.rollout` beside MuJoCo's `rollout`, both with two threads, and one call of `pin.aba`; interleaved in one process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import leastaction as la
from leastaction.compiling.lanes import lanes_of_this_machine

from .cases import Case, chain, humanoid
from .report import machine, number, table

DT = 1e-3
MEMBERS, STEPS, THREADS = 1000, 100, 2
SPREAD = 0.3  # rad (or m): starts differ by this much
GENERAL, SPECIAL, MUJOCO, PIN = "rollout", "rollout, specialised", "MuJoCo rollout", "pin.aba"


@dataclass
class Clocks:
    """Minima over repeats, seconds per step of a member."""

    wall: float = np.inf
    cpu: float = np.inf

    def take(self, run: Callable[[], object], steps: int) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        self.wall = min(self.wall, (time.perf_counter() - wall) / steps)
        self.cpu = min(self.cpu, (time.process_time() - cpu) / steps)


@dataclass
class Comparison:
    """One mechanism, all candidates."""

    case: Case
    members: int = MEMBERS
    steps: int = STEPS
    clocks: dict[str, Clocks] = field(default_factory=dict)

    def __post_init__(self) -> None:
        case, rng = self.case, np.random.default_rng(0)
        self.q = np.tile(case.q, (self.members, 1))
        self.v = case.v + SPREAD * rng.normal(size=(self.members, case.model.nv))
        for body in case.model.bodies:
            if not body.joint.has_quaternion:
                part = self.q[:, case.model.q_slice(body.joint_name)]
                part += SPREAD * rng.normal(size=part.shape)
        special = case.model.specialise()
        self.runs: dict[str, Callable[[], object]] = {GENERAL: lambda: self._ours(case.model), SPECIAL: lambda: self._ours(special)}
        self._add_mujoco()
        self._add_pinocchio()
        for name, run in self.runs.items():  # the first call compiles
            run()
            self.clocks[name] = Clocks()

    def _ours(self, model: la.Model) -> None:
        many = la.rollout(model, q=self.q, v=self.v, dt=DT, steps=self.steps, threads=THREADS, progress=False)
        if many.failed.any():
            raise FloatingPointError(f"not all members could be run: {many}")

    def _add_mujoco(self) -> None:
        import mujoco
        from mujoco import rollout

        from .peers.mujoco_ import Step

        peer = Step(self.case.mechanism, DT, "Euler")
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        starts = np.empty((self.members, mujoco.mj_stateSize(peer.model, kind)))
        for k in range(self.members):
            peer.set_state(self.q[k], self.v[k])
            mujoco.mj_getState(peer.model, peer.data, starts[k], kind)
        data = [mujoco.MjData(peer.model) for _ in range(THREADS)]
        pool = rollout.Rollout(nthread=THREADS)
        self.runs[MUJOCO] = lambda: pool.rollout(peer.model, data, starts, nstep=self.steps)

    def _add_pinocchio(self) -> None:
        from .peers.pinocchio import Aba

        peer = Aba(self.case.mechanism, DT)
        peer.set_state(self.case.q, self.case.v)
        self.runs[PIN] = lambda: peer.timed(self.steps * 20)

    def round(self) -> None:
        for name, run in self.runs.items():
            self.clocks[name].take(run, self.steps * (20 if name == PIN else self.members))

    def ratio(self, ours: str, theirs: str, clock: str = "wall") -> float:
        return getattr(self.clocks[ours], clock) / getattr(self.clocks[theirs], clock)


def run(cases: list[Case], passes: int, members: int = MEMBERS, steps: int = STEPS) -> list[Comparison]:
    comparisons = [Comparison(case, members, steps) for case in cases]
    for _ in range(passes):
        for comparison in comparisons:
            comparison.round()
    return comparisons


def page(quick: bool, passes: int) -> str:
    """docs/rollout-speed.md"""
    before = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    cases = [chain(10, spatial=False), chain(50, spatial=False), humanoid()]
    found = run(cases[:1] if quick else cases, 2 if quick else max(passes, 5))
    names = [GENERAL, SPECIAL, MUJOCO, PIN]
    times = [
        [c.case.name, *(number(1e6 * c.clocks[n].wall) for n in names), *(number(1e6 * c.clocks[n].cpu) for n in names)] for c in found
    ]
    pairs = [(GENERAL, MUJOCO), (SPECIAL, MUJOCO), (GENERAL, PIN), (SPECIAL, PIN)]
    ratios = [[c.case.name, *(f"{c.ratio(*pair):.2f} ({c.ratio(*pair, clock='cpu'):.2f})" for pair in pairs)] for c in found]
    return "\n".join([
        "# Speed of batches",
        "",
        "Written by `python -m benchmarks rollout`; see [batches](rollout.md).  Compare the ratios, which were measured in one run,",
        "interleaved.",
        "",
        f"- Machine: {machine().replace('one used', f'{THREADS} threads')}; other load when it began: {before:.1f}",
        f"- {MEMBERS} members, {STEPS} steps of 1 ms each, all nodes kept; starts differ by {SPREAD} rad and rad/s (standard deviation).",
        f"- `rollout, specialised`: after `model.specialise()`, {lanes_of_this_machine()} members at once in the lanes of every core.",
        "- `rollout`: a step of `la.Variational()`, tolerance 1e-10; MuJoCo: semi-implicit Euler, contacts and constraints off;",
        "  `pin.aba`: accelerations once, called from Python, one thread.",
        "- Minima over repeats.  CPU time counts all threads and not what else the machine did.",
        "",
        "## Microseconds per step and member",
        "",
        table(["", *(f"{n}, wall" for n in names), *(f"{n}, CPU" for n in names)], times),
        "",
        "## Ratios of wall time (of CPU time)",
        "",
        table(["ours / theirs", *(f"{a} / {b}" for a, b in pairs)], ratios),
        "",
    ])  # fmt: skip
