"""`leastaction convert FILE OUT`: a mechanism from one file format to another."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from . import files

HELP = "write a mechanism from a file to a file of another format; what that cannot say is an error"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    files.add_file(parser)
    parser.add_argument("out", type=Path, help="file to write: .urdf, .xml (MJCF) or .sexp")


def run(arguments: argparse.Namespace) -> None:
    mechanism = files.load(arguments)
    mechanism.save(arguments.out)
    if arguments.json:
        print(json.dumps({"written": str(arguments.out), "notes": list(mechanism.notes)}, indent=2))
    else:
        print("\n".join([f"wrote {arguments.out}", *(f"note: {sentence}" for sentence in mechanism.notes)]))
