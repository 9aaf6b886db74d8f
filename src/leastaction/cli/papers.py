"""`leastaction papers`: the figures and tables of the papers once more, in one report.

The scripts are in the folder papers/ of a clone, not in the package: they need its benchmarks, and other simulators to compare with.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

HELP = "rerun the figures and tables of the papers and write a report (in a clone of the repository)"

EPILOG = """examples:
  leastaction papers --quick                   everything in short versions, minutes
  leastaction papers lee kobilarov             two papers
  leastaction papers bruedigam2020_fig5        one figure"""

_HERE = Path(__file__).resolve()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", nargs="*", help="papers (lee, johnson, bruedigam, kobilarov, si) or single figures; all if left out")
    parser.add_argument("--quick", action="store_true", help="short versions")
    parser.add_argument("--out", type=Path, default=Path("papers-report"), help="folder for index.html")


def run(arguments: argparse.Namespace) -> int:
    root = clone()
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return importlib.import_module("papers.report").run(arguments.which, arguments.quick, arguments.out)


def clone() -> Path:
    """The folder that holds papers/: that of the package in a clone, or where the command is called."""
    candidates = [_HERE.parents[3], Path.cwd()]
    for root in candidates:
        if (root / "papers" / "contents.py").is_file():
            return root
    raise FileNotFoundError(
        f"there is no folder papers/ with the scripts of the figures in {' or '.join(map(str, candidates))}; they come with a clone of the "
        "repository, not with the installed package: run `leastaction papers` there"
    )
