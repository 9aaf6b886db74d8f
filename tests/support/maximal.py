"""Steps in maximal coordinates from joint coordinates, and the rows of constraints from their definitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leastaction.assembly.equations import Closing
from leastaction.coordinates.network import Network
from leastaction.kernels.maximal.layout import Flow
from leastaction.testing import matrices as mat

Array = NDArray[np.float64]


def place_step(network: Network, q: Array, rng: np.random.Generator, size: float = 0.1) -> Flow:
    """A flow at the coordinates q with random displacements, multipliers and target momenta."""
    closing = Closing(network)
    closing.place(q)
    flow, n = closing.flow, len(network.model.bodies)
    flow.d[: 6 * n] = size * rng.normal(size=6 * n)
    flow.d[6 * n :] = rng.normal(size=len(flow.d) - 6 * n)
    flow.target[1:] = rng.normal(size=(n, 6))
    return flow


def end_at(network: Network, flow: Flow, q: Array) -> None:
    """Displacements of `flow` that lead to the joint coordinates q, where every joint of the tree holds."""
    closing = Closing(network)
    closing.place(q)
    for i in range(1, len(network.model.bodies) + 1):
        start, end = (mat.rigid(p[i, :9].reshape(3, 3), p[i, 9:12]) for p in (flow.node, closing.flow.node))
        D = mat.rigid_inverse(start) @ end
        turn = 2.0 * mat.vee(np.linalg.solve(D[:3, :3] + np.eye(3), D[:3, :3] - np.eye(3)))
        flow.d[6 * (i - 1) : 6 * i] = np.concatenate([turn, D[:3, 3]])
