"""python -m benchmarks [what]: measure, print, write to docs/.  What: a key of PAGES, `speed` by default."""

from __future__ import annotations

import argparse

from . import (
    bruedigam2020,
    defaults,
    lee2016,
    linearize,
    long_chains,
    loops,
    mjcf,
    published,
    report,
    robot_energy,
    robot_speed,
    robots,
    rollout,
    si_guenter2010,
    small,
    speed,
)
from .cases import all_cases


def speed_page(quick: bool, passes: int) -> str:
    return report.page(speed.run(all_cases((10, 100)), passes=1, max_passes=2) if quick else speed.run(passes=passes))


PAGES = {  # what -> (file in docs/, function of (quick, passes) that measures and returns its text)
    "speed": ("benchmarks.md", speed_page),
    "defaults": ("defaults.md", defaults.page),
    "lee2016": ("lee2016.md", lee2016.page),
    "loops": ("loops.md", loops.page),
    "long_chains": ("long-chains.md", long_chains.page),
    "published": ("published-speed.md", published.page),
    "si_guenter2010": ("si_guenter2010.md", si_guenter2010.page),
    "robots": ("robots.md", robots.page),
    "robot_energy": ("robot-energy.md", robot_energy.page),
    "robot_speed": ("robot-speed.md", robot_speed.page),
    "mjcf": ("mjcf-robots.md", mjcf.page),
    "linearize": ("linearize-speed.md", linearize.page),
    "rollout": ("rollout-speed.md", rollout.page),
    "small": ("small-runs.md", small.page),
    "bruedigam2020": ("bruedigam2020.md", bruedigam2020.page),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("what", nargs="?", default="speed", choices=tuple(PAGES))
    parser.add_argument("--passes", type=int, default=4, help="times everything is measured at least (default 4)")
    parser.add_argument("--quick", action="store_true", help="fewer mechanisms and repeats, nothing written")
    parser.add_argument("--no-write", action="store_true", help="print only")
    arguments = parser.parse_args()
    name, page = PAGES[arguments.what]
    text = page(arguments.quick, arguments.passes)
    print(text)
    if not (arguments.quick or arguments.no_write):
        report.DOCS.mkdir(exist_ok=True)
        (report.DOCS / name).write_text(text)
        print(f"written to docs/{name}")


if __name__ == "__main__":
    main()
