"""`leastaction compare FILE`: energy, closure and time of several integrators on one mechanism."""

from __future__ import annotations

import argparse
import json
from typing import Any

import leastaction as la

from .. import analysis
from . import files, mujoco_run
from .demo import as_text

HELP = "simulate a mechanism from a file with several integrators and compare energy, closure and time"

_CONTENDERS = ("variational", "variational4", "maximal", "rk4", "semi-implicit-euler")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    files.add_file(parser)
    files.add_start(parser)
    parser.add_argument(
        "--integrator", choices=files.INTEGRATORS, action="append", metavar="NAME",
        help=f"one to compare, may be repeated: {', '.join(files.INTEGRATORS)}; "
        f"by default {', '.join(_CONTENDERS)}, and MuJoCo if it is installed",
    )  # fmt: skip
    parser.set_defaults(limits="ignore")  # all run equally long


def run(arguments: argparse.Namespace) -> None:
    mechanism = files.load(arguments)
    model = mechanism.compile()
    state, moved = files.start(model, arguments)
    results = {name: measured(model, state, name, arguments) for name in arguments.integrator or _CONTENDERS}
    if not arguments.integrator and mujoco_run.installed():
        results[mujoco_run.NAME] = mujoco_run.measured(mechanism, model, state, arguments.dt, arguments.duration)
    if arguments.json:
        asked = {"model": model.name, "dt": arguments.dt, "duration": arguments.duration}
        print(json.dumps({**asked, "notes": moved, "runs": results}, indent=2))
        return
    print(f"{model.name}: {arguments.duration:g} s in steps of {arguments.dt:g} s\n")
    print(as_text([_row(name, result) for name, result in results.items()]))
    for sentence in [*moved, *(f"{name}: {result['refused']}" for name, result in results.items() if "refused" in result)]:
        print(f"\n{sentence}")


def measured(model: la.Model, state: la.State, name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """What a run shows, or why there is none."""
    try:
        options = {"dt": arguments.dt, "integrator": files.integrator(name), "limits": arguments.limits, "progress": False}
        la.simulate(model, state, steps=1, **options)  # compiles
        run = la.simulate(model, state, duration=arguments.duration, **options)
    except la.LeastActionError as error:
        return {"refused": str(error)}
    return {
        "largest energy error": float(abs(analysis.energy_error(run)).max()),
        "energy drift": float(analysis.drift(run)),
        "constraint error": float(run.constraint_error.max()),
        "seconds per step": run.elapsed / max(run.steps, 1),
        "message": run.message,
    }


def _row(name: str, result: dict[str, Any]) -> dict[str, str]:
    if "refused" in result:
        return {"integrator": name, "largest energy error": "refused", "energy drift": "", "closure": "", "time per step": ""}
    return {
        "integrator": name,
        "largest energy error": f"{result['largest energy error']:.1e} J",
        "energy drift": f"{result['energy drift']:+.1e} J",
        "closure": f"{result['constraint error']:.1e}",
        "time per step": f"{1e6 * result['seconds per step']:.1f} µs",
    }
