"""Energy stays bounded: it oscillates about its start with an amplitude of order dt^2 and does not drift.

Energies are H(q_k, p_k) at the nodes, unfiltered.
"""

import numpy as np
import pytest

import leastaction as la

CHAIN_LIMIT = 1e-3  # J, of a 10-link chain that falls from 45 degrees; its kinetic energy reaches 140 J


@pytest.fixture(scope="module")
def chain():
    model = la.examples.chain(10).compile()
    return model, model.state(q={"link1": np.pi / 4})


def largest_error(run):
    return np.abs(run.energy - run.energy[0]).max()


def drift(run):
    """Mean energy of the last tenth minus that of the first tenth."""
    tenth = len(run) // 10
    return run.energy[-tenth:].mean() - run.energy[:tenth].mean()


def test_chain_for_ten_seconds(chain, discretisation):
    """1e-3 J at 1 ms.  Cayley with midpoint adds two errors of the same sign and needs 0.5 ms: at 1 ms it reaches 1.05e-3 J."""
    integrator = la.Variational(**discretisation)
    errors = [largest_error(la.simulate(*chain, dt=dt, duration=10.0, integrator=integrator)) for dt in (1e-3, 5e-4)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert errors[1] <= CHAIN_LIMIT
    if discretisation != {"retraction": "cayley", "quadrature": "midpoint"}:
        assert errors[0] <= CHAIN_LIMIT


def test_semi_implicit_euler_drifts(chain):
    euler = la.simulate(*chain, dt=1e-3, duration=10.0, integrator=la.SemiImplicitEuler())
    variational = la.simulate(*chain, dt=1e-3, duration=10.0)
    assert largest_error(euler) > 100.0 * CHAIN_LIMIT
    assert largest_error(euler) > 100.0 * largest_error(variational)
    assert abs(drift(euler)) > 100.0 * abs(drift(variational))


def test_chain_for_a_million_steps(chain):
    """No drift, of three motions that start a billionth of a radian apart: at least two of them.

    The motion is chaotic.  What is kept is an energy that differs from H by dt^2 times something that grows with the fourth power of the
    rates; when in the last tenth the tip happens to whip round at 40 rad/s, the mean of H lies lower there without any drift.  That makes
    1e-3 J in about one motion of ten; the median, which does not see the whip, stays below 1e-3 J in all of them.
    """
    model, _ = chain
    changes = []
    for nearby in (0.0, 1e-9, -1e-9):
        run = la.simulate(model, dt=1e-3, steps=1_000_000, record_every=100, q={"link1": np.pi / 4 + nearby})
        assert len(run) == 10_001
        assert abs(np.median(run.energy[-1000:]) - np.median(run.energy[:1000])) < 1e-3
        changes.append(abs(drift(run)))
    assert np.median(changes) < 1e-3


def test_chain_for_two_hundred_thousand_steps(chain, discretisation):
    run = la.simulate(*chain, dt=1e-3, steps=200_000, record_every=20, integrator=la.Variational(**discretisation))
    assert abs(drift(run)) < 1e-3


def turned(angle, axis):
    """Quaternion of a rotation about a unit axis."""
    return np.concatenate([[np.cos(0.5 * angle)], np.sin(0.5 * angle) * np.asarray(axis, dtype=float)])


def heavy_top():
    return la.examples.heavy_top(), {"top": turned(0.6, (1, 0, 0))}, {"top": (0.0, 0.0, 40.0)}


def ball_chain():
    return la.examples.ball_chain(10), {"link1": turned(0.8, (1, 0, 0)), "link4": turned(0.6, (0, 1, 0))}, None


def spatial_chain():
    return la.examples.chain(10, spatial=True), {"link1": np.pi / 4, "link2": 0.3}, None


def hanging_humanoid():
    """Held at the pelvis by a spring, limbs swinging."""
    mech = la.examples.humanoid()
    mech.add_force(la.Spring("pelvis", (100.0, 3000.0)))
    return mech, {"left_thigh": -1.0, "right_upper_arm": 0.5, "left_shoulder_pitch": 1.2}, {"pelvis": (0.5, 1.0, 0.3, 0.2, 0.0, 0.0)}


def falling_humanoid():
    return la.examples.humanoid(), {"left_thigh": -1.0}, {"pelvis": (1.0, 2.0, 0.5, 1.0, 0.0, 3.0), "right_forearm": 2.0}


@pytest.mark.parametrize("motion", [heavy_top, ball_chain, spatial_chain], ids=lambda f: f.__name__)
def test_bounded_on_other_mechanisms(motion, discretisation):
    """10 s at 1 ms within 1e-4 of the largest kinetic energy without drift; a double step quadruples the error."""
    mech, q, v = motion()
    model = mech.compile()
    state = model.state(q=q, v=v)
    integrator = la.Variational(**discretisation)
    coarse, fine = (la.simulate(model, state, dt=dt, duration=10.0, integrator=integrator) for dt in (2e-3, 1e-3))
    assert largest_error(fine) < 1e-4 * fine.kinetic.max()
    assert abs(drift(fine)) < 0.3 * largest_error(fine)
    assert largest_error(coarse) / largest_error(fine) == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize(("motion", "limit"), [(hanging_humanoid, 1e-2), (falling_humanoid, 1e-4)], ids=["hanging", "falling"])
def test_bounded_on_the_humanoid(motion, limit, discretisation):
    """10 s within a small part of the largest kinetic energy.

    The motion is chaotic, and the light wrists and shoulders reach 300 rad/s for moments, 0.3 rad in a step of 1 ms: the largest error
    is made there and differs from run to run.  In the first second, before that, the typical one shrinks with dt^2.
    """
    mech, q, v = motion()
    model = mech.compile()
    state = model.state(q=q, v=v)
    integrator = la.Variational(**discretisation)
    runs = {dt: la.simulate(model, state, dt=dt, duration=10.0, integrator=integrator) for dt in (2e-3, 1e-3, 5e-4)}
    assert largest_error(runs[1e-3]) < limit * runs[1e-3].kinetic.max()
    errors = {dt: np.abs(run.energy - run.energy[0]) for dt, run in runs.items()}
    early = {dt: np.median(errors[dt][run.t <= 1.0]) for dt, run in runs.items()}
    assert early[2e-3] / early[5e-4] == pytest.approx(16.0, rel=0.1)
    assert np.median(errors[1e-3]) < 0.1 * limit * runs[1e-3].kinetic.max()
