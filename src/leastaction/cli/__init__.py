"""The command line.  A new command is a new file: `HELP`, `add_arguments(parser)`, `run(arguments)`, and a line in `COMMANDS`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import LeastActionError
from . import cache, demo

COMMANDS = {"cache": cache, "demo": demo}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0, or 1 after an error that was explained on stderr."""
    parser = argparse.ArgumentParser(prog="leastaction", description="Multibody simulation with variational integrators.")
    parser.add_argument("--version", action="version", version=f"leastaction {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        command = commands.add_parser(
            name, help=module.HELP, description=module.HELP, formatter_class=argparse.ArgumentDefaultsHelpFormatter
        )
        module.add_arguments(command)
    arguments = parser.parse_args(argv)
    try:
        COMMANDS[arguments.command].run(arguments)
    except (LeastActionError, ImportError, OSError) as error:
        print(f"leastaction {arguments.command}: {error}", file=sys.stderr)
        return 1
    return 0
