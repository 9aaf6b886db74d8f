"""Dense and independent versions of what the maximal-coordinate kernels compute, to compare them with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..closing import Closing
from ..constraints.rows import DISTANCE, DOT, POINT, Row
from ..kernels import maximal_evaluate as kernels
from ..kernels import maximal_layout as M
from ..kernels.maximal_layout import Flow
from ..net import Network
from . import matrices as mat

Array = NDArray[np.float64]


def dense_matrix(network: Network, flow: Flow) -> Array:
    """The Newton matrix as assembled in the fronts, before they are factorised."""
    unknowns = len(flow.d)
    out = np.zeros((unknowns, unknowns))
    for at, _, size, first, _, stride in network.net.front:
        where = network.net.index[first : first + size]
        block = flow.values[at : at + size * stride].reshape(size, stride)[:, :size].T  # stored column by column
        out[np.ix_(where, where)] += block
    return out


def place_step(network: Network, q: Array, rng: np.random.Generator, size: float = 0.1) -> Flow:
    """A flow at the coordinates q with random displacements, multipliers and target momenta."""
    closing = Closing(network)
    closing.place(q)
    flow, n = closing.flow, len(network.model.bodies)
    flow.d[: 6 * n] = size * rng.normal(size=6 * n)
    flow.d[6 * n :] = rng.normal(size=len(flow.d) - 6 * n)
    flow.target[1:] = rng.normal(size=(n, 6))
    return flow


def residual(network: Network, flow: Flow, d: Array, h: float, retraction: int) -> Array:
    """Residual of the unknowns d (displacements, multipliers)."""
    before = flow.d.copy()
    flow.d[:] = d
    kernels.residual_entry(network.model.tree, network.net, flow, h, 0.0, retraction)
    flow.d[:] = before
    return flow.r.copy()


def moved(d: Array, n: int, j: int, size: float) -> Array:
    """Unknowns with entry j varied by `size`: bodies are varied at the end of the step, left-trivialised, as the Newton matrix counts."""
    out = d.copy()
    if j >= 6 * n:
        out[j] += size
        return out
    k, e = divmod(j, 6)
    part = out[6 * k : 6 * k + 6]
    turn = np.concatenate([[2.0], part[:3]]) / np.sqrt(4.0 + part[:3] @ part[:3])
    if e < 3:
        delta = np.zeros(3)
        delta[e] = size
        half = np.linalg.norm(delta) / 2
        step = np.concatenate([[np.cos(half)], np.sin(half) * delta / (2 * half)])
        new = mat.quaternion_product(turn, step)
        part[:3] = 2.0 * new[1:] / new[0]
    else:
        part[3:] += size * mat.quaternion_matrix(turn)[:, e - 3]
    return out


def difference_matrix(network: Network, flow: Flow, h: float, retraction: int, step: float = 2e-3) -> Array:
    """The same by differences of sixth order of the residual."""
    n, d = len(network.model.bodies), flow.d.copy()
    columns = []
    for j in range(len(d)):
        f = {s: residual(network, flow, moved(d, n, j, s * step), h, retraction) for s in (-3, -2, -1, 1, 2, 3)}
        columns.append((45.0 * (f[1] - f[-1]) - 9.0 * (f[2] - f[-2]) + (f[3] - f[-3])) / (60.0 * step))
    return np.stack(columns, axis=1)


def row_value(row: Row, T: NDArray) -> NDArray:
    """Value of a row for the pose T (..., 4, 4), real or complex, of frame b in frame a: the definitions of constraints/rows.py."""
    R, p = T[..., :3, :3], T[..., :3, 3]
    if row.kind == POINT:
        return p @ np.array(row.u) - row.value
    if row.kind == DOT:
        return mat.times(R, np.array(row.w)) @ np.array(row.u)
    if row.kind == DISTANCE:
        return (mat.dot(p, p) - row.value**2) / (2 * row.value)
    sine, cosine = R[..., 1, 0] - R[..., 0, 1], R[..., 0, 0] + R[..., 1, 1]
    turn = np.arctan2(sine.real, cosine.real)
    angle = turn + _small_angle(sine, cosine, turn)  # arctan2 is not for complex numbers
    turns = np.round((p[..., 2].real / row.value - np.real(angle)) / (2 * np.pi)) if row.value else 0.0
    return p[..., 2] - row.value * (angle + 2 * np.pi * turns)


def _small_angle(sine: NDArray, cosine: NDArray, turn: Array) -> NDArray:
    """arctan of what is left after turning back, for complex numbers."""
    s, c = sine * np.cos(turn) - cosine * np.sin(turn), cosine * np.cos(turn) + sine * np.sin(turn)
    return np.arctan(s / c)


def slot_matrix(network: Network, flow: Flow) -> Array:
    """(m, 6n) derivatives of all constraints in the end poses, from Flow.G1."""
    net, n = network.net, len(network.model.bodies)
    out = np.zeros((len(net.row), 6 * n))
    for e, (i, c) in enumerate(net.slot[:, :2]):
        if i > 0:
            row, rows = net.con[c, M.FIRST_ROW], net.con[c, M.ROWS]
            out[row : row + rows, 6 * (i - 1) : 6 * i] += flow.G1[e, :rows]
    return out
