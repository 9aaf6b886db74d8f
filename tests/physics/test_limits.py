"""Limits of joints: a run ends with the first node beyond one, whatever integrates it and however it is recorded."""

import numpy as np
import pytest

import leastaction as la

DT, STEPS, UPPER = 1e-2, 200, 0.3
START = {"link1": 0.9, "link2": 0.0}


def arm(limited=True):
    mech = la.examples.chain(2)
    if limited:
        mech.add_limit("link2", -10.0, UPPER, velocity=1e-3, effort=1e-3)
    return mech.compile()


FREE, LIMITED = arm(False), arm()


def first_beyond(run):
    """Number of the first node beyond the limit in a run without limits."""
    return int(np.argmax(run["link2"][:, 0] > UPPER))


INTEGRATORS = [
    la.Variational(), la.Variational(quadrature="midpoint"), la.Composition(order=4), la.Trapezoid(), la.Midpoint(), la.Maximal(),
    la.SemiImplicitEuler(), la.RK4(),
]  # fmt: skip


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
@pytest.mark.parametrize("every", [1, 7])
def test_a_run_ends_with_the_first_node_beyond(integrator, every):
    free = la.simulate(FREE, dt=DT, steps=STEPS, q=START, integrator=integrator)
    last = first_beyond(free)
    assert 0 < last < STEPS and last % 7
    run = la.simulate(LIMITED, dt=DT, steps=STEPS, q=START, integrator=integrator, record_every=every)
    kept = [*range(0, last, every), last]
    np.testing.assert_array_equal(run.q, free.q[kept])
    np.testing.assert_array_equal(run.t, free.t[kept])
    np.testing.assert_array_equal(run.recorded, free.recorded[kept])
    np.testing.assert_array_equal(run.iterations, free.iterations[:last])
    assert run.converged and "stopped at t = " in run.message and "'link2' went beyond its upper limit 0.3 rad" in run.message
    assert "link2" in str(run)


@pytest.mark.parametrize("every", [1, 7])
def test_runs_that_stay_inside_are_as_without_limits(every):
    short = first_beyond(la.simulate(FREE, dt=DT, steps=STEPS, q=START)) - 1
    runs = [la.simulate(m, dt=DT, steps=short, q=START, record_every=every) for m in (FREE, LIMITED)]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert runs[1].message == "finished" and runs[1].warnings == ()


def test_the_simulator_stands_where_the_run_ended():
    sim = la.Simulator(LIMITED, dt=DT, q=START)
    run = sim.run(STEPS)
    assert sim.t == run.t[-1] and sim.steps == run.steps
    np.testing.assert_array_equal(sim.q, run.q[-1])
    np.testing.assert_allclose(sim.v, run.v[-1], rtol=1e-12)
    with pytest.raises(la.StateError, match=r"at the start joint 'link2' is beyond its upper limit 0.3 rad.*q=\{'link2': 0.3\}.*'ignore'"):
        sim.run(1)


def test_a_start_beyond_is_refused_and_one_at_the_limit_is_not():
    with pytest.raises(la.StateError, match="lower limit -10 rad, at -11 rad"):
        la.simulate(LIMITED, dt=DT, steps=1, q={"link2": -11.0})
    la.simulate(LIMITED, dt=DT, steps=0, q={"link2": UPPER})
    la.simulate(LIMITED, dt=DT, steps=1, q={"link2": -11.0}, limits="ignore")


def test_ignored_limits_stand_in_the_warnings():
    run = la.simulate(LIMITED, dt=DT, steps=STEPS, q=START, limits="ignore")
    free = la.simulate(FREE, dt=DT, steps=STEPS, q=START)
    np.testing.assert_array_equal(run.q, free.q)
    (sentence,) = run.warnings
    assert "joint 'link2' went beyond" in sentence and f"t = {free.t[first_beyond(free)]:g} s" in sentence
    assert "warning" in str(run) and run.message == "finished"


def test_single_steps_raise_after_the_step_that_went_too_far():
    last = first_beyond(la.simulate(FREE, dt=DT, steps=STEPS, q=START))
    sim = la.Simulator(LIMITED, dt=DT, q=START)
    for _ in range(last - 1):
        sim.step()
    with pytest.raises(la.LimitError, match=f"step {last} .*'link2' went beyond") as caught:
        sim.step()
    assert caught.value.time == sim.t == pytest.approx(last * DT)
    ignoring = la.Simulator(LIMITED, dt=DT, q=START, limits="ignore")
    for _ in range(last + 1):
        ignoring.step()


@pytest.mark.parametrize("every", [1, 7])
def test_control_laws_are_not_asked_beyond_a_limit(every):
    asked = []
    last = first_beyond(la.simulate(FREE, dt=DT, steps=STEPS, q=START))
    run = la.simulate(
        LIMITED, dt=DT, steps=STEPS, q=START, record_every=every, control=lambda t, state: asked.append(t) or np.zeros(2)
    )
    assert len(asked) == last == run.steps and run.t[-1] == pytest.approx(last * DT) and "link2" in run.message


@pytest.mark.parametrize("every", [1, 3])
def test_steps_of_variable_length(every):
    integrator = la.AdaptiveStep(speed=2.0)
    free = la.simulate(FREE, dt=DT, duration=2.0, q=START, integrator=integrator)
    run = la.simulate(LIMITED, dt=DT, duration=2.0, q=START, integrator=integrator, record_every=every)
    last = first_beyond(free)
    np.testing.assert_array_equal(run.q[-1], free.q[last])
    assert run.steps == last and run.message.startswith("stopped at")


def test_guarded_steps():
    big = {"dt": 0.5, "steps": 40, "q": START, "guard": True}
    free, run = (la.simulate(model, **big) for model in (FREE, LIMITED))
    last = first_beyond(free)
    np.testing.assert_array_equal(run.q, free.q[: last + 1])
    sim = la.Simulator(LIMITED, dt=0.5, q=START, guard=True)
    sim.run(40)
    assert all(t < sim.t for t, _ in sim.subdivided)


def test_a_failure_beyond_the_limit_does_not_count():
    """Whatever happens to the motion after the limit is not what the mechanism does."""

    def wall(t, q, v, tau):
        if q[1] > 0.33:
            tau[0] = np.nan

    models = []
    for limited in (False, True):
        mech = la.examples.chain(2)
        mech.add_force(la.CustomForce(wall))
        if limited:
            mech.add_limit("link2", upper=UPPER)
        models.append(mech.compile())
    with pytest.raises(la.ConvergenceError):
        la.simulate(models[0], dt=DT, steps=STEPS, q=START)
    assert "link2" in la.simulate(models[1], dt=DT, steps=STEPS, q=START).message


def test_shapes_that_could_touch_stand_in_the_warnings():
    mech = la.examples.chain(2)
    mech.add_shape("link1", la.Sphere(0.1))
    assert la.simulate(mech.compile(), dt=DT, steps=1).warnings == ()
    mech.add_shape("link1", la.Sphere(0.1), role="collision")
    mech.add_shape("link2", la.Sphere(0.1), role="collision")
    (sentence,) = la.simulate(mech.compile(), dt=DT, steps=1).warnings
    assert "2 collision shapes on 2 bodies are not simulated" in sentence


def test_mistakes_are_named():
    with pytest.raises(la.StateError, match="limits = 'enforce'; it is one of 'stop', 'ignore'"):
        la.simulate(LIMITED, dt=DT, steps=1, limits="enforce")
    mech = la.examples.chain(1)
    with pytest.raises(la.MechanismError, match="'link1': lower = 2 is greater than upper = 1"):
        mech.add_limit("link1", 2.0, 1.0)
    with pytest.raises(la.MechanismError, match="upper = nan is not a number"):
        mech.add_limit("link1", upper=float("nan"))
    mech.add_limit("link1", upper=1.0)
    with pytest.raises(la.MechanismError, match="'link1' has limits already"):
        mech.add_limit("link1", upper=2.0)
    mech.add_limit("nobody")
    with pytest.raises(la.MechanismError, match="'nobody', which does not exist or is fixed"):
        mech.compile()
    ball = la.examples.ball_chain(1)
    ball.add_limit("link1", -1.0, 1.0)
    with pytest.raises(la.MechanismError, match="joints with one coordinate"):
        ball.compile()


def test_limits_of_no_room_are_explained():
    mech = la.examples.chain(1)
    mech.add_limit("link1", 0.0, 0.0)
    assert "no room" in la.simulate(mech.compile(), dt=DT, steps=5, v={"link1": 1.0}).message
