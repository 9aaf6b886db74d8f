"""`leastaction run FILE`: simulate a mechanism from a file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import leastaction as la

from . import files
from .stops import stops

HELP = "simulate a mechanism from a file"
STOPPED = 3  #: exit code of a run that ended at a limit

EPILOG = """\
exit codes: 0 finished, or ended by --stop, 1 error (explained on stderr), 2 wrong usage, 3 stopped where a joint went beyond its limit

  leastaction run panda.urdf --ignore dynamics --q panda_joint4=-1.5 --duration 2 --out run.npz --page run.html
  leastaction run panda.urdf --ignore dynamics --duration 3600 --out run.h5             killed?  The same again with --resume goes on
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    files.add_file(parser)
    files.add_start(parser)
    parser.add_argument("--integrator", choices=files.INTEGRATORS, default="variational", help="how steps are made")
    parser.add_argument(
        "--stop", action="append", default=[], metavar="'JOINT > VALUE'",
        help="end where a coordinate, or x, y or z of a frame ('tip.z < 0'), passes a value; may be repeated",
    )  # fmt: skip
    parser.add_argument("--record-every", type=int, default=1, metavar="N", help="keep every n-th step")
    parser.add_argument(
        "--out", type=Path, help="write the run to this .h5, .npz or .csv file; to .h5 while it is made, so that nothing is lost"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the run in the .h5 file of --out; begin if there is none")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page that plays the run in 3-D (.html)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the energy to this picture (.png, .pdf, .svg)")


def run(arguments: argparse.Namespace) -> int:
    files.check_out(arguments.out, arguments.resume)
    mechanism = files.load(arguments)
    model = mechanism.compile()
    state, moved = files.start(model, arguments)
    result = la.simulate(
        model, state, dt=arguments.dt, duration=arguments.duration, integrator=files.integrator(arguments.integrator),
        limits=arguments.limits, record_every=arguments.record_every, progress=False if arguments.json else None,
        record_to=arguments.out if files.streams(arguments.out) else None, resume=arguments.resume,
        when=stops(arguments.stop, model, state),
    )  # fmt: skip
    code = 0 if result.message == "finished" or any(event.terminal for event in result.events) else STOPPED
    written = []
    if arguments.out is not None:
        if not files.streams(arguments.out):
            result.save(arguments.out)
        written.append(str(arguments.out))
    if arguments.plot is not None:
        la.plot.energy(result, save_to=arguments.plot)
        written.append(str(arguments.plot))
    if arguments.page is not None:
        result.to_html(arguments.page)
        written.append(str(arguments.page))
    if arguments.json:
        print(json.dumps(described(result, moved, written), indent=2))
    else:
        print(result)
        hint = ["stops of joints are not simulated; --limits ignore lets joints pass"] if code == STOPPED else []
        for title, sentences in (("note", (*moved, *model.notes)), ("hint", hint), ("wrote", written)):
            print("".join(f"{title:<11}  {sentence}\n" for sentence in sentences), end="")
    return code


def described(result: la.Trajectory, moved: list[str], written: list[str]) -> dict[str, Any]:
    energy = result.energy
    return {
        "model": result.model.name,
        "integrator": repr(result.integrator),
        "dt": result.dt,
        "steps": result.steps,
        "time": float(result.t[-1]),
        "message": result.message,
        "warnings": list(result.warnings),
        "events": [{"name": event.name, "time": event.t} for event in result.events],
        "notes": [*moved, *result.model.notes],
        "energy": {"start": energy[0], "least": energy.min(), "greatest": energy.max(), "end": energy[-1]},
        "constraint error": result.constraint_error.max(),
        "evaluations per step": result.iterations.mean() if result.steps else 0.0,
        "seconds": result.elapsed,
        "end": dict(zip(result.model.coordinate_names, result.q[-1].tolist(), strict=True)),
        "written": written,
    }
