"""Pictures of the report: Matplotlib figures in the colours of the page, as data addresses."""

from __future__ import annotations

import base64
import io

from leastaction.drawing.runs import COLOURS

from .result import Picture

MOST_POINTS = 3000  # of all lines; beyond it a picture of pixels is smaller
LIGHT = {"ink": "#1d2733", "line": "#d5dbe3", "colours": [*COLOURS[:6], "#444444"]}
DARK = {"ink": "#e6ebf2", "line": "#38424f", "colours": ["#56A9E0", "#F08A3C", "#2FC79B", "#E39CC4", "#F0B93A", "#8CCBF0", "#C8C8C8"]}


def addresses(picture: Picture) -> tuple[str, str]:
    """(light, dark)"""
    return _drawn(picture, LIGHT), _drawn(picture, DARK)


def _drawn(picture: Picture, theme: dict) -> str:
    import matplotlib
    from matplotlib.figure import Figure

    ink = theme["ink"]
    style = {
        "text.color": ink,
        "axes.labelcolor": ink,
        "axes.edgecolor": theme["line"],
        "xtick.color": ink,
        "ytick.color": ink,
        "axes.prop_cycle": matplotlib.cycler(color=theme["colours"]),
        "axes.grid": True,
        "grid.color": theme["line"],
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": 9.0,
        "axes.titlesize": 9.5,
        "legend.fontsize": 8.0,
        "legend.framealpha": 0.0,
        "legend.labelcolor": ink,
        "lines.linewidth": 1.3,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "svg.fonttype": "path",
        "svg.hashsalt": "papers",
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=picture.size, layout="constrained")
        picture.draw(figure)
        if _points(figure) <= MOST_POINTS:
            out = io.StringIO()
            figure.savefig(out, format="svg", metadata={"Date": None})
            return _address("image/svg+xml", out.getvalue().encode())
        pixels = io.BytesIO()
        figure.savefig(pixels, format="png", dpi=150, transparent=True)
        return _address("image/png", pixels.getvalue())


def _points(figure) -> int:
    return sum(len(line.get_xdata()) for axes in figure.axes for line in axes.lines)


def _address(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
