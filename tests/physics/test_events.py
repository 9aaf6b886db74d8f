"""Events are located where the motion of the integrator passes them, with its order, and leave the run as it is."""

import pickle

import numpy as np
import pytest

import leastaction as la
from leastaction.events.locating import crossing
from leastaction.reference import pendulum as exact
from leastaction.testing import every_integrator
from leastaction.testing.every_integrator import demand_order, in_short

AMPLITUDE = 1.2
FREQUENCY = np.sqrt(1.5 * 9.81)  # of a rod of 1 m that hangs by its end


@pytest.fixture(scope="module")
def rod():
    return la.examples.chain(1).compile()


def bits(*arrays):
    return [np.ascontiguousarray(a).tobytes() for a in arrays]


def all_bits(run):
    return bits(run.t, run.q, run.recorded, run.iterations)


@pytest.mark.parametrize("integrator", every_integrator(), ids=in_short)
def test_the_time_of_a_crossing_has_the_order_of_the_integrator(rod, integrator):
    """The rod passes the bottom after a quarter of its period, which an elliptic integral gives."""
    quarter = 0.25 * exact.period(AMPLITUDE, FREQUENCY)
    steps, errors = (10, 20), []
    for n in steps:
        how = {"dt": 0.5 / n, "q": [AMPLITUDE], "integrator": integrator}
        run = la.simulate(rod, duration=0.6, when=la.passes("link1", 0.0, tol=1e-13), **how)
        assert all_bits(run) == all_bits(la.simulate(rod, duration=0.6, **how)), "the run is what it is without events"
        (event,) = run.events
        assert not event.rising and abs(event.state.q[0]) < 1e-9 and event.state.t == event.t
        errors.append(abs(event.t - quarter))
    demand_order("the time of an event", integrator, errors, steps, 1e-11)


def test_a_fall_is_located_exactly():
    """Positions of a free fall are exact at the nodes and between them, so the time is, up to rounding."""
    mech = la.Mechanism()
    mech.add_body("ball", joint=la.Free(), mass=2.0, inertia=(0.1, 0.2, 0.3))
    mech.add_frame("below", "ball", la.Pose(xyz=(0, 0, -0.25)))
    model = mech.compile()
    start = model.state(q=[0, 0, 1.0, 1, 0, 0, 0], v=[0, 0, 0, 0.3, 0, 1.5])
    run = la.simulate(model, start, dt=0.013, duration=2.0, when=[la.crosses("below", z=0.0, terminal=True), la.crosses("below", x=0.1)])
    hit = (1.5 + np.sqrt(1.5**2 + 2 * 9.81 * 0.75)) / 9.81
    assert abs(run.t[-1] - hit) < 1e-9 and abs(run.events[0].t - 1 / 3) < 1e-9 and len(run.events) == 2
    assert run.message == f"stopped at t = {hit:g} s: event 'below crosses z = 0', falling"
    assert abs(run.frame("below").position[-1, 2]) < 1e-9


def test_the_state_found_is_the_end_of_a_shorter_step(rod):
    how = {"dt": 0.02, "q": [AMPLITUDE], "v": [0.3], "tau": [0.4]}
    whole = la.simulate(rod, steps=60, when=la.Event(lambda t, state: state.v[0] + 2.0, name="fast"), **how)
    event = whole.events[0]
    k = int(np.searchsorted(whole.t, event.t)) - 1
    again = la.simulate(rod, la.State(rod, whole.t[k], whole.q[k], whole.p[k]), dt=event.t - whole.t[k], steps=1, tau=[0.4])
    assert np.allclose(again.q[-1], event.state.q, atol=1e-12) and np.allclose(again.p[-1], event.state.p, atol=1e-12)
    assert abs(event.state.v[0] + 2.0) < 1e-8 and event.name == "fast" and not event.rising


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("control", [None, lambda t, state: np.zeros(2)])
def test_a_terminal_event_is_the_last_node_and_the_run_goes_on_from_it(every, control):
    model = la.examples.double_pendulum().compile()
    stop = la.passes("upper", 0.0, direction="rising", terminal=True)
    how = {"dt": 0.01, "q": {"upper": 1.0}}
    sim = la.Simulator(model, when=[stop, la.passes("lower", 0.1)], **how)
    run = sim.run(500, record_every=every, control=control)
    free = la.simulate(model, steps=500, when=[la.passes("upper", 0.0), la.passes("lower", 0.1)], **how)
    there = next(e for e in free.events if e.name == "upper passes 0" and e.rising)
    assert run.t[-1] == there.t == sim.t and bits(run.q[-1]) == bits(there.state.q)
    assert [e.t for e in run.events if e.name != "upper passes 0"] == [e.t for e in free.events if e.name[:5] == "lower" and e.t < there.t]
    assert run.events[-1].terminal and run.steps == int(np.ceil(there.t / 0.01)) and "upper passes 0" in run.message
    before = slice(0, run.steps, every)
    assert bits(run.q[:-1], run.recorded[:-1]) == bits(free.q[before], free.recorded[before])
    assert np.abs(run.energy - run.energy[0]).max() < 2.0 * np.abs(free.energy - free.energy[0]).max()
    assert np.allclose(run.p[-1], there.state.p, atol=1e-11), "in the form in which all nodes are recorded"
    onwards = sim.run(50)
    assert all_bits(onwards) == all_bits(la.simulate(model, run.state(), dt=0.01, steps=50))
    assert "upper passes 0" not in [e.name for e in onwards.events], "what was passed is not passed again"


def test_one_step_at_a_time_finds_what_a_run_finds():
    model = la.examples.double_pendulum().compile()
    events = [la.passes("upper", 0.0), la.Event(lambda t, state: state.v[1], name="turns"), la.crosses("lower", x=0.2)]
    how = {"dt": 0.01, "q": {"upper": 1.0}, "when": events}
    run, sim = la.simulate(model, steps=200, **how), la.Simulator(model, **how)
    for _ in range(200):
        sim.step()
    assert len(run.events) > 4 and sim.events == run.events == la.simulate(model, steps=200, control=lambda t, s: [0, 0], **how).events
    assert [e.t for e in run.events] == sorted(e.t for e in run.events) and len({e.name for e in run.events}) == 3
    stopped = la.Simulator(model, dt=0.01, q={"upper": 1.0}, when=la.passes("upper", 0.5, terminal=True))
    while not stopped.events:
        stopped.step()
    assert stopped.t == stopped.events[0].t and 0.0 < stopped.t % 0.01 < 0.01


def test_directions_and_conditions_that_are_zero_at_a_node(rod):
    def found(values, direction):
        event = la.Event(lambda t, state: np.interp(t, range(len(values)), values), name="made up", direction=direction)
        run = la.simulate(rod, dt=1.0, steps=len(values) - 1, when=event)  # it hangs at rest
        return [(round(e.t, 6), e.rising) for e in run.events]

    ups_and_downs = [-1.0, 1.0, 1.0, -3.0, 0.0, 2.0, 0.0, 0.0, 1.0]
    assert found(ups_and_downs, "both") == [(0.5, True), (2.25, False), (4.0, True), (6.0, False)]
    assert found(ups_and_downs, "rising") == [(0.5, True), (4.0, True)]
    assert found(ups_and_downs, "falling") == [(2.25, False), (6.0, False)]
    assert found([0.0, 1.0], "both") == [], "where it begins it has not passed"


@pytest.mark.parametrize("seed", range(20))
def test_a_zero_is_enclosed_and_never_undershot(seed):
    rng = np.random.default_rng(seed)
    root, slope, bend = rng.uniform(0.01, 0.99), rng.choice([-1, 1]) * 10 ** rng.uniform(-6, 6), rng.uniform(0, 40)
    asked = []

    def value(x):
        asked.append(x)
        return slope * np.sinh(bend * (x - root)) if seed % 2 else slope * np.cbrt(x - root)

    x = crossing(value, 1.0, value(0.0), value(1.0), 1e-12)
    assert 0.0 <= x - root <= 1.1e-12 and len(asked) < 60


def test_steps_that_are_subdivided():
    chain, wild = la.examples.chain(4).compile(), {"dt": 0.1, "q": [2.5, 0.5, -1.0, 2.0], "guard": True}
    plain = la.Simulator(chain, **wild)
    whole = plain.run(40)
    run = la.simulate(chain, when=la.passes("link2", 0.3), steps=40, **wild)
    assert all_bits(run) == all_bits(whole) and run.events and all(abs(e.state.q[1] - 0.3) < 1e-8 for e in run.events)
    stopped = la.Simulator(chain, when=la.Event(lambda t, state: t - plain.subdivided[2][0], name="late", terminal=True), **wild)
    assert abs(stopped.run(40).t[-1] - plain.subdivided[2][0]) < 1e-9
    assert stopped.subdivided == [(t, parts) for t, parts in plain.subdivided if t < stopped.t]


def test_steps_that_are_certified():
    chain, how = la.examples.chain(2).compile(), {"dt": 0.05, "q": [1.0, 0.5], "integrator": la.CertifiedStep()}
    plain, run = (la.simulate(chain, duration=0.4, when=when, **how) for when in (None, la.passes("link1", 0.8)))
    assert all_bits(run) == all_bits(plain) and abs(run.events[0].state.q[0] - 0.8) < 1e-8
    for control in (None, lambda t, state: [0.0, 0.0]):
        stopped = la.simulate(chain, duration=0.4, when=la.passes("link1", 0.8, terminal=True), control=control, **how)
        assert stopped.t[-1] == run.events[0].t and np.allclose(stopped.certified_dt, np.diff(stopped.t), atol=1e-12)


def test_adaptive_steps_and_loops():
    pendulum = la.examples.double_pendulum().compile()
    how = {"dt": 0.02, "q": {"upper": 1.5}, "duration": 2.0, "integrator": la.AdaptiveStep()}
    run, plain = la.simulate(pendulum, when=la.passes("upper", 0.0), **how), la.simulate(pendulum, **how)
    assert all_bits(run) == all_bits(plain) and run.events
    stopped = la.simulate(pendulum, when=la.passes("upper", 0.0, terminal=True), **how)
    assert stopped.t[-1] == run.events[0].t and "upper passes 0" in stopped.message
    four_bar = la.examples.four_bar().compile()
    q = four_bar.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    run = la.simulate(four_bar, dt=0.01, duration=1.0, q=q, when=la.passes("rod1", 0.7, terminal=True))
    assert "rod1 passes 0.7" in run.message and run.constraint_error.max() < 1e-9 and abs(run["rod1"][-1, 0] - 0.7) < 1e-8
    assert np.all(run.multipliers[-1] != 0.0), "impulses of the constraints over the shorter step"


def test_limits_and_events_in_order():
    mech = la.examples.double_pendulum()
    mech.add_limit("lower", -10.0, 0.4)
    model, how = mech.compile(), {"dt": 0.02, "steps": 300, "q": {"upper": 1.2}}
    at_limit = la.simulate(model, **how)
    late = la.simulate(model, when=la.passes("lower", 0.45, terminal=True), **how)
    assert all_bits(late) == all_bits(at_limit) and late.message == at_limit.message and late.state().continues
    early = la.simulate(model, when=la.passes("lower", 0.39, terminal=True), **how)
    assert "lower passes 0.39" in early.message and early.t[-1] < at_limit.t[-1]
    within = la.simulate(model, when=[la.passes("lower", 0.39), la.passes("lower", 0.45)], **how)
    assert [e.name for e in within.events] == ["lower passes 0.39"] and within.message == at_limit.message


def test_events_travel_and_are_kept_in_files(tmp_path):
    pytest.importorskip("h5py")
    model, how = la.examples.double_pendulum().compile(), {"dt": 0.01, "q": {"upper": 1.0}}
    when = [la.passes("upper", 0.0), la.passes("lower", -0.3, terminal=True, direction="falling")]
    run = la.simulate(model, steps=900, when=when, **how)
    assert run.events[-1].terminal and len(run.events) > 1
    assert pickle.loads(pickle.dumps(run)) == run and run.until(2).events == ()
    for name in ("run.npz", "run.h5"):
        run.save(tmp_path / name)
        assert la.open(tmp_path / name).events == run.events
    streamed = la.simulate(model, steps=900, when=when, record_to=tmp_path / "streamed.h5", **how)
    assert streamed.events == run.events and streamed.message == run.message and all_bits(streamed) == all_bits(run)
    la.simulate(model, steps=100, when=when, record_to=tmp_path / "parts.h5", **how)
    whole = la.simulate(model, steps=900, when=when, record_to=tmp_path / "parts.h5", resume=True, **how)
    assert whole.events == run.events and all_bits(whole) == all_bits(run)


def test_functions_are_called_every_so_often():
    model = la.examples.double_pendulum().compile()
    how, seen = {"dt": 0.01, "q": {"upper": 1.0}}, []
    plain = la.simulate(model, steps=100, **how)

    def look(t, state):
        seen.append((t, state.energy))

    for control in (None, lambda t, state: [0.0, 0.0]):
        seen.clear()
        run = la.simulate(model, steps=100, every=[la.Every(look, steps=30), la.Every(look, seconds=0.25)], control=control, **how)
        assert all_bits(run) == all_bits(plain)
        nodes = [25, 30, 50, 60, 75, 90, 100]
        assert [t for t, _ in seen] == [plain.t[k] for k in nodes]
        assert np.allclose([e for _, e in seen], plain.energy[nodes], atol=1e-12)
    sim, seen[:] = la.Simulator(model, **how), []
    for _ in range(10):
        sim.run(10, every=la.Every(look, steps=30))
    assert [t for t, _ in seen] == [plain.t[k] for k in (30, 60, 90)], "counted over all runs of the simulator"
    seen.clear()
    adaptive = {"dt": 0.05, "q": {"upper": 1.5}, "duration": 2.0, "integrator": la.AdaptiveStep()}
    run = la.simulate(model, every=la.Every(look, seconds=0.5), **adaptive)
    assert all_bits(run) == all_bits(la.simulate(model, **adaptive))
    assert [t for t, _ in seen] == [run.t[np.searchsorted(run.t, x)] for x in (0.5, 1.0, 1.5, 2.0)]


def test_a_callback_ends_a_run_or_fails_with_what_was_made():
    model = la.examples.double_pendulum().compile()
    how = {"dt": 0.01, "q": {"upper": 1.0}, "steps": 100}
    run = la.simulate(model, every=la.Every(lambda t, state: t > 0.2, steps=10), **how)
    assert run.message == "stopped at t = 0.3 s: the callback '<lambda>' returned True" and run.steps == 30

    def fails(t, state):
        raise RuntimeError("mine")

    for control in (None, lambda t, state: [0.0, 0.0]):
        with pytest.raises(RuntimeError, match="mine") as caught:
            la.simulate(model, every=la.Every(fails, steps=40), control=control, **how)
        assert caught.value.trajectory.steps == 40


def test_events_of_one_step_are_in_the_order_of_time(rod):
    def reaches(seconds, **how):
        return la.Event(lambda t, state: t - seconds, name=f"{seconds}", **how)

    run = la.simulate(rod, dt=1.0, steps=2, when=[reaches(0.7), reaches(0.2), reaches(0.5, terminal=True), reaches(0.4)])
    assert [event.name for event in run.events] == ["0.2", "0.4", "0.5"] and abs(run.t[-1] - 0.5) < 1e-9


def test_seconds_are_counted_in_spite_of_rounding(rod):
    times = []
    la.simulate(rod, dt=0.1, steps=100, every=la.Every(lambda t, state: times.append(t), seconds=0.3))
    assert np.allclose(times, 0.3 * np.arange(1, 34), atol=1e-9)


def returns(value):
    return lambda t, state: value


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: la.passes("elbow", 0.5), "'elbow'.*'upper', 'lower'"),
        (lambda: la.crosses("tipp", z=0.0), "no body or frame 'tipp'.*'lower'"),
        (lambda: la.crosses("lower"), "one of x, y and z"),
        (lambda: la.crosses("lower", x=0, z=1), "one of x, y and z"),
        (lambda: la.passes(3, 0.5), "joint = 3"),
        (lambda: la.passes("upper", "a"), "value that 'upper' passes = 'a'"),
        (lambda: la.passes("upper", np.nan), "not finite"),
        (lambda: la.Event("upper > 1"), "condition = 'upper > 1'"),
        (lambda: la.Event(returns(1.0), direction="up"), "direction = 'up'.*'rising'"),
        (lambda: la.Event(returns(1.0), terminal="yes"), "terminal = 'yes'"),
        (lambda: la.Event(returns(1.0), tol=0.0), "tol = 0.0"),
        (lambda: la.Event(returns(1.0), name=""), "name = ''"),
        (lambda: la.Event(returns(None), name="mine"), "event 'mine': its function returned None at t = 0 s, not a number"),
        (lambda: la.Event(returns(True)), "returned True.*for x > 1 return x - 1"),
        (lambda: returns(np.nan), "returned nan at t = 0 s"),
        (lambda: returns([1.0, 2.0]), "returned \\[1.0, 2.0\\]"),
        (lambda: [la.passes("upper", 0.0), "lower"], "when = 'lower'"),
        (lambda: la.Every(print, steps=2), "when = <Every 2 steps"),
    ],
)
def test_wrong_events_are_named(wrong, words):
    model = la.examples.double_pendulum().compile()
    with pytest.raises(la.StateError, match=words):
        la.simulate(model, dt=0.01, steps=3, when=wrong())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: print, "every = <built-in function print>.*la.Every"),
        (lambda: 10, "every = 10"),
        (lambda: la.Every(print), "steps= or seconds="),
        (lambda: la.Every(print, steps=2, seconds=0.1), "one of them"),
        (lambda: la.Every(print, steps=0), "steps of Every = 0"),
        (lambda: la.Every(print, seconds=-1.0), "seconds = -1.0"),
        (lambda: la.Every("print", steps=2), "function = 'print'"),
        (lambda: la.Every(returns(3.0), steps=2), "returned 3.0 at t = 0.02 s"),
    ],
)
def test_wrong_callbacks_are_named(wrong, words):
    model = la.examples.double_pendulum().compile()
    with pytest.raises(la.StateError, match=words):
        la.simulate(model, dt=0.01, steps=3, every=wrong())
