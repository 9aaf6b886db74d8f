"""Servos in maximal coordinates: the same steps as in joint coordinates, and what is kept of them between steps."""

import numpy as np
import pytest
from support.symbolic_samples import symbolic_samples

import leastaction as la

SHARP = {"tol": 1e-13}


def chain():
    """Servos at their limits and within them, beside a damper and a rotor."""
    mech = la.examples.chain(3)
    for k, name in enumerate(list(mech.joint_names)):
        mech.add_servo(la.Servo(name, kp=1e4, kd=1e2, limit=50.0, target=0.3 * k + 0.2))
    mech.add_force(la.Damper("link2", 0.5))
    model = mech.compile()
    return model, model.state([0.5, -0.3, 0.2], [0.5, 0.1, -1.0])


def four_bar():
    mech = la.examples.four_bar()
    mech.add_servo(la.Servo("rod1", kp=1e3, kd=20.0, limit=30.0, target=1.0))
    model = mech.compile()
    return model, model.state(model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}))


def spatial():
    """Slides, screws and a rotor on a floating base."""
    mech = la.Mechanism(gravity=(0.0, 0.0, -3.0), name="spatial")
    rod = {"mass": 1.0, "com": (0.2, 0.1, -0.3), "inertia": (0.1, 0.12, 0.08)}
    mech.add_body("base", joint=la.Free(), **rod)
    mech.add_body("slide", "base", la.Prismatic((1, 2, 0)), la.Pose(xyz=(0.3, 0.0, 0.0)), **rod)
    mech.add_body("screw", "slide", la.Helical((0, 1, 1), pitch=0.2), armature=0.05, **rod)
    for name, target in (("slide", 0.2), ("screw", -0.5)):
        mech.add_servo(la.Servo(name, kp=200.0, kd=5.0, target=target))
    model = mech.compile()
    return model, model.state(v=0.3 * np.random.default_rng(1).normal(size=model.nv))


def symbolic():
    joint = next(j for j in symbolic_samples() if j.nv == 1)
    mech = la.Mechanism(name="symbolic")
    mech.add_body("body", joint=joint, mass=1.0, com=(0.2, 0.1, -0.3), inertia=(0.1, 0.12, 0.08))
    mech.add_servo(la.Servo("body", kp=300.0, kd=10.0, limit=40.0, target=0.3))
    model = mech.compile()
    return model, model.state()


@pytest.mark.parametrize("retraction", ["exp", "cayley"])
@pytest.mark.parametrize("make", [chain, four_bar, spatial, symbolic], ids=lambda f: f.__name__)
def test_the_same_steps_as_in_joint_coordinates(make, retraction):
    model, state = make()
    own, other = (
        la.simulate(model, state, dt=4e-3, steps=40, integrator=i)
        for i in (la.Maximal(retraction, **SHARP), la.Variational(retraction, **SHARP))
    )
    assert np.abs(own.q - other.q).max() < 1e-9
    assert np.abs(own.p - other.p).max() < 1e-9 * np.abs(other.p).max()
    assert own.work[-1] == pytest.approx(other.work[-1], rel=1e-6)


def test_targets_of_every_step_and_a_run_that_goes_on():
    model, state = chain()
    aims = np.column_stack([np.linspace(0.0, 0.5, 12), np.linspace(0.0, -0.3, 12), np.full(12, 0.1)])
    whole = la.simulate(model, state, dt=5e-3, steps=12, targets=aims, integrator=la.Maximal())
    first = la.simulate(model, state, dt=5e-3, steps=5, targets=aims[:5], integrator=la.Maximal())
    rest = la.simulate(model, first.state(), dt=5e-3, steps=7, targets=aims[5:], integrator=la.Maximal())
    assert np.array_equal(rest.q, whole.q[5:]) and np.array_equal(rest.p, whole.p[5:])


def test_a_servo_holds_what_it_can():
    """At rest where the spring of the servo and the weight balance, from the first step on."""
    model, _ = chain()
    aim = np.array([0.01, 0.0, 0.0])
    rest = model.equilibrium(aim, tau=model.inputs(None, aim))
    run = la.simulate(model, dt=1e-2, steps=30, q=rest, targets=aim, integrator=la.Maximal(tol=1e-12))
    assert np.abs(run.q - rest).max() < 1e-9 and np.abs(run.p).max() < 1e-8


@pytest.mark.parametrize("integrator", [la.Composition(la.Maximal()), la.AdaptiveStep(la.Maximal())], ids=lambda i: type(i).__name__)
def test_what_is_still_refused(integrator):
    model, state = chain()
    with pytest.raises(la.StateError, match=r"does not take servos.*Maximal\(\)"):
        la.simulate(model, state, dt=1e-3, steps=1, integrator=integrator)
