"""The energy ledger: work and heat explain the energy of a run up to the error of the integrator, and a run that explodes says so."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import ConvergenceError, StateError


def push(t, q, v, tau):
    tau[0] += np.sin(3.0 * t)
    tau[1] -= 0.2 * v[1]


def pendulum(*forces, prescribed=False):
    mech = la.examples.double_pendulum()
    for force in forces:
        mech.add_force(force)
    if prescribed:
        mech.add_constraint(la.Prescribed("upper", "0.4 * sin(3 * t) + 1.0"))
    return mech.compile()


def balance(model, steps, **options):
    """Largest energy that is not explained, relative to the energy that moves."""
    start = model.assemble({"upper": 1.0, "lower": 0.5}, hold=["lower"])
    v = model.project_velocity(start, [0.0, 0.0])
    run = la.simulate(model, dt=1.0 / steps, steps=steps, q=start, v=v, **options)
    assert not run.warnings
    return np.abs(run.energy_balance).max() / np.ptp(run.kinetic), run


CASES = {
    "damper": (lambda: pendulum(la.Damper("lower", 0.5)), {}),
    "wrench": (lambda: pendulum(la.Wrench("lower", force=(3.0, 0.0, 1.0))), {}),
    "function": (lambda: pendulum(la.CustomForce(push)), {}),
    "law": (lambda: pendulum(la.Drag("lower", linear=0.5, quadratic=0.1)), {}),
    "constant": (pendulum, {"tau": [2.0, -1.0]}),
    "control": (pendulum, {"control": lambda t, state: [-2.0 * state.v[0], 1.0]}),
    "prescribed": (lambda: pendulum(prescribed=True), {}),
    "all": (lambda: pendulum(la.Damper("lower", 0.3), la.CustomForce(push), prescribed=True), {"tau": [0.5, 0.5]}),
}


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.slow) if case == "law" else case for case in CASES])
def test_energy_is_explained_to_the_order_of_the_steps(case):
    make, options = CASES[case]
    model = make()
    (coarse, _), (fine, run) = balance(model, 100, **options), balance(model, 400, **options)
    moved = max(np.abs(run.work).max(), np.abs(run.dissipated).max())
    assert moved > 20 * fine * np.ptp(run.kinetic), "nothing to explain: the test tests nothing"
    assert fine < 2e-2 and fine < 0.35 * coarse
    assert np.all(np.diff(run.dissipated) >= 0.0)


def test_not_all_nodes():
    """The account is kept on the way: the same numbers as with all nodes (tests/plain/accounts.py has every integrator and force)."""
    model = pendulum(la.Damper("lower", 0.5), la.CustomForce(push))
    every, some = (la.simulate(model, dt=0.01, steps=20, q=[1.0, 0.0], tau=[0.3, 0.0], record_every=n) for n in (1, 6))
    assert np.array_equal(some.work, every.work[[0, 6, 12, 18, 20]]) and some.work[-1] != 0.0
    assert np.array_equal(some.dissipated, every.dissipated[[0, 6, 12, 18, 20]]) and some.dissipated[-1] > 0.0
    assert some.warnings == () and la.simulate(pendulum(), dt=0.01, steps=20, q=[1.0, 0.0], record_every=5).ledger is None


def test_an_account_that_nobody_kept():
    model = pendulum(la.Damper("lower", 0.5))
    run = la.simulate(model, dt=0.01, steps=20, q=[1.0, 0.0], record_every=5)
    run.ledger = None  # as in a file of an earlier version
    with pytest.raises(StateError, match="record_every=1"):
        _ = run.energy_balance
    assert run.warnings == ()


def stiff():
    mech = la.Mechanism(gravity=(0.0, 0.0, 0.0))
    mech.add_body("mass", joint=la.Prismatic((1, 0, 0)), mass=1.0)
    mech.add_force(la.Spring("mass", 4.0))
    return mech.compile()


def test_silent_instability_is_not_silent():
    """h omega = 2.2 with the trapezoid: the energy grows without end, and every step is solved."""
    model = stiff()
    run = la.simulate(model, dt=1.1, steps=100, q=[1.0])
    assert run.energy[-1] > 1e10 * run.energy[0] and run.message == "finished"
    assert len(run.warnings) == 1 and "cannot be explained" in str(run) and 'quadrature="midpoint"' in str(run)
    with pytest.raises(ConvergenceError, match="cannot be explained") as caught:
        la.simulate(model, dt=1.1, steps=100, q=[1.0], strict=True)
    until = caught.value.trajectory
    assert 1 <= len(until) < 20 and until.energy.max() < 100 * run.energy[0]
    calm = la.simulate(model, dt=0.5, steps=1000, q=[1.0], strict=True)
    assert calm.warnings == ()


@pytest.mark.parametrize(
    "options", [{"tau": np.full((100, 1), 1e-3)}, {"tau": [1e-3]}, {"control": lambda t, state: [1e-3]}, {"record_every": 3}]
)
def test_what_is_left_of_a_strict_run_is_a_run(options):
    """Whatever drove it and however much was recorded: it can be printed, continued, and is the start of the whole one."""
    model = stiff()
    whole = la.simulate(model, dt=1.1, steps=100, q=[1.0], **options)
    with pytest.raises(ConvergenceError, match="cannot be explained") as caught:
        la.simulate(model, dt=1.1, steps=100, q=[1.0], strict=True, **options)
    until = caught.value.trajectory
    assert "cannot be explained" in str(until) and until.first_unexplained is None and not until.converged
    every = options.get("record_every", 1)
    assert np.array_equal(until.q[:-1], whole.q[: len(until) - 1]) and until.state().t == until.t[-1]
    assert (until.steps % every) or np.array_equal(until.q, whole.q[: len(until)])
    assert until.steps == round(until.t[-1] / 1.1) and (until.tau is None or len(until.tau) in (1, until.steps))


def test_rest_is_no_reason_to_worry():
    model = la.examples.chain(5).compile()
    assert la.simulate(model, dt=1e-3, steps=50, strict=True).warnings == ()


def test_no_alarm_in_a_bundled_example():
    """Half a second of every mechanism that Variational takes, pushed a little."""
    alarmed, tried = [], 0
    for name in la.examples.__all__:
        if name.isupper() or name.startswith(("random", "hanging_scissor_start")):
            continue
        model = getattr(la.examples, name)().compile()
        try:
            q = model.assemble()
            v = model.project_velocity(q, 0.3 * np.ones(model.nv))
            run = la.simulate(model, dt=1e-3, steps=500, q=q, v=v)
        except StateError:
            continue  # constraints on velocities, or a start that has to be given
        tried += 1
        alarmed += [(name, *run.warnings)] if run.warnings else []
    assert not alarmed and tried > 20


@pytest.mark.parametrize("steps", [1, 2, 50])
@pytest.mark.parametrize("integrator", [la.SemiImplicitEuler(), la.Heun(), la.RK4(), la.Variational()], ids=lambda i: type(i).__name__)
def test_no_alarm_where_a_mechanism_is_let_go(integrator, steps):
    """The first step from rest moves almost no energy, and an integrator of order one is off by half of it."""
    run = la.simulate(la.examples.chain(3).compile(), dt=1e-3, steps=steps, q=[0.3, 0.7, -0.4], integrator=integrator)
    assert run.first_unexplained is None
