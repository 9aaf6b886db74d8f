"""simulate(specialise="background"): another process makes the code while the run goes on.  tests/plain/switching.py has the rest."""

import time

import numpy as np
import pytest
from numba import config

import leastaction as la
from leastaction.integrators import background


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_another_process_makes_the_code(monkeypatch):
    monkeypatch.setattr(background, "_FIRST_LOOK", 0.0)
    monkeypatch.setattr(background, "_WORTH", 0.0)
    monkeypatch.setattr(background, "_FASTER", 9.5)  # whatever a busy machine measures
    monkeypatch.setattr(background.os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    start = {"dt": 1e-3, "q": {"link1": 0.8}}
    model = la.examples.chain(30).compile()
    sim = la.Simulator(model, **start)
    sim._switch = background.Background(10**9)
    began = time.perf_counter()
    while sim.specialised_from is None and time.perf_counter() - began < 300.0:
        run = sim.run(50)
        time.sleep(0.2)
        assert not run.remarks
    sim._switch.close()
    last = sim.run(50)
    assert last.specialised_from is not None
    again = la.simulate(model, steps=sim.steps, specialise=last.specialised_from, **start)
    assert np.array_equal(again.q[-51:], last.q)


def test_a_process_that_fails_is_no_disaster(monkeypatch):
    monkeypatch.setattr(background, "_FIRST_LOOK", 0.0)
    monkeypatch.setattr(background, "_WORTH", 0.0)
    monkeypatch.setattr(background.sys, "executable", "false")
    monkeypatch.setattr(background.os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    sim = la.Simulator(la.examples.chain(30).compile(), dt=1e-3)
    sim._switch = background.Background(10**9)
    for _ in range(20):
        run = sim.run(50)
        time.sleep(0.05)
    assert run.specialised_from is None and run.remarks == ('specialise="background" came to nothing: the other process ended with 1',)
    assert run.remarks[0] in str(run)


def test_short_runs_start_no_process(monkeypatch):
    monkeypatch.setattr(background.Background, "_start", lambda *arguments: pytest.fail("a process was started"))
    monkeypatch.setattr(background, "_FIRST_LOOK", 0.0)
    run = la.simulate(la.examples.chain(30).compile(), dt=1e-3, steps=2000, specialise="background")
    assert run.specialised_from is None and not run.remarks
