"""Laws whose kernels no other test compiles, tested without compiling: the files of tests/plain in interpreters with the JIT off."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# a minute and more each: make public
LONG = ("arguments", "dampers", "extended", "linearized_drives", "linearized_steps", "midpoint_joints", "trapezoid_loops")
FILES = sorted(p for p in (Path(__file__).parent.parent / "plain").glob("*.py") if p.name != "__init__.py")


@pytest.mark.parametrize("file", [pytest.param(p, marks=pytest.mark.slow) if p.stem in LONG else p for p in FILES], ids=lambda p: p.stem)
def test_plain(file):
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short", str(file)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, cwd=file.parent.parent.parent)
    assert done.returncode == 0, done.stdout + done.stderr
