"""Every solver and guess finds the same motion, tolerances mean the same for 1 and 1000 links, and failures explain themselves."""

import itertools

import numpy as np
import pytest
from papers import lee2016_fig4 as fig4

import leastaction as la
from leastaction.yardsticks import Lee2016

SOLVERS = ("newton", "riqn", "broyden", "dense-newton")
GUESSES = ("ig1", "ig2", "ig3", "extrapolate")
DT = 5e-3
STEPS = 40


def drive(tree, integrator, tau=None, **options):
    """STEPS steps of the driven tree, under its own constant joint forces unless others are given."""
    return la.simulate(tree.model, tree.state, dt=DT, steps=STEPS, integrator=integrator, tau=tree.tau if tau is None else tau, **options)


def distance(a, b):
    """Largest difference of coordinates and of momenta (relative to the largest one) of two runs."""
    return max(np.abs(a.q - b.q).max(), np.abs(a.p - b.p).max() / np.abs(a.p).max())


@pytest.fixture(scope="module", params=["trapezoid", "midpoint"])
def tight_run(request, driven_tree):
    return request.param, drive(driven_tree, la.Variational(quadrature=request.param, tol=1e-13))


@pytest.mark.parametrize(("solver", "guess"), list(itertools.product(SOLVERS, GUESSES)))
def test_all_find_the_same_motion(driven_tree, tight_run, solver, guess):
    """A residual of tol in every step changes the motion by at most about tol per step."""
    quadrature, expected = tight_run
    for tol in (1e-6, 1e-10):
        run = drive(driven_tree, Lee2016(solver, guess, quadrature=quadrature, tol=tol))
        assert distance(run, expected) < STEPS * tol
        assert run.converged and run.iterations.min() >= 1


def _push(t, q, v, tau):
    tau[0] += 30.0


@pytest.mark.parametrize(
    "force", [None, la.Spring("slide", 400.0, rest=0.5), la.Damper("slide", 10.0), la.Wrench("slide", force=(30, 0, 0)),
              la.CustomForce(_push), la.LinearSpring("slide", "anchor", 60.0, 0.2)],
    ids=lambda f: type(f).__name__,
)  # fmt: skip
def test_ig3_knows_every_force(force):
    """(23) of the paper: with the acceleration the first residual is smaller by an order of h than with the last increment alone."""
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("slide", joint=la.Prismatic((1, 0, 0)), mass=1.0, inertia=(1, 1, 1))
    mech.add_frame("anchor", placement=la.Pose(xyz=(1, 1, 0)))
    if force is not None:
        mech.add_force(force)
    model = mech.compile()
    tau = [30.0] if force is None else [0.0]
    options = {"dt": 1e-3, "steps": 40, "tau": tau, "q": [0.0], "v": [2.0]}
    counts = {g: la.simulate(model, integrator=Lee2016("riqn", g, tol=2e-3), **options).iterations[2:] for g in ("ig2", "ig3")}
    # not always one: what is left of a residual below the tolerance is carried on, and in the end it shows
    assert counts["ig2"].mean() > 1.8 and counts["ig3"].mean() < 1.1


def test_tighter_tolerances_cost_more(driven_tree):
    counts = [drive(driven_tree, Lee2016("newton", "ig1", tol=tol)).iterations.mean() for tol in (1e-4, 1e-7, 1e-10, 1e-13)]
    assert counts == sorted(counts) and counts[0] < counts[-1]


@pytest.mark.parametrize("solver", ["newton", "riqn"])
@pytest.mark.parametrize("n", [1, 10, 100, 1000])
def test_the_same_tolerance_serves_any_number_of_links(n, solver):
    """The largest momentum grows with the square of the length, the residual of a step is a fraction tol of it."""
    model = la.examples.chain(n).compile()
    state = model.state(q={"link1": np.pi / 4})
    ends = {}
    for tol in (1e-8, 1e-10, 1e-12):
        run = la.simulate(model, state, dt=1e-3, steps=30, integrator=Lee2016(solver, "extrapolate", tol=tol))
        assert run.iterations.mean() < 5.0
        ends[tol] = run.p[-1]
    size = np.abs(ends[1e-12]).max()
    assert np.abs(ends[1e-8] - ends[1e-12]).max() < 30 * 1e-8 * size
    assert np.abs(ends[1e-10] - ends[1e-12]).max() < 30 * 1e-10 * size


def test_scale_of_the_units_does_not_matter():
    """Masses in grams instead of kilograms: the same motion with the same number of evaluations."""
    runs = []
    for factor in (1.0, 1e3):
        mech = la.Mechanism()
        for i in range(4):
            parent, at = (f"link{i}", -1.0) if i else ("world", 0.0)
            rod = {"mass": factor, "com": (0, 0, -0.5), "inertia": (factor / 12, factor / 12, factor / 100)}
            mech.add_body(f"link{i + 1}", parent, la.Revolute(axis=(0, 1, 0)), la.Pose(xyz=(0, 0, at)), **rod)
        runs.append(la.simulate(mech.compile(), dt=1e-2, steps=100, q={"link1": 1.0}))
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-9
    assert np.array_equal(runs[0].iterations, runs[1].iterations)


@pytest.mark.parametrize("solver", ["newton", "dense-newton"])
@pytest.mark.parametrize("quadrature", ["trapezoid", "midpoint"])
def test_coming_to_rest_is_no_failure(quadrature, solver):
    """Gravity oblique to all axes: in the end its moments cancel, but only to round-off, while the momentum dies out."""
    mech = la.Mechanism(gravity=(1.0, 2.0, -9.0))
    for i in range(3):
        parent, at = (f"link{i}", -1.0) if i else ("world", 0.0)
        joint = la.Revolute(axis=(1.0, 0.1, 0.0)) if i % 2 else la.Spherical()
        mech.add_body(f"link{i + 1}", parent, joint, la.Pose(xyz=(0, 0, at)), mass=1.0, com=(0.05, 0, -0.5), inertia=(0.1, 0.1, 0.1))
        mech.add_force(la.Damper(f"link{i + 1}", 3.0))
    integrator = Lee2016(solver, "extrapolate", quadrature=quadrature)
    size = np.abs(la.simulate(mech.compile(), dt=0.02, duration=250.0, record_every=10, integrator=integrator).p).max(axis=1)
    assert size[-1] < 1e-9 * size.max()


class TestFigure4:
    """Lee et al. 2016: corrections per step of a 50-link chain, 5.69 with RIQN and 4 with Newton."""

    def test_from_the_zero_configuration(self):
        counts = fig4.corrections_from_zero(swing=0.1, frames=2000, every=100)
        assert np.nanmean(counts["newton"]) == pytest.approx(fig4.PAPER["newton"][0], abs=0.5)
        assert np.nanmean(counts["newton"]) < np.nanmean(counts["riqn"]) < fig4.PAPER["riqn"][0] + fig4.PAPER["riqn"][1]

    def test_newton_is_quadratic_and_riqn_is_linear(self, bent_chain):
        """On a step large enough to see it: Newton squares the error, RIQN shrinks it by the same factor every time."""
        model, state = bent_chain(20)
        state = la.simulate(model, state, dt=0.05, steps=24).state()
        newton, riqn = (
            np.array(fig4.residual_history(model, state, 0.05 * state.v, method, tol=1e-11, dt=0.05)) for method in ("newton", "riqn")
        )
        assert len(newton) <= 6 < 12 < len(riqn)
        assert np.all(newton[2:4] < newton[1:3] ** 1.8)
        factors = riqn[-5:] / riqn[-6:-1]
        assert np.ptp(factors) < 0.1 * factors.mean()

    def test_guesses_of_the_paper(self):
        means = {g: {m: c.mean() for m, c in fig4.corrections_from_guess(g, frames=200).items()} for g in ("ig1", "ig2", "ig3")}
        for method in ("riqn", "newton"):
            assert means["ig1"][method] >= means["ig2"][method] >= means["ig3"][method]
            assert means["ig1"][method] <= fig4.PAPER[method][0]
        assert means["ig1"]["newton"] <= means["ig1"]["riqn"]


@pytest.fixture(scope="module")
def error(bent_chain):
    """RIQN on a falling coil at 50 ms: it gives up on the way."""
    with pytest.raises(la.ConvergenceError) as caught:
        la.simulate(*bent_chain(20), dt=0.05, duration=2.0, integrator=Lee2016("riqn", "extrapolate"))
    return caught.value


class TestFailure:
    def test_says_where_and_how_much(self, error):
        assert error.step > 3
        assert error.time == pytest.approx(0.05 * error.step)
        assert np.isfinite(error.residual) and error.residual > 0.0
        message = str(error)
        assert f"step {error.step}" in message and f"t = {error.time:g} s" in message and f"{error.residual:.3g}" in message

    def test_names_remedies(self, error):
        for remedy in ("smaller dt", 'solver="newton"', 'quadrature="midpoint"', "larger tol"):
            assert remedy in str(error)

    def test_carries_the_trajectory(self, error):
        run = error.trajectory
        assert run.steps == error.step and len(run) == error.step + 1
        assert not run.converged and run.message == str(error)
        assert np.isfinite(run.q).all() and np.isfinite(run.energy).all()
        again = la.simulate(run.model, run.state(), dt=0.05, steps=1)  # the remedy it names works from where it stopped
        assert again.converged

    def test_a_simulator_says_it_too(self):
        model = la.examples.chain(5).compile()
        sim = la.Simulator(model, dt=1e-2, q={"link1": 1.0}, integrator=la.Variational(tol=1e-15, max_evaluations=3))
        with pytest.raises(la.ConvergenceError, match="larger tol|tol=1e-12 or larger") as caught:
            for _ in range(100):
                sim.step()
        assert caught.value.step == sim.steps
        assert np.isfinite(sim.q).all()


class TestDriving:
    """The ways to run a simulation agree."""

    def test_steps_one_by_one_are_bitwise_the_same(self, driven_tree, discretisation):
        integrator = la.Variational(**discretisation)
        run = drive(driven_tree, integrator)
        sim = la.Simulator(driven_tree.model, driven_tree.state, dt=DT, integrator=integrator)
        for k in range(STEPS):
            assert np.array_equal(sim.q, run.q[k])
            sim.step(driven_tree.tau)
        assert np.array_equal(sim.q, run.q[-1])
        assert np.array_equal(sim.state.p, run.p[-1])
        assert sim.t == run.t[-1]

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_runs_in_parts_are_bitwise_the_same(self, driven_tree, solver):
        integrator = Lee2016(solver, "extrapolate")
        run = drive(driven_tree, integrator)
        sim = la.Simulator(driven_tree.model, driven_tree.state, dt=DT, integrator=integrator)
        parts = [sim.run(steps, tau=driven_tree.tau) for steps in (1, 14, STEPS - 15)]
        assert np.array_equal(parts[-1].q[-1], run.q[-1])
        assert np.array_equal(parts[1].q, run.q[1:16])

    @pytest.mark.parametrize("every", [2, 7, STEPS])
    def test_record_every(self, driven_tree, every):
        run = drive(driven_tree, la.Variational())
        sparse = drive(driven_tree, la.Variational(), record_every=every)
        kept = [*range(0, STEPS, every), STEPS]  # the last one in any case
        for name in ("t", "q", "p", "v", "energy"):
            assert np.array_equal(getattr(sparse, name), getattr(run, name)[kept]), name
        assert np.array_equal(sparse.iterations, run.iterations)

    def test_restart_continues_the_motion(self, driven_tree, discretisation):
        """From State(t, q, p) alone: only the guesses, so the part of the residual below the tolerance, are new."""
        integrator = la.Variational(**discretisation)
        run = drive(driven_tree, integrator)
        middle = STEPS // 2
        rest = la.simulate(driven_tree.model, run.state(middle), dt=DT, steps=STEPS - middle, integrator=integrator, tau=driven_tree.tau)
        assert np.abs(rest.t - run.t[middle:]).max() < 1e-12
        assert np.abs(rest.q - run.q[middle:]).max() < STEPS * integrator.tol
        assert np.abs(rest.p - run.p[middle:]).max() < STEPS * integrator.tol * np.abs(run.p).max()

    def test_series_of_forces(self, driven_tree):
        constant = drive(driven_tree, la.Variational())
        series = np.tile(driven_tree.tau, (STEPS, 1))
        assert np.array_equal(drive(driven_tree, la.Variational(), tau=series).q, constant.q)
        series[STEPS // 2 :] *= -1.0
        changed = drive(driven_tree, la.Variational(), tau=series)
        assert np.array_equal(changed.q[: STEPS // 2 + 1], constant.q[: STEPS // 2 + 1])
        assert np.abs(changed.q[-1] - constant.q[-1]).max() > 1e-3

    def test_control_law(self, driven_tree):
        """A law that returns the series gives the motion of the series, and sees the state of the step it acts on."""
        series = driven_tree.tau * np.linspace(-1.0, 1.0, STEPS)[:, None]
        seen = []

        def law(t, state):
            seen.append((t, state.t, state.q.copy()))
            return series[len(seen) - 1]

        run = la.simulate(driven_tree.model, driven_tree.state, dt=DT, steps=STEPS, control=law)
        expected = drive(driven_tree, la.Variational(), tau=series)
        assert np.array_equal(run.q, expected.q)
        assert np.array_equal([t for t, _, _ in seen], run.t[:-1]) and all(t == inner for t, inner, _ in seen)
        assert np.array_equal([q for _, _, q in seen], run.q[:-1])

    def test_user_force_does_what_tau_does(self):
        """A constant force given by the user's function is a constant tau."""
        model = la.examples.double_pendulum().compile()
        mech = la.examples.double_pendulum()
        mech.add_force(la.CustomForce(constant_push))
        pushed = mech.compile()
        a = la.simulate(model, dt=DT, steps=STEPS, q=[0.5, -0.3], tau=[0.7, -0.4])
        b = la.simulate(pushed, dt=DT, steps=STEPS, q=[0.5, -0.3])
        assert np.abs(a.q - b.q).max() < STEPS * 1e-10

    def test_user_force_sees_the_time(self):
        """A mass of 1 kg pushed by sin(t) from rest: v = cos(t0) - cos(t), to second order."""
        mech = la.Mechanism(gravity=(0.0, 0.0, 0.0))
        mech.add_body("mass", joint=la.Prismatic(axis=(1, 0, 0)), mass=1.0)
        mech.add_force(la.CustomForce(wave))
        model = mech.compile()
        for start in (0.0, 2.0):
            run = la.simulate(model, model.state(t=start), dt=DT, steps=STEPS)
            assert np.abs(run.v[:, 0] - (np.cos(start) - np.cos(run.t))).max() < DT**2


def constant_push(t, q, v, tau):
    tau[0] += 0.7
    tau[1] -= 0.4


def wave(t, q, v, tau):
    tau[0] += np.sin(t)
