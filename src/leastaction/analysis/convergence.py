"""Fitted order of accuracy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks import numbers
from ..errors import StateError


def convergence_order(errors: ArrayLike, steps: ArrayLike) -> float:
    """Order p of errors ~ C steps^p: least-squares slope in log-log axes.

    errors, steps: (n,) positive numbers, n >= 2, one error per step size (s).

    >>> round(convergence_order([4e-4, 1e-4, 2.5e-5], [0.02, 0.01, 0.005]), 6)
    2.0
    """
    e, h = (numbers(values, name, StateError, finite=False) for name, values in (("errors", errors), ("steps", steps)))
    if e.ndim != 1 or e.shape != h.shape:
        raise StateError(f"errors has shape {e.shape} and steps {h.shape}; give one error for every step size")
    for name, values in (("errors", e), ("steps", h)):
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0.0)))
        if bad.size:
            raise StateError(f"{name}[{bad[0]}] = {values[bad[0]]}; a fit in logarithmic axes needs positive finite numbers")
    if np.unique(h).size < 2:
        raise StateError(f"steps = {h.tolist()}; an order needs at least two different step sizes")
    slope, _ = np.polyfit(np.log(h), np.log(e), 1)
    return float(slope)
