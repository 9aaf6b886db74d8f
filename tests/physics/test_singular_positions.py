"""Loops that pass their singular positions: rods that overlap, a scissor lift that falls flat."""

import numpy as np
import pytest
from support.dead_points import linkage, outcome

import leastaction as la
from leastaction.assembly.closing import ClosedEvaluator
from leastaction.compiling.decorators import entry
from leastaction.kernels.solving.guess import continue_polynomial


@entry
def _continue(d, differences, known, cautious):
    continue_polynomial(d, differences, known, 0, d.shape[0], cautious, False)


@pytest.mark.parametrize("degree", range(6))
def test_polynomials_are_continued_exactly(degree):
    """The guess of the unknowns, once it has seen two more values than the degree."""
    rng = np.random.default_rng(degree)
    polynomials = [np.polynomial.Polynomial(rng.normal(size=degree + 1)) for _ in range(3)]
    values = np.array([[p(0.1 * k) for p in polynomials] for k in range(12)])
    d, differences = np.zeros(3), np.zeros((6, 3))
    for known in range(1, len(values)):
        d[:] = values[known - 1]
        _continue(d, differences, known, False)
        if known >= degree + 2:
            assert np.allclose(d, values[known], rtol=0, atol=1e-11)


@pytest.mark.parametrize("cautious", [False, True])
def test_values_that_jump_to_and_fro_are_not_extrapolated(cautious):
    """Every degree but 0 would have guessed the last value worse."""
    d, differences = np.zeros(2), np.zeros((6, 2))
    for known in range(1, 20):
        value = (-1.0) ** known * np.array([1.0, 0.3])
        d[:] = value
        _continue(d, differences, known, cautious)
        assert np.array_equal(d, value)


@pytest.mark.parametrize("levels", [2, 4])
def test_scissor_lift_falls_through_its_flat_position(levels):
    """All rods in line is a bifurcation; the guess continues the motion that led there, and energy errors stay of second order."""
    model = la.examples.scissor_lift(levels, angle=0.5).compile()
    worst = []
    for dt in (1e-2, 5e-3):
        run = la.simulate(model, dt=dt, duration=2.0, integrator=la.Maximal())
        assert run["a1"].max() > 2 * 0.5  # turned over, as far below the horizontal as it was above and further
        assert run.constraint_error.max() < 1e-9
        worst.append(np.abs(run.energy - run.energy[0]).max())
    assert 3.0 < worst[0] / worst[1] < 5.0


def test_chain_of_four_bars_from_the_start_of_the_paper():
    """1 m rods, 22.5 degrees open, swinging from 45 degrees: every step converges and every segment passes its singular position."""
    model = la.examples.four_bar_chain(5, opening=np.pi / 8, length=1.0, swing=np.pi / 4).compile()
    run = la.simulate(model, dt=1e-2, duration=10.0, integrator=la.Maximal())
    assert run.constraint_error.max() < 1e-9
    for k in range(1, 6):
        bend = run[f"left_lower{k}"][:, 0] - 2 * np.pi / 8
        assert np.count_nonzero(np.diff(np.sign(bend))), f"segment {k} never passes"


def test_chains_that_vibrate_equally_fast_are_equally_hard():
    """With rods as long as the chain has segments, 50 segments need hardly more evaluations than 5."""
    needed = []
    for n in (5, 50):
        model = la.examples.four_bar_chain(n, opening=np.pi / 8, length=0.1 * n, swing=np.pi / 4).compile()
        run = la.simulate(model, dt=1e-2, duration=10.0, integrator=la.Maximal())
        assert run.constraint_error.max() < 1e-9
        needed.append(run.iterations.mean())
    assert needed[1] < 1.25 * needed[0]


def test_a_step_onto_a_singular_position_is_never_silent():
    """At 13.29 s a step of 10 ms ends on the position in which all links of the lift are vertical, and stays there."""
    model = la.examples.hanging_scissor_lift(5).compile()
    q = la.examples.hanging_scissor_start(5)
    with pytest.raises(la.ConvergenceError, match=r"the energy jumps by .* nearly dependent.*assembly='continue'") as error:
        la.simulate(model, q=q, dt=1e-2, duration=14.0)
    until = error.value.trajectory
    swing = until.kinetic.max()
    assert 13.0 < until.t[-1] < 13.29
    assert np.abs(until.energy - until.energy[0]).max() < 0.02 * swing

    run = la.simulate(model, q=q, dt=1e-2, duration=20.0, assembly="continue")
    off = np.abs(run.energy - run.energy[0])
    assert np.median(off[-100:]) < 0.02 * swing
    assert np.abs(run["a1"] + run["b1"]).max() < 1e-3  # both sides of the lift still mirror each other
    assert len(run) == 2001
    assert abs(run.t[-1] - 20.0) < 1e-9


def test_no_node_is_looked_at_twice(monkeypatch):
    """Many steps of this chain are near singular positions: windows of 25 nodes around suspicious ones lie over each other."""
    looked_at = []
    evaluate = ClosedEvaluator.__call__

    def counted(self, what, half_step, q, recorded, t):
        looked_at.extend(t.tolist())
        return evaluate(self, what, half_step, q, recorded, t)

    monkeypatch.setattr(ClosedEvaluator, "__call__", counted)
    model = la.examples.four_bar_chain(5, opening=np.pi / 8, length=0.5, swing=np.pi / 4).compile()
    simulator = la.Simulator(model, q=model.neutral(), dt=1e-2, integrator=la.Maximal())
    looked_at.clear()
    simulator.run(600, progress=False, record_every=600)
    assert 50 < len(looked_at) <= 600


@pytest.mark.slow
def test_the_lift_of_the_paper_stays_on_its_branch_for_1000_s():
    """Five segments with the paper's own constraints."""
    model = la.examples.hanging_scissor_lift(5).compile()
    run = la.simulate(model, q=la.examples.hanging_scissor_start(5), dt=1e-2, duration=1000.0, assembly="continue")
    assert len(run) == 100_001
    assert np.abs(run.energy - run.energy[0]).max() < 0.05 * run.kinetic.max()
    assert np.abs(run["a1"] + run["b1"]).max() < 1e-6
    assert run.constraint_error.max() < 1e-11


@pytest.mark.parametrize("seed", [1, 2, 4, 6, 7, 9])
def test_linkages_through_their_dead_points_keep_their_energy_or_stop(seed):
    """Six of those of `make dead-points`."""
    assert outcome(seed, duration=2.0, dt=2e-3) == "kept"


def test_a_wrong_run_is_wrong_only_where_it_is_ignored():
    assert outcome(199, assembly="ignore").startswith("WRONG")
    assert "the energy jumps" in outcome(199)


@pytest.mark.parametrize("how", ["step", "control"])
def test_steps_made_one_by_one_are_watched_too(how):
    """The linkage that goes astray if nobody looks ends with a reason there as well, before that step; another one is left alone."""
    for seed in (199, 3):
        model, guess, torque = linkage(seed)
        q = model.assemble(guess)
        start = {"q": q, "v": model.project_velocity(q, {"crank": 2.0}), "dt": 1e-2}
        tau = model.velocities({"crank": torque}, "tau")
        sim = la.Simulator(model, **start)

        def steps(sim=sim, tau=tau):
            if how == "control":
                sim.run(1000, control=lambda t, state: tau)
            else:
                for _ in range(1000):
                    sim.step(tau)

        if seed == 3:
            steps()
            assert np.array_equal(sim.state.q, la.simulate(model, steps=1000, tau=tau, **start).q[-1])
            continue
        with pytest.raises(la.ConvergenceError, match=r"the energy jumps by .*which no force explains"):
            steps()
        assert 9.0 < sim.t < 10.0 and abs(la.dynamics.energy(model, sim.state.q, sim.state.v)) < 1e3
