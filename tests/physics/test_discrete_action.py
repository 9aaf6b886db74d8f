"""The variational step on 200 random trees against the independent discrete action: every joint, every force."""

import numpy as np
import pytest
from support.symbolic_samples import symbolic_samples
from support.trees import how_many

import leastaction as la
from leastaction.dynamics import discrete
from leastaction.joints import ALL
from leastaction.testing import Kinematics, arriving_momentum, leaving_momentum, random_mechanism, random_state

TREES = how_many(200)
CHUNK = min(25, TREES)
RETRACTIONS = ["cayley", "exp"]
QUADRATURES = ["trapezoid", "midpoint"]
TOLERANCE = 1e-9  # relative to the largest momentum

chunks = pytest.mark.parametrize("first", range(0, TREES, CHUNK))
retractions = pytest.mark.parametrize("retraction", RETRACTIONS)
quadratures = pytest.mark.parametrize("quadrature", QUADRATURES)


def random_case(seed):
    """A tree with springs, dampers and wrenches (some with potentials, some with rotors), its reference, a start and joint forces."""
    rng = np.random.default_rng(seed)
    joints = [*ALL, *symbolic_samples()] if seed % 2 else None  # every second tree mixes in joints that are only a pose
    mech = random_mechanism(rng, int(rng.integers(1, 9)), joints, potentials=seed % 3 == 0, armatures=seed % 5 < 2)
    model = mech.compile()
    q, v = random_state(model, rng)
    return rng, Kinematics(mech), model, q, v, rng.normal(size=model.nv), float(rng.choice([1e-3, 1e-2, 5e-2]))


def difference(got, wanted):
    return np.abs(got - wanted).max() / np.abs(wanted).max()


@chunks
@retractions
@quadratures
def test_step_leaves_and_arrives_with_the_momenta_of_the_action(first, retraction, quadrature):
    integrator = la.Variational(retraction=retraction, quadrature=quadrature, tol=1e-13)
    for seed in range(first, first + CHUNK):
        _, kin, model, q, v, tau, h = random_case(seed)
        sim = la.Simulator(model, dt=min(h, 1e-2), q=q, v=v, integrator=integrator)
        before = sim.state.p
        sim.step(tau)
        arguments = (kin, q, sim.q, sim.dt, tau, retraction, quadrature)
        assert difference(before, leaving_momentum(*arguments)) < TOLERANCE, f"leaving, tree {seed}"
        assert difference(sim.state.p, arriving_momentum(*arguments)) < TOLERANCE, f"arriving, tree {seed}"


@chunks
@retractions
@quadratures
def test_residual_is_the_derivative_of_the_action(first, retraction, quadrature):
    """Three arbitrary configurations: leaving momentum of the second step minus arriving momentum of the first."""
    for seed in range(first, first + CHUNK):
        rng, kin, model, q0, v, tau, h = random_case(seed)
        q1 = kin.advanced(q0, h * v)
        q2 = kin.advanced(q1, h * (v + 0.3 * rng.normal(size=model.nv)))
        got = discrete.residual(model, q0, q1, q2, h, tau=tau, retraction=retraction, quadrature=quadrature)
        leaving = leaving_momentum(kin, q1, q2, h, tau, retraction, quadrature)
        arriving = arriving_momentum(kin, q0, q1, h, tau, retraction, quadrature)
        error = np.abs(got - (leaving - arriving)).max() / max(np.abs(leaving).max(), np.abs(arriving).max())
        assert error < TOLERANCE, f"tree {seed}: {error:.2g}"


@retractions
@quadratures
def test_jacobian_is_the_derivative_of_the_residual(retraction, quadrature):
    """In the increment of the second step; the leaving momentum of the reference by fourth-order differences."""
    for seed in range(8):
        rng, kin, model, q1, v, tau, h = random_case(seed)
        d = h * v
        got = discrete.jacobian(model, q1, kin.advanced(q1, d), h, retraction=retraction, quadrature=quadrature)

        def leaving(increment, kin=kin, q1=q1, h=h):
            return leaving_momentum(kin, q1, kin.advanced(q1, increment), h, None, retraction, quadrature)

        step = 1e-3
        wanted = np.empty_like(got)
        for j, e in enumerate(step * np.eye(model.nv)):
            wanted[:, j] = (8 * (leaving(d + e) - leaving(d - e)) - (leaving(d + 2 * e) - leaving(d - 2 * e))) / (12 * step)
        assert difference(got, wanted) < 1e-8, f"tree {seed}: {difference(got, wanted):.2g}"


@chunks
@retractions
@quadratures
def test_newton_direction_solves_the_dense_jacobian(first, retraction, quadrature):
    for seed in range(first, first + CHUNK):
        rng, kin, model, q, v, _, h = random_case(seed)
        end, r = kin.advanced(q, h * v), rng.normal(size=model.nv)
        options = {"retraction": retraction, "quadrature": quadrature}
        wanted = np.linalg.solve(discrete.jacobian(model, q, end, h, **options), r)
        got = discrete.newton_direction(model, q, end, h, r, **options)
        assert difference(got, wanted) < 1e-8, f"tree {seed}: {difference(got, wanted):.2g}"


def test_user_forces_are_halved_between_the_ends():
    mech = la.examples.random_tree(4, seed=2)

    def drag(t, q, v, tau):
        for i in range(len(v)):
            tau[i] += t * q[i] - 0.1 * v[i] * abs(v[i])

    mech.add_force(la.CustomForce(drag))
    model, kin = mech.compile(), Kinematics(mech)
    q, v = random_state(model, np.random.default_rng(0))
    h = 0.01
    sim = la.Simulator(model, model.state(q, v, t=2.0), dt=h, integrator=la.Variational(tol=1e-13))
    before = sim.state.p
    sim.step()
    assert difference(before, leaving_momentum(kin, q, sim.q, h, t=2.0)) < TOLERANCE
    assert difference(sim.state.p, arriving_momentum(kin, q, sim.q, h, t=2.0)) < TOLERANCE


@retractions
def test_momentum_is_handed_on_without_loss(retraction):
    """p arriving at a node is p leaving it, step after step, also with a loose solver tolerance."""
    _, kin, model, q, v, tau, _ = random_case(11)
    h = 1e-3
    sim = la.Simulator(model, dt=h, q=q, v=v, integrator=la.Variational(retraction=retraction, tol=1e-12))
    nodes = [q.copy()]
    for _ in range(5):
        sim.step(tau)
        nodes.append(sim.q.copy())
    for a, b, c in zip(nodes, nodes[1:], nodes[2:], strict=False):
        assert difference(leaving_momentum(kin, b, c, h, tau, retraction), arriving_momentum(kin, a, b, h, tau, retraction)) < 1e-9


def damped_chain():
    mech = la.examples.chain(3)
    mech.add_force(la.Damper("link1", 0.3))
    mech.add_force(la.Wrench("tip", (1.0, 2.0, 3.0)))
    return mech.compile(), {"link1": 0.5}, {"link2": 1.0}


def loop():
    model = la.examples.four_bar().compile()
    return model, model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}), None


def spinning_top():
    return la.examples.heavy_top().compile(), None, [0.1, 0.2, 30.0]


@quadratures
@pytest.mark.parametrize("case", [damped_chain, loop, spinning_top])
def test_two_configurations_are_a_start(case, quadrature):
    """The run goes on as if it had made the step between them."""
    model, q, v = case()
    tau, options = np.full(model.nv, 0.2), {"dt": 1e-2, "integrator": la.Variational(tol=1e-13, quadrature=quadrature)}
    run = la.simulate(model, q=q, v=v, steps=12, tau=tau, **options)
    state = discrete.start(model, run.q[4], run.q[5], 1e-2, tau, quadrature=quadrature, t=run.t[4])
    rest = la.simulate(model, state, steps=7, tau=tau, **options)
    assert np.abs(rest.t - run.t[5:]).max() < 1e-15
    assert np.abs(rest.q - run.q[5:]).max() < 1e-11
