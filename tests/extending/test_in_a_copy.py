"""What needs a branch in compiled code: a joint and a retraction, written into a copy of the package as docs/extending.md shows them.

The laws run with kernels as plain Python (`laws.py`); one simulation is compiled as well and has to give the same numbers.  The copy has
its own cache, so nothing of the installed package is used.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from extending import page

LAWS = Path(__file__).with_name("laws.py")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    for section in ("A joint", "A retraction"):
        assert page.files_of(section), f"docs/extending.md shows no file in the section {section!r}"
    return page.patched_copy(tmp_path_factory.mktemp("copy"), "A joint", "A retraction")


def python(copy, *arguments, jit=True):
    env = {**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(copy / "cache"), "NUMBA_DISABLE_JIT": "0" if jit else "1"}
    return subprocess.run([sys.executable, *map(str, arguments)], env=env, cwd=copy, capture_output=True, text=True)


def test_laws_with_every_integrator(copy):
    done = python(copy, LAWS, "laws", jit=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_compiled_code_does_the_same(copy):
    ends = []
    for jit in (False, True):
        done = python(copy, LAWS, "run", copy / f"end-{jit}.npy", jit=jit)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        ends.append(np.load(copy / f"end-{jit}.npy"))
    assert np.isfinite(ends[0]).all()
    np.testing.assert_allclose(ends[1], ends[0], rtol=0.0, atol=1e-11)


# ------------------------------------------------------------------------------------------- getting it wrong, by name


def broken_copy(tmp_path, section, change):
    """A copy in which the new file of a section was changed; its name."""
    package = page.patched_copy(tmp_path, section)
    (file,) = [f for f, parts in page.files_of(section).items() if all(b.language == "python" for b in parts) and "__init__" not in f]
    path = package / "leastaction" / file
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    return package, path.stem


@pytest.mark.parametrize(("section", "kernel"), [("A joint", "pose"), ("A joint", "columns"), ("A retraction", "cotangent")])
def test_a_missing_kernel_is_named_on_import(section, kernel, tmp_path):
    def without(text):
        assert f"def {kernel}(" in text, f"docs/extending.md: no kernel {kernel} in the section {section!r}"
        return text.replace(f"def {kernel}(", f"def not_{kernel}(")

    package, name = broken_copy(tmp_path, section, without)
    done = python(package, "-c", "import leastaction")
    assert done.returncode == 1, f"exit code {done.returncode}"
    last = done.stderr.strip().splitlines()[-1]
    assert kernel in last and name in last, last


def test_a_joint_listed_twice_is_named_on_import(copy, tmp_path):
    package = page.patched_copy(tmp_path, "A joint")
    listing = package / "leastaction" / "joints" / "__init__.py"
    text = listing.read_text(encoding="utf-8")
    assert text.count("Revolute, Prismatic") == 1
    listing.write_text(text.replace("Revolute, Prismatic", "Revolute, Revolute, Prismatic"), encoding="utf-8")
    done = python(package, "-c", "import leastaction")
    assert done.returncode == 1 and "Revolute" in done.stderr.strip().splitlines()[-1], done.stderr[-1000:]
