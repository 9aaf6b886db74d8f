"""Johnson and Murphey 2009, Fig. 8: energy of the closed-chain device of Fig. 6 (Listing 1) over 120 s in steps of 10 ms, beside an engine
that balances forces.

The start is `la.examples.LISTING_1_START`: the paper gives none.  MuJoCo stands for its ODE, see force_balance.py.
"""

from __future__ import annotations

import numpy as np

import leastaction as la

from . import force_balance
from .result import Claim, Film, Picture, Result, missing

DT = 1e-2


def make(quick: bool) -> Result:
    duration = 20.0 if quick else 120.0
    device, start = la.examples.listing_1(), la.examples.LISTING_1_START
    ours = la.simulate(device.compile(), dt=DT, duration=duration, q=start, integrator=la.Midpoint(), progress=False)
    absent = missing("mujoco")
    theirs = None if absent else force_balance.simulate(device, start, DT, duration)
    swing = float(np.ptp(ours.kinetic))
    kept = float(np.ptp(ours.energy)) / swing
    tenth = len(ours) // 10
    lost = None if theirs is None else (theirs.energy[0] - float(np.mean(theirs.energy[-tenth:]))) / swing

    def draw(figure) -> None:
        axes = figure.subplots()
        if theirs is not None:
            axes.plot(theirs.t, theirs.energy, color="C6", label="MuJoCo")
        axes.plot(ours.t, ours.energy, color="C0", label="variational (la.Midpoint)")
        axes.set(xlabel="t, s", ylabel="energy, J")
        axes.legend()

    return Result(
        f"Listing 1 (with the parenthesis that is missing in print), from rest, {duration:g} s at 10 ms: 7 coordinates, 4 constraints.",
        [
            Claim(
                "The variational integrator keeps the energy nearly constant.", "", f"range {kept:.1e} of the kinetic energy's", kept < 0.02
            ),
            Claim(
                "An engine that balances forces introduces significant damping (ODE in the paper, MuJoCo here).",
                "",
                "-" if lost is None else f"{lost:.0%} of the kinetic energy's range are lost",
                None if lost is None else lost > 0.05,
                absent,
            ),
            Claim(
                "The engine is about 10 times faster than trep.",
                "1.86 s and 22.1 s: 11.9 times",
                "-" if theirs is None else f"{theirs.seconds:.2f} s and {ours.elapsed:.2f} s: {ours.elapsed / theirs.seconds:.1f} times",
                None if theirs is None else ours.elapsed / theirs.seconds > 5.0,
                absent or "confirmed means more than 5 times. Here both are compiled; MuJoCo's time includes a call from Python per step.",
            ),
            Claim(
                "Constraints stay satisfied without restoring forces.",
                "",
                f"largest gap {ours.constraint_error.max():.1e} m",
                bool(ours.constraint_error.max() < 1e-9),
            ),
        ],
        [Picture(draw)],
        films=[
            Film(
                la.simulate(ours.model, dt=DT, duration=10.0, q=start, integrator=la.Midpoint(), record_every=2, progress=False),
                "the first 10 s",
            )
        ],
    )
