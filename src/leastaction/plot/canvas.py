"""What all pictures share: the runs and their names, figure, colours, thinning, saving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import shown
from ..errors import StateError
from ..trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Runs = Trajectory | Sequence[Trajectory] | Mapping[str, Trajectory]
Path = str | PathLike[str]
Array = NDArray[np.float64]

#: Okabe and Ito's colours, told apart also by colour-blind people; strongest contrast first
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":")

_INK, _GRID = "#333333", "#DDDDDD"
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


def panels(rows: int, title: str, columns: int = 1, height: float = 2.3) -> tuple[Figure, list[Axes]]:
    """A figure with `rows` x `columns` panels over a common time axis, in reading order."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib, which is not installed: pip install leastaction[plot]") from error
    size = (7.5 if columns == 1 else 9.5, height * rows + 0.9)
    figure = Figure(figsize=size, dpi=130)
    FigureCanvasAgg(figure)
    # fixed margins in inches: a layout engine would draw everything several times
    figure.subplots_adjust(
        left=0.95 / size[0], right=1 - 0.2 / size[0], bottom=0.55 / size[1], top=1 - 0.5 / size[1], hspace=0.28, wspace=0.3
    )
    figure.text(0.95 / size[0], 1 - 0.22 / size[1], title, ha="left", va="center", fontsize=11, fontweight="bold", color=_INK)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axes in grid.flat:
        axes.grid(color=_GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(colors=_INK, labelsize=8, length=3)
        axes.yaxis.get_offset_text().set(fontsize=8, color=_INK)
        axes.margins(x=0.0)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if columns == 1:
            axes.yaxis.set_label_coords(-0.085, 0.5)  # one below the other
    for axes in grid[-1]:
        axes.set_xlabel("time t (s)", fontsize=9, color=_INK)
    return figure, list(grid.flat)


def label_y(axes: Axes, text: str) -> None:
    axes.set_ylabel(text, fontsize=9, color=_INK)


def legend(axes: Axes) -> None:
    """In one row above the panel, where it hides nothing; inside, in two columns, if it has many entries."""
    entries = len(axes.lines)
    style: dict[str, Any] = {"fontsize": 8, "handlelength": 1.6, "columnspacing": 1.2}
    if entries <= 7:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=entries, frameon=False, borderaxespad=0.0, **style)
    else:
        axes.legend(loc="upper left", ncols=2, framealpha=0.85, edgecolor=_GRID, **style)


def line(axes: Axes, t: Array, y: Array, i: int, label: str | None = None, dash: int | None = None) -> None:
    """Line number i: its colour, and when the colours are used up another dash, unless the dash is given."""
    style = DASHES[(i // len(COLOURS) if dash is None else dash) % len(DASHES)]
    axes.plot(*thinned(t, y), style, color=COLOURS[i % len(COLOURS)], linewidth=1.2, label=label)


def thinned(t: Array, y: Array, most: int = _MOST_POINTS) -> tuple[Array, Array]:
    """At most `most` points that look the same: the smallest and the largest value of every stretch of time."""
    if len(y) <= most:
        return t, y
    length = -(-len(y) // (most // 2))
    whole = len(y) - len(y) % length  # the rest, shorter than a stretch, is kept as it is
    stretches = y[:whole].reshape(-1, length)
    start = np.arange(0, whole, length)
    extremes = np.concatenate([start + stretches.argmin(axis=1), start + stretches.argmax(axis=1), np.arange(whole, len(y))])
    keep = np.unique(extremes)
    return t[keep], y[keep]


def logarithmic(axes: Axes, decades: int) -> None:
    """Logarithmic y axis over at most the uppermost `decades`, with plain labels: typeset powers take 0.1 s to draw."""
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:.0e}")
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, high * 10.0**-decades), high)


def finish(figure: Figure, save_to: Path | None) -> Figure:
    if save_to is not None:
        figure.savefig(save_to)
    return figure
