"""Run for a very long time:  PYTHONPATH=tests python -m support.soak [--steps 100000000] [--loop 10000000] [--out FOLDER]

A chain of ten links and a four-bar linkage, each in legs that continue bit for bit from the last state of the leg before.  After every
leg: error of the energy, largest violation of the loop, resident memory, processor time per step.  Writes soak.json and soak.png, and fails
unless all four are flat: the last tenth of the legs beside the second tenth (the first one warms caches up).
"""

import argparse
import gc
import json
import sys
import time
from pathlib import Path

import numpy as np

import leastaction as la

LEGS = 200


def resident() -> float:
    """Megabytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def chain():
    model = la.examples.chain(10).compile()
    return model, model.state(q={"link1": 1.5}), 1e-3


def loop():
    model = la.examples.four_bar().compile()
    return model, model.state(q=model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})), 1e-3


def soak(what, steps: int, out: Path, legs: int = LEGS) -> dict:
    model, state, dt = what()
    each = max(1, steps // legs)
    rows = []
    scale = None
    for leg in range(legs):
        began = time.process_time()
        run = la.simulate(model, state, dt=dt, steps=each, record_every=max(1, each // 100), progress=False)
        seconds = time.process_time() - began
        if not run.converged:
            raise SystemExit(f"{what.__name__}: leg {leg}: {run.message}")
        if scale is None:
            first, scale = run.energy[0], max(float(np.ptp(run.potential)), float(run.kinetic.max()))
        error = (run.energy - first) / scale
        rows.append({
            "steps": (leg + 1) * each, "mean": float(error.mean()), "largest": float(abs(error).max()),
            "closure": float(run.constraint_error.max()), "megabytes": resident(), "microseconds": 1e6 * seconds / each,
        })  # fmt: skip
        state = run.state()
        del run
        gc.collect()  # so that memory is what is in use
        if leg % 20 == 19:
            print(what.__name__, json.dumps(rows[-1]), flush=True)
            (out / f"soak-{what.__name__}.json").write_text(json.dumps(rows))
    return {"legs": rows, "dt": dt, "verdict": verdict(rows)}


def verdict(rows: list[dict]) -> dict[str, bool]:
    """Are the last legs as the early ones were?"""
    tenth = max(1, len(rows) // 10)
    early, late = rows[tenth : 2 * tenth], rows[-tenth:]

    def of(name, legs, how):
        return float(how([row[name] for row in legs]))

    return {
        "energy does not drift": abs(of("mean", late, np.mean) - of("mean", early, np.mean)) < 2.0 * of("largest", early, np.max),
        "energy error does not grow": of("largest", late, np.max) < 3.0 * of("largest", early, np.max),
        "loops stay closed": of("closure", rows, np.max) < 1e-9,
        "memory is flat": of("megabytes", late, np.max) < 1.02 * of("megabytes", early, np.max) + 2.0,
        "time per step is flat": of("microseconds", late, np.median) < 1.5 * of("microseconds", early, np.median),
    }


def draw(results: dict, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = {"largest": "energy error, relative", "closure": "loop error, m", "megabytes": "memory, MB", "microseconds": "CPU per step, µs"}
    figure, axes = plt.subplots(len(names), len(results), figsize=(9, 8), sharex="col", squeeze=False)
    for column, (what, result) in enumerate(results.items()):
        steps = [row["steps"] for row in result["legs"]]
        axes[0, column].set_title({"chain": "chain of 10 links", "loop": "four-bar linkage"}[what])
        for axis, (name, label) in zip(axes[:, column], names.items(), strict=True):
            first = int(name == "microseconds")  # the first leg also compiles
            values = [row[name] for row in result["legs"]][first:]
            axis.plot(steps[first:], values, lw=1)
            axis.set_ylim(0, 1.2 * max(values) or 1.0)
            if not any(values):
                axis.text(0.5, 0.5, "no loop", transform=axis.transAxes, ha="center", va="center", color="gray")
            if column == 0:
                axis.set_ylabel(label)
        axes[-1, column].set_xlabel("steps")
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main(arguments: list[str]) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=10**8)
    options.add_argument("--loop", type=int, default=10**7)
    options.add_argument("--out", type=Path, default=Path("docs/img"))
    given = options.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    results = {what.__name__: soak(what, steps, given.out) for what, steps in ((loop, given.loop), (chain, given.steps))}
    results = {name: results[name] for name in ("chain", "loop")}
    (given.out / "soak.json").write_text(json.dumps(results))
    draw(results, given.out / "soak.png")
    failed = [f"{name}: not true that {law}" for name, result in results.items() for law, holds in result["verdict"].items() if not holds]
    print("\n".join(failed) or "flat in every respect")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
