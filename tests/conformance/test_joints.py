"""Every joint of the package obeys the laws of a joint.  A new one in `joints.ALL` is picked up by itself."""

import numpy as np
import pytest

import leastaction as la
from leastaction import joints
from leastaction.joints import dispatch
from leastaction.testing import Kinematics, arriving_momentum, check_joint, leaving_momentum, random_mechanism, random_state

MOVING = [k for k in joints.ALL if k.nv > 0]


@pytest.mark.parametrize("kind", joints.ALL)
@pytest.mark.parametrize("seed", range(4))
def test_kernels_are_derivatives_of_the_pose(kind, seed):
    check_joint(kind, seed)


def test_kinds_are_places_in_the_list():
    assert [k.kind for k in MOVING] == list(range(len(MOVING))) == list(range(dispatch.COUNT))
    assert joints.Fixed.kind < 0  # it has no kernels


@pytest.mark.parametrize("kind", MOVING)
@pytest.mark.parametrize("retraction", ["cayley", "exp"])
def test_a_tree_of_this_joint_follows_the_discrete_action(kind, retraction):
    rng = np.random.default_rng(7)
    mech = random_mechanism(rng, 3, joints=[kind])
    model, kin = mech.compile(), Kinematics(mech)
    q0, v = random_state(model, rng)
    tau, h = rng.normal(size=model.nv), 0.02
    sim = la.Simulator(model, dt=h, q=q0, v=v, integrator=la.Variational(retraction=retraction, tol=1e-13))
    before = sim.state.p
    sim.step(tau)
    for got, law in ((before, leaving_momentum), (sim.state.p, arriving_momentum)):
        wanted = law(kin, q0, sim.q, h, tau, retraction)
        assert np.abs(got - wanted).max() <= 1e-9 * np.abs(wanted).max()


@pytest.mark.parametrize("kind", MOVING)
def test_a_tree_of_this_joint_has_consistent_dynamics(kind):
    rng = np.random.default_rng(9)
    mech = random_mechanism(rng, 3, joints=[kind], forces=False)
    model = mech.compile()
    q, v = random_state(model, rng)
    tau = rng.normal(size=model.nv)
    a = la.dynamics.forward(model, q, v, tau)
    scale = np.abs(la.dynamics.mass_matrix(model, q)).max() * np.abs(a).max()
    assert np.abs(la.dynamics.inverse(model, q, v, a) - tau).max() <= 1e-12 * scale


@pytest.mark.parametrize("kind", joints.ALL)
def test_the_laws_can_fail(kind):
    """A joint that breaks its promises is caught."""
    broken = type("Broken", (kind,), {"coordinates": ("ghost",) * 9})
    with pytest.raises(AssertionError, match="9 coordinate names"):
        check_joint(broken)


def test_wrong_kernels_are_caught():
    """A joint whose description and kernels are of different types."""
    broken = type("Broken", (joints.Universal,), {"kind": joints.Cylindrical.kind, "neutral": lambda self: np.ones(2)})
    with pytest.raises(AssertionError, match="pose against reference_pose"):
        check_joint(broken)
