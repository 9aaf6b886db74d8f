"""Bodies that are computed at once: what each of them gets does not depend on the other, and nobody comes too early."""

import inspect

import numba
import numpy as np
import pytest

import leastaction as la
from leastaction.compiling.straight import straight
from leastaction.compiling.together import together
from leastaction.lie.retraction_exp import gammas, half_angle_ratio
from leastaction.lie.trig import sincos
from leastaction.specialise import build
from leastaction.specialise.emit import unit_source
from leastaction.specialise.memory import Bodies, cell_of
from leastaction.specialise.plan import accesses, plan
from leastaction.specialise.schedule import groups
from leastaction.specialise.trace import Sweep
from leastaction.testing import random_mechanism, random_state

OPTIONS = {"fastmath": {"contract", "nsz"}, "error_model": "numpy"}


@straight
def piece(row, q, shared, h, i, k):
    t0 = q[k]
    c1 = sincos(t0)
    t2 = -h * c1[1] / (t0 + 3.0)
    t3 = half_angle_ratio(c1[1], (c1[0], 0.0, 0.0))
    c4 = gammas(t0 * t0)
    row[i, 0] = t2 * shared[1] + row[i, 1]
    row[i, 1] = c1[0] - h
    row[i + 1, 0] = 2.0
    row[i + 1, 1] = t3 * c4[1] + c4[0]


@together
def both(row, q, shared, h, i, k, i1, k1):
    piece(row, q, shared, h, i, k)
    piece(row, q, shared, h, i1, k1)


@numba.njit(**OPTIONS)
def at_once(row, q, shared, h):
    both(row, q, shared, h, 0, 2, 4, 0)


@numba.njit(**OPTIONS)
def one_after_the_other(row, q, shared, h):
    piece(row, q, shared, h, 0, 2)
    piece(row, q, shared, h, 4, 0)


@pytest.mark.parametrize("size", [1e-9, 0.3, 2.0, 40.0])
def test_two_at_once_give_what_each_gives_alone(size):
    rng = np.random.default_rng(0)
    for _ in range(50):
        q, shared, row = size * rng.normal(size=3), rng.normal(size=2), rng.normal(size=(6, 2))
        a, b = row.copy(), row.copy()
        at_once(a, q, shared, 0.7)
        one_after_the_other(b, q, shared, 0.7)
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)
        assert np.array_equal(a[[2, 3]], row[[2, 3]])


def planned_sweeps(mechanism, coarse):
    model = mechanism.compile()
    bodies = Bodies(model.tree.link)
    for p in plan(build.step_units(0), model.tree, model.make_work(), coarse):
        for part in p.parts:
            if isinstance(part, Sweep):
                yield bodies, part


def classes(sweep):
    number: dict[int, int] = {}
    return [number.setdefault(id(t), len(number)) for t in sweep.traces]


MECHANISMS = {
    "humanoid": la.examples.humanoid,
    **{f"tree {seed}": lambda seed=seed: random_mechanism(np.random.default_rng(seed), n=12) for seed in range(3)},
}


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("name", MECHANISMS)
def test_nobody_comes_before_what_it_needs(name, coarse):
    """Whoever writes what another reads or writes comes before or after it as in the sweep, never beside it."""
    beside = 0
    for bodies, sweep in planned_sweeps(MECHANISMS[name](), coarse):
        numbers = classes(sweep)
        found = groups(sweep, bodies, numbers)
        if found is None:
            continue
        assert sorted(i for g in found for i in g) == sorted(sweep.indices)
        when = {i: turn for turn, g in enumerate(found) for i in g}
        number = dict(zip(sweep.indices, numbers, strict=True))
        assert all(len({number[i] for i in g}) == 1 for g in found)
        cells = {
            i: [{cell_of(p, bodies.bases(i)) for p in places} for places in accesses(t)]
            for i, t in zip(sweep.indices, sweep.traces, strict=True)
        }
        for x, a in enumerate(sweep.indices):
            for b in sweep.indices[x + 1 :]:
                if cells[a][1] & (cells[b][0] | cells[b][1]) or cells[a][0] & cells[b][1]:
                    assert when[a] < when[b], (a, b)
        beside += sum(len(g) > 1 for g in found)
    assert beside > 0 or name != "humanoid"


def test_limbs_run_beside_each_other_and_chains_do_not():
    def source(mechanism):
        model = mechanism.compile()
        units = plan(build.forward_units(), model.tree, model.make_work(), False)
        return "".join(unit_source(p, Bodies(model.tree.link)) for p in units)

    assert "@together" in source(la.examples.humanoid())
    assert "@together" not in source(la.examples.chain(6))


def test_in_lanes_of_a_batch_every_body_runs_alone():
    """There a number is a vector of members already; limbs of a humanoid and of a spider would run beside each other elsewhere."""
    for mechanism in (la.examples.humanoid(), spider()):
        module = mechanism.compile().specialise().specialised.lanes_module("exp", 4)  # runs: every name in it is known
        source = inspect.getsource(module)
        assert "@straight" in source and "@together" not in source


def spider(legs=4):
    """A floating body with equal legs of three links, hinged in different directions."""
    mech = la.Mechanism(name="spider")
    mech.add_body("trunk", joint=la.Free(), mass=3.0, com=(0.01, 0.02, 0.0), inertia=(0.1, 0.2, 0.25))
    for leg in range(legs):
        at, parent = la.Pose(xyz=(0.3 * np.cos(leg), 0.3 * np.sin(leg), 0.0), rpy=(0.0, 0.1, leg)), "trunk"
        for k, axis in enumerate(((1, 0, 0), (0, 1, 0), (0, 1, 0))):
            mech.add_body(
                f"{leg}.{k}", parent, la.Revolute(axis=axis), at, mass=0.5 + 0.1 * leg, com=(0.0, 0.01, -0.15), inertia=(0.01, 0.011, 0.002)
            )
            at, parent = la.Pose(xyz=(0.0, 0.02, -0.3)), f"{leg}.{k}"
    return mech


def test_joints_given_as_functions_run_alone():
    """Four arms with joints of their own, two of each; what is not a joint may run together."""
    joint = la.SymbolicJoint("screwed", lambda q, sp: sp.rot_y(q[0]) @ sp.move(0, 0.1 * q[0], 0), 1)
    mech = la.Mechanism()
    for arm in range(4):
        mech.add_body(f"upper{arm}", joint=joint if arm < 2 else la.Revolute(), mass=1.0 + arm, com=(0.1, 0, 0.2), inertia=(0.1, 0.2, 0.3))
        mech.add_body(f"lower{arm}", f"upper{arm}", joint, la.Pose(xyz=(0, 0, -1)), mass=1.0, com=(0, 0.1, 0.2), inertia=(0.1, 0.2, 0.3))
    model = mech.compile()
    q, v = random_state(model, np.random.default_rng(1))
    a, b = (la.dynamics.forward(m, q, v) for m in (model.specialise(), model))
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * np.abs(b).max())


def test_a_specialised_spider_falls_as_the_general_one():
    model = spider().compile()
    q, v = random_state(model, np.random.default_rng(1))
    a, b = (la.dynamics.forward(m, q, v) for m in (model.specialise(), model))
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * np.abs(b).max())


@pytest.mark.slow
def test_a_specialised_spider_moves_as_the_general_one():
    model = spider().compile()
    q, v = random_state(model, np.random.default_rng(1))
    x, y = (la.simulate(m, q=q, v=v, dt=1e-3, steps=50, progress=False) for m in (model.specialise(), model))
    np.testing.assert_allclose(x.q, y.q, atol=1e-10)
    np.testing.assert_allclose(x.p, y.p, atol=1e-9 * np.abs(y.p).max())
