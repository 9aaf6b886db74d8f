"""Mechanisms of surface, curve and knee joints: they have the degrees of freedom they should, stay in contact and keep their energy."""

import numpy as np
import pytest

import leastaction as la
from leastaction.testing import Kinematics

MOTIONS = {
    "spline_chain": (la.examples.spline_chain, {}),
    "board_on_surface": (la.examples.board_on_surface, {"v": {"board": (0.0, 0.3, 1.0)}}),
    "knee_leg": (la.examples.knee_leg, {"q": {"thigh": -0.8, "shank": 0.6}}),
    "windmill": (la.examples.windmill, {"v": {"hub": 2.0, "ball1a": (0.0, 2.0, 0.0, 0.0), "ring2a": (0.0, 2.0, 0.0, 0.0)}}),
}


@pytest.mark.parametrize(
    ("make", "arguments", "dofs"),
    [
        (la.examples.torus_chain, (1,), 2), (la.examples.torus_chain, (10,), 38), (la.examples.torus_chain, (20,), 78),
        (la.examples.windmill, (), 73), (la.examples.spline_chain, (5,), 18), (la.examples.board_on_surface, (), 6),
        (la.examples.knee_leg, (), 3),
    ],
)  # fmt: skip
def test_degrees_of_freedom(make, arguments, dofs):
    model = make(*arguments).compile()
    assert model.nv == dofs
    inertia = la.dynamics.mass_matrix(model, model.neutral())
    assert np.linalg.eigvalsh(inertia)[0] > 1e-5 * np.diag(inertia).min()  # every coordinate moves mass in its own way


def swinging(n):
    """A chain of tori, from rest, pulled aside in both directions."""
    mech = la.examples.torus_chain(n)
    model = mech.compile()
    q = model.neutral()
    q[model.q_slice("ring1")] += (0.3, 0.5)
    q[model.q_slice("ring2")] += (0.8, 0.0, 0.0, 0.0)
    q[model.q_slice("ring3")] += (0.0, 0.4, 0.0, -0.3)
    return mech, model, q


def test_hanging_chain_rests():
    """The start configuration is an equilibrium: rings in a straight line, each at the bottom of the one above."""
    mech = la.examples.torus_chain(4)
    run = la.simulate(mech.compile(), dt=1e-3, duration=0.5)
    assert np.abs(run.q - run.q[0]).max() < 1e-9
    centres = [Kinematics(mech).place(name, run.q[0])[:3, 3] for name in mech.bodies]
    assert np.abs(np.diff(centres, axis=0) - (0.0, 0.0, -1.5)).max() < 1e-12


def test_torus_chain_keeps_its_energy():
    """20 tori for 3 s at 1 ms: 1e-4 of the range of the potential energy (measured: 1.1e-5), and no drift."""
    _, model, q = swinging(20)
    run = la.simulate(model, dt=1e-3, duration=3.0, q=q)
    span, tenth = np.ptp(run.potential), len(run) // 10
    assert np.abs(run.energy - run.energy[0]).max() < 1e-4 * span
    assert abs(run.energy[-tenth:].mean() - run.energy[:tenth].mean()) < 1e-5 * span


def torus(u, v, radius=1.0, tube=0.25):
    """Point and normal, (..., 3)."""
    normal = np.stack([np.cos(v) * np.cos(u), np.cos(v) * np.sin(u), np.sin(v)], -1)
    return radius * np.stack([np.cos(u), np.sin(u), 0 * u], -1) + tube * normal, normal


def test_tori_stay_in_contact():
    """In the world, along a run: points coincide and normals are opposite; no error accumulates down the chain."""
    mech, model, q = swinging(20)
    run = la.simulate(model, dt=1e-3, duration=1.0, q=q, record_every=20)
    kin, known = Kinematics(mech), {}
    for i in range(2, 21):
        u1, v1, u2, v2 = np.moveaxis(run.q[:, model.q_slice(f"ring{i}")], -1, 0)
        (point1, normal1), (point2, normal2) = torus(u1, v1), torus(u2, v2)
        above, below = kin.place(f"ring{i - 1}", run.q, known), kin.place(f"ring{i}", run.q, known)
        assert np.abs(_moved(above, point1) - _moved(below, point2)).max() < 1e-12
        assert np.abs(_turned(above, normal1) + _turned(below, normal2)).max() < 1e-12


def _turned(pose, x):
    return np.einsum("...ij,...j->...i", pose[..., :3, :3], x)


def _moved(pose, x):
    return _turned(pose, x) + pose[..., :3, 3]


@pytest.mark.parametrize("motion", MOTIONS)
def test_energy_is_bounded(motion):
    """2 s: within 1e-3 of the largest kinetic energy at 1 ms, and a fourth of it with half the step."""
    make, start = MOTIONS[motion]
    model = make().compile()
    coarse, fine = (la.simulate(model, dt=dt, duration=2.0, **start) for dt in (1e-3, 5e-4))
    errors = [np.abs(run.energy - run.energy[0]).max() for run in (coarse, fine)]
    assert errors[0] < 1e-3 * coarse.kinetic.max()
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
