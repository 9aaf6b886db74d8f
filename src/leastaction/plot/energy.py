"""Energy over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..analysis import energy_error
from ..drawing.runs import Path, Runs, named_runs
from ..trajectory import Trajectory
from .canvas import finish, headed, label_y, legend, line, logarithmic, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def energy(runs: Runs, *, labels: Sequence[str] | None = None, title: str | None = None, save_to: Path | None = None) -> Figure:
    """Energy (J) over time (s).

    One run: kinetic, potential and total energy above, change of the total energy since the start below.
    Several runs (a sequence, or {label: run}): change of the total energy, in linear and in logarithmic scale.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> figure = la.plot.energy(run)  # save_to="picture.png" writes it
    """
    named = named_runs(runs, labels)
    first = next(iter(named.values()))
    figure, (above, below) = panels(2, headed(title, f"Energy: {first.model.name}"))
    if len(named) == 1:
        _parts(above, first)
        line(below, first.t, energy_error(first), 0)
        label_y(below, "E − E(0)  (J)")
    else:
        for i, (label, run) in enumerate(named.items()):
            error = energy_error(run)
            line(above, run.t, error, i, label)
            line(below, run.t, _drawable_in_logarithmic_axes(error), i)
        label_y(above, "E − E(0)  (J)")
        label_y(below, "|E − E(0)|  (J)")
        logarithmic(below, decades=6)
        legend(above)
    return finish(figure, save_to)


def _parts(axes: Axes, run: Trajectory) -> None:
    for i, (label, values) in enumerate([("total", run.energy), ("kinetic", run.kinetic), ("potential", run.potential)]):
        line(axes, run.t, values, i, label)
    label_y(axes, "energy  (J)")
    legend(axes)


def _drawable_in_logarithmic_axes(error: np.ndarray) -> np.ndarray:
    """|error|, with gaps where it is exactly zero (as at the start)."""
    return np.where(error == 0.0, np.nan, np.abs(error))
