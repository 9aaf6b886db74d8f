"""Bad input raises an error that names it; nothing ever comes out as NaN."""

import numpy as np
import pytest

import leastaction as la

NAN = float("nan")


def body(name="rod", joint=None, mech=None, **changes):
    """A mechanism with one sound body, some of its arguments changed."""
    mech = mech or la.Mechanism()
    arguments = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.1), **changes}
    mech.add_body(name, joint=joint or la.Revolute(axis=(0, 1, 0)), **arguments)
    return mech


def model(**changes):
    return body(**changes).compile()


@pytest.mark.parametrize("changes, words", [
    ({"mass": -1.0}, ["rod", "mass", "-1"]),
    ({"mass": NAN}, ["rod", "mass", "nan"]),
    ({"mass": "heavy"}, ["rod", "mass", "heavy"]),
    ({"inertia": (0.1, -0.1, 0.1)}, ["rod", "inertia", "negative"]),
    ({"inertia": (1.0, 0.1, 0.1)}, ["rod", "moments"]),
    ({"inertia": np.array([[1, 2, 0], [0, 1, 0], [0, 0, 1.0]])}, ["rod", "symmetric"]),
    ({"inertia": (0.1, NAN, 0.1)}, ["rod", "inertia", "finite"]),
    ({"inertia": (0.1, 0.1)}, ["rod", "inertia", "shape"]),
    ({"inertia": np.ones((2, 2))}, ["rod", "inertia", "shape"]),
    ({"com": (0, 0)}, ["rod", "com", "shape"]),
    ({"com": (0, np.inf, 0)}, ["rod", "com", "finite"]),
    ({"name": ""}, ["name"]),
    ({"name": "world"}, ["world", "reserved"]),
    ({"joint": la.Revolute}, ["rod", "joint"]),
    ({"placement": (0, 0, 1)}, ["rod", "placement"]),
])  # fmt: skip
def test_bad_bodies(changes, words):
    with pytest.raises(la.MechanismError) as caught:
        body(**changes)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("make", [la.Revolute, la.Prismatic, la.Cylindrical, la.Helical, la.Planar, la.Universal])
@pytest.mark.parametrize("axis", [(0, 0, 0), (NAN, 0, 0), (1, 0), "z", (np.inf, 0, 0)])
def test_bad_axes(make, axis):
    with pytest.raises(la.MechanismError, match=make.__name__):
        make(axis)


def test_bad_joint_numbers():
    with pytest.raises(la.MechanismError, match="pitch"):
        la.Helical(pitch=NAN)
    with pytest.raises(la.MechanismError, match="orthogonal"):
        la.Universal((1, 0, 0), (1, 1, 0))
    with pytest.raises(la.MechanismError, match="x_axis"):
        la.Planar((0, 0, 1), (0, 0, 2))


@pytest.mark.parametrize("gravity", [(0, 0), (0, 0, NAN), "down"])
def test_bad_gravity(gravity):
    with pytest.raises(la.MechanismError, match="gravity"):
        la.Mechanism(gravity=gravity)


def test_unknown_parent():
    with pytest.raises(la.MechanismError, match="'rod' hangs on 'nobody'"):
        body(parent="nobody").compile()


def test_cycle():
    mech = body("a", parent="b")
    body("b", parent="a", mech=mech)
    with pytest.raises(la.MechanismError, match="cycle: a -> b -> a"):
        mech.compile()


def test_cycle_through_a_frame():
    mech = body("a", parent="f")
    mech.add_frame("f", "a")
    with pytest.raises(la.MechanismError, match="cycle"):
        mech.compile()


def test_names_twice():
    with pytest.raises(la.MechanismError, match="'rod' is already taken"):
        body(mech=body())


def test_nothing_moves():
    with pytest.raises(la.MechanismError, match="nothing that moves"):
        body(joint=la.Fixed()).compile()


def test_massless_leaf():
    mech = body()
    mech.add_body("tip", "rod", la.Revolute(axis=(1, 0, 0)))
    with pytest.raises(la.SingularMassError, match="tip"):
        mech.compile()


@pytest.mark.parametrize("joint, com, inertia", [
    (la.Revolute(axis=(0, 0, 1)), (0, 0, 0.5), (0, 0, 0)),  # point mass on the axis
    (la.Spherical(), (0, 0, 0.5), (0, 0, 0)),  # point mass: no inertia about the line through the joint
    (la.Free(), (0, 0, 0), (0, 0, 0)),
    (la.Universal(), (0, 0, 0), (0, 0, 0)),
])  # fmt: skip
def test_mass_that_leaves_m_singular_never_gives_nan(joint, com, inertia):
    """Found when compiling, or when simulating; never a NaN."""
    with pytest.raises(la.LeastActionError):
        compiled = model(joint=joint, com=com, inertia=inertia)
        run = la.simulate(compiled, dt=1e-3, steps=3, v=np.ones(compiled.nv))
        assert np.all(np.isfinite(run.q)) and np.all(np.isfinite(run.v))


@pytest.mark.parametrize("dt", [0.0, -1e-3, NAN, np.inf, "fast", None])
def test_bad_steps(dt):
    with pytest.raises(la.StateError, match="dt"):
        la.simulate(model(), dt=dt, steps=1)


@pytest.mark.parametrize("length", [
    {}, {"steps": 1, "duration": 1.0}, {"steps": -1}, {"steps": 1.5}, {"duration": -1.0}, {"duration": NAN},
])  # fmt: skip
def test_bad_lengths(length):
    with pytest.raises(la.StateError, match="steps|duration"):
        la.simulate(model(), dt=1e-3, **length)


@pytest.mark.parametrize("what", ["q", "v"])
@pytest.mark.parametrize("value", [[1.0, 2.0], [[0.0]], [NAN], {"rod": [1.0, 2.0]}, {"rod": NAN}, {"nobody": 1.0}])
def test_bad_states(what, value):
    with pytest.raises(la.StateError):
        model().state(**{what: value})


@pytest.mark.parametrize("q", [(0.0, 0, 0, 0), (2.0, 0, 0, 0), (1.0, 0, 0)])
def test_bad_quaternions(q):
    with pytest.raises(la.StateError, match="rod|shape"):
        model(joint=la.Spherical()).state(q=q)


def test_velocity_and_momentum_together():
    with pytest.raises(la.StateError, match="not both"):
        model().state(v=[1.0], p=[1.0])


@pytest.mark.parametrize("tau", [[1.0, 2.0], [NAN], [[0.0], [0.0]], [[NAN]] * 3])
def test_bad_joint_forces(tau):
    with pytest.raises(la.StateError, match="tau"):
        la.simulate(model(), dt=1e-3, steps=3, tau=tau)


@pytest.mark.parametrize("tau", [[1.0, 2.0], [NAN]])
def test_bad_joint_forces_of_one_step(tau):
    with pytest.raises(la.StateError, match="tau"):
        la.Simulator(model(), dt=1e-3).step(tau)


@pytest.mark.parametrize("tau", [[1.0, 2.0], [NAN]])
def test_bad_control_law(tau):
    with pytest.raises(la.StateError, match="tau"):
        la.simulate(model(), dt=1e-3, steps=3, control=lambda t, state: tau)


@pytest.mark.parametrize("force", [
    lambda: la.Spring("nobody", 1.0), lambda: la.Spring("rod", -1.0), lambda: la.Spring("rod", (1.0, 2.0)),
    lambda: la.Spring("rod", NAN), lambda: la.Spring("rod", 1.0, rest=(0, 0)), lambda: la.Damper("rod", -1.0),
    lambda: la.Damper("nobody", 1.0), lambda: la.Damper("rod", np.inf), lambda: la.Wrench("nobody"),
    lambda: la.Wrench("rod", force=(0, 0)), lambda: la.Wrench("rod", moment=(0, NAN, 0)), lambda: la.Wrench("rod", frame="moon"),
    lambda: la.CustomForce(3), lambda: "push",
])  # fmt: skip
def test_bad_forces(force):
    mech = body()
    with pytest.raises(la.MechanismError):
        mech.add_force(force())
        mech.compile()


def test_mechanism_where_a_model_is_needed():
    with pytest.raises(la.StateError, match="compile"):
        la.simulate(body(), dt=1e-3, steps=1)


def test_state_of_another_model():
    with pytest.raises(la.StateError, match="belongs to"):
        la.simulate(model(), la.examples.chain(2).compile().state(), dt=1e-3, steps=1)
    la.Simulator(model(), model().state(), dt=1e-3)  # two compilations of the same mechanism are equal


def test_bad_integrator():
    with pytest.raises(la.StateError, match="integrator"):
        la.simulate(model(), dt=1e-3, steps=1, integrator="rk4")
    with pytest.raises(la.StateError, match="retraction"):
        la.Variational(retraction="log")
    with pytest.raises(la.StateError, match="tol"):
        la.Variational(tol=0.0)
