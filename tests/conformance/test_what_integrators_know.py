"""Every integrator either feels everything a model contains, or says by name what it does not know."""

import numpy as np
import pytest
from support.symbolic_samples import symbolic_samples

import leastaction as la
from leastaction.errors import LeastActionError
from leastaction.joints import Joint

DT, DURATION = 5e-3, 0.1
Q, V = [0.3, 0.2, -0.4], [0.5, -1.0, 0.7]


def arm(joint=None):
    mech = la.Mechanism()
    mech.add_body("upper", joint=joint or la.Revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0.1, -0.5), inertia=(0.1, 0.1, 0.05))
    mech.add_body("lower", "upper", la.Universal(), la.Pose(xyz=(0, 0, -1)), mass=0.7, com=(0.1, 0, -0.4), inertia=(0.05, 0.06, 0.03))
    mech.add_frame("tip", "lower", la.Pose(xyz=(0, 0, -0.8)))
    mech.add_frame("anchor", "world", la.Pose(xyz=(0.5, 0.3, -1)))
    return mech


def drag(t, q, v, tau):
    tau[0] -= 3.0 * v[0]
    tau[1] += 3.0 * np.sin(5 * t)


FORCES = {
    "joint spring": la.Spring("upper", 20.0),
    "damper": la.Damper("lower", 0.5),
    "wrench": la.Wrench("tip", force=(1.0, 2.0, 3.0), frame="body"),
    "spring between points": la.LinearSpring("tip", "anchor", 50.0, 0.2),
    "user force": la.CustomForce(drag),
}

INTEGRATORS = [
    la.Variational(), la.Variational(quadrature="midpoint"), la.Midpoint(), la.Maximal(), la.Trapezoid(), la.FloatingBase(),
    la.Composition(la.Variational(), order=4), la.AdaptiveStep(la.Variational()), la.RK4(),
]  # fmt: skip


def end_of_run(model, integrator):
    run = la.simulate(model, dt=DT, duration=DURATION, q=Q, v=V, integrator=integrator)
    return run.q[-1], run.t[-1]  # an integrator that chooses its steps ends where it likes


def exact(model, t):
    return la.simulate(model, dt=t / 100, steps=100, q=Q, v=V, integrator=la.RK4()).q[-1]


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: f"{type(i).__name__}-{getattr(i, 'quadrature', '')}")
def test_forces_are_felt_or_refused(integrator):
    without = arm().compile()
    for name, force in FORCES.items():
        mech = arm()
        mech.add_force(force)
        model = mech.compile()
        try:
            got, reached = end_of_run(model, integrator)
        except LeastActionError as error:
            assert model.name in str(error) or "upper" in str(error) or "lower" in str(error), f"{name}: {error}"
            continue
        wanted = exact(model, reached)
        assert np.abs(got - wanted).max() < 0.05 * np.abs(wanted - exact(without, reached)).max(), name


@pytest.mark.slow
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: f"{type(i).__name__}-{getattr(i, 'quadrature', '')}")
def test_symbolic_joints_charts_and_loops_are_known_or_refused(integrator):
    everything = isinstance(integrator, (la.Variational, la.Maximal, la.Midpoint, la.RK4))  # these refuse nothing here
    model = arm(symbolic_samples()[0]).compile()
    try:
        got, reached = end_of_run(model, integrator)
        assert np.abs(got - exact(model, reached)).max() < 1e-3
    except LeastActionError as error:
        assert not everything and ("upper" in str(error) or "cam" in str(error))
    twice, half = lambda q, sp: sp.move(0, 0, 2 * q[0]), lambda R, x, sp: (x[2] / 2,)
    slider = la.SymbolicJoint("slider", lambda q, sp: sp.move(0, 0, q[0]), 1, inverse=lambda R, x, sp: (x[2],), second_chart=(twice, half))
    charted = arm(slider).compile()
    try:
        la.simulate(charted, dt=DT, steps=3, integrator=integrator)
    except LeastActionError as error:
        assert not everything and "upper" in str(error)
    closed = la.examples.four_bar().compile()
    start = closed.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    try:
        run = la.simulate(closed, dt=DT, steps=10, q=start, integrator=integrator)
        assert run.constraint_error.max() < 1e-3  # of explicit methods, which drift; others keep them far better
    except LeastActionError as error:
        assert not everything and closed.name in str(error)


def test_a_loop_cannot_be_closed_by_a_joint_without_rows():
    class Bare(la.Revolute):
        constraint_rows = Joint.constraint_rows

    mech = arm()
    mech.add_constraint(la.Close(Bare(), "anchor", "tip"))
    with pytest.raises(la.MechanismError, match="Bare.* cannot be written as a constraint between two bodies"):
        mech.compile()
