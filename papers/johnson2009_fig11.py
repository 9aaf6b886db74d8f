"""Johnson and Murphey 2009, Fig. 11: a scissor lift of 5 segments over 10 s, beside the exact motion and an engine that balances forces.

See johnson2009_fig13.py for the lift, force_balance.py for the engine.
"""

from __future__ import annotations

import numpy as np

import leastaction as la

from .johnson2009_fig13 import LONGEST, START, engine, error_integral, exact_motion, integral, simulate
from .result import Claim, Picture, Result, Table, missing

SEGMENTS, DURATION = 5, 10.0
PAPER_SECONDS = {1e-2: 0.19, 1e-3: 1.85, 1e-4: 18.47}


def make(quick: bool) -> Result:
    ours = simulate(SEGMENTS, 1e-2, DURATION, la.Variational(), closing="points")
    error = float(error_integral(ours, SEGMENTS)[-1])
    absent = missing("mujoco")
    steps = () if absent else (1e-2, 1e-3) if quick else tuple(PAPER_SECONDS)
    theirs = {dt: engine(SEGMENTS, dt, DURATION) for dt in steps}
    errors = {dt: float(integral(run.t, run.q, SEGMENTS)[-1]) for dt, run in theirs.items()}
    potential = float(np.ptp(ours.potential))
    lost = {dt: float(run.energy[0] - run.energy[-1]) / potential for dt, run in theirs.items()}

    def draw(figure) -> None:
        axes = figure.subplots()
        t = np.linspace(0.0, DURATION, 2000)
        axes.plot(t, exact_motion(SEGMENTS, LONGEST)(t), color="C6", linewidth=3, alpha=0.4, label="exact")
        for dt, run in theirs.items():
            thin = slice(None, None, max(1, len(run.t) // 1000))
            axes.plot(
                run.t[thin], run.q[thin], linewidth=0.9, label=f"MuJoCo, {1e3 * dt:g} ms", color={1e-2: "C1", 1e-3: "C4", 1e-4: "C3"}[dt]
            )
        axes.plot(ours.t, ours["a1"][:, 0], "--", color="C0", label="variational, 10 ms")
        axes.set(xlabel="t, s", ylabel="angle of the links below the horizontal, rad")
        axes.legend(loc="upper right", ncols=2)

    return Result(
        f"Links and slider of 1 kg, released at {START:g} rad, midpoints of links coincide; the exact motion is of the corrected "
        f"Lagrangian.",
        [
            Claim(
                "The variational integrator tracks the exact motion almost perfectly.",
                "",
                f"error integral {error:.2g} rad² s over 10 s",
                error < 0.05,
            ),
            Claim(
                "The engine at 10 ms loses most of its energy immediately.",
                "",
                "-" if absent else f"{lost[1e-2]:.0%} after 10 s",
                None if absent else lost[1e-2] > 0.5,
                absent,
            ),
            Claim(
                "At smaller steps it loses energy more slowly and still departs quickly.",
                "",
                "-" if absent else "; ".join(f"{1e3 * dt:g} ms: error {errors[dt]:.2g} rad² s, energy lost {lost[dt]:.0%}" for dt in steps),
                None if absent else all(e > 10 * error for e in errors.values()),
                absent or "departs: more than ten times our error",
            ),
        ],
        [Picture(draw, size=(8, 3.8))],
        [
            Table(
                ["", "step, ms", "run time, s", "of the paper, s", "error integral, rad² s"],
                [
                    ["variational", "10", f"{ours.elapsed:.3f}", "1.74", f"{error:.2g}"],
                    *(
                        ["MuJoCo (paper: ODE)", f"{1e3 * dt:g}", f"{run.seconds:.3f}", f"{PAPER_SECONDS[dt]:g}", f"{errors[dt]:.2g}"]
                        for dt, run in theirs.items()
                    ),
                ],
            )
        ],
    )
