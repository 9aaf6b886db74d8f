"""Where a condition is zero within a step: the step is made again from its start, shorter, until it ends there.

So what is found is the end of a step of the integrator itself, not of a curve drawn through nodes: its error is that of the run at the node
before and of one shorter step, and the time found converges with the order of the integrator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import ClosedEvaluator, on_the_way
from ..errors import ConvergenceError
from ..integrators.base import Integrator
from ..model import Model
from ..state import State

Array = NDArray[np.float64]

_MOST = 100  # trials; bisection of a step would take 50


@dataclass(frozen=True)
class Shortened:
    """The end of a step that was made shorter."""

    state: State
    evaluations: int
    error: float  #: of the constraints
    multipliers: Array  #: impulses of the constraint rows over it


class Remaking:
    """Makes a step again, with another length."""

    def __init__(self, model: Model, integrator: Integrator):
        self.model, self.integrator = model, integrator.single
        self._evaluate = ClosedEvaluator(model)

    def __call__(self, start: State, length: float, tau: Array) -> Shortened:
        """From the state `start`, so many seconds, under the joint forces tau (1, nv)."""
        with on_the_way():
            stepper = self.integrator.start(self.model, start, length)
        record = stepper.make_record(1, 1)
        result = stepper.advance(1, tau, record)
        if result.failure:
            raise ConvergenceError(
                f"an event was found in the step from t = {start.t:g} s, but the part of it that leads there, {length:.3g} s, was not "
                f"solved: {result.failure}; try a smaller dt, or guard=True",
                step=0, time=start.t, residual=result.residual,
            )  # fmt: skip
        node = self._evaluate(*self.integrator.recording(length), record.q, record.p, record.t)
        state = State.with_velocity(self.model, start.t + length, record.q[0], node.p[0], node.v[0])
        return Shortened(state, int(record.evaluations[0]), float(record.error[0]), record.multipliers[0])


def crossing(value: Callable[[float], float], length: float, first: float, last: float, tol: float) -> float:
    """Where a function that is `first` at 0 and `last`, of another sign, at `length` passes zero: at most tol behind, never before.

    Chandrupatla's method (1997): inverse quadratic interpolation where that is safe, otherwise bisection; the root stays enclosed.
    """
    a, b, fa, fb = length, 0.0, last, first  # the newest point and the end on its other side
    c, fc = a, fa
    share = 0.5
    for _ in range(_MOST):
        if fa == 0.0 or abs(b - a) <= tol:
            break
        x = a + share * (b - a)
        fx = value(x)
        if (fx > 0.0) == (fa > 0.0) and fx != 0.0:
            c, fc = a, fa
        else:
            c, b, fc, fb = b, a, fb, fa
        a, fa = x, fx
        least = min(0.5, 0.5 * tol / max(abs(b - a), 1e-300))
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        share = 0.5
        if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
            share = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        share = min(max(share, least), 1.0 - least)
    behind = [x for x, f in ((a, fa), (b, fb)) if f == 0.0 or (f > 0.0) != (first > 0.0)]
    return min(behind, default=length)
