"""With Numba's public interface alone everything works and moves in the same way, only slower."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import leastaction as la

PACKAGE = Path(la.__file__).parent

MOVE = """
import json
import leastaction as la
from leastaction.compiling import cache, numba_private
from support.symbolic_samples import symbolic_samples

def motions():
    chain = la.examples.chain(2).compile()
    yield la.simulate(chain, dt=0.01, steps=20, q=[0.5, 0.2])
    yield la.simulate(chain, dt=0.01, steps=20, q=[0.5, 0.2], integrator=la.Maximal())
    mech = la.Mechanism()
    mech.add_body("cam", parent="world", joint=symbolic_samples()[0], mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.3))
    yield la.simulate(mech.compile(), dt=0.01, steps=20)
    loop = la.examples.four_bar().compile()
    yield la.simulate(loop, dt=0.01, steps=20, q=loop.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}))

print(json.dumps([numba_private.AVAILABLE, cache.version(), *[run.q[-1].tolist() for run in motions()]]))
"""


def moved(**environment):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run([sys.executable, "-c", MOVE], env=env, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_same_motion():
    """Machine code is not optimised here: it is compiled in half the time."""
    private, where, *public = moved(LEASTACTION_PUBLIC_NUMBA="1", NUMBA_OPT="0")
    assert not private and where.startswith("public-")
    _, other, *wanted = moved(LEASTACTION_PUBLIC_NUMBA="0")
    assert other != where
    for a, b in zip(public, wanted, strict=True):
        assert np.abs(np.subtract(a, b)).max() < 1e-12


def imported(path):
    """Names of all modules a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_only_one_room_knows_the_inside_of_numba():
    """numba.core is imported in numba_private.py and its annexes alone; llvmlite nowhere but in its room (import-linter sees to it too)."""
    inside = {}
    for path in (p for p in PACKAGE.rglob("*.py") if "__pycache__" not in p.parts):  # generated code is kept there
        found = [name for name in imported(path) if name.startswith(("numba.core", "numba.np", "numba.cpython", "llvmlite"))]
        if found:
            inside[path.relative_to(PACKAGE)] = found
    assert {path.parts[0] for path in inside} == {"compiling"}
    private = {p.name for p, names in inside.items() if any(n.startswith("numba.") for n in names)}
    assert private == {"numba_private.py", "numba_parts.py", "numba_lean.py"}
