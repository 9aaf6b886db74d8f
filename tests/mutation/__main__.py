"""Run mutants against the tests of their room and print who survived.

    PYTHONPATH=tests python -m mutation --count 60 --seed 1 --rooms lie,joints,io

Everything happens in a copy of the package with the JIT off (NUMBA_DISABLE_JIT=1), so that nothing is compiled and the source tree stays
as it is.  The tests of a file are those of the longest beginning of its path in TESTS, on few random trees; they must pass with the
original first.  A mutant that makes them fail, or take three times as much of the processor, is killed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

from .classified import CLASSIFIED
from .mutants import Mutant, chosen

ROOT = Path(__file__).resolve().parents[2]

#: parts of the package that mutants are drawn from
ROOMS = ("lie", "joints", "io", "solvability", "kernels")

_TREES = ["tests/physics/test_identities.py", "tests/physics/test_discrete_action.py"]
_JOINTS = ["tests/conformance/test_joints.py", "tests/unit/test_joint_list.py"]
_SYMBOLIC = [*_JOINTS, "tests/plain/symbolic_descriptions.py", "tests/plain/ranges.py"]
_CERTIFIED = ["tests/physics/test_solvability.py", "tests/physics/test_certified_steps.py"]
_MJCF = ["tests/io/test_mjcf.py", "tests/io/test_mjcf_writer.py", "tests/io/test_actuators.py"]
_URDF = ["tests/io/test_urdf.py", "tests/io/test_urdf_corners.py"]

#: beginning of a path -> tests that need no compiled code, those that kill most first
TESTS = {
    "lie": ["tests/unit/test_trig.py", "tests/conformance/test_retractions.py", *_TREES, "tests/unit/test_retractions.py"],
    "joints": [*_JOINTS, *_TREES],
    "joints/charts": _SYMBOLIC,
    "joints/generated": [*_SYMBOLIC, *_TREES],
    "joints/symbolic": _SYMBOLIC,
    "io": [*_URDF, "tests/io/test_sdf.py", "tests/io/test_mjcf.py"],
    "io/expressions": ["tests/io/test_sexp.py"],
    "io/mjcf": _MJCF,
    "io/sdf": ["tests/io/test_sdf.py"],
    "io/sexp": ["tests/io/test_sexp.py"],
    "io/urdf": [*_URDF, "tests/io/test_actuators.py"],
    "solvability": _CERTIFIED,
    "kernels": [*_TREES, "tests/plain/composed_bases.py", "tests/plain/accounts.py"],
    "kernels/constraints": ["tests/conformance/test_constraints.py"],
    "kernels/lagrangian": ["tests/conformance/test_midpoint.py", "tests/plain/midpoint_balls.py"],
    "kernels/maximal": ["tests/unit/test_maximal_newton.py", "tests/unit/test_elimination.py"],
    "kernels/solvability": _CERTIFIED,
    "kernels/tree": [*_TREES, "tests/plain/linearized_steps.py"],
}
ENOUGH_TREES = "6"  # random trees in place of 200


def suite_for(path: str) -> list[str]:
    """Of a file of the package."""
    return TESTS[max((start for start in TESTS if path.startswith(start)), key=len)]


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
        """True if a test fails or all of them together take more than the limit (s of the processor)."""
        return self.tried(tests, limit)[0]

    def tried(self, tests: list[str], limit: float) -> tuple[bool, float]:
        """(does a test fail or take too long, s of the processor).

        They run in a forked process: what the package depends on is imported already, which takes most of the time.  Time in which the
        machine did something else does not count.
        """
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (round(limit) + 1, round(limit) + 5))
            self._test(tests)
        _, status, used = os.wait4(child, 0)
        return status != 0, used.ru_utime + used.ru_stime

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
        limits: dict[tuple[str, ...], float] = {}
        for room in rooms:
            tried, survivors = 0, []
            deadline = time.monotonic() + seconds
            for mutant in chosen(room, copy.package, count, seed):
                if time.monotonic() > deadline:
                    break
                tests = suite_for(mutant.path)
                if tuple(tests) not in limits:
                    fails, used = copy.tried(tests, seconds)
                    if fails:
                        raise SystemExit(f"the tests of {mutant.path} fail without any mutant:\n{copy.log.read_text()[-3000:]}")
                    limits[tuple(tests)] = 3.0 * used + 20.0
                tried += 1
                if copy.survives(mutant, tests, limits[tuple(tests)]):
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
    parser.add_argument("--rooms", default=",".join(ROOMS), help="some of " + ", ".join(ROOMS) + ", or beginnings of paths below them")
    parser.add_argument("--seconds", type=float, default=3600.0, help="per room; what is left of its mutants then is not tried")
    a = parser.parse_args()
    rooms = a.rooms.split(",")
    unknown = [room for room in rooms if room.split("/")[0] not in ROOMS]
    if unknown:
        parser.error(f"no tests are known for {', '.join(unknown)}; rooms are {', '.join(ROOMS)}")
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1", "LEASTACTION_TREES": ENOUGH_TREES}
    for name in ("numpy", "numba", "sympy", "scipy.optimize", "pytest"):
        importlib.import_module(name)
    return min(run(rooms, a.count, a.seed, a.seconds), 1)


if __name__ == "__main__":
    sys.exit(main())
