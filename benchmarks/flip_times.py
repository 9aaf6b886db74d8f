"""python -m benchmarks.flip_times: a picture of when double pendulums flip, one pixel for each, made by one call of `la.rollout`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import leastaction as la

DT, SECONDS = 1e-2, 10.0


def flip_times(pixels: int, specialised: bool = True) -> tuple[np.ndarray, la.Rollout]:
    """(pixels, pixels) times at which a joint of a pendulum that is let go has turned by half a turn, s; SECONDS where none does.

    Columns: angle of the upper rod against the vertical; rows: of the lower rod against the upper one, both within half a turn.
    """
    mechanism = la.examples.double_pendulum()
    for joint in ("upper", "lower"):
        mechanism.add_limit(joint, -np.pi, np.pi)
    model = mechanism.compile()
    model = model.specialise() if specialised else model
    angle = (np.arange(pixels) + 0.5) / pixels * 2.0 * np.pi - np.pi
    upper, lower = np.meshgrid(angle, angle)
    many = la.rollout(model, q={"upper": upper.ravel(), "lower": lower.ravel()}, dt=DT, steps=round(SECONDS / DT), record="last")
    return many.t[:, -1].reshape(pixels, pixels), many


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flip_times", description=__doc__)
    parser.add_argument("--pixels", type=int, default=1000, help="of a side (default 1000: a million pendulums)")
    parser.add_argument("--out", type=Path, default=Path("flip_times.png"))
    arguments = parser.parse_args()
    times, many = flip_times(arguments.pixels)
    print(f"{len(many)} pendulums, {many.made.sum():,} steps, {many.elapsed:.1f} s: {many.made.sum() / many.elapsed:,.0f} steps per second")
    print(f"{len(many.errors)} failed, {np.mean(times < SECONDS):.1%} flip within {SECONDS:g} s")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.imsave(arguments.out, np.log(times), cmap="magma_r", origin="lower")
    print(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
