"""Mechanisms so large that nothing may be formed that grows with the square of their size."""

import numpy as np
import pytest

import leastaction as la
from leastaction.dynamics import continuous


def swinging_top(links=0):
    """A massless joint about the vertical, a point mass that hangs below it, and more links on that one."""
    mech = la.Mechanism()
    mech.add_body("spin", joint=la.Revolute(axis=(0, 0, 1)))
    mech.add_body("swing", "spin", la.Revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0, -1))
    parent = "swing"
    for k in range(links):
        mech.add_body(f"link{k}", parent, la.Revolute(axis=(0, 1, 0)), placement=la.Pose(xyz=(0, 0, -1)), mass=1.0, com=(0, 0, -1))
        parent = f"link{k}"
    return mech.compile()


@pytest.mark.parametrize("links", [0, 3])
def test_a_joint_that_moves_nothing_is_found_in_linear_time_too(links, monkeypatch):
    model = swinging_top(links)
    bent, straight = np.full(model.nv, 0.3), np.zeros(model.nv)
    assert [continuous.massless_joint(model, q) for q in (straight, bent)] == ["spin", None]
    monkeypatch.setattr(continuous, "_MOST_DENSE", 0)
    assert [continuous.massless_joint(model, q) for q in (straight, bent)] == ["spin", None]


def test_a_long_chain_that_fails_is_explained_without_a_dense_matrix(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a dense mass matrix")

    model = la.examples.chain(1500).compile()
    monkeypatch.setattr(continuous, "mass_matrix", refuse)
    with pytest.raises(la.ConvergenceError, match="smaller dt"):
        la.simulate(model, dt=0.05, steps=400, q={"link1": 1.5})
