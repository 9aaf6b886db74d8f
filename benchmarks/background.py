"""python -m benchmarks.background [SECONDS ...]: what `specialise="background"` costs short runs and saves long ones.

Runs that take so many seconds of the processor without it (default 1 10 60 600) are made with and without, in turn.  What counts is
the processor time of the process that simulates: on a machine with a core to spare that is the time one waits; the other process works on
the other core.
Code of earlier runs is used if it is on disk (`leastaction cache --clear`).
"""

from __future__ import annotations

import sys
import time

import leastaction as la

from .report import table

DT = 1e-3
MECHANISMS = {"planar chain, 30 links": lambda: la.examples.chain(30), "3-D chain, 30 links": lambda: la.examples.chain(30, spatial=True)}
MOST = 1.05  # of the time without it


def seconds(model: la.Model, steps: int, specialise: str | None) -> tuple[float, int | None]:
    """(processor time, step at which the run went over)"""
    began = time.process_time()
    run = la.simulate(model, dt=DT, steps=steps, q={"link1": 0.785}, record_every=1000, progress=False, specialise=specialise)
    return time.process_time() - began, run.specialised_from


def rows(name: str, lengths: list[float]) -> list[list[str]]:
    model = MECHANISMS[name]().compile()
    seconds(model, 10, None)  # compiles
    rate = 20_000 / min(seconds(model, 20_000, None)[0] for _ in range(3))
    found = []
    for length in lengths:
        steps = int(length * rate)
        plain, (with_it, at) = seconds(model, steps, None)[0], seconds(model, steps, "background")
        ratio = with_it / plain
        went = "-" if at is None else f"{100 * at / steps:.0f} % of the steps"
        found.append([name, f"{plain:.2f}", f"{with_it:.2f}", f"{ratio:.2f}", went, "holds" if ratio <= MOST else "MISSED"])
        print(*found[-1], file=sys.stderr, flush=True)
    return found


def main() -> None:
    lengths = [float(word) for word in sys.argv[1:]] or [1.0, 10.0, 60.0, 600.0]
    body = [row for name in MECHANISMS for row in rows(name, lengths)]
    print(table(["mechanism", "without, s", "with, s", "ratio", "went over after", f"<= {MOST:g}"], body))


if __name__ == "__main__":
    main()
