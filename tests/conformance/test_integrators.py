"""Every integrator keeps what it promises: order, and energy, momentum, reversal and the symplectic form if symplectic."""

import inspect

import numpy as np
import pytest

import leastaction as la
from leastaction import integrators
from leastaction.testing import check_integrator
from leastaction.testing.integrator_laws import fitted_order

pytestmark = pytest.mark.slow

CLASSES = [
    c for c in vars(integrators).values() if inspect.isclass(c) and issubclass(c, la.Integrator) and c is not la.Integrator and c.uniform
]  # fmt: skip


def with_options(cls):
    """The integrator with its defaults, and with every retraction and quadrature it offers."""
    names = inspect.signature(cls).parameters
    options = [{}]
    if "retraction" in names:
        options = [{"retraction": r} for r in ("cayley", "exp")]
    if "quadrature" in names:
        options = [{**o, "quadrature": k} for o in options for k in ("trapezoid", "midpoint")]
    return [cls(**o) for o in options]


@pytest.mark.parametrize("integrator", [i for c in CLASSES for i in with_options(c)], ids=repr)
def test_promises(integrator):
    check_integrator(integrator)


def test_a_wrong_promise_is_caught():
    liar = type("Liar", (la.Variational,), {"order": 4})()
    assert np.isclose(fitted_order(liar), 2.0, atol=0.1)
    with pytest.raises(AssertionError, match="fitted order"):
        check_integrator(liar)
