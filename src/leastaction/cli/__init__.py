"""The command line.  A new command is a new file: `HELP`, `add_arguments(parser)`, `run(arguments)`, and a line in `COMMANDS`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import LeastActionError
from . import cache, compare, completion, convert, demo, gallery, info, papers, run, sweep, view

COMMANDS = {
    "info": info, "run": run, "view": view, "compare": compare, "sweep": sweep, "convert": convert, "demo": demo, "gallery": gallery,
    "cache": cache, "papers": papers, "completion": completion,
}  # fmt: skip


def make_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser(prog="leastaction", description="Multibody simulation with variational integrators.")
    parser.add_argument("--version", action="version", version=f"leastaction {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        command = commands.add_parser(
            name, help=module.HELP, description=module.HELP, epilog=getattr(module, "EPILOG", None), formatter_class=_Help
        )
        module.add_arguments(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0, 1 after an error that was explained on stderr, or what the command returns."""
    arguments = make_parser().parse_args(argv)
    try:
        return COMMANDS[arguments.command].run(arguments) or 0
    except (LeastActionError, ImportError, OSError) as error:
        if getattr(arguments, "json", False):
            print(json.dumps({"error": str(error), "kind": type(error).__name__}, indent=2))
        else:
            print(f"leastaction {arguments.command}: {error}", file=sys.stderr)
        return 1


class _Help(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Defaults are shown, and examples keep their lines."""
