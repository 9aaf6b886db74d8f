"""Armature: the inertia of rotors geared to joints is part of the kinetic energy, in every integrator that takes it.

Residuals, Jacobians, momenta and derivatives of steps are compared with the independent action where those of all trees are
(test_discrete_action.py, test_identities.py, test_linearize.py, test_specialise.py: part of the trees there have rotors).
"""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import LeastActionError
from leastaction.solvability.tensors import MassTensors
from leastaction.testing import every_integrator
from leastaction.testing.every_integrator import in_short
from leastaction.yardsticks import Johnson2009, Svi

Q, V = [0.3, 0.2, -0.4, 0.1], [0.5, -1.0, 0.7, 0.2]
RATIO, ROTOR = 9.0, 4e-3  # of a gearbox, kg m^2 of what turns in it
ROD = {"com": (0.05, 0.1, -0.5), "inertia": (0.1, 0.1, 0.05)}


def arm(shoulder=0.0, elbow=0.0, slide=0.0):
    """Four freedoms in joints with plain coordinates; armatures of the three joints."""
    mech = la.Mechanism(name="arm")
    mech.add_body("shoulder", joint=la.Revolute(axis=(0, 1, 0)), mass=1.0, armature=shoulder, **ROD)
    mech.add_body("elbow", "shoulder", la.Universal(), la.Pose(xyz=(0, 0, -1)), mass=0.7, armature=elbow, **ROD)
    mech.add_body("slide", "elbow", la.Prismatic(axis=(1, 0, 1)), la.Pose(xyz=(0, 0, -1)), mass=0.4, armature=slide, **ROD)
    mech.add_force(la.Spring("slide", 200.0))
    return mech


GEARED = {"shoulder": 0.6, "elbow": (0.2, 0.1), "slide": 0.5}
A = np.array([0.6, 0.2, 0.1, 0.5])


def end(model, integrator, dt, duration=0.2):
    run = la.simulate(model, dt=dt, duration=duration, q=Q, v=V, integrator=integrator)
    return run.q[-1], run.t[-1]


@pytest.fixture(scope="module")
def models():
    return arm(**GEARED).compile(), arm().compile()


def test_it_is_added_to_the_diagonal_of_the_mass_matrix(models):
    geared, plain = models
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v, a = rng.normal(size=(3, 4))
        M = la.dynamics.mass_matrix(plain, q) + np.diag(A)
        np.testing.assert_allclose(la.dynamics.mass_matrix(geared, q), M, rtol=0, atol=1e-14)
        np.testing.assert_allclose(la.dynamics.inverse(geared, q, v, a) - la.dynamics.inverse(plain, q, v, a), A * a, atol=1e-12)
        bias = la.dynamics.inverse(plain, q, v, np.zeros(4)) + 200.0 * np.array([0, 0, 0, q[3]])
        np.testing.assert_allclose(M @ la.dynamics.forward(geared, q, v), -bias, atol=1e-11)
        assert la.dynamics.energy(geared, q, v) - la.dynamics.energy(plain, q, v) == pytest.approx(0.5 * A @ v**2, abs=1e-12)
        np.testing.assert_allclose(MassTensors(geared).at(q, 0)[0], M, atol=1e-12)


@pytest.mark.parametrize("integrator", every_integrator(), ids=in_short)
def test_every_integrator_feels_it(models, integrator):
    geared, plain = models
    (coarse, reached), (fine, again) = (end(geared, integrator, dt) for dt in (4e-3, 2e-3))
    errors = [np.abs(q - end(geared, la.RK4(), t / 400, t)[0]).max() for q, t in ((coarse, reached), (fine, again))]
    effect = np.abs(end(plain, la.RK4(), again / 400, again)[0] - fine).max()
    assert errors[1] < 1e-2 * effect
    if integrator.uniform and errors[1] > 1e-10:
        assert np.log2(errors[0] / errors[1]) > integrator.order - 0.4


def test_maximal_coordinates_move_the_same(models):
    """Under joint forces too; and the same kinetic energy, momenta and forces through the joints."""
    tau = np.array([3.0, 0.2, -0.1, 0.5])
    a, b = (la.simulate(models[0], dt=4e-3, steps=50, q=Q, v=V, tau=tau, integrator=i(tol=1e-13)) for i in (la.Variational, la.Maximal))
    assert np.abs(a.q - b.q).max() < 1e-11 and np.abs(a.p - b.p).max() < 1e-11 and np.abs(a.energy - b.energy).max() < 1e-10
    for name in ("shoulder", "elbow", "slide"):
        assert np.abs(a.reactions[name].force - b.reactions[name].force).max() < 1e-7
        assert np.abs(a.reactions[name].moment - b.reactions[name].moment).max() < 1e-7


def test_guarded_steps_and_compositions_of_specialised_models_are_the_same(models):
    geared, _ = models
    plain = la.simulate(geared, dt=4e-3, steps=25, q=Q, v=V)
    guarded = la.simulate(geared, dt=4e-3, steps=25, q=Q, v=V, guard=True)
    own = la.simulate(geared.specialise(), dt=4e-3, steps=25, q=Q, v=V)
    for run in (guarded, own):
        assert np.abs(run.q - plain.q).max() < 1e-11 and np.abs(run.p - plain.p).max() < 1e-10


@pytest.mark.parametrize("options", [{}, {"retraction": "cayley"}, {"quadrature": "midpoint"}], ids=str)
def test_energy_stays_bounded(models, options):
    run = la.simulate(models[0], dt=5e-3, steps=20_000, q=Q, v=V, integrator=la.Variational(**options))
    off = np.abs(run.energy - run.energy[0]) / run.kinetic.max()
    assert run.converged and off.max() < 2e-2 and off[10_000:].max() < 1.2 * off[:10_000].max()


def with_rotor(as_a_body):
    """An arm with a gearbox in the world: the rotor as a body on the same axis, geared by a constraint, or as an armature."""
    mech = la.Mechanism(name="gearbox")
    armature = 0.0 if as_a_body else RATIO**2 * ROTOR
    mech.add_body("arm", joint=la.Revolute(axis=(0, 1, 0)), mass=1.0, armature=armature, **ROD)
    mech.add_body("hand", "arm", la.Universal(), la.Pose(xyz=(0, 0, -1)), mass=0.5, **ROD)
    if as_a_body:
        mech.add_body("rotor", joint=la.Revolute(axis=(0, 1, 0)), mass=0.3, inertia=(ROTOR, ROTOR, ROTOR))
        mech.add_constraint(la.Gear("rotor", "arm", ratio=RATIO))
    return mech.compile()


def test_a_rotor_as_a_body_moves_the_same():
    """Of a rotor on a fixed axis the discrete kinetic energy of `exp` is exactly that of the armature."""
    body, armature = with_rotor(True), with_rotor(False)
    q, v = [0.4, 0.1, -0.2], [1.0, 0.3, -0.5]
    a = la.simulate(armature, dt=5e-3, steps=400, q=q, v=v, integrator=la.Variational(tol=1e-13))
    q, v = [0.4, 0.1, -0.2, RATIO * 0.4], [1.0, 0.3, -0.5, RATIO]
    b = la.simulate(body, dt=5e-3, steps=400, q=q, v=v, integrator=la.Variational(tol=1e-13))
    assert np.abs(a.q - b.q[:, :3]).max() < 1e-9 and np.abs(a.energy - b.energy + b.energy[0] - a.energy[0]).max() < 1e-9


def test_the_joint_carries_what_the_rotor_leaves(models):
    """Torque through the joint = torque of the motor minus what accelerates the rotor, to the last digit of the discrete equations."""
    geared, dt, tau = models[0], 4e-3, np.array([3.0, 0.2, -0.1, 0.5])
    run = la.simulate(geared, dt=dt, steps=20, q=Q, v=V, tau=tau, integrator=la.Variational(tol=1e-13))
    drive = np.concatenate([run.reactions[name].drive for name in geared.joint_names], axis=1)[1:-1]
    spring = np.array([0, 0, 0, 200.0]) * run.q[1:-1]
    np.testing.assert_allclose(drive, tau - spring - A * np.diff(run.q, 2, axis=0) / dt**2, atol=1e-7)


def test_momentum_is_that_of_the_bodies():
    """A floating mechanism keeps its momentum whatever its rotors do."""
    mech = la.Mechanism(gravity=(0, 0, 0))
    mech.add_body("base", joint=la.Free(), mass=2.0, **ROD)
    mech.add_body("arm", "base", la.Revolute(axis=(0, 1, 0)), la.Pose(xyz=(0, 0, -1)), mass=1.0, armature=0.7, **ROD)
    run = la.simulate(mech.compile(), dt=1e-2, steps=300, v=[0.3, -0.2, 0.5, 0.1, 0.2, 0.3, 2.0])
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-9 and np.abs(run.energy - run.energy[0]).max() < 1e-3


def test_a_rotor_needs_no_other_mass():
    mech = la.Mechanism()
    mech.add_body("wheel", joint=la.Revolute(axis=(0, 0, 1)), armature=0.5)
    run = la.simulate(mech.compile(), dt=1e-2, steps=100, tau=[2.0])
    assert run.q[-1, 0] == pytest.approx(0.5 * 2.0 / 0.5 * run.t[-1] ** 2, rel=1e-10)


def test_it_belongs_to_the_model(models):
    geared, plain = models
    assert geared != plain and pickle.loads(pickle.dumps(geared)) == geared
    state = geared.state(Q, V)
    q, p = la.linearize(geared, la.Variational(), state, 1e-3), la.linearize(plain, la.Variational(), plain.state(Q, V), 1e-3)
    assert not np.allclose(q.A, p.A, rtol=1e-3)


REFUSED = [
    (la.Spherical(), 0.1, "of Spherical.*plain coordinates"),
    (la.Free(), (1, 0, 0, 0, 0, 0), "of Free.*plain coordinates"),
    (la.Fixed(), 0.1, "does not move"),
    (la.Revolute((0, 0, 1)), -0.1, "numbers >= 0"),
    (la.Revolute((0, 0, 1)), (0.1, 0.2), "needs one number"),
    (la.Universal(), (0.1, 0.2, 0.3), "one number or 2 of them"),
    (la.Revolute((0, 0, 1)), np.nan, "finite"),
    (la.Revolute((0, 0, 1)), "heavy", "heavy"),
]


@pytest.mark.parametrize(("joint", "armature", "message"), REFUSED)
def test_what_is_no_rotor_is_refused(joint, armature, message):
    with pytest.raises(la.MechanismError, match=f"body 'link': armature.*{message}"):
        la.Mechanism().add_body("link", joint=joint, mass=1.0, armature=armature)


def test_no_armature_is_taken_by_every_joint():
    for joint in (la.Spherical(), la.Free(), la.Fixed()):
        assert not la.Mechanism().add_body("link", joint=joint, mass=1.0, armature=0.0).armature.any()


def test_what_compares_with_papers_refuses_it(models):
    for integrator in (Johnson2009(), Svi()):
        with pytest.raises(LeastActionError, match="armature"):
            la.simulate(models[0], dt=1e-3, steps=1, q=Q, integrator=integrator)


def test_too_much_of_it_is_refused():
    mech = arm()
    mech.bodies["slide"] = replace(mech.bodies["slide"], armature=np.array([1e70]))
    with pytest.raises(la.MechanismError, match="'slide'.*armature"):
        mech.compile()
