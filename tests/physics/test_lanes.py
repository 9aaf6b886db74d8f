"""Members in lanes: a member is the same whatever runs beside it, to the last bit, and the one without lanes up to rounding."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from leastaction.compiling.lanes import lanes_of_this_machine

pytestmark = [pytest.mark.slow, pytest.mark.skipif(lanes_of_this_machine() == 1, reason="no vectors of four numbers here")]

# compiling takes seconds per mechanism, so what the code for lanes computes is tried on one lane with the compiler switched off
EVERY_JOINT = """
import json
import numpy as np
import leastaction as la
import leastaction.compiling.lanes
leastaction.compiling.lanes.in_lanes = lambda width, masked=False: lambda function: function
from leastaction.kernels.solving.memory import make_memory
from leastaction.kernels.stepping.lanes import Arrays, Block, LaneWork, several_steps
from leastaction.testing import random_mechanism, random_state

H, STEPS, errors = 2e-3, 6, []
for seed in range(5):
    rng = np.random.default_rng(seed)
    mech = random_mechanism(rng, n=5, forces=False, armatures=seed % 2 > 0)
    for body in mech.bodies.values():
        if body.joint.nv and seed:
            mech.add_force(la.Spring(body.joint_name, rng.uniform(1.0, 9.0)))
            mech.add_force(la.Damper(body.joint_name, rng.uniform(0.1, 0.9)))
    model = mech.compile().specialise()
    q, v = random_state(model, rng)
    tau = rng.normal(size=model.nv)
    retraction = ("exp", "cayley")[seed % 2]
    integrator = la.Variational(retraction)
    run = la.simulate(model, q=q, v=v, tau=tau, dt=H, steps=STEPS, integrator=integrator)
    work, start = model.make_work(), model.state(q=q, v=v)
    work.q[:], work.target[:], work.d[:] = start.q, start.p, H * start.v
    w = LaneWork(**{name: getattr(work, name, np.zeros(1)) for name in LaneWork._fields})
    a = Arrays(model.tree, w, make_memory(0.0), np.zeros(2), np.zeros(1, dtype=np.int64), integrator.numbers(H, patient=True))
    block = Block(np.zeros(STEPS), np.zeros((STEPS, model.nq)), np.zeros((STEPS, model.nv)), np.zeros(STEPS, dtype=np.int64))
    several_steps(model.specialised.lanes_module(retraction, 1).SWEEPS, a, block, tau[None], STEPS)
    errors.append([
        float(np.abs(block.q - run.q[1:]).max()), float(np.abs(block.p - run.recorded[1:]).max() / np.abs(run.recorded).max()),
        int(np.abs(block.evaluations - run.iterations).sum()), float(np.abs(block.t - run.t[1:]).max()), float(a.state[0]),
    ])
print(json.dumps(errors))
"""


def test_the_code_for_lanes_knows_every_joint_springs_dampers_and_armatures():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(la.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", EVERY_JOINT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    errors = np.array(json.loads(done.stdout.splitlines()[-1]))
    assert errors.max() < 1e-12, errors


@pytest.fixture(scope="module")
def pendulum():
    mech = la.examples.double_pendulum()
    mech.add_force(la.Spring("lower", 3.0, rest=0.2))
    mech.add_force(la.Damper("upper", 0.1))
    return mech.compile().specialise()


@pytest.fixture(scope="module")
def starts():
    rng = np.random.default_rng(1)
    return {"q": rng.normal(size=(19, 2)), "v": rng.normal(size=(19, 2)), "tau": rng.normal(size=(19, 100, 2))}


@pytest.fixture(scope="module")
def many(pendulum, starts):
    return la.rollout(pendulum, **starts, dt=0.01, steps=100, threads=1)


def assert_close(one, other, within):
    """Relative to the largest number of its kind."""
    assert np.array_equal(one.nodes, other.nodes) and np.array_equal(one.made, other.made) and one.errors == other.errors
    for name in ("t", "q", "recorded"):
        a, b = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(a, b, rtol=0.0, atol=within * np.nanmax(np.abs(b)), equal_nan=True)


def test_lanes_are_used_and_give_the_numbers_of_the_plain_run(pendulum, starts, many):
    assert many.lanes == lanes_of_this_machine() and many.why_not_in_lanes == "" and f"of {many.lanes} lanes" in str(many)
    plain = la.rollout(pendulum, **starts, dt=0.01, steps=100, lanes=1)
    assert plain.lanes == 1 and plain.why_not_in_lanes == "lanes=1 was asked for"
    assert_close(many, plain, 1e-12)
    run = many.again(3)
    assert abs(run.q - many.q[3]).max() < 1e-12


@pytest.mark.parametrize("size, threads", [(1, 1), (3, 2), (8, 1), (9, 2), (17, 3)])
def test_a_member_depends_neither_on_the_size_of_the_batch_nor_on_neighbours_nor_threads(size, threads, pendulum, starts, many):
    chosen = np.random.default_rng(size).permutation(19)[:size]
    some = la.rollout(pendulum, **{name: values[chosen] for name, values in starts.items()}, dt=0.01, steps=100, threads=threads)
    for name in ("t", "q", "recorded", "evaluations"):
        assert np.array_equal(getattr(some, name), getattr(many, name)[chosen])


@pytest.mark.parametrize("record", ["last", 7, 200])
def test_what_is_kept_are_nodes_of_the_whole_run(record, pendulum, starts, many):
    rows = {"last": [100], 7: [*range(0, 100, 7), 100], 200: [0, 100]}[record]
    some = la.rollout(pendulum, **starts, dt=0.01, steps=100, record=record)
    assert np.array_equal(some.t, many.t[:, rows]) and np.array_equal(some.q, many.q[:, rows])


def test_members_that_fail_are_those_of_the_plain_run_and_the_others_go_on(pendulum, starts, many):
    start = {name: values.copy() for name, values in starts.items()}
    start["v"][4], start["v"][5] = (1e80, 1e90), (3000.0, -9000.0)
    some, plain = (la.rollout(pendulum, **start, dt=0.01, steps=100, lanes=lanes) for lanes in (None, 1))
    assert 4 in some.errors and some.errors == plain.errors
    others = np.setdiff1d(np.arange(19), [4, 5])
    assert np.array_equal(some.q[others], many.q[others])
    for k in some.errors:  # run once more, alone
        assert np.array_equal(some.q[k], plain.q[k], equal_nan=True) and some.made[k] == plain.made[k]


def test_limits_times_and_steps_of_their_own(pendulum):
    mech = la.examples.double_pendulum()
    mech.add_force(la.Spring("lower", 3.0, rest=0.2))
    mech.add_force(la.Damper("upper", 0.1))
    mech.add_limit("lower", -2.0, 2.0)
    limited = mech.compile().specialise()
    states = [limited.state(q={"upper": x}, v={"lower": 9.0 * (x - 1.0)}, t=x) for x in np.linspace(0.0, 2.5, 11)]
    dt = np.where(np.arange(11) % 3 == 0, 0.004, 0.01)
    some, plain = (la.rollout(limited, states, dt=dt, steps=70, tau=[0.1, 0.2], record=9, lanes=lanes) for lanes in (None, 1))
    assert some.lanes > 1 and 0 < len(some.stopped) < 11 and some.stopped.keys() == plain.stopped.keys()
    assert_close(some, plain, 1e-12)
    still = la.rollout(pendulum, q={"upper": [0.1, 0.2, 0.3]}, dt=0.01, steps=0)
    assert still.lanes > 1 and np.array_equal(still.q[:, :, 0], [[0.1], [0.2], [0.3]])


def test_floating_bases_balls_and_sliders():
    mech = la.Mechanism()
    body = {"mass": 1.0, "com": (0.0, 0.1, 0.05), "inertia": (0.02, 0.03, 0.04)}
    mech.add_body("base", joint=la.Free(), **body)
    mech.add_body("arm", "base", la.Spherical(), la.Pose(xyz=(0.3, 0.0, 0.1)), **body)
    mech.add_body("rod", "arm", la.Prismatic(axis=(1.0, 1.0, 0.0)), armature=0.1, **body)
    mech.add_force(la.Spring("rod", 50.0, rest=0.1))
    mech.add_force(la.Spring("arm", 5.0))
    mech.add_force(la.Damper("arm", 0.2))
    model = mech.compile().specialise()
    rng = np.random.default_rng(2)
    v = rng.normal(size=(5, model.nv))
    some, plain = (la.rollout(model, v=v, dt=0.005, steps=100, lanes=lanes) for lanes in (None, 1))
    assert some.lanes > 1
    assert_close(some, plain, 1e-12)
    assert np.array_equal(la.rollout(model, v=v[3:], dt=0.005, steps=100).q, some.q[3:])
    gravity = abs(some.momentum[:, :, 3:5] - some.momentum[:, :1, 3:5]).max()  # nothing pushes it sideways
    assert gravity < 1e-8


def test_what_is_not_covered_runs_without_lanes_and_says_so(pendulum):
    general = la.examples.double_pendulum().compile()
    pushed = la.examples.double_pendulum()
    pushed.add_force(la.Wrench("lower", force=[0.0, 1.0, 0.0]))
    for words, model, options in (
        ("only specialised models", general, {}),
        ("only Variational", pendulum, {"integrator": la.Composition()}),
        ("only Variational", pendulum, {"integrator": la.Variational(quadrature="midpoint")}),
        ("one by one", pendulum, {"guard": True}),
        ("forces on bodies", pushed.compile().specialise(), {}),
    ):
        assert words in la.rollout(model, dt=0.01, steps=0, **options).why_not_in_lanes
        with pytest.raises(la.StateError, match=f"lanes = 4: .*{words}"):
            la.rollout(model, dt=0.01, steps=0, lanes=4, **options)
    for lanes in (0, 3, 16, 2.5, "8"):
        with pytest.raises(la.StateError, match="lanes"):
            la.rollout(pendulum, dt=0.01, steps=0, lanes=lanes)
