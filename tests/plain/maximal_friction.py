"""Dry friction in maximal coordinates: the same steps as in joint coordinates, and joints that stick without creeping."""

import numpy as np
import pytest
from support.symbolic_samples import symbolic_samples

import leastaction as la
from leastaction.kernels.maximal.joints import coordinates

SHARP = {"tol": 1e-13}
ROD = {"mass": 1.0, "com": (0.2, 0.1, -0.3), "inertia": (0.1, 0.12, 0.08)}


def chain(friction=(12.0, 6.0, 2.0)):
    """Some joints stick, some slide, all of them turn round in between; beside a damper, a rotor and a servo."""
    mech = la.examples.chain(3)
    for name, torque in zip(mech.joint_names, friction, strict=True):
        mech.add_force(la.DryFriction(name, torque))
    mech.add_force(la.Damper("link2", 0.1))
    mech.add_servo(la.Servo("link3", kp=20.0, kd=0.5, limit=5.0, target=0.4))
    model = mech.compile()
    return model, model.state([1.5, 0.5, -1.0], [0.5, 0.1, -1.0])


def four_bar():
    mech = la.examples.four_bar()
    mech.add_force(la.DryFriction("rod1", 40.0))
    model = mech.compile()
    q = model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    return model, model.state(q, model.project_velocity(q, {"rod1": 1.0}))


def floating():
    """Slides, screws and a rotor on a floating base."""
    mech = la.Mechanism(gravity=(0.0, 0.0, -3.0), name="floating")
    mech.add_body("base", joint=la.Free(), **ROD)
    mech.add_body("slide", "base", la.Prismatic((1, 2, 0)), la.Pose(xyz=(0.3, 0.0, 0.0)), **ROD)
    mech.add_body("screw", "slide", la.Helical((0, 1, 1), pitch=0.2), armature=0.05, **ROD)
    for name, force in (("slide", 3.0), ("screw", 0.5)):
        mech.add_force(la.DryFriction(name, force))
    model = mech.compile()
    return model, model.state(v=0.5 * np.random.default_rng(1).normal(size=model.nv))


def of_two_freedoms():
    """Friction on one or both coordinates of joints with several, some of them without."""
    mech = la.Mechanism(name="two freedoms")
    mech.add_body("universal", joint=la.Universal((1, 0, 0), (0, 1, 0)), **ROD)
    mech.add_body("cylinder", "universal", la.Cylindrical((0, 0, 1)), la.Pose(xyz=(0.0, 0.0, -0.5)), **ROD)
    mech.add_force(la.DryFriction("universal", (2.0, 4.0)))
    mech.add_force(la.DryFriction("cylinder", (2.0, 0.0)))
    model = mech.compile()
    return model, model.state([0.5, 0.2, 0.0, 0.0], [1.0, -0.5, 2.0, 0.1])


def symbolic():
    joint = next(j for j in symbolic_samples() if j.nv == 1)
    mech = la.Mechanism(name="symbolic")
    mech.add_body("body", joint=joint, **ROD)
    mech.add_force(la.DryFriction("body", 0.4))
    model = mech.compile()
    return model, model.state(v=[0.5])


def places(model):
    """Of coordinates with dry friction in q, for each joint."""
    for joint in model.joint_names:
        yield model.q_slice(joint).start + np.flatnonzero(model.tree.friction[model.v_slice(joint)])


MECHANISMS = [chain, four_bar, floating, of_two_freedoms, symbolic]


@pytest.mark.parametrize("retraction", ["exp", "cayley"])
@pytest.mark.parametrize("make", MECHANISMS, ids=lambda f: f.__name__)
def test_the_same_steps_as_in_joint_coordinates(make, retraction):
    model, state = make()
    own, other = (
        la.simulate(model, state, dt=4e-3, steps=60, integrator=i)
        for i in (la.Maximal(retraction, **SHARP), la.Variational(retraction, **SHARP))
    )
    assert np.abs(own.q - other.q).max() < 1e-9
    assert np.abs(own.p - other.p).max() < 1e-9 * np.abs(other.p).max()
    assert own.dissipated[-1] == pytest.approx(other.dissipated[-1], rel=1e-6)


@pytest.mark.parametrize("make", MECHANISMS, ids=lambda f: f.__name__)
def test_joints_stick_and_slide_in_these_steps(make):
    """Otherwise the steps above say little."""
    model, state = make()
    run = la.simulate(model, state, dt=4e-3, steps=60, integrator=la.Maximal())
    at_rest = np.column_stack([np.diff(run.q[:, rubs], axis=0) for rubs in places(model)]) == 0.0
    assert (~at_rest).any()
    assert at_rest.any()


def test_what_sticks_does_not_creep():
    """A hundred steps under a load, and all steps that a chain rests: no digit changes, and the bodies stay where their coordinates are."""
    model, _ = chain()
    run = la.simulate(model, dt=1e-2, steps=400, q=[0.3, -0.2, 0.1], integrator=la.Maximal())
    resting = run.q[-100:]
    assert np.all(resting == resting[0])
    assert np.abs(run.v[-100:]).max() < 1e-12
    sim = la.Simulator(model, dt=1e-2, q=[0.3, -0.2, 0.1], integrator=la.Maximal())
    sim.run(400)
    flow = sim._stepper.flow
    found = np.empty(model.nq)
    coordinates(model.tree, sim._stepper.network.net, flow, flow.node, flow.apart, found)
    assert np.abs(found - sim.q).max() < 1e-12


@pytest.mark.parametrize("pull, moves", [(1.499, False), (1.6, True)])
def test_a_block_sticks_below_the_breakaway_force_and_slides_above(pull, moves):
    mech = la.Mechanism(gravity=(pull, 0.0, -9.81))
    mech.add_body("block", joint=la.Prismatic((1, 0, 0)), mass=2.0, inertia=(1, 1, 1))
    mech.add_force(la.DryFriction("block", 3.0))
    run = la.simulate(mech.compile(), dt=1e-2, duration=1.0, integrator=la.Maximal(tol=1e-12))
    if moves:
        np.testing.assert_allclose(run.q[-1], 0.5 * (pull - 1.5), rtol=1e-9)
    else:
        assert np.all(run.q == 0.0) and np.abs(run.v).max() < 1e-15


def test_a_run_goes_on_bit_for_bit():
    model, state = chain()
    whole = la.simulate(model, state, dt=5e-3, steps=40, integrator=la.Maximal())
    first = la.simulate(model, state, dt=5e-3, steps=15, integrator=la.Maximal())
    rest = la.simulate(model, first.state(), dt=5e-3, steps=25, integrator=la.Maximal())
    assert np.array_equal(rest.q, whole.q[15:]) and np.array_equal(rest.p, whole.p[15:])


def test_a_loop_that_friction_holds_stays_and_one_too_many_is_refused():
    mech = la.examples.four_bar()
    first = mech.joint_names[0]
    mech.add_force(la.DryFriction(first, 40.0))
    model = mech.compile()
    q = model.assemble({first: 1.0})
    run = la.simulate(model, dt=5e-3, steps=40, q=q, integrator=la.Maximal())
    assert np.all(run[first] == q[model.q_slice(first)]) and np.abs(run.q - q).max() < 1e-12
    assert run.constraint_error.max() < 1e-12
    mech.add_force(la.DryFriction(mech.joint_names[1], 1.0))
    with pytest.raises(la.StateError, match="not determined which of them holds.*fewer joints"):
        la.simulate(mech.compile(), dt=5e-3, steps=1, q=q, integrator=la.Maximal())


def test_random_trees_make_the_steps_of_joint_coordinates():
    rng = np.random.default_rng(5)
    for _ in range(6):
        mech = la.Mechanism(gravity=5.0 * rng.normal(size=3), name="random")
        parent = "world"
        for i in range(int(rng.integers(2, 6))):
            joint = (la.Revolute, la.Prismatic, lambda axis: la.Helical(axis, pitch=0.1))[int(rng.integers(3))](rng.normal(size=3))
            mech.add_body(f"body{i}", parent, joint, la.Pose(xyz=0.5 * rng.normal(size=3), rpy=rng.normal(size=3)), **ROD)
            mech.add_force(la.DryFriction(f"body{i}", 10.0 ** rng.uniform(-1.0, 1.5)))
            parent = f"body{i}" if rng.random() < 0.7 else parent
        model = mech.compile()
        state = model.state(0.5 * rng.normal(size=model.nq), rng.normal(size=model.nv))
        own, other = (la.simulate(model, state, dt=1e-2, steps=15, integrator=i(tol=1e-12)) for i in (la.Maximal, la.Variational))
        assert np.abs(own.q - other.q).max() < 1e-9


def test_friction_is_no_constraint():
    """Neither its rows nor their impulses are recorded as such, and a model without it has no memory for it."""
    model, state = chain()
    run = la.simulate(model, state, dt=5e-3, steps=10, integrator=la.Maximal())
    assert run.multipliers.shape == (11, 15) and run.constraint_error.max() < 1e-12
    assert la.Simulator(la.examples.chain(2).compile(), dt=1e-3, integrator=la.Maximal())._stepper.flow.rough is None


@pytest.mark.parametrize("integrator", [la.Composition(la.Maximal()), la.AdaptiveStep(la.Maximal())], ids=lambda i: type(i).__name__)
def test_what_is_still_refused(integrator):
    mech = la.examples.chain(1)
    mech.add_force(la.DryFriction("link1", 1.0))
    with pytest.raises(la.StateError, match=r"cannot let joints stick.*Maximal\(\)"):
        la.simulate(mech.compile(), dt=1e-3, steps=1, integrator=integrator)


def test_joints_that_stick_and_slide_by_turns_do_not_go_in_circles():
    """In step 98 of this chain they would, if all of them were let change at once."""
    model, state = chain()
    own, other = (la.simulate(model, state, dt=4e-3, steps=110, integrator=i(**SHARP)) for i in (la.Maximal, la.Variational))
    assert np.abs(own.q - other.q).max() < 1e-9
