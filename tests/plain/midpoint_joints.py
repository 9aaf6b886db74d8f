"""Free joints, joints given by their pose and joints with two charts in Midpoint: the momenta of its action, order, reversal and more."""

import pickle

import numpy as np
import pytest
from support.symbolic_samples import euler_ball

import leastaction as la
from leastaction.dynamics.charts import in_charts_of
from leastaction.testing import Kinematics

ROD = {"mass": 1.0, "com": (0.05, 0.02, -0.25), "inertia": (0.03, 0.04, 0.02)}
EXACT = la.Midpoint(tol=1e-13)


def bent_rail():
    """Two coordinates, columns that change with both of them, and turn each other."""
    return la.SymbolicJoint(
        "bent rail", lambda q, sp: sp.move(q[0], q[0] ** 2 / 2, sp.sin(q[1])) * sp.rot_x(q[1] * q[0] + q[1]) * sp.rot_z(q[0]), 2,
        start=(0.3, 0.4),
    )  # fmt: skip


def tree(kind, forces=True, loop=False):
    mech = la.Mechanism(name=kind)
    mech.add_body("hinge", joint=la.Revolute((0, 1, 0)), **ROD)
    joint = la.Free() if kind == "free" else bent_rail()
    mech.add_body("part", "hinge", joint, la.Pose(xyz=(0, 0, -0.5), rpy=(0.3, 0.2, 0.1)), **ROD)
    mech.add_body("slide", "part", la.Prismatic((1, 0, 1)), la.Pose(xyz=(0, 0, -0.5)), **ROD)
    mech.add_frame("tip", "slide", la.Pose(xyz=(0, 0, -0.3)))
    mech.add_frame("anchor", placement=la.Pose(xyz=(0.4, 0.2, -1.1)))
    mech.add_force(la.Spring("slide", 50.0, rest=0.1))
    mech.add_force(la.Spring("part", (8.0, 40.0)))
    mech.add_force(la.LinearSpring("tip", "anchor", 20.0, 0.2))
    if forces:
        mech.add_force(la.Damper("part", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)[: joint.nv]))
        mech.add_force(la.Wrench("tip", force=(0.3, 0.2, 0.1), frame="body"))
        mech.add_force(la.Drag("tip", linear=0.2))
    if loop:
        mech.add_constraint(la.Coincident("anchor", "tip", directions=[(0, 0, 1), (0, 1, 0)]))
    return mech


def start(model, seed=1):
    q = model.assemble(model.neutral()) if model.closures else model.neutral()
    v = np.random.default_rng(seed).normal(size=model.nv)
    return model.state(q, model.project_velocity(q, 0.5 * v) if model.closures else v)


def middle(model, kin, q0, q1):
    """Half the rotation, half the way of the others; and the velocity there, of a free joint in the axes of the middle."""
    d = kin.increment(q0, q1)
    for body in model.bodies:
        at, place = model.v_slice(body.joint_name), model.q_slice(body.joint_name)
        if isinstance(body.joint, la.Free):
            half = d[at].copy()
            size = np.linalg.norm(half[:3])
            half[:3] *= 2 * np.tan(0.5 * np.arctan(size / 2)) / size
            half[3:] *= 0.5
            q = kin.advanced(q0, np.concatenate([0.5 * d[: at.start], half, 0.5 * d[at.stop :]]))
            there = la.Pose(quaternion=q[place][3:]).R
            u = d.copy()
            u[at][3:] = there.T @ (q1[place][:3] - q0[place][:3])
            return q, u
    return kin.advanced(q0, 0.5 * d), d


@pytest.mark.parametrize("kind", ["free", "symbolic"])
def test_momenta_are_the_derivatives_of_the_discrete_lagrangian(kind):
    """Ld = h L(q at half the step, velocity there), from energies alone, differentiated by differences along both ends."""
    mech, h = tree(kind, forces=False), 0.05
    model, kin = mech.compile(), Kinematics(mech)
    state = start(model)
    sim = la.Simulator(model, state, dt=h, integrator=EXACT)
    sim.step()
    q0, q1 = state.q, sim.q

    def action(a, b):
        q, u = middle(model, kin, a, b)
        kinetic = 0.5 * u @ la.dynamics.mass_matrix(model, q) @ u / h**2
        return h * (2 * kinetic - la.dynamics.energy(model, q, u / h))

    def slope(f, e=1e-4):
        return (8 * (f(e) - f(-e)) - (f(2 * e) - f(-2 * e))) / (12 * e)

    left = [-slope(lambda e, u=u: action(kin.advanced(q0, e * u), q1)) for u in np.eye(model.nv)]
    right = [slope(lambda e, u=u: action(q0, kin.advanced(q1, e * u))) for u in np.eye(model.nv)]
    np.testing.assert_allclose(left, state.p, atol=1e-9)
    np.testing.assert_allclose(right, sim.state.p, atol=1e-9)


@pytest.mark.parametrize("kind", ["free", "symbolic"])
@pytest.mark.parametrize(("order", "counts"), [(2, (6, 12)), (4, (3, 6))])
def test_order(kind, order, counts):
    model = tree(kind).compile()
    state, tau = start(model), 0.3 * np.random.default_rng(2).normal(size=model.nv)
    truth = la.simulate(model, state, dt=0.003, steps=50, tau=tau, integrator=la.RK4()).q[-1]
    integrator = la.Midpoint(tol=1e-12) if order == 2 else la.Composition(la.Midpoint(tol=1e-12), order=order)
    errors = [np.abs(la.simulate(model, state, dt=0.15 / n, steps=n, tau=tau, integrator=integrator).q[-1] - truth).max() for n in counts]
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.3


@pytest.mark.parametrize("kind", ["free", "symbolic"])
def test_steps_lead_back_and_failures_leave_nothing_behind(kind):
    model = tree(kind, forces=False).compile()
    for integrator in (EXACT, la.AdaptiveStep(EXACT)):
        sims = [la.Simulator(model, start(model), dt=0.01, integrator=integrator) for _ in range(2)]
        with pytest.raises(la.ConvergenceError):
            sims[0].step(np.full(model.nv, 1e30))
        there = [sim.run(4) for sim in sims]
        np.testing.assert_allclose(there[0].q, there[1].q, atol=1e-11)
        sims[0].reverse()
        np.testing.assert_allclose(sims[0].run(4).q[-1], there[0].q[0], atol=1e-10)


def test_a_floating_body_keeps_its_momentum():
    """The discrete Lagrangian of a free body does not change with its pose: Noether's theorem, linear and angular, to rounding."""
    mech = la.Mechanism(name="stone", gravity=(0, 0, 0))
    mech.add_body("stone", joint=la.Free(), mass=1.0, com=(0, 0.1, 0.2), inertia=(0.03, 0.05, 0.02))
    mech.add_body("arm", "stone", la.Revolute((0, 1, 1)), la.Pose(xyz=(0, 0, -0.3)), **ROD)
    run = la.simulate(mech.compile(), v=[3.0, 2.0, -4.0, 0.3, 1.0, 0.2, 2.0], dt=0.02, steps=40, integrator=EXACT)
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-12 * np.abs(run.momentum).max() * len(run)


def test_asymmetric_steps_with_joints_given_by_their_pose():
    """alpha = 0.3 has order one, and a step with 1 - alpha leads back."""
    model = tree("symbolic", forces=False).compile()
    state = start(model)
    there = la.simulate(model, state, dt=0.01, steps=5, integrator=la.Midpoint(alpha=0.3, tol=1e-13))
    turned = model.state(there.q[-1], p=-there.p[-1])
    back = la.simulate(model, turned, dt=0.01, steps=5, integrator=la.Midpoint(alpha=0.7, tol=1e-13))
    np.testing.assert_allclose(back.q[-1], state.q, atol=1e-11)


@pytest.mark.parametrize("kind", ["free", "symbolic"])
def test_loops_hold_and_reactions_are_those_of_maximal(kind):
    model = tree(kind, forces=False, loop=True).compile()
    state = start(model)
    truth = la.simulate(model, state, dt=0.01, steps=10, integrator=la.Composition(la.Variational(tol=1e-12))).q[-1]
    errors = []
    for n in (5, 10):
        run = la.simulate(model, state, dt=0.1 / n, steps=n, integrator=la.Midpoint(tol=1e-12))
        assert run.constraint_error.max() < 1e-12
        errors.append(np.abs(run.q[-1] - truth).max())
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.3
    force = run.reactions[0].multipliers
    other = la.simulate(model, state, dt=0.01, steps=10, integrator=la.Maximal(tol=1e-12)).reactions[0].multipliers
    assert np.abs(force - other).max() < 0.05 * np.abs(other).max()
    hinge = [la.simulate(model, state, dt=0.01, steps=3, integrator=i).reactions["hinge"].force for i in (EXACT, la.Variational())]
    assert np.abs(hinge[0] - hinge[1]).max() < 0.05 * np.abs(hinge[1]).max()


@pytest.mark.parametrize("kind", ["free", "symbolic", "ball"])
@pytest.mark.parametrize("loop", [False, True])
def test_linearised_steps_are_the_derivatives_of_what_the_simulator_does(kind, loop):
    if kind == "ball":
        mech = la.Mechanism(name="ball")
        mech.add_body("part", joint=la.Spherical(), **ROD)
        mech.add_body("slide", "part", la.Prismatic((1, 0, 1)), la.Pose(xyz=(0, 0, -0.5)), **ROD)
        mech.add_frame("tip", "slide")
        mech.add_frame("anchor", placement=la.Pose(xyz=(0.0, 0.1, -0.5)))
        mech.add_force(la.Spring("part", 3.0))
        if loop:
            mech.add_constraint(la.Distance("tip", "anchor", 0.15))
    else:
        mech = tree(kind, loop=loop)
    model, dt = mech.compile(), 0.02
    state, nv, kin = start(model), model.nv, Kinematics(mech)
    step = la.linearize(model, EXACT, state, dt)
    end = step.next_state
    rng = np.random.default_rng(3)
    x = rng.normal(size=nv)
    p = rng.normal(size=nv)
    if loop:  # along what the constraints allow, to first order
        x = model.project_velocity(state.q, x)

    def moved(e):
        q = kin.advanced(state.q, e * x)
        q = model.assemble(q) if loop else q
        there = model.state(q, p=state.p + e * p)
        there = model.state(q, model.project_velocity(q, there.v)) if loop else there
        change = np.concatenate([kin.increment(state.q, q), there.p - state.p])
        sim = la.Simulator(model, there, dt=dt, integrator=EXACT)
        sim.step()
        arrived = sim.state
        return change, np.concatenate([kin.increment(end.q, arrived.q), arrived.p - end.p])

    e = 1e-4
    (a0, b0), (a1, b1) = moved(e), moved(-e)
    wanted = (b0 - b1) / (2 * e)
    np.testing.assert_allclose(step.A @ (a0 - a1) / (2 * e), wanted, atol=2e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("integrator", [EXACT, la.Composition(EXACT), la.AdaptiveStep(EXACT)])
def test_runs_go_on_bit_for_bit_and_survive_pickling(integrator):
    model = tree("free").compile()
    whole = la.simulate(model, start(model), dt=0.01, steps=6, integrator=integrator)
    first = la.simulate(model, start(model), dt=0.01, steps=3, integrator=integrator)
    rest = la.simulate(model, pickle.loads(pickle.dumps(first.state())), dt=0.01, steps=3, integrator=integrator)
    assert np.array_equal(rest.q[-1], whole.q[-1])


# ------------------------------------------------------------------------------------------------------------ two charts


def charted():
    mech = la.Mechanism(name="charted")
    mech.add_body("ball", joint=euler_ball(charts=2), **{**ROD, "com": (0.1, 0.05, -0.4)})
    mech.add_body("elbow", "ball", la.Revolute((0, 1, 0)), la.Pose(xyz=(0, 0, -0.8)), **ROD)
    return mech.compile()


@pytest.mark.parametrize(
    ("integrator", "order"),
    [
        (la.Midpoint(tol=1e-12), 2), (la.Trapezoid(tol=1e-12), 2), (la.FloatingBase(tol=1e-12), 2),
        (la.Composition(la.Variational(tol=1e-12)), 4), (la.Composition(la.Midpoint(tol=1e-12)), 4),
        (la.Composition(la.Trapezoid(tol=1e-12)), 4),
    ],
    ids=repr,
)  # fmt: skip
def test_charts_change_on_the_way_and_the_order_stays(integrator, order):
    model = charted()
    state = model.state([0.4, 1.2, -0.3, 0.0, 0.7], [0.5, 1.5, 0.7, 0.2])
    end, counts = 0.4, (5, 10) if order == 4 else (16, 32)
    truth = la.simulate(model, state, dt=0.0025, duration=end, integrator=la.RK4()).q[-1]
    errors = []
    for n in counts:
        run = la.simulate(model, state, dt=end / n, steps=n, integrator=integrator)
        assert len(set(run["ball"][:, 3])) == 2  # it went through both charts
        errors.append(np.abs(in_charts_of(model, run.q[-1], truth) - truth).max())
    assert np.log2(errors[0] / errors[1]) > order - 0.7
    assert errors[1] < (1e-3 if order == 4 else 2e-2)


@pytest.mark.parametrize("base", [la.Variational(tol=1e-12), la.Midpoint(tol=1e-12), la.Maximal(tol=1e-12)], ids=repr)
def test_charts_change_between_steps_of_changing_length(base):
    model = charted()
    state = model.state([0.4, 1.2, -0.3, 0.0, 0.7], [0.5, 1.5, 0.7, 0.2])
    errors = []
    for dt in (0.04, 0.02):
        run = la.simulate(model, state, dt=dt, duration=0.4, integrator=la.AdaptiveStep(base))
        assert len(set(run["ball"][:, 3])) == 2
        truth = la.simulate(model, state, dt=run.t[-1] / 100, steps=100, integrator=la.RK4()).q[-1]
        errors.append(np.abs(in_charts_of(model, run.q[-1], truth) - truth).max())
    assert errors[1] < 0.4 * errors[0] < 4e-3
