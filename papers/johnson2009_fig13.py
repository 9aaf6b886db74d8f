"""Johnson and Murphey 2009, section VI-C (Figs. 11 to 13): the hanging scissor lift against the exact motion of its one degree of freedom.

Fig. 11   5 segments, 10 ms, 10 s: error integral (47),  e = integral of (exact angle - simulated angle)^2
Fig. 12   the same after 1000 s: amplitude and period of the last swings, phase shift
Fig. 13   1 to 12 segments: the step with which e reaches 0.1 after 15 s (within 1 %, or as close as the bursts of the error allow), and
          how long that simulation takes

The paper gives neither masses nor start; here links and slider have 1 kg, links 1 m and no inertia of their own (caption of Fig. 10), the
lift is released at rest with its links 0.6 rad below the horizontal.  The exact motion uses the corrected Lagrangian, see
leastaction.reference.scissor.
The links swing through the vertical, where they all lie on each other and the paper's constraints (midpoints of links coincide) lose rank:
a step that ends there within about 1e-3 rad goes astray.  So Fig. 11 uses these constraints, and the longer runs close the same loops
by relations between coordinates, which are regular everywhere and give the same discrete motion.

Run it with   python papers/johnson2009_fig13.py
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicHermiteSpline

import leastaction as la
from leastaction.reference.scissor import ScissorLift

START = 0.6  # rad
ALLOWED, WANTED = 0.1, 15.0  # error integral, rad^2 s, and the time it is reached at, s
LONGEST = 20.0  # s


def simulate(segments: int, dt: float, duration: float, integrator: la.Integrator, closing: str = "coordinates") -> la.Trajectory:
    model = la.examples.hanging_scissor_lift(segments, closing=closing).compile()
    return la.simulate(
        model, dt=dt, duration=duration, q=la.examples.hanging_scissor_start(segments, START), integrator=integrator, progress=False
    )


@lru_cache(maxsize=1)
def exact_motion(segments: int, duration: float) -> CubicHermiteSpline:
    """The exact angle as a function of time."""
    t = np.linspace(0.0, duration, round(1000 * duration) + 1)
    return CubicHermiteSpline(t, *ScissorLift(segments).motion(t, START).T)


def error_integral(run: la.Trajectory, segments: int) -> np.ndarray:
    """(T,) equation (47) from the start to every node."""
    squares = (run["a1"][:, 0] - exact_motion(segments, LONGEST)(run.t)) ** 2
    return np.concatenate([[0.0], np.cumsum(run.dt * (squares[1:] + squares[:-1]) / 2)])


def last_swings(run: la.Trajectory, count: int = 10) -> tuple[float, float, float]:
    """(mean period of the last swings, their smallest angle, time of the last passage), from upward passages through pi/2."""
    angle, t = run["a1"][:, 0] - np.pi / 2, run.t
    k = np.flatnonzero((angle[:-1] < 0) & (angle[1:] >= 0))
    passages = t[k] - angle[k] * (t[k + 1] - t[k]) / (angle[k + 1] - angle[k])
    tail = run.t > passages[-count - 1]
    return float(np.diff(passages[-count - 1 :]).mean()), float(run["a1"][tail].min()), float(passages[-1])


def step_for_error(segments: int, integrator: la.Integrator, halvings: int = 14) -> tuple[float, float, float]:
    """(step, time at which the error integral passes ALLOWED, wall time until there), the time as close to WANTED as steps can bring it.

    The error grows in bursts, when the lift rushes through the vertical, so the time jumps as a function of the step: bisection.
    """
    shortest, longest = 1e-3, 0.2
    best = (np.nan, np.inf, np.nan)
    for _ in range(halvings):
        dt = float(np.sqrt(shortest * longest))
        try:
            run = simulate(segments, dt, LONGEST - dt, integrator)
        except la.ConvergenceError:
            longest = dt
            continue
        errors = error_integral(run, segments)
        if errors[-1] < ALLOWED:
            shortest = dt
            continue
        reached = float(run.t[int(np.argmax(errors >= ALLOWED))])
        if abs(reached - WANTED) < abs(best[1] - WANTED):
            best = (dt, reached, run.elapsed * reached / run.t[-1])
        if abs(reached - WANTED) < 0.01 * WANTED:
            break
        if reached > WANTED:
            shortest = dt
        else:
            longest = dt
    return best


def main() -> None:
    integrator = la.Variational()
    simulate(1, 0.01, 0.1, integrator)  # compiles
    run = simulate(5, 0.01, 10.0, integrator, closing="points")
    print(f"Fig. 11: 5 segments, 10 ms, 10 s: error integral {error_integral(run, 5)[-1]:.3g} rad^2 s, constraints within "
          f"{run.constraint_error.max():.1e} m, {run.elapsed:.3f} s (paper: 1.74 s)")  # fmt: skip
    run = simulate(5, 0.01, 1000.0, integrator)
    exact, (period, lowest, last) = ScissorLift(5).period(START), last_swings(run)
    swings = round((last - exact / 4) / exact)
    print(f"Fig. 12: after 1000 s the period is {period:.5f} s (exact {exact:.5f} s), the lowest angle {lowest:.4f} rad (exact {START}), "
          f"{swings} swings end {last - exact / 4 - swings * exact:+.3f} s late; energy within {np.ptp(run.energy):.3g} J, "
          f"drift {la.analysis.drift(run):+.2g} J, constraints within {run.constraint_error.max():.1e} m")  # fmt: skip
    print(f"\nFig. 13: error integral {ALLOWED} reached after {WANTED:g} s")
    print(f"{'segments':>8} {'coordinates':>11} {'step (ms)':>10} {'reached (s)':>12} {'wall time (s)':>14}")
    for segments in range(1, 13):
        dt, reached, wall = step_for_error(segments, integrator)
        print(f"{segments:8d} {2 * segments + 1:11d} {1e3 * dt:10.2f} {reached:12.2f} {wall:14.4f}")


if __name__ == "__main__":
    main()
