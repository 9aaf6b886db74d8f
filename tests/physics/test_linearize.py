"""la.linearize: derivatives of a step against independent differences, and the laws they obey."""

from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction.assembly.closing import ClosedEvaluator
from leastaction.coordinates import ties as tree
from leastaction.dynamics.discrete import increment
from leastaction.kernels.maximal.evaluate import advance
from leastaction.linearization.constraint_derivatives import Curvature, momentum_derivative, project_momentum, rows
from leastaction.linearization.step_derivatives import midpoint_derivatives, variational_derivatives
from leastaction.testing import random_mechanism, random_state
from leastaction.testing.action import arriving_momentum, leaving_momentum
from leastaction.testing.integrator_laws import mixed_tree, start_of, symplectic_form
from leastaction.testing.kinematics import Kinematics
from leastaction.yardsticks import Svi

WAYS = [la.Variational(r, quadrature=k) for r in ("exp", "cayley") for k in ("trapezoid", "midpoint")]


def difference(function, size, reach=1e-3):
    """Derivative at zero by central differences of order six, one column per entry."""
    weights = ((1, 45.0), (2, -9.0), (3, 1.0))
    return np.array([sum(w * (function(s * u) - function(-s * u)) for s, w in weights) / (60.0 * reach) for u in reach * np.eye(size)]).T


def moved(model, q, x):
    q = q.copy()
    advance(model.tree, q, x)
    return q


def forced(mech, floating):
    """Rotors, and all forces that act on a step: springs, dampers, wrenches fixed in the world and in the body."""
    for name, armature in {"slide": [0.4], "cross": [0.1, 0.3], "plate": [0.3, 0.2, 0.1]}.items():
        mech.bodies[name] = replace(mech.bodies[name], armature=np.array(armature))
    mech.add_force(la.Damper("ball", 0.3))
    mech.add_force(la.Damper("slide", 0.7))
    if floating:
        mech.add_force(la.Damper("base", (0.4, 0.4, 0.4, 0.2, 0.2, 0.2)))
        mech.add_force(la.Spring("base", (2.0, 5.0)))
    mech.add_force(la.Wrench("cross", force=(1, 2, 3), moment=(0.3, 0.2, 0.1), point=(0.1, 0.2, 0.3)))
    mech.add_force(la.Wrench("screw", force=(1, -2, 3), moment=(0.3, 0.2, 0.1), point=(0.1, 0.2, 0.3), frame="body"))
    mech.add_force(la.LinearSpring("cross", "screw", 30.0, 0.4))
    mech.add_force(la.NonlinearSpring(lambda x, sp: 5 * x**2 + 4 * x**4, between=("plate", "world")))
    mech.add_force(la.UserPotential(lambda q, sp: 3 * sp.sin(q[0]) * q[1] ** 2, joints=("slide", "screw")))
    return mech


@pytest.mark.parametrize(("integrator", "floating"), [(WAYS[0], True), (WAYS[1], False), (WAYS[2], False), (WAYS[3], True)])
def test_derivatives_of_a_step_against_the_action(integrator, floating):
    """Momenta at both ends by complex steps of the discrete action, differentiated by differences."""
    mech = forced(mixed_tree(floating), floating)
    model, kin, rng = mech.compile(), Kinematics(mech), np.random.default_rng(3)
    x, d, tau = np.array([[0.5], [0.2], [1.0]]) * rng.normal(size=(3, model.nv))
    q0, h = moved(model, model.neutral(), x), 0.1
    q1 = moved(model, q0, d)
    s = variational_derivatives(integrator, model, q0, d, h, tau, 0.0)

    def leaving(a, b):
        return leaving_momentum(kin, a, b, h, tau, integrator.retraction, integrator.quadrature)

    def arriving(a, b):
        return arriving_momentum(kin, a, b, h, tau, integrator.retraction, integrator.quadrature)

    n, size = model.nv, np.abs(s.P00).max()
    assert np.abs(s.leaving - leaving(q0, q1)).max() < 1e-12
    assert np.abs(s.arriving - arriving(q0, q1)).max() < 1e-12
    assert np.abs(s.P00 - difference(lambda x: leaving(moved(model, q0, x), q1), n)).max() < 1e-11 * size
    assert np.abs(s.P01 - difference(lambda x: leaving(q0, moved(model, q1, x)), n)).max() < 1e-11 * size
    assert np.abs(s.P10 - difference(lambda x: arriving(moved(model, q0, x), q1), n)).max() < 1e-11 * size
    assert np.abs(s.P11 - difference(lambda x: arriving(q0, moved(model, q1, x)), n)).max() < 1e-11 * size


def driven_pendulum():
    """A force of the user that depends on everything."""
    mech = la.examples.chain(3, spatial=True)
    mech.add_force(la.Damper("link2", 0.4))
    mech.add_force(la.Wrench("link3", force=(1, 2, 3), moment=(0.1, 0.2, 0.3), point=(0, 0, -1)))

    def force(t, q, v, tau):
        tau[0] += np.sin(q[1] + t) * v[2]
        tau[2] -= 0.3 * v[0] * v[2] + q[0] ** 2

    mech.add_force(la.CustomForce(force))
    return mech


def with_tolerance(integrator, tol):
    return type(integrator)(**{**integrator.options(), "tol": tol})


def flow(integrator, model, state, dt, tau):
    """Momentum and configuration after one step, and the impulses of the constraints, by the simulator."""
    sim = la.Simulator(model, state, dt=dt, integrator=with_tolerance(integrator, 1e-12))
    sim.step(tau)
    if sim._stepper.ties is None:
        return sim.state, np.zeros(0)
    # the momentum that arrives is not yet one the constraints allow: they take the rest of their impulse there
    arriving = la.dynamics.Evaluator(model)(*integrator.recording(dt), sim._now.q, sim._now.p).p[0]
    at_end = np.linalg.lstsq(tree.jacobian(model, sim.q).T, sim.state.p - arriving, rcond=None)[0]
    return sim.state, sim._stepper.ties.lam + at_end


@pytest.mark.parametrize("integrator", [la.Midpoint(), la.Midpoint(0.3), la.Variational(), la.Variational(quadrature="midpoint")], ids=repr)
def test_A_and_B_against_differences_of_the_simulation(integrator):
    model = driven_pendulum().compile()
    nv, dt = model.nv, 0.02
    state, tau = model.state([0.4, -0.3, 0.8], [1.0, -2.0, 0.5], t=0.7), np.array([0.3, -0.2, 0.5])
    step = la.linearize(model, integrator, state, dt, tau)

    def end(x):
        there, _ = flow(integrator, model, model.state(state.q + x[:nv], p=state.p + x[nv : 2 * nv], t=0.7), dt, tau + x[2 * nv :])
        return np.concatenate([there.q, there.p])

    exact = difference(end, 3 * nv)
    assert np.abs(end(np.zeros(3 * nv)) - np.concatenate([step.next_state.q, step.next_state.p])).max() < 1e-11
    assert np.abs(step.A - exact[:, : 2 * nv]).max() < 1e-8
    assert np.abs(step.B - exact[:, 2 * nv :]).max() < 1e-8


@pytest.mark.parametrize("integrator", [*WAYS, la.Midpoint(), la.Midpoint(0.3)], ids=repr)
def test_the_linear_map_is_symplectic(integrator):
    mech = mixed_tree(floating=True, plain=integrator.plain_coordinates)
    model, kin = mech.compile(), Kinematics(mech)
    state = model.state(*start_of(model))
    step = la.linearize(model, integrator, state, 0.02)
    before, after = symplectic_form(kin, state.p), symplectic_form(kin, step.next_state.p)
    assert np.abs(step.A.T @ after @ step.A - before).max() < 1e-9


def tied_down():
    """A chain of balls whose end hangs on a wire, and a planar loop of plain joints."""
    mech = la.examples.ball_chain(3)
    model, rng = mech.compile(), np.random.default_rng(1)
    mech.add_frame("end", model.body_names[-1], la.Pose(xyz=(0, 0, -1)))
    mech.add_frame("hook", placement=la.Pose(xyz=(1.0, 0.5, -1.0)))
    mech.add_constraint(la.Distance("end", "hook", 1.5))
    model = mech.compile()
    q = model.assemble(moved(model, model.neutral(), 0.4 * rng.normal(size=model.nv)))
    yield mech, model, q, la.Variational()
    mech = la.examples.chain(4)
    mech.add_frame("pin", placement=la.Pose(xyz=(1.5, 0, -1.0)))
    mech.add_constraint(la.Coincident("tip", "pin", directions=((1, 0, 0), (0, 0, 1))))
    model = mech.compile()
    q = model.assemble([0.3, 0.5, -0.8, -0.9])
    for integrator in (la.Midpoint(), la.Variational(), la.Variational(quadrature="midpoint")):
        yield mech, model, q, integrator



@pytest.mark.parametrize("case", range(4))
def test_constrained_step(case):
    """Along curves of states the constraints allow: A, the multipliers, and the symplectic form on what they leave free."""
    mech, model, q0, integrator = list(tied_down())[case]
    nv, dt, rng = model.nv, 0.01, np.random.default_rng(4)
    state = model.state(q0, model.project_velocity(q0, rng.normal(size=nv)))
    step = la.linearize(model, integrator, state, dt)
    assert np.abs(tree.values(model, step.next_state.q)).max() < 1e-12
    v1 = la.dynamics.velocity(model, step.next_state.q, step.next_state.p)
    assert np.abs(tree.jacobian(model, step.next_state.q) @ v1).max() < 1e-11

    def allowed(x):
        q = model.assemble(moved(model, state.q, x[:nv]))
        v = model.project_velocity(q, la.dynamics.velocity(model, q, state.p + x[nv:]))
        return model.state(q, v)

    def both(x):
        """How the state before the step and after it change."""
        start = allowed(x)
        end, lam = flow(integrator, model, start, dt, None)
        before = np.concatenate([increment(model, state.q, start.q), start.p - state.p])
        after = np.concatenate([increment(model, step.next_state.q, end.q), end.p - step.next_state.p])
        return np.concatenate([before, after, lam])

    directions = rng.normal(size=(3, 2 * nv))
    curves = [difference(lambda s, u=u: both(s[0] * u), 1, 2e-4)[:, 0] for u in directions]
    before, after, lam = np.split(np.array(curves).T, [2 * nv, 4 * nv])
    size = np.abs(after).max()
    assert np.abs(step.A @ before - after).max() < 1e-7 * size
    assert np.abs(step.C @ before - lam).max() < 1e-6 * max(size, np.abs(lam).max())
    assert np.abs(flow(integrator, model, state, dt, None)[1] - step.multipliers).max() < 1e-11
    # the symplectic form on tangent vectors the constraints allow, exactly: null space of (Dh, 0; d(Dh v), Dh M^-1)
    curvature = Curvature(model, tree.make_ties(model), state.q, 0.0)
    M, bent = momentum_derivative(model, state.q, state.v)
    inverse = np.linalg.inv(M)
    J = curvature.J
    lower = np.hstack([curvature.of_velocity(state.v) - J @ inverse @ bent, J @ inverse])
    full = np.vstack([np.hstack([J, 0.0 * J]), lower])
    free = np.linalg.svd(full)[2][len(full) :].T
    kin = Kinematics(mech)
    J0, J1 = symplectic_form(kin, state.p), symplectic_form(kin, step.next_state.p)
    assert np.abs(free.T @ (step.A.T @ J1 @ step.A - J0) @ free).max() < 1e-9


def test_second_derivatives_of_constraints_and_projection():
    _, model, q, _ = next(tied_down())
    ties, rng = tree.make_ties(model), np.random.default_rng(5)
    lam, v, nv = np.array([1.7]), rng.normal(size=model.nv), model.nv
    curvature = Curvature(model, ties, q, 0.0)
    exact = difference(lambda x: rows(model, ties, moved(model, q, x), 0.0)[1].T @ lam, nv)
    assert np.abs(curvature.of_impulse(lam) - exact).max() < 1e-9
    exact = difference(lambda x: rows(model, ties, moved(model, q, x), 0.0)[1] @ v, nv)
    assert np.abs(curvature.of_velocity(v) - exact).max() < 1e-9
    exact = difference(lambda x: la.dynamics.momentum(model, moved(model, q, x), v), nv)
    assert np.abs(momentum_derivative(model, q, v)[1] - exact).max() < 1e-9
    p = la.dynamics.momentum(model, q, v)
    projected, by_q, by_p, *_ = project_momentum(curvature, p)
    evaluator = ClosedEvaluator(model)
    assert np.abs(evaluator(0, 0.0, q[None], p[None], np.zeros(1)).p[0] - projected).max() < 1e-11
    exact = difference(lambda x: project_momentum(Curvature(model, ties, moved(model, q, x), 0.0), p)[0], nv, 2e-4)
    assert np.abs(by_q - exact).max() < 1e-8
    assert np.abs(by_p - difference(lambda x: project_momentum(curvature, p + x)[0], nv)).max() < 1e-9


def test_midpoint_derivatives_are_those_of_the_svi_momenta():
    from leastaction.yardsticks.scalable import ScalableVariational

    model = la.examples.chain(4, spatial=True).compile()
    rng = np.random.default_rng(6)
    q, d, h, zero = rng.normal(size=model.nv), 0.1 * rng.normal(size=model.nv), 0.05, np.zeros(model.nv)
    s = midpoint_derivatives(la.Midpoint(), model, q, d, h, zero, 0.0)
    other = ScalableVariational(model)
    exact = difference(lambda x: other.residual(q, d + x, zero, h), model.nv)
    assert np.abs(s.P01 - exact).max() < 1e-9 * np.abs(exact).max()
    exact = difference(lambda x: other.momentum(q + x, d - x, h), model.nv)
    assert np.abs(s.P10 - exact).max() < 1e-9 * np.abs(exact).max()
    assert np.abs(s.P10 + s.P01.T).max() < 1e-11 * np.abs(s.P01).max()


@pytest.mark.parametrize(
    ("integrator", "message"),
    [
        (Svi(), "Svi"), (la.Maximal("quaternion"), "retraction 'quaternion'"), (la.CertifiedStep(), "cannot be linearised"),
        (la.AdaptiveStep(la.Maximal("quaternion")), "retraction 'quaternion'"),
    ],
)
def test_other_integrators_are_refused(integrator, message):
    model = la.examples.chain(2).compile()
    with pytest.raises(la.StateError, match=message):
        la.linearize(model, integrator, model.state(), 1e-2)


def test_a_state_of_another_model_is_refused():
    model = la.examples.chain(2).compile()
    with pytest.raises(la.StateError, match="belongs to another compilation"):
        la.linearize(model, la.Variational(), la.examples.chain(3).compile().state(), 1e-2)


@pytest.mark.parametrize("dt", [1e-2, 0.1, 0.3])
def test_the_step_is_that_of_the_integrator(dt):
    integrator = la.Variational(tol=1e-13)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        model = random_mechanism(rng, int(rng.integers(1, 6))).compile()
        q, v = random_state(model, rng)
        tau = rng.normal(size=model.nv)
        run = la.simulate(model, q=q, v=v, dt=dt, steps=1, tau=tau, integrator=integrator)
        end = la.linearize(model, integrator, model.state(q=q, v=v), dt, tau).next_state
        assert np.abs(end.q - run.q[-1]).max() < 1e-10
        assert np.abs(end.p - run.p[-1]).max() < 1e-10 * np.abs(run.p).max()


def test_a_step_of_half_a_turn():
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("ball", joint=la.Spherical(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    model = mech.compile()
    state = model.state(v=[0.0, 0.0, 10.0 * np.pi])
    end = la.linearize(model, la.Variational(), state, 0.1).next_state
    assert np.abs(np.abs(end.q) - [0, 0, 0, 1]).max() < 1e-9
