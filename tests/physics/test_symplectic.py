"""The step (q, p) -> (q', p') is a symplectic map, and running it backwards returns to the start.

Variations of a configuration are left-trivialised: eta = dq for plain coordinates, the body twist for ball and free joints.
Momenta p are dual to them, so the canonical one-form is theta = p.eta, and with d eta(a, b) = -[a, b]

    d theta((eta1, pi1), (eta2, pi2)) = pi1.eta2 - pi2.eta1 - p.[eta1, eta2].

`structure` is the matrix of this form.  Without ball and free joints the bracket vanishes and it is the usual J.
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.dynamics import discrete

DT = 0.01
EPSILON = 1e-5  # of the central differences: truncation eps^2 = 1e-10, round-off of a step 1e-15 / eps = 1e-10


def hat(a):
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def structure(model, p):
    """Matrix of d theta at momentum p, (2 nv, 2 nv); p.[a, b] = -a'[m]b for a ball joint with moment m."""
    n = model.nv
    omega = np.zeros((2 * n, 2 * n))
    omega[n:, :n] = np.eye(n)
    omega[:n, n:] = -np.eye(n)
    for body in model.bodies:
        at = model.v_slice(body.joint_name)
        turn = slice(at.start, at.start + 3)
        if isinstance(body.joint, (la.Spherical, la.Free)):
            omega[turn, turn] = hat(p[turn])
        if isinstance(body.joint, la.Free):
            move = slice(at.start + 3, at.stop)
            omega[turn, move] = omega[move, turn] = hat(p[move])
    return omega


def moved(model, q, eta):
    """q varied by the left-trivialised eta, to second order (the inverse of `discrete.increment`)."""
    out = q.copy()
    for body in model.bodies:
        part, x = out[model.q_slice(body.joint_name)], eta[model.v_slice(body.joint_name)]
        if isinstance(body.joint, (la.Spherical, la.Free)):
            w, u = part[-4], part[-3:].copy()
            if isinstance(body.joint, la.Free):
                part[:3] += la.pose.rotation_of_quaternion(part[3:]) @ x[3:]
            half = 0.5 * x[:3]
            part[-4:] = [w - u @ half, *(w * half + u + np.cross(u, half))]
            part[-4:] /= np.linalg.norm(part[-4:])
        else:
            part += x
    return out


def step(model, q, p, integrator, steps=1):
    run = la.simulate(model, model.state(q=q, p=p), dt=DT, steps=steps, integrator=integrator)
    return run.q[-1], run.p[-1]


def step_derivative(model, state, integrator, steps=1):
    """Derivative of (q, p) -> (q', p') by central differences, (2 nv, 2 nv), and p'."""
    n = model.nv
    q1, p1 = step(model, state.q, state.p, integrator, steps)
    A = np.empty((2 * n, 2 * n))
    for j in range(2 * n):
        ends = []
        for sign in (1.0, -1.0):
            change = np.zeros(2 * n)
            change[j] = sign * EPSILON
            q, p = step(model, moved(model, state.q, change[:n]), state.p + change[n:], integrator, steps)
            ends.append(np.concatenate([discrete.increment(model, q1, q), p]))
        A[:, j] = (ends[0] - ends[1]) / (2.0 * EPSILON)
    return A, p1


def defect(model, state, integrator, steps=1):
    """Largest entry of A' Omega(p') A - Omega(p)."""
    A, p1 = step_derivative(model, state, integrator, steps)
    return np.abs(A.T @ structure(model, p1) @ A - structure(model, state.p)).max()


def plain(joint):
    return not isinstance(joint, (la.Spherical, la.Free))


def test_moved_is_the_inverse_of_increment(conservative_tree):
    model, state = conservative_tree
    eta = 0.3 * np.random.default_rng(0).normal(size=model.nv)
    assert np.abs(discrete.increment(model, state.q, moved(model, state.q, eta)) - eta).max() < 1e-13


@pytest.mark.parametrize("steps", [1, 10])
def test_plain_coordinates(discretisation, steps):
    """No ball or free joint: A' J A = J with the constant J."""
    kinds = (la.Revolute, la.Prismatic, la.Helical, la.Cylindrical, la.Universal, la.Planar)
    model = la.examples.random_tree(6, seed=8, joints=kinds).compile()
    rng = np.random.default_rng(1)
    state = model.state(q=rng.normal(size=model.nq), v=rng.normal(size=model.nv))
    J = structure(model, state.p)
    assert len({body.joint.kind for body in model.bodies}) >= 4
    assert np.array_equal(J, structure(model, 0.0 * state.p))
    assert defect(model, state, la.Variational(**discretisation, tol=1e-13), steps) < 1e-7


@pytest.mark.parametrize("steps", [1, 10])
def test_ball_and_free_joints(discretisation, conservative_tree, steps):
    model, state = conservative_tree
    assert defect(model, state, la.Variational(**discretisation, tol=1e-13), steps) < 1e-7


def test_heavy_top(discretisation):
    model = la.examples.heavy_top().compile()
    state = model.state(q=[0.9, 0.3, -0.1, 0.3] / np.linalg.norm([0.9, 0.3, -0.1, 0.3]), v=[1.0, -2.0, 20.0])
    assert defect(model, state, la.Variational(**discretisation, tol=1e-13)) < 1e-7


def test_the_test_can_fail(conservative_tree):
    """Other integrators of the same order are not symplectic, and neither is the step seen without the bracket."""
    model, state = conservative_tree
    assert defect(model, state, la.Heun()) > 1e-5
    assert defect(model, state, la.SemiImplicitEuler()) > 1e-5
    A, _ = step_derivative(model, state, la.Variational(tol=1e-13))
    canonical = structure(model, 0.0 * state.p)
    assert np.abs(A.T @ canonical @ A - canonical).max() > 1e-5


@pytest.mark.parametrize("steps", [1, 50])
def test_reversible(discretisation, conservative_tree, steps):
    """Step, flip the momentum, step: back at the start, to 1e-9 of the size of q and p."""
    model, state = conservative_tree
    integrator = la.Variational(**discretisation, tol=1e-13)
    q, p = step(model, state.q, state.p, integrator, steps)
    assert np.abs(discrete.increment(model, state.q, q)).max() > DT  # it went somewhere
    q, p = step(model, q, -p, integrator, steps)
    assert np.abs(discrete.increment(model, state.q, q)).max() < 1e-9
    assert np.abs(p + state.p).max() < 1e-9 * np.abs(state.p).max()
