"""The matrix walk: see matrix.py."""

from itertools import combinations, product

import pytest
from conformance import matrix

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("integrator", matrix.INTEGRATORS)
def test_matrix(integrator):
    results = [matrix.run_cell(cell) for cell in matrix.cells() if cell.integrator == integrator]
    assert "agrees" in results


def test_all_pairs_are_there():
    cells = matrix.cells(exhaustive=False)
    assert set(cells) <= set(matrix.cells())
    columns = [matrix.INTEGRATORS, matrix.JOINTS, matrix.CONSTRAINTS, matrix.DRIVES, matrix.GUARDS, matrix.RECORD_EVERY, matrix.WAYS]
    for a, b in combinations(range(len(columns)), 2):
        assert {(c[a], c[b]) for c in cells} == set(product(columns[a], columns[b]))
