"""`leastaction sweep FILE`: simulate a mechanism from a file at many points, on all cores or on a cluster."""

from __future__ import annotations

import argparse
import json
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import leastaction as la

from ..errors import StateError
from . import files

HELP = "simulate a mechanism from a file at many points"
FAILED = 4  #: exit code of a sweep in which a run failed

EPILOG = """\
parameters: q:JOINT and v:JOINT (start), mass:BODY (kg; its inertia grows in proportion), dt (s), integrator (a name)
values:     a list 1,2,5 or FROM:TO:COUNT; several parameters mean all combinations
exit codes: 0 finished, 1 error (explained on stderr), 2 wrong usage, 4 some of the runs failed (named in the output)

  leastaction sweep arm.urdf --param q:elbow=-1:1:21 --param mass:hand=0.5,1,2 --duration 5 --out sweep.h5
  leastaction sweep arm.urdf --param dt=1e-3,2e-3,5e-3 --scheduler tcp://localhost:8786 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    files.add_file(parser)
    files.add_start(parser)
    parser.add_argument("--integrator", choices=files.INTEGRATORS, default="variational", help="how steps are made")
    parser.add_argument(
        "--param", type=_parameter, action="append", required=True, metavar="NAME=VALUES", help="what to vary; see below; may be repeated"
    )
    parser.add_argument("--processes", type=int, help="how many, without a scheduler (default: one for every core)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, for example tcp://localhost:8786 (extra cluster)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write results to this .h5 file as they come back")
    parser.add_argument("--resume", action="store_true", help="go on with the sweep in the file of --out; begin if there is none")


def run(arguments: argparse.Namespace) -> int:
    names = [name for name, _ in arguments.param]
    if len(set(names)) != len(names):
        raise StateError(f"--param: {max(names, key=names.count)!r} is given twice; give all its values at once")
    mechanism = files.load(arguments)
    task = SimulateAt(mechanism, copy(arguments))
    task.check(names)
    found = la.sweep(
        task, dict(arguments.param), executor=arguments.scheduler, processes=arguments.processes, store=arguments.out,
        resume=arguments.resume or None, progress=False if arguments.json else None,
    )  # fmt: skip
    if arguments.json:
        print(json.dumps(described(found), indent=2))
    else:
        print("\n".join(table(found)))
        if arguments.out is not None:
            print(f"wrote  {arguments.out}")
    return FAILED if found.errors else 0


@dataclass
class SimulateAt:
    """What is called at every point."""

    mechanism: la.Mechanism
    arguments: argparse.Namespace

    def check(self, names: list[str]) -> None:
        """Before anything runs."""
        model = self.mechanism.compile()
        known = {"dt", "integrator", *(f"mass:{body}" for body in self.mechanism.bodies)}
        known |= {f"{kind}:{joint}" for joint in model.joint_names for kind in "qv"}
        for name in names:
            if name not in known:
                raise StateError(f"--param {name}: there is none of that name; there are {', '.join(sorted(known))}")

    def __call__(self, **point: Any) -> dict[str, Any]:
        arguments, mechanism = copy(self.arguments), copy(self.mechanism)
        mechanism.bodies, start = dict(mechanism.bodies), {"q": dict(arguments.q), "v": dict(arguments.v)}
        for name, value in point.items():
            kind, _, of = name.partition(":")
            if kind in start:
                start[kind][of] = [value]
            elif kind == "mass":
                mechanism.bodies[of] = _heavier(mechanism.bodies[of], value)
            else:
                setattr(arguments, kind, value)
        arguments.q, arguments.v = list(start["q"].items()), list(start["v"].items())
        model = mechanism.compile()
        state, _ = files.start(model, arguments)
        result = la.simulate(
            model, state, dt=arguments.dt, duration=arguments.duration, integrator=files.integrator(arguments.integrator),
            limits=arguments.limits, record_every=max(1, int(arguments.duration / arguments.dt / 1000)), progress=False,
        )  # fmt: skip
        energy = result.energy
        return {
            "end": result.q[-1], "time": float(result.t[-1]), "energy": float(energy[0]), "energy range": float(np.ptp(energy)),
            "constraint error": float(result.constraint_error.max()), "message": result.message,
        }  # fmt: skip


def _heavier(body: Any, mass: float) -> Any:
    if not (body.mass > 0.0 and mass > 0.0 and np.isfinite(mass)):
        raise StateError(f"mass:{body.name} = {mass:g}, {body.mass:g} kg in the file; both have to be positive")
    return replace(body, mass=float(mass), inertia=body.inertia * (mass / body.mass))


def described(found: la.Sweep) -> dict[str, Any]:
    results = [None if r is None else {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in r.items()} for r in found.results]
    errors = {str(k): text for k, text in found.errors.items()}
    return {"points": found.points, "results": results, "errors": errors, "seconds": found.elapsed}


def table(found: la.Sweep) -> list[str]:
    """A line for every point."""
    names = list(found.points[0]) if found.points else []
    rows = [[*names, "time", "energy range", "how it ended"]]
    for k, (point, result) in enumerate(zip(found.points, found.results, strict=True)):
        values = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in point.values()]
        if result is None:
            rows.append([*values, "", "", found.errors[k].strip().splitlines()[-1]])
        else:
            rows.append([*values, f"{result['time']:.6g}", f"{result['energy range']:.3g}", result["message"]])
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]) - 1)]
    return ["  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows]


def _parameter(text: str) -> tuple[str, list[Any]]:
    name, separator, values = text.partition("=")
    try:
        if not separator or not name or not values:
            raise ValueError
        if name == "integrator":
            unknown = [v for v in values.split(",") if v not in files.INTEGRATORS]
            if unknown:
                raise argparse.ArgumentTypeError(f"integrator {unknown[0]!r}; there are {', '.join(files.INTEGRATORS)}")
            return name, list(values.split(","))
        if ":" in values:
            first, last, count = values.split(":")
            if int(count) < 1:
                raise ValueError
            return name, np.linspace(float(first), float(last), int(count)).tolist()
        return name, [float(value) for value in values.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=1,2,5 or NAME=FROM:TO:COUNT, for example q:elbow=-1:1:5") from None
