"""`leastaction demo`: a robot arm, or a chain, let go: with the variational integrator and with what most engines use."""

from __future__ import annotations

import argparse
import gc
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import leastaction as la

from .. import analysis, page, plot

HELP = "let a robot arm or a chain swing with two integrators, compare their energy, write a page"

_CONTENDERS = {"variational": "Variational", "semi-implicit Euler": "SemiImplicitEuler"}
_CHAIN = {"link1": math.pi / 4}  # rad; the chain hangs straight at this angle and is let go
_ARM = {"lift": 2.2, "elbow": 0.6, "roll": 0.2, "bend": 0.4}  # half way down


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--links", type=int, metavar="N", help="a chain of N links of 1 m and 1 kg instead of the robot arm")
    parser.add_argument("--duration", type=float, default=10.0, help="simulated time, s")
    parser.add_argument("--dt", type=float, default=1e-3, help="time step, s")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for energy.png and index.html")
    parser.add_argument("--json", action="store_true", help="print one JSON object, errors too")


def run(arguments: argparse.Namespace) -> None:
    if arguments.links is not None and arguments.links < 1:
        raise la.MechanismError(f"--links {arguments.links}: a chain needs at least 1 link")
    with _without_garbage_collection():
        compare(arguments)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Loading Numba and Matplotlib makes a million objects that all stay: looking for dead ones takes 0.2 of 1.6 s."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def compare(arguments: argparse.Namespace) -> None:
    is_arm = arguments.links is None
    model = (la.examples.robot_arm() if is_arm else la.examples.chain(arguments.links)).compile()
    start = _ARM if is_arm else _CHAIN
    say = (lambda *_: None) if arguments.json else print
    say(f"{model.name}, let go without motors and brakes: {arguments.duration:g} s in steps of {arguments.dt:g} s\n")
    runs = {
        label: la.simulate(model, dt=arguments.dt, duration=arguments.duration, q=start, integrator=integrator)
        for label, integrator in contenders().items()
    }
    rows = comparison(runs)
    say(as_text(rows))

    arguments.out.mkdir(parents=True, exist_ok=True)
    picture, document = arguments.out / "energy.png", arguments.out / "index.html"
    plot.energy(runs, save_to=picture, title=f"Energy error: {model.name}, {1e3 * arguments.dt:g} ms steps")
    links = "" if is_arm else f" --links {arguments.links}"
    command = f"leastaction demo{links} --duration {arguments.duration:g} --dt {arguments.dt:g}"
    page.write(runs, document, table=rows, traces=["hand" if is_arm else "tip"], remark=f"Get this page with: {command}")
    say(f"\nwrote {picture} and {document}; open the second in a browser to see it move")
    if arguments.json:
        print(json.dumps({"model": model.name, "runs": rows, "written": [str(picture), str(document)]}, indent=2))


def contenders() -> dict[str, la.Integrator]:
    """The integrators that are compared, ours first."""
    return {label: getattr(la, name)() for label, name in _CONTENDERS.items() if hasattr(la, name)}


def comparison(runs: dict[str, la.Trajectory]) -> list[dict[str, str]]:
    """One row per run: how wrong its energy is, how much of that is one-sided, what a step costs."""
    return [
        {
            "integrator": label,
            "largest energy error": f"{abs(analysis.energy_error(run)).max():.1e} J",
            "energy drift": f"{analysis.drift(run):+.1e} J",
            "time per step": f"{1e6 * run.elapsed / max(run.steps, 1):.1f} µs",
        }
        for label, run in runs.items()
    ]


def as_text(rows: list[dict[str, str]]) -> str:
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]}
    lines = [[f"{name:<{w}}" for name, w in widths.items()], ["-" * w for w in widths.values()]]
    lines += [[f"{row[name]:<{w}}" for name, w in widths.items()] for row in rows]
    return "\n".join("  ".join(line).rstrip() for line in lines)
