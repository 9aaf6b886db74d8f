"""Bruedigam and Manchester 2020, Sec. 5.1: energy of a double pendulum over an hour, and a closed loop that stays closed.

The paper shows both as curves without numbers.  Here: energy in the first and in the last tenth of the run, largest violation of the
joints, the gap of the loop, and the difference to the same motion in joint coordinates.

Run it with   python papers/bruedigam2020_long_runs.py
"""

from __future__ import annotations

import numpy as np

import leastaction as la

FOUR_BAR = (0.7853981633974483, -2.0680828567810465, -1.3045921837029306)


def energy_of_a_double_pendulum(duration: float = 3600.0, dt: float = 1e-2) -> None:
    model = la.examples.chain(2).compile()
    for integrator in (la.Maximal(), la.Maximal(retraction="quaternion"), la.Heun()):
        run = la.simulate(model, q=[np.pi / 2, 0.0], dt=dt, duration=duration, integrator=integrator)
        tenth = len(run) // 10
        first, last = run.energy[:tenth] - run.energy[0], run.energy[-tenth:] - run.energy[0]
        print(
            f"double pendulum, {duration:g} s, {integrator!r}:\n  energy first tenth {first.mean():+.4g} (swing {np.ptp(first):.3g}), "
            f"last tenth {last.mean():+.4g} (swing {np.ptp(last):.3g}) J; constraints {run.constraint_error.max():.2g}"
        )


def gap_of_a_loop(duration: float = 600.0, dt: float = 1e-2) -> None:
    model = la.examples.four_bar().compile()
    run = la.simulate(model, q=model.assemble(FOUR_BAR), dt=dt, duration=duration, integrator=la.Maximal())
    gaps = [np.linalg.norm(la.dynamics.pose(model, q, "tip").p - la.dynamics.pose(model, q, "anchor").p) for q in run.q[::100]]
    tenth = len(run) // 10
    drift = run.energy[-tenth:].mean() - run.energy[:tenth].mean()
    print(
        f"three-link loop, {duration:g} s: gap {max(gaps):.2g} m, constraints {run.constraint_error.max():.2g}, "
        f"energy drift {drift:+.2g} J of a swing of {run.kinetic.max():.3g} J"
    )


def both_coordinates(links: int = 10, duration: float = 10.0, dt: float = 1e-3) -> None:
    found = la.crosscheck(la.examples.chain(links), dt=dt, duration=duration, q={"link1": np.pi / 4})
    print(f"{links}-link chain, {duration:g} s at {1e3 * dt:g} ms in both coordinates: {found}")


if __name__ == "__main__":
    energy_of_a_double_pendulum()
    gap_of_a_loop()
    both_coordinates()
