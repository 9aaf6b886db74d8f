"""What people do by mistake gets an answer that names it: no bare traceback, no NaN, nothing ignored in silence."""

import os
import signal
import threading

import numpy as np
import pytest
from numba import njit

import leastaction as la
from leastaction.yardsticks import Lee2016, Svi

NAN = float("nan")
SOUND = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.1)}


def rod(*forces, joint=None):
    """A single body with the given forces."""
    mech = la.Mechanism()
    mech.add_body("rod", joint=joint or la.Revolute(axis=(0, 1, 0)), **SOUND)
    for force in forces:
        mech.add_force(force)
    return mech


def simulate(*forces, **options):
    return la.simulate(rod(*forces).compile(), **{"dt": 1e-3, "steps": 5, **options})


# --- describing


@pytest.mark.parametrize("parent", [None, ["rod"], 3, ""])
def test_parent_that_is_no_name(parent):
    with pytest.raises(la.MechanismError, match="'x': parent"):
        rod().add_body("x", parent, la.Revolute(), **SOUND)
    with pytest.raises(la.MechanismError, match="'x': parent"):
        rod().add_frame("x", parent)


def test_body_in_place_of_its_name():
    mech = rod()
    with pytest.raises(la.MechanismError, match="give its name, 'rod'"):
        mech.add_body("x", mech.bodies["rod"], la.Revolute(), **SOUND)


@pytest.mark.parametrize("name", [3, ["a"], ""])
def test_joint_name_that_is_none(name):
    with pytest.raises(la.MechanismError, match="joint_name"):
        la.Mechanism().add_body("rod", joint=la.Revolute(), joint_name=name, **SOUND)


def test_unknown_parent_lists_frames_too():
    mech = rod()
    mech.add_frame("tip", "rod")
    mech.add_frame("far", "tp")
    with pytest.raises(la.MechanismError, match="'far' hangs on 'tp'.*'tip'"):
        mech.compile()


@pytest.mark.parametrize("force, words", [
    (lambda: la.Spring("rod", "stiff"), "Spring on joint 'rod': stiffness = 'stiff'"),
    (lambda: la.Spring("rod", 1.0, rest="x"), "Spring on joint 'rod': rest = 'x'"),
    (lambda: la.Spring(["rod"], 1.0), r"Spring: joint = \['rod'\] is not a non-empty string"),
    (lambda: la.Damper("rod", "x"), "Damper on joint 'rod': damping = 'x'"),
    (lambda: la.Damper("rod", (1.0, 2.0)), "it needs one number$"),
    (lambda: la.Wrench("rod", force="up"), "Wrench on 'rod': force = 'up' is made of text; it needs three numbers"),
    (lambda: la.Wrench("rod", force=[1, [2], 3]), "Wrench on 'rod': force"),
    (lambda: la.Wrench(["rod"]), r"Wrench: body = \['rod'\] is not a non-empty string"),
    (lambda: la.Wrench("rodd"), "'rodd'.*give one of 'rod'"),
    (lambda: la.Wrench("world"), "cannot move; give a body"),
])  # fmt: skip
def test_forces_of_the_wrong_kind(force, words):
    with pytest.raises(la.MechanismError, match=words):
        rod(force()).compile()


# --- user forces


def push(t, q, v, tau):
    tau[0] += 1.0


def test_user_force_that_is_compiled_already():
    by_hand, by_package = simulate(la.CustomForce(njit(push))), simulate(la.CustomForce(push))
    assert np.array_equal(by_hand.q, by_package.q) and by_hand.q[-1, 0] > 0.0


def test_user_force_that_returns_instead_of_adding():
    with pytest.raises(la.MechanismError, match="returns .*add to tau"):
        rod(la.CustomForce(lambda t, q, v, tau: -0.1 * v)).compile()


def test_user_force_beyond_the_end():
    def beyond(t, q, v, tau):
        tau[5] += 1.0

    with pytest.raises(la.MechanismError, match="'beyond'.*tau have 1"):
        rod(la.CustomForce(beyond)).compile()


@pytest.mark.parametrize("integrator", [la.Variational(), la.RK4()])
def test_user_force_that_is_not_finite(integrator):
    def bad(t, q, v, tau):
        tau[0] += np.nan

    with pytest.raises(la.ConvergenceError, match="CustomForce"):
        simulate(la.CustomForce(bad), integrator=integrator)


# --- states and joint forces


@pytest.mark.parametrize("what", ["q", "v", "tau"])
@pytest.mark.parametrize("value", ["a", [1, [2]], [1j], {1.0}, {"rod": "a"}, {"rod": None}])
def test_values_that_are_no_numbers(what, value):
    with pytest.raises(la.StateError, match=what):
        simulate(**{what: value})


def test_message_names_the_joint_that_is_not_finite():
    with pytest.raises(la.StateError, match=r"q\['rod'\] = nan"):
        simulate(q={"rod": NAN})


@pytest.mark.parametrize("t", ["now", None, NAN])
def test_time_of_a_state(t):
    with pytest.raises(la.StateError, match="t = "):
        rod().compile().state(t=t)


@pytest.mark.parametrize("state", ["x", [0.3]])
def test_state_that_is_none(state):
    with pytest.raises(la.StateError, match=r"model\.state"):
        simulate(state=state)


# --- running


@pytest.mark.parametrize("duration", ["ten", [1.0], NAN, -1.0])
def test_durations(duration):
    with pytest.raises(la.StateError, match="duration"):
        simulate(steps=None, duration=duration)


def test_duration_shorter_than_a_step():
    with pytest.raises(la.StateError, match="less than half a step"):
        simulate(steps=None, duration=4e-4)
    assert len(simulate(steps=None, duration=0.0)) == 1


def test_more_nodes_than_memory():
    with pytest.raises(la.StateError, match="record_every"):
        simulate(steps=10**16)


@pytest.mark.parametrize("arguments", [{"steps": -1}, {"steps": 2.5}, {"steps": None}, {"steps": 5, "record_every": 0}])
def test_runs_of_a_simulator(arguments):
    with pytest.raises(la.StateError, match="steps|record_every"):
        la.Simulator(rod().compile(), dt=1e-3).run(**arguments)


def test_joint_forces_twice():
    with pytest.raises(la.StateError, match="not both"):
        la.Simulator(rod().compile(), dt=1e-3).run(5, tau=[1.0], control=lambda t, state: [0.0])


def test_control_law_that_forgets_to_return():
    with pytest.raises(la.StateError, match="returned None at t = 0 s"):
        simulate(control=lambda t, state: None)


def test_control_law_that_is_no_function():
    with pytest.raises(la.StateError, match="control = 3"):
        simulate(control=3)


def test_interrupted_run_stands_at_its_last_step():
    """Ctrl-C in the middle of compiled code: time, coordinates and the memory of the integrator still belong together."""
    model = la.examples.chain(10).compile()
    start = {"link1": 0.7}
    sim = la.Simulator(model, dt=1e-3, q=start)
    sim.run(10)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        sim.run(10_000_000, record_every=100)
    assert 10 < sim.steps < 10_000_000
    straight = la.simulate(model, dt=1e-3, steps=sim.steps, q=start, record_every=sim.steps)
    assert np.array_equal(sim.q, straight.q[-1]) and sim.t == pytest.approx(straight.t[-1])


# --- integrators


@pytest.mark.parametrize("options, word", [
    ({"tol": "x"}, "tol"), ({"tol": None}, "tol"), ({"retraction": ["exp"]}, "retraction"), ({"max_evaluations": "x"}, "max_eval"),
    ({"max_evaluations": 2.7}, "max_eval"), ({"max_evaluations": 1}, "max_eval"),
])  # fmt: skip
def test_options_of_the_integrator(options, word):
    with pytest.raises(la.StateError, match=word):
        la.Variational(**options)


def test_tolerance_below_rounding_says_so():
    model = la.examples.chain(10).compile()
    with pytest.raises(la.ConvergenceError, match="rounding.*give tol=1e-12"):
        la.simulate(model, dt=1e-3, steps=100, q={"link1": 1.0}, integrator=la.Variational(tol=1e-18))


def test_unstable_spring_is_not_taken_for_a_missing_mass():
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("block", joint=la.Prismatic(), mass=1.0)
    mech.add_force(la.Spring("block", 1e6))
    with pytest.raises(la.ConvergenceError, match="smaller dt.*midpoint"):
        la.simulate(mech.compile(), dt=1e-2, steps=200, q=[1e-3])


# --- dynamics


def gimbal():
    """Singular when the arm, a point mass, points along the axis of the massless yoke."""
    mech = la.Mechanism()
    mech.add_body("yoke", joint=la.Revolute(axis=(0, 0, 1)))
    mech.add_body("arm", "yoke", la.Revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0, 1))
    return mech.compile()


def test_singular_configuration_names_the_joint():
    model = gimbal()
    with pytest.raises(la.SingularMassError, match="'yoke'"):
        la.dynamics.forward(model, [0.0, 0.0], tau=[1.0, 0.0])
    with pytest.raises(la.SingularMassError, match="'yoke'"):
        la.dynamics.velocity(model, [0.0, 0.0], [1.0, 0.0])
    for integrator in (la.RK4(), la.Variational(), la.Variational(quadrature="midpoint"), Lee2016("riqn", "extrapolate")):
        with pytest.raises(la.LeastActionError, match="'yoke' moves no inertia"):
            la.simulate(model, dt=1e-3, steps=5, tau=[1.0, 0.0], integrator=integrator)
    assert np.all(np.isfinite(la.dynamics.forward(model, [0.0, 1.0], tau=[1.0, 0.0])))


@pytest.mark.parametrize("dt", [0.0, -1e-3, NAN, "x"])
def test_step_of_the_discrete_equations(dt):
    model = rod().compile()
    with pytest.raises(la.StateError, match="dt"):
        la.discrete.residual(model, [0.0], [0.1], [0.2], dt)
    with pytest.raises(la.StateError, match="dt"):
        la.discrete.jacobian(model, [0.0], [0.1], dt)


def test_half_turn_has_no_increment():
    model = rod(joint=la.Spherical()).compile()
    with pytest.raises(la.StateError, match="'rod' makes half a turn"):
        la.discrete.increment(model, [1.0, 0, 0, 0], [0.0, 1, 0, 0])


@pytest.mark.parametrize("r", [[1.0, 2.0], [NAN]])
def test_residual_given_to_newton(r):
    with pytest.raises(la.StateError, match="r"):
        la.discrete.newton_direction(rod().compile(), [0.0], [0.1], 1e-3, r)


@pytest.mark.parametrize("runs", [None, 3])
def test_plot_of_something_else(runs):
    with pytest.raises(la.StateError, match="cannot plot"):
        la.plot.energy(runs)


@pytest.mark.parametrize("integrator", [la.Variational(), Svi("riqn", "extrapolate")], ids=["default", "svi"])
def test_a_failed_step_can_be_tried_again_with_other_forces(integrator):
    model = la.examples.chain(3).compile()
    tried, fresh = (la.Simulator(model, dt=1e-3, q={"link1": 0.5}, integrator=integrator) for _ in range(2))
    for simulator in (tried, fresh):
        simulator.step()
    with pytest.raises(la.ConvergenceError):
        tried.step([1e250, 0.0, 0.0])
    for simulator in (tried, fresh):
        simulator.step([1.0, 0.0, 0.0])
    assert tried.t == fresh.t
    assert np.abs(tried.state.p - fresh.state.p).max() < 1e-9 * np.abs(fresh.state.p).max()
