"""Bruedigam and Manchester 2020, Fig. 4: (a) energy of a double pendulum over an hour, (b) drift of a loop, (c) a sparse and a dense
Newton step,
(d) convergence of Newton's method.

(c) and (d) are those of benchmarks/bruedigam2020.py.  The integrator of the paper is la.Maximal(retraction="quaternion").
"""

from __future__ import annotations

import numpy as np
from benchmarks.bruedigam2020 import FOUR_BAR, convergence, sparse_and_dense

import leastaction as la
from leastaction.reference.constrained import AccelerationConstraints

from .result import Claim, Picture, Result, growth

DT = 1e-2
OURS = la.Maximal(retraction="quaternion")


def energies(duration: float) -> dict[str, la.Trajectory]:
    """A double pendulum of rods, the upper one at 90 degrees."""
    model, every = la.examples.chain(2).compile(), max(1, round(duration / DT / 5000))
    integrators = {"variational": OURS, "Heun": la.Heun()}
    return {
        name: la.simulate(model, q=[np.pi / 2, 0.0], dt=DT, duration=duration, integrator=i, record_every=every, progress=False)
        for name, i in integrators.items()
    }


def gap(model: la.Model, q) -> float:
    return float(np.linalg.norm(la.dynamics.pose(model, q, "tip").p - la.dynamics.pose(model, q, "anchor").p))


def drifts(duration: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{method: (t, gap of a loop of three links)} with constraints on positions and on accelerations."""
    model = la.examples.four_bar().compile()
    q = model.assemble(FOUR_BAR)
    run = la.simulate(model, q=q, dt=DT, duration=duration, integrator=OURS, record_every=10, progress=False)
    classical = AccelerationConstraints(model, q)
    x, v, t, gaps = q, np.zeros(model.nv), [0.0], [gap(model, q)]
    for k in range(1, round(duration / DT) + 1):
        x, v = classical.heun(x, v, DT)
        if k % 10 == 0:
            t.append(k * DT)
            gaps.append(gap(model, x))
    return {"positions": (run.t, np.array([gap(model, q) for q in run.q])), "accelerations": (np.array(t), np.array(gaps))}


def make(quick: bool) -> Result:
    hour = 60.0 if quick else 3600.0
    runs, loops = energies(hour), drifts(10.0 if quick else 100.0)
    solved = sparse_and_dense((1, 10, 20, 50, 100), 8 if quick else 20)
    newton = convergence((1, 10, 100))
    links, sparse, dense = (np.array([float(row[k]) for row in solved.rows]) for k in (0, 2, 3))
    corrections = {row[0]: [float(x) for x in row[1:]] for row in newton.rows}
    size = float(np.ptp(runs["variational"].kinetic))
    change = {
        name: float(np.mean(run.energy[-len(run) // 10 :]) - np.mean(run.energy[: len(run) // 10])) / size for name, run in runs.items()
    }
    rates = {"sparse": growth(links[-3:], sparse[-3:]), "dense": growth(links[-2:], dense[-2:])}
    gaps = {name: float(g.max()) for name, (_, g) in loops.items()}
    quadratic = {n: _quadratic(c) for n, c in corrections.items()}

    def draw(figure) -> None:
        (a, b), (c, d) = figure.subplots(2, 2)
        for name, run in reversed(runs.items()):
            a.plot(run.t / 60, run.energy - run.energy[0], linewidth=0.6, label=name, color="C0" if name == "variational" else "C1")
        a.set(xlabel="t, min", ylabel="energy error, J", title="(a) energy")
        for name, (t, g) in loops.items():
            b.semilogy(t, np.maximum(g, 1e-17), linewidth=0.8, label=f"constraints on {name}")
        b.set(xlabel="t, s", ylabel="gap of the loop, m", title="(b) drift")
        c.loglog(links, sparse, "o-", label="sparse"), c.loglog(links, dense, "s-", label="dense")
        c.set(xlabel="links", ylabel="Newton step, µs", title="(c) sparse and dense")
        for n, sizes in corrections.items():
            d.semilogy(range(1, len(sizes) + 1), np.maximum(sizes, 1e-17), "o-", markersize=4, label=f"{n} link{'s' * (n != '1')}")
        d.set(xlabel="iteration", ylabel="largest correction", title="(d) convergence", xticks=range(1, 6))
        for axes in (a, b, c, d):
            axes.legend()

    return Result(
        f"(a) two rods, the upper one at 90 degrees, {hour / 60:g} minutes at 10 ms; (b) a loop of three rods, "
        f"{loops['positions'][0][-1]:g} s at 10 ms; (c) one "
        "Newton step of a revolute chain; (d) the first step of revolute chains from rest at 45 degrees.",
        [
            Claim(
                "(a) The energy of the variational integrator stays constant.",
                "",
                f"{change['variational']:+.1e} of the kinetic energy from first to last tenth",
                abs(change["variational"]) < 0.01,
            ),
            Claim(
                "(a) Heun's method makes an energy error that grows substantially.",
                "",
                f"{change['Heun']:+.1e} of the kinetic energy",
                abs(change["Heun"]) > (0.001 if quick else 0.1),
                "confirmed means more than 10 % in an hour (0.1 % in the short version's minute)",
            ),
            Claim("(b) Constraints on positions do not drift.", "", f"largest gap {gaps['positions']:.1e} m", gaps["positions"] < 1e-9),
            Claim(
                "(b) Constraints on accelerations drift visibly.",
                "",
                f"largest gap {gaps['accelerations']:.1e} m",
                gaps["accelerations"] > 1e3 * gaps["positions"],
            ),
            Claim(
                "(c) A sparse Newton step costs O(n), a dense one O(n³).",
                "n and n³",
                f"n^{rates['sparse']:.2f} and n^{rates['dense']:.2f}",
                rates["sparse"] < 1.3 and rates["dense"] > 2.3,
                "confirmed means exponents below 1.3 and above 2.3: LAPACK reaches its cubic regime beyond 100 links",
            ),
            Claim(
                "(d) Newton's method converges quadratically for 1, 10 and 100 links.",
                "",
                "corrections " + "; ".join(f"{n}: {', '.join(f'{x:.0e}' for x in c)}" for n, c in corrections.items()),
                all(quadratic.values()),
                "down to rounding",
            ),
        ],
        [Picture(draw, size=(8, 5.6))],
    )


def _quadratic(corrections: list[float]) -> bool:
    """After the second every correction is below ten times what the square of the one before allows, or rounding."""
    constant, rounding = corrections[1] / corrections[0] ** 2, 1e-11 * corrections[0]
    return all(b <= max(10.0 * constant * a**2, rounding) for a, b in zip(corrections[1:], corrections[2:], strict=False))
