"""Bruedigam and Manchester 2020, Fig. 6: chains of four-bars, 10 s in steps of 10 ms, through their singular positions.

The start is that of the authors' published program, with rods as long as keeps the fastest vibration equally fast in all chains: 0.1 m per
segment, 1 m for its ten segments.
"""

from __future__ import annotations

from benchmarks.bruedigam2020 import FOUR_BAR_STARTS, Case, best_of

import leastaction as la

from .result import Claim, Picture, Result, Table, growth

START = "rods of 0.1 m per segment, swinging"
DT = 1e-2


def make(quick: bool) -> Result:
    sizes, steps = ((1, 2, 5), 300) if quick else ((1, 2, 5, 10, 20, 50), 1000)
    models = {n: la.examples.four_bar_chain(n, **FOUR_BAR_STARTS[START](n)).compile() for n in sizes}
    methods = {"maximal coordinates": la.Maximal(retraction="quaternion"), "explicit, joint coordinates": la.RKMK4()}
    cases = {(m, n): Case(models[n], models[n].neutral(), DT, steps, i, "ignore") for m, i in methods.items() for n in sizes}
    best_of(cases, 1 if quick else 2)
    ours, theirs = ([cases[m, n] for n in sizes] for m in methods)
    rate = growth(sizes[1:], [c.seconds for c in ours[1:]])
    lost = [n for n, c in zip(sizes, theirs, strict=True) if c.failure]
    watched = {n: Case(models[n], models[n].neutral(), DT, steps, methods["maximal coordinates"], "continue") for n in sizes}
    best_of(watched, 1)
    run = la.simulate(models[sizes[2]], dt=DT, steps=steps, integrator=methods["maximal coordinates"], progress=False)

    def draw(figure) -> None:
        axes = figure.subplots()
        axes.loglog(sizes, [1000 * c.seconds for c in ours], "o-", label="maximal coordinates")
        axes.set(xlabel="segments", ylabel="1000 steps, s")
        axes.legend()

    return Result(
        f"{steps} steps of 10 ms from rest; every segment passes through positions in which its rods overlap.",
        [
            Claim(
                "Chains of all lengths are simulated.",
                "",
                "; ".join(f"{n}: {c.failure or ('stepped over' if c.stepped_over else 'finished')}" for n, c in watched.items()),
                not any(c.failure for c in watched.values()),
                "with assembly='continue'; stepped over: a step did not continue the motion at a singular position, and was made otherwise",
            ),
            Claim(
                "The run time grows linearly with the segments.",
                "",
                f"like segments^{rate:.2f}",
                rate < 1.3,
                "of the steps alone; looking after singular positions takes "
                + ", ".join(f"{watched[n].seconds / c.seconds:.2g} times as long ({n})" for n, c in zip(sizes, ours, strict=True)),
            ),
            Claim(
                "An explicit integrator in joint coordinates cannot reliably simulate two or more segments.",
                "",
                "; ".join(f"{n}: {c.failure or 'finished'}" for n, c in zip(sizes, theirs, strict=True)),
                any(n >= 2 for n in lost),
                "the explicit integrator is la.RKMK4 with our constraints; confirmed means that a chain of two or more segments fails",
            ),
        ],
        [Picture(draw), Picture(_snapshots(run), f"{sizes[2]} segments, every second")],
        [
            Table(
                ["segments", *methods, "largest gap, m"],
                [
                    [
                        str(n),
                        *(c.failure or f"{1e6 * c.seconds:.3g} µs a step" for c in pair),
                        f"{run.constraint_error.max():.0e}" if n == sizes[2] else "",
                    ]
                    for n, *pair in zip(sizes, ours, theirs, strict=True)
                ],
            )
        ],
    )


def _snapshots(run: la.Trajectory):
    """Lines from hinge to hinge at a few times."""

    def draw(figure) -> None:
        axes = figure.subplots()
        for k in range(0, len(run), 100):
            for name in run.model.frames:
                if name.endswith(tuple("0123456789")) and "_end" in name:
                    body = name.replace("end", "lower")
                    a, b = (la.dynamics.pose(run.model, run.q[k], x).p for x in (body, name))
                    c = la.dynamics.pose(run.model, run.q[k], name.replace("end", "upper")).p
                    axes.plot([c[0], a[0], b[0]], [c[2], a[2], b[2]], color="C0", alpha=0.2 + 0.6 * k / len(run), linewidth=1)
        axes.set(aspect="equal", xlabel="x, m", ylabel="z, m")

    return draw
