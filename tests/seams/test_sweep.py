"""A function at many points, in processes and on clusters: all results in order, none twice, whatever happens to the workers."""

import os
import pickle
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import leastaction as la

GRID = {"x": [1.0, 2.0, 3.0], "y": [0.0, -1.0]}


def note(folder, name):
    """Leaves a file behind, one more for every call."""
    (folder / f"{name}-{time.time_ns()}-{os.getpid()}").touch()


def product(x, y):
    if y == -1.0 and x == 2.0:
        raise ValueError(f"not at {x}")
    return x * y, os.getpid()


def test_results_come_in_order_and_calls_that_raise_are_named():
    found = la.sweep(product, GRID, processes=2)
    assert found.points == [{"x": x, "y": y} for x in GRID["x"] for y in GRID["y"]]
    assert [r and r[0] for r in found.results] == [0.0, -1.0, 0.0, None, 0.0, -3.0]
    assert list(found.errors) == [3] and "ValueError: not at 2.0" in found.errors[3] and found.failed.sum() == 1
    assert all(r[1] != os.getpid() for r in found.results if r), "in processes of their own"
    assert "6 points, 1 failed, the first {'x': 2.0, 'y': -1.0}" in repr(found)


def test_simulations_elsewhere_have_the_same_bits():
    model = la.examples.double_pendulum().compile()
    task = lambda upper: la.simulate(model, dt=0.01, steps=20, q={"upper": upper}).q  # a lambda: it travels as code
    there = la.sweep(task, {"upper": [0.1, 0.2, 0.3]}, processes=2)
    assert not there.errors and all(np.array_equal(a, task(x)) for a, x in zip(there.results, (0.1, 0.2, 0.3), strict=True))


def test_what_a_lost_worker_had_is_run_again(tmp_path):
    def task(k):
        note(tmp_path, k)
        if k == 7 and len(list(tmp_path.glob("7-*"))) < 2:
            os._exit(1)
        return k * k

    found = la.sweep(task, {"k": range(30)}, processes=2)
    assert found.results == [k * k for k in range(30)] and not found.errors


def test_a_call_that_always_ends_its_process_is_named_and_the_others_are_there():
    found = la.sweep(lambda k: os._exit(1) if k == 3 else k, {"k": range(8)}, processes=2, retries=1)
    assert list(found.errors) == [3] and "lost 2 times" in found.errors[3]
    assert found.results == [0, 1, 2, None, 4, 5, 6, 7]


def test_resume_runs_only_what_is_missing(tmp_path):
    def task(k, fail=(2, 5)):
        note(tmp_path, k)
        if k in fail and not (tmp_path / "repaired").exists():
            raise RuntimeError("not yet")
        return -k

    with ThreadPoolExecutor(2) as pool:
        first = la.sweep(task, [{"k": k} for k in range(8)], executor=pool)
        assert list(first.errors) == [2, 5]
        (tmp_path / "repaired").touch()
        second = la.sweep(task, [{"k": k} for k in range(8)], executor=pool, resume=pickle.loads(pickle.dumps(first)))
    assert second.results == [-k for k in range(8)] and not second.errors
    assert [len(list(tmp_path.glob(f"{k}-*"))) for k in range(8)] == [1, 1, 2, 1, 1, 2, 1, 1]
    with pytest.raises(la.StateError, match="none of these points"):
        la.sweep(task, {"k": [1]}, resume=first)


def test_an_interrupted_sweep_keeps_what_it_has():
    def task(k):
        if k == 4:
            raise KeyboardInterrupt
        return k

    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt) as raised:
        la.sweep(task, {"k": range(6)}, executor=pool)
    kept = raised.value.sweep
    assert kept.results[:4] == [0, 1, 2, 3] and "was not run: KeyboardInterrupt" in kept.errors[4]


def test_an_executor_of_somebody_else_that_breaks_is_an_error_with_what_was_made():
    with ProcessPoolExecutor(1) as pool, pytest.raises(la.StateError, match="resume=error.sweep") as raised:
        la.sweep(_end, {"k": [1, 2]}, executor=pool)
    assert len(raised.value.sweep.errors) == 2


def _end(k):
    os._exit(k)


@pytest.mark.filterwarnings("ignore")  # those of Dask about itself
def test_a_worker_of_a_cluster_is_killed_in_the_middle(tmp_path):
    distributed = pytest.importorskip("distributed")

    def task(k):
        import time as clock

        (tmp_path / f"started-{k}").touch()
        clock.sleep(0.02)
        return k**3

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        ThreadPoolExecutor(1) as aside,
    ):
        running = aside.submit(la.sweep, task, {"k": range(200)}, executor=client)
        while len(list(tmp_path.glob("started-*"))) < 40:
            time.sleep(0.02)
        next(iter(cluster.workers.values())).process.process._process.kill()
        found = running.result(timeout=120)
    assert found.results == [k**3 for k in range(200)] and not found.errors


BAD = {
    "task = 3 is not a function": {"task": 3},
    "parameters = 5": {"parameters": 5},
    "parameters = 'x'": {"parameters": "x"},
    "parameters[1] = 2; a point is": {"parameters": [{"x": 1, "y": 2}, 2]},
    "give a list of values for every name": {"parameters": {"x": 1}},
    "names are text": {"parameters": {1: [2]}},
    "processes = 0": {"processes": 0},
    "retries = -1": {"retries": -1},
    "executor = 7; give an executor of concurrent.futures": {"executor": 7},
    "give an executor or a number of processes": {"executor": 7, "processes": 2},
    "no scheduler answers there": {"executor": "tcp://127.0.0.1:1"},
}


@pytest.mark.parametrize("message", BAD)
def test_what_is_wrong_is_named_before_anything_runs(message):
    if "executor" in BAD[message] and isinstance(BAD[message]["executor"], str):
        pytest.importorskip("distributed")
    with pytest.raises(la.LeastActionError) as raised:
        la.sweep(**{"task": product, "parameters": GRID} | BAD[message])
    assert message in str(raised.value)


def test_a_task_that_cannot_be_sent_and_a_result_that_cannot_come_back():
    import threading

    lock = threading.Lock()
    with pytest.raises(la.LeastActionError, match="lock"):
        la.sweep(lambda k: lock and k, {"k": [1]}, processes=1)
    found = la.sweep(lambda k: (x for x in range(k)), {"k": [1]}, processes=1)
    assert "cannot pickle 'generator' object" in found.errors[0]


def test_without_the_extra_the_message_names_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(la.LeastActionError, match=r"leastaction\[cluster\]"):
        la.sweep(product, GRID, executor="tcp://somewhere:8786")


# ------------------------------------------------------------------------------------------------------------------ in a file


def described(k):
    """What a store keeps: numbers, text, arrays of one size and of different sizes."""
    if k == 3:
        raise ValueError("not this one")
    name = f"point {k} \N{GREEK SMALL LETTER OMEGA}"
    return {"square": k * k, "third": k / 3, "name": name, "row": np.arange(4.0) * k, "rest": np.ones(k)}


def equal(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) and type(a[name]) is type(b[name]) for name in a)


def test_a_store_gives_back_what_calls_returned(tmp_path):
    path = tmp_path / "sweep.h5"
    with ThreadPoolExecutor(2) as pool:
        found = la.sweep(described, {"k": range(6)}, executor=pool, store=path)
        again = la.Sweep.read(path)
        assert again.points == found.points and list(again.errors) == [3] and "not this one" in again.errors[3] and again.results[3] is None
        assert all(equal(again.results[k], described(k)) for k in (0, 1, 2, 4, 5))
        assert [p.name for p in tmp_path.iterdir()] == ["sweep.h5"]
        numbers = la.sweep(lambda x: 2.0 * x, {"x": [0.1, np.float64(0.2)]}, executor=pool, store=tmp_path / "numbers.h5")
    assert la.Sweep.read(tmp_path / "numbers.h5").results == numbers.results == [0.2, 0.4]


def test_a_store_goes_on_after_a_kill_at_any_byte(tmp_path):
    """The file of a sweep that was killed is cut anywhere: what is whole is kept, the rest is run again."""
    path, calls = tmp_path / "sweep.h5", []
    log = tmp_path / "sweep.h5.writing"

    def task(k):
        calls.append(k)
        if k == 5:
            time.sleep(0.5)  # what came before is taken meanwhile
            raise KeyboardInterrupt
        return np.full(3, k)

    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        la.sweep(task, {"k": range(8)}, executor=pool, store=path)
    whole = log.read_bytes()
    meanwhile = la.Sweep.read(path)
    there = np.flatnonzero(~meanwhile.failed)  # perhaps also a point behind the one that was interrupted
    kept = len(there)
    assert kept and all(np.array_equal(meanwhile.results[k], np.full(3, k)) for k in there)
    for cut in (0, 5, 40, len(whole) // 2, len(whole) - 1, len(whole)):
        path.unlink(missing_ok=True)
        log.write_bytes(whole[:cut])
        calls.clear()
        with ThreadPoolExecutor(1) as pool:
            found = la.sweep(lambda k: calls.append(k) or np.full(3, k), {"k": range(8)}, executor=pool, store=path, resume=True)
        assert not found.errors and all(np.array_equal(r, np.full(3, k)) for k, r in enumerate(found.results))
        assert len(calls) == len(set(calls)) and (cut < len(whole) or len(calls) == 8 - kept)


def test_a_finished_store_runs_only_what_failed(tmp_path):
    calls = []
    for broken in (True, False):
        with ThreadPoolExecutor(2) as pool:
            task = lambda k, broken=broken: calls.append(k) or (1 / 0 if broken and k == 2 else k)
            found = la.sweep(task, {"k": range(4)}, executor=pool, store=tmp_path / "s.h5", resume=True)
    assert sorted(calls) == [0, 1, 2, 2, 3] and found.results == [0, 1, 2, 3] and not la.Sweep.read(tmp_path / "s.h5").errors


def test_what_is_wrong_with_a_store_is_named_before_anything_runs(tmp_path):
    ran = []
    task = lambda **point: ran.append(point) or object()
    (tmp_path / "there.h5").write_bytes(b"")
    for message, given in {
        "is there already": {"store": tmp_path / "there.h5"},
        "cannot be written: No such file": {"store": tmp_path / "nowhere" / "s.h5"},
        "the suffix is one of .h5": {"store": "sweep.csv"},
        "goes on with a store": {"resume": True},
        "give an earlier Sweep, or True": {"resume": 3},
        "a store keeps points of numbers": {"store": tmp_path / "o.h5", "parameters": {"x": [object()]}},
    }.items():
        with pytest.raises(la.LeastActionError, match=message), ThreadPoolExecutor(1) as pool:
            la.sweep(task, **{"parameters": {"x": [1]}, "executor": pool, **given})
    assert not ran
    with ThreadPoolExecutor(1) as pool:
        la.sweep(lambda x: x, {"x": [1, 2]}, executor=pool, store=tmp_path / "s.h5")
        with pytest.raises(la.StateError, match="other points"):
            la.sweep(lambda x: x, {"x": [1, 3]}, executor=pool, store=tmp_path / "s.h5", resume=True)
        assert la.Sweep.read(tmp_path / "s.h5").results == [1, 2]
        with pytest.raises(la.StateError, match="a store keeps numbers, text, arrays"):
            la.sweep(task, {"x": [1]}, executor=pool, store=tmp_path / "objects.h5")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    from leastaction.batch import store

    real, room = store.Store.keep, [3]

    def keep(self, k, result=None, error=""):
        if not room[0]:
            file, self._file = self._file, open("/dev/full", "ab", buffering=0)  # noqa: SIM115
            monkeypatch.setattr(store.os, "ftruncate", lambda *_: None)
            try:
                return real(self, k, result, error)
            finally:
                self._file.close()
                self._file = file
        room[0] -= 1
        return real(self, k, result, error)

    monkeypatch.setattr(store.Store, "keep", keep)
    with pytest.raises(la.StateError, match="No space left on device; nothing before is lost"), ThreadPoolExecutor(1) as pool:
        la.sweep(lambda x: x, {"x": range(8)}, executor=pool, store=tmp_path / "s.h5")
    monkeypatch.undo()
    kept = la.Sweep.read(tmp_path / "s.h5")
    assert (~kept.failed).sum() == 3 and all(kept.results[k] == k for k in np.flatnonzero(~kept.failed))
    with ThreadPoolExecutor(1) as pool:
        assert la.sweep(lambda x: x, {"x": range(8)}, executor=pool, store=tmp_path / "s.h5", resume=np.True_).results == list(range(8))
