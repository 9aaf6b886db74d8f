"""Composition and AdaptiveStep of Maximal and Midpoint: order, loops, reversal, and the same motion however they are computed."""

from functools import cache

import numpy as np
import pytest

import leastaction as la


class RestartedMaximal(la.Maximal):
    """Without composed code: every stage is a simulation of its own."""

    @property
    def has_composed_code(self):
        return False


class RestartedMidpoint(la.Midpoint):
    @property
    def has_composed_code(self):
        return False


RESTARTED = {la.Maximal: RestartedMaximal, la.Midpoint: RestartedMidpoint}
BASES = (la.Maximal, la.Midpoint)


def four_bar():
    model = la.examples.four_bar().compile()
    return model, model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})


def driven():
    """A loop whose crank follows time, with a rotor, a damper and a spring: everything whose sign changes in stages that go back."""
    mech = la.examples.four_bar(lengths=(1.0, 2.0, 1.5, 1.0))
    mech.add_constraint(la.Prescribed("rod1", lambda t, sp: sp.Float(0.8) + sp.sin(t) ** 2))
    mech.add_force(la.Spring("rod2", 20.0))
    mech.add_force(la.Damper("rod3", 0.3))
    model = mech.compile()
    return model, model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3, "rod4": 0.3}, hold=["rod1"])


@cache
def truth(linkage, duration, steps=10):
    """By steps of Variational of order 6, whose own order is tested against the continuous equations."""
    model, q = linkage()
    return la.simulate(model, q=q, dt=duration / steps, steps=steps, integrator=la.Composition(la.Variational(tol=1e-13), order=6)).q[-1]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("linkage", "order"), [(four_bar, 4), (four_bar, 6), (driven, 4)])
def test_order_with_loops(base, linkage, order):
    model, q = linkage()
    runs = [la.simulate(model, q=q, dt=0.2 / n, steps=n, integrator=la.Composition(base(tol=1e-13), order=order)) for n in (3, 4)]
    errors = [np.abs(run.q[-1] - truth(linkage, 0.2)).max() for run in runs]
    assert abs(np.log(errors[0] / errors[1]) / np.log(4 / 3) - order) < 0.3
    assert all(run.constraint_error.max() < 1e-12 for run in runs)


def test_maximal_and_variational_stages_are_the_same():
    for linkage in (four_bar, driven):
        model, q = linkage()
        a, b = (la.simulate(model, q=q, dt=0.01, steps=3, integrator=la.Composition(base(tol=1e-13)))
                for base in (la.Variational, la.Maximal))  # fmt: skip
        assert np.abs(a.q - b.q).max() < 1e-11 and np.abs(a.p - b.p).max() < 1e-10


@pytest.mark.parametrize("base", BASES)
def test_composed_and_restarted_stages_agree(base):
    model, q = four_bar()
    tau = np.random.default_rng(0).normal(size=(2, model.nv))
    runs = [
        la.simulate(model, q=q, dt=0.01, steps=2, tau=tau, integrator=la.Composition(kind(tol=1e-13))) for kind in (base, RESTARTED[base])
    ]  # fmt: skip
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-11 and np.abs(runs[0].p - runs[1].p).max() < 1e-9


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("make", (la.Composition, la.AdaptiveStep))
def test_steps_lead_back(base, make):
    model, q = four_bar()
    sim = la.Simulator(model, q=q, dt=0.01, integrator=make(base(tol=1e-13)))
    there = sim.run(6)
    sim.reverse()
    assert np.abs(sim.run(6).q[-1] - there.q[0]).max() < 1e-10
    assert there.constraint_error.max() < 1e-12


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("make", (la.Composition, la.AdaptiveStep))
def test_a_step_that_fails_leaves_the_simulation_as_it_was(base, make):
    model, q = four_bar()
    sims = [la.Simulator(model, dt=1e-2, q=q, integrator=make(base(tol=1e-13))) for _ in range(2)]
    for sim in sims:
        sim.run(2)
    with pytest.raises(la.ConvergenceError):
        sims[0].step([1e30, 0.0, 0.0])
    assert np.array_equal(sims[0].q, sims[1].q) and sims[0].t == sims[1].t
    for sim in sims:
        sim.run(2)
    assert np.abs(sims[0].q - sims[1].q).max() < 1e-11 and abs(sims[0].t - sims[1].t) < 1e-11


def test_adaptive_steps_of_maximal_and_variational_are_the_same():
    for linkage in (four_bar, driven):
        model, q = linkage()
        a, b = (la.simulate(model, q=q, dt=0.02, steps=6, integrator=la.AdaptiveStep(base(tol=1e-13)))
                for base in (la.Variational, la.Maximal))  # fmt: skip
        assert np.abs(a.t - b.t).max() < 1e-12 and np.abs(a.q - b.q).max() < 1e-10 and np.ptp(np.diff(a.t)) > 1e-4


@pytest.mark.parametrize("base", BASES)
def test_adaptive_steps_have_order_two(base):
    model, q = four_bar()
    errors = []
    for dt in (0.04, 0.02):
        run = la.simulate(model, q=q, dt=dt, duration=0.2, integrator=la.AdaptiveStep(base(tol=1e-12)))
        errors.append(np.abs(run.q[-1] - truth(four_bar, run.t[-1], 6)).max())
    assert 1.6 < np.log2(errors[0] / errors[1]) < 2.4


@pytest.mark.parametrize("make", (la.Composition, la.AdaptiveStep))
@pytest.mark.parametrize("base", BASES)
def test_multipliers_are_impulses_of_the_step(base, make):
    """They are those of Variational: of Maximal the rows of the joints come first; of Midpoint to second order in the step."""
    model, q = four_bar()
    a, b = (la.simulate(model, q=q, dt=0.01, steps=3, integrator=make(kind(tol=1e-13))) for kind in (la.Variational, base))
    ours = b.multipliers[:, -a.multipliers.shape[1] :]
    size = np.abs(a.multipliers).max()
    assert np.abs(ours - a.multipliers).max() < (1e-8 if base is la.Maximal else 2e-2) * size


def test_free_bodies_and_balls_in_maximal_stages():
    """Trees without loops: joints as unknowns, momentum kept exactly, and the stages of Variational."""
    model = la.examples.random_tree(3, seed=3, floating=True, gravity=(0, 0, 0)).compile()
    v = 0.5 * np.random.default_rng(1).normal(size=model.nv)
    a, b = (la.simulate(model, v=v, dt=0.01, steps=4, integrator=la.Composition(base(tol=1e-13))) for base in (la.Variational, la.Maximal))
    assert np.abs(a.q - b.q).max() < 1e-11
    assert np.abs(b.momentum - b.momentum[0]).max() < 1e-12 * np.abs(b.momentum).max()


def test_velocity_constraints_in_stages_of_maximal():
    """Order 4 on the sleigh too, and the steps of Variational where they change their length."""
    mech = la.Mechanism(name="sleigh", gravity=(0, 0, 0))
    mech.add_body("sleigh", joint=la.Planar(), mass=1.0, com=(0.2, 0, 0), inertia=(0.2, 0.2, 0.3))
    mech.add_constraint(la.Skate("sleigh"))
    model = mech.compile()
    v = model.project_velocity(None, [0.5, 0.2, 1.0])
    ends = [
        la.simulate(model, v=v, dt=0.8 / n, steps=n, integrator=la.Composition(la.Maximal(tol=1e-13))).q[-1] for n in (4, 8, 16)
    ]  # fmt: skip
    order = np.log2(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max())
    assert abs(order - 4.0) < 0.4
    a, b = (la.simulate(model, v=v, dt=0.02, steps=8, integrator=la.AdaptiveStep(i(tol=1e-13))) for i in (la.Variational, la.Maximal))
    assert np.abs(a.t - b.t).max() < 1e-11 and np.abs(a.q - b.q).max() < 1e-10


def test_what_cannot_be_composed_says_so():
    with pytest.raises(la.StateError, match="self-adjoint"):
        la.Composition(la.Midpoint(alpha=0.3))
    with pytest.raises(la.StateError, match=r"Midpoint\(alpha=0.5\)"):
        la.AdaptiveStep(la.Midpoint(alpha=0.3))


@pytest.mark.parametrize("base", [la.Variational(), la.Maximal(), la.Midpoint()], ids=lambda i: type(i).__name__)
def test_steps_follow_a_density_that_only_time_changes(base):
    """h is in inverse proportion to exp(2 t), to second order in the step, whichever integrator is controlled."""

    def ever_denser(t, q, v, out):
        out[0] = np.exp(2.0 * t)

    model, apart = la.examples.double_pendulum().compile(), []
    for dt in (0.04, 0.02):
        run = la.simulate(model, q={"upper": 0.3}, dt=dt, duration=0.5, integrator=la.AdaptiveStep(base, density=ever_denser))
        h = np.diff(run.t)[:-1]  # the last one ends the run
        scaled = h * np.exp(2.0 * (run.t[:-2] + 0.5 * h)) / dt
        apart.append(np.abs(scaled / scaled[0] - 1.0).max())
    assert apart[0] < 0.05 and apart[1] < 0.6 * apart[0]
