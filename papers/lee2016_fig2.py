"""Lee, Liu, Park, Srinivasa 2016, Fig. 2: a chain of 10 bodies, and its energy with RIQN and with semi-implicit Euler.

The start is that of the authors' published program: links of 1.5 m, every joint at a random angle within +-90 degrees and a random rate
within +-90 degrees per second, 1000 s in steps of 1 ms.
"""

from __future__ import annotations

import numpy as np

import leastaction as la
from leastaction.yardsticks import Lee2016

from .result import Claim, Picture, Result

DT, LINKS = 1e-3, 10
LENGTH, WIDTH = 1.5, 0.3  # m, boxes of the authors' program


def chain(links: int) -> la.Mechanism:
    """Boxes of 1.5 m on revolute joints, in a plane, 1 kg each."""
    inertia = tuple(np.array([LENGTH**2 + WIDTH**2, LENGTH**2 + WIDTH**2, 2 * WIDTH**2]) / 12.0)
    mech = la.Mechanism(name=f"{links} boxes in a row")
    for k in range(1, links + 1):
        placement = la.Pose(xyz=(0, 0, -LENGTH if k > 1 else 0.0))
        mech.add_body(
            f"link{k}",
            f"link{k - 1}" if k > 1 else "world",
            la.Revolute((0, 1, 0)),
            placement,
            mass=1.0,
            com=(0, 0, -LENGTH / 2),
            inertia=inertia,
        )
    return mech


def random_state(model: la.Model, seed: int = 0) -> la.State:
    return model.state(*np.random.default_rng(seed).uniform(-np.pi / 2, np.pi / 2, (2, model.nv)))


def runs(duration: float) -> dict[str, la.Trajectory]:
    model = chain(LINKS).compile()
    state, every = random_state(model), max(1, round(duration / DT / 4000))
    integrators = {"RIQN": Lee2016("riqn", "ig3"), "semi-implicit Euler": la.SemiImplicitEuler()}
    return {
        name: la.simulate(model, state, dt=DT, duration=duration, integrator=i, record_every=every, progress=False)
        for name, i in integrators.items()
    }


def make(quick: bool) -> Result:
    all_runs = runs(20.0 if quick else 1000.0)
    riqn, euler = all_runs.values()
    size = float(np.ptp(riqn.kinetic))
    drift = {name: float(np.mean(run.energy[-len(run) // 10 :]) - run.energy[0]) / size for name, run in all_runs.items()}
    share = {name: f"{x:+.2g} of the kinetic energy's range" for name, x in drift.items()}

    def draw(figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1, 2))
        left.plot(*_outline(riqn.model, riqn.q[0]), "-o", markersize=3)
        left.set(aspect="equal", xlabel="x, m", ylabel="z, m", title="(a) the chain at the start")
        for name, run in reversed(all_runs.items()):
            right.plot(run.t / DT, run.energy - run.energy[0], label=name)
        right.set(xlabel="frame", ylabel="energy - energy at the start, J", title="(b)")
        right.legend()

    return Result(
        f"{LINKS} boxes of 1.5 m, started as in the authors' program (its random numbers are not published; ours differ), "
        f"{riqn.t[-1]:g} s at 1 ms.",
        [
            Claim("RIQN does not dissipate energy.", "", share["RIQN"], abs(drift["RIQN"]) < 1e-3),
            Claim(
                "Semi-implicit Euler dissipates energy.",
                "",
                share["semi-implicit Euler"],
                drift["semi-implicit Euler"] < -0.01,
                "Semi-implicit Euler with the acceleration at the old velocity; one-sided loss of more than 1 % counts as dissipation. "
                "Its one-sided error has the sign that the motion gives it.",
            ),
        ],
        [Picture(draw)],
    )


def _outline(model: la.Model, q) -> tuple[np.ndarray, np.ndarray]:
    places = np.array([la.dynamics.pose(model, q, body.name).p for body in model.bodies])
    tip = la.dynamics.pose(model, q, model.bodies[-1].name)
    places = np.vstack([places, tip.p + tip.R @ (0, 0, -LENGTH)])
    return places[:, 0], places[:, 2]
