"""Johnson and Murphey 2009, Fig. 1: energy of a pendulum of one link over 5000 s in steps of 10 ms, beside an engine that balances forces.

The paper gives neither sizes nor start: a rod of 1 m and 1 kg, let go at 1 rad.  Its engine (ODE) is not on PyPI; MuJoCo is, see
force_balance.py.
"""

from __future__ import annotations

import numpy as np

import leastaction as la

from . import force_balance
from .result import Claim, Picture, Result, missing

DT, START = 1e-2, 1.0


def make(quick: bool) -> Result:
    duration, every = (200.0, 2) if quick else (5000.0, 10)
    pendulum = la.examples.chain(1)
    ours = la.simulate(
        pendulum.compile(), dt=DT, duration=duration, q=[START], integrator=la.Midpoint(), record_every=every, progress=False
    )
    swing = float(np.ptp(ours.kinetic))
    tenth = len(ours) // 10
    average = float(np.mean(ours.energy[-tenth:]) - np.mean(ours.energy[:tenth])) / swing
    absent = missing("mujoco")
    theirs = {} if absent else {name: force_balance.simulate(pendulum, [START], DT, duration, name, every) for name in ("Euler", "RK4")}
    loss = {name: float(np.mean(run.energy[:tenth]) - np.mean(run.energy[-tenth:])) / swing for name, run in theirs.items()}

    def draw(figure) -> None:
        axes = figure.subplots()
        for name, run in theirs.items():
            axes.plot(run.t, run.energy - run.energy[0], linewidth=0.4, label=f"MuJoCo {name}", color="C6" if name == "Euler" else "C1")
        axes.plot(ours.t, ours.energy - ours.energy[0], linewidth=0.4, label="variational (la.Midpoint)", color="C0")
        axes.set(xlabel="t, s", ylabel="energy - energy at the start, J")
        axes.legend(loc="lower left")

    return Result(
        f"A rod of 1 m and 1 kg, let go at {START:g} rad, {duration:g} s at 10 ms. Both engines of MuJoCo are semi-implicit or "
        f"explicit and balance forces.",
        [
            Claim(
                "The variational integrator keeps the right energy on average.",
                "",
                f"mean of the last tenth differs by {average:+.1e} of the kinetic energy",
                abs(average) < 1e-6,
            ),
            Claim(
                "It does not keep it exactly at every step.",
                "",
                f"{np.ptp(ours.energy) / swing:.1e} of the kinetic energy",
                float(np.ptp(ours.energy)) > 1e-9 * swing,
            ),
            Claim(
                "An engine that balances forces dissipates energy (ODE in the paper, MuJoCo here).",
                "",
                "; ".join(f"{name} loses {x:+.1e} of the kinetic energy" for name, x in loss.items()) or "-",
                None if absent else any(x > 0.01 for x in loss.values()),
                absent
                or "more than 1 % counts as dissipation. ODE keeps a hinge closed by a constraint between two bodies; in MuJoCo a "
                "hinge is a "
                "coordinate, and its Euler step is symplectic for a single pendulum. Fig. 8 has constraints in both.",
            ),
        ],
        [Picture(draw)],
    )
