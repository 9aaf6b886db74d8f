"""Robot files of PyPI's example-robot-data: read or refused by name, compared with Pinocchio, and let fall.

`python -m benchmarks robots` writes docs/robots.md.  A file is read as strictly as a user would read it first; what has to be named in
`ignore` for it is in the table.
"""

from __future__ import annotations

import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import leastaction as la
from leastaction.kernels.tree.evaluate import world
from leastaction.kernels.tree.layout import MASS

from .report import table

NOT_SIMULATED = ("friction", "dynamics", "gazebo", "meshes", "mimic")  # what may be left out, if it stands in the way
CONFIGURATIONS = 20
TOLERANCE = 1e-9
SECONDS, STEP = 1.0, 1e-3


def folder() -> Path | None:
    """Where the robots of example-robot-data are installed."""
    found = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    return found if found.is_dir() else None


def files() -> list[Path]:
    root = folder()
    return sorted(root.rglob("*.urdf")) if root else []


def short(file: Path) -> str:
    """folder/file without what all have in common."""
    inside = file.relative_to(folder() or file.anchor)
    return f"{inside.parts[0].replace('_description', '').replace('_data', '')}/{inside.stem}"


# ---------------------------------------------------------------------------------------------------- reading


@dataclass
class Robot:
    """What became of a file."""

    file: Path
    floating: bool
    ignored: tuple[str, ...] = ()
    mechanism: la.Mechanism | None = None
    model: la.Model | None = None
    refused: str = ""  #: why, if it was
    measured: dict[str, float] = field(default_factory=dict)


def read(file: Path, floating: bool, also: tuple[str, ...] = ()) -> Robot:
    """Read a file, leaving out only what is refused otherwise, and what is named in `also`."""
    robot = Robot(file, floating)
    while True:
        try:
            robot.mechanism = la.load(file, floating=floating, ignore=[*robot.ignored, *also])
            robot.model = robot.mechanism.compile()
        except la.MechanismError as error:
            needed = next((name for name in NOT_SIMULATED if name not in robot.ignored and _asks_for(str(error), name)), None)
            if robot.mechanism is None and needed:
                robot.ignored += (needed,)
                continue
            robot.refused = str(error).replace(f"{file.parent}/", "")
        return robot


def _asks_for(message: str, name: str) -> bool:
    return f"'{name}'" in message.rpartition("ignore=")[2].partition("]")[0] or (name == "mimic" and "mimics" in message)


# ---------------------------------------------------------------------------------------------------- against Pinocchio


class Comparison:
    """A model of ours beside that of Pinocchio from the same file; entries are matched by the names of joints."""

    def __init__(self, robot: Robot):
        import pinocchio

        self.pin, self.model = pinocchio, robot.model
        root = (pinocchio.JointModelFreeFlyer(),) if robot.floating else ()
        self.theirs = pinocchio.buildModelFromUrdf(str(robot.file), *root)
        self.data = self.theirs.createData()
        names = list(self.theirs.names)[1:]
        assert sorted(names) == sorted(self.model.joint_names), "the joints differ"
        self.order = np.concatenate([self._rows(name) for name in names]).astype(int)  # v_pin = v[order]
        self.joints = names

    def _rows(self, name: str) -> np.ndarray:
        rows = np.arange(self.model.nv)[self.model.v_slice(name)]
        return np.roll(rows, 3) if len(rows) == 6 else rows  # free: theirs is linear first

    def to_theirs(self, q: np.ndarray) -> np.ndarray:
        parts = []
        for name, size in zip(self.joints, list(self.theirs.nqs)[1:], strict=True):
            part = q[self.model.q_slice(name)]
            if len(part) == 7:
                part = np.concatenate([part[:3], part[4:], part[3:4]])  # quaternion: theirs is scalar last
            elif len(part) == 1 and size == 2:
                part = np.array([np.cos(part[0]), np.sin(part[0])])
            parts.append(part)
        return np.concatenate(parts)

    def differences(self, q: np.ndarray) -> dict[str, float]:
        """Largest differences at q, relative to the largest entry."""
        pin, theirs, data, model, order = self.pin, self.theirs, self.data, self.model, self.order
        q_pin = self.to_theirs(q)
        M = pin.crba(theirs, data, q_pin)
        M = np.triu(M) + np.triu(M, 1).T
        gravity = pin.computeGeneralizedGravity(theirs, data, q_pin)
        zero = np.zeros(model.nv)
        pin.framesForwardKinematics(theirs, data, q_pin)
        work = model.make_work()
        world(model.tree, work, model.coordinates(q))
        frames = 0.0
        for k, frame in enumerate(theirs.frames):
            name = "world_link" if frame.name == "world" and "world_link" in model.frames else frame.name
            if frame.type == pin.FrameType.BODY and name in model.frames:
                row, local = model.frames[name]
                R, p = work.world[row, :9].reshape(3, 3), work.world[row, 9:]
                placed = data.oMf[k]
                frames = max(frames, np.abs(R @ local.R - placed.rotation).max(), np.abs(R @ local.p + p - placed.translation).max())
        mass = pin.computeTotalMass(theirs)
        return {
            "mass matrix": np.abs(la.dynamics.mass_matrix(model, q)[np.ix_(order, order)] - M).max() / np.abs(M).max(),
            "gravity": np.abs(la.dynamics.inverse(model, q, zero, zero)[order] - gravity).max() / max(np.abs(gravity).max(), 1e-9 * mass),
            "frames": frames,
            "total mass": abs(float(model.tree.body[1:, MASS].sum()) - mass) / mass,
        }

    def frames_missing(self) -> list[str]:
        """Links of theirs that ours does not know by name."""
        known = set(self.model.frames)
        bodies = [f.name for f in self.theirs.frames if f.type == self.pin.FrameType.BODY]
        return [name for name in bodies if name not in known]


def random_configuration(model: la.Model, rng: np.random.Generator) -> np.ndarray:
    """Any coordinates; within the limits for joints that have them."""
    q = np.concatenate([body.joint.sample_coordinates(rng) for body in model.bodies])
    for limit in model.limits:
        if np.isfinite(limit.lower) and np.isfinite(limit.upper):
            q[model.q_slice(limit.joint)] = rng.uniform(limit.lower, limit.upper)
    return q


def compare(robot: Robot, configurations: int = CONFIGURATIONS) -> dict[str, float]:
    """Largest differences from Pinocchio at random configurations."""
    comparison = Comparison(robot)
    assert not comparison.frames_missing(), comparison.frames_missing()
    rng = np.random.default_rng(0)
    worst: dict[str, float] = {}
    for _ in range(configurations):
        for what, value in comparison.differences(random_configuration(robot.model, rng)).items():
            worst[what] = max(worst.get(what, 0.0), float(value))
    return worst


# ---------------------------------------------------------------------------------------------------- falling


def passive(robot: Robot, step: float = STEP, integrator: la.Integrator | None = None, seconds: float = SECONDS) -> dict[str, float]:
    """Let it fall from rest: largest energy error relative to the largest kinetic energy."""
    model = robot.model
    q = random_configuration(model, np.random.default_rng(1))
    if model.closures:
        q = model.assemble(q)
    run = la.simulate(model, dt=step, duration=seconds, q=q, integrator=integrator, limits="ignore", progress=False)
    return {"error": float(np.abs(run.energy - run.energy[0]).max() / run.kinetic.max()), "evaluations": float(run.iterations.mean())}


def falls(robot: Robot) -> dict[str, float]:
    fourth = la.Composition(la.Variational(), order=4)
    second, half = passive(robot), passive(robot, STEP / 2)
    return {
        "order 2": second["error"], "gain": second["error"] / max(half["error"], 1e-300), "order 4": passive(robot, STEP, fourth)["error"],
        "evaluations": second["evaluations"],
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------------- the page


def measure(quick: bool = False, show=lambda text: print(text, file=sys.stderr, flush=True)) -> list[Robot]:
    robots = []
    for file in files()[:: 8 if quick else 1]:
        for floating in (False, True):
            robot = read(file, floating)
            robots.append(robot)
            if robot.model is not None:
                robot.measured = compare(robot, 2 if quick else CONFIGURATIONS)
                undamped = read(file, floating, also=("damping",))
                try:
                    robot.measured |= falls(undamped)
                except la.LeastActionError as error:
                    robot.refused = str(error)
            show(f"{short(file)} {'floating' if floating else 'fixed'}: {robot.refused or robot.measured}")
    return robots


def page(quick: bool, passes: int) -> str:
    robots = measure(quick)
    body = [_row(robot) for robot in robots]
    refused = [f"- `{short(r.file)}`, {'floating' if r.floating else 'fixed'}: {_first_line(r.refused)}" for r in robots if r.refused]
    good = sum(not r.refused for r in robots)
    return _PAGE.format(
        count=len({r.file for r in robots}), good=good, all=len(robots), configurations=CONFIGURATIONS, step=1e3 * STEP, seconds=SECONDS,
        table=table(["robot", "base", "nv", "mass, kg", "ignore", "M", "gravity", "frames", "order 2", "h / 2", "order 4"], body),
        refused="\n".join(refused) or "None.",
    )  # fmt: skip


def _first_line(text: str) -> str:
    return text.splitlines()[0]


def _row(robot: Robot) -> list[str]:
    model, got = robot.model, robot.measured

    def cell(name: str, form: str = ".0e") -> str:
        return f"{got[name]:{form}}" if name in got else "refused"

    return [
        short(robot.file), "floating" if robot.floating else "fixed", str(model.nv) if model else "-",
        f"{model.tree.body[1:, MASS].sum():.4g}" if model else "-", ", ".join(robot.ignored) or "-",
        cell("mass matrix"), cell("gravity"), cell("frames"), cell("order 2"), cell("gain", ".2f"), cell("order 4"),
    ]  # fmt: skip


_PAGE = """# Robots

Written by `python -m benchmarks robots` (`make robots`). Every URDF file of PyPI's `example-robot-data` ({count} files), with a fixed
and a floating base, is read ([how](urdf.md)) and compared with Pinocchio, which reads the same file: joints by name, total mass, mass
matrix, gravity torque and the pose of every link at {configurations} random configurations. Then it falls from rest for {seconds:g} s in
steps of {step:g} ms, damping off, limits ignored. {good} of {all} are read and simulated; the others are refused by name, below.

- *ignore*: what had to be named because it is not simulated
- *M*, *gravity*, *frames*: largest difference from Pinocchio, relative (frames: m and 1)
- *order 2*, *order 4*: largest energy error beside the largest kinetic energy, of `la.Variational()` and its `la.Composition` of order 4;
  *h / 2*: by what factor the error of order 2 falls when the step is halved

{table}

## Refused

{refused}
"""
