"""Compiled kernels are kept on disk, but an edit in any source they are made of never runs old machine code.

Also: the kernels give the same numbers as plain Python, with the compiler switched off.
"""

import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import leastaction
from leastaction.compiling import decorators as jit

PACKAGE = Path(leastaction.__file__).parent
ROOMS = ("lie", "symbolic", "joints", "kernels")

SIMULATE = """
import json
import leastaction as la
from leastaction.kernels import variational
model = la.examples.chain(2).compile()
run = la.simulate(model, dt=0.01, steps=5, q={"link1": 0.5})
hits = sum(variational.run.stats.cache_hits.values())
print(json.dumps({"q": [x.hex() for x in run.q[-1]], "hits": hits}))
"""

HASH = """
from leastaction.lie import jit
print(jit.source_hash())
"""

EVERYTHING = """
import json
import leastaction as la
mech = la.examples.random_tree(7, seed=0, floating=True)
for joint in mech.joint_names:
    mech.add_force(la.Spring(joint, (2.0, 5.0) if joint == "body1" else 3.0))
    mech.add_force(la.Damper(joint, 0.1))
mech.add_force(la.Wrench("body3", force=(1.0, 0.0, 2.0), moment=(0.1, 0.2, 0.3)))
model = mech.compile()
choices = [
    {}, {"retraction": "cayley", "quadrature": "midpoint"}, {"solver": "riqn", "guess": "ig3"}, {"solver": "broyden", "guess": "ig1"},
    {"solver": "dense-newton", "quadrature": "midpoint", "guess": "ig2"},
]
runs = [la.simulate(model, dt=0.01, steps=4, v=[0.3] * model.nv, integrator=la.Variational(**c)) for c in choices]
print(json.dumps([[run.q[-1].tolist(), run.p[-1].tolist(), [run.energy[-1]]] for run in runs]))
"""

USER_FORCE = """
import json
import leastaction as la

def drag(t, q, v, tau):
    for i in range(len(v)):
        tau[i] -= 0.5 * v[i] * abs(v[i]) - t

mech = la.examples.chain(3)
mech.add_force(la.CustomForce(drag))
run = la.simulate(mech.compile(), dt=0.01, steps=5, q={"link1": 0.5}, v=[1.0, 2.0, 3.0])
print(json.dumps([[run.q[-1].tolist(), run.p[-1].tolist()]]))
"""


def python(code, source, **environment):
    """What `code` prints as its last line, in a fresh interpreter that imports leastaction from `source`."""
    env = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture
def copy(tmp_path):
    """A copy of the package that may be edited: (folder to import from, folder of the package)."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "leastaction", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "src", tmp_path / "src" / "leastaction"


def test_an_edit_in_an_inlined_function_is_seen(copy, tmp_path):
    """Gravity doubled in kernels/loads.py, three calls below the only function whose file Numba itself would look at."""
    source, package = copy

    def simulate():
        return json.loads(python(SIMULATE, source, NUMBA_CACHE_DIR=str(tmp_path / "cache")))

    first = simulate()
    assert first["hits"] == 0
    again = simulate()
    assert again["hits"] > 0 and again["q"] == first["q"], "the cache is not used at all"
    loads = package / "kernels" / "loads.py"
    text = loads.read_text()
    edited = text.replace("return cross(load3(body, i, MOMENT), g)", "return cross(load3(body, i, MOMENT), add(g, g))")
    assert edited != text
    loads.write_text(edited)
    changed = simulate()
    assert changed["hits"] == 0 and changed["q"] != first["q"]
    loads.write_text(text)
    assert simulate()["q"] == first["q"]


def test_every_source_of_the_kernels_counts(copy, monkeypatch):
    """The key of the cache changes with one byte of any file, and with a new, a renamed and a removed file."""
    source, package = copy
    assert python(HASH, source) == jit.source_hash()
    monkeypatch.setattr(jit, "_PACKAGE", package)
    hash_of = jit.source_hash.__wrapped__  # without its memory
    original = hash_of()
    assert original == jit.source_hash()
    files = [path for room in ROOMS for path in sorted((package / room).glob("*.py"))]
    assert len(files) > 20
    for path in files:
        text = path.read_bytes()
        path.write_bytes(text + b"#")
        assert hash_of() != original, path
        path.write_bytes(text)
        assert hash_of() == original
        path.rename(path.with_name("renamed.py"))
        assert hash_of() != original, path
        path.with_name("renamed.py").rename(path)
        path.unlink()
        assert hash_of() != original, path
        path.write_bytes(text)
    (package / "kernels" / "new.py").write_text("")
    assert hash_of() != original


def test_compiled_functions_live_only_where_the_hash_looks():
    """No function of the package is compiled outside these rooms, and what is compiled there uses nothing from outside."""
    compiled = 0
    for info in pkgutil.walk_packages([str(PACKAGE)], "leastaction."):
        if info.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(info.name)).values():
            function = getattr(value, "py_func", None)
            if function is None:
                continue
            compiled += 1
            assert function.__module__.split(".")[1] in ROOMS, f"{function.__module__}.{function.__name__}"
            for name in function.__code__.co_names:
                used = function.__globals__.get(name)
                home = getattr(used, "__module__", None) or getattr(used, "__name__", "")
                if home.startswith("leastaction"):
                    assert home.split(".")[1] in ROOMS, f"{function.__name__} uses {name} of {home}"
    assert compiled > 100


@pytest.mark.parametrize("code", [EVERYTHING, USER_FORCE], ids=["everything", "user force"])
def test_without_the_compiler(code):
    """NUMBA_DISABLE_JIT=1 runs the same kernels in Python: the same numbers but for fused multiply-adds."""
    plain = json.loads(python(code, PACKAGE.parent, NUMBA_DISABLE_JIT="1"))
    compiled = json.loads(python(code, PACKAGE.parent))
    for a, b in zip(plain, compiled, strict=True):
        for x, y in zip(a, b, strict=True):
            assert np.abs(np.subtract(x, y)).max() < 1e-12 * max(1.0, np.abs(y).max())


def test_an_index_of_an_older_version_is_thrown_away(monkeypatch):
    """Numba reads the types of all signatures before it compares hashes: a class that has moved since must not stop it."""
    thrown = []

    def unreadable(self, sig, target_context):
        raise AttributeError("Can't get attribute 'OldTuple'")

    monkeypatch.setattr(jit.FunctionCache, "load_overload", unreadable)
    monkeypatch.setattr(jit._EntryCache, "flush", lambda self: thrown.append(self))
    cache = object.__new__(jit._EntryCache)
    assert cache.load_overload(None, None) is None
    assert thrown == [cache]
