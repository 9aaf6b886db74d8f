"""Ball joints in Midpoint: the momenta of a discrete Lagrangian written from its definition, order, reversal, momentum, loops."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import LeastActionError
from leastaction.testing import Kinematics, force_bench

ROD = {"mass": 1.0, "com": (0.05, 0.02, -0.25), "inertia": (0.03, 0.04, 0.02)}


def tree(forces=True):
    mech = la.Mechanism(name="balls")
    mech.add_body("hinge", joint=la.Revolute((0, 1, 0)), **ROD)
    mech.add_body("ball", "hinge", la.Spherical(), la.Pose(xyz=(0, 0, -0.5), rpy=(0.3, 0.2, 0.1)), **ROD)
    mech.add_body("slide", "ball", la.Prismatic((1, 0, 1)), la.Pose(xyz=(0, 0, -0.5)), **ROD)
    mech.add_body("other", "hinge", la.Spherical(), la.Pose(xyz=(0.2, 0, -0.5)), **ROD)
    mech.add_frame("tip", "slide", la.Pose(xyz=(0, 0, -0.3)))
    mech.add_frame("anchor", placement=la.Pose(xyz=(0.4, 0.2, -1.1)))
    mech.add_force(la.Spring("slide", 50.0, rest=0.1))
    mech.add_force(la.Spring("ball", 4.0))
    mech.add_force(la.LinearSpring("tip", "anchor", 20.0, 0.2))
    mech.add_force(la.UserPotential(lambda q, sp: 3 * sp.cos(q[0]) * q[1], ["hinge", "slide"]))
    if forces:
        mech.add_force(la.Damper("ball", (0.1, 0.2, 0.3)))
        mech.add_force(la.Wrench("tip", force=(0.3, 0.2, 0.1), frame="body"))
        mech.add_force(la.Drag("tip", linear=0.2))
    return mech


def start(model, seed=1):
    return model.state(v=np.random.default_rng(seed).normal(size=model.nv))


def half_way(model, kin, q0, c):
    """q0 moved by half the rotation of the balls, by half the increment of the others."""
    half = 0.5 * c
    for body in model.bodies:
        if isinstance(body.joint, la.Spherical):
            at = model.v_slice(body.joint_name)
            size = np.linalg.norm(c[at])
            half[at] = 2 * np.tan(0.5 * np.arctan(size / 2)) * c[at] / size
    return kin.advanced(q0, half)


def test_momenta_are_the_derivatives_of_the_discrete_lagrangian():
    """Ld = h L(q at half the step, increment / h), from energies alone, differentiated by differences along both ends."""
    mech, h = tree(forces=False), 0.05
    model, kin = mech.compile(), Kinematics(mech)
    state = start(model)
    sim = la.Simulator(model, state, dt=h, integrator=la.Midpoint(tol=1e-13))
    sim.step()
    q0, q1 = state.q, sim.q

    def action(a, b):
        c = kin.increment(a, b)
        q = half_way(model, kin, a, c)
        kinetic = 0.5 * c @ la.dynamics.mass_matrix(model, q) @ c / h**2
        return h * (2 * kinetic - la.dynamics.energy(model, q, c / h))

    def slope(f, e=1e-4):
        return (8 * (f(e) - f(-e)) - (f(2 * e) - f(-2 * e))) / (12 * e)

    left = [-slope(lambda e, u=u: action(kin.advanced(q0, e * u), q1)) for u in np.eye(model.nv)]
    right = [slope(lambda e, u=u: action(q0, kin.advanced(q1, e * u))) for u in np.eye(model.nv)]
    np.testing.assert_allclose(left, state.p, atol=1e-9)
    np.testing.assert_allclose(right, sim.state.p, atol=1e-9)


@pytest.mark.parametrize(("order", "counts"), [(2, (6, 12)), (4, (3, 6))])
def test_order(order, counts):
    model = tree().compile()
    state, tau = start(model), 0.3 * np.random.default_rng(2).normal(size=model.nv)
    truth = la.simulate(model, state, dt=0.003, steps=50, tau=tau, integrator=la.RK4()).q[-1]
    integrator = la.Midpoint(tol=1e-12) if order == 2 else la.Composition(la.Midpoint(tol=1e-12), order=order)
    errors = [np.abs(la.simulate(model, state, dt=0.15 / n, steps=n, tau=tau, integrator=integrator).q[-1] - truth).max() for n in counts]
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.3


def test_steps_lead_back_and_failures_leave_nothing_behind():
    model = tree(forces=False).compile()
    for integrator in (la.Midpoint(tol=1e-13), la.AdaptiveStep(la.Midpoint(tol=1e-13))):
        sims = [la.Simulator(model, start(model), dt=0.01, integrator=integrator) for _ in range(2)]
        with pytest.raises(la.ConvergenceError):
            sims[0].step(np.full(model.nv, 1e30))
        there = [sim.run(5) for sim in sims]
        np.testing.assert_allclose(there[0].q, there[1].q, atol=1e-11)
        sims[0].reverse()
        np.testing.assert_allclose(sims[0].run(5).q[-1], there[0].q[0], atol=1e-10)


def test_a_free_top_keeps_its_momentum():
    """The discrete Lagrangian of one body on a ball joint does not change with its orientation: Noether's theorem, to rounding."""
    mech = la.Mechanism(name="top", gravity=(0, 0, 0))
    mech.add_body("top", joint=la.Spherical(), mass=1.0, com=(0, 0, 0.2), inertia=(0.03, 0.05, 0.02))
    run = la.simulate(mech.compile(), v=[3.0, 2.0, -4.0], dt=0.02, steps=60, integrator=la.Midpoint(tol=1e-13))
    moment = run.momentum[:, :3]
    assert np.abs(moment - moment[0]).max() < 1e-12 * np.abs(moment).max() * len(run)


def test_loops_with_balls_hold():
    """A rod on two balls between cranks, closed by a distance: closed at every node, and with order two the motion of Variational."""
    mech = tree(forces=False)
    mech.add_constraint(la.Coincident("tip", "anchor", directions=[(0, 0, 1), (0, 1, 0)]))
    model = mech.compile()
    q = model.assemble(model.neutral())
    state = model.state(q, model.project_velocity(q, 0.5 * start(model).v))
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


@pytest.mark.parametrize(
    ("joint", "integrator", "words"),
    [
        (la.Free(), la.Midpoint(alpha=0.4), "'part'.*alpha=0.5"),
        (la.Spherical(), la.Midpoint(alpha=0.4), "'part'.*alpha=0.5"),
    ],
)
def test_what_it_does_not_know_is_named(joint, integrator, words):
    mech = la.Mechanism(name="part")
    mech.add_body("part", joint=joint, **ROD)
    with pytest.raises(LeastActionError, match=words):
        la.simulate(mech.compile(), dt=0.01, steps=1, integrator=integrator)


def test_steps_are_solved_where_one_correction_lets_the_residual_grow():
    """The matrix is of first order in the rotation of a step, here up to 0.28 rad: no smaller part of a correction would help."""
    mech = force_bench(True)
    mech.add_force(la.LinearSpring("float", "ball", 20.0, 0.3))
    model = mech.compile()
    q, v = model.neutral(), np.zeros(model.nv)
    q[:4] = 0.07655143, 0.06388284, -0.07178266, -0.38032706
    v[:] = (-0.05445736, -0.40186592, 0.54008171, -0.14438325, 0.04173768, -0.42480298, -0.25531123, -0.00576653, -0.74268759,
            0.15034256, -0.05303613, -0.5928599, -1.19911643)  # fmt: skip
    run = la.simulate(model, model.state(q, v), dt=0.02, steps=12, integrator=la.Midpoint(tol=1e-12))
    assert run.converged and run.iterations.max() < 20


@pytest.mark.parametrize("integrator", [la.Midpoint(tol=1e-13), la.Variational(quadrature="midpoint", tol=1e-13)], ids=["q", "tree"])
@pytest.mark.parametrize("acts", ["springs", "a wrench"])
def test_linearised_steps_know_how_springs_between_points_bend_and_wrenches_turn(integrator, acts):
    """Strong ones over several joints, between bodies and to the world: of second order beside those of Variational, as the steps are."""
    mech = la.Mechanism(name="tied", gravity=(0.0, 0.0, 0.0))
    for k, parent in enumerate(("world", "a", "b", "c")):
        joint = la.Revolute((k % 2, 1, 0)) if k < 3 else la.Prismatic((1, 0, 1))
        mech.add_body("abcd"[k], parent, joint, la.Pose(xyz=(0, 0, -0.5 if k else 0.0)), **ROD)
    mech.add_frame("tip", "d", la.Pose(xyz=(0.1, 0, -0.3)))
    mech.add_frame("anchor", placement=la.Pose(xyz=(0.4, 0.2, -1.1)))
    if acts == "springs":
        mech.add_force(la.LinearSpring("tip", "anchor", 300.0, 0.2))
        mech.add_force(la.LinearSpring("tip", "a", 200.0, 1.5))
    else:
        mech.add_force(la.Wrench("tip", force=(30.0, -20.0, 50.0), moment=(3.0, 2.0, 1.0)))
    model, apart = mech.compile(), []
    state = model.state([0.3, -0.4, 0.5, 0.1], [0.2, -0.3, 0.4, 0.1])
    for dt in (2e-3, 1e-3):
        one, other = (la.linearize(model, i, state, dt) for i in (integrator, la.Variational(tol=1e-13)))
        apart.append(max(np.abs(one.A - other.A).max(), np.abs(one.next_state.p - other.next_state.p).max()) / dt)
    assert np.log2(apart[0] / apart[1]) > 0.9 and apart[1] < 1.0
