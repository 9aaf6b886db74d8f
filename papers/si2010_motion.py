"""What Figs. 1 to 4 of Si and Guenter 2010 share: a mechanism of general joints moves, is drawn, and keeps its energy and its contacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import leastaction as la

from .result import Claim, Film, Picture, Result

DT = 1e-3
Outlines = Mapping[str, Callable[[], np.ndarray]]  #: {beginning of a body's name: its outline, (points, 3)}


def circle(radius: float, other: float | None = None) -> np.ndarray:
    """An ellipse in the x-y plane, (points, 3)."""
    turn = np.linspace(0.0, 2 * np.pi, 49)
    return np.stack([radius * np.cos(turn), (other or radius) * np.sin(turn), 0 * turn], axis=1)


def moving(
    mechanism: la.Mechanism, outlines: Mapping[str, np.ndarray], setting: str, claim: str, duration: float, view=(12, -60), **start
) -> Result:
    """Simulate, draw the start, the middle and the end, and play it."""
    model = mechanism.compile()
    run = la.simulate(model, dt=DT, duration=duration, record_every=10, progress=False, **start)
    scale = float(np.ptp(run.kinetic))
    error = float(np.abs(run.energy - run.energy[0]).max()) / scale
    moved = float(np.abs(run.q - run.q[0]).max())

    def draw(figure) -> None:
        shown = [_drawn(model, run.q[k], outlines) for k in (0, len(run) // 2, -1)]
        points = np.concatenate([line for lines in shown for line in lines])
        low, high = points.min(axis=0), points.max(axis=0)
        half = max(0.5 * float((high - low).max()), 0.1)
        for k, (lines, t) in enumerate(zip(shown, (0.0, run.t[len(run) // 2], run.t[-1]), strict=True)):
            axes = figure.add_subplot(1, 3, k + 1, projection="3d", computed_zorder=False)
            for i, line in enumerate(lines):
                axes.plot(*line.T, linewidth=1.0, color=f"C{i % 6}")
            for axis, middle in zip("xyz", 0.5 * (low + high), strict=True):
                getattr(axes, f"set_{axis}lim")(middle - half, middle + half)
            axes.set_box_aspect((1, 1, 1))
            axes.view_init(*view)
            axes.set_axis_off()
            axes.set_title(f"t = {t:.2f} s")

    return Result(
        setting,
        [
            Claim(
                claim,
                f"{model.nv} degrees of freedom" if model.nv in (73, 78) else "",
                f"{model.nv} degrees of freedom, {run.t[-1]:g} s at 1 ms, coordinates move by up to {moved:.2g}",
                bool(run.converged and moved > 0.01),
            ),
            Claim(
                "The motion keeps its energy (not in the paper, whose integrator is not named).",
                "",
                f"within {error:.1e} of the kinetic energy's range",
                error < 1e-2,
            ),
        ],
        [Picture(draw, size=(9, 3.6))],
        films=[Film(run, "the run; lines join the joints")],
    )


def _drawn(model: la.Model, q, outlines: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    lines = []
    for body in model.bodies:
        outline = next((line for name, line in outlines.items() if body.name.startswith(name)), None)
        if outline is not None:
            pose = la.dynamics.pose(model, q, body.name)
            lines.append(pose.p + outline @ pose.R.T)
    return lines
