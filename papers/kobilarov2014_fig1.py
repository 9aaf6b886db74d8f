"""Kobilarov 2014, Fig. 1: a conservative three-link system fails suddenly when the step is too long.  With the bounds drawn in.

Three rods of 1 m hang on a pin and swing.  The paper gives neither sizes nor start; its threshold is 0.125 s, ours is bisected and compared
with what is certified and with (41) along the motion.
"""

from __future__ import annotations

import numpy as np

import leastaction as la
from leastaction.solvability import StepEquation, certified_step, paper_step

from .result import Claim, Picture, Result

DURATION = 20.0
START = (0.5, 0.3, -0.2)


def swing(dt: float) -> tuple[la.Trajectory, bool]:
    """(run, finished) from rest at START with la.Trapezoid: Newton's method from the last velocity; what was made until a step failed."""
    model = la.examples.chain(3).compile()
    try:
        return la.simulate(model, dt=dt, duration=DURATION, q=START, integrator=la.Trapezoid(), progress=False), True
    except la.ConvergenceError as error:
        assert error.trajectory is not None
        return error.trajectory, False


def threshold(low: float = 0.02, high: float = 1.0, halvings: int = 8) -> tuple[float, float]:
    """(longest step seen to finish, shortest seen to fail) by bisection."""
    for _ in range(halvings):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if swing(middle)[1] else (low, middle)
    return low, high


def bounds_along(dt: float = 0.01, duration: float = 5.0, samples: int = 25) -> dict[str, np.ndarray]:
    """Certified steps, and (41) with certified and sampled constants, at states of the true motion."""
    model = la.examples.chain(3).compile()
    run = la.simulate(model, dt=dt, duration=duration, q=START)
    rows = []
    for k in np.linspace(0, len(run) - 1, samples).astype(int):
        equation = StepEquation(model, run.state(k))
        rows.append([certified_step(equation).h, paper_step(equation, "certified")[0], paper_step(equation, "sampled")[0]])
    return dict(zip(("certified", "(41), certified constants", "(41), sampled constants"), np.array(rows).T, strict=True))


def make(quick: bool) -> Result:
    limits = threshold()
    bounds = bounds_along(samples=4 if quick else 25)
    steps = (0.02, 0.5 * limits[0], 1.5 * limits[1])
    runs = {dt: swing(dt) for dt in steps}
    finished = {dt: swing(dt)[1] for dt in np.geomspace(0.02, 1.0, 20)}
    sudden = all(done == (dt < limits[1]) for dt, done in finished.items() if not 0.8 * limits[0] < dt < 1.2 * limits[1])
    safest = float(bounds["certified"].min())

    def draw(figure) -> None:
        left, right = figure.subplots(1, 2)
        for dt, (run, done) in runs.items():
            left.plot(run.t, run.q[:, 0], "-o", markersize=2, linewidth=0.8, label=f"h = {dt:.3g} s{'' if done else ', fails'}")
        left.set(xlabel="t, s", ylabel="first angle, rad", ylim=(-2, 2))
        left.legend(loc="upper right")
        for name, values in bounds.items():
            right.semilogy(np.linspace(0, 5.0, len(values)), values, label=name)
        right.axhspan(*limits, color="C3", alpha=0.6, label="threshold of a 20 s run")
        right.set(xlabel="t, s", ylabel="step, s")
        right.legend()

    return Result(
        f"Three rods of 1 m and 1 kg from rest at {START} rad, {DURATION:g} s with la.Trapezoid, Kobilarov's integrator.",
        [
            Claim(
                "Runs are qualitatively right below a step and break down suddenly above it.",
                "",
                f"{sum(finished.values())} of 20 steps from 0.02 s to 1 s finish, all below {limits[1]:.3f} s",
                sudden,
            ),
            Claim(
                "The step at which it breaks down.",
                "0.125 s",
                f"between {limits[0]:.3f} s and {limits[1]:.3f} s",
                None,
                "the paper gives neither lengths nor masses nor the start; the threshold grows with the square root of the length",
            ),
            Claim(
                "Bounds on the step before a simulation avoid such failures.",
                "",
                f"the certified step is between {safest:.3f} s and {bounds['certified'].max():.3f} s along the motion",
                safest < limits[1],
            ),
            Claim(
                "The paper's own bound (41) is a usable one (with its constants certified from masses and lengths).",
                "",
                f"between {bounds['(41), certified constants'].min():.1e} s and {bounds['(41), certified constants'].max():.1e} s",
                bool(bounds["(41), certified constants"].min() > 0.01 * limits[0]),
                "usable: more than a hundredth of what works; with the corrected (41)",
            ),
        ],
        [Picture(draw)],
    )
