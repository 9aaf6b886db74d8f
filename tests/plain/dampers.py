"""Dampers so stiff that they stop a motion within a step: their heat is what the motion loses, and what has come to rest stays there."""

import numpy as np
import pytest
from support.symbolic_samples import euler_ball

import leastaction as la
from leastaction.testing.every_integrator import every_integrator, in_short

IMPLICIT = [i for i in every_integrator(1e-10) if i.symplectic and not isinstance(i, la.Composition)]
names = {"ids": lambda i: in_short(i) if isinstance(i, la.integrators.Integrator) else getattr(i, "__name__", None)}


def slider(damping):
    mech = la.Mechanism(gravity=(0.0, 0.0, 0.0), name="slider")
    mech.add_body("mass", joint=la.Prismatic((1, 0, 0)), mass=1.0)
    mech.add_force(la.Damper("mass", damping))
    return mech.compile()


def chain(damping):
    mech = la.examples.chain(4)
    for name in mech.joint_names:
        mech.add_force(la.Damper(name, damping))
    return mech.compile()


def ball(damping):
    """On a joint that turns freely about another one, damped differently about every axis."""
    mech = la.Mechanism(name="ball")
    mech.add_body("arm", joint=la.Revolute((0, 1, 0)), mass=1.0, com=(0.0, 0.0, -0.2), inertia=(0.02, 0.02, 0.01))
    rod = {"mass": 1.0, "com": (0.3, 0.1, -0.5), "inertia": (0.1, 0.12, 0.08)}
    mech.add_body("ball", "arm", la.Spherical(), la.Pose(xyz=(0.0, 0.0, -0.4)), **rod)
    mech.add_force(la.Damper("ball", damping * np.array([1.0, 0.5, 0.3])))
    return mech.compile()


def floating(damping):
    mech = la.Mechanism(name="floating")
    mech.add_body("body", joint=la.Free(), mass=1.0, com=(0.1, 0.2, 0.0), inertia=(0.1, 0.12, 0.08))
    mech.add_force(la.Damper("body", damping * np.array([0.1, 0.3, 0.2, 1.0, 0.2, 0.4])))
    return mech.compile()


@pytest.mark.parametrize("integrator", IMPLICIT, **names)
@pytest.mark.parametrize("make", [slider, chain, ball, floating], **names)
def test_heat_is_what_the_motion_loses(make, integrator):
    """From dampers that hardly act within a step of 10 ms to those that stop everything in a hundredth of it."""
    for damping in (1.0, 1e2, 1e4):
        model = make(damping)
        v = np.random.default_rng(4).uniform(1.0, 3.0, model.nv)
        try:
            run = la.simulate(model, dt=0.01, steps=20, v=v, integrator=integrator, strict=True)
        except la.MechanismError:
            pytest.skip("not for this joint")
        assert run.warnings == () and np.all(np.diff(run.dissipated) >= 0.0)
        off = np.abs(run.energy_balance).max() / (run.kinetic.max() + np.ptp(run.potential))
        assert off < 5e-3, f"damping {damping:g}: {off} of the energy is not explained"
        if make is slider:  # the account is exact where masses do not change with the position
            assert off < 1e-8


def test_however_little_is_recorded():
    model = ball(300.0)
    every, some = (la.simulate(model, dt=0.01, steps=20, v=[1.0, 2.0, 3.0, 1.0], record_every=n) for n in (1, 6))
    assert np.array_equal(some.dissipated, every.dissipated[[0, 6, 12, 18, 20]]) and some.warnings == ()


def test_joints_that_change_their_coordinates():
    """A joint with two charts between the points of a damper, and beside a damped joint."""
    mech = la.Mechanism()
    rod = {"mass": 1.0, "com": (0.1, 0.05, -0.4), "inertia": (0.05, 0.06, 0.03)}
    mech.add_body("ball", joint=euler_ball(charts=2), **rod)
    mech.add_body("elbow", "ball", la.Revolute((0, 1, 0)), la.Pose(xyz=(0, 0, -0.8)), **rod)
    mech.add_frame("hook", placement=la.Pose(xyz=(0.6, 0.3, -0.9)))
    mech.add_force(la.PointDamper("elbow", "hook", 2.0))
    mech.add_force(la.Damper("elbow", 3.0))
    run = la.simulate(mech.compile(), dt=0.01, steps=100, v=[1.0, 5.0, 2.0, 1.0])
    assert len(set(run.q[:, 3])) == 2, "it stays in one chart: the test tests nothing"
    assert run.dissipated[-1] > 0.2 * run.kinetic[0] and run.warnings == ()
    assert np.abs(run.energy_balance).max() < 5e-3 * run.kinetic.max()


def test_what_is_too_long_is_still_said():
    """Explicit integrators explode with such dampers, and a spring that is too stiff is no better for a damper beside it."""
    run = la.simulate(slider(350.0), dt=0.01, steps=30, v=[1.0], integrator=la.RK4())
    assert run.energy[-1] > 1e3 * run.energy[0] and "cannot be explained" in run.warnings[0]
    mech = la.Mechanism(gravity=(0.0, 0.0, 0.0))
    for name, force in (("slow", la.Damper("slow", 1e4)), ("fast", la.Spring("fast", 5e4))):
        mech.add_body(name, joint=la.Prismatic((1, 0, 0)), mass=1.0)
        mech.add_force(force)
    run = la.simulate(mech.compile(), dt=0.01, steps=60, q=[0.0, 1e-3], v=[1.0, 0.0])
    assert run.energy[-1] > 10.0 * run.energy[0] and "cannot be explained" in run.warnings[0]


@pytest.mark.parametrize("integrator", IMPLICIT, **names)
def test_what_comes_to_rest_stays_there(integrator):
    """The velocity falls to nothing, at once (c h = 2 m) or below the smallest numbers: nothing is left to be solved."""
    for damping in (100.0, 190.0, 200.0):
        run = la.simulate(slider(damping), dt=0.01, steps=1000, v=[1.0], integrator=integrator)
        assert np.abs(run.v[-1]).max() < 1e-12 and abs(run.q[-1, 0] - 1.0 / damping) < 1e-12 and run.warnings == ()


def test_a_point_is_not_far_from_anything():
    """Without size, there is nothing that its distance from the origin could be compared with but its way."""
    run = la.simulate(slider(10.0), dt=0.01, steps=20, v=[1.0], integrator=la.Maximal())
    rest = la.simulate(slider(10.0), dt=0.01, steps=2, q=[3.0], integrator=la.Maximal())
    assert run.warnings == rest.warnings == ()


def test_a_density_that_falls_too_fast_is_named():
    with pytest.raises(la.ConvergenceError, match="would become not positive"):
        la.simulate(slider(1e3), dt=0.01, steps=10, v=[1.0], integrator=la.AdaptiveStep())
