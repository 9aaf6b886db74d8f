"""What dry friction does at a node: the force against a joint that slides, and the one that holds a joint at rest.   docs/reactions.md

A state alone does not say which joints stick: where others swing beside it, the momenta at a node give a joint that has not moved for a
hundred steps a velocity of the order of the error of a step, far above rounding.  So nothing is compared with zero.  It is asked, as the
next step asks it, which joints friction brings to rest within that step,

    v + dt a = 0 with |f| < friction,   or it slides:  f = -friction where v + dt a > 0,  f = friction where v + dt a < 0

and what comes to rest is held at the node: a = 0 as far as its friction goes, while those that slide keep their force.  Accelerations are
affine in joint forces, with constraints too, and their slope is symmetric and positive: the forces are unique where accelerations are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ROUNDING = 1e-12  # of what a residual is the sum of
_DEPENDENT = 1e-12  # of unit vectors: from here on joints that hold each other share what they hold


def dry_friction(most: Array, v: Array, dt: float, accelerations: Callable[[Array], Array]) -> Array:
    """(nv,) forces of dry friction.

    most            (nv,) the friction of every joint coordinate, zero where there is none
    v               (nv,) velocities
    dt              length of a step
    accelerations   of joint forces (nv,) beside all others of the model -> (nv,)
    """
    forces, rough = np.zeros_like(v), np.flatnonzero(most)
    limit = most[rough]
    free = accelerations(forces)[rough]
    slope = np.empty((len(rough), len(rough)))
    for column, j in enumerate(rough):  # by the whole friction, so that rounding is small beside what it can do
        forces[j] = most[j]
        with np.errstate(invalid="ignore"):  # infinite ones are looked at below
            slope[:, column] = (accelerations(forces)[rough] - free) / most[j]
        forces[j] = 0.0
    if not np.isfinite(slope).all() or not np.isfinite(free).all():
        forces[rough] = np.nan  # the mass matrix is singular here
        return forces
    stopping = bounded(slope, free + v[rough] / dt, -limit, limit)
    slides = np.abs(stopping) >= (1.0 - _ROUNDING) * limit
    forces[rough] = bounded(slope, free, np.where(slides, stopping, -limit), np.where(slides, stopping, limit))
    return forces


def bounded(A: Array, b: Array, low: Array, high: Array) -> Array:
    """x (n,) between its bounds with r = A x + b zero where it is between them, r >= 0 where it is at the lower, r <= 0 at the upper one.

    The smallest x'A x/2 + b'x for A (n, n) symmetric and not negative, by an active set: of the entries that are free the one that meets
    its bound first is stopped there; when all others are settled, the one at a bound that pulls away from it most is freed.  The function
    falls each time, so that no set comes again.
    """
    size = np.sqrt(np.maximum(np.diag(A), np.finfo(float).tiny))  # joints of different units become comparable
    A, b, low, high = A / np.outer(size, size), b / size, low * size, high * size
    x = np.clip(np.zeros_like(b), low, high)
    free = low < high
    for _ in range(20 * (len(b) + 1)):  # a few times n are enough; rounding could let the last ones take turns
        to_go = np.zeros_like(x)
        to_go[free] = np.linalg.lstsq(A[np.ix_(free, free)], -(A @ x + b)[free], rcond=_DEPENDENT)[0]
        bound = np.where(to_go > 0.0, high, low)
        room = np.full_like(x, np.inf)
        np.divide(bound - x, to_go, out=room, where=to_go != 0.0)
        first = int(np.argmin(room))
        if room[first] < 1.0:
            x = np.clip(x + room[first] * to_go, low, high)
            x[first], free[first] = bound[first], False
            continue
        x = np.clip(x + to_go, low, high)
        r = A @ x + b
        wrong = np.where(x == low, -r, r) - _ROUNDING * (np.abs(A) @ np.abs(x) + np.abs(b))
        wrong[free | (low == high)] = 0.0
        worst = int(np.argmax(wrong))
        if wrong[worst] <= 0.0:
            break
        free[worst] = True
    return x / size
