"""Loops and rolling in the integrators in joint velocities: their laws, and agreement with integrators of another kind."""

import numpy as np
import pytest

import leastaction as la

KINDS = {
    "Trapezoid": la.Trapezoid(tol=1e-13),
    "FloatingBase-cayley": la.FloatingBase("cayley", tol=1e-13),
    "FloatingBase-exp": la.FloatingBase("exp", tol=1e-13),
}
every_kind = pytest.mark.parametrize("integrator", KINDS.values(), ids=KINDS)


def four_bar():
    model = la.examples.four_bar().compile()
    return model, model.state(model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}))


def floating_ring():
    """Three bodies in a ring that floats and turns: a free joint, ball joints and a wire between the ends."""
    mech = la.Mechanism(gravity=(0.0, 0.0, 0.0), name="ring")
    rod = {"mass": 1.0, "com": (0.4, 0.1, 0.0), "inertia": (0.05, 0.12, 0.08)}
    mech.add_body("base", joint=la.Free(), **rod)
    mech.add_body("middle", "base", la.Spherical(), la.Pose(xyz=(0.8, 0.0, 0.0)), **rod)
    mech.add_body("last", "middle", la.Spherical(), la.Pose(xyz=(0.8, 0.0, 0.0)), **rod)
    mech.add_frame("tip", "last", la.Pose(xyz=(0.8, 0.0, 0.0)))
    mech.add_constraint(la.Distance("tip", "base", 1.1))
    model = mech.compile()
    q = model.assemble({"middle": (0.8, 0.0, 0.0, 0.6), "last": (0.8, 0.0, 0.6, 0.0)}, hold=["base"])
    v = np.random.default_rng(3).normal(size=model.nv)
    return model, model.state(q, model.project_velocity(q, v))


def sleigh():
    model = la.examples.chaplygin_sleigh().compile()
    q = model.neutral()
    return model, model.state(q, model.project_velocity(q, np.linspace(0.5, 1.5, model.nv)))


def driven():
    """Velocities that depend on each other, on coordinates and on time."""
    mech = la.examples.chain(2)
    mech.add_constraint(la.VelocityConstraint("lead", ["link1", "link2"], "v0 * cos(q1) - v1 - 0.3 * q0 - sin(2 * t) / 5"))
    model = mech.compile()
    q = np.array([0.4, 0.3])
    return model, model.state(q, model.project_velocity(q, [0.5, 0.2]))


BENCHES = [four_bar, floating_ring, sleigh]
every_bench = pytest.mark.parametrize("bench", BENCHES, ids=lambda b: b.__name__)


def ends(model, state, integrator, counts, duration=0.2):
    return [la.simulate(model, state, dt=duration / n, steps=n, integrator=integrator) for n in counts]


def distance(model, a, b):
    """Between two configurations, quaternions of either sign."""
    return float(np.abs(la.dynamics.discrete.increment(model, a, b)).max())


@every_kind
@pytest.mark.parametrize("bench", [*BENCHES, driven], ids=lambda b: b.__name__)
def test_order_and_closure(bench, integrator):
    model, state = bench()
    truth = la.simulate(model, state, dt=0.2 / 40, steps=40, integrator=la.Composition(la.Maximal(tol=1e-12), order=4)).q[-1]
    counts = (8, 16, 32)
    runs = ends(model, state, integrator, counts)
    errors = [distance(model, run.q[-1], truth) for run in runs]
    assert np.polyfit(np.log(1.0 / np.array(counts)), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.1)
    assert max(run.constraint_error.max() for run in runs) < 1e-12


@every_bench
def test_order_of_compositions(bench):
    model, state = bench()
    truth = la.simulate(model, state, dt=0.2 / 24, steps=24, integrator=la.Composition(la.Variational(tol=1e-13), order=6)).q[-1]
    counts = (6, 9, 12)
    runs = ends(model, state, la.Composition(la.Trapezoid(tol=1e-13)), counts)
    errors = [distance(model, run.q[-1], truth) for run in runs]
    assert np.polyfit(np.log(1.0 / np.array(counts)), np.log(errors), 1)[0] == pytest.approx(4.0, abs=0.4)


@every_kind
@every_bench
def test_impulses_are_those_of_another_integrator(bench, integrator):
    model, state = bench()
    own, other = (la.simulate(model, state, dt=1e-3, steps=10, integrator=i) for i in (integrator, la.Variational(tol=1e-13)))
    scale = np.abs(other.multipliers).max()
    assert np.abs(own.multipliers - other.multipliers)[2:].max() < 1e-3 * scale
    composed = la.simulate(model, state, dt=1e-3, steps=10, integrator=la.Composition(integrator))
    assert np.abs(composed.multipliers - other.multipliers)[2:].max() < 1e-2 * scale  # of all stages together


@every_kind
def test_momentum_of_a_floating_loop_is_kept(integrator):
    model, state = floating_ring()
    run = la.simulate(model, state, dt=0.02, steps=60, integrator=integrator)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * np.abs(run.momentum[0]).max()
    assert np.abs(run.energy - run.energy[0]).max() < 2e-2 * run.energy[0]


@every_kind
@every_bench
def test_steps_back_lead_to_the_start(bench, integrator):
    model, state = bench()
    sim = la.Simulator(model, state, dt=0.01, integrator=integrator)
    sim.run(10)
    sim.reverse()
    sim.run(10)
    assert distance(model, sim.q, state.q) < 1e-9


@pytest.mark.parametrize("composed", [False, True])
def test_a_step_that_cannot_be_solved_is_not_made(composed):
    hasty = la.Trapezoid(tol=1e-9, max_evaluations=4)
    integrator = la.Composition(hasty) if composed else hasty
    model, state = four_bar()
    sim, twin = (la.Simulator(model, state, dt=0.01, integrator=integrator) for _ in range(2))
    sim.run(5)
    twin.run(5)
    before = sim.state
    with pytest.raises(la.ConvergenceError, match="a smaller dt"):
        sim.step([1e6, 0.0, 0.0])
    assert np.array_equal(sim.q, before.q) and np.array_equal(sim.state.p, before.p)
    sim.step()
    twin.step()
    assert distance(model, sim.q, twin.q) < 1e-10


@pytest.mark.parametrize(
    "add",
    [
        lambda mech: mech.add_force(la.DryFriction("rod1", 3.0)),
        lambda mech: mech.add_servo(la.Servo("rod1", kp=1e3, kd=20.0, limit=30.0, target=1.0)),
        lambda mech: mech.add_force(la.Damper("rod2", 2.0)),
    ],
    ids=["friction", "servo", "damper"],
)
def test_what_acts_on_the_joints_of_a_loop(add):
    mech = la.examples.four_bar()
    add(mech)
    model = mech.compile()
    state = model.state(model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}))
    own, other = (la.simulate(model, state, dt=2e-3, steps=40, integrator=i) for i in (la.Trapezoid(tol=1e-12), la.Variational(tol=1e-12)))
    assert np.abs(own.q - other.q).max() < 2e-5
    assert own.constraint_error.max() < 1e-12
