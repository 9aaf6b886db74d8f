"""Lee, Liu, Park, Srinivasa 2016, Fig. 3: computation time of a step over degrees of freedom, for DRNEA and SVI with RIQN, Broyden, Newton.

Everything is this package's own, timed in turns (benchmarks/lee2016.py has more of it).  SVI + Newton is Johnson and Murphey's integrator
with the second derivatives of their paper, cached; its tables grow with the cube of the links, so it stops at 50.  It extrapolates its
guess,
all others continue the last increment (IG2): it is drawn and not judged.
"""

from __future__ import annotations

from benchmarks import lee2016, ours
from benchmarks.timing import Interleaved, measure_all

import leastaction as la
from leastaction.yardsticks import Johnson2009, Lee2016, Svi

from .result import Claim, Picture, Result, Table, growth

METHODS = {
    "DRNEA + RIQN": lambda: Lee2016("riqn", "ig2"),
    "DRNEA + Broyden": lambda: Lee2016("broyden", "ig2"),
    "DRNEA + Newton": lambda: Lee2016("dense-newton", "ig2"),
    "SVI + RIQN": lambda: Svi("riqn", "ig2", primitive=True),
    "SVI + Broyden": lambda: Svi("broyden", "ig2", primitive=True),
    "SVI + Newton, extrapolated": lambda: Johnson2009("cached"),
    "la.Variational()": la.Variational,
}
MOST_SVI_NEWTON = 50
PAPER_RESIDUAL, PAPER_UPDATE = {10: 15.0, 100: 32.0}, {10: 3.8, 100: 53.0}


def times(sizes, passes: int) -> dict[str, dict[int, float]]:
    """{method: {links: seconds per step}}"""
    measured = {}
    for n in sizes:
        model = la.examples.chain(n).compile()
        steps = {
            name: ours.Step(model, lee2016.DT, make_integrator(), warm_up=20)
            for name, make_integrator in METHODS.items()
            if name != "SVI + Newton, extrapolated" or n <= MOST_SVI_NEWTON
        }
        measured[n] = Interleaved(steps, *lee2016.random_start(n, seed=0), fixed_reps=dict.fromkeys(steps, 100 if n <= 20 else 30))
    measure_all(list(measured.values()), passes, max_passes=passes + 4)
    return {name: {n: m.best[name] for n, m in measured.items() if name in m.best} for name in METHODS}


def make(quick: bool) -> Result:
    sizes = (5, 10, 20) if quick else (5, 10, 20, 50, 100)
    took = times(sizes, 1 if quick else 4)
    papers_own = [name for name in METHODS if name.count("+") and not name.endswith("extrapolated")]
    fastest = {n: min((name for name in papers_own if n in took[name]), key=lambda name, n=n: took[name][n]) for n in sizes}
    beaten = {n: took["DRNEA + RIQN"][n] / took[fastest[n]][n] for n in sizes}
    pairs = [("DRNEA + RIQN", "SVI + RIQN"), ("DRNEA + Broyden", "SVI + Broyden")]
    faster = all(took[a][n] < took[b][n] for a, b in pairs for n in took[b])
    residual = {n: took["SVI + RIQN"][n] / took["DRNEA + RIQN"][n] for n in sizes}
    update = {n: took["DRNEA + Newton"][n] / took["DRNEA + RIQN"][n] for n in sizes}

    def factors(says: str, paper: dict[int, float], ours: dict[int, float]) -> Claim:
        measured = [n for n in paper if n in ours]
        close = all(0.5 <= ours[n] / paper[n] <= 2.0 for n in measured)
        return Claim(
            says,
            ", ".join(f"{x:g} at {n}" for n, x in paper.items()),
            ", ".join(f"{ours[n]:.1f} at {n}" for n in sizes),
            close,
            "confirmed means within a factor of 2 at every size measured; the constants are a matter of how both sides are programmed",
        )

    def draw(figure) -> None:
        axes = figure.subplots()
        for name, line in took.items():
            style = "o-" if name.startswith("DRNEA") else "s--" if name.startswith("SVI") else "^:"
            axes.loglog(list(line), [1e6 * x for x in line.values()], style, markersize=4, label=name)
        axes.set(xlabel="degrees of freedom", ylabel="time of a step, µs")
        axes.legend(ncols=2)

    last = sizes[-1]
    return Result(
        f"Planar chains of {', '.join(map(str, sizes))} rods in wild motion (every joint at a random angle and rate), 1 ms, tolerance "
        f"1e-10, "
        "guess IG2 (SVI + Newton: extrapolated, so it is drawn and not judged). SVI as printed: a frame for every constant shift, "
        "products of matrices.",
        [
            Claim(
                "RIQN with DRNEA is the fastest combination.",
                "",
                "; ".join(f"{n}: {fastest[n]}, DRNEA + RIQN takes {beaten[n]:.2f} times as long" for n in sizes),
                all(x <= 1.1 for x in beaten.values()),
                "within 10 % counts as equally fast",
            ),
            Claim("With the same update, DRNEA is faster than SVI.", "", "at all sizes" if faster else "not at all sizes", faster),
            factors("DRNEA makes it so many times faster than SVI (with RIQN).", PAPER_RESIDUAL, residual),
            factors("RIQN makes it so many times faster than Newton (with DRNEA).", PAPER_UPDATE, update),
            Claim(
                "For many degrees of freedom the update contributes more than the residual.",
                "53 and 32 at 100",
                f"{update[last]:.1f} and {residual[last]:.1f} at {last}",
                update[last] > residual[last] if last >= 50 else None,
                "" if last >= 50 else "the short version has only small systems",
            ),
        ],
        [Picture(draw, size=(8, 4))],
        [
            Table(
                ["µs per step", *(f"{n} links" for n in sizes), "growth"],
                [
                    [
                        name,
                        *(f"{1e6 * line[n]:.3g}" if n in line else "-" for n in sizes),
                        f"n^{growth(list(line), list(line.values())):.2f}",
                    ]
                    for name, line in took.items()
                ],
            )
        ],
    )
