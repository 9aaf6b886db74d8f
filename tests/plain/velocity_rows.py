"""Constraints on velocities in Midpoint, and those of joint coordinates in Maximal."""

import numpy as np
import pytest
from conformance.matrix import model_of

import leastaction as la

TOL = 1e-12
PAIRS = {
    "plain": (la.Maximal(tol=TOL), la.Variational(tol=TOL)),
    "composed": (la.Composition(la.Maximal(tol=TOL)), la.Composition(la.Variational(tol=TOL))),
    "adaptive": (la.AdaptiveStep(la.Maximal(tol=TOL)), la.AdaptiveStep(la.Variational(tol=TOL))),
}


@pytest.mark.parametrize("joint", ["Revolute", "symbolic-2"])
@pytest.mark.parametrize("pair", PAIRS)
def test_bodies_keep_what_joints_keep(joint, pair):
    """A stationary point of the action of bodies under the same rows is one in joint coordinates: equal to rounding."""
    model, start = model_of(joint, "VelocityConstraint", "no drive", "none")
    bodies, joints = (la.simulate(model, start, dt=0.01, steps=4, integrator=i) for i in PAIRS[pair])
    np.testing.assert_allclose(bodies.q, joints.q, atol=1e-13)
    np.testing.assert_allclose(bodies.p, joints.p, atol=1e-12)
    if pair == "plain":
        name = model.closures[0].name
        np.testing.assert_allclose(bodies.reactions[name].multipliers, joints.reactions[name].multipliers, atol=1e-9)


@pytest.mark.parametrize("constraint", ["Skate", "Rolling", "RollingBall", "VelocityConstraint"])
def test_midpoint_keeps_constraints_on_velocities(constraint):
    """Order two, four composed; the rows hold over every step; a step of -h leads back where the rows do not say which way time goes."""
    model, start = model_of("Revolute", constraint, "no drive", "none")
    truth = la.simulate(model, start, dt=0.01, steps=4, integrator=la.Composition(la.Variational(tol=TOL), order=6)).q[-1]
    errors = []
    for n in (2, 4):
        run = la.simulate(model, start, dt=0.04 / n, steps=n, integrator=la.Midpoint(tol=TOL))
        assert run.constraint_error.max() < 1e-12
        errors.append(np.abs(run.q[-1] - truth).max())
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.3
    composed = [la.simulate(model, start, dt=0.04 / n, steps=n, integrator=la.Composition(la.Midpoint(tol=TOL))).q[-1] for n in (1, 2)]
    far, near = (np.abs(q - truth).max() for q in composed)
    assert np.log2(far / near) > 3.5
    assert near < 0.01 * errors[1]
    if constraint == "VelocityConstraint":
        return
    sim = la.Simulator(model, start, dt=0.01, integrator=la.Midpoint(tol=TOL))
    sim.run(3)
    sim.reverse()
    sim.run(3)
    np.testing.assert_allclose(sim.q, start.q, atol=1e-12)


@pytest.mark.parametrize("constraint", ["Rolling", "VelocityConstraint", "Coincident"])
def test_linearised_steps_of_midpoint(constraint):
    """Of second order beside those of Variational, as the steps themselves are."""
    model, start = model_of("Revolute", constraint, "no drive", "none")
    apart = []
    for dt in (0.02, 0.01):
        one, other = (la.linearize(model, i, start, dt).A for i in (la.Midpoint(tol=TOL), la.Variational(tol=TOL)))
        apart.append(np.abs(one - other).max())
    assert np.log2(apart[0] / apart[1]) > 1.5
    assert apart[1] < 2e-3


def test_a_rolling_wheel_on_a_free_joint():
    """A wheel with its own six freedoms: Midpoint and Variational lead it the same way, with order two between them."""
    mech = la.Mechanism(name="coin")
    mech.add_body("coin", joint=la.Free(), placement=la.Pose(xyz=(0, 0, 0.2)), mass=1.0, inertia=(0.01, 0.01, 0.02))
    mech.add_constraint(la.Rolling("coin", 0.2, axis=(0, 0, 1)))
    model = mech.compile()
    turn = np.array([np.cos(0.7), np.sin(0.7), 0.0, 0.0])
    q = model.assemble(np.concatenate([np.zeros(3), turn]))
    start = model.state(q, model.project_velocity(q, [0.3, 0.2, 3.0, 0, 0, 0]))
    truth = la.simulate(model, start, dt=0.02, steps=4, integrator=la.Composition(la.Variational(tol=TOL), order=6)).q[-1]
    errors = []
    for n in (4, 8):
        run = la.simulate(model, start, dt=0.08 / n, steps=n, integrator=la.Midpoint(tol=TOL))
        errors.append(np.abs(run.q[-1] - truth).max())
        assert run.constraint_error.max() < 1e-12
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.3
