"""Many at once: a member of a batch is the simulation it would be alone, to the last bit, whatever happens to the others."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest

import leastaction as la
from leastaction.compiling import canaries
from leastaction.yardsticks import Lee2016

INTEGRATORS = [
    la.Variational(), la.Variational("cayley"), la.Variational(quadrature="midpoint"), la.Composition(),
    la.Composition(la.Trapezoid(), order=6), la.AdaptiveStep(), la.Trapezoid(), la.FloatingBase("exp"), la.Midpoint(),
    la.SemiImplicitEuler(), la.Heun(), la.RK4(), la.RKMK4(), la.Maximal(),
]  # fmt: skip


@pytest.fixture(scope="module")
def pendulum():
    mech = la.examples.double_pendulum()
    mech.add_force(la.Spring("lower", 3.0, rest=0.2))
    mech.add_force(la.Damper("upper", 0.1))
    return mech.compile()


@pytest.fixture(scope="module")
def starts():
    rng = np.random.default_rng(1)
    return {"q": rng.normal(size=(9, 2)), "v": rng.normal(size=(9, 2)), "tau": rng.normal(size=(9, 20, 2))}


def alone(model, k, *, record=1, **options):
    """What `simulate` gives for member k, also if it fails."""
    try:
        return la.simulate(model, **{key: value[k] if isinstance(value, (list, np.ndarray)) else value for key, value in options.items()},
                           record_every=record)  # fmt: skip
    except la.ConvergenceError as error:
        return error.trajectory


def assert_same(many, k, run):
    n = many.nodes[k]
    assert n == len(run) and many.made[k] == run.steps and many.evaluations[k] == run.iterations.sum()
    for name in ("t", "q", "recorded", "v", "p", "energy", "momentum", "constraint_error"):
        values = getattr(many, name)[k]
        assert np.array_equal(values[:n], getattr(run, name)), (name, k)
        assert np.isnan(values[n:]).all()


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_a_member_is_the_simulation_it_would_be_alone(integrator, pendulum, starts):
    dt = np.where(np.arange(9) % 3 == 0, 0.004, 0.01)
    many = la.rollout(pendulum, **starts, dt=dt, steps=20, record=3, integrator=integrator, threads=2)
    assert many.q.shape == (9, 8, 2) and many.v.shape == (9, 8, 2) and many.momentum.shape == (9, 8, 6) and not many.failed.any()
    for k in range(9):
        assert_same(many, k, alone(pendulum, k, **starts, dt=dt, steps=20, record=3, integrator=integrator))


def test_neither_threads_nor_neighbours_nor_what_is_kept_matter(pendulum, starts):
    whole = la.rollout(pendulum, **starts, dt=0.01, steps=20, threads=1)
    order = np.random.default_rng(2).permutation(9)[:5]
    some = la.rollout(pendulum, **{name: values[order] for name, values in starts.items()}, dt=0.01, steps=20, threads=3)
    assert np.array_equal(some.q, whole.q[order]) and np.array_equal(some.recorded, whole.recorded[order])
    assert np.array_equal(la.rollout(pendulum, **starts, dt=0.01, steps=20, record="last").q, whole.q[:, -1:])
    assert np.array_equal(la.rollout(pendulum, **starts, dt=0.01, steps=20, record=7).t, whole.t[:, [0, 7, 14, 20]])
    assert whole == la.rollout(pendulum, **starts, dt=0.01, steps=20, threads=2) == pickle.loads(pickle.dumps(whole))
    assert whole != some


def test_states_have_their_own_times_and_what_is_given_once_is_for_all(pendulum):
    states = [pendulum.state(q={"upper": x}, v={"lower": x - 1.0}, t=x) for x in (0.5, 1.0, 2.0)]
    many = la.rollout(pendulum, states, dt=0.01, steps=600, tau=[0.1, 0.2])  # more than one block of steps
    for k, state in enumerate(states):
        assert_same(many, k, la.simulate(pendulum, state, dt=0.01, steps=600, tau=[0.1, 0.2]))
    once = la.rollout(pendulum, q=[0.1, 0.2], v={"upper": [1.0, 2.0]}, tau=np.ones((1, 30, 2)), dt=0.01, steps=30)
    assert_same(once, 1, la.simulate(pendulum, q=[0.1, 0.2], v=[2.0, 0.0], tau=np.ones((30, 2)), dt=0.01, steps=30))
    assert_same(once, 1, once.again(1))
    assert np.array_equal(once["upper"], once.q[:, :, :1])
    still = la.rollout(pendulum, dt=0.01, steps=0)
    assert still.q.shape == (1, 1, 2) and la.rollout(pendulum, dt=0.01, steps=0, record="last").q.shape == (1, 1, 2)


def test_quaternions_and_specialised_code():
    rng = np.random.default_rng(3)
    floating = la.examples.random_tree(5, seed=2, floating=True).compile()
    q = np.array([floating.neutral()] * 4)
    q[:, 3:7] = rng.normal(size=(4, 4))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    v = rng.normal(size=(4, floating.nv))
    many = la.rollout(floating, q=q, v=v, dt=0.01, steps=10)
    special = la.examples.double_pendulum().compile().specialise()
    quick = la.rollout(special, q=rng.normal(size=(4, 2)), dt=0.01, steps=10, lanes=1)  # in lanes: test_lanes.py
    for k in range(4):
        assert_same(many, k, alone(floating, k, q=q, v=v, dt=0.01, steps=10))
        assert_same(quick, k, quick.again(k))


def make_pendulum(mass, length, stiffness):
    mech = la.examples.double_pendulum(mass1=mass, length1=length)
    mech.add_force(la.Spring("lower", stiffness, rest=0.2))
    mech.add_force(la.Damper("upper", 0.1))
    return mech


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_a_member_with_parameters_of_its_own_is_the_simulation_of_its_own_mechanism(integrator, starts):
    parameters = {"mass": np.linspace(0.5, 2.0, 9), "length": np.linspace(1.5, 0.7, 9), "stiffness": 3.0}
    dt = np.where(np.arange(9) % 3 == 0, 0.004, 0.01)
    many = la.rollout(make_pendulum, **starts, parameters=parameters, dt=dt, steps=20, record=3, integrator=integrator, threads=2)
    assert many.lanes == 1 and "parameters" in many.why_not_in_lanes and len(many.models) == 9
    for k in range(9):
        model = make_pendulum(parameters["mass"][k], parameters["length"][k], 3.0).compile()
        assert_same(many, k, alone(model, k, **starts, dt=dt, steps=20, record=3, integrator=integrator))
    assert_same(many, 5, la.simulate(many.models[5], **{name: starts[name][5] for name in starts}, dt=dt[5], steps=20, record_every=3,
                                     integrator=integrator))  # fmt: skip
    assert many.again(5).model == many.models[5]


def test_parameters_of_members_that_fail_and_of_loops():
    v = np.zeros((4, 2))
    v[2] = 1e80, 1e90
    parameters = {"mass": [0.5, 1.0, 2.0, 3.0], "length": 1.0, "stiffness": [1.0, 2.0, 3.0, 0.5]}
    many = la.rollout(make_pendulum, q=[1.0, 2.0], v=v, parameters=parameters, dt=0.05, steps=30)
    assert set(many.errors) == {2}
    with pytest.raises(la.ConvergenceError) as error:
        la.simulate(many.models[2], q=[1.0, 2.0], v=v[2], dt=0.05, steps=30)
    assert many.errors[2].split(": ")[1] in str(error.value)
    for k in (0, 1, 3):
        assert_same(many, k, many.again(k))


PARAMETERS = {
    "belong to a function, not to": lambda make: la.rollout(make(1.0, 1.0, 1.0).compile(), parameters={"mass": 1.0}, dt=0.01, steps=1),
    "give numbers by name": lambda make: la.rollout(make, parameters=[1.0], dt=0.01, steps=1),
    r"member 1 \(mass = -1, length = 1, stiffness = 1\): .*mass": lambda make: la.rollout(
        make, parameters={"mass": [1.0, -1.0], "length": 1.0, "stiffness": 1.0}, dt=0.01, steps=1
    ),
    r"parameters\['mass'\]: member 1 has nan": lambda make: la.rollout(
        make, parameters={"mass": [1.0, np.nan], "length": 1.0, "stiffness": 1.0}, dt=0.01, steps=1
    ),
    "does not take them, missing a required argument: 'length'": lambda make: la.rollout(make, parameters={"mass": 1.0}, dt=0.01, steps=1),
    r"different sizes: 2 in parameters\['mass'\], 3 in parameters\['length'\]": lambda make: la.rollout(
        make, parameters={"mass": [1.0, 2.0], "length": [1.0, 2.0, 3.0], "stiffness": 1.0}, dt=0.01, steps=1
    ),
    "different sizes: 3 in dt, 2 in parameters": lambda make: la.rollout(
        make, parameters={"mass": [1.0, 2.0], "length": 1.0, "stiffness": 1.0}, dt=[0.1, 0.2, 0.3], steps=1
    ),
    "other bodies, joints": lambda make: la.rollout(
        lambda n: la.examples.chain(int(n)), parameters={"n": [2.0, 3.0]}, dt=0.01, steps=1
    ),
    "in its code": lambda make: la.rollout(
        lambda n: la.examples.chain(2).compile().specialise(), parameters={"n": [2.0, 3.0]}, dt=0.01, steps=1
    ),
    "not a Mechanism": lambda make: la.rollout(lambda n: n, parameters={"n": [2.0, 3.0]}, dt=0.01, steps=1),
    "in more than numbers": lambda make: la.rollout(
        lambda c: _with_springs(int(c)), parameters={"c": [0.0, 1.0]}, dt=0.01, steps=1
    ),
}  # fmt: skip


def _with_springs(count):
    mech = la.examples.double_pendulum()
    for _ in range(count):
        mech.add_force(la.Spring("lower", 3.0))
    return mech


@pytest.mark.parametrize("message", PARAMETERS)
def test_parameters_that_are_wrong_are_named_before_anything_runs(message):
    with pytest.raises(la.LeastActionError, match=message):
        PARAMETERS[message](make_pendulum)


@pytest.mark.parametrize("options", [{}, {"integrator": la.Maximal()}, {"guard": True}], ids=str)
def test_loops(options):
    model = la.examples.four_bar().compile()
    q = np.array([model.assemble({"rod1": x, "rod2": -2.0, "rod3": -1.3}, hold=["rod1"]) for x in (0.7, 0.8, 0.9)])
    many = la.rollout(model, q=q, dt=0.01, steps=10, record=4, threads=2, **options)
    for k in range(3):
        assert_same(many, k, alone(model, k, q=q, dt=0.01, steps=10, record=4, **options))
    with pytest.raises(la.StateError, match=r"member 1: the start violates .* model.assemble"):
        la.rollout(model, q=q + np.array([[0.0], [0.1], [0.0]]), dt=0.01, steps=10)
    with pytest.raises(la.StateError, match="Lee2016 does not keep the constraints"):
        la.rollout(model, q=q, dt=0.01, steps=10, integrator=Lee2016())


@pytest.mark.parametrize("record", [1, 4])
@pytest.mark.parametrize("integrator", [la.Variational(), la.RK4()], ids=repr)
def test_members_that_fail_are_named_and_the_others_go_on(integrator, record, pendulum):
    v = np.zeros((6, 2))
    v[2], v[4] = (300.0, -900.0), (1e80, 1e90)
    many = la.rollout(pendulum, q=[1.0, 2.0], v=v, dt=0.05, steps=30, record=record, integrator=integrator, threads=2)
    assert many.failed.tolist() == [k in many.errors for k in range(6)] and 4 in many.errors and {2, 4} >= set(many.errors)
    for k in range(6):
        assert_same(many, k, alone(pendulum, k, q=np.array([[1.0, 2.0]] * 6), v=v, dt=0.05, steps=30, record=record, integrator=integrator))
    for k, reason in many.errors.items():
        with pytest.raises(la.ConvergenceError) as raised:
            many.again(k)
        assert reason == str(raised.value) and f"member {k}: {reason}" in str(many)


@pytest.mark.parametrize("record", ["all", 5, "last"])
def test_members_stop_at_limits(record):
    mech = la.examples.double_pendulum()
    mech.add_limit("upper", -2.0, 1.2)
    model, v = mech.compile(), np.array([[0.0, 0.0], [4.0, 0.0], [6.0, 0.0]])
    many = la.rollout(model, v=v, dt=0.01, steps=300, record=record)
    assert list(many.stopped) == [1, 2] and not many.failed.any()
    for k in range(3):
        run = alone(model, k, v=v, dt=0.01, steps=300, record={"all": 1, "last": 300}.get(record, record))
        if record == "last":
            assert np.array_equal(many.q[k, 0], run.q[-1]) and many.t[k, 0] == run.t[-1]
        else:
            assert_same(many, k, run)
        assert k == 0 or many.stopped[k] == run.message
    assert not la.rollout(model, v=v, dt=0.01, steps=300, limits="ignore").stopped
    with pytest.raises(la.StateError, match="member 1: at the start joint 'upper' is beyond its upper limit 1.2 rad"):
        la.rollout(model, q={"upper": [0.0, 1.5]}, dt=0.01, steps=3)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.skipif(canaries.ON, reason="kernels that work on copies of their arrays do not see that they are to stop")
@pytest.mark.parametrize("integrator", [la.Variational(), la.Maximal()], ids=repr)
def test_ctrl_c_makes_an_end_and_loses_nothing(integrator, pendulum):
    la.rollout(pendulum, q={"upper": [1.0, 2.0]}, dt=1e-3, steps=2, integrator=integrator)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as raised:
        la.rollout(pendulum, q={"upper": np.linspace(1.0, 2.0, 4)}, dt=1e-3, steps=10**7, record="last", integrator=integrator, threads=2)
    timer.join()
    many = raised.value.rollout
    assert len(many) == 4 and many.failed.all() and "KeyboardInterrupt" in many.errors[0] and np.isnan(many.q[:, 0]).all()


BAD = {
    "q has shape (3, 3)": {"q": np.zeros((3, 3))},
    "q has shape (2, 2, 2)": {"q": np.zeros((2, 2, 2))},
    "q has shape (0, 2)": {"q": np.zeros((0, 2))},
    "q: member 1 has nan in place 0": {"q": [[0.0, 0.0], [np.nan, 0.0]]},
    "v: member 2 has inf in place 1": {"v": [[0.0, 0.0], [0.0, 0.0], [0.0, np.inf]]},
    "v = [1j, 0] is complex": {"v": [1j, 0]},
    "there is no joint 'nobody'": {"q": {"nobody": [1.0, 2.0]}},
    "this joint needs a number, or one for every member": {"q": {"upper": np.zeros((2, 2))}},
    "batches of different sizes: 2 in q, 3 in v": {"q": np.zeros((2, 2)), "v": np.zeros((3, 2))},
    "batches of different sizes: 2 in q['upper'], 3 in q['lower']": {"q": {"upper": [1, 2], "lower": [1, 2, 3]}},
    "batches of different sizes: 2 in dt, 3 in tau": {"dt": [0.1, 0.2], "tau": np.zeros((3, 5, 2))},
    "dt[1] = -0.1": {"dt": [0.1, -0.1]},
    "dt = 'certified'": {"dt": "certified"},
    "tau has shape (5, 2); it needs (2,)": {"tau": np.zeros((5, 2))},
    "tau has shape (2, 4, 2)": {"tau": np.zeros((2, 4, 2))},
    "tau[1, 2, 0] = nan is not finite: member 1": {"tau": np.where(np.arange(20).reshape(2, 5, 2) == 14, np.nan, 0.0)},
    "steps = -1": {"steps": -1},
    "threads = 0": {"threads": 0},
    "threads = -2": {"threads": -2},
    "record = 'some'": {"record": "some"},
    "record = 0": {"record": 0},
    "limits = 'maybe'": {"limits": "maybe"},
    "integrator = 3": {"integrator": 3},
    "guard=True subdivides steps of one length": {"guard": True, "integrator": la.AdaptiveStep()},
    "states = 3 is not a list": {"states": 3},
    "states is empty": {"states": []},
    "states[0]: state = 'x'": {"states": ["x"]},
    "give states, or q and v": {"states": [1], "q": [0.0, 0.0]},
    "take 1.6e+06 GB": {"q": np.zeros((10**4, 2)), "steps": 4 * 10**9},
}  # fmt: skip


@pytest.mark.parametrize("message", BAD)
def test_what_is_wrong_is_named_before_anything_runs(message, pendulum):
    with pytest.raises(la.StateError) as raised:
        la.rollout(pendulum, **{"dt": 0.01, "steps": 5} | BAD[message])
    assert message in str(raised.value)


def test_a_mechanism_that_is_not_compiled_and_a_state_of_another_one(pendulum):
    with pytest.raises(la.StateError, match="compile"):
        la.rollout(la.examples.double_pendulum(), dt=0.01, steps=1)
    with pytest.raises(la.StateError, match=r"states\[1\]: the state belongs to another compilation"):
        la.rollout(pendulum, [pendulum.state(), la.examples.chain(2).compile().state()], dt=0.01, steps=1)
    with pytest.raises(la.StateError, match="member 7 does not exist"):
        la.rollout(pendulum, dt=0.01, steps=1).again(7)
