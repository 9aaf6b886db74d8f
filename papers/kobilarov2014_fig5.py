"""Kobilarov 2014, Figs. 4 and 5: a free-floating chain of three bodies at h = 0.1 s keeps its momentum map exactly.

The middle body is the base, two others hang on it by hinges; no forces.  The paper gives neither sizes nor velocities: these are ours.
FloatingBase(retraction="cayley") at 0.1 s beside explicit Euler at 0.1 s and, as the truth, at 1 ms.
"""

from __future__ import annotations

import numpy as np

import leastaction as la

DURATION = 10.0


def three_bodies() -> la.Mechanism:
    """Boxes of 0.6 x 0.3 x 0.2 m and 1 kg; the hinges are at both ends of the middle one, their axes orthogonal."""
    box = {"mass": 1.0, "inertia": tuple(np.array([0.3**2 + 0.2**2, 0.6**2 + 0.2**2, 0.6**2 + 0.3**2]) / 12.0)}
    mech = la.Mechanism(gravity=(0, 0, 0), name="three floating bodies")
    mech.add_body("base", joint=la.Free(), **box)
    mech.add_body("left", "base", la.Revolute((0, 0, 1)), la.Pose(xyz=(-0.3, 0, 0)), com=(-0.3, 0, 0), **box)
    mech.add_body("right", "base", la.Revolute((0, 1, 0)), la.Pose(xyz=(0.3, 0, 0)), com=(0.3, 0, 0), **box)
    return mech


def runs(duration: float = DURATION) -> dict[str, la.Trajectory]:
    model = three_bodies().compile()
    start = {"q": {"left": 0.5, "right": -0.5}, "v": {"base": (0.3, 0.5, 0.2, 0.1, 0.0, 0.1), "left": 0.4, "right": -0.6}}
    choices = {
        "symplectic": (0.1, la.FloatingBase()), "symplectic, exp": (0.1, la.FloatingBase("exp")),
        "Euler": (0.1, la.SemiImplicitEuler()), "truth": (1e-3, la.SemiImplicitEuler()),
    }  # fmt: skip
    return {name: la.simulate(model, dt=dt, duration=duration, integrator=i, **start) for name, (dt, i) in choices.items()}


def momentum_change(run: la.Trajectory) -> float:
    """Largest change of the momentum map (65), kg m^2/s or kg m/s."""
    return float(np.abs(run.momentum - run.momentum[0]).max())


def distance(run: la.Trajectory, truth: la.Trajectory) -> tuple[float, float]:
    """Largest error of the joint angles (rad) and of the base position (m) at the common times."""
    every = round(run.dt / truth.dt)
    error = np.abs(run.q - truth.q[::every][: len(run)])
    return float(error[:, 7:].max()), float(error[:, :3].max())


def draw(all_runs: dict[str, la.Trajectory], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 6), sharex=True)
    styles = {"truth": "k-", "symplectic": "C0.", "Euler": "C3x"}
    for name, style in styles.items():
        run = all_runs[name]
        for panel, (title, values) in zip(
            axes.flat,
            [("joint angles, rad", run.q[:, 7:]), ("base velocity, rad/s", run.v[:, :3]), ("base position, m", run.q[:, :3]),
             ("change of momentum", run.momentum - run.momentum[0])],
            strict=True,
        ):  # fmt: skip
            panel.plot(run.t, values[:, 0], style, markersize=3, linewidth=0.8, label=name)
            panel.plot(run.t, values[:, 1:], style, markersize=3, linewidth=0.8)
            panel.set_title(title, fontsize=9)
    axes[0, 0].legend(fontsize=8)
    figure.savefig(path, dpi=80, bbox_inches="tight")


def main() -> None:
    all_runs = runs()
    print(f"{'':18s}{'momentum changes by':>22s}{'joint error, rad':>20s}{'position error, m':>20s}")
    for name, run in all_runs.items():
        angle, position = distance(run, all_runs["truth"])
        print(f"{name:18s}{momentum_change(run):22.2e}{angle:20.3g}{position:20.3g}")
    if len(sys.argv) > 1:
        draw(all_runs, sys.argv[1])


if __name__ == "__main__":
    main()
