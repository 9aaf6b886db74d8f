"""Kobilarov 2014, Fig. 1: a conservative three-link system fails suddenly when the step is too long.  With the bounds drawn in.

Three rods of 1 m hang on a pin and swing.  Each run uses la.Trapezoid, Kobilarov's integrator, with pure Newton from the last velocity.
The paper finds the threshold between 0.125 s and 0.5 s; ours is bisected, and compared with what is certified and with (41) along the
motion.
"""

from __future__ import annotations

import numpy as np

import leastaction as la
from leastaction.solvability import StepEquation, certified_step, paper_step

DURATION = 20.0
START = (0.5, 0.3, -0.2)


def swing(dt: float, duration: float = DURATION) -> tuple[la.Trajectory, bool]:
    """(run, finished) from rest at START with pure Newton; what was made until a step failed."""
    model = la.examples.chain(3).compile()
    state, states = model.state(START), []
    velocity = None
    finished = True
    for _ in range(round(duration / dt)):
        states.append(state)
        equation = StepEquation(model, state, guess=velocity)
        velocity, solved = equation.newton(dt)
        if not solved or np.abs(dt * velocity).max() > np.pi:
            finished = False
            break
        state = model.state(state.q + dt * velocity, p=_arriving(equation, velocity, dt), t=state.t + dt)
    q, p = np.array([s.q for s in states]), np.array([s.p for s in states])
    times = np.array([s.t for s in states])
    run = la.Trajectory(model, la.Trapezoid(), dt, times, q, p, np.zeros(len(states), dtype=np.int64))
    return run, finished


def _arriving(equation: StepEquation, v, h: float):
    """Momentum at the end of the step: [M(q) + M(q + h v)] v / 2 + h/2 [dT/dq + f] at its end."""
    model, q1 = equation.model, equation.q + h * v
    M, M1 = equation.tensors.at(q1, 1)
    there = StepEquation(model, model.state(q1))
    return 0.5 * (equation.M + M) @ v + 0.25 * h * np.einsum("abk,a,b->k", M1, v, v) + 0.5 * h * there.force


def threshold(low: float = 0.02, high: float = 1.0, halvings: int = 6) -> tuple[float, float]:
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


def draw(path: str, limits: tuple[float, float], bounds: dict[str, np.ndarray]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    for dt in (0.02, 0.5 * limits[0], 1.2 * limits[1]):
        run, finished = swing(dt)
        left.plot(run.t, run.q[:, 0], "-o", markersize=2, linewidth=0.8, label=f"h = {dt:.3g} s{'' if finished else ', fails'}")
    left.set(xlabel="t, s", ylabel="first angle, rad")
    left.legend(fontsize=8)
    for name, values in bounds.items():
        right.semilogy(np.linspace(0, 5.0, len(values)), values, label=name)
    right.axhspan(*limits, color="C3", alpha=0.6, label="threshold of a 20 s run")
    right.set(xlabel="t, s", ylabel="step, s")
    right.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main() -> None:
    limits = threshold()
    print(f"a run of {DURATION:g} s finishes at h = {limits[0]:.3f} s and fails at {limits[1]:.3f} s")
    bounds = bounds_along()
    for name, values in bounds.items():
        print(f"{name:26s} between {values.min():.2g} s and {values.max():.2g} s along the motion")
    if len(sys.argv) > 1:
        draw(sys.argv[1], limits, bounds)


if __name__ == "__main__":
    main()
