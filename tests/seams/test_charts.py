"""Joints with two charts: how far apart two configurations are, and how a step changes, does not depend on the chart."""

import numpy as np
import pytest
from support.symbolic_samples import euler_ball

import leastaction as la
from leastaction.analysis.crosscheck import _distance

ROD = {"mass": 1.0, "com": (0.1, 0.05, -0.4), "inertia": (0.05, 0.06, 0.03)}


def slider():
    """Up and down, in metres or in half metres."""
    twice, half = lambda q, sp: sp.move(0, 0, 2 * q[0]), lambda R, x, sp: (x[2] / 2,)
    return la.SymbolicJoint("slider", lambda q, sp: sp.move(0, 0, q[0]), 1, inverse=lambda R, x, sp: (x[2],), second_chart=(twice, half))


def test_crosscheck_measures_coordinates_not_a_quaternion():
    """Two discretisations of an oscillator get out of step until they swing against each other."""
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("weight", joint=slider(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    mech.add_force(la.LinearSpring("weight", "world", 100.0))
    found = la.crosscheck(
        mech, dt=0.1, duration=4.0, q={"weight": (0.3, 0.0)}, minimal=la.Variational(quadrature="midpoint"), maximal=la.Maximal()
    )
    apart = np.abs(found.minimal["weight"][:, 0] - found.maximal["weight"][:, 0])
    assert apart.max() > 0.5  # opposite sides
    np.testing.assert_allclose(found.difference, apart, rtol=0.0, atol=1e-12)


def test_the_distance_does_not_depend_on_the_chart():
    mech = la.Mechanism()
    mech.add_body("base", joint=la.Free(), **ROD)
    mech.add_body("ball", "base", euler_ball(charts=2), **ROD)
    model, rng = mech.compile(), np.random.default_rng(2)
    joint, place = model.bodies[1].joint, model.q_slice("ball")
    a = np.zeros((30, model.nq))
    a[:, :3], a[:, 3:7] = rng.normal(size=(30, 3)), rng.normal(size=(30, 4))
    a[:, 3:7] /= np.linalg.norm(a[:, 3:7], axis=1)[:, None]
    a[:, place][:, :3] = rng.uniform(-1.2, 1.2, size=(30, 3))
    moved, other = a.copy(), a.copy()
    moved[:, place][:, :3] += rng.uniform(-0.3, 0.3, size=(30, 3))
    other[:, 3:7] *= -1.0
    for row, there in zip(other, moved, strict=True):
        row[place] = joint.in_chart(there[place], 1)
    wanted = np.abs(moved - a).max(axis=1)
    np.testing.assert_allclose(_distance(model, a, moved), wanted, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(_distance(model, a, other), wanted, rtol=0.0, atol=1e-12)


def charted():
    mech = la.Mechanism()
    mech.add_body("ball", joint=euler_ball(charts=2), **ROD)
    mech.add_body("elbow", "ball", la.Revolute((0, 1, 0)), la.Pose(xyz=(0, 0, -0.8)), **ROD)
    return mech.compile()


def difference(function, size, reach=1e-3):
    """Derivative at zero by central differences of order six, one column per entry."""
    weights = ((1, 45.0), (2, -9.0), (3, 1.0))
    return np.array([sum(w * (function(s * u) - function(-s * u)) for s, w in weights) / (60.0 * reach) for u in reach * np.eye(size)]).T


@pytest.mark.parametrize("chart", [0, 1])
@pytest.mark.parametrize("quadrature", ["trapezoid", "midpoint"])
def test_linearize_in_both_charts(chart, quadrature):
    """A and B are the derivatives of what the simulator does."""
    model, dt, tau = charted(), 0.01, np.array([0.3, -0.2, 0.5, 0.1])
    joint, nv = model.bodies[0].joint, model.nv
    q = np.append(joint.in_chart([0.4, 0.6, -0.3, 0.0], chart), 0.7)
    v = np.array([0.5, -1.0, 0.7, 0.2])
    state = model.state(q, v, t=0.2)
    integrator = la.Variational(quadrature=quadrature, tol=1e-13)

    def end(x):
        moved = q.copy()
        moved[:3] += x[:3]
        moved[4] += x[3]
        sim = la.Simulator(model, model.state(moved, p=state.p + x[nv : 2 * nv], t=0.2), dt=dt, integrator=integrator)
        sim.step(tau + x[2 * nv :])
        assert sim.q[3] == chart
        return np.concatenate([sim.q[[0, 1, 2, 4]], sim.state.p])

    step = la.linearize(model, integrator, state, dt, tau)
    there = end(np.zeros(3 * nv))
    np.testing.assert_allclose(np.concatenate([step.next_state.q[[0, 1, 2, 4]], step.next_state.p]), there, rtol=0.0, atol=1e-11)
    exact = difference(end, 3 * nv)
    size = np.abs(exact).max()
    np.testing.assert_allclose(step.A, exact[:, : 2 * nv], rtol=0.0, atol=1e-8 * size)
    np.testing.assert_allclose(step.B, exact[:, 2 * nv :], rtol=0.0, atol=1e-8 * size)


def test_the_discrete_equations_hold_in_both_charts():
    """The residual along a simulated motion vanishes, also across a change of chart."""
    model = charted()
    run = la.simulate(model, dt=5e-3, steps=150, q=[0.2, 1.3, 0.1, 0.0, 0.3], v=[2.0, 1.5, -1.0, 0.5], integrator=la.Variational(tol=1e-12))
    chart = run["ball"][:, -1]
    assert len(np.unique(chart)) == 2  # it went through where the first chart is singular
    size = np.abs(run.p).max()
    for a, b, c in zip(run.q[:-2], run.q[1:-1], run.q[2:], strict=True):
        if a[3] == b[3]:  # momenta are compared in the coordinates of the node between the steps
            assert np.abs(la.discrete.residual(model, a, b, c, 5e-3)).max() < 1e-8 * size
