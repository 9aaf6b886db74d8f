"""A run that is continued from its last state is, bit for bit, the run that was never stopped."""

import hashlib
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from conformance.matrix import DT, INTEGRATORS, model_of

import leastaction as la
from leastaction.integrators.base import CompiledStepper

STEPS, STOP = 40, 13
ROWS = ("t", "q", "recorded", "errors", "multipliers", "v", "p", "energy", "momentum")


def bits(array):
    return None if array is None else (array.shape, array.dtype, array.tobytes())


def assert_continued(whole, first, second):
    """first + second, which begins with the last node of first, is whole."""
    for name in ROWS:
        parts = [getattr(run, name) for run in (first, second)]
        if parts[0] is None:
            assert getattr(whole, name) is None
            continue
        assert bits(parts[0][-1:]) == bits(parts[1][:1]), f"{name} of the node where the run was stopped"
        assert bits(np.concatenate([parts[0], parts[1][1:]])) == bits(getattr(whole, name)), name
    assert bits(np.concatenate([first.iterations, second.iterations])) == bits(whole.iterations)


def assert_same(a, b):
    for name in (*ROWS, "iterations"):
        assert bits(getattr(a, name)) == bits(getattr(b, name)), name


@pytest.mark.parametrize("joint_and_constraint", [("Spherical", "none"), ("Universal", "Close")], ids="-".join)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_every_integrator(integrator, joint_and_constraint):
    model, start = model_of(*joint_and_constraint)
    tau = 0.1 * np.random.default_rng(3).normal(size=(STEPS, model.nv))
    for guard in (False, True):
        how = {"dt": 5 * DT, "integrator": INTEGRATORS[integrator], "guard": guard}
        try:
            whole = la.simulate(model, start, steps=STEPS, tau=tau, **how)
        except (la.StateError, la.MechanismError):
            continue  # refused, which is another test's business
        first = la.simulate(model, start, steps=STOP, tau=tau[:STOP], **how)
        assert first.state().continues and not first.state(0).continues
        second = la.simulate(model, first.state(), steps=STEPS - STOP, tau=tau[STOP:], **how)
        assert_continued(whole, first, second)
        sparse = la.simulate(model, start, steps=STEPS, tau=tau, record_every=7, **how)
        kept = [*range(0, STEPS, 7), STEPS]
        for name in ROWS:
            assert getattr(whole, name) is None or bits(getattr(sparse, name)) == bits(getattr(whole, name)[kept]), name
        sim = la.Simulator(model, start, **how)
        for row in tau[:STOP]:
            sim.step(row)
        other = la.Simulator(model, pickle.loads(pickle.dumps(sim.state)), **how)
        assert_same(other.run(STEPS - STOP, tau=tau[STOP:]), second)
        assert sim.state == first.state()


def pendulum():
    return la.examples.double_pendulum().compile()


def test_what_a_start_from_q_and_p_alone_differs_by():
    """Otherwise nothing above would be shown: without the memory the last digits are others."""
    model = pendulum()
    whole, first = (la.simulate(model, dt=0.01, steps=n, q={"upper": 1.0}) for n in (60, 20))
    anew = la.simulate(model, replace(first.state()), dt=0.01, steps=40)
    assert not replace(first.state()).continues and first.state() == replace(first.state())
    assert bits(anew.q) != bits(whole.q[20:])
    np.testing.assert_allclose(anew.q, whole.q[20:], atol=1e-8)


def test_a_control_law_and_a_specialised_model():
    law = lambda t, state: [0.3 * np.sin(5 * t), -0.1 * state.v[1]]
    model = la.examples.chain(2).compile()
    for m in (model, model.specialise()):
        for control in (law, None):
            runs = [la.simulate(m, dt=0.01, steps=n, q={"link1": 1.0}, control=control) for n in (50, 21)]
            assert_continued(*runs, la.simulate(m, runs[1].state(), dt=0.01, steps=29, control=control))


def test_steps_of_variable_length_until_a_time():
    model, how = pendulum(), {"dt": 0.05, "integrator": la.AdaptiveStep()}
    whole = la.simulate(model, duration=1.0, q={"upper": 2.0}, **how)
    first = la.simulate(model, steps=len(whole) // 2, q={"upper": 2.0}, **how)
    second = la.simulate(model, first.state(), steps=whole.steps - first.steps, **how)
    assert_continued(whole, first, second)


def test_steps_that_the_guard_subdivides():
    model = la.examples.chain(4).compile()
    how = {"dt": 0.1, "guard": True, "integrator": la.Variational()}
    start = model.state([2.5, 0.5, -1.0, 2.0])
    sim = la.Simulator(model, start, **how)
    whole = sim.run(60)
    assert sim.subdivided, "the step is so long that some are subdivided"
    after = int(round(sim.subdivided[0][0] / 0.1)) + 2
    first = la.simulate(model, start, steps=after, **how)
    again = la.Simulator(model, first.state(), **how)
    assert_continued(whole, first, again.run(60 - after))
    assert again.subdivided == sim.subdivided
    late = la.simulate(model, replace(start, t=0.3), steps=60, record_every=7, **how)
    assert len(late) == 10 and np.all(np.diff(late.t) > 0.05), "the last node is recorded once"


def test_a_run_that_stopped_at_a_limit_goes_on_where_limits_are_ignored():
    mech = la.examples.double_pendulum()
    mech.add_limit("lower", -10.0, 0.4)
    model, how = mech.compile(), {"dt": 1e-3, "q": {"upper": 1.2}}
    for tau in (None, np.random.default_rng(0).normal(size=(2000, 2))):
        whole = la.simulate(model, steps=2000, limits="ignore", tau=tau, **how)
        for every in (1, 7):
            first = la.simulate(model, steps=2000, tau=tau, record_every=every, **how)
            assert 256 < first.steps < 2000 and "went beyond" in first.message
            rest = None if tau is None else tau[first.steps :]
            second = la.simulate(model, first.state(), dt=1e-3, steps=2000 - first.steps, limits="ignore", tau=rest)
            assert bits(second.q) == bits(whole.q[first.steps :]) and bits(second.iterations) == bits(whole.iterations[first.steps :])


def test_memory_belongs_to_an_integrator_a_step_and_a_node():
    model = pendulum()
    state = la.simulate(model, dt=0.01, steps=20, q={"upper": 1.0}).state()
    anew = replace(state)
    for other in ({"dt": 0.02}, {"dt": 0.01, "integrator": la.RK4()}, {"dt": 0.01, "integrator": la.Variational(tol=1e-12)}):
        assert_same(la.simulate(model, state, steps=9, **other), la.simulate(model, anew, steps=9, **other))
    state.q[0] += 0.1
    anew.q[0] += 0.1
    assert_same(la.simulate(model, state, dt=0.01, steps=9), la.simulate(model, anew, dt=0.01, steps=9))


def test_a_stepper_that_does_not_say_what_it_remembers_starts_anew(monkeypatch):
    monkeypatch.setattr(CompiledStepper, "remember", lambda self: None)
    mech = la.examples.double_pendulum()
    mech.add_limit("lower", -10.0, 0.4)
    run = la.simulate(mech.compile(), dt=1e-3, steps=2000, q={"upper": 1.2})
    assert "went beyond" in run.message and not run.state().continues
    la.simulate(run.model, run.state(), dt=1e-3, steps=5, limits="ignore")


ELSEWHERE = """
import hashlib, pickle, sys
import leastaction as la

state = pickle.load(sys.stdin.buffer)
run = la.simulate(state.model, state, dt=0.01, steps=30, integrator={integrator})
print(hashlib.sha256(run.t.tobytes() + run.q.tobytes() + run.recorded.tobytes() + run.iterations.tobytes()).hexdigest())
"""


@pytest.mark.parametrize("integrator", ["la.Variational()", "la.Maximal()"])
def test_in_another_process(integrator):
    model = la.examples.four_bar().compile()
    q = model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    first = la.simulate(model, dt=0.01, steps=20, q=q, integrator=eval(integrator))
    code = ELSEWHERE.format(integrator=integrator)
    there = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(first.state()), capture_output=True, check=True).stdout.strip()
    run = la.simulate(model, first.state(), dt=0.01, steps=30, integrator=eval(integrator))
    here = hashlib.sha256(run.t.tobytes() + run.q.tobytes() + run.recorded.tobytes() + run.iterations.tobytes()).hexdigest()
    assert there == here.encode()
