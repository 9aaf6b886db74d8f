"""The page `leastaction demo` writes: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

import base64
import html
import json
from pathlib import Path
from string import Template

import numpy as np

from .. import __version__
from ..trajectory import Trajectory

_TEMPLATE = Path(__file__).with_name("demo_page.html")
_FRAMES_PER_SECOND = 30
_MOST_SECONDS = 30.0  # of animation
_MOST_NUMBERS = 60_000  # angles of one run kept in the page, about 0.4 MB


def page(runs: dict[str, Trajectory], rows: list[dict[str, str]], picture: bytes, command: str) -> str:
    """HTML text with the table `rows`, the energy plot `picture` (PNG) and an animation of the chains in `runs`.

    `command` is what a reader types to get the same page.
    """
    first = next(iter(runs.values()))
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=html.escape(first.model.name),
        summary=html.escape(f"{first.t[-1]:g} s in {first.steps} steps of {1e3 * first.dt:g} ms"),
        table=_table(rows),
        picture=base64.b64encode(picture).decode("ascii"),
        data=json.dumps(_animation(runs), separators=(",", ":")),
        version=__version__,
        command=html.escape(command),
    )


def _table(rows: list[dict[str, str]]) -> str:
    def line(cell: str, values: list[str]) -> str:
        return "<tr>" + "".join(f"<{cell}>{html.escape(v)}</{cell}>" for v in values) + "</tr>"

    return "\n".join([line("th", list(rows[0])), *(line("td", list(row.values())) for row in rows)])


def _animation(runs: dict[str, Trajectory]) -> dict:
    """Angles of the links against the vertical (rad) at equal intervals: all a planar chain needs to be drawn."""
    first = next(iter(runs.values()))
    links = first.q.shape[1]
    seconds = min(float(first.t[-1]), _MOST_SECONDS)
    frames = max(2, min(int(seconds * _FRAMES_PER_SECOND) + 1, _MOST_NUMBERS // links))
    times = np.linspace(0.0, seconds, frames)
    chains = []
    for label, run in runs.items():
        nearest = np.clip(np.round(times / run.dt).astype(int), 0, len(run) - 1)
        chains.append({"label": label, "angles": np.cumsum(run.q[nearest], axis=1).round(3).tolist()})
    return {"seconds": seconds, "chains": chains}
