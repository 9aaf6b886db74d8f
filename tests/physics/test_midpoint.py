"""la.Midpoint: closed forms, order, energy, forces, constraints, refusals."""

import numpy as np
import pytest

import leastaction as la
from leastaction.coordinates import ties as tree
from leastaction.reference import ode
from leastaction.testing.integrator_laws import fitted_order
from leastaction.yardsticks import Johnson2009, Svi


def pendulum():
    mech = la.Mechanism(gravity=(0, 0, -9.81))
    mech.add_body("bob", joint=la.Revolute((0, 1, 0)), mass=2.0, com=(0, 0, -0.7), inertia=(0, 0, 0))
    return mech.compile()


def four_bar(lengths=(1.0, 2.0, 1.5), pin=(2.0, 0.0, 0.0)):
    """The loop of three rods with both ends pinned, and its start at rest."""
    mech = la.Mechanism(gravity=(0, 0, -9.81), name="four-bar")
    parent, place = "world", (0.0, 0.0, 0.0)
    for k, l in enumerate(lengths):
        mech.add_body(
            f"rod{k}", parent, la.Revolute((0, 1, 0)), la.Pose(xyz=place), mass=l, com=(0, 0, -l / 2),
            inertia=(l**3 / 12, l**3 / 12, 0.01),
        )  # fmt: skip
        parent, place = f"rod{k}", (0.0, 0.0, -l)
    mech.add_frame("tip", parent, la.Pose(xyz=place))
    mech.add_frame("pin", placement=la.Pose(xyz=pin))
    mech.add_constraint(la.Coincident("tip", "pin", directions=((1, 0, 0), (0, 0, 1))))
    model = mech.compile()
    return model, model.assemble([0.785, -2.068, -1.305], hold=["rod0"])


@pytest.mark.parametrize("alpha", [0.5, 0.3, 0.0, 1.0])
def test_one_step_of_the_pendulum_in_closed_form(alpha):
    """m l^2 d/h + (1 - alpha) h m g l sin(q + alpha d) = p, and p' = m l^2 d/h - alpha h m g l sin(q + alpha d)."""
    m, g, l, h = 2.0, 9.81, 0.7, 0.05
    model, q, v = pendulum(), 1.1, 0.6
    d = h * v
    for _ in range(50):
        s, c = np.sin(q + alpha * d), np.cos(q + alpha * d)
        r = m * l * l * (d / h - v) + (1 - alpha) * h * m * g * l * s
        d -= r / (m * l * l / h + (1 - alpha) * alpha * h * m * g * l * c)
    p = m * l * l * d / h - alpha * h * m * g * l * np.sin(q + alpha * d)
    run = la.simulate(model, q=[q], v=[v], dt=h, steps=1, integrator=la.Midpoint(alpha, tol=1e-14))
    assert abs(run.q[1, 0] - (q + d)) < 1e-13
    assert abs(run.p[1, 0] - p) < 1e-13


def test_order_is_one_away_from_the_middle():
    assert la.Midpoint(0.5).order == 2 and la.Midpoint(0.3).order == 1
    assert fitted_order(la.Midpoint(0.3)) == pytest.approx(1.0, abs=0.1)


def test_it_is_the_discretisation_of_the_svi_residual():
    model = la.examples.chain(4, spatial=True).compile()
    start = {"q": [0.5, 0.2, -0.3, 0.4], "v": [1.0, 0.0, 2.0, -1.0], "dt": 5e-3, "steps": 200}
    ours = la.simulate(model, integrator=la.Midpoint(tol=1e-13), **start)
    other = la.simulate(model, integrator=Svi("riqn", "extrapolate", tol=1e-12), **start)
    assert np.abs(ours.q - other.q).max() < 1e-7
    for evaluation in ("cached", "uncached"):
        integrator = la.Midpoint(tol=1e-13) if evaluation == "composite" else Johnson2009(evaluation, tol=1e-13)
        run = la.simulate(model, integrator=integrator, **start)
        assert np.abs(run.q - ours.q).max() < 1e-9


def error_ratios(model, q, v, integrators, reference, counts=(40, 80, 160), duration=0.4):
    for integrator in integrators:
        errors = []
        for n in counts:
            run = la.simulate(model, q=q, v=v, dt=duration / n, steps=n, integrator=integrator)
            errors.append(np.abs(run.q[-1] - reference).max())
        yield np.array(errors[:-1]) / np.array(errors[1:])


def test_converges_with_variational_to_an_independent_solution():
    model = la.examples.chain(3).compile()
    state = model.state(q=[0.9, 0.4, -0.5], v=[0.5, 0.0, 1.0])
    exact = ode.solve(model, state, [0.4]).q[-1]
    for ratios in error_ratios(model, state.q, state.v, (la.Midpoint(), la.Variational()), exact):
        assert np.all(np.abs(ratios - 4.0) < 0.2)


def dop853(model, q, v, duration):
    """The closed mechanism in time: accelerations M a + Dh' l = f, Dh a = -(dDh/dt) v, by a Runge-Kutta method of order 8."""
    from scipy.integrate import solve_ivp

    n = model.nv

    def rate(t, y):
        x, w = y[:n], y[n:]
        J = tree.jacobian(model, x)
        e = 1e-4
        drift = sum(
            k * (tree.jacobian(model, x + s * e * w) - tree.jacobian(model, x - s * e * w)) for s, k in ((1, 45.0), (2, -9.0), (3, 1.0))
        ) @ w / (60 * e)  # fmt: skip
        M = la.dynamics.mass_matrix(model, x)
        force = -la.dynamics.inverse(model, x, w, np.zeros(n))
        K = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
        return np.concatenate([w, np.linalg.solve(K, np.concatenate([force, -drift]))[:n]])

    return solve_ivp(rate, (0.0, duration), np.concatenate([q, v]), method="DOP853", rtol=1e-12, atol=1e-12).y[:n, -1]


def test_constrained_motion_converges_with_order_two():
    model, q = four_bar()
    v = model.project_velocity(q, [1.0, 0.0, 0.0])
    exact = dop853(model, q, v, 0.4)
    for ratios in error_ratios(model, q, v, (la.Midpoint(), la.Variational()), exact):
        assert np.all(np.abs(ratios - 4.0) < 0.3)


def test_the_four_bar_stays_closed_and_keeps_its_energy():
    model, q = four_bar()
    run = la.simulate(model, q=q, dt=1e-2, duration=60.0, integrator=la.Midpoint())
    assert run.constraint_error.max() < 1e-11
    swing = np.ptp(run.potential)
    assert np.ptp(run.energy) < 3e-4 * swing
    third = len(run.energy) // 3
    assert abs(run.energy[-third:].mean() - run.energy[:third].mean()) < 1e-5 * swing


def test_a_start_that_is_not_closed_is_named():
    model, q = four_bar()
    with pytest.raises(la.StateError, match="start violates Coincident.*model.assemble"):
        la.simulate(model, q=q + 0.1, dt=1e-2, steps=1, integrator=la.Midpoint())


def test_stable_where_the_trapezoid_is_not():
    mech = la.examples.chain(2)
    mech.add_force(la.Spring("link2", 3e4))
    model = mech.compile()
    run = la.simulate(model, q=[0.5, 0.01], dt=0.02, steps=500, integrator=la.Midpoint())
    assert np.ptp(run.energy) < 0.05 * abs(run.energy[0])


def test_momentum_of_a_driven_slider_is_the_impulse():
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("cart", joint=la.Prismatic((1, 0, 0)), mass=3.0)
    mech.add_force(la.Damper("cart", 0.5))
    run = la.simulate(mech.compile(), v=[2.0], dt=0.1, steps=50, tau=[1.5], integrator=la.Midpoint())
    impulse = 1.5 * run.t - 0.5 * (run.q[:, 0] - run.q[0, 0])
    assert np.abs(run.p[:, 0] - run.p[0, 0] - impulse).max() < 1e-9


def forced_tree():
    mech = la.examples.random_tree(6, seed=5, joints=(la.Revolute, la.Prismatic, la.Universal, la.Planar, la.Cylindrical))
    names = list(mech.bodies)
    mech.add_force(la.Wrench(names[-1], force=(1, -2, 3), moment=(0.4, 0.5, -0.6), point=(0.1, 0.2, 0.3)))
    mech.add_force(la.Wrench(names[-2], force=(-2, 1, 1), moment=(0.3, -0.1, 0.2), point=(0.3, 0.1, 0.1), frame="body"))
    mech.add_force(la.Damper(names[0], 0.7))
    mech.add_force(la.LinearSpring(names[-1], names[1], 20.0, 0.3))
    mech.add_force(la.LinearSpring(names[-3], "world", 10.0))
    return mech.compile()


def test_wrenches_and_dampers_converge_to_the_continuous_motion():
    model = forced_tree()
    rng = np.random.default_rng(2)
    state = model.state(0.3 * rng.normal(size=model.nv), 0.5 * rng.normal(size=model.nv))
    exact = ode.solve(model, state, [0.2]).q[-1]
    for ratios in error_ratios(model, state.q, state.v, (la.Midpoint(),), exact, duration=0.2):
        assert np.all(np.abs(ratios - 4.0) < 0.3)


def test_newton_is_quadratic():
    """With every force a large step is solved in a few evaluations."""
    model = forced_tree()
    run = la.simulate(model, q=0.3 * np.ones(model.nv), v=np.ones(model.nv), dt=0.05, steps=20, integrator=la.Midpoint(tol=1e-12))
    assert run.iterations.max() <= 9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: la.Midpoint(alpha=1.5), "alpha = 1.5"),
        (lambda: Johnson2009(evaluation="magic"), "evaluation = 'magic'"),
        (lambda: la.Midpoint(tol=2.0), "tol = 2.0"),
        (lambda: la.simulate(la.examples.chain(70).compile(), dt=1e-3, steps=1, integrator=Johnson2009("cached")), "at most 64"),
        (lambda: la.simulate(forced_tree(), dt=1e-3, steps=1, integrator=Johnson2009("uncached")), "leaves out wrenches"),
    ],
)
def test_what_it_cannot_do_is_said(make, message):
    with pytest.raises(la.StateError, match=message):
        make()


def test_the_recursions_of_the_paper_refuse_free_joints_by_name():
    with pytest.raises(la.MechanismError, match="joint 'handle' is a Free"):
        la.simulate(la.examples.t_handle().compile(), dt=1e-3, steps=1, integrator=Johnson2009())


def test_listing_1_stays_in_the_band_of_the_paper_s_integrator():
    """300 steps of 10 ms from two equal nodes; energies of the middles of the steps, as an independent implementation gives them."""
    model = la.examples.listing_1().compile()
    q, dt, still = model.assemble(la.examples.LISTING_1_START), 1e-2, np.zeros(model.nv)
    # a step without motion ends with half a kick
    force = -la.dynamics.inverse(model, q, still, still)
    v = model.project_velocity(q, np.linalg.solve(la.dynamics.mass_matrix(model, q), 0.5 * dt * force))
    run = la.simulate(model, q=q, v=v, dt=dt, steps=299, integrator=la.Midpoint())
    middles, rates = 0.5 * (run.q[1:] + run.q[:-1]), np.diff(run.q, axis=0) / dt
    energy = [la.dynamics.energy(model, x, u) for x, u in zip(middles, rates, strict=True)]
    assert min(energy) == pytest.approx(-101.234, abs=5e-4)
    assert max(energy) == pytest.approx(-101.189, abs=5e-4)
    assert run.constraint_error.max() < 1e-10
