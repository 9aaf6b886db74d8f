"""Velocity constraints: skates and rolling discs against independent solutions and conserved quantities."""

import numpy as np

import leastaction as la
from leastaction.reference.constrained import AccelerationConstraints


def disc_run(dt, steps, tol=1e-12):
    model = la.examples.rolling_disc().compile()
    v = model.project_velocity(None, [0.4, 4.0, 0.6, 1.2, 0.0, 0.0])
    return model, v, la.simulate(model, v=v, dt=dt, steps=steps, integrator=la.Maximal(tol=tol))


def test_rolling_disc_moves_as_it_should():
    """Order two against accelerations with multipliers: wobbling, turning, leaning."""
    model, v, _ = disc_run(0.01, 1)
    truth, _ = AccelerationConstraints(model, model.neutral()).rk4(model.neutral(), v, 2e-3, 250)
    errors = [np.abs(disc_run(0.5 / n, n)[2].q[-1] - truth).max() for n in (50, 100)]
    assert 3.6 < errors[0] / errors[1] < 4.4


def test_rolling_disc_does_not_slip():
    """Contact height, and the velocity of the material point there, at every node; the discrete constraint holds to rounding."""
    model, _, run = disc_run(1e-3, 2000)
    radius = 0.3
    assert run.constraint_error.max() < 1e-10 * 1e-3  # displacement over a step
    for q, v in zip(run.q[::200], run.v[::200], strict=True):
        pose = la.dynamics.pose(model, q, "disc")
        axis = pose.R[:, 1]
        down = -(np.array([0, 0, 1.0]) - axis[2] * axis) / np.sqrt(1 - axis[2] ** 2)
        assert abs(pose.p[2] + radius * down[2]) < 1e-12
        omega, speed = pose.R @ v[:3], pose.R @ v[3:]
        assert np.abs(speed + np.cross(omega, radius * down)).max() < 1e-10


def test_rolling_disc_keeps_its_energy():
    """Constraint forces do no work; a long wobbling roll shows no drift."""
    _, _, run = disc_run(5e-3, 4000)
    tenth = len(run) // 10
    assert abs(run.energy[-tenth:].mean() - run.energy[:tenth].mean()) < 1e-3 * run.kinetic.mean()


def test_upright_disc_rolls_straight():
    """Uniform motion, its speed right to second order."""
    model = la.examples.rolling_disc().compile()
    v = model.project_velocity(None, [0.0, 5.0, 0.0, 1.5, 0.0, 0.0])
    errors = []
    for dt in (2e-2, 1e-2):
        run = la.simulate(model, v=v, dt=dt, steps=100, integrator=la.Maximal(tol=1e-12))
        assert np.abs(np.diff(run.q[:, 0], 2)).max() < 1e-12
        assert np.abs(run.q[:, 1:3]).max() < 1e-12
        errors.append(run.q[-1, 0] / run.t[-1] - v[3])
    assert 3.9 < errors[0] / errors[1] < 4.1


def sleigh_solution(u, omega, arm, mass, inertia, duration, steps=4000):
    """du/dt = a w^2, dw/dt = -m a u w / (I + m a^2), heading and place by quadrature: the classical equations, RK4."""

    def slope(y):
        u, w, heading = y[:3]
        return np.array([arm * w * w, -mass * arm * u * w / (inertia + mass * arm**2), w, u * np.cos(heading), u * np.sin(heading)])

    y, h = np.array([u, omega, 0.0, 0.0, 0.0]), duration / steps
    for _ in range(steps):
        a = slope(y)
        b = slope(y + h / 2 * a)
        c = slope(y + h / 2 * b)
        y = y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c))
    return y


def test_chaplygin_sleigh():
    """Order two against the classical equations; energy stays, spin turns into speed."""
    model = la.examples.chaplygin_sleigh(arm=0.3, mass=1.0, inertia=0.1).compile()
    _, omega, heading, x, y = sleigh_solution(1.0, 2.0, 0.3, 1.0, 0.1, 2.0)
    errors = []
    for n in (100, 200):
        run = la.simulate(model, v=[1.0, 0.0, 2.0], dt=2.0 / n, steps=n, integrator=la.Maximal(tol=1e-12))
        errors.append(np.abs(run.q[-1] - [x, y, heading]).max())
    assert 3.6 < errors[0] / errors[1] < 4.4
    assert abs(run.v[-1, 2] - omega) < 1e-3
    long = la.simulate(model, v=[1.0, 0.0, 2.0], dt=1e-2, steps=2000, integrator=la.Maximal())
    assert np.abs(long.energy - long.energy[0]).max() < 1e-3 * long.energy[0]
    assert abs(long.v[-1, 2]) < 1e-3  # asymptotically it goes straight ahead
    across = -np.sin(long.q[:, 2]) * long.v[:, 0] + np.cos(long.q[:, 2]) * long.v[:, 1]
    assert np.abs(across).max() < 1e-10
