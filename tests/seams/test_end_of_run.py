"""The last node of a run is always in it, and what was recorded before an exception is not lost."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import StateError


@pytest.fixture(scope="module")
def model():
    return la.examples.double_pendulum().compile()


@pytest.mark.parametrize("control", [None, lambda t, state: [0.0, 0.0]])
@pytest.mark.parametrize("every", [1, 3, 7, 10, 100])
@pytest.mark.parametrize("steps", [0, 1, 9, 10])
def test_the_last_node_is_recorded(model, steps, every, control):
    whole = la.simulate(model, dt=0.01, steps=steps, q={"upper": 1.0}, control=control)
    run = la.simulate(model, dt=0.01, steps=steps, q={"upper": 1.0}, record_every=every, control=control)
    kept = sorted({*range(0, steps + 1, every), steps})
    np.testing.assert_array_equal(run.t, whole.t[kept])
    np.testing.assert_array_equal(run.q, whole.q[kept])
    assert run.state() == whole.state() and run.steps == steps


def test_so_it_is_with_steps_of_variable_length(model):
    run = la.simulate(model, dt=0.02, duration=0.5, q={"upper": 1.0}, record_every=4, integrator=la.AdaptiveStep())
    whole = la.simulate(model, dt=0.02, duration=0.5, q={"upper": 1.0}, integrator=la.AdaptiveStep())
    assert run.state() == whole.state() and run.t[-1] >= 0.5 > run.t[-2]


def test_an_exception_of_the_control_law_keeps_what_was_made(model):
    def control(t, state):
        if t > 0.045:
            raise ZeroDivisionError("oops")
        return [0.1, 0.0]

    sim = la.Simulator(model, dt=0.01, q={"upper": 1.0})
    with pytest.raises(ZeroDivisionError, match="oops") as caught:
        sim.run(100, control=control, record_every=2)
    run = caught.value.trajectory
    assert run is sim.trajectory and not run.converged and "ZeroDivisionError: oops" in run.message
    np.testing.assert_allclose(run.t, [0.0, 0.02, 0.04, 0.05], atol=1e-12)
    assert run.state() == sim.state
    with pytest.raises(ZeroDivisionError) as caught:
        la.simulate(model, dt=0.01, duration=1.0, control=control, integrator=la.AdaptiveStep())
    assert len(caught.value.trajectory) > 3


@pytest.mark.parametrize("controlled", [False, True])
def test_ctrl_c_keeps_what_was_made(model, controlled):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us deaf to it
    try:
        interrupted(model, controlled)
    finally:
        signal.signal(signal.SIGINT, before)


def interrupted(model, controlled):
    sim = la.Simulator(model, dt=1e-4, q={"upper": 1.0})
    sim.run(1)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        sim.run(4_000_000 if controlled else 40_000_000, record_every=10_000, control=(lambda t, state: [0.0, 0.0]) if controlled else None)
    run = caught.value.trajectory
    assert run.steps > 10 and run.state() == sim.state and run.t[-1] == sim.t
    assert pickle.loads(pickle.dumps(run)) == run


def test_one_thread_at_a_time(model):
    sim = la.Simulator(model, dt=1e-4, q={"upper": 1.0})
    inside, refused = threading.Event(), []

    def control(t, state):
        inside.set()
        return [0.0, 0.0]

    thread = threading.Thread(target=sim.run, args=(2000,), kwargs={"control": control})
    thread.start()
    inside.wait()
    for make_steps in (sim.step, lambda: sim.run(3), sim.reverse):
        try:
            make_steps()
        except StateError as error:
            refused.append(str(error))
    thread.join()
    assert len(refused) == 3 and "a Simulator of its own for each thread" in refused[0]
    sim.step()
    assert sim.steps == 2001


def test_threads_with_simulators_of_their_own_share_a_model(model):
    def run(k):
        results[k] = la.simulate(model, dt=1e-3, steps=2000, q={"upper": 0.1 * k})

    results = {}
    threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(6):
        assert results[k] == la.simulate(model, dt=1e-3, steps=2000, q={"upper": 0.1 * k})
