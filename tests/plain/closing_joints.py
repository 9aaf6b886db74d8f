"""Loops closed by joints that are given by their pose."""

import pickle

import numpy as np
import pytest

import leastaction as la
from leastaction.coordinates.ties import evaluate, jacobian, make_ties, values
from leastaction.kernels.tree.linearization import rows_over_step
from leastaction.testing import Kinematics

ROD = {"mass": 1.0, "com": (0.05, 0.02, -0.25), "inertia": (0.03, 0.04, 0.02)}
TOL = 1e-12


def arm(joint):
    """Three links in space, the last of them held by a joint on the world."""
    mech = la.Mechanism(name="closed arm")
    mech.add_body("upper", joint=la.Spherical(), **ROD)
    mech.add_body("lower", "upper", la.Universal(), la.Pose(xyz=(0, 0, -0.5)), **ROD)
    mech.add_body("hand", "lower", la.Spherical(), la.Pose(xyz=(0, 0, -0.5)), **ROD)
    mech.add_frame("palm", "hand", la.Pose(xyz=(0, 0.1, -0.2), rpy=(0.2, 0.1, 0)))
    mech.add_frame("rail", placement=la.Pose(xyz=(0.3, 0.1, -0.9), rpy=(0.1, 0.3, 0.2)))
    mech.add_constraint(la.Close(joint, "rail", "palm"), "closing")
    return mech


def wire(start=(0.1, 0.2, 0.1)):
    """A bead on a curve, which turns about it and across it."""
    return la.SymbolicJoint(
        "bead", lambda q, sp: sp.move(q[0], q[0] ** 2 / 2, sp.sin(q[0])) * sp.rot_x(q[1]) * sp.rot_y(q[2] + q[0] / 2), 3, start=start
    )


def start(model):
    q = model.assemble(model.neutral())
    return model.state(q, model.project_velocity(q, np.random.default_rng(1).normal(size=model.nv)))


def test_the_same_joint_in_other_words():
    """A hinge and a rod in a sleeve as poses hold what Revolute and Cylindrical hold: the same motion, the same reaction."""
    pairs = [
        (la.SymbolicJoint("hinge", lambda q, sp: sp.rot_y(q[0]), 1), la.Revolute((0, 1, 0))),
        (la.SymbolicJoint("pin in a slot", lambda q, sp: sp.rot_z(q[0]) * sp.move(0, 0, 2 * q[1] - q[0]), 2), la.Cylindrical()),
    ]
    for described, other in pairs:
        models = [arm(joint).compile() for joint in (described, other)]
        state = start(models[1])
        for integrator in (la.Variational(tol=TOL), la.Maximal(tol=TOL), la.Midpoint(tol=TOL), la.RK4()):
            runs = [la.simulate(m, m.state(state.q, state.v), dt=0.01, steps=3, integrator=integrator) for m in models]
            # the stages of RK4 leave the loop open, where rows of other words are not the same
            np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6 if isinstance(integrator, la.RK4) else 1e-10)
        forces = [run.reactions["closing"].force for run in runs]
        np.testing.assert_allclose(forces[0], forces[1], atol=1e-6 * np.abs(forces[1]).max())


def values_after(model, ties, q, d):
    """Rows at the end of the step by d from q, in the basis that they have there."""
    work = model.make_work()
    work.q[:], work.d[:] = q, d
    rows_over_step(model.tree, work, ties, 0.0, 0.01, 0)
    return ties.value.copy()


def test_rows_and_their_derivatives():
    model = arm(wire()).compile()
    state = start(model)
    q = state.q
    assert np.abs(values(model, q)).max() < 1e-11
    assert jacobian(model, q).shape == (3, model.nv)
    ties, e = make_ties(model), 1e-5
    here = evaluate(model, ties, q).J0.copy()
    slopes = [(values_after(model, ties, q, e * u) - values_after(model, ties, q, -e * u)) / (2 * e) for u in np.eye(model.nv)]
    np.testing.assert_allclose(np.array(slopes).T, here, atol=1e-8)
    # explicit integration keeps the second rate of the rows: they drift with the fourth order of the step
    off = [la.simulate(model, state, dt=0.04 / n, steps=n, integrator=la.RK4()).constraint_error[-1] for n in (2, 4)]
    assert np.log2(off[0] / off[1]) > 3.5


@pytest.mark.parametrize("base", [la.Variational, la.Midpoint])
def test_integrators_agree(base):
    """Bodies and joint coordinates to rounding; order two and four; reversible; rows hold at every node."""
    model = arm(wire()).compile()
    state = start(model)
    end = 0.06
    truth = la.simulate(model, state, dt=end / 6, steps=6, integrator=la.Composition(base(tol=TOL), order=6)).q[-1]
    errors = []
    for n in (3, 6):
        run = la.simulate(model, state, dt=end / n, steps=n, integrator=base(tol=TOL))
        assert run.constraint_error.max() < 1e-12
        errors.append(np.abs(run.q[-1] - truth).max())
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.3
    ends = [la.simulate(model, state, dt=end / n, steps=n, integrator=la.Composition(base(tol=TOL))).q[-1] for n in (2, 4)]
    far, near = (np.abs(q - truth).max() for q in ends)
    assert np.log2(far / near) > 3.5
    if base is la.Variational:
        for made in (lambda i: i, la.Composition):
            pair = [la.simulate(model, state, dt=0.01, steps=3, integrator=made(i)) for i in (la.Maximal(tol=TOL), la.Variational(tol=TOL))]
            np.testing.assert_allclose(pair[0].q, pair[1].q, atol=1e-11)
            np.testing.assert_allclose(*(r.reactions["closing"].force for r in pair), atol=1e-5)
    sim = la.Simulator(model, state, dt=0.01, integrator=base(tol=TOL))
    sim.run(3)
    sim.reverse()
    sim.run(3)
    np.testing.assert_allclose(sim.q, state.q, atol=1e-10)


def test_adaptive_steps_going_on_and_pickles():
    model = pickle.loads(pickle.dumps(arm(wire()).compile()))
    state = start(model)
    bases = la.Variational(tol=TOL), la.Maximal(tol=TOL)
    whole, other = (la.simulate(model, state, dt=0.01, steps=4, integrator=la.AdaptiveStep(base)) for base in bases)
    np.testing.assert_allclose(whole.q, other.q, atol=1e-10)
    for integrator in (la.Variational(), la.Maximal(), la.Midpoint()):
        whole = la.simulate(model, state, dt=0.01, steps=4, integrator=integrator)
        first = la.simulate(model, state, dt=0.01, steps=2, integrator=integrator)
        assert np.array_equal(la.simulate(model, first.state(), dt=0.01, steps=2, integrator=integrator).q[-1], whole.q[-1])


def test_linearised_steps():
    mech = arm(wire())
    model = mech.compile()
    state, kin, exact = start(model), Kinematics(mech), la.Variational(tol=1e-13)
    step = la.linearize(model, exact, state, 0.01)
    x = model.project_velocity(state.q, np.random.default_rng(5).normal(size=model.nv))

    def end(e):
        q = model.assemble(kin.advanced(state.q, e * x))
        there = model.state(q, model.project_velocity(q, state.v))
        sim = la.Simulator(model, there, dt=0.01, integrator=exact)
        sim.step()
        start_ = np.concatenate([kin.increment(state.q, q), there.p])
        return start_, np.concatenate([kin.increment(step.next_state.q, sim.q), sim.state.p])

    (a0, b0), (a1, b1) = end(1e-4), end(-1e-4)
    np.testing.assert_allclose(step.A @ (a0 - a1) / 2e-4, (b0 - b1) / 2e-4, atol=3e-6 * np.abs(b0 - b1).max() / 2e-4)


def test_planar_loops_leave_out_what_is_implied():
    """A crank whose rod slides on a curve in its plane: of the four rows three are implied by the hinges."""
    mech = la.Mechanism(name="curve")
    mech.add_body("crank", joint=la.Revolute((0, 1, 0)), **{**ROD, "com": (0, 0, -0.2)})
    mech.add_body("rod", "crank", la.Revolute((0, 1, 0)), la.Pose(xyz=(0, 0, -0.4)), **{**ROD, "com": (0, 0, -0.2)})
    mech.add_frame("end", "rod", la.Pose(xyz=(0, 0, -0.5)))
    curve = la.SymbolicJoint("curve", lambda q, sp: sp.move(q[0], 0, q[0] ** 2) * sp.rot_y(q[1]), 2, start=(0.1, 0.1))
    mech.add_frame("ground", placement=la.Pose(xyz=(0.2, 0, -0.7)))
    mech.add_constraint(la.Close(curve, "ground", "end"))
    model = mech.compile()
    q = model.assemble([0.3, 0.4])
    state = model.state(q, model.project_velocity(q, [1.0, 0.0]))
    runs = [la.simulate(model, state, dt=0.01, steps=8, integrator=i(tol=TOL)) for i in (la.Variational, la.Maximal)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-10)
    assert len(runs[0].redundant) == 3
    for k in (3, 8):
        p = la.dynamics.pose(model, runs[0].q[k], "end").p - np.array([0.2, 0, -0.7])
        assert abs(p[2] - p[0] ** 2) < 1e-12
    assert np.ptp(runs[0].energy) < 1e-2
