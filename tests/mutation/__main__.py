"""Run mutants against the tests of their room and print who survived.

    PYTHONPATH=tests python -m mutation --count 60 --seed 1 --rooms lie,joints,io

Everything happens in a copy of the package with the JIT off (NUMBA_DISABLE_JIT=1), so that nothing is compiled and the source tree stays
as it is.  A room's tests must pass with the original first.  A mutant that makes them fail, or take three times as long, is killed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from .classified import CLASSIFIED
from .mutants import Mutant, chosen

ROOT = Path(__file__).resolve().parents[2]

#: tests of a room that need no compiled code
ROOMS = {
    "lie": ["tests/unit/test_retractions.py", "tests/unit/test_trig.py", "tests/conformance/test_retractions.py"],
    "joints": ["tests/conformance/test_joints.py", "tests/unit/test_joint_list.py"],
    "io/urdf": ["tests/io/test_urdf.py", "tests/io/test_urdf_corners.py"],
    "io/sexp": ["tests/io/test_sexp.py", "tests/unit/test_frames.py"],
    "solvability": ["tests/physics/test_solvability.py", "tests/physics/test_certified_steps.py"],
    "kernels": ["tests/physics/test_discrete_action.py", "tests/physics/test_identities.py"],
}


class Copy:
    """The repository without its generated files; one file of it is a mutant at a time."""

    def __init__(self, folder: Path):
        self.root = folder
        for name in ("src", "tests", "papers", "benchmarks", "docs", "pyproject.toml", "README.md"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "machine-code"))
            elif source.exists():
                shutil.copy(source, folder / name)
        self.package, self.log = folder / "src" / "leastaction", folder / "log"

    def tests_fail(self, tests: list[str], limit: float) -> bool:
        """True if a test fails or all of them together take longer than the limit (s).

        They run in a forked process: what the package depends on is imported already, which takes most of the time.
        """
        child = os.fork()
        if child == 0:
            self._test(tests)
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return status != 0
            time.sleep(0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return True

    def _test(self, tests: list[str]) -> None:
        """In the child: never returns."""
        import pytest

        code = 1
        try:
            os.chdir(self.root)
            sys.path[:0] = [str(self.root / name) for name in ("src", "tests", ".")]
            with open(self.log, "w") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
                code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
                sys.stdout.flush()
        finally:
            os._exit(code)

    def survives(self, mutant: Mutant, tests: list[str], limit: float) -> bool:
        path = self.package / mutant.path
        original = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(original), encoding="utf-8")
        try:
            return not self.tests_fail(tests, limit)
        finally:
            path.write_text(original, encoding="utf-8")


def run(rooms: list[str], count: int, seed: int, seconds: float) -> int:
    """Print a table; returns the number of survivors that nobody has explained."""
    rows, unexplained = [], []
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for room in rooms:
            began = time.perf_counter()
            if copy.tests_fail(ROOMS[room], seconds):
                raise SystemExit(f"the tests of {room} fail without any mutant:\n{copy.log.read_text()[-3000:]}")
            limit = 3.0 * (time.perf_counter() - began) + 20.0
            tried, survivors = 0, []
            deadline = time.monotonic() + seconds
            for mutant in chosen(room, copy.package, count, seed):
                if time.monotonic() > deadline:
                    break
                tried += 1
                if copy.survives(mutant, ROOMS[room], limit):
                    survivors.append(mutant)
                    print(f"  {mutant}", flush=True)
            kinds = [CLASSIFIED.get((m.path, m.code.strip(), m.before), "") for m in survivors]
            unexplained += [m for m, kind in zip(survivors, kinds, strict=True) if not kind]
            rows.append((room, tried, tried - len(survivors), len(survivors), sum(map(bool, kinds))))
            print("{}: {} mutants, {} killed, {} survived, {} of them classified".format(*rows[-1]), flush=True)
    print(f"\n{'room':12} {'mutants':>8} {'killed':>8} {'survived':>9} {'classified':>11}")
    for row in rows:
        print("{:12} {:8d} {:8d} {:9d} {:11d}".format(*row))
    return len(unexplained)


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutation", description="random one-token mutants against the tests of their room")
    parser.add_argument("--count", type=int, default=60, help="mutants per room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", default=",".join(ROOMS), help="some of " + ", ".join(ROOMS))
    parser.add_argument("--seconds", type=float, default=3600.0, help="per room; what is left of its mutants then is not tried")
    a = parser.parse_args()
    rooms = a.rooms.split(",")
    unknown = [room for room in rooms if room not in ROOMS]
    if unknown:
        parser.error(f"no tests are known for {', '.join(unknown)}; rooms are {', '.join(ROOMS)}")
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("numpy", "numba", "sympy", "scipy.optimize", "pytest"):
        importlib.import_module(name)
    return min(run(rooms, a.count, a.seed, a.seconds), 1)


if __name__ == "__main__":
    sys.exit(main())
