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
