"""Si and Guenter 2010, Table 1: forward dynamics of revolute chains, torus chains and the windmill.  Timed by
benchmarks/si_guenter2010.py."""

from __future__ import annotations

from benchmarks.si_guenter2010 import METHOD_1, METHOD_2, PAPER, PLAIN, Comparison, Row, symbolic_chain
from benchmarks.timing import measure_all

import leastaction as la

from .result import Claim, Picture, Result, Table, growth


def rows(quick: bool) -> list[Row]:
    comparisons = [Comparison(f"RC{n}", la.examples.chain(n), symbolic_chain(n), steps=False) for n in ((10,) if quick else (20, 50, 100))]
    comparisons += [Comparison(f"TC{n}", la.examples.torus_chain(n), steps=False) for n in ((2, 4) if quick else (10, 20))]
    if not quick:
        comparisons.append(Comparison("WM", la.examples.windmill(), steps=False))
    measure_all([c.times for c in comparisons], 2 if quick else 4, max_passes=3 if quick else 20)
    return [c.row() for c in comparisons]


def make(quick: bool) -> Result:
    found = {row.name: row for row in rows(quick)}
    chains = {name: row for name, row in found.items() if PLAIN in row.seconds}
    tori = [row for name, row in found.items() if name.startswith("TC")]
    specialised = {name: row.ratio(PLAIN, METHOD_1) for name, row in chains.items()}
    mixed = {name: row.ratio(METHOD_2, METHOD_1) for name, row in found.items()}
    rate = growth([row.dofs for row in tori], [row.seconds[METHOD_2] for row in tori])

    def draw(figure) -> None:
        axes = figure.subplots()
        for method, style in ((METHOD_1, "o"), (METHOD_2, "s"), (PLAIN, "^")):
            own = [row for row in found.values() if method in row.seconds]
            axes.loglog([row.dofs for row in own], [1e6 * row.seconds[method] for row in own], style, label=method)
        for row in found.values():
            axes.annotate(row.name, (row.dofs, 1e6 * row.seconds[METHOD_2]), xytext=(5, 3), textcoords="offset points", fontsize=8)
        axes.set(xlabel="degrees of freedom", ylabel="forward dynamics, µs")
        axes.legend()

    def paper(name: str, k: int) -> str:
        return f"{1e3 * PAPER[name][k]:g}" if name in PAPER and PAPER[name][k] is not None else "-"

    return Result(
        "Method I: the recursion specialised to one mechanism (model.specialise()); Method II: general joints, each only a pose; "
        "beside them the recursion with built-in "
        "joints. All in turns on one core.",
        [
            Claim(
                "Method I is faster than Featherstone's algorithm.",
                "1.25, 1.28, 1.13 times (RC20, 50, 100)",
                ", ".join(f"{name}: {x:.2f} times" for name, x in specialised.items()),
                all(x > 1.0 for x in specialised.values()),
            ),
            Claim(
                "Method II is much slower than Method I.",
                "50, 48, 44, 19, 19, 22 times",
                ", ".join(f"{name}: {x:.1f} times" for name, x in mixed.items()),
                all(x > 10.0 for x in mixed.values()),
                "much: more than 10 times, as printed. Theirs solves small systems by Jacobi's method; ours is compiled, so it is not",
            ),
            Claim(
                "General joints cost O(n).",
                "0.055 and 0.115 ms for 38 and 78",
                f"like dof^{rate:.2f} from {tori[0].dofs} to {tori[-1].dofs}",
                rate < 1.3,
            ),
            Claim("SD/FAST is slower for RC50 and cannot compile RC100.", "0.136 ms, -", "-", None, "SD/FAST is not available"),
        ],
        [Picture(draw)],
        [
            Table(
                ["µs", "dof", METHOD_1, METHOD_2, "built-in joints", "paper: Method I", "paper: Method II", "paper: Featherstone"],
                [
                    [
                        row.name,
                        str(row.dofs),
                        *(f"{1e6 * row.seconds[m]:.3g}" if m in row.seconds else "-" for m in (METHOD_1, METHOD_2, PLAIN)),
                        paper(row.name, 0),
                        paper(row.name, 1),
                        paper(row.name, 2),
                    ]
                    for row in found.values()
                ],
            )
        ],
    )
