"""A specialised model gives the numbers of the general kernels, whatever the mechanism.

Compiling takes seconds per mechanism, so most mechanisms are tried with the compiler switched off: the generated source is the
same, and Python runs it.
"""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastaction as la
from leastaction.compiling import cache
from leastaction.compiling import modules as generated
from leastaction.specialise import build, terms
from leastaction.specialise.plan import operations, plan
from leastaction.testing import random_state
from leastaction.yardsticks import Lee2016, Svi

pytestmark = pytest.mark.slow

RANDOM_MECHANISMS = """
import json, sys
import numpy as np
import leastaction as la
from leastaction.specialise import memory, trace
from leastaction.testing import random_mechanism, random_state

joints = None
if sys.argv[1] == "as if compiled elsewhere":  # reach every joint but the revolute one through its compiled functions only
    memory.BUILT_IN = trace.BUILT_IN = 0
    joints = [j for j in la.joints.ALL if j is not la.Spherical]  # which the kernels know by name
errors = []
for seed in range(6):
    rng = np.random.default_rng(seed)
    model = random_mechanism(rng, n=int(rng.integers(1, 8)), joints=joints, forces=seed % 3 > 0, armatures=seed % 2 > 0).compile()
    own = model.specialise()
    assert own.specialised.forward and own.specialised.run("exp") and own.specialised.run("cayley")
    q, v = random_state(model, rng)
    tau = rng.normal(size=model.nv)
    a, b = (la.dynamics.forward(m, q, v, tau) for m in (own, model))
    error = [np.abs(a - b).max() / np.abs(b).max()]
    for integrator in (la.Variational("exp"), la.Variational("cayley"), la.Composition(la.Variational("exp"), scheme="triple-jump")):
        x, y = (la.simulate(m, dt=1e-3, steps=4, q=q, v=v, tau=tau, integrator=integrator) for m in (own, model))
        error.append(np.abs(x.q - y.q).max() / np.abs(y.q).max())
        error.append(np.abs(x.p - y.p).max() / np.abs(y.p).max())
    errors.append(error)
print(json.dumps(errors))
"""

def without_compiler(code, *arguments):
    source = str(Path(la.__file__).parents[1])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": source}
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("how", ["traced", "as if compiled elsewhere"])
def test_random_mechanisms(how):
    """All joint types, trees, springs, dampers, wrenches, fixed and massless bodies."""
    assert np.max(json.loads(without_compiler(RANDOM_MECHANISMS, how))) < 1e-12


def test_the_same_errors():
    """Hanging straight down, the mass is on the axis of the first joint."""
    mech = la.Mechanism()
    mech.add_body("spin", joint=la.Revolute(axis=(0, 0, 1)))
    mech.add_body("swing", "spin", la.Revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0, -1))
    model = mech.compile()
    own = model.specialise()
    attempts = [lambda m: la.dynamics.forward(m, [0.3, 0.0]), lambda m: la.simulate(m, dt=1e-3, steps=3, tau=[1.0, 0.0])]
    for attempt in attempts:
        with pytest.raises(la.LeastActionError, match="'spin' moves no inertia") as general:
            attempt(model)
        with pytest.raises(type(general.value)) as special:
            attempt(own)
        assert str(special.value) == str(general.value)


def compare_runs(model, state_of, integrator, steps, dt):
    own = model.specialise()
    x = la.simulate(own, state_of(own), dt=dt, steps=steps, integrator=integrator)
    y = la.simulate(model, state_of(model), dt=dt, steps=steps, integrator=integrator)
    assert x.model is own
    return x, y


@pytest.mark.parametrize("integrator", [la.Variational("exp"), la.Variational("cayley"), la.Composition(order=4)], ids=repr)
def test_a_chain_moves_the_same(integrator):
    """Compiled, one second; the motion is smooth, so that rounding does not grow."""
    model = la.examples.chain(30).compile()
    x, y = compare_runs(model, lambda m: m.state(q={"link1": 0.8}), integrator, steps=1000, dt=1e-3)
    assert np.abs(x.q - y.q).max() < 1e-10
    assert np.abs(x.energy - y.energy).max() < 1e-10 * np.ptp(y.potential)
    # good guesses end near what is allowed, and rounding decides on which side
    assert np.mean(x.iterations != y.iterations) < 0.03


def test_everything_compiled(driven_tree):
    """All joints, springs, dampers, wrenches and a user force, compiled."""
    model, own = driven_tree.model, driven_tree.model.specialise()
    q, v = driven_tree.state.q, driven_tree.state.v
    a, b = (la.dynamics.forward(m, q, v, driven_tree.tau, t=0.3) for m in (own, model))
    assert np.abs(a - b).max() < 1e-12 * np.abs(b).max()
    x, y = (la.simulate(m, m.state(q, v, t=0.3), dt=1e-3, steps=100, tau=driven_tree.tau) for m in (own, model))
    assert np.abs(x.q - y.q).max() < 1e-10
    assert np.abs(x.p - y.p).max() < 1e-10 * np.abs(y.p).max()


def test_long_chain():
    """The mass matrix of 1000 links has condition 1e12: what rounding the coordinates changes is the measure."""
    model = la.examples.chain(1000).compile()
    rng = np.random.default_rng(0)
    q, v = 0.1 * rng.normal(size=(2, model.nv))
    a, b = (la.dynamics.forward(m, q, v) for m in (model.specialise(), model))
    rounded = [la.dynamics.forward(model, np.nextafter(q, rng.choice([-np.inf, np.inf], size=q.shape)), v) for _ in range(5)]
    assert np.abs(a - b).max() < 3.0 * max(np.abs(c - b).max() for c in rounded)


def test_code_does_not_grow_with_the_chain():
    """Bodies about which the same is known share their code, also when their masses differ."""

    def size(mechanism, units):
        model = mechanism.compile()
        return operations(plan(units, model.tree, model.make_work(), False))

    def uneven(n):
        mech, parent, rng = la.Mechanism(), "world", np.random.default_rng(0)
        for i in range(n):
            mass, pose = rng.uniform(0.5, 2.0), la.Pose((0, 0, -0.8))
            mech.add_body(f"link{i}", parent, la.Revolute(axis=(0, 1, 0)), pose, mass=mass, com=(0, 0, -0.3))
            parent = f"link{i}"
        return mech

    for make in (la.examples.chain, la.examples.ball_chain, lambda n: la.examples.chain(n, spatial=True), uneven):
        for units in (build.forward_units(), build.step_units(0)):
            assert size(make(60), units) == size(make(10), units)


def test_what_is_known_saves_work():
    """A planar chain is a planar problem: its code is a fraction of that of a chain in space with the same bodies."""

    def size(spatial):
        model = la.examples.chain(10, spatial=spatial).compile()
        return operations(plan(build.forward_units(), model.tree, model.make_work(), False))

    assert size(False) < 0.4 * size(True)


def test_the_rest_runs_as_before():
    """Integrators and options without code of their own give bitwise what they give without."""
    model = la.examples.chain(2).compile()
    choices = [
        la.Variational(quadrature="midpoint"), Lee2016("riqn", "extrapolate"), Svi("riqn", "extrapolate"),
        Lee2016("newton", "ig3"), la.RK4(),
    ]  # fmt: skip
    for integrator in choices:
        x, y = compare_runs(model, lambda m: m.state(q={"link1": 0.5}), integrator, steps=10, dt=1e-2)
        assert np.array_equal(x.q, y.q)
    own = model.specialise()
    assert np.array_equal(la.dynamics.mass_matrix(own, [0.1, 0.2]), la.dynamics.mass_matrix(model, [0.1, 0.2]))


def test_a_specialised_model_is_a_model():
    model = la.examples.chain(3).compile()
    own = model.specialise()
    assert model.specialised is None
    assert own.joint_names == model.joint_names
    assert isinstance(pickle.loads(pickle.dumps(own.specialised)), build.Specialised)
    with pytest.raises(la.StateError, match="belongs to"):
        la.simulate(own, model.state(), dt=1e-3, steps=1)


def test_too_many_kinds_of_bodies(monkeypatch):
    """First fewer constants are folded, then the general kernels are used."""
    model = la.examples.humanoid().compile()
    sizes = [operations(plan(build.forward_units(), model.tree, model.make_work(), coarse)) for coarse in (False, True)]
    assert sizes[1] < sizes[0]
    monkeypatch.setattr(build, "MOST_OPERATIONS", sizes[1])
    assert model.specialise().specialised.forward_module() is not None
    monkeypatch.setattr(build, "MOST_OPERATIONS", 10)
    own = model.specialise()
    assert own.specialised.forward is None
    q, v = random_state(model, np.random.default_rng(0))
    assert np.array_equal(la.dynamics.forward(own, q, v), la.dynamics.forward(model, q, v))


# ------------------------------------------------------------------------------------------------- the parts

NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, -2.0])


@st.composite
def expressions(draw, depth=4):
    """A function of three numbers as nested tuples."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(NUMBERS, st.sampled_from(["x", "y", "z"])))
    return (draw(st.sampled_from(["+", "-", "*", "neg"])), draw(expressions(depth - 1)), draw(expressions(depth - 1)))


def evaluate(e, values):
    if isinstance(e, tuple):
        a, b = evaluate(e[1], values), evaluate(e[2], values)
        return -a if e[0] == "neg" else a + b if e[0] == "+" else a - b if e[0] == "-" else a * b
    return values[e] if isinstance(e, str) else e


def value_of(term, values):
    if not isinstance(term, terms.Term):
        return term
    if term.op == "param":
        return values[term.args[0]]
    a = [value_of(x, values) for x in term.args]
    if term.op == "neg":
        return -a[0]
    return a[0] + a[1] if term.op == "add" else a[0] - a[1] if term.op == "sub" else a[0] * a[1] if term.op == "mul" else a[0] / a[1]


@given(expressions())
def test_folding_keeps_the_value(e):
    """Small whole numbers and halves: exact, whatever the order of operations."""
    graph, values = terms.Graph(), {"x": 3.0, "y": -5.0, "z": 0.25}
    folded = evaluate(e, {name: graph.term("param", name) for name in values})
    assert value_of(folded, values) == evaluate(e, values)


def test_folding_finds_what_cancels():
    graph = terms.Graph()
    x, y = graph.term("param", "x"), graph.term("param", "y")
    assert x - x == 0.0
    assert (1.0 / x) * x == 1.0
    assert (1.0 / x) * (y * x) is y
    assert (x - y) + y is x
    assert (-x) * (-y) is x * y
    with pytest.raises(terms.TraceError):
        bool(x)


def test_generated_modules(tmp_path, monkeypatch):
    """Made from the same, the same module; its source is asked for once."""
    monkeypatch.setattr(cache, "directory", lambda kind: tmp_path)
    asked = []

    def module(x):
        def make():
            asked.append(x)
            return f"value = {x}\n"

        return generated.generated_module("test", str(x), make)

    one, again, other = module(1), module(1), module(2)
    assert one is again
    assert (one.value, other.value) == (1, 2)
    assert asked == [1, 2]
    assert len(list(tmp_path.glob("*.py"))) == 2
