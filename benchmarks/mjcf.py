"""MJCF files of gymnasium and dm_control: read or refused by name, and compared with MuJoCo, which reads the same files.

`python -m benchmarks mjcf` writes docs/mjcf-robots.md.  A file is read as strictly as a user would read it first; what has to be named in
`ignore` for it is in the table.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import leastaction as la
from leastaction.io.mjcf_reader import NOT_SIMULATED

from .report import table

STATES = 20
SECONDS, STEP = 0.1, 1e-3
#: packages and their folders of robots; parts of robots, and files that test dm_control itself, are not among them
FOLDERS = {
    "gymnasium": ("envs/mujoco/assets",),
    "dm_control": ("suite", "locomotion/walkers/assets", "locomotion/soccer/assets", "third_party/ant", "third_party/kinova"),
}


@dataclass
class Robot:
    """What became of a file."""

    name: str
    file: Path
    package: Path  #: folder that is trusted: files of a package name each other
    ignored: tuple[str, ...] = ()
    model: la.Model | None = None
    passive: la.Model | None = None  #: without actuators, dry friction and equalities, which are off in MuJoCo too
    refused: str = ""
    unwritten: str = ""  #: why it cannot be written again
    measured: dict[str, float] = field(default_factory=dict)


def files() -> list[Robot]:
    """Names and files, where the packages are installed; what is included by others, and has no robot in it, is left out."""
    found = []
    for package, folders in FOLDERS.items():
        spec = find_spec(package)
        root = Path(spec.origin).parent if spec and spec.origin else None
        for folder in folders if root else ():
            names = {f"{package}/{f.relative_to(root / folder).with_suffix('')}": f for f in sorted((root / folder).rglob("*.xml"))}
            found += [Robot(name, file, root) for name, file in names.items()]
    return [robot for robot in found if "<joint" in robot.file.read_text() or "<freejoint" in robot.file.read_text()]


def read(robot: Robot) -> None:
    """Read a file, leaving out only what is refused otherwise."""
    while True:
        try:
            robot.model = la.load(robot.file, ignore=robot.ignored, packages=robot.package).compile()
            without = [*robot.ignored, "actuator", "frictionloss", "equality"]
            robot.passive = la.load(robot.file, ignore=without, packages=robot.package).compile()
        except la.MechanismError as error:
            asked = str(error).partition("ignore=[")[2].partition("]")[0]
            needed = tuple(name for name in NOT_SIMULATED if f"'{name}'" in asked and name not in robot.ignored)
            if needed:
                robot.ignored += needed
                continue
            robot.refused = str(error).replace(f"{robot.file.parent}/", "").replace(str(robot.package), robot.package.name).splitlines()[0]
        return


def measure(robot: Robot, states: int) -> None:
    """Differences at random states, and by how much the difference after some time falls when the step is halved."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from support import mjcf as beside  # how tests compare with MuJoCo

    assert robot.passive is not None
    theirs = beside.Theirs(robot.file, robot.passive, robot.package)
    inertia, forces = beside.differences(theirs, states)
    robot.measured = {"M": inertia, "forces": forces}
    write(robot, theirs, states)
    rng, model = np.random.default_rng(0), robot.passive
    mech = model.description
    start = model.state(model.coordinates(mech.keyframes.get("qpos0", {}).get("q")), 0.3 * rng.normal(size=model.nv))
    wanted = beside.trajectory_end(theirs, start, SECONDS, STEP / 4)
    if wanted is None:
        return
    runs = [la.simulate(model, start, dt=dt, duration=SECONDS, limits="ignore") for dt in (STEP, STEP / 2)]
    errors = [np.abs(theirs.qpos(run.q[-1]) - wanted).max() for run in runs]
    robot.measured["off"] = errors[1]
    if errors[1] > 1e-11:
        robot.measured["h / 2"] = errors[0] / errors[1]


def write(robot: Robot, theirs: Any, states: int) -> None:
    """Write the robot, and let MuJoCo read that: by how much its mass matrix and forces differ from those of the first file."""
    assert robot.model is not None and robot.passive is not None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "again.xml"
        try:
            robot.model.description.save(file)
        except la.FormatError as error:
            robot.unwritten = str(error).replace(str(robot.package), robot.package.name)
            return
        again = type(theirs)(file, la.load(file, packages=robot.package).compile(), robot.package)
    model, rng, worst = robot.passive, np.random.default_rng(1), 0.0
    for _ in range(states):
        q = np.concatenate([body.joint.sample_coordinates(rng) for body in model.bodies])
        v = rng.normal(size=model.nv)
        pairs = zip(theirs.inertia_and_forces(q, v), again.inertia_and_forces(q, v), strict=True)
        worst = max(worst, *(float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-3)) for a, b in pairs))
    robot.measured["written"] = worst


def page(quick: bool, passes: int) -> str:
    robots = []
    for robot in files()[:: 8 if quick else 1]:
        read(robot)
        if "nothing that moves" in robot.refused:
            continue  # defaults for other files, or to be completed by a program
        if robot.model is not None:
            measure(robot, 2 if quick else STATES)
        print(f"{robot.name}: {robot.refused or robot.measured}", file=sys.stderr, flush=True)
        robots.append(robot)
    return render(robots)


def render(robots: list[Robot]) -> str:
    good = [r for r in robots if r.model is not None]
    gains = [r.measured["h / 2"] for r in good if "h / 2" in r.measured]
    return _PAGE.format(
        count=len(robots), good=len(good), states=STATES, step=1e3 * STEP, seconds=SECONDS,
        inertia=max(r.measured["M"] for r in good), forces=max(r.measured["forces"] for r in good),
        fours=sum(3.5 < gain < 4.5 for gain in gains), gains=len(gains),
        table=table(["robot", "nv", "ignore", "M", "forces", "off", "h / 2", "written"], [_row(r) for r in good]),
        written=max(r.measured.get("written", 0.0) for r in good), again=sum("written" in r.measured for r in good),
        unwritten="\n".join(f"- `{r.name}`: {r.unwritten}" for r in good if r.unwritten) or "None.",
        refused="\n".join(f"- `{r.name}`: {r.refused}" for r in robots if r.refused) or "None.",
    )  # fmt: skip


def _row(robot: Robot) -> list[str]:
    def cell(name: str, form: str) -> str:
        return f"{robot.measured[name]:{form}}" if name in robot.measured else "-"

    assert robot.model is not None
    ignored = ", ".join(robot.ignored) or "-"
    cells = [*(cell(n, ".0e") for n in ("M", "forces", "off")), cell("h / 2", ".2f"), cell("written", ".0e")]
    return [robot.name, str(robot.model.nv), ignored, *cells]


_PAGE = """# Robots of MuJoCo

Written by `python -m benchmarks mjcf` (`make robots`). The MJCF files of PyPI's `gymnasium` and `dm_control` ({count} files with joints)
are read ([how](mjcf.md)) and compared with MuJoCo, which reads the same files: mass matrix and everything that acts on the joints
(gravity, velocity products, springs, dampers, rotors) at {states} random states, its soft constraints, contacts and actuators off. Then
they move for {seconds:g} s from where the file draws them, with random velocities, and are compared with MuJoCo's Runge-Kutta steps of a
quarter of ours. {good} of {count} are read; the others are refused by name, below.

- *ignore*: what had to be named because it is not simulated
- *M*, *forces*: largest difference from MuJoCo, relative
- *off*: largest difference of a coordinate at the end, with steps of {step:g} ms / 2; *h / 2*: by what factor it falls when the step is
  halved. There is none where Runge-Kutta steps diverge
- *written*: the robot is [written](mjcf.md#writing) and read by MuJoCo again: by how much its mass matrix and forces change

In numbers: mass matrices differ by at most {inertia:.0e}, forces by {forces:.0e}. Halving the step divides the difference by 3.5 to 4.5 in
{fours} of {gains} cases. {again} of {good} can be written again; MuJoCo's numbers change by at most {written:.0e}.

{table}

## Refused

{refused}

## Not written

{unwritten}
"""
