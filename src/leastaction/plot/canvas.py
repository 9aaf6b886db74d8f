"""What all plots share: figure, lines, axes, saving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..checks import path as checked_path
from ..checks import text as checked_text
from ..drawing.runs import COLOURS, Array, Path, thinned
from ..errors import StateError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHES = ("-", "--", "-.", ":")

_INK, _GRID = "#333333", "#DDDDDD"


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


def headed(title: str | None, otherwise: str) -> str:
    return checked_text(title, "title") or otherwise


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


def logarithmic(axes: Axes, decades: int) -> None:
    """Logarithmic y axis over at most the uppermost `decades`, with plain labels: typeset powers take 0.1 s to draw."""
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:.0e}")
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, high * 10.0**-decades), high)


def finish(figure: Figure, save_to: Path | None) -> Figure:
    if save_to is not None:
        target = checked_path(save_to, "save_to")
        try:
            figure.savefig(target)
        except (OSError, ValueError) as error:  # no such folder, or no such format
            raise StateError(f"cannot write the picture {str(target)!r}: {error}") from error
    return figure
