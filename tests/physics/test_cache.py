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
from leastaction.compiling import cache
from leastaction.compiling.gate import Entry

PACKAGE = Path(leastaction.__file__).parent

TURN = """
import json
import numpy as np
import leastaction as la
from leastaction.kernels.maximal.evaluate import advance
model = la.examples.ball_chain(2).compile()
found = model.neutral()
advance(model.tree, found, np.linspace(0.1, 0.6, 6))
hits = sum(advance.dispatcher.stats.cache_hits.values())
print(json.dumps({"found": [x.hex() for x in found], "hits": hits}))
"""

HASH = """
from leastaction.compiling import cache
print(cache.source_hash())
"""

EVERYTHING = """
import json
import leastaction as la
from leastaction.yardsticks import Lee2016
mech = la.examples.random_tree(7, seed=0, floating=True)
for joint in mech.joint_names:
    mech.add_force(la.Spring(joint, (2.0, 5.0) if joint == "body1" else 3.0))
    mech.add_force(la.Damper(joint, 0.1))
mech.add_force(la.Wrench("body3", force=(1.0, 0.0, 2.0), moment=(0.1, 0.2, 0.3)))
model = mech.compile()
choices = [
    la.Variational(), la.Variational("cayley", quadrature="midpoint"), Lee2016("riqn", "ig3"), Lee2016("broyden", "ig1"),
    Lee2016("dense-newton", "ig2", quadrature="midpoint"),
]
runs = [la.simulate(model, dt=0.01, steps=4, v=[0.3] * model.nv, integrator=i) for i in choices]
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
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture
def copy(tmp_path):
    """A copy of the package that may be edited: (folder to import from, folder of the package)."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "leastaction", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "src", tmp_path / "src" / "leastaction"


def test_an_edit_in_an_inlined_function_is_seen(copy, tmp_path):
    """Turns the other way round in joints/rotation.py, three calls below the only function whose file Numba itself would look at."""
    source, package = copy

    def compute():
        return json.loads(python(TURN, source, NUMBA_CACHE_DIR=str(tmp_path / "cache")))

    first = compute()
    assert first["hits"] == 0
    again = compute()
    assert again["hits"] > 0 and again["found"] == first["found"], "the cache is not used at all"
    rotation = package / "joints" / "rotation.py"
    text = rotation.read_text()
    edited = text.replace("    w, u = quat_mul(w, u, wd, ud)\n", "    w, u = quat_mul(w, u, -wd, ud)\n")
    assert edited != text
    rotation.write_text(edited)
    changed = compute()
    assert changed["hits"] == 0 and changed["found"] != first["found"]
    rotation.write_text(text)
    assert compute()["found"] == first["found"]


def test_every_source_of_the_kernels_counts(copy):
    """The key of the cache changes with one byte of any file, and with a new, a renamed and a removed file."""
    source, package = copy
    original = cache.hash_of_sources(package)
    assert python(HASH, source) == original == cache.hash_of_sources(PACKAGE)
    files = [path for room in cache.ROOMS for path in sorted((package / room).rglob("*.py"))]
    assert len(files) > 50
    for path in files:
        text = path.read_bytes()
        path.write_bytes(text + b"#")
        assert cache.hash_of_sources(package) != original, path
        path.write_bytes(text)
    assert cache.hash_of_sources(package) == original
    path = files[-1]
    path.rename(path.with_name("renamed.py"))
    assert cache.hash_of_sources(package) != original
    path.with_name("renamed.py").rename(path)
    text = path.read_bytes()
    path.unlink()
    assert cache.hash_of_sources(package) != original
    path.write_bytes(text)
    (package / "kernels" / "new.py").write_text("")
    assert cache.hash_of_sources(package) != original


def test_what_extensions_compile_into_the_kernels_counts(tmp_path, monkeypatch):
    """A function from outside the package that becomes part of a kernel has its file in the key."""
    monkeypatch.setattr(cache, "_outside", {})
    before = cache.version()
    cache.depend_on(cache.hash_of_sources)  # of the package: known already
    assert cache.version() == before
    versions = {before}
    for text in ("def drag(v):\n    return -v\n", "def drag(v):\n    return -2.0 * v\n"):
        path = tmp_path / f"drag{len(versions)}.py"
        path.write_text(text)
        scope: dict = {}
        exec(compile(text, str(path), "exec"), scope)
        cache.depend_on(scope["drag"])
        versions.add(cache.version())
    assert len(versions) == 3


def test_the_way_of_compiling_counts(monkeypatch):
    """Code with bounds checks, without optimisation or without Numba's private parts is kept apart."""
    versions = {cache.version()}
    checked = 0 if cache.config.BOUNDSCHECK else 1
    for where, name, value in ((cache.config, "BOUNDSCHECK", checked), (cache.config, "OPT", 0), (cache, "AVAILABLE", not cache.AVAILABLE)):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, value)
            versions.add(cache.version())
    assert len(versions) == 4


def test_compiled_functions_live_only_where_the_hash_looks():
    """No kernel of the package is compiled outside these rooms, and what is compiled there uses nothing from outside.

    Entries may stand elsewhere (testing/probe.py): Numba itself looks at the file of a function that Python calls.
    """
    compiled = 0
    for info in pkgutil.walk_packages([str(PACKAGE)], "leastaction."):
        if info.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(info.name)).values():
            function = getattr(value, "py_func", None)
            if function is None:
                continue
            compiled += 1
            if not isinstance(value, Entry):
                assert function.__module__.split(".")[1] in cache.ROOMS, f"{function.__module__}.{function.__name__}"
            for name in function.__code__.co_names:
                used = function.__globals__.get(name)
                home = getattr(used, "__module__", None) or getattr(used, "__name__", "")
                if home.startswith("leastaction") and home != function.__module__:
                    assert home.split(".")[1] in cache.ROOMS, f"{function.__name__} uses {name} of {home}"
    assert compiled > 100


@pytest.mark.parametrize("code", [pytest.param(EVERYTHING, marks=pytest.mark.slow), USER_FORCE], ids=["everything", "user force"])
def test_without_the_compiler(code):
    """NUMBA_DISABLE_JIT=1 runs the same kernels in Python: the same numbers but for fused multiply-adds."""
    plain = json.loads(python(code, PACKAGE.parent, NUMBA_DISABLE_JIT="1"))
    compiled = json.loads(python(code, PACKAGE.parent))
    for a, b in zip(plain, compiled, strict=True):
        for x, y in zip(a, b, strict=True):
            assert np.abs(np.subtract(x, y)).max() < 1e-12 * max(1.0, np.abs(y).max())
