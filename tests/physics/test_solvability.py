"""Solvability: exact tensors, bounds that hold, certified steps that Newton solves, reports, certified and guarded runs."""

import itertools

import numpy as np
import pytest
from papers import kobilarov2014_certificate as certificates

import leastaction as la
from leastaction import solvability as sv
from leastaction import testing
from leastaction.kernels.stepping import trapezoid as kernels
from leastaction.solvability.constants import Bounds, residual_bound
from leastaction.solvability.kantorovich import _largest_eta


@pytest.mark.parametrize("seed", range(4))
def test_tensors_are_derivatives_of_the_mass_matrix(seed):
    equation = certificates.random_equation(seed)
    q, step = equation.q, 1e-4
    tensors = equation.tensors.at(q, 4)
    np.testing.assert_allclose(tensors[0], la.dynamics.mass_matrix(equation.model, q), rtol=1e-12, atol=1e-12)
    for order in range(4):

        def at(e, order=order):
            return equation.tensors.at(q + e, order)[order]

        difference = [(8 * (at(e) - at(-e)) - (at(2 * e) - at(-2 * e))) / (12 * step) for e in step * np.eye(len(q))]
        np.testing.assert_allclose(tensors[order + 1], np.stack(difference, -1), rtol=0, atol=1e-9 * max(1.0, np.abs(tensors[order]).max()))


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_in_the_whole_box(seed):
    equation = certificates.random_equation(seed)
    rng = np.random.default_rng(seed)
    radius = rng.uniform(0.0, 1.0, len(equation.q))
    bounds = equation.tensors.bounds(equation.q, radius, 4)
    for _ in range(10):
        tensors = equation.tensors.at(equation.q + radius * rng.uniform(-1.0, 1.0, len(radius)), 4)
        for tensor, bound in zip(tensors, bounds, strict=True):
            assert np.all(np.abs(tensor) <= bound * (1.0 + 1e-12) + 1e-12)
    direction = rng.uniform(size=len(radius))
    for contracted, bound in zip(equation.tensors.directional_bounds(equation.q, radius, direction, 4), bounds, strict=True):
        while bound.ndim > 2:
            bound = bound @ direction
        np.testing.assert_allclose(contracted, bound, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mass", [1e-3, 0.5, 20.0])
def test_tensors_know_point_masses_of_any_size(mass):
    mech = la.Mechanism()
    mech.add_body("upper", joint=la.Revolute((0, 1, 0)), mass=mass, com=(0, 0, -1))
    mech.add_body("lower", "upper", la.Revolute((1, 0, 0)), la.Pose((0, 0, -1)), mass=mass, com=(0, 0, -1))
    model, q = mech.compile(), np.array([0.3, 0.5])
    tensors = sv.StepEquation(model, model.state(q)).tensors
    np.testing.assert_allclose(tensors.at(q, 0)[0], la.dynamics.mass_matrix(model, q), rtol=1e-12, atol=1e-15 * mass)


@pytest.mark.parametrize("seed", range(4))
def test_equation_is_the_one_the_integrator_solves(seed):
    equation = certificates.random_equation(seed)
    model, h = equation.model, 0.03
    v = equation.v0 + 0.1
    work, end, t = model.make_work(), model.make_work(), kernels.make_trapezoid(model.nq, model.nv)
    t.q_start[:], t.v[:] = equation.q, v
    momenta = np.zeros((2, model.nv))
    kernels.end_momenta(model.tree, work, end, t, h, 0.0, np.zeros(model.nv), 1, momenta)
    np.testing.assert_allclose(equation.value(v, h), momenta[0] - equation.p, rtol=0, atol=1e-11 * np.abs(momenta[0]).max())
    step = 1e-4
    orders = (equation.value, equation.jacobian, equation.second, lambda v, h: equation.third(h, v))
    for function, derivative in itertools.pairwise(orders):
        exact = derivative(v, h)
        units = step * np.eye(model.nv)
        ends = [8 * (function(v + e, h) - function(v - e, h)) - (function(v + 2 * e, h) - function(v - 2 * e, h)) for e in units]
        difference = np.stack(ends, -1) / (12 * step)
        np.testing.assert_allclose(exact, difference, rtol=0, atol=1e-8 * np.abs(exact).max())


def test_newton_solves_every_certified_step():
    """12 of the 200 trees of papers/kobilarov2014_certificate.py."""
    assert certificates.failures(12) == []


def test_trapezoid_solves_every_certified_step_of_hostile_mechanisms():
    """40 of the 1000 of papers/kobilarov2014_certificate.py."""
    assert certificates.unsolved(40)[0] == []


@pytest.mark.parametrize("far", (1.0, 1e2, 1e3))
def test_a_certified_step_is_solved_far_from_the_axis(far):
    """A slide on a turntable: momenta of very different units, which backtracking cannot compare."""
    rng = np.random.default_rng(0)
    for _ in range(12):
        mech = la.Mechanism()
        mech.add_body("table", joint=la.Revolute((0, 0, 1)), mass=rng.uniform(0.1, 10), inertia=rng.uniform(0.5, 1, 3))
        mech.add_body("slide", "table", la.Prismatic((1, 0, 0)), la.Pose(xyz=(far, 0, 0)), mass=rng.uniform(0.1, 10), inertia=(1, 1, 1))
        model = mech.compile()
        run = la.simulate(model, model.state(rng.normal(size=2), 3 * rng.normal(size=2)), dt="certified", steps=1)
        assert run.converged


def test_a_certificate_is_given_or_refused_with_the_reason():
    model = la.examples.chain(2).compile()
    fast = model.state([0.3, 1.0], [3e9, -3e9])
    assert not sv.certify(sv.StepEquation(model, fast), 1e-9).solvable
    with pytest.raises(la.StateError, match="no step from this state can be certified.*'link"):
        sv.certified(model, fast)
    report = sv.report(model, fast, dt=1e-3)
    assert report.certificate is None and "no step from this state" in str(report) and np.isnan(report.certified)
    with pytest.raises(la.StateError, match="no step from this state can be certified"):
        la.simulate(model, fast, dt="certified", steps=1)


def test_no_certificate_for_loops():
    model = la.examples.four_bar().compile()
    state = model.state(model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}))
    with pytest.raises(la.StateError, match="does not cover constraints"):
        sv.certified(model, state)
    with pytest.raises(la.StateError, match="does not cover constraints"):
        la.simulate(model, state, dt="certified", steps=1)
    assert "tried" in sv.bound_in_words(model, state)


def test_the_jacobian_is_regular_up_to_the_regular_step():
    """(32), with constants that hold as far as q + h v gets: the determinant keeps the sign it has at h = 0."""
    for seed in range(6):
        equation = certificates.random_equation(seed)
        h = min(sv.certified_regular_step(equation), 1e3)
        assert h > 0.0
        assert all(np.linalg.det(equation.jacobian(equation.v0, f * h)) > 0.0 for f in np.linspace(0.0, 1.0, 20))
        used = [r for r in np.geomspace(1e-4, 3.0, 12) if r >= h * np.linalg.norm(equation.v0) * (1 - 1e-12)]
        assert used and h <= max(sv.regular_step(sv.certified_constants(equation, r), np.linalg.norm(equation.v0)) for r in used)


def test_certified_step_is_not_far_from_the_empirical_limit():
    ratios = np.concatenate([certificates.chain_ratios(links, 4) for links in (2, 3)])
    assert np.median(ratios) < 30.0 and ratios.min() >= 1.0


def test_certificate_at_shorter_steps_holds_too():
    equation = certificates.random_equation(3)
    h = sv.certified_step(equation).h
    loads = [sv.certify(equation, f * h).load for f in (0.01, 0.1, 0.5, 1.0)]
    assert loads == sorted(loads) and loads[-1] <= 1.0


def test_a_chain_of_one_link_is_always_solvable():
    model = la.examples.chain(1).compile()
    assert sv.certified(model, model.state([1.0], [5.0])) == np.inf


def test_certified_constants_bound_the_sampled_ones():
    model = la.examples.chain(3, spatial=True).compile()
    equation = sv.StepEquation(model, model.state([0.3, -0.5, 1.0], [1.0, 2.0, -1.0]))
    sure, seen = sv.certified_constants(equation, 0.02), sv.sampled_constants(equation, 0.02)
    assert sure.m1 <= seen.m1 and sure.m2 >= seen.m2
    assert sure.l0 >= seen.l0 and sure.l1 >= seen.l1 and sure.l2 >= seen.l2
    assert sv.paper_step(equation, "certified")[0] <= sv.certified_step(equation).h


def test_sampled_constants_are_the_largest_in_all_directions():
    """In a tiny ball of two coordinates: maxima over a circle of directions, and two circles for l2."""
    model = la.examples.chain(2, spatial=True).compile()
    equation = sv.StepEquation(model, model.state([0.3, -0.5], [1.0, 2.0]))
    seen = sv.sampled_constants(equation, 1e-9, samples=200)
    M, M1, M2 = equation.tensors.at(equation.q, 2)
    circle = [np.array([np.cos(a), np.sin(a)]) for a in np.linspace(0.0, np.pi, 200)]
    norm = lambda matrix: np.linalg.norm(matrix, 2)
    wanted = (
        np.linalg.eigvalsh(M)[0], np.linalg.eigvalsh(M)[-1], max(norm(M1 @ v) for v in circle),
        max(norm(np.einsum("abk,b->ak", M1, v)) for v in circle),
        max(norm(np.einsum("abkl,b,l->ak", M2, v, w)) for v in circle[::4] for w in circle[::4]),
    )  # fmt: skip
    np.testing.assert_allclose([seen.m1, seen.m2, seen.l0, seen.l1, seen.l2], wanted, rtol=5e-3)


def test_the_step_of_bounds_is_the_longest_for_which_they_hold():
    model = la.examples.chain(2).compile()
    equation = sv.StepEquation(model, model.state([0.3, -0.5], [0.1, 0.2]))
    _, c = sv.paper_step(equation, "certified")
    bounds = Bounds(c, float(np.linalg.norm(equation.v0)), residual_bound(equation, c))
    h = bounds.step()
    assert h > 0.0 and all(bounds.holds(f * h) for f in (1e-6, 0.1, 0.5, 1.0 - 1e-9)) and not bounds.holds(h * (1.0 + 1e-9))


def test_psi_has_the_sign_of_the_corrected_polynomial():
    """(41) with 3 m1^2 L1, and L3 with h."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        m1, l0, l1, l2, l4, v, L0 = np.exp(rng.normal(size=7))
        b = sv.Bounds(sv.Constants("certified", np.inf, m1, 2 * m1, l0, l1, l2, 0.0, l4, 0.0, 0.0), v, L0)
        h = rng.uniform() * m1 / b.L1
        L1, L2, L3 = b.L1, 0.5 * (l0 + 2 * l1), 0.5 * h * l2
        L4, L5 = m1 * (L2 + L3 * v), 2 * L0 * L3 - L1 * L2 - L1 * L3 * v
        polynomial = h**3 * (2 * L0 * L5 + L1**3) + h**2 * (2 * L0 * L4 - 3 * m1 * L1**2) + h * 3 * m1**2 * L1 - m1**3
        assert np.sign(polynomial) == np.sign(b.psi(h))


@pytest.mark.parametrize("bcd", [(2.0, 0.0, 0.0), (0.0, 3.0, 0.0), (0.0, 0.0, 5.0), (1.0, 20.0, 300.0), (0.3, 0.2, 0.1)])
def test_the_largest_eta_is_the_top_of_the_majorant(bcd):
    """Of t - b t^2/2 - c t^3/6 - d t^4/24, found on a grid: never above, and below by rounding only."""
    b, c, d = bcd
    t = np.linspace(0.0, 5.0, 2_000_001)
    top = (t - b * t**2 / 2 - c * t**3 / 6 - d * t**4 / 24).max()
    found = _largest_eta(b, c, d)
    assert found <= top * (1 + 1e-9) and top - found <= 1e-12 * top


@pytest.mark.parametrize("rate", (0.0, 2.0))
def test_the_residual_bound_is_the_residual_where_the_mass_matrix_is_constant(rate):
    """(34): then e(v0) = h L0 exactly, of the forces alone."""
    mech = la.examples.chain(1)
    mech.add_force(la.Damper("link1", 3.0))
    model = mech.compile()
    equation = sv.StepEquation(model, model.state([0.7], [rate]))
    bound = residual_bound(equation, sv.certified_constants(equation, 0.1))
    assert bound > 1.0 and abs(equation.value(equation.v0, 0.01)[0]) == pytest.approx(0.01 * bound, rel=1e-12)


@pytest.mark.parametrize("k1", (0.0, 0.9, 5.0))
def test_regular_step_makes_the_quadratic_zero(k1):
    """(32) is the root of l2 v^2 h^2 + (l3 v + l4 - k1) h - 2 m1, k1 the smallest damper."""
    c = sv.Constants("certified", 1.0, 0.7, 2.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.0, 0.0, k1)
    h = sv.regular_step(c, 3.0)
    assert 0.3 * 9.0 * h * h + (0.4 * 3.0 + 0.5 - k1) * h == pytest.approx(1.4)
    still = sv.Constants("certified", 1.0, 0.7, 2.0, 0.1, 0.2, 0.0, 0.0, 0.5, 0.0, 0.0, k1)
    assert sv.regular_step(still, 3.0) == (2.8 if k1 == 0.0 else np.inf)


def test_dampers_help():
    """The symmetric part of the Jacobian is at least m1 + h (k1/2 - l1 |v|): what (36) needs, and more than without dampers."""
    mech = la.examples.chain(2)
    for joint, size in (("link1", 2.0), ("link2", 5.0)):
        mech.add_force(la.Damper(joint, size))
    model = mech.compile()
    equation = sv.StepEquation(model, model.state([0.3, 1.0], [0.5, -0.4]))
    v, units = equation.v0, 1e-5 * np.eye(2)
    slopes = np.stack([(equation.value(v + e, 0.01) - equation.value(v - e, 0.01)) / 2e-5 for e in units], -1)
    np.testing.assert_allclose(equation.jacobian(v, 0.01), slopes, rtol=0, atol=1e-8)
    for radius in (1e-3, 1e-2):
        c = sv.certified_constants(equation, radius)
        assert c.k1 == 2.0 and c.l3 == c.l4 == 0.0
        bounds = sv.Bounds(c, float(np.linalg.norm(equation.v0)), sv.residual_bound(equation, c))
        for h in (1e-4, 1e-3):
            A = equation.jacobian(equation.v0, h)
            assert np.linalg.eigvalsh(0.5 * (A + A.T))[0] >= c.m1 - h * bounds.L1
            assert c.m1 - h * bounds.L1 > c.m1 - h * c.l1 * bounds.speed


def test_report_names_the_joint_and_the_remedy():
    model = la.examples.chain(3).compile()
    state = model.state([1.0, 0.5, -0.5], [1.0, 1.0, 1.0])
    report = sv.report(model, state, dt=0.01)
    assert report.at_dt.solvable and report.certified > 0.01
    assert report.limiting_joint in model.joint_names and repr(report.limiting_joint) in str(report)
    assert report.paper["certified"][0] < report.certified < report.tried
    assert "certified" in report.verdict
    assert "too long" in sv.report(model, state, dt=1.05 * report.tried).verdict
    lines, rows = str(report).splitlines(), report.rows()
    for column in (1, 2):  # what stands in one column begins at one place
        assert len({line.index(row[column]) for line, row in zip(lines, rows, strict=False)}) == 1
    chain = la.examples.torus_chain(1).compile()
    assert "symbolic" in str(sv.report(chain, chain.state())).lower()


def test_linear_stability_limit_is_sharp():
    """A pendulum hanging at rest: small swings stay small below 2/omega and grow above it."""
    model = la.examples.chain(1).compile()
    limit = sv.stable_step(model, np.zeros(1))
    assert limit == pytest.approx(2.0 / np.sqrt(9.81 * 0.5 / (1 / 12 + 0.25)), rel=1e-6)
    below = la.simulate(model, dt=0.95 * limit, steps=200, q=[1e-6], integrator=la.Trapezoid())
    above = la.simulate(model, dt=1.05 * limit, steps=15, q=[1e-6], integrator=la.Trapezoid())
    assert np.abs(below.q).max() < 1e-5 < np.abs(above.q).max()


def hessian(model, q):
    """(nv, nv) of the potential energy in exponential coordinates, by differences of the energy itself."""
    unit, reach = np.eye(model.nv), 1e-3

    def energy(x):
        there = q.copy()
        for body in model.bodies:
            qs, step = model.q_slice(body.joint_name), x[model.v_slice(body.joint_name)]
            if not body.joint.has_quaternion:
                there[qs] += step
                continue
            half = 0.5 * np.linalg.norm(step[:3])
            c, s = np.cos(half), 0.5 * np.sinc(half / np.pi) * step[:3]
            w, u = there[qs][-4], there[qs][-3:]
            if len(step) == 6:  # to third order; the body's axes half way
                way = step[3:] + 0.5 * np.cross(step[:3], step[3:])
                there[qs.start : qs.start + 3] += way + 2.0 * np.cross(u, np.cross(u, way) + w * way)
            there[qs.stop - 4 : qs.stop] = [w * c - u @ s, *(w * s + c * u + np.cross(u, s))]
        return la.dynamics.energy(model, there, np.zeros(model.nv))

    def along(x):  # second derivative, of order four
        near, far = (energy(s * reach * x) + energy(-s * reach * x) for s in (1, 2))
        return (16.0 * near - far - 30.0 * energy(0.0 * x)) / (12.0 * reach**2)

    alone = np.array([along(e) for e in unit])
    both = np.array([[along(a + b) for b in unit] for a in unit])
    return 0.5 * (both - alone - alone[:, None])


@pytest.mark.parametrize("seed", range(3))
def test_the_fastest_oscillation_is_that_of_the_dense_matrices(seed):
    """Joints of every kind, springs in them and between bodies, far from equilibrium: ball and free joints need the bracket."""
    rng = np.random.default_rng(seed)
    mech = testing.random_mechanism(rng, n=3, joints=[la.Spherical, la.Universal, la.Planar], forces=False, potentials=True)
    mech.add_body("floating", joint=la.Free(), mass=2.0, com=(0.1, 0.2, 0.0), inertia=(0.1, 0.2, 0.15))
    mech.add_force(la.LinearSpring("floating", "body3", stiffness=30.0, length=0.3))
    model = mech.compile()
    q, _ = testing.random_state(model, rng)
    fastest = np.linalg.eigvals(np.linalg.solve(la.dynamics.mass_matrix(model, q), hessian(model, q))).real.max()
    assert sv.stable_step(model, q) == pytest.approx(2.0 / np.sqrt(fastest), rel=1e-5)


def test_the_fastest_oscillation_takes_few_sweeps(monkeypatch):
    """As many for 200 links as for 50, not one for every joint."""
    from leastaction.solvability import oscillation

    def sweeps(links):
        made = []
        monkeypatch.setattr(oscillation, "place_entry", lambda *a: (made.append(1), place_entry(*a)))
        model = la.examples.chain(links).compile()
        sv.stable_step(model, model.neutral())
        return len(made)

    place_entry = oscillation.place_entry
    assert sweeps(200) < 1.5 * sweeps(50) < 150


def test_no_frequencies_without_mass():
    mech = la.Mechanism()
    mech.add_body("nothing", joint=la.Revolute(axis=(0, 1, 0)))
    mech.add_body("rod", "nothing", joint=la.Revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    model = mech.compile()
    with np.errstate(all="ignore"), pytest.raises(la.LeastActionError, match="has no frequencies at q"):
        sv.stable_step(model, model.neutral())


@pytest.mark.parametrize("integrator", (la.Variational(), la.Trapezoid(), la.Composition()), ids=lambda i: type(i).__name__)
def test_guard_finishes_where_steps_cannot_be_solved(integrator):
    """Never NaN, never half a turn in a step: every accepted node is on the branch of the motion."""
    from leastaction.integrators.guard import on_branch

    model = la.examples.chain(3).compile()
    options = {"dt": 0.2, "q": [1.5, 0.5, -0.5], "integrator": integrator}
    with pytest.raises(la.ConvergenceError):
        la.Simulator(model, **options).run(60)
    sim = la.Simulator(model, guard=True, **options)
    run = sim.run(60)
    assert np.isfinite(run.q).all() and np.isfinite(run.p).all() and sim.subdivided
    whole = [k for k in range(60) if not any(abs(t - run.t[k]) < 1e-9 for t, _ in sim.subdivided)]
    for k in whole:
        step = la.discrete.increment(model, run.q[k], run.q[k + 1])
        small = np.abs(step).max() < 0.05
        assert small or on_branch(model, integrator, run.q[k], run.q[k + 1], 0.2)


def test_guard_changes_nothing_where_steps_are_solved():
    model = la.examples.chain(3).compile()
    runs = [la.simulate(model, dt=0.01, steps=150, q=[1.0, 0.2, 0.0], guard=g, record_every=3) for g in (False, True)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-11)
    assert np.array_equal(runs[0].t, runs[1].t)


def test_guard_that_must_give_up_names_the_bound():
    model = la.examples.chain(2).compile()
    with pytest.raises(la.ConvergenceError, match="solved steps up to .* when they were tried") as caught:
        la.simulate(model, dt=0.01, steps=5, tau=[1e30, 0.0], q=[1.0, 0.5], guard=True)
    assert np.isfinite(caught.value.trajectory.q).all()
    state = model.state([1.0, 0.5])
    assert f"bound certified for Trapezoid in this state is {sv.certified(model, state):.3g} s" in sv.bound_in_words(model, state)


def test_what_cannot_be_certified_says_why():
    model = la.examples.torus_chain(1).compile()
    with pytest.raises(la.StateError, match="has no certified bounds"):
        sv.certified(model, model.state())
    mech = la.examples.chain(2)

    def push(t, q, v, tau):
        tau[0] += 1.0

    mech.add_force(la.CustomForce(push))
    pushed = mech.compile()
    with pytest.raises(la.StateError, match="CustomForce"):
        sv.certified(pushed, pushed.state())
    with pytest.raises(la.StateError, match="guard"):
        la.Simulator(la.examples.chain(2).compile(), dt=0.01, integrator=la.AdaptiveStep(), guard=True)


def test_dampers_enter_the_bound_of_the_jacobian_with_half_of_their_slope():
    """A damped slide: the step's Jacobian is m + h c / 2, and the bounds say just that."""
    mech = la.Mechanism()
    mech.add_body("slide", joint=la.Prismatic((1, 0, 0)), mass=2.0, inertia=(1, 1, 1))
    mech.add_force(la.Damper("slide", 3.0))
    model = mech.compile()
    equation = la.solvability.StepEquation(model, model.state(v=[1.0]))
    constants = la.solvability.certified_constants(equation, radius=0.1)
    h, bounds = 0.1, la.solvability.Bounds(constants, speed=1.0, L0=0.0)
    assert constants.m1 - h * bounds.L1 == pytest.approx(float(equation.jacobian(np.array([1.0]), h)[0, 0]), rel=1e-9)
