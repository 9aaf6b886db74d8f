"""One gate for numbers, one for objects: whatever is given to a public function, it works or is an error of ours that names the thing."""

import itertools
import time

import numpy as np
import pytest
from support.public_calls import Broken

import leastaction as la
from leastaction.errors import LeastActionError
from leastaction.forces import Force

ODD = [
    [1j, 0.0], np.array([1.0 + 0j, 2.0]), 1j, [10**400, 0], 10**400, 10**5000, "ab", "3", ["1",
    "2"], [np.nan, 0.0], np.nan, np.inf, -1.0, 0, [[1, 2], [3]],
    None, object(), Broken(), [1, 2, 3, 4, 5], np.zeros((2, 2, 2)), {"upper": 1j}, {"nobody": 1.0}, {1: 2}, True, [True, False], b"ab",
    int, len,
    np.datetime64("2020-01-01"), np.array([None, 1.0]), (x for x in range(2)), "a\0b",
]  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return la.examples.double_pendulum().compile()


@pytest.fixture(scope="module")
def run(model):
    return la.simulate(model, dt=0.01, steps=5, q={"upper": 0.3})


def compiled(what):
    mech = la.examples.double_pendulum()
    (mech.add_force if isinstance(what, Force) else mech.add_constraint)(what)
    return mech.compile()


def body(**options):
    return la.Mechanism().add_body("b", **{"joint": la.Revolute(), "mass": 1.0} | options)


DESCRIPTIONS = {
    "gravity": lambda x: la.Mechanism(gravity=x), "name": lambda x: la.Mechanism(name=x), "pose": lambda x: la.Pose(x),
    "rpy": lambda x: la.Pose(rpy=x), "quaternion": lambda x: la.Pose(quaternion=x), "rotation": lambda x: la.Pose(rotation=x),
    "mass": lambda x: body(mass=x), "com": lambda x: body(com=x), "inertia": lambda x: body(inertia=x), "joint": lambda x: body(joint=x),
    "placement": lambda x: body(placement=x), "parent": lambda x: body(parent=x), "joint_name": lambda x: body(joint_name=x),
    "axis": lambda x: la.Revolute(axis=x), "pitch": lambda x: la.Helical(pitch=x), "frame": lambda x: la.Mechanism().add_frame(x),
    "spring": lambda x: compiled(la.Spring("upper", x)), "rest": lambda x: compiled(la.Spring("upper", 1.0, x)),
    "spring on": lambda x: compiled(la.Spring(x, 1.0)), "damper": lambda x: compiled(la.Damper("upper", x)),
    "drag": lambda x: la.Drag("b", linear=x), "fluid": lambda x: la.Drag("b", fluid=x), "wrench": lambda x: la.Wrench("b", force=x),
    "wrench on": lambda x: compiled(la.Wrench(x)), "wrench frame": lambda x: la.Wrench("b", frame=x),
    "linear spring": lambda x: la.LinearSpring("a", "b", x), "length": lambda x: la.LinearSpring("a", "b", 1.0, x),
    "parameters": lambda x: la.NonlinearSpring("k * x", joint="upper", parameters=x),
    "joints": lambda x: compiled(la.UserPotential("q0", x)),
    "between": lambda x: compiled(la.NonlinearSpring("x", between=x)), "custom": lambda x: compiled(la.CustomForce(x)),
    "distance": lambda x: la.Distance("a", "b", x), "gear": lambda x: la.Gear("a", "b", x), "directions": lambda x: la.Coincident("a",
    "b", x),
    "prescribed": lambda x: compiled(la.Prescribed("upper", x)), "cam": lambda x: compiled(la.Cam("upper", "lower", x)),
    "rolling": lambda x: la.Rolling("b", x), "coincident": lambda x: compiled(la.Coincident(x, "world")),
    "symbolic": lambda x: la.SymbolicJoint("j", x, 1), "symbolic name": lambda x: la.SymbolicJoint(x, lambda q, sp: sp.rot_z(q[0]), 1),
    "nq": lambda x: la.SymbolicJoint("j", lambda q, sp: sp.rot_z(q[0]), x), "start": lambda x: slope(start=x),
    "values": lambda x: slope(parameters=x),
    "frame tree": lambda x: la.FrameTree().tx(x), "frame mass": lambda x: la.FrameTree().tx(1.0, mass=x),
    "frame inertia": lambda x: la.FrameTree().tx(1.0, inertia=x), "primitive": lambda x: la.FrameTree().add("world", x, 1.0),
    "chain": lambda x: la.examples.chain(x) if not isinstance(x, int) or x < 100 else None, "sphere": lambda x: la.library.sphere(x),
    "load": lambda x: la.load(x), "save": lambda x: la.save(x, "x.sexp"), "save to": lambda x: la.save(la.examples.listing_1(), x),
    "tol": lambda x: la.Variational(tol=x), "retraction": lambda x: la.Variational(retraction=x),
    "most": lambda x: la.Maximal(max_evaluations=x),
    "alpha": lambda x: la.Midpoint(alpha=x), "order": lambda x: la.Composition(order=x), "base": lambda x: la.Composition(x),
    "density": lambda x: la.AdaptiveStep(density=x), "speed": lambda x: la.AdaptiveStep(speed=x),
    "controller": lambda x: la.AdaptiveStep(controller=x),
}  # fmt: skip


def slope(**options):
    return la.SymbolicJoint("slope", lambda q, sp, p: sp.move(q[0], 0, q[0] ** 2), 1, **options)


WORK = {
    "state": lambda m, run, x: m.state(q=x), "velocity": lambda m, run, x: m.state(v=x), "time": lambda m, run, x: m.state(t=x),
    "hand-made": lambda m, run, x: la.State(m, 0.0, x, [0.0, 0.0]), "hand-made p": lambda m, run, x: la.State(m, 0.0, [0.0, 0.0], x),
    "hand-made t": lambda m, run, x: la.State(m, x, [0.0, 0.0], [0.0, 0.0]),
    "of no model": lambda m, run, x: la.State(x, 0.0, [0.0], [0.0]),
    "slice": lambda m, run, x: m.q_slice(x), "assemble": lambda m, run, x: m.assemble(x), "hold": lambda m, run, x: m.assemble(hold=x),
    "model": lambda m, run, x: la.simulate(x, dt=0.01, steps=2), "from": lambda m, run, x: la.simulate(m, x, dt=0.01, steps=2),
    "dt": lambda m, run, x: la.simulate(m, dt=x, steps=2),
    "steps": lambda m, run, x: la.Simulator(m, dt=0.01).run(x) if not big(x) else None,
    "duration": lambda m, run, x: la.simulate(m, dt=0.01, duration=x),
    "every": lambda m, run, x: la.simulate(m, dt=0.01, steps=2, record_every=x),
    "tau": lambda m, run, x: la.simulate(m, dt=0.01, steps=2, tau=x), "step": lambda m, run, x: la.Simulator(m, dt=0.01).step(x),
    "law": lambda m, run, x: la.simulate(m, dt=0.01, steps=2, control=x) if not callable(x) else None,
    "returned": lambda m, run, x: la.simulate(m, dt=0.01, steps=2, control=lambda t, s: x),
    "integrator": lambda m, run, x: la.simulate(m, dt=0.01, steps=2, integrator=x), "node": lambda m, run, x: run.state(x),
    "joint": lambda m, run, x: run[x],
    "mass matrix": lambda m, run, x: la.dynamics.mass_matrix(x), "mass matrix at": lambda m, run, x: la.dynamics.mass_matrix(m, x),
    "energy of": lambda m, run, x: la.dynamics.energy(x, [0.0, 0.0]), "forward": lambda m, run, x: la.dynamics.forward(m, [0.0, 0.0], x),
    "inverse": lambda m, run, x: la.dynamics.inverse(m, None, None, x), "pose of": lambda m, run, x: la.dynamics.pose(m, None, x),
    "residual": lambda m, run, x: la.discrete.residual(m, x, None, None, 0.01),
    "residual dt": lambda m, run, x: la.discrete.residual(m, None, None, None, x),
    "retraction": lambda m, run, x: la.discrete.jacobian(m, None, None, 0.01, retraction=x),
    "increment": lambda m, run, x: la.discrete.increment(x, None, None),
    "linearize": lambda m, run, x: la.linearize(x, la.Variational(), m.state(), 0.01),
    "linearize from": lambda m, run, x: la.linearize(m, la.Variational(), x, 0.01),
    "linearize by": lambda m, run, x: la.linearize(m, x, m.state(), 0.01),
    "linearize dt": lambda m, run, x: la.linearize(m, la.Variational(), m.state(), x),
    "report": lambda m, run, x: la.solvability.report(x),
    "report dt": lambda m, run, x: la.solvability.report(m, None, x) if not is_number(x) else None,
    "certified": lambda m, run, x: la.solvability.certified(m, x), "maximal": lambda m, run, x: la.to_maximal(x),
    "minimal": lambda m, run, x: la.to_minimal(m, x),
    "crosscheck": lambda m, run, x: la.crosscheck(x, dt=0.01, duration=0.02),
    "crosscheck dt": lambda m, run, x: la.crosscheck(m, dt=x, duration=0.02),
    "crosscheck for": lambda m, run, x: la.crosscheck(m, dt=0.01, duration=x), "drift": lambda m, run, x: la.analysis.drift(x),
    "order": lambda m, run, x: la.analysis.convergence_order(x, [1.0, 2.0]), "plot": lambda m, run, x: la.plot.energy(x),
    "joints": lambda m, run, x: la.plot.joints(run, x),
    "picture": lambda m, run, x: la.plot.mechanism(x), "poses": lambda m, run, x: la.plot.mechanism(run, poses=x) if not big(x) else None,
    "film": lambda m, run, x: la.plot.animation(x, "run.gif"), "fps": lambda m, run, x: la.plot.animation(run, "run.avi", fps=x),
    "film to": lambda m, run, x: la.plot.animation(run, x), "values": lambda m, run, x: la.constraints.values(x, [0.0]),
}  # fmt: skip


def big(x):
    return isinstance(x, int) and x > 1000


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


@pytest.mark.parametrize("what", DESCRIPTIONS)
def test_descriptions(what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in ODD:
        named_or_fine(lambda value=value: DESCRIPTIONS[what](value), what, value)


@pytest.mark.parametrize("what", WORK)
def test_work(what, model, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in ODD:
        named_or_fine(lambda value=value: WORK[what](model, run, value), what, value)


def named_or_fine(call, what, value):
    began = time.perf_counter()
    try:
        call()
    except LeastActionError as error:
        assert str(error) and len(str(error)) < 3000
    except Exception as error:
        raise AssertionError(f"{what} with a {type(value).__name__} ended in a raw {type(error).__name__}: {error}") from error
    assert time.perf_counter() - began < 60.0


def test_nothing_is_cut_off(model):
    """What is refused is refused for the right reason; what is accepted keeps every digit."""
    for value, words in (([1j, 0.0], "is complex"), ([10**400, 0], "too large for a float"), ([True, False], "truth values"), (["1",
    "2"], "text")):
        with pytest.raises(la.StateError, match=words):
            model.state(q=value)
        with pytest.raises(la.MechanismError, match=words):
            la.Pose(xyz=[*value, value[0]])
    for shape in itertools.product((0, 1, 2, 3), repeat=2):
        if shape != (2, 2):
            with pytest.raises(la.StateError, match="of the state"):
                la.State(model, 0.0, np.ones(shape[0]), np.ones(shape[1]))
    with pytest.raises(la.StateError, match="t of the state = nan"):
        la.State(model, np.nan, [0.0, 0.0], [0.0, 0.0])


def test_no_end_and_no_memory(model, run):
    for options in ({"duration": 1e300}, {"steps": 10**15}, {"duration": 1e9, "dt": 1e-6}):
        with pytest.raises(la.StateError, match="steps"):
            la.simulate(model, **{"dt": 1e-3} | options)
    for options in ({"fps": 1e9}, {"speed": 1e-6}):
        with pytest.raises(la.StateError, match="pictures"):
            la.plot.animation(run, "run.gif", **options)


def dense(t, q, v, out):
    out[0] = 1e12


def denser(t, q, v, out):
    out[0] = 1e300


@pytest.mark.parametrize("density", [dense, denser])
def test_a_density_that_never_ends(model, density):
    with pytest.raises(LeastActionError, match="density") as caught:
        la.simulate(model, dt=1e-3, duration=10.0, integrator=la.AdaptiveStep(density=density))
    assert caught.value.trajectory is not None


def test_a_disc_that_lies_flat_is_named():
    disc = la.examples.rolling_disc().compile()
    flat = [0.0, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]
    with pytest.raises(la.StateError, match="Rolling.*cannot be computed"):
        disc.assemble(flat)


def test_an_inertia_near_the_largest_number_is_named():
    with pytest.raises(la.MechanismError, match="more than arithmetic can hold"):
        body(inertia=(1e308, 1e308, 1e308))


@pytest.mark.parametrize("suffix", ["sexp", "urdf", "xml"])
def test_saving_names_what_hangs_on_nothing(suffix, tmp_path):
    """A body or a frame; on something that is not there, or in a ring that nothing holds."""
    lost, ring, frame = la.Mechanism(), la.Mechanism(), la.Mechanism()
    lost.add_body("lost", "nowhere", la.Revolute(), mass=1.0)
    ring.add_body("lost", "other", la.Revolute(), mass=1.0)
    ring.add_body("other", "lost", la.Revolute(), mass=1.0)
    frame.add_frame("lost", "nowhere")
    for mech in (lost, ring, frame):
        with pytest.raises(la.FormatError, match="'lost' hangs on '(nowhere', which does not exist|other', which does not hang)"):
            la.save(mech, tmp_path / f"x.{suffix}")
        assert not (tmp_path / f"x.{suffix}").exists()
