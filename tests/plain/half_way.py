"""Midpoint quadrature in maximal coordinates: the same steps as in joint coordinates, the exact Newton matrix, stability."""

import numpy as np
import pytest
from conformance.matrix import CONSTRAINTS, FORCES, MORE_CONSTRAINTS, model_of
from support.maximal import end_at, place_step
from support.symbolic_samples import symbolic_samples

import leastaction as la
from leastaction.coordinates.network import build
from leastaction.errors import StateError
from leastaction.kernels.maximal import evaluate as kernels
from leastaction.lie.retractions import NAMES
from leastaction.testing import Kinematics, arriving_momentum, leaving_momentum, random_mechanism, random_state

MIDPOINT = {"quadrature": "midpoint", "tol": 1e-12}
EVERY_JOINT = [*(j for j in la.joints.ALL if j is not la.Fixed), *symbolic_samples()]
NONHOLONOMIC = ("Skate", "Rolling", "RollingBall", "VelocityConstraint")


def differences(model, start, dt, steps, retraction="exp", **options):
    """Of q and p of all nodes between maximal and joint coordinates."""
    own, other = (
        la.simulate(model, start, dt=dt, steps=steps, integrator=kind(retraction, **MIDPOINT), **options)
        for kind in (la.Maximal, la.Variational)
    )
    return np.abs(own.q - other.q).max(), np.abs(own.p - other.p).max() / (1.0 + np.abs(other.p).max())


@pytest.mark.parametrize("seed", range(12))
def test_the_same_steps_on_random_trees(seed):
    """Every joint and every force that has a potential; long steps too, where the two quadratures are far apart."""
    rng = np.random.default_rng(seed)
    model = random_mechanism(rng, 4, joints=EVERY_JOINT, potentials=True, armatures=True).compile()
    start, dt = model.state(*random_state(model, rng)), (4e-3, 2e-2)[seed % 2]
    off_q, off_p = differences(model, start, dt, 5, sorted(NAMES)[seed // 2 % 2])
    assert off_q < 1e-9 and off_p < 1e-9


@pytest.mark.parametrize("constraint", [c for c in (*CONSTRAINTS, *MORE_CONSTRAINTS) if c not in ("none", *NONHOLONOMIC)])
def test_the_same_steps_with_constraints(constraint):
    """On a ball, a gimbal, a floating body and a joint given by its pose, under a spring between points."""
    joint = ["Spherical", "Universal", "Free", "symbolic-2"][sum(map(ord, constraint)) % 4]
    off_q, off_p = differences(*model_of(joint, constraint, force="LinearSpring"), 2e-2, 4)
    assert off_q < 1e-9 and off_p < 1e-9


@pytest.mark.parametrize("constraint", ["Skate", "Rolling", "RollingBall"])
def test_the_same_steps_with_constraints_on_velocities(constraint):
    off_q, off_p = differences(*model_of("Revolute", constraint, force="Spring"), 1e-2, 4)
    assert off_q < 1e-8 and off_p < 1e-7


def cam_of_no_slope():
    """The row of the cam does not move the joint it ends with."""
    mech = la.examples.chain(3)
    mech.add_constraint(la.Cam("link1", "link3", lambda x, sp: x**2 + 0.3))
    return mech.compile(), {"link1": 0.3, "link2": 0.4}


def sticking_cam():
    mech = la.Mechanism(name="star")
    mech.add_body("base", joint=la.Revolute((0, 1, 0)), mass=1.0, com=(0.0, 0.0, -0.2), inertia=(0.1, 0.1, 0.1))
    for k in range(3):
        rod = {"mass": 0.5, "com": (0.0, 0.0, -0.1), "inertia": (0.01, 0.01, 0.01)}
        mech.add_body(f"arm{k}", "base", la.Revolute((1, 0, 0)), la.Pose(xyz=(0.3 * k, 0.0, -0.4)), **rod)
    mech.add_constraint(la.Cam("base", "arm1", lambda x, sp: sp.sin(x) + 0.1))
    mech.add_force(la.DryFriction("arm1", 5.0))
    return mech.compile(), {"base": 0.1, "arm0": 0.5}


def sticking_gear():
    mech = la.examples.chain(3)
    mech.add_constraint(la.Gear("link1", "link3", ratio=2.0))
    mech.add_force(la.DryFriction("link3", 3.0))
    return mech.compile(), {"link2": 0.5}


@pytest.mark.parametrize("make", [cam_of_no_slope, sticking_cam, sticking_gear], ids=lambda f: f.__name__)
def test_coordinates_of_joints_on_the_world_may_be_coupled(make):
    """Their row is eliminated when both bodies are: before, its pivot was zero, or all there was of it the slope of the cam."""
    model, q = make()
    start = model.state(model.assemble(q, hold=q.keys()))
    off_q, off_p = differences(model, start, 1e-2, 6)
    assert off_q < 1e-9 and off_p < 1e-9
    run = la.simulate(model, start, dt=1e-2, steps=6, integrator=la.Maximal(**MIDPOINT))
    assert run.iterations.max() < 12


@pytest.mark.parametrize("drive", ["servo", "friction"])
@pytest.mark.parametrize("constraint", ["none", "Coincident"])
def test_the_same_steps_with_servos_and_dry_friction(drive, constraint):
    off_q, off_p = differences(*model_of("Universal", constraint, drive, "NonlinearSpring"), 1e-2, 6)
    assert off_q < 1e-9 and off_p < 1e-9


@pytest.mark.parametrize("force", [f for f in FORCES if f != "none"])
def test_the_same_steps_with_every_force(force):
    off_q, off_p = differences(*model_of("Spherical", "none", force=force), 2e-2, 4)
    assert off_q < 1e-9 and off_p < 1e-9


def test_energies_of_joints_far_apart():
    """What they depend on is coupled, and so are the bodies before those joints."""
    mech = la.examples.chain(6)
    mech.add_force(la.UserPotential(lambda q, sp: 40 * (1 - sp.cos(q[0] - 2 * q[1])) + 5 * q[2] ** 2, ["link2", "link6", "link4"]))
    model = mech.compile()
    off_q, off_p = differences(model, model.state(0.2 * np.arange(6.0) - 0.5), 2e-2, 5)
    assert off_q < 1e-9 and off_p < 1e-9


def test_gears_and_motors_on_loops():
    model = la.examples.four_bar_chain(2).compile()
    start = model.state(model.assemble(model.neutral()))
    tau = np.linspace(-1.0, 1.0, model.nv)
    off_q, off_p = differences(model, start, 2e-2, 5, tau=tau)
    assert off_q < 1e-9 and off_p < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_momenta_are_derivatives_of_the_discrete_action(seed):
    """Of the action on the user's description, by complex steps: p = -D1 Ld of the step behind a node, D2 Ld of the one before it."""
    rng = np.random.default_rng(30 + seed)
    mech = random_mechanism(rng, 3, joints=EVERY_JOINT[:-1], potentials=True)
    model, dt = mech.compile(), 2e-2
    start = model.state(*random_state(model, rng))
    run = la.simulate(model, start, dt=dt, steps=3, integrator=la.Maximal(**MIDPOINT))
    for k in range(3):
        ends = (mech, run.q[k], run.q[k + 1], dt)
        assert np.abs(leaving_momentum(*ends, quadrature="midpoint") - run.p[k]).max() < 1e-9 * (1.0 + np.abs(run.p[k]).max())
        assert np.abs(arriving_momentum(*ends, quadrature="midpoint") - run.p[k + 1]).max() < 1e-9 * (1.0 + np.abs(run.p[k + 1]).max())


# ------------------------------------------------------------------------------------------------------------ Newton matrix


def newton_matrix(network, flow, h):
    """On the unknowns of the step: what is half way eliminated from the matrix of the linear system."""
    kernels.residual_entry(network.model.tree, network.net, flow, h, 0.0, 0)
    kernels.matrix_entry(network.model.tree, network.net, flow, h, 0)
    A, n = network.dense_matrix(flow), len(flow.d)
    return A[:n, :n] - A[:n, n:] @ np.linalg.solve(A[n:, n:], A[n:, :n])


def turned(c, e, x):
    """Cayley vector of the rotation c with a turn by x about its axis e behind it."""
    a, b = np.append(1.0, c / 2), np.zeros(4)
    b[0], b[1 + e] = np.cos(x / 2), np.sin(x / 2)
    w, u = a[0] * b[0] - a[1:] @ b[1:], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return 2.0 * u / w


def matrix_by_differences(network, flow, h, reach=2e-3):
    """Order six, end poses varied left-trivialised."""
    d, bodies, columns = flow.d.copy(), 6 * len(network.model.bodies), []

    def residual(j, x):
        flow.d[:] = d
        if j < bodies and j % 6 < 3:
            flow.d[j - j % 6 : j - j % 6 + 3] = turned(d[j - j % 6 : j - j % 6 + 3], j % 6, x)
        elif j < bodies:
            first = j - j % 6
            c = d[first : first + 3]
            flow.d[first + 3 : first + 6] += x * rotation(c)[:, j % 6 - 3]
        else:
            flow.d[j] += x
        kernels.residual_entry(network.model.tree, network.net, flow, h, 0.0, 0)
        return flow.r[: len(d)].copy()

    for j in range(len(d)):
        near, far, farther = (residual(j, s * reach) - residual(j, -s * reach) for s in (1.0, 2.0, 3.0))
        columns.append((45.0 * near - 9.0 * far + farther) / (60.0 * reach))
    flow.d[:] = d
    return np.array(columns).T


def rotation(c):
    hat = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]]) / 2
    return np.linalg.solve(np.eye(3) - hat, np.eye(3) + hat)


def a_step(mech, rng, order="fill-reducing"):
    """A step between two configurations that the joints allow, far apart; the other unknowns anything."""
    model = mech.compile()
    network = build(model, order=order, middle=True)
    q, _ = random_state(model, rng)
    flow = place_step(network, q, rng)
    end_at(network, flow, Kinematics(mech).advanced(q, 0.3 * rng.normal(size=model.nv)))
    return network, flow


@pytest.mark.parametrize("joint", EVERY_JOINT, ids=lambda j: getattr(j, "__name__", None) or j.name)
def test_the_newton_matrix_is_exact(joint):
    """With springs of all kinds, which couple bodies that no joint connects."""
    rng, h = np.random.default_rng(3), 0.3
    network, flow = a_step(random_mechanism(rng, 3, joints=(joint,), potentials=True), rng)
    wanted = matrix_by_differences(network, flow, h)
    assert np.abs(newton_matrix(network, flow, h) - wanted).max() < (1e-7 if joint is EVERY_JOINT[-2] else 1e-9) * np.abs(wanted).max()


@pytest.mark.parametrize("order", ["fill-reducing", "closures-last"])
def test_the_elimination_solves_it(order):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        mech = random_mechanism(rng, 6, joints=EVERY_JOINT, potentials=True)
        mech.add_constraint(la.Distance("body1", "body6", 0.7))
        network, flow = a_step(mech, rng, order)
        kernels.residual_entry(network.model.tree, network.net, flow, 0.1, 0.0, 0)
        kernels.matrix_entry(network.model.tree, network.net, flow, 0.1, 0)
        A = network.dense_matrix(flow)
        flow.r[:] = rng.normal(size=len(flow.r))
        kernels.solve_entry(network.net, flow)
        assert np.abs(A @ flow.z - flow.r).max() < 1e-9 * np.abs(A).max() * np.abs(flow.z).max()


@pytest.mark.parametrize("example", [la.examples.chain, la.examples.four_bar_chain])
def test_the_fronts_grow_in_proportion_to_the_length(example):
    sizes = {n: build(example(n).compile(), middle=True).tables.size for n in (10, 20, 40)}
    assert sizes[40] - sizes[20] <= 1.1 * 2 * (sizes[20] - sizes[10])


# ------------------------------------------------------------------------------------------------------------------- motion


def oscillator(frequency):
    mech = la.Mechanism(gravity=(0.0, 0.0, 0.0))
    mech.add_body("mass", joint=la.Prismatic(axis=(1, 0, 0)), mass=2.0)
    mech.add_force(la.Spring("mass", 2.0 * frequency**2))
    return mech.compile()


@pytest.mark.parametrize("h_omega", [1.0, 2.1, 20.0, 1000.0])
def test_a_spring_of_any_stiffness_is_stable(h_omega):
    """(w q)^2 + v^2 is kept exactly by the midpoint, while the trapezoid grows beyond h w = 2."""
    model, dt = oscillator(h_omega / 0.05), 0.05
    run = la.simulate(model, dt=dt, steps=60, q=[1e-3], integrator=la.Maximal(quadrature="midpoint"))
    assert np.abs(run.q).max() < 1e-3 * (1.0 + 1e-9)
    assert np.abs(run.energy / run.energy[0] - 1.0).max() < 1e-8
    if h_omega == 2.1:
        assert np.abs(la.simulate(model, dt=dt, steps=60, q=[1e-3], integrator=la.Maximal()).q).max() > 1.0


def test_a_chain_that_is_too_stiff_for_the_trapezoid_swings():
    """20 links under tension at 50 ms: h omega = 0.05 sqrt(20 * 9.81 ...) > 2 across."""
    model = la.examples.chain(20, spatial=True).compile()
    run = la.simulate(model, dt=0.05, duration=1.0, q={"link1": np.pi / 4}, integrator=la.Maximal(quadrature="midpoint"))
    assert np.abs(run.energy - run.energy[0]).max() < 0.05 * run.kinetic.max()


@pytest.mark.parametrize("retraction", ["exp", "cayley", "quaternion"])
def test_order_and_reversal(retraction):
    model = la.examples.chain(2, spatial=True).compile()
    start = model.state(0.6 * np.random.default_rng(1).normal(size=model.nq), 0.5 * np.random.default_rng(2).normal(size=model.nv))
    truth = la.simulate(model, start, dt=1e-3, duration=0.2, integrator=la.RK4()).q[-1]
    errors = []
    for steps in (10, 20, 40):
        run = la.simulate(model, start, dt=0.2 / steps, steps=steps, integrator=la.Maximal(retraction, **MIDPOINT))
        errors.append(np.abs(run.q[-1] - truth).max())
    assert np.allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.1), errors
    sim = la.Simulator(model, start, dt=0.02, integrator=la.Maximal(retraction, **MIDPOINT))
    sim.run(10)
    sim.reverse()
    sim.run(10)
    assert np.abs(sim.q - start.q).max() < 1e-9


def stiff_springs(mech, k):
    for i, name in enumerate(mech.joint_names):
        mech.add_force(la.Spring(name, k, rest=0.4 + 0.1 * i))


def stiff_spring_between_points(mech, k):
    stiff_springs(mech, 1e3)
    mech.add_frame("end", "link6", la.Pose(xyz=(0.0, 0.0, -1.0)))
    mech.add_force(la.LinearSpring("end", "world", k, 2.0))


def stiff_energy(mech, k):
    stiff_springs(mech, 1e3)
    mech.add_force(la.UserPotential(lambda q, sp: k / 2 * (q[0] - q[1] - 0.2) ** 2, ["link2", "link5"]))


def large_force(mech, k):
    mech.add_force(la.Wrench("link6", force=(k, 0.0, 0.3 * k), frame="world"))


@pytest.mark.parametrize("k", [1e4, 1e8])
@pytest.mark.parametrize("add", [stiff_springs, stiff_spring_between_points, stiff_energy, large_force], ids=lambda f: f.__name__)
def test_large_forces_that_hold_a_chain_at_rest(add, k):
    """Nothing moves, and what rounding makes of large forces that cancel is no residual to be solved."""
    mech = la.examples.chain(6)
    add(mech, k)
    model = mech.compile()
    q = model.equilibrium(np.full(model.nv, 0.3))
    for seed in range(3):  # other roundings
        start = q + 1e-16 * np.random.default_rng(seed).normal(size=q.size)
        run = la.simulate(model, dt=0.05, steps=4, q=start, integrator=la.Maximal(**MIDPOINT))
        assert np.abs(run.q - q).max() < 1e-7 and run.iterations.max() <= 4


# ------------------------------------------------------------------------------------------------- what is built on a step


def test_compositions_and_steps_of_changing_length():
    model, start = model_of("Spherical", "Coincident", force="LinearSpring")
    for around in (la.Composition, la.AdaptiveStep):
        own, other = (
            la.simulate(model, start, dt=1e-2, steps=4, integrator=around(kind(**MIDPOINT))) for kind in (la.Maximal, la.Variational)
        )
        assert np.abs(own.t - other.t).max() < 1e-12 and np.abs(own.q - other.q).max() < 1e-9


@pytest.mark.parametrize("constraint", ["none", "Coincident"])
def test_reactions_and_linearised_steps_are_those_of_joint_coordinates(constraint):
    model, start = model_of("Universal", constraint, force="LinearSpring")
    runs = [la.simulate(model, start, dt=1e-2, steps=2, integrator=kind(**MIDPOINT)) for kind in (la.Maximal, la.Variational)]
    own, other = (run.reactions for run in runs)
    for name in own:
        if own[name].wrench is not None:
            assert np.abs(own[name].wrench - other[name].wrench).max() < 1e-6 * (1.0 + np.abs(other[name].wrench).max())
    steps = [la.linearize(model, run.integrator, start, 1e-2) for run in runs]
    assert np.abs(steps[0].A - steps[1].A).max() < 1e-10 and np.abs(steps[0].B - steps[1].B).max() < 1e-10


def test_a_load_that_hangs_is_held():
    model = la.examples.chain(3).compile()
    pull = la.simulate(model, dt=0.1, steps=2, integrator=la.Maximal(quadrature="midpoint")).reactions["link1"].force
    assert np.abs(pull - [0.0, 0.0, 3 * 9.81]).max() < 1e-10


def test_a_run_that_goes_on_and_its_roll_outs_are_the_same_bits():
    model, start = model_of("Free", "Distance", force="Spring")
    integrator = la.Maximal(quadrature="midpoint")
    whole = la.simulate(model, start, dt=1e-2, steps=5, integrator=integrator)
    first = la.simulate(model, start, dt=1e-2, steps=2, integrator=integrator)
    rest = la.simulate(model, first.state(), dt=1e-2, steps=3, integrator=integrator)
    assert np.array_equal(rest.q, whole.q[2:]) and np.array_equal(rest.p, whole.p[2:])
    assert np.array_equal(la.rollout(model, [start], dt=1e-2, steps=5, integrator=integrator).q[0], whole.q)


def test_another_quadrature_is_refused():
    with pytest.raises(StateError, match=r"quadrature = 'simpson'; it is one of 'trapezoid', 'midpoint'"):
        la.Maximal(quadrature="simpson")
