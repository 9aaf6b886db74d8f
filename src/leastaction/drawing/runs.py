"""Runs and their names, colours, curves with fewer points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import shown
from ..errors import StateError
from ..trajectory import Trajectory

Runs = Trajectory | Sequence[Trajectory] | Mapping[str, Trajectory]
Path = str | PathLike[str]
Array = NDArray[np.float64]

#: Okabe and Ito's colours, told apart also by colour-blind people; strongest contrast first
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

_MOST_POINTS = 4000  # more than a picture has columns of pixels


def named_runs(runs: Runs, labels: Sequence[str] | None = None) -> dict[str, Trajectory]:
    """One run, several, or {label: run} as {label: run}.  Default labels are what tells the runs apart."""
    if isinstance(runs, Mapping):
        if labels is not None:
            raise StateError("the runs already have names, the keys of the mapping; give a list of runs or leave labels out")
        named = dict(runs)
    else:
        try:
            listed = [runs] if isinstance(runs, Trajectory) else list(runs)
        except TypeError:
            raise StateError(f"cannot plot a {type(runs).__name__}; give a Trajectory, a list of them, or {{label: trajectory}}") from None
        if labels is not None and not (isinstance(labels, (list, tuple)) and all(isinstance(label, str) for label in labels)):
            raise StateError(f"labels = {shown(labels)}; give a list of texts, one for every run")
        names = _default_labels(listed) if labels is None else list(labels)
        if len(names) != len(listed) or len(set(names)) != len(names):
            raise StateError(f"labels = {shown(names)}; {len(listed)} run(s) need as many different labels")
        named = dict(zip(names, listed, strict=True))
    if not named:
        raise StateError("there is nothing to plot; give a Trajectory, several, or {label: trajectory}")
    for label, run in named.items():
        if not isinstance(run, Trajectory):
            raise StateError(f"run {label!r} is a {type(run).__name__}, not a Trajectory; plot what simulate() returned")
    return named


def _default_labels(runs: list[Trajectory]) -> list[str]:
    def name(run: Any, *attributes: str) -> str:
        parts = {"integrator": type(run.integrator).__name__, "step": f"{1e3 * run.dt:g} ms", "model": run.model.name}
        return ", ".join(parts[a] for a in attributes)

    if not all(isinstance(run, Trajectory) for run in runs):
        return [f"run {i + 1}" for i in range(len(runs))]
    for attributes in (("integrator",), ("integrator", "step"), ("integrator", "step", "model")):
        labels = [name(run, *attributes) for run in runs]
        if len(set(labels)) == len(labels):
            return labels
    return [f"{label} ({i + 1})" for i, label in enumerate(labels)]


def thinned(t: Array, y: Array, most: int = _MOST_POINTS) -> tuple[Array, Array]:
    """At most `most` points that look the same: the smallest and the largest value of every stretch of time."""
    keep = extremes(y, most)
    return t[keep], y[keep]


def extremes(y: Array, most: int = _MOST_POINTS) -> NDArray[np.int64]:
    """Which points of a curve (T,) `thinned` keeps."""
    if len(y) <= most:
        return np.arange(len(y))
    length = -(-len(y) // (most // 2))
    whole = len(y) - len(y) % length  # the rest, shorter than a stretch, is kept as it is
    stretches = y[:whole].reshape(-1, length)
    start = np.arange(0, whole, length)
    return np.unique(np.concatenate([start + stretches.argmin(axis=1), start + stretches.argmax(axis=1), np.arange(whole, len(y))]))
