"""Multipliers of constraints of which some rows follow from others: only their sum is determined.

J' lam = f has many solutions then.  Taken is the one with the smallest sum of squares, newtons and newton metres alike; what a change of
the multipliers that leaves J' lam as it is changes in a force or moment marks that part of it as undetermined.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..assembly.closing import reduce
from ..assembly.equations import TreeClosing
from ..model import Model
from .replay import Nodes

Array = NDArray[np.float64]


def smallest(nodes: Nodes, multipliers: Array) -> tuple[Array, list[tuple[int, Array]]]:
    """(T, m) of all rows from those of all or of the ones that are kept; and for some nodes (node, (k, m) what may be added)."""
    model = nodes.model
    if not model.closures:
        return multipliers, []
    kept = reduce(model, nodes.q[0], float(nodes.t[0])).kept
    if kept.all():
        return multipliers, []
    out = np.zeros((len(nodes.t), len(kept)))
    out[:, kept if multipliers.shape[1] < len(kept) else slice(None)] = multipliers
    spaces = []
    for k in range(len(out)):
        determined, free = _spaces(model, nodes.q[k], float(nodes.t[k]), int(kept.sum()))
        out[k] = determined.T @ (determined @ out[k])
        if k in (0, len(out) // 2, len(out) - 1):
            spaces.append((k, free))
    return out, spaces


def _spaces(model: Model, q: Array, t: float, rank: int) -> tuple[Array, Array]:
    """Orthonormal multipliers (rank, m) that joints feel, and those (m - rank, m) that they do not."""
    closing = TreeClosing(model, t)
    _, _, right = np.linalg.svd(closing.jacobian(q).T)
    return right[:rank], right[rank:]
