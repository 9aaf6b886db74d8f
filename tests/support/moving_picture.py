"""The moving picture of the README: a robot arm, and its energy beside that of semi-implicit Euler.  `make picture` writes it."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

import numpy as np

import leastaction as la
from leastaction.film.browser import Browser, missing
from leastaction.film.write import stage

TARGET = Path(__file__).resolve().parents[2] / "docs" / "img" / "moving.webp"
_START = {"lift": 2.2, "elbow": 0.6, "roll": 0.2, "bend": 0.4}
_DT, _SECONDS, _FPS, _SPEED = 1e-3, 20.0, 12.0, 2.5
_LEFT, _RIGHT, _TALL = 400, 400, 300  # pixels


def take() -> None:
    from PIL import Image

    model = la.examples.robot_arm().compile()
    integrators = {"leastaction": la.Variational(), "semi-implicit Euler": la.SemiImplicitEuler()}
    runs = {name: la.simulate(model, dt=_DT, duration=_SECONDS, q=_START, integrator=i) for name, i in integrators.items()}
    times = np.arange(0.0, _SECONDS, _SPEED / _FPS)
    with tempfile.TemporaryDirectory() as folder, Browser(_LEFT, _TALL, ratio=2.0) as browser:
        scene = Path(folder) / "scene.html"
        la.page.write(runs["leastaction"], scene, traces=["hand"])
        stage(browser, scene, label=False)
        pictures = []
        for t, curve in zip(times, _curves(runs, times), strict=True):
            browser.run(f"leastaction.player.seek({t}); 0")
            browser.settle()
            whole = Image.new("RGB", (_LEFT + _RIGHT, _TALL), "white")
            with Image.open(io.BytesIO(browser.screenshot())) as arm:
                whole.paste(arm.convert("RGB").resize((_LEFT, _TALL), Image.Resampling.LANCZOS), (0, 0))
            whole.paste(curve, (_LEFT, 0))
            pictures.append(whole)
    pictures[0].save(
        TARGET, save_all=True, append_images=pictures[1:], duration=round(1000 / _FPS), loop=0, quality=58, method=6, minimize_size=True
    )
    print(f"{TARGET}: {TARGET.stat().st_size / 1e3:.0f} kB, {len(pictures)} pictures")


def _curves(runs: dict[str, la.Trajectory], times: np.ndarray):
    """The energy error of all runs until these times."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    figure = Figure(figsize=(_RIGHT / 100, _TALL / 100), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.155, 0.15, 0.815, 0.71))
    axes.set_title(f"energy error, J ({1e3 * _DT:g} ms steps)", fontsize=10, loc="left")
    axes.set_xlabel("s", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(color="#eeeeee")
    axes.spines[["top", "right"]].set_visible(False)
    errors = {name: la.analysis.energy_error(run) for name, run in runs.items()}
    lines = {}
    for (name, _), colour in zip(errors.items(), ("#0b6bcb", "#d1642a"), strict=True):
        (lines[name],) = axes.plot([], [], color=colour, linewidth=1.6, label=name)
    every = np.concatenate(list(errors.values()))
    room = 0.06 * np.ptp(every)
    axes.set_xlim(0, _SECONDS)
    axes.set_ylim(every.min() - room, every.max() + room)
    axes.legend(loc="upper left", fontsize=9, frameon=False)
    for t in times:
        for name, run in runs.items():
            n = int(np.searchsorted(run.t, t)) + 1
            lines[name].set_data(run.t[:n], errors[name][:n])
        canvas.draw()
        yield Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])


if __name__ == "__main__":
    sys.exit(missing() or take())
