"""CertifiedStep and the compiled certificate behind it: every step is certified, and what follows from that."""

import pickle

import numpy as np
import pytest
from papers import kobilarov2014_certificate as certificates

import leastaction as la
from leastaction import solvability as sv
from leastaction.kernels.solvability.layout import DEFECT, ETA, LOAD, RADIUS, SECOND, THIRD
from leastaction.solvability.kantorovich import _norm

START = {"dt": "certified", "q": [1.5, 0.5]}


@pytest.fixture(scope="module")
def pendulum():
    return la.examples.chain(2).compile()


@pytest.fixture(scope="module")
def run(pendulum):
    return la.simulate(pendulum, duration=3.0, **START)


# -------------------------------------------------------------------------------------------------- the compiled certificate


@pytest.mark.parametrize("seed", range(8))
def test_compiled_numbers_are_those_of_the_tensors(seed):
    """Two implementations: iterated brackets in closed form, and derivatives of M by tensors of any order."""
    equation, h = certificates.random_equation(seed), 0.02
    proof, v = equation.judged(h), equation.v0
    for mine, other in ((proof.M, equation.M), (proof.e, equation.value(v, h)), (proof.A, equation.jacobian(v, h)),
                        (proof.B, equation.second(v, h))):  # fmt: skip
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-12 * max(1.0, np.abs(other).max()))
    root = np.linalg.cholesky(equation.M).T
    inverse, left = np.linalg.inv(root), root @ np.linalg.inv(equation.jacobian(v, h))
    eta = np.linalg.norm(left @ equation.value(v, h))
    b = _norm(np.einsum("ai,ixy,xp,yq->apq", left, equation.second(v, h), inverse, inverse))
    share = np.linalg.norm(inverse, axis=1)
    fastest = np.abs(v) + 2 * eta * share
    *_, M2, M3 = equation.tensors.directional_bounds(equation.q, h * fastest, share, 3)
    c = np.linalg.norm(np.abs(left) @ (0.5 * h * h * (3 * M2 @ share + h * M3 @ fastest)))
    for mine, other, loose in zip(proof.out[[ETA, SECOND, THIRD]], (eta, b, c), (1e-7, 0.01, 1e-7), strict=True):
        assert other <= mine <= (1 + loose) * other + 1e-13


@pytest.mark.parametrize("seed", range(10))
def test_majorant_is_above_everything_it_bounds(seed):
    """On mechanisms of extreme masses, lengths and speeds, and of ordinary ones; 1000 in papers/kobilarov2014_certificate.py."""
    assert certificates.not_bounded(certificates.random_equation(seed), seed) == []
    state = certificates.hostile_state(seed)
    assert certificates.not_bounded(sv.StepEquation(state.model, state), seed) == []


def test_rounding_is_less_than_what_is_allowed_for():
    """The equation, its Jacobian and second derivative in long double differ by less than epsilon times the sums of absolute values."""
    worst = max(certificates.rounding(seed) for seed in range(12))
    assert 0.0 < worst < 0.5


@pytest.mark.parametrize("seed", range(4))
def test_sums_behind_rounding_have_their_units_and_bound_what_they_are_sums_of(seed):
    """Without forces, twice the speed for half the time is the same motion: e doubles, A stays, B[d, d] halves."""
    model = la.examples.random_tree(4, seed=seed, joints=certificates.JOINTS, gravity=(0, 0, 0)).compile()
    rng = np.random.default_rng(seed)
    q, v, h, sums = rng.normal(size=model.nq), 5.0 * rng.normal(size=model.nv), 0.02, []
    for faster in (1.0, 2.0, 8.0):
        proof = sv.StepEquation(model, model.state(q, faster * v)).judged(h / faster)
        sums.append((proof.error_e / faster, proof.error_A.copy(), proof.error_B * faster))
        values = np.abs(proof.e), np.abs(proof.A) @ proof.share, np.abs(proof.B) @ proof.share @ proof.share
        for value, bound in zip(values, (proof.error_e, proof.error_A, proof.error_B), strict=True):
            assert np.all(value <= bound * (1 + 1e-12) + 1e-300)
    for other in sums[1:]:
        for one, two in zip(sums[0], other, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-13 * max(np.abs(one).max(), 1e-300))


def test_the_solution_is_within_the_radius():
    for seed in range(8):
        equation = certificates.random_equation(seed)
        h = min(sv.certified_step(equation).h, 1.0)
        proof = equation.judged(h)
        if not proof.out[LOAD] <= 1.0:
            continue
        v, found = equation.newton(h)
        assert found
        assert np.linalg.norm(proof.R @ (v - equation.v0)) <= proof.out[RADIUS] * (1 + 1e-9) + 1e-12
        assert proof.out[RADIUS] <= 2.0 * proof.out[ETA] and proof.out[DEFECT] < 1e-6


def test_one_derivative_more_certifies_more():
    for seed in (3, 12, 17):
        equation = certificates.random_equation(seed)
        for h in (0.001, 0.01, 0.03):
            assert sv.certify(equation, h, sharp=True).load <= sv.certify(equation, h, sharp=False).load * (1 + 1e-12)


def test_long_chains_are_certified_without_tensors():
    """35 links took 7.7 GB and a minute."""
    model = la.examples.chain(35).compile()
    rng = np.random.default_rng(0)
    h = sv.certified(model, model.state(0.1 * rng.normal(size=35), 0.1 * rng.normal(size=35)))
    assert 1e-5 < h < 1e-1


# --------------------------------------------------------------------------------------------------------- runs of certified steps


@pytest.mark.parametrize("controller", ("reversible", "longest"))
def test_every_step_is_certified(pendulum, controller):
    run = la.simulate(pendulum, duration=2.0, **START, integrator=la.CertifiedStep(controller=controller))
    assert run.certified_dt.shape == (run.steps,) and np.allclose(np.diff(run.t), run.certified_dt, rtol=1e-12)
    assert run.certified_dt.max() <= run.dt and run.certified_dt.min() < 0.8 * run.certified_dt.max()
    for k in range(0, run.steps, 7):
        equation = sv.StepEquation(pendulum, run.state(k))
        assert sv.certify(equation, run.certified_dt[k] * (1 - 1e-9), sharp=False).solvable
        assert run.certified_dt[k] <= 0.5 * sv.stable_step(pendulum, run.q[k]) * (1 + 1e-6)


def test_it_makes_steps_of_trapezoid(pendulum, run):
    for k in (0, 5, run.steps // 2):
        one = la.simulate(pendulum, run.state(k), dt=float(run.certified_dt[k]), steps=1, integrator=la.Trapezoid(tol=1e-13))
        np.testing.assert_allclose(one.q[-1], run.q[k + 1], rtol=0, atol=1e-9)


def test_reversible_steps_lead_back(pendulum):
    """Without interference the same steps lead back; with the other controller they do not."""
    ends = {}
    for controller in ("reversible", "longest"):
        sim = la.Simulator(pendulum, q=[1.2, 0.4], dt=0.14, integrator=la.CertifiedStep(la.Trapezoid(tol=1e-13), controller, fraction=0.5))
        begun = sim.q
        there = sim.run(40)
        sim.reverse()
        back = sim.run(40)
        assert sim._stepper.resets == 0 and np.ptp(there.certified_dt) > 1e-3
        ends[controller] = np.abs(sim.q - begun).max(), np.abs(there.certified_dt[::-1] - back.certified_dt).max()
    assert max(ends["reversible"]) < 1e-9
    assert min(ends["longest"]) > 1e-4


def test_energy_stays_with_the_reversible_controller(pendulum):
    largest = {}
    for controller in ("reversible", "longest"):
        run = la.simulate(pendulum, duration=10.0, dt="certified", q=[2.0, 0.5], integrator=la.CertifiedStep(controller=controller))
        largest[controller] = np.ptp(run.energy)
    assert largest["reversible"] < 4.0 < 0.2 * largest["longest"]


def test_order_two_in_the_longest_step():
    """Where dt and not the certificate is what limits the steps."""
    model = la.examples.chain(2).compile()
    errors = []
    for dt in (0.02, 0.01, 0.005):
        run = la.simulate(model, dt=dt, duration=0.5, q=[0.3, 0.2], integrator=la.CertifiedStep())
        exact = la.simulate(model, dt=run.t[-1] / 4000, steps=4000, q=[0.3, 0.2], integrator=la.Trapezoid())
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
    assert 1.6 < np.log2(errors[0] / errors[2]) / 2 < 2.4


def test_runs_go_on_bit_for_bit(pendulum, run, tmp_path):
    half = la.simulate(pendulum, steps=40, **START)
    rest = la.simulate(pendulum, half.state(), dt=half.dt, steps=40, integrator=half.integrator)
    whole = la.simulate(pendulum, steps=80, **START)
    assert np.array_equal(whole.q[40:], rest.q) and np.array_equal(whole.certified_dt[40:], rest.certified_dt)
    assert np.array_equal(whole.certified_dt[:40], half.certified_dt)
    sim = la.Simulator(pendulum, **START)
    for _ in range(5):
        sim.step()
    assert np.array_equal(sim.q, whole.q[5])
    copy = pickle.loads(pickle.dumps(run))
    assert copy == run and np.array_equal(copy.certified_dt, run.certified_dt) and copy.integrator == run.integrator
    run.save(tmp_path / "run.npz")
    assert la.open(tmp_path / "run.npz") == run


def test_thinned_runs_keep_all_certified_lengths(pendulum, run):
    thinned = la.simulate(pendulum, duration=3.0, **START, record_every=10)
    assert thinned.steps == run.steps and np.array_equal(thinned.certified_dt, run.certified_dt)
    assert np.array_equal(thinned.t[:-1], run.t[::10][: len(thinned) - 1]) and thinned.t[-1] == run.t[-1]
    cut = run.until(11)
    assert len(cut.certified_dt) == cut.steps == 10


def test_joint_forces_and_laws(pendulum):
    constant = la.simulate(pendulum, steps=20, **START, tau=[1.0, -0.5])
    law = la.simulate(pendulum, steps=20, **START, control=lambda t, s: [1.0, -0.5])
    series = la.simulate(pendulum, steps=20, **START, tau=np.tile([1.0, -0.5], (20, 1)))
    assert np.array_equal(constant.q, law.q) and np.array_equal(constant.q, series.q)
    free = la.simulate(pendulum, steps=20, **START)
    assert np.abs(free.q - constant.q).max() > 1e-3


def test_streamed_and_resumed(pendulum, run, tmp_path):
    pytest.importorskip("h5py")
    whole = la.simulate(pendulum, duration=1.0, **START)
    streamed = la.simulate(pendulum, duration=1.0, **START, record_to=tmp_path / "run.h5")
    assert np.array_equal(streamed.q, whole.q) and np.array_equal(streamed.certified_dt, whole.certified_dt)


def test_limits_stop_it():
    mech = la.examples.chain(2)
    mech.add_limit("link1", upper=1.6)
    model = mech.compile()
    run = la.simulate(model, duration=3.0, dt="certified", q=[1.5, 0.5], v=[3.0, 0.0])
    assert "limit" in run.message and len(run.certified_dt) == run.steps == len(run) - 1


def test_a_pendulum_that_starts_upside_down_has_a_longest_step():
    """An oscillation limits it where it hangs, not where it starts."""
    model = la.examples.chain(1).compile()
    run = la.simulate(model, dt="certified", duration=2.0, q=[3.0])
    assert run.dt == pytest.approx(0.5 * sv.stable_step(model, np.zeros(1)))


def test_without_oscillations_the_certificate_of_the_start_limits_all_steps():
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("upper", joint=la.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    mech.add_body("lower", "upper", la.Revolute((0, 1, 0)), la.Pose(xyz=(0, 0, -1)), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    model = mech.compile()
    sim = la.Simulator(model, dt="certified", q=[0.0, 1.0], v=[2.0, -1.0])
    assert sim.dt == 10.0 * sv.certified(model, model.state([0.0, 1.0], [2.0, -1.0]))


def test_what_is_refused(pendulum):
    with pytest.raises(la.StateError, match="Trapezoid"):
        la.simulate(pendulum, dt="certified", duration=1.0, integrator=la.Variational())
    with pytest.raises(la.StateError, match="dt = 'fast'"):
        la.simulate(pendulum, dt="fast", duration=1.0)
    with pytest.raises(la.StateError, match="guard"):
        la.simulate(pendulum, duration=1.0, **START, guard=True)
    with pytest.raises(la.StateError, match="only steps of Trapezoid"):
        la.CertifiedStep(la.RK4())
    with pytest.raises(la.StateError, match="fraction"):
        la.CertifiedStep(fraction=1.5)
    with pytest.raises(la.StateError, match="controller"):
        la.CertifiedStep(controller="best")
    chain = la.examples.torus_chain(1).compile()
    with pytest.raises(la.StateError, match="has no certified bounds"):
        la.simulate(chain, dt=0.01, steps=1, integrator=la.CertifiedStep())
    free = la.Mechanism(gravity=(0, 0, 0))
    free.add_body("slide", joint=la.Prismatic((1, 0, 0)), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(la.StateError, match="nothing limits the step"):
        la.simulate(free.compile(), dt="certified", duration=1.0)


def test_a_state_that_gets_too_fast_ends_the_run_with_the_reason(pendulum):
    with pytest.raises(la.ConvergenceError, match="no step from this state can be certified") as caught:
        la.simulate(pendulum, duration=1.0, **START, tau=[1e25, 0.0])
    assert np.isfinite(caught.value.trajectory.q).all()


def test_steps_of_a_stiff_spring_are_half_the_stability_limit():
    """Where nothing else limits them; the limit of the node by differences of forces is that of the oscillation."""
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("wheel", joint=la.Revolute(axis=(0, 1, 0)), inertia=(0.1, 0.1, 0.1), mass=1.0)
    mech.add_body("rim", "wheel", la.Revolute(axis=(0, 1, 0)), inertia=(0.2, 0.2, 0.2), mass=1.0)
    mech.add_force(la.Spring("wheel", 300.0))
    mech.add_force(la.Spring("rim", 50.0))
    model = mech.compile()
    q = np.array([0.01, -0.02])
    run = la.simulate(model, q=q, dt=1.0, steps=4, integrator=la.CertifiedStep(), progress=False)
    np.testing.assert_allclose(np.diff(run.t), 0.5 * sv.stable_step(model, q), rtol=1e-6)
