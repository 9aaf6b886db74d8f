"""Everything travels between processes: models with functions of the user in them, states, runs, integrators, errors.

`make pools` does it with all kinds of pools and a hundred roll-outs each.
"""

import copy
import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from support.pools import everything, outcome

import leastaction as la
import leastaction.model
from leastaction.errors import ConvergenceError, FormatError, LeastActionError, MechanismError, StateError


@pytest.fixture(scope="module")
def model():
    return everything().compile()


def elsewhere(thing):
    """What another process would get."""
    content = pickle.dumps(thing)
    known = dict(leastaction.model._here)
    leastaction.model._here.clear()
    try:
        return pickle.loads(content)
    finally:
        leastaction.model._here.clear()
        leastaction.model._here.update(known)


def test_a_model_is_compiled_again_where_it_arrives(model):
    there = elsewhere(model)
    assert there is not model and there == model and hash(there) == hash(model)
    assert pickle.loads(pickle.dumps(model)) is model, "a model that comes back is the one that was sent"
    assert copy.deepcopy(model) is model
    assert everything().compile() == model
    special = la.examples.chain(2).compile().specialise()
    assert elsewhere(special).specialised is not None and elsewhere(special) == special


def test_models_differ_where_motions_do(model):
    other = everything()
    other.gravity = (0, 0, -1.6)
    assert other.compile() != model
    other = everything()
    other.forces[0] = la.UserPotential(lambda q, sp: 4 * sp.cos(q[0] - q[1]), joints=other.joint_names[:2])
    assert other.compile() != model
    assert model != "model" and len({model, everything().compile()}) == 1


def test_what_is_changed_after_compiling_does_not_travel():
    mech = la.examples.chain(2)
    spring = mech.add_force(la.Spring("link1", 5.0))
    model = mech.compile()
    spring.stiffness = 7.0
    mech.gravity = (0.0, 0.0, 0.0)
    mech.add_body("late", joint=la.Revolute(), mass=1.0)
    assert elsewhere(model) == model


def test_states_and_integrators_travel(model):
    state = model.state(model.assemble({"bead": 0.3}), t=1.5)
    there = elsewhere(state)
    assert there == state and hash(there) == hash(state) and there.model == model
    assert state != model.state(model.assemble({"bead": 0.4}), t=1.5)
    choices = [
        la.Variational("cayley"), la.Variational(tol=1e-9), la.Midpoint(), la.Maximal(), la.Trapezoid(),
        la.FloatingBase(), la.RK4(), la.RKMK4(),
        la.Heun(), la.SemiImplicitEuler(), la.Composition(order=6), la.AdaptiveStep(density=lambda t, q, v, out: None),
    ]  # fmt: skip
    for integrator in choices:
        assert elsewhere(integrator) == integrator and repr(elsewhere(integrator)) == repr(integrator)
    assert len(set(choices)) == len(choices) and la.Variational() != la.Variational("cayley")


@pytest.mark.parametrize(
    "error",
    [
        ConvergenceError("no", step=3, time=0.5, residual=1e-3), FormatError("no", path="a.sexp", line=2, column=5), MechanismError("no"),
        StateError("no"),
    ],
)  # fmt: skip
def test_errors_travel(error):
    error.add_note("while testing")
    there = pickle.loads(pickle.dumps(error))
    assert type(there) is type(error) and str(there) == str(error) and vars(there) == vars(error)


def test_an_error_travels_without_what_cannot():
    error = ConvergenceError("no", step=3, time=0.5, residual=1e-3)
    error.trajectory = threading.Lock()
    there = pickle.loads(pickle.dumps(error))
    assert there.trajectory is None and "trajectory did not travel" in there.__notes__[0]


def test_a_function_that_cannot_be_pickled_is_named():
    lock = threading.Lock()

    def guarded(t, q, v, tau):
        with lock:
            tau[0] += 1.0

    mech = la.examples.chain(2)
    mech.add_force(la.CustomForce(guarded))
    with pytest.raises(MechanismError, match="CustomForce cannot be pickled because of its function.*guarded"):
        pickle.dumps(mech)


def test_a_simulator_stays_where_it_is(model):
    with pytest.raises(StateError, match="send sim.state"):
        pickle.dumps(la.Simulator(model, dt=1e-3, q=model.assemble({"bead": 0.3})))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_rollouts_in_a_pool(model, method):
    """Some roll-outs of which one fails: the others are bitwise those of one process, the errors are the same errors."""
    states = [model.state(model.assemble({"bead": place}, hold=["bead"])) for place in np.linspace(0.3, 1.3, 8)]
    serial = [outcome(la.simulate, model, state, dt=1e-3, steps=40) for state in states]
    failed = [isinstance(result, LeastActionError) for result in serial]
    assert 1 <= sum(failed) <= 3
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        futures = [pool.submit(la.simulate, model, state, dt=1e-3, steps=40) for state in states]
        parallel = [outcome(future.result, 300) for future in futures]
    for here, there in zip(serial, parallel, strict=True):
        if isinstance(here, LeastActionError):
            assert type(there) is type(here) and str(there) == str(here) and "too far" in str(there)
            here, there = here.trajectory, there.trajectory
        assert there == here and there.model is model
        np.testing.assert_array_equal(there.energy, here.energy)

