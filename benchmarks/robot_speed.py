"""A step of real robots beside one `pin.aba` and one Euler step of MuJoCo, all in one run of one process on one core."""

from __future__ import annotations

import sys
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np

import leastaction as la

from . import ours, peers
from .cases import Case
from .report import machine, number, table
from .robots import folder, read
from .speed import DT, STEP, Comparison
from .timing import Interleaved, measure_all, pin_to_one_core

# name -> (file below the folder of robots, floating base)
ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", False),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", True),
    "talos": ("talos_data/robots/talos_reduced.urdf", True),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
}
OWN_STEP = "leastaction step, specialised"
PIN, EULER = "pin.aba", "MuJoCo Euler"
EARLY = 20, 200  # steps that are left out and that are timed of an arm that has just been let go
LIMITS = {(STEP, PIN): 0.75, (STEP, EULER): 0.95, (OWN_STEP, PIN): 0.5}


def case(name: str, root: Path) -> Case:
    """The robot falling or hanging with bent joints in motion; dampers, friction and limits left out."""
    file, floating = ROBOTS[name]
    mechanism = read(root / file, floating, ("damping", "friction", "mimic", "limits")).mechanism
    if mechanism is None:
        raise la.MechanismError(f"{file} cannot be read; compare docs/robots.md")
    model = mechanism.compile()
    joints = np.arange(model.nv - 6 * floating)
    q, v = model.neutral(), np.zeros(model.nv)
    q[7 * floating :], v[6 * floating :] = 0.3 * np.sin(joints), np.cos(joints)
    if floating:
        v[:6] = 0.5, 0.3, 0.2, 0.4, 0.0, 1.0
    kind = "floating" if floating else "fixed"
    return Case(f"{name}, {kind}, {model.nv} degrees of freedom", kind, len(model.bodies), mechanism, model, q, v)


def compare(names: list[str], specialise: bool = True, passes: int = 4) -> list[tuple[Comparison, dict[str, float]]]:
    """Seconds per call of every column for every robot."""
    root = folder()
    if root is None:
        raise SystemExit("the robots of example-robot-data are not installed; make robots installs them")
    pin_to_one_core()
    columns = [p for p in peers.installed()[0] if p.name in (PIN, EULER)]
    found = []
    for name in names:
        print(f"  building and checking: {name}", file=sys.stderr, flush=True)
        comparison = Comparison(case(name, root), columns)
        if specialise:
            comparison.add(OWN_STEP, ours.Step(comparison.case.model.specialise(), DT))
        found.append(comparison)
    if "panda" in names:
        found.append(just_let_go(found[names.index("panda")]))
    measure_all([c.times for c in found], passes)
    return [(c, c.times.best) for c in found]


def just_let_go(later: Comparison) -> Comparison:
    """The same robot in the first tenths of a second, while it moves as slowly as robots do."""
    warm_up, steps = EARLY
    early = copy(later)
    early.case = replace(later.case, name=later.case.name.replace(",", " just let go,", 1))
    own = {
        name: ours.Step(candidate.model, DT, warm_up=warm_up, few=True) if isinstance(candidate, ours.Step) else candidate
        for name, candidate in later.times.candidates.items()
    }
    early.times = Interleaved(own, later.case.q, later.case.v, fixed_reps=dict.fromkeys((STEP, OWN_STEP), steps))
    return early


def page(quick: bool = False, passes: int = 4) -> str:
    """docs/robot-speed.md"""
    found = compare(list(ROBOTS)[:1] if quick else list(ROBOTS), passes=1 if quick else passes)
    columns = [STEP, OWN_STEP, PIN, EULER]
    times = []
    for c, best in found:
        name = c.case.name + ("" if c.times.confirmed else " (noisy)")
        times.append([name, *(number(best.get(k, np.nan) * 1e6) for k in columns)])
    ratios = []
    for c, best in found:
        for (a, b), limit in LIMITS.items():
            if a in best and b in best:
                ratio = best[a] / best[b]
                ratios.append([c.case.name, f"{a} / {b}", number(ratio), f"<= {limit:g}", "holds" if ratio <= limit else "MISSED"])
    return f"""# Speed of robots

Written by `python -m benchmarks robot_speed`: robots of `example-robot-data`, moving with bent joints, without dampers, friction,
contacts, limits and couplings.  One process, one core, interleaved; minima of CPU time.  A step of ours is a full step of 1 ms at a
tolerance of 1e-10; `pin.aba` computes accelerations once, called from Python; MuJoCo's is a step of semi-implicit Euler.

- Machine: {machine()}

## Microseconds

{table(["", *columns], times)}

## Ratios

{table(["robot", "what", "measured", "limit", ""], ratios)}

## Why panda costs more

Loose and without dampers, the arm, let go at 1 rad/s, is soon whirling with 30 to 60 rad/s, twenty times what the real one may.  (Its first
tenths of a second, steps 20 to 220, are in the tables too, less what a call from Python takes.)  The guess of the next step, a polynomial
of degree five, is then off by 160 times the tolerance (median of 2500 steps), and the factorisation of the step before, which shrinks a
residual to 0.025 of it, is not good enough: 0.8 new factorisations are made per step, 0.2 of them exact ones.  In the first half second,
below 30 rad/s, it is 0.2.  Code for one mechanism corrects twice to first order where the exact one, three times as expensive there, would
be made.  Polynomials of degree seven make it 0.74, nine 0.71, a secant correction of the old factorisation 0.79.
"""
