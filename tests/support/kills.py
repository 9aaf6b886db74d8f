"""Kill a recorded run again and again, and go on with it:  PYTHONPATH=tests python -m support.kills NUMBER

Each time what was flushed has to be readable; in the end every data set has to be that of the run that was never interrupted.
"""

import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

import leastaction as la
from leastaction.records import stream


def law(t, state):
    return [0.2 * np.sin(3 * t), -0.1 * state.v[1]]


def sums(path):
    """A checksum of every data set of a file."""
    import h5py

    with h5py.File(path) as file:
        return {name: hashlib.sha256(file[name][...].tobytes()).hexdigest() for name in file if name != "header"}


def wait_for_flush(index: Path, finished: Path, seconds: float = 60.0) -> None:
    """Until the child has made something safe, or is finished; on a busy machine that takes a while."""
    stamp = index.stat().st_mtime_ns if index.exists() else 0
    latest = time.monotonic() + seconds
    while time.monotonic() < latest and not finished.exists():
        time.sleep(0.002)
        with suppress(FileNotFoundError):
            if index.stat().st_mtime_ns != stamp:
                return


def main(kills: int, steps: int) -> dict:
    folder = Path(tempfile.mkdtemp())
    model = la.examples.double_pendulum().compile()

    def run(name, resume=True):
        return la.simulate(
            model, dt=1e-3, steps=steps, q={"upper": 2.0}, control=law, record_every=3, record_to=folder / name, resume=resume
        )  # fmt: skip

    run("whole.h5")
    stream._SECONDS, usual = 0.02, stream._SECONDS  # so that a little is flushed between two kills
    path, rng, done, killed, safe = folder / "killed.h5", random.Random(1), 0, 0, []
    while killed < kills and not path.exists():
        child = os.fork()
        if not child:
            try:
                run(path.name)
            finally:
                os._exit(0)
        if rng.random() < 0.8:
            wait_for_flush(stream.unfinished(path) / "index.npz", path)
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        if not path.exists() and not (stream.unfinished(path) / "index.npz").exists():
            continue  # before the first flush
        there = la.open(path)
        assert there.steps >= done, "steps that were flushed are gone"
        assert np.isfinite(there.energy).all() and len(there) == there.steps // 3 + 1 + (there.steps % 3 > 0)
        done = there.steps
        safe.append(done)
    running, stream._SECONDS = not path.exists(), usual
    run(path.name)
    return {
        "kills": killed, "times it had got further": len(set(safe)), "last": done, "of": steps, "still running": running,
        "equal": sums(path) == sums(folder / "whole.h5"), "left over": sorted(p.name for p in folder.iterdir()),
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20000)))
