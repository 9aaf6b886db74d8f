"""The second process that compiles ahead: what it reads, that it changes nothing, and that it goes when it should."""

import json
import math
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import config, typeof, types

import leastaction as la
from leastaction.compiling import ahead, cache, parts, reading
from leastaction.compiling.decorators import inlined, kernel
from leastaction.compiling.numba_private import AVAILABLE
from leastaction.compiling.records import numba_type
from leastaction.kernels.maximal import evaluate
from leastaction.kernels.stepping import evaluation, maximal, variational
from leastaction.kernels.stepping.record import make_record
from leastaction.kernels.tree import evaluate as trees

pytestmark = pytest.mark.skipif(config.DISABLE_JIT or not AVAILABLE, reason="nothing is compiled ahead")

INT, FLOAT = types.int64, types.float64
LINE, TABLE = (types.Array(FLOAT, n, "C") for n in (1, 2))
THREE = types.UniTuple(FLOAT, 3)
COLUMN = np.int64(2)


class Functions(NamedTuple):
    first: object
    second: object


class Pair(NamedTuple):
    row: np.ndarray
    scale: float
    other: "Pair | None"


@kernel
def leaf(x, k):
    return x * k


@inlined
def triple(row, i):
    return row[i, 0], row[i, 1], row[i, COLUMN]


@kernel
def callee(a, b):
    return a


@kernel
def statements(p, n, chosen):
    h, size = p.scale, 0
    for i in range(1, n):
        a, b, c = triple(p.row, i)
        leaf(a, i)  # float64, int64
        callee((a, b, c), p.row[i])
        size += leaf(i, 3)  # what is added to is an integer, and 3 a constant
    if p.other is not None:
        callee(1.0, 1.0)  # never
    elif chosen is None and not (p.other is not None):
        callee(h, n / 2)
    while size < 3:
        size += 1
    callee(size, h if n > 2 else 1)
    return Pair(p.row, -h, None)


@kernel
def outer(functions, p):
    return functions.second(statements(p, p.row.shape[0], None).scale, max(1.5, math.sqrt(2.0)))


def found(function, *arguments):
    return [(call.kernel, call.arguments) for call in reading.Reader().read(function, arguments)]


def test_what_is_read():
    pair = types.BaseTuple.from_types((TABLE, FLOAT, types.none), Pair)
    functions = typeof(Functions(leaf, callee))
    assert found(outer, functions, pair) == [
        (outer, (functions, pair)), (statements, (pair, INT, types.none)), (triple, (TABLE, INT)), (leaf, (FLOAT, INT)),
        (callee, (THREE, LINE)), (leaf, (INT, types.literal(3))), (callee, (FLOAT, FLOAT)), (callee, (INT, FLOAT)),
    ]  # fmt: skip


def test_types_of_records_that_are_not_there_yet():
    model = la.examples.chain(3).compile()
    stepper = la.Variational().start(model, model.state(), 1e-3)
    record = make_record(2, 1, 3, 3, 0)
    assert numba_type(type(record)) == typeof(record)
    arrays = typeof(stepper.arrays)
    assert numba_type(variational.Arrays, *arrays) == arrays
    assert evaluation.nodes_of_loop(arrays, typeof(record), TABLE, INT, FLOAT)[:3] == (*arrays[:2], types.none)
    bodies = la.Maximal().start(model, model.state(), 1e-3)
    m, net, flow = typeof(bodies.arrays)[:3]
    assert evaluate.run_after_node(m, None, net, flow, LINE, LINE)[0] == typeof(bodies.arrays)
    assert evaluation.nodes_of_loop(typeof(bodies.arrays), typeof(record), TABLE, INT, FLOAT) is None  # it has no Work
    assert evaluation.nodes_of_loop(*[LINE] * 5) is None and maximal.run in [later for _, later, _ in ahead.gate.expectations]


PROGRAM = r"""
import json, re, sys
import numpy as np
from numba.core.event import Listener, register
import leastaction as la
from leastaction.compiling import reading
from leastaction.kernels.tree import evaluate

class Names(Listener):
    def __init__(self): self.met = []
    def on_start(self, event): self.met.append(reading.Call(event.data["dispatcher"], tuple(event.data["args"])))
    def on_end(self, event): pass

names = Names()
register("numba:compile", names)
model = la.examples.chain(3).compile()
q, forces = np.linspace(0.1, 0.3, 3), np.zeros(3)
evaluate.place_entry(model.tree, model.make_work(), q, forces)
(version,) = evaluate.place_entry.dispatcher.overloads.values()
code = re.findall(r"^\t[a-z].*", version.library.get_asm_str(), re.M)
expected = reading.Reader().read(evaluate.place_entry.dispatcher, version.signature.args)
ours = [call for call in names.met if call.kernel.py_func.__module__.startswith("leastaction.")]
print(json.dumps([
    forces.tobytes().hex(), [re.sub(r"(\S*_ZN|\.const|constant)\S*( Environment\S* \S*)?", "name", line) for line in code],
    [c.kernel.py_func.__qualname__ for c in ours],
    [str(c) for c in set(ours) - set(expected)], [str(c) for c in set(expected) - set(ours)],
]))
"""


IDLE = "import os\nos.getloadavg, os.sched_getaffinity = lambda: (0.0, 0.0, 0.0), lambda process: {0, 1}\n"  # a machine with two free cores


def environment(folder, **settings):
    return {**os.environ, "LEASTACTION_CACHE_DIR": str(folder), "LEASTACTION_BITCODE": "0", "LEASTACTION_AHEAD": "0", **settings}


def place(folder, **settings):
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment(folder, **settings), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(autouse=True)
def as_in_a_new_process(monkeypatch):
    """No other test has compiled functions of its own, which would belong to the version of the sources."""
    monkeypatch.setattr(cache, "_outside", {})


def job():
    model = la.examples.chain(3).compile()
    kinds = typeof(model.tree), typeof(model.make_work()), LINE, LINE
    return pickle.dumps((cache.version(), "ab" * 8, [(trees.__name__, "place_entry", kinds)]))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """An entry point that one process has compiled."""
    return place(tmp_path_factory.mktemp("alone"))


def test_what_is_read_is_what_numba_meets(alone):
    _, _, met, missed, wrong = alone
    assert len(met) > 100 and len(missed) <= 0.02 * len(met), missed
    assert len(wrong) <= 0.02 * len(met), wrong


def test_who_finds_the_parts_of_another_process_makes_the_same_machine_code(tmp_path, alone):
    command = [sys.executable, "-c", "from leastaction.compiling.ahead import main; main()"]
    process = subprocess.Popen(command, env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    process.stdin.write(job())
    process.stdin.flush()  # not closed: it goes on until it is done
    assert process.wait(300) == 0 and process.stdout.read() == b""
    process.stdin.close(), process.stdout.close()
    numbers, code, met, _, _ = place(tmp_path)
    assert len(met) < 5  # the entry point and what has no name of its own
    assert (numbers, code) == (alone[0], alone[1])


def test_both_at_once(tmp_path, alone):
    (tmp_path / "sitecustomize.py").write_text(IDLE)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    numbers, code, met, _, _ = place(tmp_path / "cache", LEASTACTION_AHEAD="1", PYTHONPATH=path)
    assert (numbers, code) == (alone[0], alone[1])
    assert set(met) <= set(alone[2])
    packs = list(tmp_path.rglob(f"*{parts.SUFFIX}"))
    assert len(packs) == 1 and not list(tmp_path.rglob("*.part"))  # pieces were put together
    assert len(pickle.loads(packs[0].read_bytes()[32:])) >= 0.9 * len(alone[2])


def test_nothing_is_wrong_where_the_other_process_cannot_start(tmp_path, alone):
    (tmp_path / "sitecustomize.py").write_text(IDLE + "import sys\nif 'ahead' in str(sys.orig_argv):\n    os._exit(3)\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    numbers, code, met, _, _ = place(tmp_path / "cache", LEASTACTION_AHEAD="1", PYTHONPATH=path)
    assert (numbers, code) == (alone[0], alone[1]) and sorted(met) == sorted(alone[2])


# ---------------------------------------------------------------------------------------------------- when it goes


def is_there(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def gone(number, seconds=20.0):
    end = time.monotonic() + seconds
    while is_there(number) and time.monotonic() < end:
        time.sleep(0.05)
    return not is_there(number)


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@needs_proc
def test_it_ends_when_it_is_told_to(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    helper = ahead.Ahead(job(), "ab" * 8)
    number = helper._process.pid
    assert is_there(number)
    helper.close()
    assert not Path(f"/proc/{number}").exists()  # nor is there a zombie
    helper.close()


STARTER = """
import os, sys, time
from pathlib import Path
from leastaction.compiling import ahead, cache
cache.folder = lambda: Path(sys.argv[1])
helper = ahead.Ahead(bytes.fromhex(sys.stdin.readline()), "ab" * 8)
if len(sys.argv) > 2 and os.fork() == 0:  # it holds the input of the other process open
    time.sleep(60)
    os._exit(0)
print(helper._process.pid, flush=True)
time.sleep(60)
"""


@needs_proc
@pytest.mark.parametrize("forked", [False, True])
def test_it_ends_when_the_one_that_started_it_is_killed(tmp_path, forked):
    command = [sys.executable, "-W", "ignore", "-c", STARTER, str(tmp_path), *["forked"] * forked]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        started.stdin.write(job().hex() + "\n")
        started.stdin.flush()
        number = int(started.stdout.readline())
        assert is_there(number)
        started.kill()
        started.wait()
        assert gone(number)
    finally:
        os.killpg(started.pid, signal.SIGKILL) if forked else None
        started.stdin.close(), started.stdout.close()


def test_of_another_version_it_makes_nothing(tmp_path):
    content = pickle.dumps(("standard-0", "ab" * 8, pickle.loads(job())[2]))
    command = [sys.executable, "-c", "from leastaction.compiling.ahead import main; main()"]
    subprocess.run(command, env=environment(tmp_path), input=content, timeout=60, check=True)
    assert not list(tmp_path.rglob(f"*{parts.SUFFIX}"))


# ------------------------------------------------------------------------------------------------- when it is started


@pytest.fixture
def willing(monkeypatch):
    """Where it would be started; gives the function that says whether it is."""
    monkeypatch.setenv("LEASTACTION_AHEAD", "1")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    monkeypatch.setattr(os, "getloadavg", lambda: (1.2, 5.0, 5.0), raising=False)
    monkeypatch.setattr(ahead, "Ahead", lambda job, label: (pickle.loads(job), label))
    return lambda: ahead.start(trees.place_entry.dispatcher, (LINE,))


def test_it_is_told_what_to_make(willing):
    (version, label, jobs), same = willing()
    assert version == cache.version() and label == same and jobs == [("leastaction.kernels.tree.evaluate", "place_entry", (LINE,))]


@pytest.mark.parametrize(
    "place, name, value",
    [
        (os, "sched_getaffinity", lambda process: {1}), (os, "getloadavg", lambda: (1.6, 0.0, 0.0)),
        (ahead, "AVAILABLE", False), (config, "BOUNDSCHECK", 1), (ahead.canaries, "ON", True),
        (ahead.bitcode, "collecting", lambda: True), (cache, "enabled", lambda: False), (sys, "executable", "/opt/modeller"),
        (sys, "executable", None), (ahead.multiprocessing, "parent_process", lambda: "a pool"),
    ],
)  # fmt: skip
def test_where_it_would_be_of_no_use_it_is_not_started(willing, monkeypatch, place, name, value):
    assert willing() is not None
    monkeypatch.setattr(place, name, value)
    assert willing() is None


def test_it_is_switched_off_by_the_environment_and_for_code_of_others(willing, monkeypatch):
    assert ahead.start(kernel(lambda a: a), (LINE,)) is None
    monkeypatch.setenv("LEASTACTION_AHEAD", "0")
    assert willing() is None
    monkeypatch.delenv("LEASTACTION_AHEAD")  # nobody asks for it
    assert willing() is None


def test_that_it_cannot_be_started_is_no_error(willing, monkeypatch):
    def refuse(job, label):
        raise OSError(12, "out of memory")

    monkeypatch.setattr(ahead, "Ahead", refuse)
    assert willing() is None
