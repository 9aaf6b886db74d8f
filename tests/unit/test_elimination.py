"""Sparse elimination along the graph gives what a dense solver gives, whatever the graph, and fronts stay small."""

import numpy as np
import pytest
from support.maximal import place_step

import leastaction as la
from leastaction.compiling.decorators import entry
from leastaction.coordinates.elimination import ORDERS, Graph, eliminate, tabulate
from leastaction.coordinates.network import build
from leastaction.kernels.maximal import evaluate as kernels
from leastaction.kernels.maximal import fronts
from leastaction.testing import random_mechanism, random_state


def looped_mechanism(rng, n, loops):
    """A random tree with balls between random pairs of its bodies, which couple them without being redundant."""
    mech = random_mechanism(rng, n, oddities=False, joints=(la.Spherical, la.Universal, la.Free, la.Planar, la.Cylindrical))
    for k in range(loops):
        a, b = rng.choice(n, size=2, replace=False)
        for name, body in ((f"a{k}", f"body{a + 1}"), (f"b{k}", f"body{b + 1}")):
            mech.add_frame(name, body, la.testing.random_pose(rng))
        mech.add_constraint(la.Distance(f"a{k}", f"b{k}", rng.uniform(0.5, 2.0)))
    return mech


def solution_error(network, flow, h, retraction, rng):
    """Largest entry of sparse minus dense solution, relative."""
    kernels.residual_entry(network.model.tree, network.net, flow, h, 0.0, retraction)
    kernels.matrix_entry(network.model.tree, network.net, flow, h, retraction)
    matrix = network.dense_matrix(flow)
    flow.r[:] = rng.normal(size=len(flow.r))
    kernels.solve_entry(network.net, flow)
    wanted = np.linalg.solve(matrix, flow.r)
    return np.abs(flow.z - wanted).max() / np.abs(wanted).max()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("loops", [0, 1, 2, 5, 10, 20])
def test_sparse_equals_dense(loops, order):
    for seed in range(3):
        rng = np.random.default_rng([loops, seed])
        model = looped_mechanism(rng, 12, loops).compile()
        network = build(model, order=order)
        flow = place_step(network, random_state(model, rng)[0], rng, size=0.05)
        assert solution_error(network, flow, 0.01, 0, rng) < 1e-10


def test_trees_have_no_fill_in():
    """Every front holds a body, its joint and at most the parent; the order is children first."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        n = 30
        parent = [0, *(int(rng.integers(i)) for i in range(1, n + 1))]
        graph = Graph(parent, [5] * n, [tuple(j for j in (parent[i], i) if j) for i in range(1, n + 1)], [], [])
        fronts = eliminate(graph)
        assert sum(len(f.pivots) for f in fronts) == 2 * n
        for front in fronts:
            body = front.pivots[0] + 1
            assert set(front.border) == ({parent[body] - 1} if parent[body] else set())


@pytest.mark.parametrize("example", [la.examples.four_bar_chain, la.examples.scissor_lift], ids=lambda e: e.__name__)
def test_chains_of_loops_stay_linear(example):
    """The numbers in all fronts grow in proportion to the length; with closures in one last block they do not."""
    sizes = {n: build(example(n).compile()).tables.size for n in (10, 20, 40)}
    assert sizes[40] - sizes[20] <= 1.1 * 2 * (sizes[20] - sizes[10])
    dense = {n: build(example(n).compile(), order="closures-last").tables.size for n in (10, 20, 40)}
    assert dense[40] > 2 * sizes[40]


def test_every_unknown_is_eliminated_once():
    rng = np.random.default_rng(2)
    network = build(looped_mechanism(rng, 15, 8).compile())
    tables = tabulate(network.graph, eliminate(network.graph))
    pivots = np.concatenate([tables.index[first : first + count] for _, count, _, first, _, _ in tables.front])
    assert sorted(pivots) == list(range(len(network.make_flow().d)))


@entry
def _eliminate(a, pivots, size, stride, swap):
    fronts.eliminate(a, 0, pivots, size, stride, swap, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_what_cannot_be_eliminated_stays_in_its_place(bad):
    """A front without borders of bad numbers: nothing behind it is touched, no row is exchanged with one outside."""
    values, swap = np.full(24, 7.0), np.full(4, -1)
    values[:16] = bad
    _eliminate(values, 4, 4, 4, swap)
    assert np.all(values[16:] == 7.0)
    assert np.all((swap >= np.arange(4)) & (swap < 4))
    assert not np.all(np.isfinite(values[:16]))
