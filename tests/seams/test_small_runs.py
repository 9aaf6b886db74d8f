"""What a run does not do until somebody asks: copies of memory, momenta of states; and what control laws may return."""

import copy
import gc
import pickle
import signal
import threading
import weakref

import numpy as np
import pytest

import leastaction as la
from leastaction.compiling.gate import Direct, Entry


def bits(run):
    return [np.ascontiguousarray(a).tobytes() for a in (run.t, run.q, run.recorded, run.iterations)]


@pytest.fixture(scope="module")
def model():
    return la.examples.double_pendulum().compile()


HOW = {"dt": 0.01, "q": {"upper": 1.0}}


def test_a_run_goes_on_although_its_simulator_has_moved(model):
    """Its memory is copied when the stepper moves on, not before; and not at all if nobody has it any more."""
    whole = la.simulate(model, steps=60, **HOW)
    sim = la.Simulator(model, **HOW)
    first, state = sim.run(20), sim.state
    moves = [lambda: sim.step(), lambda: sim.run(3), lambda: sim.run(3, control=lambda t, s: [0.0, 0.0]), sim.reverse]
    for move in moves:
        move()
        for begin in (first.state(), state):
            again = la.simulate(model, begin, dt=0.01, steps=40)
            assert again.t.tobytes() == whole.t[20:].tobytes() and again.recorded.tobytes() == whole.recorded[20:].tobytes()
            assert again.q.tobytes() == whole.q[20:].tobytes() and again.iterations.tobytes() == whole.iterations[20:].tobytes()


def test_the_memory_of_two_runs_is_their_own(model):
    first = la.Simulator(model, **HOW)
    alone = la.simulate(model, steps=50, **HOW)
    second = la.Simulator(model, dt=0.01, q={"upper": -0.5}, v={"lower": 3.0})
    for _ in range(50):
        first.step()
        second.step()
    assert first.q.tobytes() == alone.q[-1].tobytes() and model.make_work().row.tobytes() == model.make_work().row.tobytes()


def test_states_of_a_law_can_be_kept_and_taken_anywhere(model):
    kept = []

    def law(t, state):
        kept.append(state)
        return [0.1, 0.0]

    run = la.simulate(model, steps=30, control=law, **HOW)
    del law
    gc.collect()
    found: list = [None] * 30

    def ask(part):
        for k in part:
            found[k] = kept[k].v if k % 2 else kept[k].p

    threads = [threading.Thread(target=ask, args=(range(k, 30, 3),)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, state in enumerate(kept):
        assert np.array_equal(found[k], run.v[k] if k % 2 else run.p[k]) and state.t == run.t[k] and np.array_equal(state.q, run.q[k])
    last = kept[-1]
    assert pickle.loads(pickle.dumps(last)) == copy.deepcopy(last) == last == run.state(29)
    assert set(pickle.loads(pickle.dumps(last)).__dict__) == {"model", "t", "q", "p", "v"}
    with pytest.raises(AttributeError, match="no 'a'; it has"):
        _ = last.a
    kept[3].q[:] = 9.0
    assert run.q.max() < 9.0, "what a law writes to its state is its own affair"


@pytest.mark.parametrize(
    ("forces", "words"),
    [
        (lambda n: np.array([0.0, np.nan]), r"tau\[1\] = nan is not finite"),
        (lambda n: np.array([np.inf, 0.0]), r"tau\[0\] = inf is not finite"),
        (lambda n: np.zeros(3), r"tau has shape \(3,\)"),
        (lambda n: np.zeros((1, 2)), r"tau has shape \(1, 2\)"),
        (lambda n: "push", "tau"),
        (lambda n: {"elbow": 1.0}, "no joint 'elbow'"),
        (lambda n: np.array([1j, 0]), "complex"),
        (lambda n: None, "the control law returned None at t = 0 s"),
    ],
)
def test_what_a_law_returns_is_looked_at(model, forces, words):
    with pytest.raises(la.StateError, match=words):
        la.simulate(model, steps=3, control=lambda t, state: forces(2), **HOW)
    if forces(2) is not None:
        with pytest.raises(la.StateError, match=words):
            la.Simulator(model, **HOW).step(forces(2))


def test_forces_in_every_form_are_the_same_forces(model):
    rows = np.zeros((4, 4))
    rows[:] = [0.3, 0, -0.2, 0]
    forms = [
        np.array([0.3, -0.2]), [0.3, -0.2], (0.3, -0.2), {"upper": 0.3, "lower": -0.2}, rows[0, ::2], rows[1:2, ::2][0],
        np.array([0.3, -0.2], dtype=">f8"), np.array([0.3, -0.2], dtype=object), np.array([0.3, -0.2, 9.9])[:2],
    ]  # fmt: skip
    runs = [la.simulate(model, steps=20, control=lambda t, state, form=form: form, **HOW) for form in forms]
    for run in runs:
        assert bits(run) == bits(runs[0]) and np.array_equal(run.tau, np.tile([0.3, -0.2], (20, 1)))
    huge = np.array([1e200, 0.0])  # finite, although its square is not
    assert np.array_equal(la.Simulator(model, **HOW)._checked_inputs(huge), huge)


def test_a_law_that_changes_its_forces_later_does_not_change_what_was_recorded(model):
    forces = np.zeros(2)

    def law(t, state):
        forces[0] += 1.0
        return forces

    run = la.simulate(model, steps=5, control=law, **HOW)
    assert run.tau[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("busy", ["law", "step"])
def test_ctrl_c_loses_no_step(model, busy, monkeypatch):
    """In a law it is seen at once; in a step when that is counted."""
    sim, count = la.Simulator(model, **HOW), 0
    advance = type(sim._stepper).advance

    def press(*arguments):
        nonlocal count
        count += 1
        result = advance(*arguments) if busy == "step" else [0.0, 0.0]
        if count == 7:
            signal.raise_signal(signal.SIGINT)
        return result

    if busy == "step":
        monkeypatch.setattr(type(sim._stepper), "advance", press)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as caught:
        sim.run(50, control=press if busy == "law" else lambda t, state: [0.0, 0.0])
    made = 6 if busy == "law" else 7
    assert caught.value.trajectory.steps == sim.steps == made and len(caught.value.trajectory.tau) == made
    assert signal.getsignal(signal.SIGINT) is before
    assert np.array_equal(sim.q, caught.value.trajectory.q[-1])


def test_a_simulation_within_a_law(model):
    def law(t, state):
        ahead = la.simulate(model, state, dt=0.01, steps=3)
        return [-ahead.q[-1, 0], 0.0]

    run = la.simulate(model, steps=10, control=law, **HOW)
    assert run.steps == 10 and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(la.StateError, match="making steps already"):
        sim = la.Simulator(model, **HOW)
        sim.run(3, control=lambda t, state: sim.step())


def test_the_gate_looks_at_what_is_new_and_only_that():
    def add(a, b, c):
        return a[0] + b[0][0] + c

    from typing import NamedTuple

    class Two(NamedTuple):
        x: np.ndarray
        y: np.ndarray

    entry = Entry(add, lambda f: f)
    entry._compiled = {(1, (Two, 1, 1), "float"): add}
    direct = Direct(entry)
    first, second, wrong = Two(np.ones(2), np.ones(2)), Two(np.zeros(1), np.ones(3)), Two(np.ones(2), np.ones((2, 2)))
    assert direct(np.ones(3), first, 1.0) == 3.0 and direct(np.ones(3), second, 1.0) == 2.0 and direct(np.ones(3), first, 1.0) == 3.0
    for bad in ((np.ones(3), wrong, 1.0), (np.ones((3, 1)), first, 1.0), (np.ones(6)[::2], first, 1.0), (np.ones(3), first)):
        with pytest.raises(TypeError):
            direct(*bad)
        assert direct(np.ones(3), first, 1.0) == 3.0
    with pytest.raises(TypeError, match="a read-only|is read-only"):
        frozen = np.ones(3)
        frozen.flags.writeable = False
        direct(frozen, first, 1.0)
    gone = weakref.ref(direct)
    seen = direct._seen
    del direct
    assert gone() is None, "what it has seen is free without a search for garbage"
    other = Direct(entry)  # another one shares what was written, not what it has seen
    assert other(np.ones(3), second, 1.0) == 2.0 and seen[1] is first and other._seen[1] is second
