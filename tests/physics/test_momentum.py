"""Momentum of a floating tree without gravity is kept to round-off.

What a solver leaves of the residual is carried into the next step (`carry_residual` in kernels/tree/drnea.py), so the momentum of the
whole tree does not depend on the tolerance at all; with it or without it, only round-off is left.  Springs hold the sliding joints
together: they are inner forces, and the bodies do not fly apart.  (Angular momentum is taken about the world origin: round-off of
the linear momentum times the distance from it is what limits it.)
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.yardsticks import Lee2016


@pytest.fixture(scope="module", params=[0, 3], ids=["tree 0", "tree 3"])
def floating_tree(request):
    """(model, state): a floating base, and among others cylindrical, planar and ball joints."""
    mech = la.examples.random_tree(9, seed=request.param, floating=True, gravity=(0.0, 0.0, 0.0))
    for joint in mech.joint_names[1:]:
        mech.add_force(la.Spring(joint, 20.0))
    model = mech.compile()
    assert len({type(body.joint) for body in model.bodies}) >= 5
    return model, model.state(v=0.5 * np.random.default_rng(request.param).normal(size=model.nv))


def momentum_errors(run):
    """Largest change of angular and of linear momentum over the run, relative to their lengths."""
    change = np.abs(run.momentum - run.momentum[0])
    angular, linear = np.linalg.norm(run.momentum[0, :3]), np.linalg.norm(run.momentum[0, 3:])
    return change[:, :3].max() / angular, change[:, 3:].max() / linear


def test_hundred_thousand_steps(floating_tree, discretisation):
    run = la.simulate(*floating_tree, dt=1e-3, steps=100_000, record_every=100, integrator=la.Variational(**discretisation))
    assert np.ptp(run.q[:, :3], axis=0).max() > 1.0 and np.ptp(run.kinetic) > 0.1 * run.energy[0]  # it moves, and not like one body
    angular, linear = momentum_errors(run)
    assert angular < 1e-11
    assert linear < 1e-11


@pytest.mark.parametrize("solver", ["newton", "riqn", "broyden", "dense-newton"])
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
def test_the_tolerance_of_the_solver_does_not_matter(floating_tree, tol, solver):
    """The same with steps of 20 ms, large enough for loose tolerances to leave something behind."""
    model, state = floating_tree
    run = la.simulate(model, state, dt=0.02, steps=10_000, record_every=10, integrator=Lee2016(solver, "extrapolate", tol=tol))
    angular, linear = momentum_errors(run)
    assert angular < min(tol, 1e-11)
    assert linear < min(tol, 1e-11)


def test_one_axis_of_symmetry():
    """A chain that turns about a vertical axis keeps its angular momentum about it, gravity or not."""
    mech = la.Mechanism()
    mech.add_body("mast", joint=la.Revolute(axis=(0, 0, 1)), mass=1.0, inertia=(0.1, 0.1, 0.2))
    rod = {"mass": 1.0, "com": (0.0, 0.0, -0.5), "inertia": (1 / 12, 1 / 12, 0.01)}
    mech.add_body("upper", "mast", la.Revolute(axis=(1, 0, 0)), la.Pose(xyz=(0.3, 0.0, 0.0)), **rod)
    mech.add_body("lower", "upper", la.Spherical(), la.Pose(xyz=(0.0, 0.0, -1.0)), **rod)
    model = mech.compile()
    state = model.state(q={"upper": 1.0}, v={"mast": 2.0, "lower": (1.0, -1.0, 3.0)})
    run = la.simulate(model, state, dt=2e-3, steps=20_000, record_every=10)
    assert np.ptp(run.v[:, 0]) > 1.0
    assert np.abs(run.p[:, 0] / run.p[0, 0] - 1.0).max() < 1e-11
    assert np.abs(run.momentum[:, 2] / run.momentum[0, 2] - 1.0).max() < 1e-11


def test_heavy_top_keeps_both_its_moments(discretisation):
    """About the vertical (symmetry of gravity) and about its own axis (symmetry of the body).

    The residual is carried over as a vector in space, so only the first does not depend on the tolerance: the second needs a tight one.
    """
    model = la.examples.heavy_top().compile()
    state = model.state(q=[np.cos(0.2), np.sin(0.2), 0.0, 0.0], v=[0.5, 0.0, 30.0])
    for tol, moments in ((1e-6, ("vertical",)), (1e-13, ("vertical", "own axis"))):
        run = la.simulate(model, state, dt=1e-3, steps=20_000, record_every=10, integrator=la.Variational(**discretisation, tol=tol))
        kept = {"vertical": run.momentum[:, 2], "own axis": run.p[:, 2]}
        for name in moments:
            assert np.abs(kept[name] / kept[name][0] - 1.0).max() < 1e-11, name
