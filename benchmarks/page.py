"""python -m benchmarks.page: frames per second of pages and of the live view in a headless Chromium, by software rendering; sizes of pages.

Run it on a quiet machine: drawing without a graphics card takes all cores there are.  Where others use them too, the processor time of a
frame tells what a machine of its own would do: at least one frame in that time, more if its cores share the work.
The robot needs example-robot-data (`make robots` installs it); without it, it is left out and named.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import leastaction as la
from leastaction.film.browser import Browser, missing
from leastaction.viewer.server import RATE, Server
from leastaction.viewer.session import Session

from .robots import folder, read

_SECONDS = 6.0  # of playback that are counted
_TALOS = "talos_data/robots/talos_reduced.urdf"
_MOST_MB, _MOST_MM = 10.0, 0.1  # of the page of the robot
_NODES, _BODIES = 40, 5  # at which, and of which, poses are read back from the page
_KEPT = 0.95  # part of its rate that a live loop keeps


@dataclass
class Case:
    name: str
    run: la.Trajectory
    wanted: float  # frames per second


def chain(links: int, duration: float, wanted: float) -> Case:
    model = la.examples.chain(links).compile()
    return Case(f"{links}-link chain", la.simulate(model, dt=1e-3, duration=duration, q={"link1": 0.785}), wanted)


def talos(root: Path) -> Case:
    """Fixed to the world, moved by servos with dampers and all: 60 s of gestures at 1 kHz."""
    mechanism = read(root / _TALOS, False, ("friction", "mimic", "limits")).mechanism
    assert mechanism is not None
    for body in mechanism.bodies.values():
        if body.joint.nv == 1:
            mechanism.add_servo(la.Servo(body.joint_name, kp=2000.0, kd=100.0))
    model = mechanism.compile()
    t, joints = np.arange(60_000)[:, None] * 1e-3, np.arange(model.nv)
    run = la.simulate(model, dt=1e-3, duration=60.0, targets=0.4 * np.sin((1.0 + 0.2 * (joints % 7)) * t + joints))
    assert run.converged, run.message
    return Case("talos", run, 8.0)


def frames_per_second(browser: Browser, count: str) -> tuple[float, float]:
    """Frames per second, and processor time of the browser per frame, s.  count: expression of the page that counts them."""
    start, used = browser.run(f"[{count}, performance.now()]"), browser.processor_time()
    time.sleep(_SECONDS)
    end, used_then = browser.run(f"[{count}, performance.now()]"), browser.processor_time()
    frames = end[0] - start[0]
    return 1e3 * frames / (end[1] - start[1]), (used_then - used) / max(frames, 1)


def play(path: Path) -> tuple[float, float]:
    with Browser(1280, 900) as browser:
        browser.open(path)
        browser.run("leastaction.player.play(); 0")
        time.sleep(2.0)
        return frames_per_second(browser, "leastaction.frames")


def largest_error(path: Path, run: la.Trajectory) -> float:
    """m: how far the origins of bodies on the page are from forward kinematics, at some nodes."""
    random = np.random.default_rng(1)
    worst = 0.0
    with Browser(800, 600) as browser:
        browser.open(path)
        browser.run("leastaction.player.pause(); 0")
        for k in random.choice(len(run), _NODES, replace=False):
            browser.run(f"leastaction.player.seek({float(run.t[k])!r}); 0")
            for name in random.choice(run.model.body_names, _BODIES, replace=False):
                shown = browser.run(f"leastaction.pose({str(name)!r})")["position"]
                worst = max(worst, float(np.abs(la.dynamics.pose(run.model, run.q[k], str(name)).p - shown).max()))
    return worst


def live() -> list[tuple[str, float, float]]:
    """(what, frames per second, wanted) of the live view, without and with a browser that draws."""
    model = la.examples.chain(30).compile()
    found = []
    with Server(Session(model, model.state({"link1": 0.785}), 2e-3)) as server:
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        time.sleep(1.0)
        found.append(("live loop of a 30-link chain", _loop_rate(server), _KEPT * RATE))
        with Browser(1280, 900) as browser:
            browser.visit(server.address, online=True)
            browser.wait_for("leastaction.live.frames > 30")
            found.append(("the same with a browser that draws", _loop_rate(server), _KEPT * RATE))
            drawn, used = frames_per_second(browser, "leastaction.frames")
            print(f"    drawn there: {drawn:.1f} frames/s, {1e3 * used:.0f} ms of processor time each", flush=True)
            found.append(("drawn there, or what its processor time allows", max(drawn, 1.0 / used), 15.0))
        server.stop()
        thread.join(10.0)
    return found


def _loop_rate(server: Server) -> float:
    made, start = server.frames, time.perf_counter()
    time.sleep(_SECONDS)
    return (server.frames - made) / (time.perf_counter() - start)


def main() -> int:
    if reason := missing():
        print(reason, file=sys.stderr)
        return 1
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    cases = [chain(30, 10.0, 15.0), chain(1000, 4.0, 8.0)]
    if (root := folder()) is not None:
        cases.append(talos(root))
    else:
        print("talos: left out, example-robot-data is not installed; make robots installs it")
    failed = False
    with tempfile.TemporaryDirectory() as name:
        for case in cases:
            path = Path(name) / "run.html"
            start = time.perf_counter()
            page = case.run.to_html(path)
            taken = time.perf_counter() - start
            rate, used = play(path)
            print(f"{case.name}: {rate:.1f} frames/s (wanted {case.wanted:g}), {1e3 * used:.0f} ms of processor time each", flush=True)
            print(f"    load {os.getloadavg()[0]:.1f}, written in {taken:.1f} s, {page}", flush=True)
            failed |= max(rate, 1.0 / used) < case.wanted
            if case.name == "talos":
                error = 1e3 * max(largest_error(path, case.run), page.pose_error)
                print(f"    {page.megabytes:.2f} MB (wanted {_MOST_MB:g}), poses within {error:.3f} mm (wanted {_MOST_MM:g})", flush=True)
                failed |= page.megabytes > _MOST_MB or error > _MOST_MM
    for what, rate, wanted in live():
        print(f"{what}: {rate:.1f}/s (wanted {wanted:g})", flush=True)
        failed |= rate < wanted
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
