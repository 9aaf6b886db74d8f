"""A run that goes over to code made for its mechanism: the numbers of the general kernels, repeated to the last bit."""

import numpy as np
import pytest

import leastaction as la
from leastaction.specialise.cost import is_planar, seconds_saved

START = {"dt": 1e-2, "q": {"link1": 0.7}, "v": [0.1, 0.2, -0.3], "progress": False}


@pytest.fixture(scope="module")
def model():
    return la.examples.chain(3, spatial=True).compile()


@pytest.mark.parametrize("integrator", [la.Variational(), la.Variational("cayley"), la.Composition(order=4)], ids=repr)
def test_the_motion_does_not_change(model, integrator):
    plain, switched = (la.simulate(model, steps=12, specialise=k, integrator=integrator, **START) for k in (None, 5))
    assert switched.specialised_from == 5 and plain.specialised_from is None and "from step 5" in str(switched)
    assert np.array_equal(switched.q[:6], plain.q[:6])
    assert np.abs(switched.q - plain.q).max() < 1e-12 and np.abs(switched.p - plain.p).max() < 1e-12
    assert la.simulate(model, steps=12, specialise=switched.specialised_from, integrator=integrator, **START) == switched


def test_other_code_runs_from_that_step_on(model):
    sim = la.Simulator(model, **{key: value for key, value in START.items() if key != "progress"})
    general = sim._stepper.entry
    own = la.integrators.background.Switch(3)
    sim._switch = own
    sim.run(3)
    assert sim._stepper.entry is general and sim.specialised_from is None
    sim.run(1)
    assert sim._stepper.entry is not general and "step_exp" in sim._stepper.entry.py_func.__module__ and sim.specialised_from == 3


def test_whoever_goes_on_runs_the_same_code(model, tmp_path):
    whole = la.simulate(model, steps=12, specialise=5, **START)
    for k in (3, 5, 8):  # before, at and after the step
        first = la.simulate(model, steps=k, specialise=5, **START)
        rest = la.simulate(model, first.state(), dt=1e-2, steps=12 - k, specialise=max(5 - k, 0))
        assert np.array_equal(rest.q, whole.q[k:]) and rest.specialised_from == max(5 - k, 0)
        file = tmp_path / f"{k}.h5"
        la.simulate(model, steps=k, specialise=5, record_to=file, **START)
        resumed = la.simulate(model, steps=12, specialise=5, record_to=file, resume=True, **START)
        assert np.array_equal(resumed.q, whole.q) and resumed.specialised_from == la.open(file).specialised_from == 5
    file = tmp_path / "alone.npz"
    first.save(file)
    assert np.array_equal(la.simulate(model, la.open(file, model=model).state(), dt=1e-2, steps=4).q, whole.q[8:])


def test_together_with_everything_else(model):
    """Control laws, events, limits that are passed soon after, what is called meanwhile."""
    whole = la.simulate(model, steps=12, specialise=5, **START)
    controlled = la.simulate(model, steps=12, specialise=5, control=lambda t, state: [0.0] * 3, **START)
    called = []
    watched = la.simulate(
        model, steps=12, specialise=5, when=la.passes("link1", 100.0), every=la.Every(lambda t, state: called.append(t), steps=3), **START
    )  # fmt: skip
    assert np.array_equal(controlled.q, whole.q) and np.array_equal(watched.q, whole.q) and len(called) == 4
    limited = la.examples.chain(3, spatial=True)
    limited.add_limit("link1", float(whole["link1"].squeeze()[7]) + 1e-5, 10.0)  # which it falls through in the seventh step
    stopped = [la.simulate(limited.compile(), steps=12, specialise=k, **START) for k in (None, 5)]
    assert [run.steps for run in stopped] == [7, 7] and stopped[0].message == stopped[1].message
    assert np.abs(stopped[0].q - stopped[1].q).max() < 1e-12


def test_what_cannot_be(model):
    for options, words in (
        ({"specialise": "now"}, "it is None"),
        ({"specialise": True}, "it is None"),
        ({"specialise": -1}, "it is None"),
        ({"specialise": "background", "guard": True}, "the guard"),
        ({"specialise": "background", "integrator": la.Maximal()}, "Maximal runs the same code"),
        ({"specialise": "background", "integrator": la.AdaptiveStep()}, "AdaptiveStep runs the same code"),
        ({"specialise": 3, "integrator": la.Variational(quadrature="midpoint")}, "trapezoidal"),
    ):
        with pytest.raises(la.StateError, match=words):
            la.simulate(model, steps=1, **options, **START)
    with pytest.raises(la.StateError, match="without constraints"):
        loop = la.examples.four_bar().compile()
        la.simulate(loop, dt=1e-3, steps=1, specialise="background", q=loop.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}))
    assert la.simulate(model.specialise(), steps=2, specialise="background", **START).specialised_from is None  # it is already


def test_advice(model):
    """Where specialising would have paid, and only there."""
    planar = la.examples.chain(3).compile()
    assert is_planar(planar.tree) and not is_planar(model.tree) and not is_planar(la.examples.ball_chain(2).compile().tree)
    run = la.simulate(planar, steps=2, **START)
    assert "specialise" not in str(run)
    run.elapsed = 100.0
    assert "would have saved about 34 s" in str(run) and 0.0 < seconds_saved(model.tree, 400.0) < seconds_saved(planar.tree, 400.0)
    run.model = planar.specialise()
    assert "specialise()" not in str(run)
