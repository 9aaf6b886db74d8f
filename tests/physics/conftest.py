"""Mechanisms that several laws are tested on."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import leastaction as la

COMBINATIONS = list(itertools.product(("exp", "cayley"), ("trapezoid", "midpoint")))


def pytest_generate_tests(metafunc):
    """A test that asks for `discretisation` runs with every retraction and quadrature."""
    if "discretisation" in metafunc.fixturenames:
        choices = [{"retraction": r, "quadrature": q} for r, q in COMBINATIONS]
        metafunc.parametrize("discretisation", choices, ids=["-".join(pair) for pair in COMBINATIONS])


def push(t, q, v, tau):
    """A smooth force that depends on time, place and velocity; the first six entries belong to the floating base."""
    tau[0] += 3.0 * np.sin(5.0 * t)
    tau[2] -= 2.0 * np.sin(q[2])
    tau[4] -= 0.2 * v[4] ** 3
    tau[9] -= 0.3 * v[9] * np.cos(q[11])


def tree_of_all_joints():
    """Two trees on the world: one on a floating base with a ball joint, one of all joints with plain coordinates."""
    rng = np.random.default_rng(11)
    mech = la.Mechanism(name="all joints")
    joints = {
        "base": (la.Free(), "world"), "ball": (la.Spherical(), "base"), "elbow": (la.Revolute(axis=(1, 0, 0)), "ball"),
        "wrist": (la.Spherical(), "elbow"),
        "screw": (la.Helical(axis=(1, 0, 1), pitch=0.3), "world"), "tube": (la.Cylindrical(axis=(0, 1, 0)), "screw"),
        "cross": (la.Universal(), "tube"), "slab": (la.Planar(normal=(0, 1, 0)), "screw"),
        "hinge": (la.Revolute(axis=(1, 1, 0)), "slab"), "slider": (la.Prismatic(axis=(0, 1, 1)), "hinge"),
    }  # fmt: skip
    for name, (joint, parent) in joints.items():
        mech.add_body(
            name, parent, joint, la.Pose(0.5 * rng.normal(size=3), quaternion=rng.normal(size=4)),
            mass=rng.uniform(0.5, 2.0), com=0.2 * rng.normal(size=3), inertia=la.examples.random_inertia(rng),
        )  # fmt: skip
    mech.add_force(la.Spring("screw", 5.0))
    mech.add_force(la.Spring("tube", (4.0, 30.0)))
    mech.add_force(la.Spring("cross", (3.0, 5.0), rest=(0.2, -0.3)))
    mech.add_force(la.Spring("slab", (30.0, 20.0, 4.0)))
    mech.add_force(la.Spring("slider", 40.0, rest=0.1))
    mech.add_force(la.Spring("base", (3.0, 20.0)))
    mech.add_force(la.Spring("ball", 4.0, rest=(0.6, 0.0, 0.8, 0.0)))
    return mech


def generic_state(mech):
    """A compiled model in a state where nothing is zero."""
    model = mech.compile()
    rng = np.random.default_rng(3)
    q = model.neutral() + 0.3 * rng.normal(size=model.nq)
    for body in model.bodies:
        if isinstance(body.joint, (la.Free, la.Spherical)):
            part = q[model.q_slice(body.joint_name)][-4:]
            part /= np.linalg.norm(part)
    return model, model.state(q=q, v=rng.normal(size=model.nv), t=0.3)


@pytest.fixture(scope="session")
def conservative_tree():
    """(model, state) with all joints, gravity and springs."""
    return generic_state(tree_of_all_joints())


@pytest.fixture(scope="session")
def driven_tree():
    """All joints, gravity, springs, dampers, wrenches in both frames, a user force; and joint forces `tau`."""
    mech = tree_of_all_joints()
    mech.add_force(la.Damper("base", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)))
    mech.add_force(la.Damper("ball", 0.3))
    mech.add_force(la.Damper("slab", (0.4, 0.2, 0.3)))
    mech.add_force(la.Damper("screw", 0.5))
    mech.add_force(la.Wrench("hinge", force=(1.0, -2.0, 0.5), point=(0.1, 0.2, 0.0)))
    mech.add_force(la.Wrench("wrist", force=(0.5, 0.3, 1.0), point=(0.0, 0.1, -0.2)))
    mech.add_force(la.Wrench("cross", moment=(0.3, 0.0, -0.2), frame="body"))
    mech.add_force(la.CustomForce(push))
    model, state = generic_state(mech)
    return SimpleNamespace(model=model, state=state, tau=0.3 * np.random.default_rng(4).normal(size=model.nv))


@pytest.fixture(scope="session")
def bent_chain():
    """n -> (model, state) of a 3-D chain with every second joint at 0.3 rad: it falls as a coil, from rest."""

    def make(n):
        model = la.examples.chain(n, spatial=True).compile()
        q = np.zeros(n)
        q[1::2] = 0.3
        q[0] = np.pi / 4
        return model, model.state(q=q)

    return make
