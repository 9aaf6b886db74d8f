"""Run mutants against the tests of their room and print who survived.

    PYTHONPATH=tests python -m mutation --count 60 --seed 1 --rooms lie,joints,io

Everything happens in a copy of the package with the JIT off (NUMBA_DISABLE_JIT=1), so that nothing is compiled and the source tree stays
as it is.  The tests of a file are those of the longest beginning of its path in TESTS, on few random trees, also those that only compiling
makes slow; they must pass with the original first.  A mutant that makes them fail, or take three times as much of the processor, is killed.
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

_ACTION = "tests/physics/test_discrete_action.py"
_TREES = ["tests/physics/test_identities.py", _ACTION]
_JOINTS = ["tests/conformance/test_joints.py", "tests/unit/test_joint_list.py"]
_SYMBOLIC = [*_JOINTS, "tests/plain/symbolic_descriptions.py", "tests/plain/ranges.py"]
#: a minute and a half without compiling
_LONG_CHAINS = "tests/physics/test_certified_steps.py::test_long_chains_are_certified_without_tensors"
_CERTIFIED = ["tests/physics/test_solvability.py", "tests/physics/test_certified_steps.py", f"--deselect={_LONG_CHAINS}"]
_MJCF = ["tests/io/test_mjcf.py", "tests/io/test_mjcf_writer.py", "tests/io/test_actuators.py"]
_URDF = ["tests/io/test_urdf.py", "tests/io/test_urdf_corners.py"]


def _plain(*names: str) -> list[str]:
    """Files of tests/plain, or one test of them ("dampers::test_heat")."""
    return ["tests/plain/" + (name.replace("::", ".py::") if "::" in name else name + ".py") for name in names]


def _parts(file: str, *names: str) -> list[str]:
    """Some tests of a file that is too long as a whole."""
    return [f"{file}::test_{name}" for name in names]


_MIDPOINT = [
    *_plain("midpoint_balls"), "tests/conformance/test_midpoint.py", *_plain("midpoint_joints"),
    "tests/physics/test_armature.py::test_every_integrator_feels_it[Midpoint]",
]  # fmt: skip
_MAXIMAL = [
    "tests/unit/test_maximal_newton.py",
    *_parts("tests/unit/test_elimination.py", "sparse_equals_dense", "trees_have_no_fill_in", "chains_of_loops_stay_linear",
            "every_unknown_is_eliminated_once"),
    *_plain("maximal_servos"),
]  # fmt: skip
_LINEARISED = _plain(
    "linearized_steps::test_sweeps_and_matrices_agree", "linearized_steps::test_derivative_of_momenta",
    "linearized_steps::test_rows_on_velocities", "linearized_steps::test_steps_of_a_run", "linearized_steps::test_loops_of_a_run",
    "linearized_steps::test_joint_forces_of_other_integrators", "linearized_steps::test_along_a_run",
    "midpoint_balls::test_linearised_steps_know_how_springs_between_points_bend_and_wrenches_turn",
)  # fmt: skip
_BALLS = [
    *_parts("tests/physics/test_certified_balls.py", "the_equation_and_its_derivatives", "sums_behind_rounding_bound_what_they_are_sums_of",
            "the_solution_is_within_the_radius"),
    *_plain("ball_majorants"),
    *_parts("tests/physics/test_certified_balls.py", "rounding_is_less_than_what_is_allowed_for", "every_step_of_a_run_is_certified"),
]  # fmt: skip
_ADAPTIVE = _plain("velocity_rows", "composed_bases")
_LAWS = [
    *_plain("point_dampers"),
    *_parts("tests/physics/test_body_forces.py", "momenta_of_a_step_are_those_of_the_action",
            "continuous_forces_are_those_of_the_description", "newton_matrix_knows_how_laws_damp",
            "derivatives_of_a_step_against_the_action", "slopes_of_drag_are_its_derivatives", "a_law_with_an_energy_is_a_potential"),
]  # fmt: skip

#: beginning of a path -> tests that need no compiled code, those that kill most first
TESTS = {
    "lie": [
        "tests/unit/test_trig.py",
        *_plain("rotations"),
        "tests/conformance/test_retractions.py",
        *_TREES,
        "tests/unit/test_retractions.py",
    ],
    "joints": [*_JOINTS, *_TREES],
    "joints/charts": _SYMBOLIC,
    "joints/generated": [*_SYMBOLIC, *_TREES],
    "joints/symbolic": _SYMBOLIC,
    "io": ["tests/io/test_registry.py", *_URDF, "tests/io/test_sdf.py", "tests/io/test_mjcf.py"],
    "io/expressions": ["tests/io/test_sexp.py"],
    "io/mjcf": _MJCF,
    "io/sdf": ["tests/io/test_sdf.py"],
    "io/sexp": ["tests/io/test_sexp.py"],
    "io/urdf": [*_URDF, "tests/io/test_actuators.py"],
    "solvability": _CERTIFIED,
    "kernels": [*_TREES, *_plain("composed_bases", "accounts")],
    "kernels/constraints": _plain(
        "world_directions",
        "velocity_rows",
        "closing_joints",
        "trapezoid_loops::test_steps_back_lead_to_the_start",
    ),
    "kernels/forces": _LAWS,
    "kernels/lagrangian": _MIDPOINT,
    "kernels/maximal": _MAXIMAL,
    "kernels/maximal/half_way": _plain("half_way"),
    "kernels/maximal/nonholonomic": [*_plain("velocity_rows", "linearized_steps::test_rows_on_velocities"), *_MAXIMAL],
    "kernels/maximal/symbolic": [*_plain("velocity_rows", "maximal_servos", "closing_joints"), *_MAXIMAL],
    "kernels/solvability": [
        *_plain("ball_majorants"),
        *_parts(
            "tests/physics/test_certified_steps.py",
            "compiled_numbers_are_those_of_the_tensors",
            "majorant_is_above_everything_it_bounds",
            "rounding_is_less_than_what_is_allowed_for",
            "sums_behind_rounding_have_their_units_and_bound_what_they_are_sums_of",
            "the_solution_is_within_the_radius",
            "one_derivative_more_certifies_more",
            "every_step_is_certified",
            "reversible_steps_lead_back",
        ),
        *_parts(
            "tests/physics/test_solvability.py",
            "tensors_are_derivatives_of_the_mass_matrix",
            "bounds_hold_in_the_whole_box",
            "equation_is_the_one_the_integrator_solves",
            "dampers_help",
        ),
    ],  # fmt: skip
    "kernels/solvability/groups": _BALLS,
    "kernels/solving": [*_plain("corrections", "point_dampers", "midpoint_balls", "maximal_servos"), _ACTION],
    "kernels/stepping": _plain("velocity_rows", "world_directions", "maximal_servos"),
    "kernels/stepping/adaptive": _ADAPTIVE,
    "kernels/stepping/control": _ADAPTIVE,
    "kernels/stepping/maximal": _plain("corrections", "maximal_servos", "velocity_rows"),
    "kernels/stepping/midpoint": [*_plain("corrections"), *_MIDPOINT],
    "kernels/stepping/trapezoid": _plain(
        "trapezoid_loops::test_steps_back_lead_to_the_start",
        "trapezoid_loops::test_what_acts_on_the_joints_of_a_loop",
        "linearized_steps::test_other_integrators_with_a_loop",
        "trapezoid_loops::test_order_and_closure",
    ),
    "kernels/tree": [*_LINEARISED, *_TREES],
    "kernels/tree/actuation": [*_plain("maximal_servos", "linearized_drives"), "tests/physics/test_actuation.py"],
    "kernels/tree/articulated": [_ACTION, *_plain("closing_joints")],
    "kernels/tree/dense_slopes": [*_LINEARISED, *_LAWS],
    "kernels/tree/law": _LAWS,
    "kernels/tree/loads": [_ACTION, *_LAWS],
    "kernels/tree/midpoint_quadrature": [*_LINEARISED, _ACTION, *_plain("point_dampers")],
    "kernels/tree/reactions": [*_plain("midpoint_balls"), "tests/physics/test_reactions.py"],
    "kernels/tree/slopes": [*_LINEARISED, *_LAWS],
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
                code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", "slow or not slow", *tests]))
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
