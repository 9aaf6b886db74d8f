"""The mutation run: mutants are one token away from the source, repeatable, and a test that looks kills them."""

import pytest
from mutation.__main__ import ROOMS, ROOT, TESTS, Copy, suite_for
from mutation.mutants import chosen, mutants

PACKAGE = ROOT / "src" / "leastaction"

SOURCE = '''
"""1 + 1 in a docstring stays."""
LIMIT = 3 + 4


def double(x: int = 1 + 1) -> "list[1 + 1]":
    if x < 0:
        raise ValueError(f"{x + 1} is negative")
    return x + x
'''


def test_only_code_of_functions_is_changed(tmp_path):
    path = tmp_path / "double.py"
    path.write_text(SOURCE, encoding="utf-8")
    found = mutants(path, tmp_path)
    assert {(m.before, m.after, m.code.strip()) for m in found} == {
        ("<", ">=", "if x < 0:"), ("0", "1", "if x < 0:"), ("+", "-", "return x + x"),
    }  # fmt: skip
    for mutant in found:
        changed = mutant.applied(SOURCE)
        assert changed != SOURCE and mutant.applied(SOURCE).count("\n") == SOURCE.count("\n")


def test_the_same_seed_draws_the_same_mutants():
    first, again, other = (chosen("solvability", PACKAGE, 5, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 5 and all(m.path.startswith("solvability/") for m in first)
    assert {m.path for m in chosen("io/urdf", PACKAGE, 20, 1)} <= {f"io/{p.name}" for p in (PACKAGE / "io").glob("urdf*.py")}


def test_rooms_and_their_tests_exist():
    for beginning, tests in TESTS.items():
        assert beginning.split("/")[0] in ROOMS
        assert (PACKAGE / beginning).is_dir() or list(PACKAGE.glob(f"{beginning}*.py"))
        for test in tests:
            path, _, name = test.removeprefix("--deselect=").partition("::")
            assert f"def {name.partition('[')[0]}" in (ROOT / path).read_text(encoding="utf-8")
    for room in ROOMS:
        assert all(suite_for(path.relative_to(PACKAGE).as_posix()) for path in (PACKAGE / room).rglob("*.py"))


def test_the_tests_of_a_file_are_those_of_the_longest_beginning():
    assert suite_for("joints/charts.py") == TESTS["joints/charts"] != TESTS["joints"] == suite_for("joints/free.py")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # Python 3.12 warns where there are threads
def test_a_test_that_looks_kills_and_one_that_does_not_lets_live(tmp_path):
    copy = Copy.__new__(Copy)  # no copy of the whole repository
    copy.root, copy.package, copy.log = tmp_path, tmp_path / "src", tmp_path / "log"
    copy.package.mkdir()
    (copy.package / "double_it.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_looks.py").write_text("from double_it import double\ndef test(): assert double(3) == 6\n", encoding="utf-8")
    (tmp_path / "test_blind.py").write_text("from double_it import double\ndef test(): double(3)\n", encoding="utf-8")
    [plus] = [m for m in mutants(copy.package / "double_it.py", copy.package) if m.before == "+"]
    assert not copy.survives(plus, ["test_looks.py"], 60.0)
    assert copy.survives(plus, ["test_blind.py"], 60.0)
    assert (copy.package / "double_it.py").read_text(encoding="utf-8") == SOURCE
