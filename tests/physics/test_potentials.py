"""Springs between points and user potentials: energy kept, order 2, large steps with the midpoint rule, exact solutions, messages."""

import numpy as np
import pytest
from support.symbolic_samples import symbolic_samples

import leastaction as la
from leastaction.testing import Kinematics, random_mechanism, random_state
from leastaction.testing.action import potential
from leastaction.yardsticks import Svi


def bouncing_pair(stiffness=40.0):
    """Two sliders along x that only a spring connects, no gravity."""
    mech = la.Mechanism(gravity=(0, 0, 0), name="pair")
    for name, mass in (("a", 1.0), ("b", 3.0)):
        mech.add_body(name, joint=la.Prismatic(axis=(1, 0, 0)), mass=mass)
    mech.add_force(la.LinearSpring("a", "b", stiffness, length=0.5))
    return mech


def webbed_chain():
    """A 3-D chain with every kind of potential; the energies couple links that are not neighbours."""
    mech = la.examples.chain(5, spatial=True)
    mech.add_frame("hook", placement=la.Pose(xyz=(1.0, 0.5, -2.0)))
    mech.add_force(la.LinearSpring("tip", "hook", 30.0, 1.0))
    mech.add_force(la.LinearSpring("link2", "tip", 20.0, 2.0))
    mech.add_force(la.NonlinearSpring(lambda x, sp, p: p.k * sp.exp(x), between=("link1", "link5"), parameters={"k": 0.2}))
    mech.add_force(la.NonlinearSpring(lambda x, sp: 2 * x**4, joint="link3"))
    mech.add_force(la.UserPotential(lambda q, sp: 5 * sp.cos(q[0] - q[1]) * sp.cos(q[2]), joints=["link1", "link3", "link5"]))
    return mech


START = {"link1": 0.4, "link2": -0.3, "link3": 0.5, "link4": 0.2, "link5": -0.4}


@pytest.mark.parametrize("quadrature", ["trapezoid", "midpoint"])
def test_two_sliders_on_a_spring_oscillate_about_their_fixed_centre_of_mass(quadrature):
    frequency = np.sqrt(40.0 * (1 / 1.0 + 1 / 3.0))
    errors = []
    for dt in (1e-2, 5e-3):
        run = la.simulate(bouncing_pair().compile(), dt=dt, duration=3.0, q=[0.8, 0.1], integrator=la.Variational(quadrature=quadrature))
        stretch = 0.5 + 0.2 * np.cos(frequency * run.t)
        errors.append(np.abs(run.q[:, 0] - run.q[:, 1] - stretch).max())
        assert np.abs(run.q @ [1.0, 3.0] - (0.8 + 0.3)).max() < 1e-12
    assert 3.7 < errors[0] / errors[1] < 4.3


def test_energy_contains_every_potential():
    mech = webbed_chain()
    model, kin = mech.compile(), Kinematics(mech)
    run = la.simulate(model, dt=1e-3, steps=20, q=START)
    assert np.abs(run.potential - potential(kin, run.q)).max() < 1e-12 * np.abs(run.potential).max()


@pytest.mark.parametrize("quadrature", ["trapezoid", "midpoint"])
def test_energy_stays_and_steps_converge_to_the_continuous_motion(quadrature):
    model = webbed_chain().compile()
    exact = la.simulate(model, dt=1e-3, duration=0.5, q=START, integrator=la.RK4()).q[-1]
    errors = []
    for dt in (1e-2, 5e-3):
        run = la.simulate(model, dt=dt, duration=0.5, q=START, integrator=la.Variational(quadrature=quadrature))
        errors.append(np.abs(run.q[-1] - exact).max())
    assert 3.4 < errors[0] / errors[1] < 4.6
    run = la.simulate(model, dt=5e-3, duration=50.0, q=START, integrator=la.Variational(quadrature=quadrature))
    swing = np.ptp(run.kinetic)
    assert np.abs(run.energy - run.energy[0]).max() < 0.02 * swing
    assert abs(la.analysis.drift(run)) < 0.005 * swing


def test_maximal_coordinates_feel_every_potential_alike():
    """The same discrete motion as in joint coordinates; two sliders without inertia about their centres are no special case."""
    for model, start, dt in ((webbed_chain().compile(), START, 5e-3), (bouncing_pair().compile(), [0.8, 0.1], 2e-2)):
        a, b = (la.simulate(model, dt=dt, steps=100, q=start, integrator=kind(tol=1e-12)) for kind in (la.Maximal, la.Variational))
        assert np.abs(a.q - b.q).max() < 1e-10
        assert np.abs(a.energy - b.energy).max() < 1e-9 * np.abs(b.energy).max()
    for seed in range(10):
        rng = np.random.default_rng(seed)
        model = random_mechanism(rng, 5, joints=[*la.joints.ALL, *symbolic_samples()], potentials=True).compile()
        state = model.state(*random_state(model, rng))
        a, b = (la.simulate(model, state, dt=2e-3, steps=20, integrator=kind(tol=1e-12)) for kind in (la.Maximal, la.Variational))
        assert np.abs(a.q - b.q).max() < 1e-11, f"seed {seed}"


def test_stiff_springs_at_large_steps_need_few_corrections_with_the_midpoint_rule():
    """h^2 k/m = 400, a hundred times beyond the limit of the trapezoid; the exact Jacobian makes Newton quadratic."""
    model = bouncing_pair(stiffness=4e6).compile()
    run = la.simulate(model, dt=1e-2, steps=200, q=[0.8, 0.1], integrator=la.Variational(quadrature="midpoint"))
    assert run.iterations.max() <= 4
    assert np.ptp(run.energy) < 1e-6 * run.energy[0]
    stiff = webbed_chain()
    gap = la.dynamics.pose(stiff.compile(), START, "link3").p - la.dynamics.pose(stiff.compile(), START, "hook").p
    stiff.add_force(la.LinearSpring("link3", "hook", 1e6, float(np.linalg.norm(gap))))  # almost a rod
    run = la.simulate(stiff.compile(), dt=2e-2, steps=200, q=START, integrator=la.Variational(quadrature="midpoint"))
    assert run.converged and run.iterations.mean() < 8


def test_a_spring_of_length_zero_may_pass_through_zero():
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("a", joint=la.Prismatic(axis=(1, 0, 0)), mass=1.0)
    mech.add_force(la.LinearSpring("a", "world", 1.0))
    run = la.simulate(mech.compile(), dt=1e-2, duration=3.0, v=[1.0])
    assert np.abs(run.q[:, 0] - np.sin(run.t)).max() < 1e-4
    assert la.dynamics.forward(mech.compile(), [0.0]) == 0.0


def test_specialised_models_know_potentials():
    mech = la.examples.chain(2)
    mech.add_force(la.LinearSpring("tip", "world", 30.0, 1.0))
    mech.add_force(la.UserPotential(lambda q, sp: 5 * sp.cos(q[0] - q[1]), joints=["link1", "link2"]))
    model = mech.compile()
    run, same = (la.simulate(m, dt=1e-2, steps=50, q=[0.4, 0.8]) for m in (model, model.specialise()))
    assert np.abs(run.q - same.q).max() < 1e-9


BAD = [
    (lambda: la.LinearSpring("tip", "nowhere", 1.0), "'nowhere' is neither a body nor a frame"),
    (lambda: la.LinearSpring("tip", "link5", 1.0), "same body"),
    (lambda: la.LinearSpring("tip", "world", -1.0), "stiffness = -1.0"),
    (lambda: la.LinearSpring("tip", "world", 1.0, -2.0), "length = -2.0"),
    (lambda: la.NonlinearSpring(3.0, joint="link1"), "energy = 3.0 is not a function"),
    (lambda: la.NonlinearSpring(lambda x, sp: x), "give one of the two"),
    (lambda: la.NonlinearSpring(lambda x, sp: x, between="tip"), "two bodies or frames"),
    (lambda: la.NonlinearSpring(lambda x, sp: x * sp.Symbol("y"), joint="link1"), "depends on y"),
    (lambda: la.NonlinearSpring(lambda x, sp: x, joint="link1", parameters={"k": 1.0}), r"energy\(x, sp, p\)"),
    (lambda: la.NonlinearSpring(lambda x, sp: sp.gamma(x), joint="link1"), "gamma"),
    (lambda: la.NonlinearSpring(lambda x, sp: x.nothing, joint="link1"), "AttributeError"),
    (lambda: la.UserPotential(lambda q, sp: (q[0], 1), joints=["link1"]), r"\(q0, 1\) of the type tuple; it needs an expression"),
    (lambda: la.UserPotential(lambda q, sp: q[0], joints=["link1", "link1"]), "named twice"),
    (lambda: la.UserPotential(lambda q, sp: q[0], joints="link1"), "a list of names"),
    (lambda: la.UserPotential(lambda q, sp: q[0], joints=["elbow"]), "'elbow', which does not exist"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=range(len(BAD)))
def test_wrong_potentials_say_what_is_wrong(make, message):
    mech = la.examples.chain(5)
    with pytest.raises(la.MechanismError, match=message):
        mech.add_force(make())
        mech.compile()


def test_joints_without_coordinates_and_other_integrators_refuse_by_name():
    mech = la.examples.ball_chain(2)
    mech.add_force(la.UserPotential(lambda q, sp: q[0], joints=["link1"]))
    with pytest.raises(la.MechanismError, match="quaternion"):
        mech.compile()
    model = bouncing_pair().compile()
    with pytest.raises(la.MechanismError, match="potentials"):
        la.simulate(model, dt=1e-3, steps=1, q=[0.8, 0.1], integrator=Svi("riqn", "extrapolate"))
