"""Bodies of a chain in one function: what one leaves for the next is not read again, and nothing written meanwhile is missed."""

import inspect

import numba
import numpy as np
import pytest

import leastaction as la
from leastaction.compiling.decorators import kernel
from leastaction.compiling.in_a_row import in_a_row
from leastaction.compiling.straight import straight
from leastaction.lie.trig import sincos

OPTIONS = {"fastmath": {"contract", "nsz"}, "error_model": "numpy"}


@kernel
def push(a, i):
    a[i, 0] += 2.0


@straight
def plain(row, r, out, h, i, p, j):
    t0 = row[i, 0]
    t1 = row[p, 0]
    c2 = sincos(t0)
    t3 = (r[j] - t0) * h
    out[j] = t3
    row[p, 0] = t1 + (c2[0] + t3 * row[i, 1])
    row[p, 1] = row[i, 1] - c2[1] * r[j + 1]
    r[j + 1] = t3


@straight
def pushed(row, r, out, h, i, p, j):
    t0 = row[p, 0]
    push(row, p)
    t1 = row[p, 0]
    row[i, 1] = h * t0
    out[j] = t1 - row[i, 1] + row[i, 0]


@in_a_row
def three(row, r, out, h, i, i1, j, i2, j1, p2, j2):
    plain(row, r, out, h, i, i1, j)
    plain(row, r, out, h, i1, i2, j1)
    plain(row, r, out, h, i2, p2, j2)


@in_a_row
def three_pushed(row, r, out, h, i, i1, j, i2, j1, p2, j2):
    pushed(row, r, out, h, i, i1, j)
    pushed(row, r, out, h, i1, i2, j1)
    plain(row, r, out, h, i2, p2, j2)


@numba.njit(**OPTIONS)
def in_one(row, r, out, h, which):
    if which == 0:
        three(row, r, out, h, 3, 2, 4, 1, 2, 0, 0)
    else:
        three_pushed(row, r, out, h, 3, 2, 4, 1, 2, 0, 0)


@numba.njit(**OPTIONS)
def one_after_the_other(row, r, out, h, which):
    if which == 0:
        plain(row, r, out, h, 3, 2, 4)
        plain(row, r, out, h, 2, 1, 2)
    else:
        pushed(row, r, out, h, 3, 2, 4)
        pushed(row, r, out, h, 2, 1, 2)
    plain(row, r, out, h, 1, 0, 0)


@pytest.mark.parametrize("which", [0, 1])
def test_a_row_gives_what_its_calls_give(which):
    rng = np.random.default_rng(3)
    for _ in range(20):
        row, r, out = rng.normal(size=(4, 2)), rng.normal(size=6), rng.normal(size=6)
        found, expected = [row.copy(), r.copy(), out.copy()], [row, r, out]
        in_one(*found, 0.7, which)
        one_after_the_other(*expected, 0.7, which)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


def chain_of(joint, length):
    mech = la.Mechanism(gravity=(0.3, -1.0, -9.81))
    for k in range(length):
        placement = la.Pose(xyz=(0.0, 0.1, -0.3))
        mech.add_body(
            f"link{k}", parent=f"link{k - 1}" if k else "world", joint=joint(), placement=placement, mass=1.0, com=(0.0, 0.02, -0.2),
            inertia=(0.02, 0.03, 0.01),
        )  # fmt: skip
    return mech


MECHANISMS = {
    "planar, 10": lambda: la.examples.chain(10),
    "planar, 11": lambda: la.examples.chain(11),
    "universal": lambda: chain_of(la.Universal, 11),
    "balls": lambda: la.examples.ball_chain(10),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_chain_moves_as_with_the_general_kernels(name):
    model = MECHANISMS[name]().compile()
    own = model.specialise()
    rng = np.random.default_rng(1)
    q, v = model.neutral(), rng.normal(size=model.nv)
    if model.nq == model.nv:
        q = q + 0.4 * rng.normal(size=model.nq)
    tau = rng.normal(size=model.nv)
    source = inspect.getsource(own.specialised.step_module("exp"))
    assert source.count("@in_a_row") >= 3
    exactly = la.Variational(tol=1e-13)
    ours, theirs = (la.simulate(m, m.state(q=q, v=v), dt=2e-3, steps=40, tau=tau, integrator=exactly) for m in (own, model))
    np.testing.assert_allclose(ours.q, theirs.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(ours.p, theirs.p, rtol=0, atol=1e-11 * np.abs(theirs.p).max())
    a, b = (la.dynamics.forward(m, q, v, tau) for m in (own, model))
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max())


def test_in_batches_the_lanes_belong_to_members():
    """Code for them is made and read, without a function for several bodies."""
    model = la.examples.chain(10).compile().specialise()
    assert "@in_a_row" not in inspect.getsource(model.specialised.lanes_module("exp", 4))
