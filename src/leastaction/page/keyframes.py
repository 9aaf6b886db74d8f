"""Poses of all bodies at few times, from which a page finds those at all others, with a bound on the error at every recorded node.

Between two keyframes positions and quaternions are cubics whose slopes are those of the parabola through a keyframe and its neighbours.
Where a recorded node is off by more than the accuracy, its interval is halved.  A long run is cut into blocks, so that the poses
of all nodes never are in memory at once; the slopes at the ends of a block look into the block only.  `web/data.js` does the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..drawing.runs import Array
from ..kernels.tree import evaluate
from ..model import Model

_BLOCK = 4_000_000  # numbers of poses in memory
_FIRST = 0.1  # s between the first keyframes
_FEWEST = 8  # intervals of a block, unless it has fewer nodes
_MARGIN = 0.95  # of the accuracy, for what the page rounds: it computes with 32 bits


@dataclass
class Keyframes:
    """Poses at some of the nodes."""

    t: Array  #: (K,) s
    poses: NDArray[np.int64]  #: (K, 7 bodies): position and quaternion (w, x, y, z) in units of `steps`
    steps: Array  #: (7 bodies,)
    breaks: list[int]  #: keyframes where a block ends and the next one starts
    error: float  #: m, largest at any recorded node: distance of points of a body from where they should be


class Kinematics:
    """Poses of the moving bodies of a model."""

    def __init__(self, model: Model):
        self.model = model
        self._work = model.make_work()

    def world(self, q: Array) -> tuple[Array, Array]:
        """Rotations (T, bodies, 3, 3) and positions (T, bodies, 3) at q (T, nq)."""
        found = np.empty((len(q), len(self.model.bodies), 12))
        for k, coordinates in enumerate(np.ascontiguousarray(q)):
            evaluate.world(self.model.tree, self._work, coordinates)
            found[k] = self._work.world[1:]
        return found[:, :, :9].reshape(len(q), -1, 3, 3), found[:, :, 9:]


def thin(model: Model, t: Array, q: Array, reach: Array, accuracy: float) -> Keyframes:
    """Keyframes of the nodes t (T,), q (T, nq); reach (bodies,): how far the points of a body are from its origin, m."""
    kinematics = Kinematics(model)
    bodies = len(model.bodies)
    lever = np.maximum(reach, 1e-3 * max(float(reach.max(initial=0.0)), accuracy))
    steps = np.column_stack([np.full((bodies, 3), accuracy / 8), np.repeat(accuracy / (16 * lever)[:, None], 4, axis=1)])
    per_block = max(2, min(len(t), _BLOCK // (7 * bodies)))
    times, breaks, worst = [t[:1]], [], 0.0
    poses: list[NDArray[np.int64]] = []
    last: Array | None = None
    for start in range(0, max(len(t) - 1, 1), per_block - 1):
        nodes = slice(start, min(start + per_block, len(t)))
        R, p = kinematics.world(q[nodes])
        exact = np.concatenate([p, quaternions(R, last)], axis=-1)
        last = exact[-1, :, 3:]
        whole = np.rint(exact / steps)
        keys, error = _choose(t[nodes], exact, whole * steps, lever, accuracy * _MARGIN)
        worst = max(worst, error)
        if start:
            breaks.append(sum(len(block) for block in poses) - 1)
        poses.append(whole[keys if start == 0 else keys[1:]].reshape(-1, 7 * bodies).astype(np.int64))
        times.append(t[nodes][keys[1:]])
    return Keyframes(np.concatenate(times), np.concatenate(poses), steps.ravel(), breaks, worst)


def _choose(t: Array, exact: Array, rounded: Array, lever: Array, accuracy: float) -> tuple[NDArray[np.int64], float]:
    """Nodes to keep, and the largest error at the others."""
    last = len(t) - 1
    if last == 0:
        return np.array([0]), float(_distance(exact, rounded, lever).max())
    intervals = int(np.clip((t[-1] - t[0]) / _FIRST, min(_FEWEST, last), last))
    keys = np.unique(np.linspace(0, last, intervals + 1).round().astype(int))
    error = np.zeros(last + 1)
    check = np.arange(last + 1)
    while True:
        error[check] = _distance(exact[check], interpolate(t[keys], rounded[keys], t[check]), lever)
        off = np.flatnonzero(error > accuracy)
        bad = np.unique(np.searchsorted(keys, off, side="left") - 1)
        bad = bad[bad >= 0]
        bad = bad[keys[bad + 1] - keys[bad] > 1]
        if len(bad) == 0:
            return keys, float(error.max())
        # a new keyframe changes the slopes at its neighbours, and so the two intervals beyond
        first, beyond = keys[np.maximum(bad - 1, 0)], keys[np.minimum(bad + 2, len(keys) - 1)]
        touched = np.zeros(last + 2)
        np.add.at(touched, first, 1)
        np.add.at(touched, beyond + 1, -1)
        check = np.flatnonzero(np.cumsum(touched)[:-1] > 0)
        keys = np.union1d(keys, (keys[bad] + keys[bad + 1]) // 2)


def interpolate(keys: Array, poses: Array, t: Array) -> Array:
    """Poses (N, bodies, 7) at the times t (N,) within the block of keyframes at the times keys (K,)."""
    if len(keys) == 1:
        return np.broadcast_to(poses, (len(t), *poses.shape[1:]))
    lengths = np.diff(keys)[:, None, None]
    slopes = np.diff(poses, axis=0) / lengths
    tangents = np.empty_like(poses)
    if len(keys) == 2:
        tangents[:] = slopes
    else:
        a, b = lengths[:-1], lengths[1:]
        tangents[1:-1] = (slopes[:-1] * b + slopes[1:] * a) / (a + b)
        tangents[0] = 2 * slopes[0] - tangents[1]
        tangents[-1] = 2 * slopes[-1] - tangents[-2]
    k = np.clip(np.searchsorted(keys, t, side="right") - 1, 0, len(keys) - 2)
    h = lengths[k]
    s = (t[:, None, None] - keys[k][:, None, None]) / h
    found = poses[k] + s * (h * tangents[k] + s * (
        3 * (poses[k + 1] - poses[k]) - h * (2 * tangents[k] + tangents[k + 1])
        + s * (h * (tangents[k] + tangents[k + 1]) - 2 * (poses[k + 1] - poses[k]))
    ))  # fmt: skip
    found[..., 3:] /= np.linalg.norm(found[..., 3:], axis=-1, keepdims=True)
    return found


def _distance(exact: Array, found: Array, lever: Array) -> Array:
    """(N,) how far a point of some body at most is from where it should be, m."""
    shift = np.linalg.norm(exact[..., :3] - found[..., :3], axis=-1)
    turn = 2 * np.linalg.norm(exact[..., 3:] - found[..., 3:], axis=-1)
    return (shift + lever * turn).max(axis=-1)


def quaternions(R: Array, before: Array | None = None) -> Array:
    """(T, bodies, 4) unit quaternions (w, x, y, z) of rotations (T, bodies, 3, 3); signs chosen so that they change continuously."""
    d = np.diagonal(R, axis1=-2, axis2=-1)
    x, y, z = d[..., 0], d[..., 1], d[..., 2]
    a, b, c = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    e, f, g = R[..., 1, 0] + R[..., 0, 1], R[..., 0, 2] + R[..., 2, 0], R[..., 2, 1] + R[..., 1, 2]
    # four rows, each the quaternion times one of its components; the largest is computed best
    rows = np.stack([np.stack(row, -1) for row in (
        (1 + x + y + z, a, b, c), (a, 1 + x - y - z, e, f), (b, e, 1 - x + y - z, g), (c, f, g, 1 - x - y + z),
    )], -2)  # fmt: skip
    largest = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    found = np.take_along_axis(rows, largest[..., None, None], axis=-2)[..., 0, :]
    found /= np.linalg.norm(found, axis=-1, keepdims=True)
    first = np.sign(np.sum(found[:1] * (found[:1] if before is None else before), axis=-1))
    turned = np.sign(np.sum(found[1:] * found[:-1], axis=-1))
    signs = np.cumprod(np.where(np.concatenate([first, turned]) < 0, -1.0, 1.0), axis=0)
    return found * signs[..., None]
