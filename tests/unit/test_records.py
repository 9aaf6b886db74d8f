"""Records are made as they are declared, and cannot be made otherwise."""

from typing import NamedTuple

import numpy as np
import pytest

import leastaction as la
from leastaction.compiling.records import Shape, allocate, floats, integers, shapes
from leastaction.coordinates import network, ties
from leastaction.coordinates.frames import make_frames
from leastaction.kernels.maximal.layout import Flow

COLUMNS = np.int64(4)


class Small(NamedTuple):
    x: floats("c")
    jet: floats(1, "1 + c + c**2")


class Record(NamedTuple):
    row: floats("n+1", COLUMNS)
    pivot: integers("n")
    size: int
    small: Small


SIZES = {"n": 2, "c": 3}


def test_zeros_of_the_declared_shapes():
    made = allocate(Record, SIZES, size=7)
    assert made.row.shape == (3, 4) and made.row.dtype == np.float64
    assert made.pivot.shape == (2,) and made.pivot.dtype == np.int64
    assert made.size == 7 and made.small.x.shape == (3,) and made.small.jet.shape == (1, 13)
    assert not any(np.any(a) for a in (made.row, made.pivot, *made.small))
    assert not np.shares_memory(made.row, allocate(Record, SIZES, size=7).row)


def test_what_is_right_is_taken_as_it_is():
    row = np.ones((3, 4))
    assert allocate(Record, SIZES, size=1, row=row).row is row


@pytest.mark.parametrize(
    "given",
    [np.asfortranarray(np.ones((3, 4))), np.ones((3, 4), dtype=">f8"), np.ones((3, 8))[:, ::2], np.ones((3, 4), int), [[1.0] * 4] * 3],
    ids=["Fortran", "big-endian", "strided", "int", "list"],
)
def test_everything_else_is_brought_into_order(given):
    row = allocate(Record, SIZES, size=1, row=given).row
    assert row.flags.carray and row.dtype == np.float64 and np.all(row == 1.0)


def test_no_rows():
    made = allocate(Record, {"n": 0, "c": 0}, size=1, pivot=[], row=np.zeros((1, 4)))
    assert made.pivot.shape == (0,) and made.pivot.dtype == np.int64


@pytest.mark.parametrize(
    ("sizes", "given", "message"),
    [
        (SIZES, {"size": 1, "row": np.zeros((4, 3))}, r"Record.row has the shape \(4, 3\); it needs \(3, 4\), that is \(n\+1, 4\)"),
        (SIZES, {"size": 1, "pivot": [0.5, 1.0]}, "Record.pivot is of float64; it needs int64"),
        (SIZES, {"size": 1, "row": np.zeros((3, 4), dtype=complex)}, "Record.row is of complex128"),
        (SIZES, {}, "Record.size is not an array: give its value"),
        (SIZES, {"size": 1, "rows": 2}, "Record has no field 'rows'; its fields are row, pivot"),
        ({"c": 3}, {"size": 1}, r"Record.row has the shape \(n\+1, 4\), but name 'n' is not defined; sizes given are {'c': 3}"),
        ({"n": -2, "c": 3}, {"size": 1}, r"Record.row would have the shape \(-1, 4\)"),
    ],
)
def test_what_is_wrong_is_named(sizes, given, message):
    with pytest.raises(TypeError, match=message):
        allocate(Record, sizes, **given)


def test_every_array_of_a_model_is_declared():
    chain, loop = la.examples.chain(2).compile(), la.examples.four_bar().compile()
    net = network.build(loop)
    for record in (chain.tree, chain.make_work(), chain.make_middle(), make_frames(chain), ties.make_ties(loop), net.net, net.make_flow()):
        for name, what in shapes(type(record)).items():
            value = getattr(record, name)
            if isinstance(value, np.ndarray):
                assert isinstance(what, Shape), f"{type(record).__name__}.{name} does not declare its shape"
                assert value.flags.carray and value.ndim == len(what.sizes) and value.dtype == what.dtype
                assert all(a == b for a, b in zip(value.shape, what.sizes, strict=True) if not isinstance(b, str))


def test_a_row_and_the_numbers_in_it_share_memory():
    """Flow.load_row is Flow.load as a matrix of one row."""
    flow: Flow = network.build(la.examples.chain(2).compile()).make_flow()
    flow.load[1] = 3.0
    assert flow.load_row[0, 1] == 3.0
