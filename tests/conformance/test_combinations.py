"""docs/combinations.md says what is so: cells drawn by chance, run with the JIT off."""

import os
import subprocess
import sys
from itertools import product

from conformance import combinations

SAMPLE = """
import random, sys
from conformance.combinations import PAGE, outcome, shown_in
cells = sorted(shown_in(PAGE.read_text()).items())
for case, works in random.Random(int(sys.argv[1])).sample(cells, int(sys.argv[2])):
    found = outcome(case)
    assert (found == "yes") == works, f"{case}: the page says {works}, and it is: {found}; run make combinations"
"""

TRIPLES = """
import random, sys
from conformance.combinations import covering, outcome
for case in random.Random(int(sys.argv[1])).sample(covering(3), int(sys.argv[2])):
    outcome(case)
"""


def test_the_page_has_every_cell():
    shown = combinations.shown_in(combinations.PAGE.read_text())
    assert set(shown) == {case for _, _, case in combinations.pairs()}
    assert sum(shown.values()) > 0.7 * len(shown)


def assert_all_are_so(program, *arguments):
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", program, *arguments], env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_what_it_says_is_so():
    assert_all_are_so(SAMPLE, "11", "12")


def test_every_three_things_meet():
    cases = combinations.covering(3)
    seen = {(c.integrator, c.force, c.constraint) for c in cases}
    assert seen == set(product(combinations.INTEGRATORS, combinations.FORCES, combinations.CONSTRAINTS))
    assert f"Every three of them meet in {len(cases)} mechanisms" in combinations.PAGE.read_text()


def test_some_of_the_triples():
    """A sample drawn by chance; `make triples` runs them all."""
    assert_all_are_so(TRIPLES, "12", "40")


def test_every_two_things_meet():
    cases = combinations.covering()
    assert {(c.joint, c.constraint) for c in cases} == {(j, k) for j in combinations.JOINTS for k in combinations.CONSTRAINTS}
    assert {(c.integrator, c.asked) for c in cases} == {(i, a) for i in combinations.INTEGRATORS for a in combinations.ASKED}
