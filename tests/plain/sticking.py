"""Reactions with dry friction: what holds a joint at rest, and what acts against one that slides."""

from itertools import product

import numpy as np
import pytest

import leastaction as la
from leastaction.reactions.sticking import bounded, dry_friction
from leastaction.reference import pendulum

INTEGRATORS = [
    la.Variational(), la.Variational(quadrature="midpoint"), la.Midpoint(), la.Maximal(), la.Maximal(quadrature="midpoint"), la.Trapezoid(),
    la.FloatingBase(),
]  # fmt: skip
every_integrator = pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: repr(i).split(", tol")[0])
ROD = {"mass": 1.0, "com": (0.2, 0.1, -0.3), "inertia": (0.1, 0.12, 0.08)}
WEIGHT = 9.81


def block(friction=3.0, slope=0.0, **options):
    """2 kg on a plane that falls off along x."""
    mech = la.Mechanism(gravity=(WEIGHT * np.sin(slope), 0.0, -WEIGHT * np.cos(slope)))
    mech.add_body("block", joint=la.Prismatic((1, 0, 0)), mass=2.0, inertia=(0.1, 0.1, 0.1), **options)
    mech.add_force(la.DryFriction("block", friction))
    return mech.compile()


def chain(*friction, servo=False):
    mech = la.examples.chain(len(friction))
    for name, torque in zip(mech.joint_names, friction, strict=True):
        if torque:
            mech.add_force(la.DryFriction(name, torque))
    if servo:
        mech.add_servo(la.Servo(mech.joint_names[-1], kp=20.0, kd=0.5, target=0.4))
    return mech.compile()


def drives(run):
    """(T, nv)"""
    return np.concatenate([run.reactions[name].drive for name in run.model.joint_names], axis=1)


# ------------------------------------------------------------------------------------------------------------------ a block


@every_integrator
def test_what_holds_a_block_is_the_opposite_of_what_pushes_it(integrator):
    push = np.linspace(-2.9, 2.9, 30)[:, None]
    run = la.simulate(block(), dt=1e-2, steps=30, tau=push, integrator=integrator)
    assert np.all(run.q == 0.0)
    # along its freedom a joint carries the push and the friction: nothing together
    assert np.abs(drives(run)).max() < 1e-12
    on_a_slope = la.simulate(block(slope=0.1), dt=1e-2, steps=5, integrator=integrator)
    assert np.abs(drives(on_a_slope) + 2.0 * WEIGHT * np.sin(0.1)).max() < 1e-12
    assert np.abs(on_a_slope.reactions["block"].force[:, 2] - 2.0 * WEIGHT * np.cos(0.1)).max() < 1e-12


@every_integrator
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_block_that_slides_is_slowed_down_by_its_friction_until_it_rests(integrator, way):
    run = la.simulate(block(), dt=1e-2, duration=1.5, v=[1.7 * way], integrator=integrator)
    moves = np.append(np.diff(run.q[:, 0]) != 0.0, False)
    stops = int(np.argmin(moves))
    assert 110 < stops < 118  # after 1.7 / (3 / 2) s
    drive = drives(run)[:, 0]
    assert np.abs(drive[: stops - 1] + 3.0 * way).max() < 1e-12
    assert np.abs(drive[stops:]).max() < 1e-12


@every_integrator
def test_a_block_that_is_pushed_too_much_slides_from_the_first_node(integrator):
    """With a rotor of 1 kg, which is accelerated by what the bearing does not carry."""
    run = la.simulate(block(armature=1.0), dt=1e-2, steps=10, tau=[-4.5], integrator=integrator)
    assert np.abs(drives(run) - 2.0 * (-4.5 + 3.0) / 3.0).max() < 1e-12


def test_a_servo_and_friction_together():
    """Below the breakaway force nothing moves, and what both do together is what gravity asks for."""
    run = la.simulate(chain(12.0, 0.3, servo=True), dt=1e-2, duration=4.0, q=[0.3, 0.1], record_every=50)
    assert np.array_equal(run.q[-1], run.q[-2]) and np.abs(run.v[-1]).max() < 1e-12
    assert np.abs(drives(run)[-1] - la.dynamics.inverse(run.model, run.q[-1], None, None)).max() < 1e-9
    assert not run.reactions.discrete


# ----------------------------------------------------------------------------------------------------------- several joints


@every_integrator
def test_an_arm_that_friction_holds_hangs_in_its_joints(integrator):
    run = la.simulate(chain(40.0, 6.0), dt=1e-2, steps=5, q=[0.4, 0.3], integrator=integrator)
    assert np.all(run.q == run.q[0])
    assert np.abs(drives(run) - la.dynamics.inverse(run.model, run.q[0], None, None)).max() < 1e-9
    assert np.abs(drives(run)).min() > 1.0
    for k, name in enumerate(run.model.joint_names):  # two rods of 1 kg hang in the first joint, one in the second
        assert np.abs(run.reactions[name].force - [0.0, 0.0, (2 - k) * WEIGHT]).max() < 1e-9
    moment = run.reactions["link2"].moment[:, 1] - 0.5 * WEIGHT * np.sin(0.7)
    assert np.abs(moment).max() < 1e-9


@every_integrator
def test_a_joint_is_held_while_the_next_one_swings(integrator):
    """Its velocity at the nodes is that of the error of a step, and what holds it that of the second link's motion, with order two."""
    model, errors = chain(1e3, 0.0), []
    bare = la.examples.chain(2).compile()
    for dt in (0.02, 0.01):
        run = la.simulate(model, dt=dt, duration=0.6, q=[0.3, 0.6], v=[0.0, 1.0], integrator=integrator)
        assert np.all(run.q[:, 0] == 0.3)
        squared = 1.5 * WEIGHT  # (rad/s)^2 of small swings of a rod of 1 m
        angle, rate = pendulum.motion(run.t, 0.9, 1.0, np.sqrt(squared))
        exact = [
            la.dynamics.inverse(bare, [0.3, x - 0.3], [0.0, y], [0.0, -squared * np.sin(x)])[0] for x, y in zip(angle, rate, strict=True)
        ]
        errors.append(np.abs(drives(run)[:, 0] - exact).max())
    assert errors[1] < 0.02 and 1.7 < np.log2(errors[0] / errors[1]) < 2.3


def tree(rng):
    """A random tree with friction in most coordinates, and the same one without."""
    mech, parent, friction = la.Mechanism(gravity=5.0 * rng.normal(size=3), name="random"), "world", []
    for i in range(int(rng.integers(2, 6))):
        joint = (la.Revolute, la.Prismatic, lambda axis: la.Helical(axis, pitch=0.1))[int(rng.integers(3))](rng.normal(size=3))
        mech.add_body(f"body{i}", parent, joint, la.Pose(xyz=0.5 * rng.normal(size=3), rpy=rng.normal(size=3)), **ROD)
        friction.append(10.0 ** rng.uniform(-0.5, 2.0) if rng.random() < 0.8 else 0.0)
        parent = f"body{i}" if rng.random() < 0.7 else parent
    bare = mech.compile()
    for name, force in zip(mech.joint_names, friction, strict=True):
        if force:
            mech.add_force(la.DryFriction(name, force))
    return mech.compile(), bare, np.array(friction)


def test_random_trees_obey_the_law_of_friction():
    """The drives are those forces, and a tree without friction that is driven by them accelerates as the law of friction says."""
    rng, held, slid, apart = np.random.default_rng(3), 0, 0, 0
    for _ in range(12):
        model, bare, most = tree(rng)
        start = model.state(0.5 * rng.normal(size=model.nq), 3.0 * rng.normal(size=model.nv))
        run = la.simulate(model, start, dt=5e-3, steps=40, integrator=la.Variational(tol=1e-12))
        found = drives(run)
        assert np.all(np.abs(found) <= most + 1e-9 * (1.0 + most.max()))
        steps = np.diff(run.q, axis=0)
        for k in range(1, 40):
            a = la.dynamics.forward(bare, run.q[k], run.v[k], found[k])
            inside = np.abs(found[k]) < most * (1.0 - 1e-6)
            assert np.abs(a[inside]).max(initial=0.0) < 1e-7 * (1.0 + np.abs(a).max())
            rests = (most > 0.0) & (steps[k - 1] == 0.0) & (steps[k] == 0.0)
            slides = (most > 0.0) & (steps[k - 1] * steps[k] > 0.0)
            held, slid = held + int(rests.sum()), slid + int(slides.sum())
            against = np.abs(found[k] + np.sign(steps[k]) * most) < 1e-6 * (1.0 + most)
            apart += int((rests & ~inside).sum() + (slides & ~against).sum())
    assert held > 400 and slid > 500
    assert apart < 0.01 * (held + slid)  # only next to nodes where a joint stops, starts or turns round


def test_forces_between_bounds_are_those_of_an_exhaustive_search():
    rng = np.random.default_rng(7)
    for n in (1, 2, 3, 4, 5):
        for _ in range(20):
            root = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-1, 1, size=n)
            A, b = root.T @ root, 10.0 ** rng.uniform(-1, 1) * rng.normal(size=n)
            high = 10.0 ** rng.uniform(-1.5, 1.5, size=n)
            found = []
            for sides in product((-1, 0, 1), repeat=n):
                x, free = high * sides, np.equal(sides, 0)
                x[free] = np.linalg.solve(A[np.ix_(free, free)], -(b + A @ x)[free])
                r = A @ x + b
                if np.all(np.abs(x) <= high) and np.all((r * sides)[~free] <= 0.0):
                    found.append(x)
            assert len(found) == 1
            assert np.abs(bounded(A, b, -high, high) - found[0]).max() < 1e-9 * high.max()


def test_joints_that_hold_the_same_share_it():
    """Where forces are not determined, their sum is."""
    x = bounded(np.ones((2, 2)), np.array([-1.0, -1.0]), -np.ones(2), np.ones(2))
    assert np.abs(x - 0.5).max() < 1e-12
    assert np.array_equal(bounded(np.ones((2, 2)), np.array([-3.0, -3.0]), -np.ones(2), np.ones(2)), np.ones(2))


# -------------------------------------------------------------------------------------------------------------- constraints


def four_bar(friction, joint=False):
    mech = la.examples.four_bar(joint=joint)
    if friction:
        mech.add_force(la.DryFriction("rod1", friction))
    model = mech.compile()
    return model, model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})


@every_integrator
@pytest.mark.parametrize("joint", [False, True], ids=["pin", "hinge"])
def test_a_linkage_that_friction_holds(integrator, joint):
    """Statics: the pin keeps the joints without friction, the friction the rest.  A hinge carries rows that say nothing in the plane."""
    model, q = four_bar(40.0, joint)
    run = la.simulate(model, dt=1e-2, steps=4, q=q, integrator=integrator)
    assert np.abs(run.q - q).max() < 1e-11
    weight, J = la.dynamics.inverse(model, q, None, None), la.constraints.jacobian(model, q)
    rest = model.tree.friction == 0.0
    multipliers = np.linalg.lstsq(J[:, rest].T, weight[rest], rcond=1e-9)[0]
    hold = (weight - J.T @ multipliers)[~rest]
    assert 1.0 < abs(hold[0]) < 40.0
    assert np.abs(run.reactions["rod1"].drive[:, 0] - hold[0]).max() < 1e-8
    assert np.abs(run.reactions["rod2"].drive).max() < 1e-8 and np.abs(run.reactions["rod3"].drive).max() < 1e-8
    assert np.abs(run.reactions[0].multipliers - multipliers).max() < 1e-8


@every_integrator
def test_reactions_of_a_linkage_that_slides_converge(integrator):
    """To those of the same linkage with the friction as a joint force, by small steps of an explicit integrator, while it turns one way."""
    model, q = four_bar(2.0)
    bare, _ = four_bar(0.0)
    v = model.project_velocity(q, {"rod1": 3.0})
    fine = la.simulate(bare, dt=2.5e-3, duration=0.16, q=q, v=v, tau=[-2.0, 0.0, 0.0], integrator=la.RK4())
    assert fine.v[:, 0].min() > 0.3
    errors = []
    for dt in (0.02, 0.01, 0.005):
        run = la.simulate(model, dt=dt, duration=0.16, q=q, v=v, integrator=integrator)
        errors.append(np.abs(run.reactions[0].force - fine.reactions[0].force[:: round(dt / 2.5e-3)]).max())
        assert np.abs(run.reactions["rod1"].drive + 2.0).max() < 1e-8
    assert np.abs(np.log2(errors[:2]) - np.log2(errors[1:]) - 2.0).max() < 0.1 and errors[2] < 2e-4


ROWS = {
    "Gear": la.Gear("fast", "slow", 2.0),
    "VelocityConstraint": la.VelocityConstraint("twice", ["slow", "fast"], lambda q, v, sp: v[1] - 2 * v[0]),
}


@pytest.mark.parametrize("integrator", [la.Variational(), la.Maximal()], ids=lambda i: type(i).__name__)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("push", [1.4, 1.6])
def test_friction_behind_a_row_on_coordinates_or_velocities(integrator, row, push):
    """The second slide goes twice as fast as the first: what pushes it counts twice there."""
    mech = la.Mechanism(gravity=(0.0, 0.0, 0.0))
    for name in ("slow", "fast"):
        mech.add_body(name, joint=la.Prismatic((1, 0, 0)), **ROD)
    mech.add_constraint(ROWS[row])
    mech.add_force(la.DryFriction("slow", 3.0))
    model = mech.compile()
    run = la.simulate(model, dt=1e-2, steps=5, tau=[0.0, push], integrator=integrator)
    hold = min(2.0 * push, 3.0)
    assert (run.q[-1, 0] == 0.0) == (push < 1.5)
    a = (2.0 * push - hold) / 5.0
    # the drive holds what the row does to both slides, too
    assert np.abs(drives(run) - [a, 2.0 * a]).max() < 1e-9


def test_reactions_of_a_simulator():
    sim = la.Simulator(chain(40.0, 6.0), dt=1e-2, q=[0.4, 0.3])
    sim.step()
    assert np.abs(sim.reactions["link2"].drive - 0.5 * WEIGHT * np.sin(0.7)).max() < 1e-9


def test_nothing_is_known_where_accelerations_are_not():
    forces = dry_friction(np.array([0.0, 1.0]), np.zeros(2), 1e-2, lambda forces: np.array([0.0, np.inf]) + forces)
    assert forces[0] == 0.0 and np.isnan(forces[1])
