"""Error against time of the processor: every integrator of the package, MuJoCo, Pinocchio with Runge-Kutta, and DART, on five mechanisms.

Not a figure of one paper, but what all five are about: what does an accuracy cost?  benchmarks/work_precision.py measures.
"""

from __future__ import annotations

import math

from benchmarks import work_precision
from benchmarks.work_precision import PEER_ORDERS, Curves, fitted_order, seconds_for

from .result import Claim, Picture, Result, Table

STYLES = {"variational": ("o", "-"), "higher order": ("D", "-"), "explicit": ("s", "--"), "peer": ("^", ":")}
PEERS = tuple(PEER_ORDERS)
WANTED = (1e-3, 1e-6)  # errors the table asks for
SLACK = 0.6  # an order counts as reached so far below its number: not all points are in the limit of small steps


def make(quick: bool) -> Result:
    motions = work_precision.motions(quick)
    measured = {motion.name: work_precision.measure(motion, quick) for motion in motions}
    orders = {m.name: m.order for m in work_precision.methods()} | PEER_ORDERS
    own = [m.name for m in work_precision.methods() if m.name not in ("AdaptiveStep", "CertifiedStep")]  # dt is only their longest step
    lost = _below(measured, {name: orders[name] for name in own})
    trees = {name: curves for name, curves in measured.items() if "loop" not in name}
    cheaper = {error: {n: _cheapest(c, error) for n, c in measured.items()} for error in WANTED}
    absent = {name: reason for c in measured.values() for name, reason in c.refused.items() if "pip install" in reason}

    return Result(
        "Each point is one run with a fixed number of steps: how far the poses of all bodies are from the truth at the end (the largest "
        "difference of an entry of a rotation matrix, or of a position in m), and what the run cost. The truth is a composition of order "
        "6 with far shorter steps. Steps of our implicit methods are solved to 1e-11. The start of a run from Python, about a millisecond, "
        "is part of our times; Pinocchio's Runge-Kutta is written in Python around pin.aba, as its users do. In loops MuJoCo's pinned "
        "points are soft: it converges to another motion.",
        [
            Claim(
                "Every integrator of the package converges with its order, on every mechanism.",
                "",
                "all do" if not lost else "; ".join(lost),
                not lost,
                f"fitted to the finest points that are not yet rounding, less than {SLACK:g} below the order",
            ),
            _race(trees, "Composition, order 4", "MuJoCo RK4", 1e-6),
            _race(trees, "Variational", "MuJoCo Euler", 1e-3),
            _race(trees, "Variational", "DART", 1e-3),
            _race(trees, "RK4", "Pinocchio + RK4", 1e-6),
            *(Claim(f"{name} is compared.", "", "-", None, reason) for name, reason in absent.items()),
        ],
        [Picture(lambda figure: _draw(figure, measured), "Error at the end over seconds of the processor", (10, 7))],
        [
            Table(
                ["cheapest for an error of", *measured],
                [[f"{error:g}", *(cheaper[error][name] for name in measured)] for error in WANTED],
            ),
            Table(
                [f"ms for an error of {WANTED[0]:g} / {WANTED[1]:g}", *measured],
                [[name, *(_times(curves, name) for curves in measured.values())] for name in orders],
                "–: not reached with the steps tried; x: refused. A method that is closer with the fewest steps already has their time",
            ),
            Table(
                ["fitted order", *measured],
                [[name, *(_order(curves, name) for curves in measured.values())] for name in orders],
            ),
            Table(["not drawn", "where", "why"], _reasons(measured)),
            Table(
                ["truth", *measured],
                [["distance from the same with half as many steps", *(f"{c.floor:.0e}" for c in measured.values())]],
            ),
        ],
    )


def _below(measured: dict[str, Curves], orders: dict[str, int]) -> list[str]:
    """Methods whose fitted order is too low."""
    found = []
    for motion, curves in measured.items():
        for name, order in orders.items():
            fitted = fitted_order(curves.points.get(name, []), curves.floor)
            if fitted < order - SLACK:
                found.append(f"{name} {fitted:.1f} on {motion}")
    return found


def _race(measured: dict[str, Curves], ours: str, theirs: str, error: float) -> Claim:
    """Is ours cheaper for this error wherever both get there?"""
    ratios = {}
    for motion, curves in measured.items():
        times = [seconds_for(curves.points.get(name, []), error) for name in (ours, theirs)]
        if not any(map(math.isnan, times)):
            ratios[motion] = times[1] / times[0]
    return Claim(
        f"For an error of {error:g}, {ours} takes less time than {theirs}, on every tree where both come so close.",
        "",
        "; ".join(f"{motion}: {ratio:.2g} times as fast as it" for motion, ratio in ratios.items()) or "-",
        all(ratio > 1.0 for ratio in ratios.values()) if ratios else None,
        "" if ratios else "there is no mechanism on which both come so close with the steps tried, or the other one is not installed",
    )


def _cheapest(curves: Curves, error: float) -> str:
    times = {name: seconds_for(points, error) for name, points in curves.points.items()}
    times = {name: t for name, t in times.items() if not math.isnan(t)}
    if not times:
        return "–"
    ours = [name for name in times if name not in PEERS]
    best = min(times, key=times.__getitem__)
    text = f"{best}, {1e3 * times[best]:.2g} ms"
    if best in PEERS and ours:
        second = min(ours, key=times.__getitem__)
        text += f" (ours: {second}, {1e3 * times[second]:.2g} ms)"
    return text


def _times(curves: Curves, name: str) -> str:
    if name not in curves.points:
        return "x"
    times = [seconds_for(curves.points[name], error) for error in WANTED]
    return " / ".join("–" if math.isnan(t) else f"{1e3 * t:.2g}" for t in times)


def _order(curves: Curves, name: str) -> str:
    if name not in curves.points:
        return "x"
    fitted = fitted_order(curves.points[name], curves.floor)
    return "–" if math.isnan(fitted) else f"{fitted:.1f}"


def _reasons(measured: dict[str, Curves]) -> list[list[str]]:
    rows: dict[tuple[str, str], list[str]] = {}
    for motion, curves in measured.items():
        for name, reason in curves.refused.items():
            rows.setdefault((name, reason), []).append(motion)
    return [[name, "; ".join(where), reason] for (name, reason), where in rows.items()]


def _draw(figure, measured: dict[str, Curves]) -> None:
    kinds = {m.name: m.kind for m in work_precision.methods()} | dict.fromkeys(PEERS, "peer")
    numbers: dict[str, int] = {}
    looks = {}
    for name, kind in kinds.items():
        marker, line = STYLES[kind]
        looks[name] = {"marker": marker, "linestyle": line, "color": f"C{numbers.get(kind, 0)}", "markersize": 3.5, "linewidth": 1.0}
        numbers[kind] = numbers.get(kind, 0) + 1
    grid = figure.subplots(2, 3)
    for axes, (title, curves) in zip(grid.flat, measured.items(), strict=False):
        for name in kinds:
            points = curves.points.get(name, [])
            axes.loglog([p.seconds for p in points], [p.error for p in points], label=name, **looks[name])
        axes.set(title=title, xlabel="s of the processor", ylabel="error at the end")
    grid[1, 2].axis("off")
    legend = "● variational, ◆ composed or with steps\nof changing length, ■ explicit, ▲ others"
    grid[1, 2].legend(*grid[0, 0].get_legend_handles_labels(), loc="center", fontsize=7.5, title=legend, title_fontsize=7.5)
