"""Cost of constraints: a four-bar linkage with every integrator, and chains pinned at both ends against open ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import leastaction as la

from . import ours, peers
from .cases import chain
from .report import machine, number, table, versions
from .timing import Interleaved, measure_all, pin_to_one_core

FOUR_BAR_START = (0.7853981633974483, -2.0680828567810465, -1.3045921837029306)
SWING = 8.153  # J, kinetic energy of the four-bar at the bottom
TREP = 39 / 3.07  # its step of this four-bar in calls of pin.aba on the 10-link chain, measured on another machine

INTEGRATORS = {
    "Variational()": la.Variational(),
    'Variational(retraction="cayley")': la.Variational(retraction="cayley"),
    'Variational(quadrature="midpoint")': la.Variational(quadrature="midpoint"),
    "Maximal()": la.Maximal(),
    "RK4() on accelerations": la.RK4(),
}


@dataclass
class Quality:
    band: float  #: range of the energy over 60 s, as a fraction of the swing energy
    closure: float  #: largest constraint error, m


def four_bar_quality(model: la.Model, integrator: la.Integrator) -> Quality:
    run = la.simulate(model, dt=1e-2, duration=60.0, q=model.assemble(FOUR_BAR_START), integrator=integrator)
    return Quality(float(np.ptp(run.energy)) / SWING, float(run.constraint_error.max()))


def four_bar_times(passes: int, max_passes: int) -> tuple[dict[str, float], float | None]:
    """Seconds per step of every integrator, and of one call of pin.aba on the 10-link chain (None if it is not installed)."""
    model = la.examples.four_bar().compile()
    steps = {name: ours.Step(model, 1e-2, integrator) for name, integrator in INTEGRATORS.items()}
    times = Interleaved(steps, model.assemble(FOUR_BAR_START), np.zeros(3), fixed_reps=dict.fromkeys(steps, 1000))
    measurements = [times]
    yardstick = next((p for p in peers.installed()[0] if p.name == "pin.aba"), None)
    if yardstick is not None:
        case = chain(10, spatial=False)
        measurements.append(Interleaved({"pin.aba": yardstick.build(case.mechanism, 1e-3)}, case.q, case.v))
    measure_all(measurements, passes, max_passes=max_passes)
    return times.best, measurements[1].best["pin.aba"] if yardstick is not None else None


def pinned_times(n: int, passes: int, max_passes: int) -> tuple[float, float]:
    """Seconds per step of a chain pinned at both ends, and of the same chain let go, at 1 ms."""
    mech = la.examples.closed_chain(n)
    pinned = mech.compile()
    mech.constraints.clear()
    steps = {"pinned": ours.Step(pinned, 1e-3), "open": ours.Step(mech.compile(), 1e-3)}
    times = Interleaved(steps, np.zeros(n), np.zeros(n), fixed_reps=dict.fromkeys(steps, 300))
    measure_all([times], passes, max_passes=max_passes)
    return times.best["pinned"], times.best["open"]


def page(quick: bool, passes: int) -> str:
    pin_to_one_core()
    passes, max_passes = (1, 2) if quick else (passes, 10)
    seconds, yardstick = four_bar_times(passes, max_passes)
    model = la.examples.four_bar().compile()
    rows = []
    for name, integrator in INTEGRATORS.items():
        quality = four_bar_quality(model, integrator)
        ratio = None if yardstick is None else TREP * yardstick / seconds[name]
        rows.append([name, number(seconds[name] * 1e6), number(ratio), f"{quality.band:.1e}", f"{quality.closure:.1e}"])
    pinned = []
    for n in (10, 100) if quick else (10, 20, 50, 100, 200):
        closed, let_go = pinned_times(n, passes, max_passes)
        pinned.append([str(n), number(closed * 1e6), number(let_go * 1e6), number(closed / let_go)])
    return "\n".join([
        "# Loops",
        "",
        "Written by `python -m benchmarks loops`.  Ratios were measured in one run, interleaved, on one core.",
        "",
        f"- Machine: {machine()}",
        f"- Versions: {versions([])}",
        "",
        "## Four-bar linkage, 60 s at 10 ms",
        "",
        "`la.examples.four_bar()`: rods of 1, 2 and 1.5 m, 1 kg/m, from rest.  Energy: its range as a fraction of the",
        "swing energy (8.15 J).  trep: one step of its midpoint integrator takes as long as 12.7 calls of `pin.aba` on the",
        "10-link chain (measured elsewhere; the ratio uses `pin.aba` of this run), energy 1.1e-4, closure 7e-13 m.",
        "",
        table(["integrator", "us per step", "times as fast as trep", "energy", "closure, m"], rows),
        "",
        "## Chain of rods pinned at both ends, 1 ms",
        "",
        "`la.examples.closed_chain(n)`: two constraint rows; open: the same chain, let go at one end.",
        "",
        table(["rods", "pinned, us", "open, us", "ratio"], pinned),
        "",
    ])  # fmt: skip
