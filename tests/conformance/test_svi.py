"""Johnson and Murphey's residual is the derivative of the midpoint action, however it is evaluated."""

import numpy as np
import pytest

import leastaction as la
from leastaction.reference import ode
from leastaction.yardsticks.scalable import ScalableVariational

PLAIN = (la.Revolute, la.Prismatic, la.Helical, la.Cylindrical, la.Universal, la.Planar)
WAYS = [(evaluation, primitive) for evaluation in ("matrices", "twists") for primitive in (False, True)]


def sprung_tree(seed):
    mech = la.examples.random_tree(8, seed=seed, joints=PLAIN)
    rng = np.random.default_rng(1000 + seed)
    for body in list(mech.bodies.values())[::2]:
        mech.add_force(la.Spring(body.joint_name, rng.uniform(1.0, 20.0), rest=rng.normal(size=body.joint.nq)))
    model = mech.compile()
    n = model.nv
    return model, rng.normal(size=n), 0.1 * rng.normal(size=n), rng.normal(size=n), 0.05


def discrete_lagrangian(model, start, end, h):
    """h L((start + end)/2, (end - start)/h) from the mass matrix and the total energy."""
    q, v = 0.5 * (start + end), (end - start) / h
    kinetic = 0.5 * v @ la.dynamics.mass_matrix(model, q) @ v
    return h * (2.0 * kinetic - la.dynamics.energy(model, q, v))


def gradient(function, x, e=1e-3):
    """Central differences of order 6."""
    weights = {1: 45.0, 2: -9.0, 3: 1.0}
    return np.array(
        [sum(w * (function(x + s * e * u) - function(x - s * e * u)) for s, w in weights.items()) / (60.0 * e) for u in np.eye(len(x))]
    )


@pytest.mark.parametrize("seed", range(12))
def test_residual_and_momentum_are_slot_derivatives_of_the_action(seed):
    model, q, d, p, h = sprung_tree(seed)
    left = gradient(lambda x: discrete_lagrangian(model, x, q + d, h), q)
    right = gradient(lambda x: discrete_lagrangian(model, q, x, h), q + d)
    size = max(np.abs(left).max(), np.abs(right).max())
    for way in WAYS:
        svi = ScalableVariational(model, *way)
        assert np.abs(svi.residual(q, d, p, h) - (-left - p)).max() < 1e-9 * size
        assert np.abs(svi.momentum(q, d, h) - right).max() < 1e-9 * size


@pytest.mark.parametrize("way", WAYS)
def test_the_step_is_its_own_reverse(way):
    """Ld(a, b) = Ld(b, a), so D1 Ld(b, a) = D2 Ld(a, b)."""
    model, q, d, _, h = sprung_tree(77)
    svi = ScalableVariational(model, *way)
    forward = svi.momentum(q, d, h)
    backward = svi.residual(q + d, -d, np.zeros(model.nv), h)
    assert np.abs(forward + backward).max() < 1e-12 * np.abs(forward).max()


def test_all_evaluations_agree_on_a_long_chain():
    model = la.examples.chain(60, spatial=True).compile()
    rng = np.random.default_rng(3)
    q, d, p = rng.normal(size=(3, model.nv)) * np.array([[1.0], [1e-2], [1.0]])
    first, *others = (ScalableVariational(model, *way).residual(q, d, p, 1e-2) for way in WAYS)
    for other in others:
        assert np.abs(other - first).max() < 1e-11 * np.abs(first).max()


def test_its_trajectory_converges_with_order_two():
    model = la.examples.double_pendulum().compile()
    state = model.state(q=[1.2, -0.7], v=[0.5, 1.0])
    exact = ode.solve(model, state, [0.5]).q[-1]
    svi = ScalableVariational(model)
    counts, errors = (25, 50, 100), []
    for steps in counts:
        h, q, p, d = 0.5 / steps, state.q, state.p, 0.5 / steps * state.v
        for _ in range(steps):
            solver = h * np.linalg.inv(la.dynamics.mass_matrix(model, q))
            for _ in range(30):
                r = svi.residual(q, d, p, h)
                d = d - solver @ r
                if np.abs(r).max() < 1e-12:
                    break
            p, q = svi.momentum(q, d, h), q + d
        errors.append(np.abs(q - exact).max())
    assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("mechanism", [la.examples.ball_chain(2), la.examples.tumbling_body()])
def test_quaternion_joints_are_refused_by_name(mechanism):
    name = next(iter(mechanism.bodies))
    with pytest.raises(la.MechanismError, match=f"joint '{name}' is a .* one coordinate each"):
        ScalableVariational(mechanism.compile())


def test_other_forces_and_unknown_evaluations_are_refused():
    mech = la.examples.chain(2)
    with pytest.raises(la.StateError, match="evaluation = 'magic'"):
        ScalableVariational(mech.compile(), "magic")
    mech.add_force(la.Damper("link1", 1.0))
    with pytest.raises(la.MechanismError, match="dampers"):
        ScalableVariational(mech.compile())
