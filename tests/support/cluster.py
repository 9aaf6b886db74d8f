"""Runs on a Dask cluster of two workers, one of which is killed in the middle:  PYTHONPATH=tests python -m support.cluster [NUMBER]

All results have to be there, none twice, each to the last bit what a single process computes.
"""

import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import leastaction as la


def task(k):
    """Where a double pendulum is after a tenth of a second."""
    import leastaction as la

    model = la.examples.double_pendulum(mass1=1.0 + 1e-4 * k).compile()
    run = la.simulate(model, dt=1e-3, steps=100, q={"upper": 1.0}, progress=False)
    return {"point": k, "q": run.q[-1], "v": run.v[-1]}


def finished(store: Path) -> int:
    """Points that came back so far."""
    try:
        return sum(r is not None for r in la.Sweep.read(store).results)
    except (OSError, la.LeastActionError):
        return 0


def main(number: int) -> dict:
    from distributed import Client, LocalCluster

    task(0)  # compiles, so that workers find the code
    store = Path(tempfile.mkdtemp()) / "sweep.h5"
    began = time.perf_counter()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        ThreadPoolExecutor(1) as aside,
    ):
        running = aside.submit(la.sweep, task, {"k": range(number)}, executor=client, store=store)
        while finished(store) < number // 3 and not running.done():
            time.sleep(0.2)
        before = finished(store)
        next(iter(cluster.workers.values())).process.process._process.kill()
        found = running.result()
    elapsed = time.perf_counter() - began
    again = la.Sweep.read(store)
    serial = [task(k) for k in range(number)]
    both = (found.results, again.results)
    equal = [all(np.array_equal(there[k][name], alone[name]) for there in both for name in alone) for k, alone in enumerate(serial)]
    return {
        "runs": number, "there when a worker was killed": before, "results": len(found.results), "errors": len(found.errors),
        "equal to serial, in memory and in the store": sum(equal), "seconds": round(elapsed),
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)))
