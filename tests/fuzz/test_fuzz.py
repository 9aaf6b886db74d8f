"""Random inputs: every one ends in a right result or in an error of ours.

Some thousands in the suite, always the same ones and in plain Python, which starts at once and checks every index.  `make fuzz` makes many
more, and goes on with compiled code for as long as you like:

    LEASTACTION_FUZZ_SECONDS=3600 LEASTACTION_FUZZ_SEED=7
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import pytest

import leastaction as la

_spec = importlib.util.spec_from_file_location("fuzz_inputs", Path(__file__).with_name("inputs.py"))
inputs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(inputs)

SECONDS = float(os.environ.get("LEASTACTION_FUZZ_SECONDS", "0"))
SEED = int(os.environ.get("LEASTACTION_FUZZ_SEED", "0"))
FIRST = int(os.environ.get("LEASTACTION_FUZZ_FIRST", "0"))
IN_THE_SUITE = 3000
PATIENCE = 300  # s for one input; kernels that are not on disk yet are compiled on the way
ALL = (la.Variational, la.Midpoint, la.Maximal, la.Trapezoid, la.RK4, la.SemiImplicitEuler)


class Hang(BaseException):
    """An input that does not end."""


def _hangs(*_):
    raise Hang


@pytest.mark.skipif(SECONDS > 0, reason="with compiled code")
def test_every_input_is_right_or_named():
    paths = [str(Path(la.__file__).parents[1]), str(Path(__file__).parents[1])]
    env = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(paths)}
    words = [sys.executable, "-m", "support.fuzzing", str(IN_THE_SUITE), str(SEED), "1"]
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(done.stdout.splitlines()[-1])
    for kind in inputs.KINDS:
        assert counts.get(f"{kind} right", 0) > 10, counts


@pytest.mark.skipif(SECONDS == 0, reason="make fuzz")
def test_compiled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trap, count, failures = tmp_path / "ran", Counter(), []
    la.simulate(la.examples.chain(2).compile(), dt=1e-3, steps=1)  # compiled before the clock runs
    before = signal.signal(signal.SIGALRM, _hangs)
    began, number = time.monotonic(), FIRST
    try:
        while time.monotonic() - began < SECONDS:
            signal.alarm(PATIENCE)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of NumPy, about numbers near the largest
                    count[inputs.try_one(SEED, number, trap, ALL)] += 1
            except (Exception, Hang) as error:
                count["", type(error).__name__] += 1
                where = traceback.format_exception_only(type(error), error)[-1].strip()[:200]
                failures.append(f"seed {SEED}, number {number}: {where}")
            finally:
                signal.alarm(0)
            number += 1
    finally:
        signal.signal(signal.SIGALRM, before)
    print(json.dumps({f"{kind} {how}": n for (kind, how), n in sorted(count.items())}))
    assert not trap.exists(), "text of an input was run as code"
    assert not failures, "\n".join([f"{len(failures)} of {number - FIRST} inputs failed:", *failures[:20]])
    assert number > FIRST + 40 and {how for _, how in count} == {inputs.RIGHT, inputs.NAMED}
