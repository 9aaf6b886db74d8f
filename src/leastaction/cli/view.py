"""`leastaction view`: a mechanism that moves in the browser and can be pulled at."""

from __future__ import annotations

import argparse

from ..viewer import view
from . import files

HELP = "let a mechanism move in the browser: pull at it, move its joints, change integrator and step"
EPILOG = """examples:
  leastaction view panda.urdf --ignore dynamics --q panda_joint4=-1.5
  leastaction view linkage.sdf --dt 0.005 --no-browser"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    files.add_file(parser, json=False)
    files.add_start(parser, duration=False)
    parser.add_argument("--integrator", choices=files.INTEGRATORS, default="variational", help="what it starts with")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("--seconds", type=float, help="end after this time; by default Ctrl-C ends it")


def run(arguments: argparse.Namespace) -> None:
    model = files.load(arguments).compile()
    state, moved = files.start(model, arguments)
    for sentence in moved:
        print(sentence)
    record = view(
        model, state, dt=arguments.dt, integrator=files.integrator(arguments.integrator), limits=arguments.limits, port=arguments.port,
        browser=not arguments.no_browser, seconds=arguments.seconds,
    )  # fmt: skip
    print(record)
