"""Equilibria and small vibrations: against formulas, and against what simulations do there."""

import numpy as np
import pytest

import leastaction as la


def loop():
    model = la.examples.four_bar().compile()
    return model, model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})


def sprung():
    """Springs, a potential written as text, a ball joint and a free body on a spring."""
    mech = la.examples.chain(2)
    mech.add_body("ball", "link2", la.Spherical(), la.Pose(xyz=(0, 0, -1)), mass=0.5, com=(0.1, 0, -0.3), inertia=(0.02, 0.03, 0.01))
    mech.add_force(la.Spring("ball", 2.0))
    mech.add_force(la.Spring("link1", 4.0, rest=0.7))
    mech.add_force(la.UserPotential("3 * (q0 - 0.2)**4", ["link2"]))
    mech.add_body("free", joint=la.Free(), mass=1.0, com=(0, 0, -0.1), inertia=(0.1, 0.2, 0.15))
    mech.add_force(la.Spring("free", (3.0, 40.0)))
    mech.add_force(la.Wrench("free", force=(1.0, 2.0, 0.0)))
    model = mech.compile()
    return model, model.neutral()


def hanging():
    """A chain between two points: many rows."""
    model = la.examples.closed_chain(6).compile()
    return model, model.assemble()


CASES = {"loop": loop, "sprung": sprung, "hanging": hanging, "tree": lambda: (la.examples.chain(3).compile(), np.array([0.9, -1.2, 0.4]))}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    model, guess = CASES[request.param]()
    q = model.equilibrium(guess)
    return model, q, model.modes(q)


def test_nothing_moves_there(case):
    model, q, _ = case
    run = la.simulate(model, dt=1e-3, steps=200, q=q)
    assert np.abs(run.q - q).max() < 1e-7 and np.abs(run.v).max() < 1e-6
    assert run.constraint_error.max() < 1e-10


def test_it_is_where_the_potential_is_least(case):
    model, q, modes = case
    assert modes.stable
    rng = np.random.default_rng(0)
    for _ in range(5):
        start = model.state(q, model.project_velocity(q, rng.normal(size=model.nv)))
        there = la.simulate(model, start, dt=1e-2, steps=1).q[-1]
        assert la.dynamics.energy(model, there) > la.dynamics.energy(model, q) or "Wrench" in repr(model.description.forces)


def test_vibrations_are_what_a_simulation_does(case):
    """Released with a velocity along the shape of a mode, everything moves as sin(omega t): in the slowest and in the fastest one."""
    model, q, modes = case
    for k in (0, -1):
        shape, omega, small = modes.shapes[:, k], modes.omega[k], 1e-4
        steps = 400
        dt = 2 * np.pi / omega / steps
        run = la.simulate(model, dt=dt, steps=steps, q=q, v=small * shape)
        wanted = small * np.cos(omega * run.t)[:, None] * shape
        assert np.abs(run.v - wanted).max() < 3e-4 * np.abs(wanted).max()
        M = la.dynamics.mass_matrix(model, q)
        np.testing.assert_allclose(shape @ M @ shape, 1.0, rtol=1e-12)


def test_formulas():
    mech = la.Mechanism()
    mech.add_body("rod", joint=la.Revolute((0, 1, 0)), mass=2.0, com=(0, 0, -0.4), inertia=(0.2, 0.3, 0.1))
    mech.add_body("cart", joint=la.Prismatic((1, 0, 0)), mass=3.0, inertia=(1, 1, 1))
    mech.add_force(la.Spring("cart", 12.0, rest=0.5))
    model = mech.compile()
    q = model.equilibrium({"rod": 2.0}, tau={"cart": 6.0})
    np.testing.assert_allclose(q, [0.0, 1.0], atol=1e-10)
    modes = model.modes(q, tau={"cart": 6.0})
    np.testing.assert_allclose(modes.omega, sorted([np.sqrt(2.0 * 9.81 * 0.4 / (0.3 + 2.0 * 0.16)), 2.0]), rtol=1e-9)
    upright = model.modes({"rod": np.pi, "cart": 0.5})  # an equilibrium that is not stable
    assert not upright.stable and np.isnan(upright.omega[0])
    np.testing.assert_allclose(upright.squares[0], -2.0 * 9.81 * 0.4 / (0.3 + 2.0 * 0.16), rtol=1e-9)
    held = model.equilibrium({"rod": 1.0}, hold="rod")
    np.testing.assert_allclose(held, [1.0, 0.5], atol=1e-10)
    assert model.modes(held, hold=["rod"]).squares.shape == (1,)


def test_what_cannot_be_is_named():
    model = la.examples.cart_pole().compile()
    modes = model.modes({"pole": 0.0})
    assert 0.0 in modes.omega and not modes.stable, "the cart moves freely"
    with pytest.raises(la.StateError, match="q is not an equilibrium of .*give q=model.equilibrium"):
        model.modes({"pole": 0.3})
    falling = la.Mechanism(name="stone")
    falling.add_body("stone", joint=la.Free(), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(la.StateError, match=r"no equilibrium of 'stone'.*joint 'stone' is still pushed by 9.81 N.*hold=\('stone',\)"):
        falling.compile().equilibrium()
    follower = la.examples.chain(2)
    follower.add_force(la.Wrench("link2", force=(0.0, 0.0, 5.0), point=(0, 0, -1), frame="body"))
    with pytest.raises(la.StateError, match="have no potential"):
        follower.compile().modes()
    with pytest.raises(la.StateError, match="there is no joint 'wheel'"):
        model.equilibrium(hold=["wheel"])
