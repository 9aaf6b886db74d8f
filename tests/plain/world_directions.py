"""Points that coincide along directions of the world although both of their frames turn."""

import numpy as np
import pytest

import leastaction as la
from leastaction.coordinates.ties import jacobian, values

ROD = {"mass": 1.0, "com": (0.05, 0.02, -0.25), "inertia": (0.03, 0.04, 0.02)}


def linkage(directions=((1, 0, 0), (0, 0.6, 0.8)), axes="world"):
    """Two arms of three links on one turning carrier: what joins their ends depends on how the carrier stands."""
    mech = la.Mechanism(name="carrier")
    mech.add_body("carrier", joint=la.Universal(), **ROD)
    for side, x in (("left", -0.3), ("right", 0.3)):
        mech.add_body(f"{side} 1", "carrier", la.Revolute((0, 1, 0)), la.Pose(xyz=(x, 0, -0.5), rpy=(0.1, 0, 0.2 * x)), **ROD)
        mech.add_body(f"{side} 2", f"{side} 1", la.Universal(), la.Pose(xyz=(0, 0, -0.5)), **ROD)
        mech.add_frame(f"{side} tip", f"{side} 2", la.Pose(xyz=(0.05, 0, -0.5), rpy=(0.3, 0.1, -0.4)))
    mech.add_constraint(la.Coincident("left tip", "right tip", directions, axes), "rail")
    return mech


def start(model):
    q = model.assemble(0.2 * np.random.default_rng(0).normal(size=model.nq))
    return model.state(q, model.project_velocity(q, np.random.default_rng(1).normal(size=model.nv)))


def gaps(model, q, directions):
    left, right = (la.dynamics.pose(model, q, f"{side} tip").p for side in ("left", "right"))
    return np.array(directions) @ (right - left)


def test_the_rows_say_what_they_mean_and_their_derivatives_are_theirs():
    directions = np.array([(1, 0, 0), (0, 0.6, 0.8)])
    model = linkage(directions).compile()
    q, v = 0.3 * np.random.default_rng(2).normal(size=model.nq), np.random.default_rng(3).normal(size=model.nv)
    np.testing.assert_allclose(values(model, q), gaps(model, q, directions), atol=1e-14)
    e = 1e-4
    wanted = []
    for u in np.eye(model.nv):
        near, far = (gaps(model, q + s * e * u, directions) - gaps(model, q - s * e * u, directions) for s in (1, 2))
        wanted.append((8 * near - far) / (12 * e))
    np.testing.assert_allclose(jacobian(model, q), np.array(wanted).T, atol=1e-11)
    # second rate: the acceleration that the constraint allows
    state = start(model)
    q, v = state.q, state.v
    a = la.dynamics.forward(model, q, v)
    e = 1e-3
    path = [gaps(model, q + s * v + 0.5 * s * s * a, directions) for s in (-2 * e, -e, 0.0, e, 2 * e)]
    second = (-path[0] + 16 * path[1] - 30 * path[2] + 16 * path[3] - path[4]) / (12 * e * e)
    np.testing.assert_allclose(second, 0.0, atol=1e-6)


@pytest.mark.parametrize("axes", ["world", "frame"])
def test_all_integrators_agree_and_keep_them(axes):
    model = linkage(axes=axes).compile()
    state = start(model)
    bodies, joints = (la.simulate(model, state, dt=0.01, steps=5, integrator=i) for i in (la.Maximal(tol=1e-12), la.Variational(tol=1e-12)))
    np.testing.assert_allclose(bodies.q, joints.q, atol=1e-11)
    assert joints.constraint_error.max() < 1e-12
    truth = la.simulate(model, state, dt=0.0025, steps=20, integrator=la.RK4()).q[-1]
    composed = la.simulate(model, state, dt=0.025, steps=2, integrator=la.Composition(la.Midpoint(tol=1e-12))).q[-1]
    assert np.abs(composed - truth).max() < 1e-6
    if axes == "world":
        held = [np.abs(gaps(model, q, [(1, 0, 0), (0, 0.6, 0.8)])).max() for q in joints.q]
        assert max(held) < 1e-12


def test_the_world_turns_what_it_holds():
    """Forces act at both points, so the pair feels a moment: the joint of the carrier carries it, as an independent balance says."""
    model = linkage().compile()
    state = start(model)
    both = la.Variational(tol=1e-12), la.Maximal(tol=1e-12)
    found = [la.simulate(model, state, dt=1e-3, steps=4, integrator=i).reactions["carrier"] for i in both]
    np.testing.assert_allclose(found[0].force, found[1].force, atol=1e-6 * np.abs(found[0].force).max())
    np.testing.assert_allclose(found[0].moment, found[1].moment, atol=1e-6 * np.abs(found[0].force).max())
    # a universal joint carries no moment about its own two axes but what drives it
    drive = la.simulate(model, state, dt=1e-3, steps=4, integrator=la.Variational(tol=1e-12)).reactions["carrier"].drive
    np.testing.assert_allclose(drive, 0.0, atol=1e-8 * np.abs(found[0].force).max())


def test_linearised_steps():
    model = linkage().compile()
    state = start(model)
    one, other = (la.linearize(model, i, state, 0.01).A for i in (la.Variational(tol=1e-13), la.Midpoint(tol=1e-13)))
    assert np.abs(one - other).max() < 2e-2 * np.abs(one).max()
    x = model.project_velocity(state.q, np.random.default_rng(5).normal(size=model.nv))

    def end(e):
        q = model.assemble(state.q + e * x)
        there = model.state(q, model.project_velocity(q, state.v))
        sim = la.Simulator(model, there, dt=0.01, integrator=la.Variational(tol=1e-13))
        sim.step()
        return np.concatenate([q, there.p]), np.concatenate([sim.q, sim.state.p])

    (a0, b0), (a1, b1) = end(1e-4), end(-1e-4)
    np.testing.assert_allclose(one @ (a0 - a1) / 2e-4, (b0 - b1) / 2e-4, atol=1e-6 * np.abs(b0 - b1).max() / 2e-4)


def test_three_directions_are_the_same_in_all_axes_and_others_are_named():
    kinds = [[row.kind for row in linkage(np.eye(3), axes).compile().closures[0].rows] for axes in ("world", "frame")]
    assert kinds[0] == kinds[1]
    with pytest.raises(la.MechanismError, match="axes = 'body'.*'frame', 'world'"):
        la.Coincident("a", "b", axes="body")
