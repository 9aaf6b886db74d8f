"""`leastaction gallery`: mechanisms to look at, as pages with playback and source."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import gallery

HELP = "write pages of mechanisms to look at: an index with thumbnails, playback and source of each"
EPILOG = """examples:
  leastaction gallery                                   all of them, into the folder gallery
  leastaction gallery heavy-top four-bar --out pages    these two
  leastaction gallery --list                            what there is"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="entries to write; default: all")
    parser.add_argument("--out", type=Path, default=Path("gallery"), help="folder for the pages")
    parser.add_argument("--list", action="store_true", help="only say what there is")


def run(arguments: argparse.Namespace) -> None:
    if arguments.list:
        width = max(map(len, gallery.names()))
        print("\n".join(f"{one.name:<{width}}  {one.story}" for one in gallery.ENTRIES))
        return
    written = gallery.write(arguments.out, arguments.names, say=print)
    print(f"open {written[0]} in a browser")
