"""Joints that are only a pose: their dynamics against dense Lagrange equations, built-in joints, and themselves in other coordinates."""

import numpy as np
import pytest
from support.symbolic_samples import euler_ball, symbolic_samples

import leastaction as la
from leastaction.pose import quaternion_of_rotation
from leastaction.testing import Kinematics, check_joint, random_mechanism, random_state
from leastaction.testing import matrices as mat
from leastaction.testing.action import mass_matrix, potential
from leastaction.testing.joint_alone import JointAlone, derivative

STEP = 1e-40
PLAIN = [la.Revolute, la.Prismatic, la.Helical, la.Cylindrical, la.Universal, la.Planar]


@pytest.mark.parametrize("joint", symbolic_samples(), ids=lambda joint: joint.name)
def test_every_law_of_a_joint(joint):
    check_joint(joint)


def lagrange_acceleration(kin, q, v, tau):
    """M a + (dM/dt) v - d(v'Mv/2)/dq = tau - dP/dq, all dense."""
    M = mass_matrix(kin, q)
    slopes = [derivative(lambda x: mass_matrix(kin, q + x), e) for e in np.eye(kin.nq)]
    inertial = sum(vj * slope for vj, slope in zip(v, slopes, strict=True)) @ v - 0.5 * np.array([v @ slope @ v for slope in slopes])
    force = potential(kin, q + 1j * STEP * np.eye(kin.nq)).imag / STEP
    return np.linalg.solve(M, tau - inertial - force)


@pytest.mark.parametrize("seed", range(25))
def test_forward_dynamics_solves_the_dense_lagrange_equations(seed):
    rng = np.random.default_rng(seed)
    mech = random_mechanism(rng, int(rng.integers(1, 6)), [*PLAIN, *symbolic_samples()], forces=False)
    model = mech.compile()
    q, v = random_state(model, rng)
    tau = rng.normal(size=model.nv)
    wanted = lagrange_acceleration(Kinematics(mech), q, v, tau)
    assert np.abs(la.dynamics.forward(model, q, v, tau) - wanted).max() <= 1e-9 * np.abs(wanted).max()


def hanging(joint, n):
    mech, parent = la.Mechanism(), "world"
    for i in range(n):
        placement = la.Pose(xyz=(0, 0, -1.0 if i else 0.0))
        mech.add_body(f"link{i}", parent, joint, placement, mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 0.01))
        parent = f"link{i}"
    return mech.compile()


@pytest.mark.parametrize("built_in, pose", [
    (la.Revolute(axis=(0, 1, 0)), lambda q, sp: sp.rot_y(q[0])),
    (la.Universal(axis1=(1, 0, 0), axis2=(0, 1, 0)), lambda q, sp: sp.rot_x(q[0]) @ sp.rot_y(q[1])),
    (la.Planar(normal=(0, 1, 0), x_axis=(1, 0, 0)), lambda q, sp: sp.move(q[0], 0, -q[1]) @ sp.rot_y(q[2])),
], ids=["revolute", "universal", "planar"])  # fmt: skip
def test_a_built_in_joint_written_as_a_pose_moves_the_same_way(built_in, pose):
    written = la.SymbolicJoint(f"written {type(built_in).__name__}", pose, built_in.nq)
    runs = []
    for joint in (built_in, written):
        model = hanging(joint, 3)
        q = 0.3 * np.cos(np.arange(model.nq))
        runs.append(la.simulate(model, dt=1e-3, duration=1.0, q=q, integrator=la.Variational(tol=1e-13)))
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-12 * max(1.0, np.abs(runs[0].q).max())


def one_of_each():
    """A tree of all samples and a revolute joint between them."""
    rng = np.random.default_rng(5)
    mech, parent = la.Mechanism(gravity=(0, 0, -3.0)), "world"
    for k, joint in enumerate([*symbolic_samples(), la.Revolute(axis=(1, 1, 0))]):
        mech.add_body(
            f"body{k}", parent, joint, la.Pose(0.3 * rng.normal(size=3), quaternion=rng.normal(size=4)),
            mass=1.0, com=0.1 * rng.normal(size=3), inertia=la.examples.random_inertia(rng),
        )  # fmt: skip
        parent = f"body{k // 2}"
    return mech.compile()


def test_order_two(discretisation):
    model = one_of_each()
    q, v = random_state(model, np.random.default_rng(1), speed=0.5)

    def end(dt):
        return la.simulate(model, dt=dt, duration=0.2, q=q, v=v, integrator=la.Variational(**discretisation, tol=1e-12)).q[-1]

    exact = la.simulate(model, dt=2e-4, duration=0.2, q=q, v=v, integrator=la.RK4()).q[-1]
    errors = [np.abs(end(dt) - exact).max() for dt in (4e-3, 2e-3)]
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2, errors


def test_energy_stays_bounded():
    model = one_of_each()
    q, _ = random_state(model, np.random.default_rng(1))
    run = la.simulate(model, dt=1e-3, duration=0.7, q=q)
    swing = np.ptp(run.potential)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-3 * swing


# ------------------------------------------------------------------------------------------------------- charts


def pendulum(ball):
    """A heavy body on a ball joint with a second one hinged to it."""
    mech = la.Mechanism()
    mech.add_body("top", joint=ball, mass=1.0, com=(0.1, 0.05, -0.5), inertia=(0.02, 0.03, 0.01))
    mech.add_body("tail", "top", la.Revolute(axis=(1, 0, 0)), la.Pose(xyz=(0, 0, -0.7)), mass=0.5, com=(0, 0, -0.2), inertia=(0.01,) * 3)
    return mech.compile()


START, RATES = np.array([0.1, 0.2, 0.3]), np.array([0.3, 7.0, 0.5])  # angles, and a body velocity that swings it over the top


def test_chart_switch_passes_gimbal_lock_like_a_ball_joint():
    """The discrete action knows poses, not coordinates: both runs differ by rounding, however often the chart changes."""
    joint = euler_ball(charts=2)
    model, reference = pendulum(joint), pendulum(la.Spherical())
    S = joint.columns(START)[:, :3]
    integrator = la.Variational(tol=1e-12)
    run = la.simulate(
        model, dt=1e-3, duration=5.0, q={"top": (*START, 0)}, v={"top": np.linalg.solve(S.T, RATES)}, integrator=integrator
    )
    quaternion = quaternion_of_rotation(joint.reference_pose(START)[:3, :3])
    ball = la.simulate(reference, dt=1e-3, duration=5.0, q={"top": quaternion}, v={"top": RATES}, integrator=integrator)
    changes = np.abs(np.diff(run.q[:, 3])).sum()
    assert changes >= 4
    for k in range(0, len(run.t), 50):
        pose = joint.reference_pose(run.q[k, :3], int(run.q[k, 3]))[:3, :3]
        assert np.abs(pose - mat.quaternion_matrix(ball.q[k, :4])).max() < 1e-9
    assert np.abs(run.energy - ball.energy).max() < 1e-9
    assert run.iterations.max() <= 12


SLOW = pytest.param(la.Variational(quadrature="midpoint"), marks=pytest.mark.slow)


@pytest.mark.parametrize("integrator", [la.RK4(), la.RKMK4(), SLOW], ids=repr)
def test_every_integrator_changes_charts(integrator):
    joint = euler_ball(charts=2)
    model = pendulum(joint)
    velocity = np.linalg.solve(joint.columns(START)[:, :3].T, RATES)
    run = la.simulate(model, dt=1e-3, duration=3.0, q={"top": (*START, 0)}, v={"top": velocity}, integrator=integrator)
    assert np.abs(np.diff(run.q[:, 3])).sum() >= 2
    assert np.abs(run.energy - run.energy[0]).max() < 2e-2 * np.ptp(run.kinetic)


@pytest.mark.parametrize("chart", [0, 1])
def test_columns_bend_as_the_present_chart_says(chart):
    joint = euler_ball(charts=2)
    alone, rng = JointAlone(joint), np.random.default_rng(0)
    q, d, wrench = joint.in_chart([*START, 0.0], chart), 0.1 * rng.normal(size=3), rng.normal(size=6)
    got = alone.mid_curvature(q, d, wrench)
    for l, e in enumerate(np.eye(3)):
        wanted = derivative(lambda x: alone.mid_columns(q, d + x)[0] @ wrench, e)
        assert np.abs(got[:, l] - wanted).max() < 1e-9


def test_without_a_second_chart_the_singular_joint_is_named():
    model = pendulum(euler_ball())
    locked = {"top": (0.0, np.pi / 2, 0.0)}
    with pytest.raises(la.SingularMassError, match="joint 'top' .*yaw, pitch, roll.* singular at .* second_chart"):
        la.dynamics.forward(model, locked, {"top": (1.0, 0.3, 0.2)})
    with pytest.raises(la.SingularMassError, match="start of the simulation is singular: .* joint 'top'"):
        la.simulate(model, dt=1e-3, duration=1.0, q=locked)
    assert la.dynamics.condition(model, locked)["top"] > 1e12
    assert la.dynamics.condition(model)["tail"] == pytest.approx(1.0)


def test_a_step_that_fails_near_gimbal_lock_names_the_joint():
    model = pendulum(euler_ball())
    state = model.state(q={"top": (0.0, np.pi / 2 - 1e-3, 0.0)}, v={"top": (300.0, 5.0, 0.0)})
    with pytest.raises(la.ConvergenceError, match="joint 'top' .* nearly singular .* second_chart"):
        la.simulate(model, state, dt=2e-2, duration=1.0)


def test_a_motion_that_overflows_is_not_blamed_on_coordinates():
    model = pendulum(euler_ball())
    assert la.dynamics.explain_singular(model, np.full(model.nq, np.nan)) == ""
