"""Closed loops in maximal coordinates: they stay closed, the motion is right, the cost stays linear."""

import numpy as np
import pytest

import leastaction as la
from leastaction.assembly.closing import reduce
from leastaction.assembly.equations import Closing
from leastaction.coordinates.network import build
from leastaction.joints import ALL
from leastaction.reference.constrained import AccelerationConstraints

FOUR_BAR = (0.7853981633974483, -2.0680828567810465, -1.3045921837029306)
IN_PLANE = ((1, 0, 0), (0, 0, 1))


def closing_of(model):
    return Closing(build(model))


@pytest.mark.parametrize(
    "mech",
    [
        la.examples.four_bar_chain(3), la.examples.scissor_lift(3), la.examples.slider_crank(), la.examples.quadruped(),
        la.examples.closed_chain(10), la.examples.closed_chain(7), la.examples.closed_chain(6, ball=True), la.examples.rolling_disc(),
        la.examples.chaplygin_sleigh(),
    ],
    ids=lambda m: m.name,
)  # fmt: skip
def test_examples_are_assembled_in_their_zero_position(mech):
    model = mech.compile()
    closing = closing_of(model)
    assert np.abs(closing.errors(model.neutral())).max() < 1e-12
    assert reduce(model, model.neutral()).dropped == ()
    assert np.array_equal(model.assemble(), model.neutral())


def test_four_bar_moves_as_it_should():
    """Order two against accelerations with multipliers and small Runge-Kutta steps."""
    model = la.examples.four_bar().compile()
    q0 = model.assemble(FOUR_BAR)
    truth, _ = AccelerationConstraints(model, q0).rk4(q0, np.zeros(3), 2e-3, 200)
    errors = [
        np.abs(la.simulate(model, q=q0, dt=0.4 / n, steps=n, integrator=la.Maximal(tol=1e-12)).q[-1] - truth).max() for n in (40, 80)
    ]
    assert errors[1] < 1e-4
    assert 3.6 < errors[0] / errors[1] < 4.4


def test_loop_stays_closed_and_energy_does_not_drift():
    model = la.examples.four_bar().compile()
    run = la.simulate(model, q=model.assemble(FOUR_BAR), dt=1e-2, duration=100.0, integrator=la.Maximal())
    tip, anchor = ([la.dynamics.pose(model, q, name).p for q in run.q[::500]] for name in ("tip", "anchor"))
    assert np.abs(np.array(tip) - np.array(anchor)).max() < 1e-9
    assert run.constraint_error.max() < 1e-9
    tenth = len(run) // 10
    assert abs(run.energy[-tenth:].mean() - run.energy[:tenth].mean()) < 0.1 * np.ptp(run.energy[:tenth])


def test_velocities_and_momenta_obey_the_loop():
    """Reported velocities are allowed by the constraints, p = M v, and a restart from them changes nothing."""
    model = la.examples.four_bar().compile()
    q0 = model.assemble(FOUR_BAR)
    run = la.simulate(model, q=q0, dt=1e-2, steps=100, integrator=la.Maximal(tol=1e-12))
    closing = closing_of(model)
    assert max(np.abs(closing.jacobian(q) @ v).max() for q, v in zip(run.q[::10], run.v[::10], strict=True)) < 1e-10
    assert np.allclose(run.p[50], la.dynamics.mass_matrix(model, run.q[50]) @ run.v[50], atol=1e-12)
    again = la.simulate(model, run.state(50), dt=1e-2, steps=50, integrator=la.Maximal(tol=1e-12))
    assert np.abs(again.q[-1] - run.q[-1]).max() < 1e-9


def test_redundant_rows_are_found_and_named():
    """A planar loop closed by a revolute joint: three of its five rows say what the plane says already."""
    model = la.examples.four_bar(joint=True).compile()
    q0 = model.assemble(FOUR_BAR)
    dropped = reduce(model, q0).dropped
    assert len(dropped) == 3
    assert all("Close(Revolute" in name for name in dropped)
    stepper = la.Maximal().start(model, model.state(q0), 1e-2)
    assert stepper.redundant == dropped
    same = la.examples.four_bar().compile()
    a, b = (la.simulate(m, q=q0, dt=1e-2, steps=200, integrator=la.Maximal(tol=1e-12)) for m in (model, same))
    assert np.abs(a.q - b.q).max() < 1e-9


def test_a_passing_singularity_is_not_redundancy():
    """Rods in line: the rows are dependent there and only there."""
    mech = la.examples.four_bar(lengths=(1.0, 1.0, 1.0), anchor=1.0)
    model = mech.compile()
    flat = np.array([-np.pi / 2, np.pi, -np.pi])  # folded along x
    closing = closing_of(model)
    assert np.abs(closing.errors(flat)).max() < 1e-12
    assert np.linalg.matrix_rank(closing.jacobian(flat), tol=1e-9) == 1
    assert reduce(model, flat).dropped == ()


@pytest.mark.parametrize("joint", [j for j in ALL if j is not la.Free], ids=lambda j: j.__name__)
def test_a_joint_that_closes_is_the_joint_of_a_tree(joint):
    """A free body held by Close(joint) moves as a body on that joint."""
    rng = np.random.default_rng(8)
    kind = la.examples.random_joint(joint, rng) if joint is not la.Fixed else la.Fixed()
    placement = la.testing.random_pose(rng)
    rest = {"mass": 1.3, "com": 0.3 * rng.normal(size=3), "inertia": la.examples.random_inertia(rng)}
    closed, tree = la.Mechanism(), la.Mechanism()
    closed.add_body("body", joint=la.Free(), placement=placement, **rest)
    closed.add_frame("place", "world", placement)
    closed.add_constraint(la.Close(kind, "place", "body"))
    model = closed.compile()
    if joint is la.Fixed:
        run = la.simulate(model, dt=5e-3, steps=20, integrator=la.Maximal(tol=1e-12))
        assert np.abs(run.q - model.neutral()).max() < 1e-12
        return
    tree.add_body("body", joint=kind, placement=placement, **rest)
    other = tree.compile()
    v = 0.7 * rng.normal(size=other.nv)
    state = other.state(v=v)
    b = la.simulate(other, state, dt=5e-3, steps=60, integrator=la.Maximal(tol=1e-12))
    start = la.to_maximal(state)
    at_zero = model.state(v=start.twists[0])  # the free joint's velocity is the body's twist
    a = la.simulate(model, at_zero, dt=5e-3, steps=60, integrator=la.Maximal(tol=1e-12))
    for k in (20, 60):
        pose_a, pose_b = la.dynamics.pose(model, a.q[k], "body"), la.dynamics.pose(other, b.q[k], "body")
        assert np.abs(pose_a.p - pose_b.p).max() < 1e-10
        assert np.abs(pose_a.R - pose_b.R).max() < 1e-10


def test_gear_adds_inertias():
    """Two discs on parallel axes, q1 = r q2: a torque on the first accelerates I1 + I2 / r^2."""
    ratio, torque, i1, i2 = -2.5, 0.7, 0.3, 0.8
    mech = la.Mechanism(gravity=(0, 0, 0))
    for name, inertia in (("one", i1), ("two", i2)):
        mech.add_body(name, joint=la.Revolute(), mass=1.0, inertia=(inertia, inertia, inertia))
    mech.add_constraint(la.Gear("one", "two", ratio))
    run = la.simulate(mech.compile(), dt=1e-2, steps=500, tau=[torque, 0.0], integrator=la.Maximal())
    wanted = 0.5 * torque / (i1 + i2 / ratio**2) * run.t**2
    assert wanted[-1] > 10.0  # many turns
    assert np.abs(run["one"][:, 0] - wanted).max() < 1e-8
    assert np.abs(run["one"] - ratio * run["two"]).max() < 1e-10


def test_rack_and_pinion():
    """A gear between a revolute and a prismatic joint: force through the rack turns the pinion."""
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("rack", joint=la.Prismatic((1, 0, 0)), mass=2.0)
    mech.add_body("pinion", joint=la.Revolute((0, 1, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1))
    mech.add_constraint(la.Gear("rack", "pinion", 0.2))
    run = la.simulate(mech.compile(), dt=1e-2, steps=100, tau=[3.0, 0.0], integrator=la.Maximal())
    assert np.allclose(run["rack"][:, 0], 0.5 * 3.0 / (2.0 + 0.1 / 0.2**2) * run.t**2, atol=1e-9)


def test_distance_makes_a_pendulum():
    """A free point mass at a fixed distance against a pendulum in joint coordinates."""
    mech = la.Mechanism()
    mech.add_body("mass", joint=la.Free(), placement=la.Pose(xyz=(0.8, 0, -0.6)), mass=1.0, inertia=(0.1, 0.1, 0.1))
    mech.add_constraint(la.Distance("world", "mass", 1.0))
    run = la.simulate(mech.compile(), dt=1e-3, steps=1000, integrator=la.Maximal())
    tree = la.Mechanism()
    tree.add_body("rod", joint=la.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -1))
    start = float(np.arctan2(-0.8, 0.6))
    other = la.simulate(tree.compile(), q=[start], dt=1e-3, steps=1000)
    x, z = run.q[:, 0] + 0.8, run.q[:, 2] - 0.6
    assert np.abs(x + np.sin(other.q[:, 0])).max() < 1e-5
    assert np.abs(np.hypot(x, z) - 1.0).max() < 1e-12


def test_momentum_of_a_floating_mechanism_with_loops():
    model = la.examples.quadruped(gravity=(0, 0, 0)).compile()
    rng = np.random.default_rng(1)
    q = model.neutral()
    v = model.project_velocity(q, rng.normal(size=model.nv))
    run = la.simulate(model, q=q, v=v, dt=5e-3, steps=200, integrator=la.Maximal())
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-10 * np.abs(run.momentum[0]).max()
    assert run.constraint_error.max() < 1e-11


@pytest.mark.parametrize("elimination", ["fill-reducing", "closures-last"])
def test_chain_of_four_bars_passes_its_singular_positions(elimination):
    """Rods overlap again and again; every step converges."""
    model = la.examples.four_bar_chain(4, opening=0.6, length=0.5).compile()
    run = la.simulate(model, dt=1e-2, duration=5.0, integrator=la.Maximal(elimination=elimination))
    assert run.constraint_error.max() < 1e-9
    for k in range(1, 5):  # upper and lower rod of a segment are in line when the joint has undone the bend of its zero position
        passes = np.count_nonzero(np.diff(np.sign(run[f"left_lower{k}"][:, 0] - 2 * 0.6)))
        assert passes > 0, f"segment {k} never passes"


def test_hold_keeps_joints():
    model = la.examples.four_bar().compile()
    q = model.assemble({"rod1": 0.9, "rod2": -2.0, "rod3": -1.3}, hold=["rod1"])
    assert q[0] == 0.9
    assert np.abs(closing_of(model).errors(q)).max() < 1e-10


def test_what_cannot_be_assembled_is_named():
    model = la.examples.four_bar(lengths=(0.1, 0.1, 0.1), anchor=2.0).compile()
    with pytest.raises(la.StateError, match="Coincident"):
        model.assemble([0.5, 0.1, 0.2])


def test_inconsistent_starts_are_named():
    model = la.examples.four_bar().compile()
    with pytest.raises(la.StateError, match=r"model\.assemble"):
        la.simulate(model, q=[0.1, 0.2, 0.3], dt=1e-2, steps=1, integrator=la.Maximal())
    with pytest.raises(la.StateError, match=r"model\.project_velocity"):
        la.simulate(model, q=model.assemble(FOUR_BAR), v=[1.0, 0, 0], dt=1e-2, steps=1, integrator=la.Maximal())
