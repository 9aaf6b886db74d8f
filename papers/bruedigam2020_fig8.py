"""Bruedigam and Manchester 2020, Fig. 8: run time of 1000 steps of 10 ms of n-link pendulums for three tolerances.

Maximal coordinates beside the second-order variational integrator of Lee et al. (RIQN) and our own in joint coordinates.  The third-order
one of
Fan et al. is not here.  Tolerances are relative to the momentum in all of ours; in the paper they are absolute.
"""

from __future__ import annotations

from benchmarks.bruedigam2020 import Case, best_of, chain

import leastaction as la
from leastaction.yardsticks import Lee2016

from .result import Claim, Picture, Result, Table, growth

TOLERANCES = (1e-6, 1e-8, 1e-10)
METHODS = {
    "maximal coordinates": lambda tol: la.Maximal(retraction="quaternion", tol=tol),
    "RIQN (Lee 2016)": lambda tol: Lee2016("riqn", "ig2", tol=tol),
    "la.Variational": lambda tol: la.Variational(tol=tol),
}


def make(quick: bool) -> Result:
    sizes, steps = ((1, 10, 30), 200) if quick else ((1, 10, 30, 50, 100), 1000)
    cases = {}
    for n in sizes:
        model, q = chain(n, False)
        for name, make_integrator in METHODS.items():
            for tol in TOLERANCES:
                cases[name, tol, n] = Case(model, q, 1e-2, steps, make_integrator(tol))
    best_of(cases, 1 if quick else 3)

    def failures(name: str, tolerances=TOLERANCES) -> list[str]:
        return [f"{n} links at {tol:g}: {cases[name, tol, n].failure}" for tol in tolerances for n in sizes if cases[name, tol, n].failure]

    ours, riqn, coarse = failures("maximal coordinates"), failures("RIQN (Lee 2016)"), [f for m in METHODS for f in failures(m, (1e-6,))]
    rate = growth(sizes[1:], [cases["maximal coordinates", 1e-10, n].seconds for n in sizes[1:]])

    def draw(figure) -> None:
        for axes, tol, letter in zip(figure.subplots(1, 3, sharey=True), TOLERANCES, "abc", strict=True):
            for name in METHODS:
                solved = [n for n in sizes if not cases[name, tol, n].failure]
                axes.loglog(solved, [1000 * cases[name, tol, n].seconds for n in solved], "o-", markersize=4, label=name)
            axes.set(xlabel="links", title=f"({letter}) tolerance {tol:g}")
        figure.axes[0].set(ylabel="1000 steps, s")
        figure.axes[0].legend()

    return Result(
        f"Revolute chains, first joint at 45 degrees, {steps} steps of 10 ms. A line ends where a chain fails.",
        [
            Claim("At 1e-6 every integrator succeeds.", "", "; ".join(coarse) or "no failure", not coarse),
            Claim(
                "Maximal coordinates succeed at every tolerance and scale well.",
                "",
                "; ".join(ours) or f"no failure, time like links^{rate:.2f}",
                not ours and rate < 1.3,
            ),
            Claim(
                "With more links and lower tolerances the integrators in joint coordinates fail to converge.",
                "stopped after 100 Newton steps",
                "RIQN: " + ("; ".join(riqn) or "no failure"),
                bool(riqn) if not quick else None,
                "the short version has short chains"
                if quick
                else "of RIQN, whose stopping rule is relative to the momentum here; "
                "Newton's method in joint coordinates (la.Variational) does not fail",
            ),
            Claim("The third-order integrator of Fan et al. fails too.", "", "-", None, "it is not part of this package"),
        ],
        [Picture(draw)],
        [
            Table(
                ["1000 steps, s", *(f"{n} links" for n in sizes)],
                [
                    [f"{name}, {tol:g}", *(cases[name, tol, n].failure or f"{1000 * cases[name, tol, n].seconds:.3g}" for n in sizes)]
                    for name in METHODS
                    for tol in TOLERANCES
                ],
            )
        ],
    )
