"""Chains of up to 100,000 links: time of a step, memory, and how long it takes to describe and start them.

`python -m benchmarks long_chains` writes docs/long-chains.md.  Every chain is simulated in a process of its own, whose memory is read when
it is done.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

import leastaction as la

from .report import machine, number, table

LINKS = (100, 1000, 10_000, 100_000)
DT = 1e-4  # s: stable below 2 / omega_max, and a long chain under its own weight swings fast at the top
BEND = 0.785  # rad, of the first joint
MOVED = 2_000_000


def simulate(links: int, moved: int = MOVED) -> dict[str, float]:
    """Seconds and megabytes of one chain, in this process; moved: links times steps that are timed."""
    assert la.simulate(la.examples.chain(2).compile(), dt=DT, steps=2).energy[0] < 0.0  # imports, loads or compiles
    before = _megabytes()
    began = time.process_time()
    model = la.examples.chain(links).compile()
    described = time.process_time() - began
    sim = la.Simulator(model, dt=DT, q={"link1": BEND})
    chunk = max(2, moved // links // 5)
    sim.run(3, progress=False)
    best = np.inf
    for _ in range(5):
        began = time.process_time()
        run = sim.run(chunk, progress=False, record_every=chunk)
        best = min(best, (time.process_time() - began) / chunk)
    return {"described": described, "step": best, "evaluations": float(run.iterations.mean()), "memory": _megabytes() - before}


def _megabytes() -> float:
    """The most this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def measured(links: int) -> dict[str, float]:
    words = [sys.executable, "-m", "benchmarks.long_chains", str(links)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    return json.loads(done.stdout)


def page(quick: bool, passes: int) -> str:
    """docs/long-chains.md"""
    return text({links: measured(links) for links in (LINKS[:1] if quick else LINKS)})


def text(found: dict[int, dict[str, float]]) -> str:
    rows = [
        [f"{links:,}", number(1e3 * f["step"]), number(1e9 * f["step"] / links), f"{f['evaluations']:.2f}", number(f["memory"]),
         number(1e3 * f["memory"] / links), number(f["described"])]
        for links, f in found.items()
    ]  # fmt: skip
    header = ["links", "step, ms", "ns per link", "evaluations per step", "memory, MB", "kB per link", "to describe and compile, s"]
    return f"""# Long chains

Written by `python -m benchmarks long_chains`: planar chains of links of 1 m and 1 kg, the first joint bent by {BEND} rad, let go;
`la.Variational()`, steps of {1e3 * DT:g} ms, tolerance 1e-10.  Processor time, minimum of five chunks of steps; memory is the most that the
process held beyond what it held before the chain was described.

- Machine: {machine()}

{table(header, rows)}

Nothing is formed that grows with the square of the number of links, and nothing calls itself link by link: depth is no problem.  What a
larger chain costs beyond its links is memory that no longer fits into the caches of the processor.
"""


if __name__ == "__main__":
    json.dump(simulate(int(sys.argv[1])), sys.stdout)
