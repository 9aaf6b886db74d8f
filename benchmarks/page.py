"""python -m benchmarks.page: how many frames per second a page draws in a headless Chromium, by software rendering, and how large it is.

Run it on a quiet machine: drawing without a graphics card takes all cores there are.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import leastaction as la
from leastaction.film.browser import Browser, missing

_SECONDS = 6.0  # of playback that are counted
_WANTED = {"30-link chain": 15.0, "1000-link chain": 8.0}  # frames per second


def runs() -> dict[str, la.Trajectory]:
    lengths = {"30-link chain": (30, 10.0), "1000-link chain": (1000, 4.0)}
    return {
        name: la.simulate(la.examples.chain(links).compile(), dt=1e-3, duration=duration, q={"link1": 0.785})
        for name, (links, duration) in lengths.items()
    }


def frames_per_second(path: Path) -> float:
    with Browser(1280, 900) as browser:
        browser.open(path)
        browser.run("leastaction.player.play(); 0")
        time.sleep(2.0)
        first, start = browser.run("[leastaction.frames, performance.now()]")
        time.sleep(_SECONDS)
        last, end = browser.run("[leastaction.frames, performance.now()]")
        return 1e3 * (last - first) / (end - start)


def main() -> int:
    if reason := missing():
        print(reason, file=sys.stderr)
        return 1
    slow = False
    with tempfile.TemporaryDirectory() as folder:
        for name, run in runs().items():
            path = Path(folder) / "run.html"
            start = time.perf_counter()
            page = run.to_html(path)
            taken = time.perf_counter() - start
            rate = frames_per_second(path)
            slow |= rate < _WANTED[name]
            print(f"{name}: {rate:.1f} frames/s (wanted {_WANTED[name]:g}), written in {taken:.1f} s, {page}")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
