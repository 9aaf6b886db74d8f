"""Certificates of steps with ball joints and floating bases: the laws of plain coordinates, beside the equation in long doubles."""

import itertools

import numpy as np
import pytest
from papers import kobilarov2014_certificate as certificates
from scipy.spatial.transform import Rotation
from support.long_steps import LongStep

import leastaction as la
from leastaction import solvability as sv
from leastaction import testing
from leastaction.kernels.solvability.layout import EPSILON, ETA, LOAD, RADIUS, SECOND, THIRD
from leastaction.kernels.stepping import trapezoid as kernels

INERTIA = (0.3, 0.2, 0.15)


def ordinary_equation(seed):
    """Ball joints at the root, in the middle and at the end of a tree, a floating one under every other, with a damper; 6, 7: one alone."""
    rng = np.random.default_rng(seed)
    mech = la.Mechanism()
    joints = [la.Free() if seed % 2 else la.Spherical(), la.Spherical(), la.examples.random_joint(la.Helical, rng), la.Spherical()]
    for k, joint in enumerate(joints[: 1 if seed in (6, 7) else 2 + seed % 3]):
        place = la.Pose(xyz=rng.normal(size=3), rpy=rng.normal(size=3))
        about = {"mass": rng.uniform(0.5, 2.0), "com": 0.4 * rng.normal(size=3), "inertia": INERTIA}
        mech.add_body(f"body{k}", f"body{k - 1}" if k else "world", joint, place, **about)
    mech.add_force(la.Damper(f"body{int(seed not in (6, 7))}", float(rng.uniform(0.0, 2.0))))
    model = mech.compile()
    q, _ = testing.random_state(model, rng)
    return sv.StepEquation(model, model.state(q, rng.normal(size=model.nv)))


def hostile_equation(seed):
    state = certificates.hostile_state(seed, balls=True)
    return sv.StepEquation(state.model, state)


@pytest.mark.parametrize("seed", range(8))
def test_the_equation_and_its_derivatives(seed):
    """Of the momenta of `Trapezoid`, of long doubles, and of each other."""
    equation, h = ordinary_equation(seed), 0.3
    model, v = equation.model, equation.v0 + 0.1
    work, end, t = model.make_work(), model.make_work(), kernels.make_trapezoid(model.nq, model.nv)
    t.q_start[:], t.v[:] = equation.q, v
    momenta = np.zeros((2, model.nv))
    kernels.end_momenta(model.tree, work, end, t, h, 0.0, np.zeros(model.nv), 1, momenta)
    size = np.abs(momenta[0]).max()
    np.testing.assert_allclose(equation.value(v, h), momenta[0] - equation.p, rtol=0, atol=1e-13 * size)
    exact, there = LongStep(equation), v.astype(np.longdouble)
    A, B = equation.jacobian(v, h), equation.second(v, h)
    np.testing.assert_allclose(equation.value(v, h), exact.value(there, h).astype(float), rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(A, exact.jacobian(there, h).astype(float), rtol=0, atol=1e-13 * np.abs(A).max())
    d = np.linspace(-1.0, 1.0, model.nv)
    np.testing.assert_allclose(B @ d, exact.bent(there, h, d).astype(float), rtol=0, atol=1e-12 * np.abs(B).max())
    np.testing.assert_allclose(B, np.swapaxes(B, 1, 2), rtol=0, atol=1e-15 * np.abs(B).max())
    step = 1e-4
    for function, derivative in itertools.pairwise((equation.value, equation.jacobian, equation.second)):
        units = step * np.eye(model.nv)
        ends = [8 * (function(v + e, h) - function(v - e, h)) - (function(v + 2 * e, h) - function(v - 2 * e, h)) for e in units]
        found = derivative(v, h)
        np.testing.assert_allclose(found, np.stack(ends, -1) / (12 * step), rtol=0, atol=1e-8 * np.abs(found).max())


def met(equation, seed, tries=4):
    """(eta, b, c) met in long doubles over those of the certificate: along directions that are improved, c all over the ball."""
    h = equation.certified(1e3, 1e-12)
    if h == 0.0:
        return 0.0, 0.0, 0.0
    proof, exact, rng = equation.judged(h), LongStep(equation), np.random.default_rng(seed)
    eta, second, third = (float(x) for x in proof.out[[ETA, SECOND, THIRD]])
    v0, Y, Ri, h = equation.v0.astype(np.longdouble), proof.Y.astype(np.longdouble), proof.Ri.astype(np.longdouble), np.longdouble(h)

    def largest(derivative):
        """Nearly the norm of a symmetric form, from its contraction with one direction (all but one of its arguments)."""
        x, size = rng.normal(size=len(v0)), 0.0
        for _ in range(tries):
            x /= np.linalg.norm(x)
            W = (Y @ derivative(Ri @ x) @ Ri).astype(float)
            size = max(size, float(np.linalg.norm(W @ x)))
            x = np.linalg.svd(W)[2][0] + 0.3 * x
        return size

    u = rng.normal(size=len(v0))
    away = v0 + Ri @ (1.8 * eta * u / np.linalg.norm(u))
    ratios = (
        (np.linalg.norm((Y @ exact.value(v0, h)).astype(float)), eta), (largest(lambda d: exact.bent(v0, h, d)), second),
        (largest(lambda d: exact.third(away, h, d, np.longdouble(0.2 * eta))), third),
    )  # fmt: skip
    return tuple(float(value) / max(bound, 1e-300) for value, bound in ratios)


@pytest.mark.parametrize("seed", range(8))
def test_majorants_are_above_what_is_met(seed):
    assert max(met(ordinary_equation(seed), seed)) <= 1.0
    assert max(met(hostile_equation(seed), seed)) <= 1.0


def test_the_majorant_of_the_third_derivative_is_of_its_size():
    """A bound a thousand times too large would be as true and of no use."""
    assert max(met(ordinary_equation(0), seed, 8)[2] for seed in range(3)) > 1e-3


@pytest.mark.parametrize("seed", range(8))
def test_rounding_is_less_than_what_is_allowed_for(seed):
    equation = hostile_equation(seed)
    h = max(equation.certified(1e3, 1e-12), 1e-9)
    proof, exact, v0 = equation.judged(h), LongStep(equation), equation.v0.astype(np.longdouble)
    if not np.isfinite(proof.out[THIRD]):
        return
    B = np.stack([exact.bent(v0, np.longdouble(h), e) for e in np.eye(len(v0))], -1)
    errors = (
        (np.abs(proof.e - exact.value(v0, np.longdouble(h))), proof.error_e),
        (np.abs(proof.A - exact.jacobian(v0, np.longdouble(h))) @ proof.share, proof.error_A),
        (np.abs(proof.B - B) @ proof.share @ proof.share, proof.error_B),
    )
    for error, allowed in errors:
        assert np.all(error <= 0.5 * proof.out[EPSILON] * allowed + 1e-300)


@pytest.mark.parametrize("seed", range(6))
def test_sums_behind_rounding_bound_what_they_are_sums_of(seed):
    equation = ordinary_equation(seed)
    for h in (0.01, 0.3, 3.0):
        proof = equation.judged(h)
        values = np.abs(proof.e), np.abs(proof.A) @ proof.share, np.abs(proof.B) @ proof.share @ proof.share
        for value, bound in zip(values, (proof.error_e, proof.error_A, proof.error_B), strict=True):
            assert np.all(value <= 4.0 * bound)  # sums of three numbers for lengths of them: part of IN_GROUPS


def test_trapezoid_solves_every_certified_step_of_hostile_mechanisms():
    """40 of the 1000 of papers/kobilarov2014_certificate.py."""
    bad, refused = certificates.unsolved(40, balls=True)
    assert bad == [] and refused < 8


def test_the_solution_is_within_the_radius():
    for seed in range(6):
        equation = ordinary_equation(seed)
        h = min(sv.certified_step(equation).h, 1.0)
        proof = equation.judged(h)
        assert proof.out[LOAD] <= 1.0
        radius, R = proof.out[RADIUS], proof.R.copy()
        v, found = equation.newton(h)
        assert found and np.linalg.norm(R @ (v - equation.v0)) <= radius * (1 + 1e-9) + 1e-12


def turning(angles, omega):
    """Rates of three hinges about x, y, z with these angles that give the angular velocity."""
    x, y, z = (Rotation.from_euler(axis, a).as_matrix() for axis, a in zip("xyz", angles, strict=True))
    columns = np.stack([(y @ z).T @ [1, 0, 0], z.T @ [0, 1, 0], [0, 0, 1]], 1)
    return np.roll(Rotation.from_matrix(x @ y @ z).as_quat(), 1), np.linalg.solve(columns, omega)


@pytest.mark.parametrize("links", (1, 2, 3))
def test_as_long_as_for_three_hinges_in_place_of_each_ball(links):
    """The same motion in other coordinates, away from gimbal lock."""
    rng = np.random.default_rng(links)
    for _ in range(3):
        ball, hinges, states = la.Mechanism(), la.Mechanism(), ([], [], [], [])
        for k in range(links):
            about = {"mass": rng.uniform(0.3, 3.0), "com": (0.1, 0.2, -0.5), "inertia": rng.uniform(0.1, 0.2, 3)}
            place, angles, omega = la.Pose(xyz=0.5 * rng.normal(size=3)), rng.uniform(-0.7, 0.7, 3), rng.normal(size=3)
            ball.add_body(f"body{k}", f"body{k - 1}" if k else "world", la.Spherical(), place, **about)
            hinges.add_body(f"x{k}", f"body{k - 1}" if k else "world", la.Revolute((1, 0, 0)), place)
            hinges.add_body(f"y{k}", f"x{k}", la.Revolute((0, 1, 0)))
            hinges.add_body(f"body{k}", f"y{k}", la.Revolute((0, 0, 1)), **about)
            turn, rates = turning(angles, omega)
            for values, more in zip(states, (turn, omega, angles, rates), strict=True):
                values.extend(more)
        one, other = ball.compile(), hinges.compile()
        h = sv.certified(one, one.state(*states[:2])), sv.certified(other, other.state(*states[2:]))
        assert 0.7 < h[0] / h[1] < 3.0


@pytest.mark.parametrize("seed", range(4))
def test_twice_the_speed_for_half_the_time_is_the_same_step(seed):
    """Without forces: the load has no unit."""
    model = la.examples.random_tree(3, seed=seed, joints=[la.Spherical, la.Helical, la.Spherical], gravity=(0, 0, 0)).compile()
    q, v = testing.random_state(model, np.random.default_rng(seed))
    loads = [sv.certify(sv.StepEquation(model, model.state(q, s * v)), 0.01 / s, sharp=False).load for s in (1.0, 2.0, 64.0)]
    np.testing.assert_allclose(loads, loads[0], rtol=1e-6)


def test_a_floating_base_that_neither_turns_nor_falls_is_always_solvable():
    """One that turns is limited by its inverse tangent, though its mass matrix is constant."""
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("stone", joint=la.Free(), mass=2.0, inertia=INERTIA)
    model = mech.compile()
    assert sv.certified(model, model.state(v=[0, 0, 0, 5.0, 0, 0])) > 100.0
    assert 0.01 < sv.certified(model, model.state(v=[1.0, 0.3, 0, 5.0, 0, 0])) < 1.0


@pytest.mark.parametrize("controller", ("reversible", "longest"))
@pytest.mark.parametrize("root", (la.Spherical, la.Free))
def test_every_step_of_a_run_is_certified(root, controller):
    mech = la.Mechanism()
    for k, joint in enumerate((root(), la.Spherical())):
        about = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": INERTIA}
        mech.add_body(f"body{k}", f"body{k - 1}" if k else "world", joint, la.Pose(xyz=(0, 0, -1)), **about)
    model = mech.compile()
    v = np.zeros(model.nv)
    v[:3], v[-3:] = (0.5, 1.0, 2.0), (1.0, -2.0, 3.0)
    state = model.state(v=v)
    run = la.simulate(model, state, dt="certified", duration=0.5, integrator=la.CertifiedStep(controller=controller))
    assert run.converged and len(run.certified_dt) == run.steps > 5
    for k in range(0, run.steps, 5):
        h = float(run.certified_dt[k])
        assert sv.certify(sv.StepEquation(model, run.state(k)), h * (1 - 1e-9)).solvable
        one = la.simulate(model, run.state(k), dt=h, steps=1, integrator=la.Trapezoid(tol=1e-13))
        np.testing.assert_allclose(one.q[-1], run.q[k + 1], rtol=0, atol=1e-9)


def test_parts_too_unequal_for_a_mass_matrix_in_doubles_are_refused():
    state = certificates.hostile_state(862, balls=True)
    assert np.linalg.cond(la.dynamics.mass_matrix(state.model, state.q)) > 1e15
    with pytest.raises(la.StateError, match="no step from this state can be certified"):  # no root to be found, or one that proves nothing
        sv.certified(state.model, state)
    assert "no step from this state" in str(sv.report(state.model, state, dt=1e-3))


def test_what_is_refused():
    mech = la.Mechanism()
    mech.add_body("arm", joint=la.Revolute((0, 1, 0)), mass=1.0, inertia=INERTIA)
    mech.add_body("loose", "arm", la.Free(), mass=1.0, inertia=INERTIA)
    model = mech.compile()
    with pytest.raises(la.StateError, match="Free.* on another body has no certified bounds"):
        sv.certified(model, model.state())
    top = la.examples.heavy_top().compile()
    equation = sv.StepEquation(top, top.state(v=[0.0, 1.0, 5.0]))
    with pytest.raises(la.StateError, match="plain coordinates, which joint 'top' does not have"):
        sv.certified_constants(equation, 0.1)
    with pytest.raises(la.StateError, match="plain coordinates"):
        sv.certify(equation, 0.01, sharp=True)
    tensors = sv.MassTensors(top)
    for call in (lambda: tensors.at(equation.q, 0), lambda: tensors.bounds(equation.q, np.ones(3), 1), lambda: equation.third(0.01)):
        with pytest.raises(la.StateError, match="plain coordinates"):
            call()
    with pytest.raises(la.StateError, match="certified for the Cayley map only"):
        la.simulate(top, dt=0.01, steps=1, integrator=la.CertifiedStep(la.FloatingBase("exp")))
    text = str(sv.report(top, equation.state, dt=0.01))
    assert "certified, limited by joint 'top'" in text and "plain coordinates only" in text
