"""Frames, centre of mass and centroidal momentum, at any q and along a run, against differences of poses and other recursions."""

import numpy as np
import pytest

import leastaction as la
from leastaction.kernels.tree.layout import MASS
from leastaction.testing import random_mechanism, random_state

DT = 1e-3


@pytest.fixture(scope="module")
def tree():
    """A tree of many kinds of joints, with a frame on its last body."""
    mech = random_mechanism(np.random.default_rng(4), n=7, joints=[la.Revolute, la.Spherical, la.Universal, la.Free, la.Cylindrical])
    mech.add_frame("hand", list(mech.bodies)[-1], la.Pose(xyz=(0.1, 0.2, -0.3), rpy=(0.3, 0.2, 0.1)))
    return mech.compile()


@pytest.fixture(scope="module")
def run(tree):
    q, v = random_state(tree, np.random.default_rng(1))
    return la.simulate(tree, dt=DT, steps=40, q=q, v=0.3 * v, integrator=la.RKMK4(), tau=0.1 * np.ones(tree.nv))


@pytest.fixture(scope="module")
def loop():
    model = la.examples.four_bar().compile()
    return la.simulate(model, dt=DT, steps=40, q=model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}), integrator=la.RK4())


def difference(y):
    """Derivative of the rows y at all nodes but two at each end, of order 4."""
    return (8 * (y[3:-1] - y[1:-3]) - (y[4:] - y[:-4])) / (12 * DT)


def close(found, wanted, tolerance):
    assert np.abs(found - wanted).max() < tolerance * (1 + np.abs(wanted).max())


@pytest.mark.parametrize("which", ["run", "loop"])
def test_velocities_and_accelerations_are_derivatives(which, request):
    run = request.getfixturevalue(which)
    for name in (*run.model.body_names, *(["hand"] if which == "run" else [])):
        frame = run.frame(name)
        close(frame.velocity[2:-2, 3:], difference(frame.position), 1e-8)
        spin = np.swapaxes(frame.rotation[2:-2], 1, 2) @ difference(frame.rotation)  # R' dR/dt, body axes
        omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
        close(np.einsum("tab,ta->tb", frame.rotation[2:-2], frame.velocity[2:-2, :3]), omega, 1e-8)
        close(frame.acceleration[2:-2], difference(frame.velocity), 1e-8)
        close(np.einsum("tij,tj->ti", frame.jacobian, run.v), frame.velocity, 1e-13)
        close(np.abs(np.sum(frame.quaternion**2, axis=1)), np.ones(len(run)), 1e-13)
        assert np.abs(np.diff(frame.quaternion, axis=0)).max() < 0.1


def test_one_configuration_and_many(tree, run):
    q, v = run.q[7], run.v[7]
    one, many = la.dynamics.frame(tree, q, "hand", v=v, a=0 * v), la.dynamics.frame(tree, run.q, "hand", v=run.v, a=run.acceleration)
    pose = la.dynamics.pose(tree, q, "hand")
    np.testing.assert_allclose(one.position, pose.p, atol=1e-14)
    np.testing.assert_allclose(one.rotation, pose.R, atol=1e-14)
    assert one.jacobian.shape == (6, tree.nv) and many.jacobian.shape == (len(run), 6, tree.nv)
    np.testing.assert_array_equal(la.dynamics.jacobian(tree, q, "hand"), many.jacobian[7])
    np.testing.assert_array_equal(many.acceleration, run.frame("hand").acceleration)
    close(one.acceleration + one.jacobian @ run.acceleration[7], many.acceleration[7], 1e-12)  # bias and J a
    np.testing.assert_array_equal(la.dynamics.frame(tree, q, "world").jacobian, np.zeros((6, tree.nv)))
    names = dict(zip(tree.joint_names, ([float(x) for x in q[tree.q_slice(j)]] for j in tree.joint_names), strict=True))
    np.testing.assert_allclose(la.dynamics.frame(tree, names, "hand").position, one.position, atol=1e-14)


def test_centre_of_mass_and_momentum(tree, run, loop):
    """The centroidal matrix is made of composite inertias; momentum by a recursion of its own."""
    for r in (run, loop):
        mass = r.model.tree.body[1:, MASS].sum()
        close(mass * difference(r.centre_of_mass), r.momentum[2:-2, 3:], 1e-8)
        A = la.dynamics.centroidal_matrix(r.model, r.q)
        close(np.einsum("tij,tj->ti", A, r.v), r.centroidal_momentum, 1e-12)
        close(la.dynamics.centroidal_matrix(r.model, r.q[3]), A[3], 1e-14)
        close(la.dynamics.centre_of_mass(r.model, r.q[3]), r.centre_of_mass[3], 1e-14)
    # of a tree that nothing holds the angular part about the centre of mass is kept, whatever gravity does
    mech = la.Mechanism()
    mech.add_body("trunk", joint=la.Free(), mass=2.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.2))
    mech.add_body("arm", "trunk", la.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.1))
    free = la.simulate(mech.compile(), dt=0.01, steps=100, v={"trunk": [1, 2, 3, 0, 0, 0], "arm": 2.0}, integrator=la.RKMK4())
    close(free.centroidal_momentum[:, :3], free.centroidal_momentum[:1, :3], 1e-6)
    assert np.ptp(free.momentum[:, :3], axis=0).max() > 1.0


def test_what_is_missing_is_named(tree, run):
    with pytest.raises(la.StateError, match="no body or frame 'foot'"):
        run.frame("foot")
    with pytest.raises(la.StateError, match="needs the velocities of the joints.*v="):
        _ = la.dynamics.frame(tree, run.q, "hand").velocity
    with pytest.raises(la.StateError, match="needs the accelerations of the joints.*a="):
        _ = la.dynamics.frame(tree, run.q[0], "hand", v=run.v[0]).acceleration
    with pytest.raises(la.StateError, match=r"v has 3 rows, q has 41"):
        la.dynamics.frame(tree, run.q, "hand", v=run.v[:3])
    with pytest.raises(la.StateError, match=r"q has shape \(41, 2\); it needs \(T, "):
        la.dynamics.centre_of_mass(tree, run.q[:, :2])
    massless = la.Mechanism()
    massless.add_body("a", joint=la.Revolute(), inertia=(1, 1, 1))
    with pytest.raises(la.StateError, match="has a mass, so there is no centre of mass"):
        la.dynamics.centre_of_mass(massless.compile())
