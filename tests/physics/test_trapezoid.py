"""Trapezoid and FloatingBase: their momenta are derivatives of the discrete action, their momentum map is kept, orders 4 and 6."""

import numpy as np
import pytest
from papers import kobilarov2014_fig5 as figure

import leastaction as la
from leastaction.kernels.stepping import trapezoid as kernels
from leastaction.lie.retractions import NAMES
from leastaction.reference import ode
from leastaction.testing import Kinematics, random_state
from leastaction.testing import matrices as mat

PLAIN = (la.Revolute, la.Prismatic, la.Helical, la.Cylindrical, la.Universal, la.Planar)


def action(model, kin, q0, q1, h, retraction):
    """h/2 [L(q0, v) + L(q1, v)] from the mass matrix, with v from the retraction on ball and free joints."""
    v = np.empty(model.nv)
    inverse = mat.cayley_inverse if retraction == "cayley" else mat.log
    for body, qs, vs in kin.moving:
        if body.joint.nq == body.joint.nv:
            v[vs] = (q1[qs] - q0[qs]) / h
            continue
        poses = [np.eye(4), np.eye(4)]
        for pose, q in zip(poses, (q0[qs], q1[qs]), strict=True):
            pose[:3, :3] = mat.quaternion_matrix(q[-4:])
            if body.joint.nq == 7:
                pose[:3, 3] = q[:3]
        v[vs] = inverse(np.linalg.inv(poses[0]) @ poses[1])[: body.joint.nv] / h
    # energy is T + V, and T(v) = T(-v): L = 2 T - energy
    return sum(0.5 * h * (v @ la.dynamics.mass_matrix(model, q) @ v - la.dynamics.energy(model, q, v)) for q in (q0, q1)), v


@pytest.mark.parametrize("retraction", ("cayley", "exp"))
@pytest.mark.parametrize("seed", range(3))
def test_momenta_are_derivatives_of_the_action(seed, retraction):
    mech = la.examples.random_tree(4, seed=seed, joints=(*PLAIN, la.Spherical), floating=seed == 0)
    model, kin = mech.compile(), Kinematics(mech)
    q, v = random_state(model, np.random.default_rng(seed), 0.5)
    h = 0.05
    work, end = model.make_work(), model.make_work()
    t = kernels.make_trapezoid(model.nq, model.nv)
    t.q_start[:], t.v[:] = q, v
    momenta = np.zeros((2, model.nv))
    kernels.end_momenta(model.tree, work, end, t, h, 0.0, np.zeros(model.nv), NAMES[retraction], momenta)
    q1 = t.q1.copy()
    assert np.allclose(action(model, kin, q, q1, h, retraction)[1], v, atol=1e-10)

    def slope(varied, step=1e-4):
        near, far = ([varied(s * e) - varied(-s * e) for e in step * np.eye(model.nv)] for s in (1, 2))
        return (8 * np.array(near) - np.array(far)) / (12 * step)

    leaving = -slope(lambda delta: action(model, kin, kin.varied(q, delta), q1, h, retraction)[0])
    arriving = slope(lambda delta: action(model, kin, q, kin.varied(q1, delta), h, retraction)[0])
    np.testing.assert_allclose(momenta, [leaving, arriving], rtol=0, atol=1e-8 * np.abs(leaving).max())


@pytest.mark.parametrize("order", (4, 6))
def test_composition(order):
    model = la.examples.random_tree(3, seed=1, floating=True).compile()
    state = model.state(v=0.5 * np.random.default_rng(0).normal(size=model.nv))
    counts = (6, 9, 12) if order == 6 else (10, 15, 20)
    truth = ode.solve(model, state, [0.4], rtol=1e-13, atol=1e-13).q[0]
    integrator = la.Composition(la.Trapezoid(tol=1e-13), order=order)
    errors = [np.abs(la.simulate(model, state, dt=0.4 / n, steps=n, integrator=integrator).q[-1] - truth).max() for n in counts]
    assert np.polyfit(np.log(1.0 / np.array(counts)), np.log(errors), 1)[0] == pytest.approx(order, abs=0.2)


def test_forces_and_control_at_second_order():
    mech = la.examples.random_tree(3, seed=4, floating=True)
    mech.add_force(la.Damper("body2", 0.3))
    mech.add_force(la.Wrench("body1", force=(0.3, 0.0, 0.1), frame="body"))
    model = mech.compile()
    state = model.state(v=0.3 * np.random.default_rng(0).normal(size=model.nv))
    tau = 0.2 * np.ones(model.nv)
    truth = ode.solve(model, state, [0.4], tau=tau).q[0]
    counts = (20, 40, 80)
    runs = [la.simulate(model, state, dt=0.4 / n, steps=n, integrator=la.Trapezoid(), tau=tau) for n in counts]
    errors = [np.abs(run.q[-1] - truth).max() for run in runs]
    assert np.polyfit(np.log(1.0 / np.array(counts)), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.1)


def test_figure_5_momentum_map_is_kept():
    runs = figure.runs(5.0)
    along = figure.momentum_map(runs["symplectic"])  # (65), from configurations alone
    assert np.abs(along - along[0]).max() < 1e-10
    assert np.abs(along[0] - runs["symplectic"].momentum[0]).max() < 1e-11  # the integrator carries the same momentum
    assert np.ptp(figure.momentum_map(runs["Euler"]), axis=0).max() > 1e-2
    for name in ("symplectic", "symplectic, exp"):
        assert figure.momentum_change(runs[name]) < 1e-11
        assert figure.distance(runs[name], runs["truth"])[0] < 0.1 * figure.distance(runs["Euler"], runs["truth"])[0]
    assert figure.momentum_change(runs["Euler"]) > 1e-2


def test_a_step_that_cannot_be_solved_is_not_made():
    model = la.examples.chain(3).compile()
    sim = la.Simulator(model, dt=0.01, q={"link1": 1.0}, integrator=la.Trapezoid())
    sim.run(5)
    before = sim.state
    with pytest.raises(la.ConvergenceError, match="solvability"):
        sim.step([1e30, 0.0, 0.0])
    assert np.array_equal(sim.q, before.q) and np.array_equal(sim.state.p, before.p)


def test_bad_arguments_name_the_remedy():
    with pytest.raises(la.StateError, match="retraction = 'log'"):
        la.FloatingBase("log")
    with pytest.raises(la.StateError, match="tol = 2"):
        la.Trapezoid(tol=2)
