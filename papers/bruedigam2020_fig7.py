"""Bruedigam and Manchester 2020, Fig. 7: a quadruped with closed-loop legs, drawn, with its legs swinging.

The paper shows a picture of the robot Minitaur.  Ours has its topology, a floating body and four legs of two upper and two lower rods,
and sizes
of our own; it floats and its legs swing.
"""

from __future__ import annotations

import numpy as np

import leastaction as la

from .result import Claim, Film, Picture, Result


def make(quick: bool) -> Result:
    duration = 0.5 if quick else 2.0
    model = la.examples.quadruped(gravity=(0, 0, 0)).compile()
    hips = [name for name in model.joint_names if name.endswith("thigh")]
    turning = {name: 4.0 * (-1) ** k for k, name in enumerate(hips)}
    q = model.neutral()
    start = model.state(q, model.project_velocity(q, turning))
    run = la.simulate(model, start, dt=1e-3, duration=duration, integrator=la.Maximal(), record_every=5, progress=False)
    kept = float(np.abs(run.momentum - run.momentum[0]).max())

    def draw(figure) -> None:
        axes = figure.subplots(1, 3, sharex=True, sharey=True)
        for panel, k in zip(axes, np.linspace(0, len(run) - 1, 3).astype(int), strict=True):
            for hip in hips:
                shin = hip.replace("thigh", "shin")
                foot = hip.replace("thigh", "foot")
                points = np.array([la.dynamics.pose(model, run.q[k], name).p for name in (hip, shin, foot)])
                panel.plot(points[:, 0], points[:, 2], "-o", color="C0" if "fore" in hip else "C1", markersize=3)
            panel.set(aspect="equal", title=f"t = {run.t[k]:.2f} s", xlabel="x, m", ylabel="z, m")

    return Result(
        f"{model.nv} degrees of freedom, {len(model.closures)} closures, no gravity, legs swinging, {duration:g} s at 1 ms.",
        [
            Claim(
                "Closed-loop legs need no adjustments: loops are constraints like joints.",
                "",
                f"largest gap {run.constraint_error.max():.1e} m",
                bool(run.constraint_error.max() < 1e-9),
            ),
            Claim("Momentum of the floating robot is kept (not in the paper).", "", f"changes by {kept:.1e}", kept < 1e-8),
        ],
        [Picture(draw, "seen from the side", (8.0, 2.6))],
        films=[Film(run, "the quadruped")],
    )
