"""Names of reactions: what is found under which, and what is said about those that are not there."""

import numpy as np
import pytest

import leastaction as la


def mechanism():
    mech = la.examples.chain(3)
    mech.add_body("lid", "link1", la.Fixed(), mass=0.1)
    mech.add_frame("hook", placement=la.Pose(xyz=(2.0, 0.0, 0.0)))
    return mech


@pytest.fixture(scope="module")
def run():
    mech = mechanism()
    mech.add_constraint(la.Distance("hook", "tip", 3.0), name="wire")
    mech.add_constraint(la.Gear("link1", "link2", 0.5))
    model = mech.compile()
    return la.simulate(model, dt=0.01, steps=2, q=model.assemble([0.4, 0.8, 0.3]))


def test_what_is_there(run):
    gear = "Gear('link1', 'link2')"
    assert list(run.reactions) == ["wire", gear, "link1", "link2", "link3"]
    assert len(run.reactions) == 5 and "wire" in run.reactions and "link1" in run.reactions and "lid" not in run.reactions
    assert run.reactions[0].name == run.reactions[-2].name == "wire" and run.reactions[1].name == gear
    assert repr(run.reactions) == "<Reactions of '3-link chain': 'wire', \"Gear('link1', 'link2')\", 'link1', 'link2', 'link3'>"
    assert repr(run.reactions["wire"]) == "<Reaction 'wire' on 'link3' by 'world'>"
    assert run.reactions["link2"].by == "link1"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("elbow", "no constraint, joint or body 'elbow'; there are 'wire'"),
        ("lid", "'lid' is fixed to 'link1' and one with it"),
        ("hook", "'hook' is fixed to 'world'"),
        ("world", "no constraint, joint or body 'world'"),
        (2, "there are 2 constraints"),
        (True, "there are 2 constraints"),
        (None, "there are 2 constraints"),
    ],
)
def test_what_is_not_there(run, key, message):
    with pytest.raises(la.StateError, match=message):
        run.reactions[key]


def test_constraints_on_coordinates_have_no_point(run):
    gear = run.reactions[1]
    assert gear.multipliers.shape == (3, 1) and gear.rows == ("ratio",)
    with pytest.raises(la.StateError, match="acts on joint coordinates"):
        _ = gear.force
    with pytest.raises(la.StateError, match="no body or frame 'moon'"):
        run.reactions["wire"].in_axes_of("moon")
    # and what it does stands in the joints it couples
    torque = gear.multipliers[:, 0]
    assert np.abs(run.reactions["link1"].drive[:, 0] - torque).max() < 1e-8
    assert np.abs(run.reactions["link2"].drive[:, 0] + 0.5 * torque).max() < 1e-8


def test_the_same_name_twice():
    mech = mechanism()
    wire = la.Distance("hook", "tip", 3.0)
    mech.add_constraint(wire)
    mech.add_constraint(wire)
    model = mech.compile()
    run = la.simulate(model, dt=0.01, steps=1, q=model.assemble([0.4, 0.8, 0.3]))
    with pytest.raises(la.StateError, match="2 constraints are called .* by its number .*0.*1"):
        run.reactions["Distance('hook', 'tip')"]
    assert run.reactions[1].indeterminate


def test_names_of_constraints_are_unique_and_leave_the_one_given_alone():
    mech = mechanism()
    wire = la.Distance("hook", "tip", 3.0)
    added = mech.add_constraint(wire, name="wire")
    assert wire.name is None and added.name == "wire"
    with pytest.raises(la.MechanismError, match="'wire' is already taken"):
        mech.add_constraint(wire, name="wire")
    with pytest.raises(la.MechanismError, match="constraint name"):
        mech.add_constraint(wire, name="")
    mech.add_constraint(la.Prescribed("link1", 0.0), name="link2")
    with pytest.raises(la.MechanismError, match="'link2' is also the name of a body or joint"):
        mech.compile()


def test_a_run_that_failed_has_reactions_up_to_there():
    model = la.examples.chain(2).compile()
    tau = np.zeros((6, 2))
    tau[4:] = 1e200
    whole = la.simulate(model, dt=0.01, steps=4, q=[0.5, 0.2]).reactions["link1"].wrench
    with pytest.raises(la.ConvergenceError) as failed:
        la.simulate(model, dt=0.01, steps=6, q=[0.5, 0.2], tau=tau)
    found = failed.value.trajectory.reactions["link1"].wrench
    assert found.shape == (5, 6) and np.abs(found[:4] - whole[:4]).max() < 1e-9
    sim = la.Simulator(model, dt=0.01, q=[0.5, 0.2])
    sim.step([0.3, 0.0])
    before = sim.reactions["link1"].wrench
    with pytest.raises(la.ConvergenceError):
        sim.step([1e200, 0.0])
    assert np.array_equal(sim.reactions["link1"].wrench, before)


def test_a_step_that_cannot_be_made_again_is_explained():
    model = la.examples.chain(2).compile()
    run = la.simulate(model, dt=0.01, steps=2, q=[0.5, 0.2])
    run.dt = 20.0
    with pytest.raises(la.ConvergenceError, match="the reactions at t = .* s need the step of 20 s"):
        run.reactions["link1"]
