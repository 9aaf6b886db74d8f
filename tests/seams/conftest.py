"""Where two rooms meet: one file for every fault that was found between them, each a law that the fault broke."""

import pytest

import leastaction as la


@pytest.fixture(scope="session")
def four_bar():
    """(model, coordinates that close the loop)."""
    model = la.examples.four_bar().compile()
    return model, model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
