"""What joints and constraints carry over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..drawing.runs import Runs, named_runs
from ..reactions import Reaction
from .canvas import Array, Path, finish, headed, label_y, legend, line, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_PANELS = 8  # a figure with more is not readable
_NOTHING = 1e-6  # of the largest force or moment (at a lever of 1 m) in a row


def reactions(
    runs: Runs, *names: str | int, labels: Sequence[str] | None = None, title: str | None = None, save_to: Path | None = None
) -> Figure:
    """Forces (N, left) and moments (N m, right) of the named constraints, joints or bodies over time (s), world axes, one row each.

    One run: components and, grey, magnitudes.  Several runs: magnitudes, in different colours.  Of constraints on coordinates
    (Gear, Cam, Prescribed, ...) the multipliers are drawn.  Without names: all constraints and joints, or the first eight of them.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> figure = la.plot.reactions(run, "link1")  # save_to="picture.png" writes it
    """
    named = named_runs(runs, labels)
    first = next(iter(named.values()))
    chosen = list(names or list(first.reactions)[:_MOST_PANELS])
    left_out = not names and len(chosen) < len(first.reactions)
    heading = f"Reactions: {first.model.name}" + (f" (first {len(chosen)} of {len(first.reactions)})" if left_out else "")
    figure, axes = panels(len(chosen), headed(title, heading), columns=2, height=1.7)
    for row, name in enumerate(chosen):
        left, right = axes[2 * row], axes[2 * row + 1]
        for i, (label, run) in enumerate(named.items()):
            reaction = run.reactions[name]
            for panel, columns, parts in _halves(left, right, reaction):
                _draw(panel, reaction.t, columns, parts, i, label, len(named) > 1)
        unsure = "*" if any(run.reactions[name].indeterminate for run in named.values()) else ""
        label_y(left, f"{_short(reaction.name)}{unsure}\n{'multipliers (N, N m)' if reaction.wrench is None else 'F  (N)'}")
        if reaction.wrench is None:
            right.set_axis_off()
        else:
            label_y(right, "M  (N m)")
            largest = max(float(np.abs(axis.get_ydata()).max()) for panel in (left, right) for axis in panel.lines)
            for panel in (left, right):
                _hide_rounding(panel, _NOTHING * largest)
        if row == 0 or reaction.wrench is None:
            legend(left)
    if any(run.reactions[name].indeterminate for run in named.values() for name in chosen):
        figure.text(0.99, 0.005, "* not determined: redundant constraints, smallest multipliers", ha="right", va="bottom", fontsize=7)
    return finish(figure, save_to)


def _halves(left: Axes, right: Axes, reaction: Reaction) -> list[tuple[Axes, Array, tuple[str, ...]]]:
    if reaction.wrench is None:
        return [(left, reaction.multipliers, tuple(label or _short(reaction.name) for label in reaction.rows))]
    return [(left, reaction.force, ("x", "y", "z")), (right, reaction.moment, ("x", "y", "z"))]


def _draw(axes: Axes, t: Array, columns: Array, parts: tuple[str, ...], run: int, label: str, compared: bool) -> None:
    if compared:
        line(axes, t, np.linalg.norm(columns, axis=1), run, label)
        return
    if len(parts) == 3:
        axes.plot(t, np.linalg.norm(columns, axis=1), color="#BBBBBB", linewidth=2.5, label="magnitude")
    for j, part in enumerate(parts):
        line(axes, t, columns[:, j], j, part)


def _hide_rounding(axes: Axes, least: float) -> None:
    """What is nothing beside the rest is drawn as nothing, not as noise that fills the panel."""
    low, high = axes.get_ylim()
    if high - low < 2.0 * least:
        axes.set_ylim(-100.0 * least, 100.0 * least)


def _short(name: str, most: int = 18) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
