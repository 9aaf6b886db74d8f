"""python -m benchmarks.rolling: what rolls for a million steps, and how its energy drifts."""

from __future__ import annotations

import argparse
import time

import numpy as np

import leastaction as la


def starts() -> dict[str, tuple[la.Model, np.ndarray, np.ndarray, float]]:
    """Name -> model, q, v, dt."""
    found: dict[str, tuple[la.Model, np.ndarray, np.ndarray, float]] = {}

    def add(name: str, mechanism: la.Mechanism, v, dt: float, q=None) -> None:
        model = mechanism.compile()
        q = model.assemble(q)
        found[name] = model, q, model.project_velocity(q, v), dt

    add("disc, wobbling", la.examples.rolling_disc(), [0.4, 4.0, 0.6, 1.2, 0.0, 0.0], 5e-3)
    add("Chaplygin's sleigh", la.examples.chaplygin_sleigh(), [1.0, 0.0, 2.0], 1e-2)
    bowl = la.Mechanism(name="bowl")
    bowl.add_body("ball", joint=la.Free(), placement=la.Pose(xyz=(0, 0, -0.9)), mass=1.0, inertia=(0.004, 0.004, 0.004))
    bowl.add_constraint(la.RollingBall("ball", 0.1, sphere=1.0, inside=True))
    add("ball in a bowl", bowl, [0.0, 0.0, 3.0, 1.0, 0.5, 0.0], 5e-3)
    add("differential drive with a caster", la.examples.differential_drive(), {"left": 5.0, "right": 6.0}, 5e-3)
    car = la.examples.car()
    car.add_force(la.Spring("knuckle left", 200.0))
    add("car, a spring in its steering", car, {"chassis": (5.0, 0.0, 0.0), "knuckle left": 0.5}, 5e-3)
    tilted = {"stone": (0.0, 0.0, 0.0, np.cos(0.005), np.sin(0.005), 0.0, 0.0)}
    add("rattleback", la.examples.rattleback(), [0.0, 0.0, -5.0, 0.0, 0.0, 0.0], 1e-3, tilted)
    return found


def drift(model: la.Model, q: np.ndarray, v: np.ndarray, dt: float, steps: int) -> tuple[float, float, float]:
    """Largest energy error, and the means of its last and first tenth apart, both over the first kinetic energy; us per step."""
    every = max(1, steps // 10000)
    before = time.process_time()
    run = la.simulate(model, q=q, v=v, dt=dt, steps=steps, record_every=every)
    elapsed = time.process_time() - before
    error = (run.energy - run.energy[0]) / run.kinetic[0]
    tenth = len(error) // 10
    return float(np.abs(error).max()), float(error[-tenth:].mean() - error[:tenth].mean()), 1e6 * elapsed / steps


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rolling", description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    steps = parser.parse_args().steps
    print(f"| {steps:,} steps | dt, s | largest energy error | last tenth less the first | us per step |\n|---|---|---|---|---|")
    for name, (model, q, v, dt) in starts().items():
        la.simulate(model, q=q, v=v, dt=dt, steps=2)
        largest, apart, cost = drift(model, q, v, dt, steps)
        print(f"| {name} | {dt:g} | {largest:.1e} | {apart:.1e} | {cost:.1f} |", flush=True)


if __name__ == "__main__":
    main()
