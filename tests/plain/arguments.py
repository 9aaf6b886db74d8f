"""Every argument of every public function, exchanged for everything that it is not: it works, or an error of ours names the thing."""

import contextlib
import io
import re
import signal
import traceback
import warnings

import numpy as np
import pytest
from support.public_calls import HOSTILE, LEFT_OUT, NOT_CALLED, calls, public_names

import leastaction as la
from leastaction.errors import LeastActionError

PATIENCE = 30  # s for one call

#: what functions of the user raise when they are called, which is handed on
OWN = re.compile(r"of the user's|\bint\(\)|\blen\(\)|interpreted as an integer|converted to a scalar index")
#: arithmetic on numbers beyond all bounds raises in plain Python, and gives a number in machine code
IN_KERNELS = re.compile(r"leastaction/(kernels|lie|joints)/")


class Hang(BaseException):
    pass


@pytest.fixture(autouse=True)
def watched(tmp_path, monkeypatch):
    def hangs(*_):
        raise Hang

    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGALRM, hangs)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_nothing_public_is_left_out():
    names = {*public_names()}
    assert not names - {*calls()} - NOT_CALLED, "give a call that works in tests/support/public_calls.py"
    assert names >= NOT_CALLED


def fault(call, arguments):
    """What is wrong with how a call ends; empty if nothing is."""
    signal.alarm(PATIENCE)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NumPy, about numbers near the largest
            call.function(**arguments)
    except LeastActionError as error:
        return "" if 0 < len(str(error)) < 3000 else f"a message of {len(str(error))} characters"
    except Hang:
        return f"takes more than {PATIENCE} s"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        if OWN.search(str(error)) or (isinstance(error, (ArithmeticError, ValueError)) and IN_KERNELS.search(where.filename)):
            return ""
        return f"{type(error).__name__}: {error} at {where.filename.rpartition('/leastaction/')[2]}:{where.lineno}"
    finally:
        signal.alarm(0)
    return ""


@pytest.mark.parametrize("name", calls())
def test_every_argument(name):
    call = calls()[name]
    call.function(**call.arguments)  # works as it stands
    found = {}
    for argument in call.names():
        for what, value in HOSTILE.items():
            if what not in LEFT_OUT.get((name, argument), ()) and (wrong := fault(call, call.arguments | {argument: value})):
                found.setdefault(f"{argument}: {wrong[:300]}", []).append(what)
    assert not found, "\n".join(f"{wrong} <- {', '.join(values)}" for wrong, values in found.items())


def test_one_velocity_for_members_with_parameters_of_their_own():
    """What is given once holds for all of them."""
    masses, v = [1.0, 2.0, 3.0], [0.5, -0.2]
    many = la.rollout(la.examples.double_pendulum, parameters={"mass1": masses}, v=v, dt=1e-3, steps=3)
    for k, mass in enumerate(masses):
        alone = la.simulate(la.examples.double_pendulum(mass1=mass).compile(), v=v, dt=1e-3, steps=3)
        assert np.array_equal(many.q[k], alone.q) and np.array_equal(many.p[k], alone.p)
