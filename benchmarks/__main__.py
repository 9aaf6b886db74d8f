"""python -m benchmarks [speed | defaults]: measure, print the tables and write them to docs/."""

from __future__ import annotations

import argparse

from . import report, speed
from .cases import all_cases


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("what", nargs="?", default="speed", choices=("speed", "defaults"))
    parser.add_argument("--passes", type=int, default=4, help="times the whole comparison is repeated at least (default 4)")
    parser.add_argument("--quick", action="store_true", help="fewer mechanisms and repeats, nothing written")
    parser.add_argument("--no-write", action="store_true", help="print only")
    arguments = parser.parse_args()
    if arguments.what == "speed":
        cases = all_cases((10, 100)) if arguments.quick else all_cases()
        results = speed.run(cases, passes=1) if arguments.quick else speed.run(cases, arguments.passes)
        text, file = report.page(results), report.DOCS / "benchmarks.md"
    else:
        from . import defaults

        text, file = defaults.page(quick=arguments.quick), report.DOCS / "defaults.md"
    print(text)
    if not (arguments.quick or arguments.no_write):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        print(f"written to docs/{file.name}")


if __name__ == "__main__":
    main()
