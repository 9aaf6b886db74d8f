"""Every integrator of the package, with every retraction and quadrature it offers: what a new force or constraint is run with."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from .. import integrators as room
from ..errors import ConvergenceError, LeastActionError
from ..integrators import AdaptiveStep, Composition, Integrator, Variational
from ..kernels.tree.layout import QUADRATURES
from ..lie.retractions import ALL as RETRACTIONS
from ..mechanism import Mechanism

_SHORTFALL = 0.15  # of the promised order, by which a fitted one may be smaller; of order one and two 0.4


def every_integrator(tol: float = 1e-12) -> list[Integrator]:
    """One of each class and choice of retraction and quadrature, solved to the tolerance `tol` where it solves equations."""
    classes = [c for c in (getattr(room, name) for name in room.__all__) if c is not Integrator]
    found: list[Integrator] = []
    for cls in classes:
        if issubclass(cls, Composition):
            found += [cls(Variational(tol=tol), order=order) for order in (4, 6)]
        elif issubclass(cls, AdaptiveStep):
            found.append(cls(Variational(tol=tol)))
        else:
            found += with_options(cls, tol)
    return found


def with_options(cls: type[Integrator], tol: float = 1e-12) -> list[Integrator]:
    """An integrator with every retraction and quadrature it takes."""
    known = inspect.signature(cls).parameters
    choices = [("retraction", tuple(RETRACTIONS)), ("quadrature", tuple(QUADRATURES))]
    names = [name for name, _ in choices if name in known]
    always: dict[str, Any] = {"tol": tol} if "tol" in known else {}
    found = []
    for values in product(*(given for name, given in choices if name in known)):
        try:
            found.append(cls(**dict(zip(names, values, strict=True)), **always))
        except LeastActionError:
            continue  # it does not offer this one
    return found


def in_short(integrator: Integrator) -> str:
    """Class and options that distinguish it, for reports and names of tests."""
    given = integrator.options()
    inside = [str(given[name]) for name in ("retraction", "quadrature", "order") if name in given]
    return "-".join([type(integrator).__name__, *inside])


def demand_a_name(error: LeastActionError, mechanism: Mechanism, names: Iterable[str], what: str) -> str:
    """A refusal has to say what it refuses: the model, one of its joints or bodies, or one of `names`.  Returns its message.

    A run that starts and then fails is no refusal.
    """
    message = str(error)
    assert not isinstance(error, ConvergenceError), f"{what} fails on the way: {message}"
    known = [mechanism.name, *mechanism.bodies, *mechanism.joint_names, *mechanism.frames, *names]
    assert any(name in message for name in known), f"{what} is refused without a name of the model, a joint or itself: {message}"
    return message


def demand_order(what: str, integrator: Integrator, errors: Sequence[float], steps: Sequence[int], rounding: float) -> float:
    """The order fitted to the errors of runs with so many steps, at least the promised one; infinite if the last error is rounding."""
    if errors[-1] < rounding:
        return np.inf
    order = float(np.polyfit(-np.log(steps), np.log(errors), 1)[0])
    listed = ", ".join(f"{e:.2g}" for e in errors)
    assert order > integrator.order - max(0.4, _SHORTFALL * integrator.order), (
        f"{what} with {in_short(integrator)}: errors {listed} for {tuple(steps)} steps have order {order:.2f}, promised: {integrator.order}"
    )
    return order
