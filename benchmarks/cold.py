"""python -m benchmarks.cold [FEATURE ...]: how long one waits for the first result of a feature on a new machine, from source.

Every time in a new process with an empty cache; with the second process that compiles ahead (compiling/ahead.py) and without, in turn,
three times each.  Minima: seconds that one waits, seconds of the processor, and of the second process.  Other programs that are running
spoil the first of these figures; where they keep the cores busy the second process is not started, and took 0 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

REPEATS = 3
WAYS = {"one process": "0", "two": "1"}
TARGET = 15.0  # s that one waits for a first simulation

# seconds of the process, a checksum of the numbers, seconds that one waits, seconds of processes that it started
FEATURE = """
import time
began = time.perf_counter()
import hashlib, os, sys
import numpy as np
import leastaction as la
what = sys.argv[1]
if what == "linearize":
    model = la.examples.chain(2).compile()
    numbers = la.linearize(model, la.Variational(), model.state(v=[0.1, 0.2]), 1e-3).A
elif what == "Variational":
    numbers = la.simulate(la.examples.robot_arm().compile(), dt=1e-3, steps=100, q={"lift": 0.6, "elbow": 0.6}).q
else:
    model = la.examples.four_bar().compile()
    state = model.state(q=model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}))
    integrator = la.Maximal() if what == "Maximal" else la.Variational()
    numbers = la.simulate(model, state, dt=1e-3, steps=100, integrator=integrator).q
others = os.times()
print(
    time.process_time(), hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest(),
    time.perf_counter() - began, others.children_user + others.children_system,
)
"""
FEATURES = ("Variational", "loop", "linearize", "Maximal")


def first_use(what: str, ahead: str) -> tuple[list[float], str]:
    """(seconds that one waits, of the processor, of the second process), checksum of the numbers."""
    with tempfile.TemporaryDirectory() as empty:
        settings = {"LEASTACTION_CACHE_DIR": empty, "LEASTACTION_BITCODE": "0", "LEASTACTION_AHEAD": ahead}
        command = [sys.executable, "-c", FEATURE, what]
        done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=True)
    own, checksum, waited, other = done.stdout.split()
    return [float(waited), float(own), float(other)], checksum


def rows(what: str) -> list[list[str]]:
    found: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    checksums = set()
    for _ in range(REPEATS):
        for way, ahead in WAYS.items():
            seconds, checksum = first_use(what, ahead)
            found[way].append(seconds)
            checksums.add(checksum)
    if len(checksums) > 1:
        raise AssertionError(f"{what}: other numbers with a second process than without")
    made = [[what, way, *(f"{min(column):.1f}" for column in zip(*found[way], strict=True))] for way in WAYS]
    print(*made, sep="\n", file=sys.stderr, flush=True)
    return made


def main() -> None:
    from .report import table

    body = [row for what in sys.argv[1:] or FEATURES for row in rows(what)]
    print(table(["first use of", "compiled by", "waiting, s", "processor, s", "second process, s"], body))
    first = [float(row[2]) for row in body if row[:2] == [FEATURES[0], "two"]]
    if first:
        print(f"\nfirst simulation: {first[0]:.1f} s, asked are {TARGET:g} s: {'holds' if first[0] <= TARGET else 'MISSED'}")


if __name__ == "__main__":
    main()
