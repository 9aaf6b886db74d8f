"""Bruedigam and Manchester 2020, Fig. 5: run time of 1000 steps of 10 ms of open and closed chains, with revolute and ball joints.

Maximal coordinates beside an explicit Runge-Kutta-Munthe-Kaas integrator in joint coordinates.  Closed chains start where the authors'
published
program starts them: la.examples.closed_chain(n, hairpin=True).
"""

from __future__ import annotations

from benchmarks.bruedigam2020 import Case, best_of, chain

import leastaction as la

from .result import Claim, Picture, Result, Table, growth

STEPS, DT = 1000, 1e-2
OURS, EXPLICIT = "maximal coordinates", "explicit, joint coordinates"


def cases(sizes, steps: int) -> dict[tuple[str, bool, str, int], Case]:
    """{(open or closed, ball, method, links): what is timed}"""
    found = {}
    methods = {OURS: la.Maximal(retraction="quaternion"), EXPLICIT: la.RKMK4()}
    for ball in (False, True):
        for n in sizes:
            swinging, q = chain(n, ball)
            closed = la.examples.closed_chain(n, ball, hairpin=True).compile()
            for name, integrator in methods.items():
                found["open", ball, name, n] = Case(swinging, q, DT, steps, integrator)
                found["closed", ball, name, n] = Case(closed, closed.neutral(), DT, steps, integrator)
    return found


def make(quick: bool) -> Result:
    sizes = (3, 11, 31) if quick else (3, 11, 31, 51, 101)
    all_cases = cases(sizes, 200 if quick else STEPS)
    best_of(all_cases, 1 if quick else 3)

    def line(kind: str, ball: bool, method: str) -> list[float]:
        return [all_cases[kind, ball, method, n].seconds * STEPS for n in sizes]

    failed = [
        f"{kind}, {n} links{', ball' if ball else ''}: {c.failure}"
        for (kind, ball, m, n), c in all_cases.items()
        if m == OURS and c.failure
    ]
    rates = {kind: growth(sizes[1:], line(kind, False, OURS)[1:]) for kind in ("open", "closed")}
    quicker = {ball: line("open", ball, OURS)[-1] / line("open", ball, EXPLICIT)[-1] for ball in (False, True)}
    ball_gain = line("open", False, OURS)[-1] / line("open", True, OURS)[-1]

    def draw(figure) -> None:
        for axes, kind in zip(figure.subplots(1, 2, sharey=True), ("open", "closed"), strict=True):
            for method, colour in ((OURS, "C0"), (EXPLICIT, "C1")):
                for ball, style in ((False, "o--"), (True, "s-")):
                    axes.loglog(
                        sizes,
                        line(kind, ball, method),
                        style,
                        color=colour,
                        markersize=4,
                        label=f"{method}, {'ball' if ball else 'revolute'}",
                    )
            axes.set(xlabel="links", ylabel=f"{STEPS} steps, s", title=f"({'a' if kind == 'open' else 'b'}) {kind} chains")
        axes.legend()

    return Result(
        f"{STEPS} steps of 10 ms. Open: first joint at 45 degrees. Closed: the hairpin of the authors' program. The explicit "
        f"integrator is ours, compiled like the "
        "rest; theirs was RigidBodyDynamics.jl.",
        [
            Claim(
                "All open and closed chains are simulated.",
                "3 to 101 links",
                "; ".join(failed) or f"{', '.join(map(str, sizes))} links: no step fails",
                not failed,
            ),
            Claim(
                "The run time grows linearly, with a loop too.",
                "",
                f"like links^{rates['open']:.2f} and links^{rates['closed']:.2f}",
                max(rates.values()) < 1.3,
            ),
            Claim(
                "The explicit integrator is faster for revolute joints.",
                "",
                f"by a factor of {quicker[False]:.2f} at {sizes[-1]} links",
                quicker[False] > 1.0,
            ),
            Claim(
                "Maximal coordinates are faster for ball joints.",
                "",
                f"they take {quicker[True]:.2f} of the explicit time at {sizes[-1]} links",
                quicker[True] < 1.0,
            ),
            Claim(
                "In maximal coordinates ball joints are faster than revolute ones.",
                "",
                f"{ball_gain:.2f} times at {sizes[-1]} links",
                ball_gain > 1.0,
            ),
        ],
        [Picture(draw)],
        [
            Table(
                ["", *(f"{n} links" for n in sizes)],
                [
                    [
                        f"{kind}, {'ball' if ball else 'revolute'}, {m}, s",
                        *(all_cases[kind, ball, m, n].failure or f"{all_cases[kind, ball, m, n].seconds * STEPS:.3g}" for n in sizes),
                    ]
                    for kind in ("open", "closed")
                    for ball in (False, True)
                    for m in (OURS, EXPLICIT)
                ],
            )
        ],
    )
