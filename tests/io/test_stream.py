"""Runs that are written while they are made: the same numbers, readable at any moment, and they go on after whatever happened."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.kills import sums

import leastaction as la
from leastaction.records import stream

pytest.importorskip("h5py")
START = {"upper": 1.0}


@pytest.fixture(scope="module")
def model():
    mech = la.examples.double_pendulum()
    mech.add_limit("lower", -10.0, 1.5)
    return mech.compile()


def ways(model):
    tau = np.random.default_rng(2).normal(size=(200, 2))
    yield "plain", {"steps": 200}
    yield "sparse", {"steps": 200, "record_every": 7}
    yield "duration", {"duration": 0.4, "integrator": la.RK4()}
    yield "forces", {"steps": 200, "tau": [0.1, 0.2]}
    yield "rows", {"steps": 200, "tau": tau, "record_every": 3}
    yield "control", {"steps": 200, "control": lambda t, state: [np.sin(t), 0.0], "guard": True}
    yield "adaptive", {"duration": 0.5, "integrator": la.AdaptiveStep(), "record_every": 2}
    yield "limit", {"steps": 2000, "record_every": 7}
    yield "ignored", {"steps": 600, "limits": "ignore"}
    yield "nothing", {"steps": 0}
    yield "one", {"steps": 1, "tau": tau[:1]}


@pytest.mark.parametrize("way", [name for name, _ in ways(None)])
def test_the_same_run(model, way, tmp_path, monkeypatch):
    """Written in many parts, stopped in the middle, or in one go: the same file as when it is saved at the end."""
    how = {"dt": 2e-3, "q": START, **dict(ways(model))[way]}
    plain = la.simulate(model, **how)
    plain.save(tmp_path / "plain.h5")
    monkeypatch.setattr(stream, "_MOST_BYTES", 1000)
    run = la.simulate(model, record_to=tmp_path / "run.h5", **how)
    assert run == plain and run.warnings == plain.warnings
    made, append = [], stream.Writer.append

    def stopped(writer, part, first=False):
        append(writer, part, first)
        made.append(part)
        if len(made) in (2, 4):
            raise KeyboardInterrupt

    monkeypatch.setattr(stream.Writer, "append", stopped)
    for _ in range(3):
        try:
            again = la.simulate(model, record_to=tmp_path / "again.h5", resume=True, **how)
            break
        except KeyboardInterrupt:
            partly = la.open(tmp_path / "again.h5")
            assert "being written, or interrupted" in partly.message and 0 < partly.steps <= plain.steps
    assert again == plain and len(made) > 4 or way in ("nothing", "one")
    assert sums(tmp_path / "again.h5") == sums(tmp_path / "run.h5") == sums(tmp_path / "plain.h5")
    assert sorted(os.listdir(tmp_path)) == ["again.h5", "plain.h5", "run.h5"]
    on = [la.simulate(model, r.state(), dt=2e-3, steps=20, limits="ignore", integrator=how.get("integrator")) for r in (run, plain)]
    assert on[0] == on[1]


def test_a_run_can_be_read_while_it_is_made(model, tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "_MOST_BYTES", 4000)
    path, seen = tmp_path / "run.h5", []

    def control(t, state):
        if (stream.unfinished(path) / "index.npz").exists() and len(seen) < 3 and t > 0.05 * len(seen):
            there = la.open(path)
            seen.append(there.steps)
            np.testing.assert_array_equal(there.t, 2e-3 * np.arange(len(there)))
            assert there.state().continues
            with pytest.raises(la.StateError, match="is being written by another process"):
                la.simulate(model, dt=2e-3, steps=9, record_to=path)
        return [0.0, 0.0]

    la.simulate(model, dt=2e-3, steps=150, q=START, control=control, record_to=path)
    assert len(seen) == 3 and seen[2] > 0


def test_longer_and_shorter_than_before(model, tmp_path):
    how = {"dt": 2e-3, "q": START, "record_to": tmp_path / "run.h5"}
    la.simulate(model, steps=100, **how)
    stamp = os.stat(tmp_path / "run.h5").st_mtime_ns
    assert la.simulate(model, steps=100, resume=True, **how).steps == 100
    assert os.stat(tmp_path / "run.h5").st_mtime_ns == stamp, "nothing was left to do"
    assert la.simulate(model, steps=150, resume=True, **how) == la.simulate(model, dt=2e-3, q=START, steps=150)
    with pytest.raises(la.StateError, match="has 150 steps already, more than the 60 asked for"):
        la.simulate(model, steps=60, resume=True, **how)
    for changed, named in (
        ({"dt": 1e-3}, "another dt: 0.002 there, 0.001 here"), ({"q": {"upper": 1.1}}, "began with another q"),
        ({"integrator": la.RK4()}, "another integrator"), ({"record_every": 2}, "another record_every: 1 there, 2 here"),
        ({"guard": True}, "another guard"), ({"record_to": tmp_path / "run.npz"}, "the suffix is one of .h5"),
        ({"record_to": None}, "resume=True goes on with a file"), ({"record_to": tmp_path / "no" / "run.h5"}, "cannot be written"),
    ):  # fmt: skip
        with pytest.raises(la.LeastActionError, match=named):
            la.simulate(model, steps=200, resume=True, **how | changed)
    other = la.examples.chain(2).compile()
    with pytest.raises(la.StateError, match="another model"):
        la.simulate(other, dt=2e-3, steps=200, record_to=tmp_path / "run.h5", resume=True)
    assert la.simulate(model, steps=10, **how).steps == 10, "without resume it begins again"
    la.simulate(model, steps=10, record_every=7, **how)
    with pytest.raises(la.StateError, match="which record_every = 7 does not divide"):
        la.simulate(model, steps=20, record_every=7, resume=True, **how)


def test_a_step_that_is_not_solved_ends_the_file(tmp_path):
    model = la.examples.chain(4).compile()
    with pytest.raises(la.ConvergenceError) as caught:
        la.simulate(model, dt=0.4, steps=500, q=[2.5, 0.5, -1.0, 2.0], record_to=tmp_path / "run.h5")
    run = la.open(tmp_path / "run.h5")
    assert not run.converged and run.message == str(caught.value) and caught.value.trajectory == run and run.steps == caught.value.step
    assert os.listdir(tmp_path) == ["run.h5"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_loses_nothing(model, tmp_path, monkeypatch):
    how = {"dt": 2e-3, "steps": 200, "q": START}
    real, parts = stream.Writer._write, [0]

    def write(self, name, array):
        parts[0] += 1
        if parts[0] == 30:
            self._files[name].close()
            self._files[name] = open("/dev/full", "ab")  # noqa: SIM115
        real(self, name, array)

    monkeypatch.setattr(stream.Writer, "_write", write)
    monkeypatch.setattr(stream, "_MOST_BYTES", 1000.0)
    with pytest.raises(la.StateError, match="No space left on device; the .* steps before are kept"):
        la.simulate(model, record_to=tmp_path / "run.h5", **how)
    monkeypatch.undo()
    whole = la.simulate(model, **how)
    kept = la.open(tmp_path / "run.h5")
    assert 0 < kept.steps < 200 and np.array_equal(kept.q, whole.q[: len(kept)])
    assert np.array_equal(la.simulate(model, record_to=tmp_path / "run.h5", resume=True, **how).q, whole.q)


def test_kill_9():
    """See support/kills.py; `make kills` does it fifty times."""
    here = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(Path(la.__file__).parents[1])])}
    command = [sys.executable, "-m", "support.kills", os.environ.get("LEASTACTION_KILLS", "6"), "3000"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    print(found)
    assert found["times it had got further"] >= 2  # else nothing but starts was killed
    assert found["equal"] and found["kills"] >= 3 and found["left over"] == ["killed.h5", "whole.h5"]
