"""Momentum of the whole mechanism over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..analysis import momentum_error
from ..drawing.runs import Path, Runs, named_runs
from .canvas import finish, headed, label_y, legend, line, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def momentum(runs: Runs, *, labels: Sequence[str] | None = None, title: str | None = None, save_to: Path | None = None) -> Figure:
    """Momentum about the world origin over time (s), world axes.

    One run: the components of the angular (kg m^2/s) and of the linear momentum (kg m/s).
    Several runs: how far both have moved since the start, which is an error where no outer force acts.

    >>> import leastaction as la
    >>> run = la.simulate(la.examples.chain(2).compile(), dt=1e-2, duration=1.0, q={"link1": 0.5})
    >>> figure = la.plot.momentum(run)  # save_to="picture.png" writes it
    """
    named = named_runs(runs, labels)
    first = next(iter(named.values()))
    figure, (above, below) = panels(2, headed(title, f"Momentum: {first.model.name}"))
    if len(named) == 1:
        for axes, columns in ((above, first.momentum[:, :3]), (below, first.momentum[:, 3:])):
            for i, axis in enumerate("xyz"):
                line(axes, first.t, columns[:, i], i, axis)
            legend(axes)
        label_y(above, "angular L  (kg m²/s)")
        label_y(below, "linear p  (kg m/s)")
    else:
        for i, (label, run) in enumerate(named.items()):
            error = momentum_error(run)
            line(above, run.t, error[:, 0], i, label)
            line(below, run.t, error[:, 1], i)
        label_y(above, "|L − L(0)|  (kg m²/s)")
        label_y(below, "|p − p(0)|  (kg m/s)")
        legend(above)
    return finish(figure, save_to)
