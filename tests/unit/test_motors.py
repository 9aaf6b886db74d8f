"""Motors: inputs within limits become joint forces, the same for every way of simulating."""

import pickle

import numpy as np
import pytest

import leastaction as la


def driven():
    mech = la.examples.chain(3)
    mech.add_motor(la.Motor("link3", gear=50.0, limit=0.2, name="wrist"))
    mech.add_motor(la.Motor("link1", gear=-2.0, limit=(-1.0, 3.0)))
    mech.add_motor(la.Motor("link1", name="second"))
    return mech


def test_inputs_become_joint_forces():
    model = driven().compile()
    assert [motor.name for motor in model.motors] == ["wrist", "link1", "second"]
    np.testing.assert_array_equal(model.torques([0.1, 5.0, 7.0]), [-6.0 + 7.0, 0.0, 5.0])
    np.testing.assert_array_equal(model.torques({"wrist": -9.0, "link1": -9.0}), [2.0, 0.0, -10.0])
    np.testing.assert_array_equal(model.torques({}), np.zeros(3))
    series = np.random.default_rng(0).normal(size=(8, 3))
    np.testing.assert_array_equal(model.torques(series), [model.torques(u) for u in series])


def test_runs_take_them():
    model, series = driven().compile(), np.random.default_rng(0).normal(size=(20, 3))
    run = la.simulate(model, dt=1e-3, steps=20, tau=model.torques(series))
    row = iter(series)
    again = la.simulate(model, dt=1e-3, steps=20, control=lambda t, state: model.torques(next(row)))
    np.testing.assert_array_equal(run.q, again.q)
    np.testing.assert_array_equal(run.tau, model.torques(series))


def test_they_belong_to_the_model():
    model = driven().compile()
    assert pickle.loads(pickle.dumps(model)).motors == model.motors and model.specialise().motors == model.motors
    mech = driven()
    frozen = mech.compile()
    mech.add_motor(la.Motor("link2"))
    assert len(frozen.motors) == 3 and len(mech.compile().motors) == 4 and frozen != mech.compile()


def test_a_cable_pulls_several_joints():
    mech = la.examples.chain(3)
    mech.add_motor(la.Motor({"link3": -0.5, "link1": 2.0}, gear=10.0, limit=0.3, name="cable"))
    model = mech.compile()
    np.testing.assert_allclose(model.torques({"cable": 1.0}), [6.0, 0.0, -1.5])
    assert pickle.loads(pickle.dumps(model)).motors == model.motors and hash(model.motors[0]) == hash(mech.motors[0])


@pytest.mark.parametrize(("make", "message"), [
    (lambda m: m.add_motor(la.Motor("elbow")), "joint 'elbow', which does not exist.*'link1'"),
    (lambda m: m.add_motor(la.Motor("ball")), "motor 'ball'.*Spherical.*one degree of freedom"),
    (lambda m: m.add_motor(la.Motor("link1")), "the motor name 'link1' is already taken"),
    (lambda m: m.add_motor("link2"), "add_motor got 'link2'"),
    (lambda m: la.Motor("link1", gear=np.nan), "gear = nan"),
    (lambda m: la.Motor("link1", limit=-1.0), r"limit = -1.0; it needs a number >= 0"),
    (lambda m: la.Motor("link1", limit=(2.0, 1.0)), r"limit = \(2.0, 1.0\)"),
    (lambda m: la.Motor("link1", limit=(1.0, 2.0, 3.0)), "limit"),
    (lambda m: la.Motor(3), "Motor: joint"),
    (lambda m: la.Motor({"link1": 1.0}), "give one or more joints, and a name"),
    (lambda m: m.add_motor(la.Motor({"link1": 1.0, "elbow": 2.0}, name="cable")), "joint 'elbow', which does not exist.*'link1'"),
])  # fmt: skip
def test_what_is_wrong_is_named(make, message):
    mech = driven()
    mech.add_body("ball", "link3", la.Spherical(), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(la.MechanismError, match=message):
        make(mech)
        mech.compile()


@pytest.mark.parametrize(("u", "message"), [
    ([1.0], r"u has shape \(1,\); it needs one entry per motor, \(3,\).*'wrist'"), ({"elbow": 1.0}, "no motor 'elbow'; motors are 'wrist'"),
    ([1.0, np.inf, 0.0], "u.*finite"), (np.zeros((2, 2, 3)), "u has shape"), ("full", "u"),
])  # fmt: skip
def test_wrong_inputs_are_named(u, message):
    with pytest.raises(la.StateError, match=message):
        driven().compile().torques(u)


def test_files_refuse_them(tmp_path):
    for suffix in (".urdf", ".sexp"):
        mech = la.examples.chain(1)
        mech.add_motor(la.Motor("link1"))
        with pytest.raises(la.FormatError, match="otor"):
            mech.save(tmp_path / f"arm{suffix}")
