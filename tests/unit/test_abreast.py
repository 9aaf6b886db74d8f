"""Bodies abreast and blocks in lanes: what each gets is what it gets alone, and nothing else is touched."""

import numba
import numpy as np
import pytest

import leastaction as la
from leastaction.compiling.abreast import AT_ONCE, abreast
from leastaction.compiling.decorators import kernel
from leastaction.kernels.tree.drnea import leave
from leastaction.kernels.tree.layout import BODY_COLUMNS, DINV, FACTOR_COLUMNS, ROW_COLUMNS, U
from leastaction.kernels.tree.newton_matrix import factorise_hinge, factorise_joint, stiffen_exactly, stiffen_to_first_order
from leastaction.lie import retractions
from leastaction.lie.algebra import load3
from leastaction.testing import random_mechanism, random_state

OPTIONS = {"fastmath": {"contract", "nsz"}, "error_model": "numpy"}
COMPILED = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compares compiled code")


@abreast
def mixture(i, a, b, n, h):
    """Loads what it has written, branches, writes in a branch, single columns and several side by side."""
    x = a[i, 0] * h
    a[i, 7] = x
    if x > 0.0:
        a[i, 2] = x + a[i, 7]
    y = x + b[i, 1] if x < 0.5 else -x
    for k in range(3, 7):
        a[i, 8] = y * k
        y = y + 1.0
    v = load3(a, i, 3)
    b[i, 0], b[i, 1], b[i, 2], b[i, 3], b[i, 4] = y, v[0] + y, v[1], v[2], a[i, 1]
    a[i, 0] = n[i] * y


@numba.njit(**OPTIONS)
def four(first, last, a, b, n, h):
    mixture(first, last, a, b, n, h)


def one(first, last, a, b, n, h):
    """The same, by Python."""
    for i in range(first, last):
        x = a[i, 0] * h
        a[i, 7] = x
        if x > 0.0:
            a[i, 2] = x + a[i, 7]
        y = x + b[i, 1] if x < 0.5 else -x
        for k in range(3, 7):
            a[i, 8] = y * k
            y += 1.0
        v = a[i, 3:6].copy()
        b[i] = y, v[0] + y, v[1], v[2], a[i, 1]
        a[i, 0] = n[i] * y


@abreast
def powers(i, a, n):
    """As a retraction of a user may be written."""
    x = a[i, 0]
    a[i, 1] = x**0.5
    a[i, 2] = x**3
    a[i, 3] = x**-1.5
    a[i, 4] = 2.0 ** n[i]


@numba.njit(**OPTIONS)
def four_powers(first, last, a, n):
    powers(first, last, a, n)


def test_powers():
    a, n = np.zeros((7, 5)), np.arange(7)
    a[:, 0] = x = np.linspace(0.1, 4.0, 7)
    four_powers(0, 7, a, n)
    np.testing.assert_allclose(a[:, 1:].T, [x**0.5, x**3, x**-1.5, 2.0**n], rtol=4e-16)


@abreast
def read_by_a_number(i, a):
    a[i, 0] = 100.0
    for k in range(a.shape[1]):
        a[i, 3] = a[i, k]


@abreast
def write_after_a_return(i, a):
    if a[i, 0] > 5.0:
        return
    a[i, 1] = 1.0


@abreast
def remainder(i, a):
    a[i, 0] = a[i, 1] % 2.0


@COMPILED
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (read_by_a_number, "a column is read that is not known now"),
        (write_after_a_return, "written behind a return in a branch"),
        (remainder, "Mod is no operation that lanes know"),
    ],
)
def test_what_cannot_run_abreast_is_refused_by_name(function, message):
    @numba.njit
    def run(last, a):
        function(0, last, a)

    with pytest.raises(Exception, match=message):
        run(4, np.zeros((4, 4)))


@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("bodies", range(2 * AT_ONCE + 2))
def test_every_number_of_bodies(first, bodies):
    rng = np.random.default_rng(bodies)
    a, b, n = rng.normal(size=(first + bodies + 2, 9)), rng.normal(size=(first + bodies + 2, 5)), rng.integers(-3, 3, first + bodies + 2)
    expected = a.copy(), b.copy()
    one(first, first + bodies, *expected, n, 0.7)
    four(first, first + bodies, a, b, n, 0.7)
    np.testing.assert_allclose(a, expected[0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(b, expected[1], rtol=0, atol=1e-14)


def test_it_is_a_loop_where_somebody_reads_it():
    """Code for one mechanism, and code in the lanes of a batch, take it from there."""
    loop, a, b, n = loop_of(mixture), np.ones((3, 9)), np.ones((3, 5)), np.ones(3, dtype=np.int64)
    expected = a.copy(), b.copy()
    one(1, 3, *expected, n, 0.5)
    loop(1, 3, a, b, n, 0.5)
    np.testing.assert_allclose(a, expected[0], rtol=1e-15)
    np.testing.assert_allclose(b, expected[1], rtol=1e-15)


@numba.njit(**OPTIONS)
def left(first, last, row, body, h, retraction):
    leave(first, last, row, body, h, retraction)


def loop_of(function):
    """The loop it stands for, compiled."""
    return function if numba.config.DISABLE_JIT else numba.njit(function.py_func, **OPTIONS)


@COMPILED
@pytest.mark.parametrize("retraction", sorted(retractions.NAMES.values()))
@pytest.mark.parametrize("size", [0.0, 1e-9, 0.05, 1.0])
def test_momenta_of_bodies_by_angle(retraction, size):
    """Angles in each branch of the retraction, also different ones beside each other."""
    rng, alone = np.random.default_rng(0), loop_of(leave)
    for bodies in (1, 2, 3, 4, 9):
        row, body = rng.normal(size=(bodies + 1, ROW_COLUMNS)), rng.normal(size=(bodies + 1, BODY_COLUMNS))
        turns = rng.normal(size=(bodies + 1, 3)) * size * rng.choice([1e-3, 1.0], size=(bodies + 1, 1))
        row[:, 16:19] = turns / np.sqrt(1.0 + np.sum(turns**2, axis=1))[:, None]
        row[:, 15] = 1.0 / np.sqrt(1.0 + np.sum(turns**2, axis=1))
        expected = row.copy()
        alone(1, bodies + 1, expected, body, 1e-2, retraction)
        left(1, bodies + 1, row, body, 1e-2, retraction)
        np.testing.assert_allclose(row, expected, rtol=1e-13, atol=1e-11)


@numba.njit(**OPTIONS)
def stiff(exact, first, last, row, body, art, h):
    if exact:
        stiffen_exactly(first, last, row, body, art, h, 0)
    else:
        stiffen_to_first_order(first, last, row, body, art, h)


@COMPILED
@pytest.mark.parametrize("exact", [True, False])
def test_stiffness_of_bodies(exact):
    rng, alone = np.random.default_rng(1), loop_of(stiffen_exactly if exact else stiffen_to_first_order)
    for bodies in (1, 3, 6):
        row, body, art = (rng.normal(size=(bodies + 2, n)) for n in (ROW_COLUMNS, BODY_COLUMNS, 36))
        expected = art.copy()
        alone(1, bodies + 1, row, body, expected, 1e-2, *([0] if exact else []))
        stiff(exact, 1, bodies + 1, row, body, art, 1e-2)
        np.testing.assert_allclose(art, expected, rtol=1e-12, atol=1e-11)
        np.testing.assert_array_equal(art[[0, -1]], expected[[0, -1]])


@kernel
def by_hinge(m, w, i, h):
    factorise_hinge(m, w, i, h)


@kernel
def by_joint(m, w, i, h):
    factorise_joint(m, w, i, h)


@numba.njit(**OPTIONS)
def hinge(m, w, i, h):
    by_hinge(m, w, i, h)


@numba.njit(**OPTIONS)
def joint(m, w, i, h):
    by_joint(m, w, i, h)


@COMPILED
@pytest.mark.parametrize("name", ["on the world", "on a body"])
def test_four_blocks_at_once_are_the_blocks_one_by_one(name):
    """Random blocks and poses, with damper and rotor: every number of the factorisation, and what goes to the parent."""
    mech = la.Mechanism()
    mech.add_body("a", joint=la.Revolute(axis=(0, 0, 1)), mass=1.0, inertia=(0.1, 0.1, 0.1))
    mech.add_body("b", "a", la.Revolute(axis=(1, 2, 0)), la.Pose(xyz=(0.1, 0.2, 0.3)), mass=1.0, inertia=(0.1, 0.1, 0.1), armature=0.3)
    mech.add_force(la.Damper("b", 0.7))
    model = mech.compile()
    rng, i = np.random.default_rng(2), 1 if name == "on the world" else 2
    works = model.make_work(), model.make_work()
    for array in ("art", "linear", "factor"):
        values = rng.normal(size=getattr(works[0], array).shape)
        for work in works:
            getattr(work, array)[:] = values
    for work in works:
        work.art[i, 32] = 3.0  # AA[2, 2]
    hinge(model.tree, works[0], i, 1e-2)
    joint(model.tree, works[1], i, 1e-2)
    for array in ("art", "linear", "factor"):
        np.testing.assert_allclose(getattr(works[0], array), getattr(works[1], array), rtol=1e-12, atol=1e-13)
    assert works[0].factor.shape[1] == FACTOR_COLUMNS and works[0].factor[i - 1, DINV] != 0.0 and works[0].factor[i - 1, U] != 0.0


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_every_size_move_as_in_maximal_coordinates(seed):
    """Through all of it: numbers of bodies that leave one, two, three or none over."""
    rng = np.random.default_rng(seed)
    mech = random_mechanism(rng, n=3 + seed)
    q, v = random_state(mech.compile(), rng)
    assert la.crosscheck(mech, dt=1e-3, duration=0.02, q=q, v=v).agree
