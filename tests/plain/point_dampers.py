"""Dampers between points: the law of action and reaction, order, heat, and a Newton matrix that knows how two bodies damp each other."""

import numpy as np
import pytest

import leastaction as la
from leastaction.forces import Force
from leastaction.testing import check_force
from leastaction.testing.action import arriving_momentum, leaving_momentum


def arm(a="tip", b="elbow", damping=2.0):
    """Two links, a ball joint and a hook; the damper joins what the tree does not."""
    mech = la.Mechanism()
    rod = {"mass": 1.0, "com": (0.05, 0.02, -0.25), "inertia": (0.03, 0.04, 0.02)}
    mech.add_body("upper", joint=la.Revolute((0, 1, 0)), **rod)
    mech.add_body("lower", "upper", la.Revolute((1, 0, 0)), la.Pose(xyz=(0, 0, -0.5)), **rod)
    mech.add_body("ball", "upper", la.Spherical(), la.Pose(xyz=(0.3, 0.1, -0.2)), **rod)
    mech.add_frame("tip", "lower", la.Pose(xyz=(0.1, 0.2, -0.3), rpy=(0.3, 0.2, 0.1)))
    mech.add_frame("elbow", "ball", la.Pose(xyz=(0.1, 0.0, -0.4), rpy=(0.1, 0.5, 0.2)))
    mech.add_frame("hook", placement=la.Pose(xyz=(0.6, 0.3, -0.9)))
    if damping:
        mech.add_force(la.PointDamper(a, b, damping))
    return mech


def start(model):
    return model.state(v=np.random.default_rng(2).normal(size=model.nv))


def test_laws_of_a_force():
    integrators = [la.Variational(tol=1e-12), la.Maximal(tol=1e-12), la.RK4()]
    report = check_force(lambda: la.PointDamper("tip", "elbow", 3.0), lambda: arm(damping=0.0), integrators)
    assert not report.has_energy and not report.conservative and len(report.orders) == len(integrators)


def test_momenta_follow_from_the_action():
    mech = arm()
    model, h = mech.compile(), 0.02
    run = la.simulate(model, start(model), dt=h, steps=1)
    leaving, arriving = la.discrete.momenta(model, run.q[0], run.q[1], h)
    assert np.abs(leaving - leaving_momentum(mech, run.q[0], run.q[1], h)).max() < 1e-12
    assert np.abs(arriving - arriving_momentum(mech, run.q[0], run.q[1], h)).max() < 1e-12


def test_it_pushes_both_ends_alike_and_along_the_line():
    """Two free bodies: momentum and angular momentum stay, the energy becomes heat until the distance stands still."""
    mech = la.Mechanism(gravity=(0, 0, 0))
    for name, x in (("one", 0.0), ("two", 1.0)):
        mech.add_body(name, joint=la.Free(), placement=la.Pose(xyz=(x, 0, 0)), mass=1.0, inertia=(0.1, 0.2, 0.3))
    mech.add_force(la.PointDamper("one", "two", 5.0))
    model = mech.compile()
    v = {"one": (0.3, 0.1, 0.2, 0.5, 0.2, 0.0), "two": (0, 0.2, 0.1, -0.4, 0.1, 0.3)}
    unexplained = []
    for dt in (2e-2, 1e-2):
        run = la.simulate(model, v=v, dt=dt, duration=0.4)
        assert np.abs(run.momentum - run.momentum[0]).max() < 1e-9
        assert run.energy[-1] < run.energy[0] - 0.1 and not run.work.any()
        unexplained.append(np.abs(run.energy_balance).max())
    assert 3.0 < unexplained[0] / unexplained[1] < 5.0  # the account of heat is of order 2


def test_either_end_may_be_named_first():
    for a, b in (("tip", "hook"), ("tip", "elbow")):
        models = [arm(*ends).compile() for ends in ((a, b), (b, a))]
        for integrator in (la.Variational(), la.Midpoint(), la.Maximal()):
            one, other = (la.simulate(m, start(m), dt=1e-2, steps=5, integrator=integrator).q for m in models)
            assert np.abs(one - other).max() < 1e-9


@pytest.mark.parametrize("integrator", [la.Variational(), la.Variational("cayley", quadrature="midpoint")], ids=repr)
def test_a_stiff_damper_is_solved_in_few_iterations(integrator):
    """c h / m = 100: without the coupling of both bodies in its matrix Newton's method takes dozens."""
    model = arm(damping=1e4).compile()
    run = la.simulate(model, start(model), dt=1e-2, steps=10, integrator=integrator)
    assert run.iterations.mean() < 7


@pytest.mark.parametrize("integrator", [la.Variational(tol=1e-13), la.Variational(quadrature="midpoint", tol=1e-13)], ids=repr)
def test_linearised(integrator):
    model = arm().compile()
    state, reach = start(model), 1e-3
    step = la.linearize(model, integrator, state, dt=1e-2)

    def momenta(v):
        return la.simulate(model, model.state(q=state.q, v=v), dt=1e-2, steps=1, integrator=integrator).p[-1]

    M = la.dynamics.mass_matrix(model, state.q)
    for k in range(model.nv):
        unit = np.linalg.solve(M, np.eye(model.nv)[k])
        near, far, farther = (momenta(state.v + s * reach * unit) - momenta(state.v - s * reach * unit) for s in (1, 2, 3))
        assert np.abs((45 * near - 9 * far + farther) / (60 * reach) - step.A[model.nv :, model.nv + k]).max() < 1e-9


def test_a_law_seen_from_another_body_may_be_anything():
    """A bushing: six stiffnesses between two places, with an energy; the run keeps the sum of both."""

    class Bushing(Force):
        def apply(self, builder):
            builder.add_body_force("Bushing", "tip", bushing, (30.0,), energy=bushing_energy, seen_from="elbow")

    mech = arm(damping=0.0)
    mech.add_force(Bushing())
    model = mech.compile()
    assert la.dynamics.energy(model, model.neutral()) > la.dynamics.energy(arm(damping=0.0).compile(), model.neutral())
    coarse, fine = (la.simulate(model, start(model), dt=dt, duration=0.2) for dt in (1e-2, 5e-3))
    off = [np.abs(run.energy - run.energy[0]).max() for run in (coarse, fine)]
    assert 3.0 < off[0] / off[1] < 5.0
    with pytest.raises(la.MechanismError, match="'tip' and 'lower' belong to the same body"):
        arm("tip", "lower").compile()
    with pytest.raises(la.MechanismError, match="damping = -1 N s/m; it needs a number >= 0"):
        la.PointDamper("tip", "lower", -1)


def bushing(t, R, x, V, p, W):
    for k in range(3):
        W[3 + k] -= p[0] * (R[0, k] * x[0] + R[1, k] * x[1] + R[2, k] * x[2])


def bushing_energy(R, x, p):
    return 0.5 * p[0] * (x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
