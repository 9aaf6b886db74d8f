"""Random inputs: every one ends in a right result or in an error of ours.

A minute in the suite, always with the same inputs.  `make fuzz` goes on for as long as you like with others:

    LEASTACTION_FUZZ_SECONDS=3600 LEASTACTION_FUZZ_SEED=7
"""

import importlib.util
import json
import os
import signal
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import leastaction as la

_spec = importlib.util.spec_from_file_location("fuzz_inputs", Path(__file__).with_name("inputs.py"))
inputs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(inputs)

SECONDS = float(os.environ.get("LEASTACTION_FUZZ_SECONDS", "0"))
SEED = int(os.environ.get("LEASTACTION_FUZZ_SEED", "0"))
FIRST = int(os.environ.get("LEASTACTION_FUZZ_FIRST", "0"))
MOST_IN_THE_SUITE = 1200
PATIENCE = 300  # s for one input; kernels that are not on disk yet are compiled on the way
ALL = (la.Variational, la.Midpoint, la.Maximal, la.Trapezoid, la.RK4, la.SemiImplicitEuler)


class Hang(BaseException):
    """An input that does not end."""


def _hangs(*_):
    raise Hang


def test_every_input_is_right_or_named(tmp_path):
    trap, count, failures = tmp_path / "ran", Counter(), []
    integrators = ALL if SECONDS else ALL[:1]
    la.simulate(la.examples.chain(2).compile(), dt=1e-3, steps=1)  # compiled before the clock runs
    before = signal.signal(signal.SIGALRM, _hangs)
    began, number = time.monotonic(), FIRST
    try:
        while time.monotonic() - began < (SECONDS or 60.0) and (SECONDS or number < FIRST + MOST_IN_THE_SUITE):
            signal.alarm(PATIENCE)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of NumPy, about numbers near the largest
                    count[inputs.try_one(SEED, number, trap, integrators)] += 1
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
