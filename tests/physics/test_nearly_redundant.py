"""Loops in files with six digits: rows that follow from others only nearly."""

import re

import numpy as np
import pytest
from support.six_digits import four_bar_of_free_bodies, in_six_digits

import leastaction as la
from leastaction.assembly.closing import reduce
from leastaction.assembly.equations import TreeClosing

TREE_START = {"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}
LOOPS = {
    "four-bar": (lambda: la.examples.four_bar(joint=True), TREE_START),
    "free bodies": (four_bar_of_free_bodies, None),
    "bennett": (la.examples.bennett, None),
}


def misfit(run):
    """Largest error of any row as it is described."""
    closing = TreeClosing(run.model)
    return max(float(np.abs(closing.errors(q)).max()) for q in run.q[::5])


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("integrator", [la.Variational(), la.Maximal()], ids=lambda i: type(i).__name__)
def test_six_digits_run_as_all_digits_do(name, integrator):
    make, start = LOOPS[name]
    exact, rounded = make().compile(), in_six_digits(make()).compile()
    runs = []
    for model in (exact, rounded):
        q = model.assemble(start)
        runs.append(la.simulate(model, q=q, dt=1e-2, duration=1.0, integrator=integrator))
    assert any("nearly: off by" in row for row in runs[1].redundant)
    assert len(runs[1].redundant) == 3
    assert misfit(runs[1]) < rounded.slack
    assert runs[1].constraint_error.max() < 1e-9
    swing = runs[0].kinetic.max()
    assert np.abs(runs[0].kinetic - runs[1].kinetic).max() < 1e-3 * swing
    assert np.abs(runs[1].energy - runs[1].energy[0]).max() < 1e-2 * swing


def test_a_bennett_linkage_turns_all_the_way_round():
    """Of its five rows no two are a good choice everywhere: others are taken on the way."""
    model = la.examples.bennett().compile()
    run = la.simulate(model, dt=1e-2, duration=10.0, v=model.project_velocity(None, {"first": 6.0}))
    assert np.ptp(run["first"]) > 2 * np.pi
    assert np.abs(run.energy - run.energy[0]).max() < 2e-3 * run.kinetic.max()
    assert misfit(run) < 1e-9


@pytest.mark.parametrize("off", [1e-9, 1e-7, 3e-6])
def test_misalignment_within_the_slack_is_ignored_and_named(off):
    mech = la.examples.four_bar(joint=False)
    mech.constraints.clear()
    mech.add_frame("crooked", "world", la.Pose(xyz=(2.0, 0, 0), rpy=(off, 0, -off)))
    mech.add_constraint(la.Close(la.Revolute(axis=(0, 1, 0)), "crooked", "tip"))
    model = mech.compile()
    q = model.assemble(TREE_START)
    reduction = reduce(model, q)
    assert reduction.kept.sum() == 2
    if off > 1e-8:
        sizes = [float(x) for x in re.findall(r"off by (\S+) rad", " ".join(reduction.dropped))]
        assert sizes and all(0.3 * off < size < 3 * off for size in sizes)


def test_more_than_the_slack_is_refused_with_a_remedy_that_works():
    def crooked(slack):
        mech = la.examples.four_bar(joint=True)
        mech.slack = slack
        mech.frames["anchor"] = la.mechanism.Frame("anchor", "world", la.Pose(xyz=(2.0, 0, 0), rpy=(3e-4, 0, 2e-4)))
        return mech.compile()

    with pytest.raises(la.StateError, match=r"mechanism\.slack = ") as error:
        crooked(1e-5).assemble(TREE_START)
    remedy = float(re.search(r"mechanism\.slack = (\S+) lets", str(error.value)).group(1))
    model = crooked(remedy)
    run = la.simulate(model, q=model.assemble(TREE_START), dt=1e-2, duration=0.5)
    assert misfit(run) < remedy * 5
    with pytest.raises(la.StateError, match="cannot be satisfied"):
        crooked(0.0).assemble(TREE_START)


@pytest.mark.parametrize("slack", [-1e-6, 0.1, float("nan"), "loose"])
def test_a_slack_that_is_none_is_refused(slack):
    with pytest.raises(la.MechanismError, match="slack"):
        la.Mechanism(slack=slack)


def test_rows_that_are_wrong_are_not_taken_for_rounding():
    """Two pins a millimetre apart: contradiction, not redundancy."""
    mech = la.examples.four_bar()
    mech.add_frame("other", "world", la.Pose(xyz=(2.001, 0, 0)))
    mech.add_constraint(la.Coincident("other", "tip", directions=((1, 0, 0), (0, 0, 1))))
    with pytest.raises(la.StateError, match="cannot be satisfied"):
        mech.compile().assemble(TREE_START)


def test_the_slack_goes_with_the_model():
    import pickle

    model = la.examples.four_bar().compile()
    mech = la.examples.four_bar()
    mech.slack = 1e-4
    other = mech.compile()
    assert model != other
    assert pickle.loads(pickle.dumps(other)).slack == 1e-4
