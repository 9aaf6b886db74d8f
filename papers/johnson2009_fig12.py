"""Johnson and Murphey 2009, Fig. 12: the scissor lift of 5 segments after 1000 s.  See johnson2009_fig13.py for the lift."""

from __future__ import annotations

import numpy as np

import leastaction as la
from leastaction.reference.scissor import ScissorLift

from .johnson2009_fig13 import START, last_swings, simulate
from .result import Claim, Picture, Result

SEGMENTS = 5


def make(quick: bool) -> Result:
    duration = 100.0 if quick else 1000.0
    run = simulate(SEGMENTS, 1e-2, duration, la.Variational())
    lift = ScissorLift(SEGMENTS)
    exact, (period, lowest, last) = lift.period(START), last_swings(run)
    swings = round((last - exact / 4) / exact)
    late = last - exact / 4 - swings * exact
    shown = 3 * exact
    t = np.linspace(run.t[-1] - shown, run.t[-1], 1200)
    within = np.linspace(0.0, exact, 4001)
    one_period = lift.motion(within, START)[:, 0]

    def draw(figure) -> None:
        axes = figure.subplots()
        axes.plot(t, np.interp(t % exact, within, one_period), color="C6", linewidth=3, alpha=0.4, label="exact")
        tail = run.t >= t[0]
        axes.plot(run.t[tail], run["a1"][tail, 0], color="C0", label="variational, 10 ms")
        axes.set(xlabel="t, s", ylabel="angle of the links below the horizontal, rad")
        axes.legend(loc="upper right")

    return Result(
        f"The same lift after {duration:g} s at 10 ms; loops closed by relations between coordinates, which stay regular where the "
        f"links lie on each other.",
        [
            Claim(
                "There is a slight phase shift from accumulated error.",
                "",
                f"{swings} swings end {late:+.3f} s late, {late / swings / exact:+.1e} of a period each",
                1e-7 < abs(late / swings / exact) < 0.01,
            ),
            Claim(
                "The amplitude is still close to the exact one.",
                "",
                f"lowest angle {lowest:.4f} rad, exact {START}",
                abs(lowest - START) < 0.01,
            ),
            Claim(
                "The frequency is still close to the exact one.",
                "",
                f"period {period:.5f} s, exact {exact:.5f} s",
                abs(period / exact - 1.0) < 0.01,
            ),
        ],
        [Picture(draw)],
    )
