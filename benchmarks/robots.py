"""Robot files of PyPI's example-robot-data: read or refused by name, compared with Pinocchio, and let go.

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
from leastaction.dynamics import explain_singular
from leastaction.kernels.tree.evaluate import world
from leastaction.kernels.tree.layout import MASS

from .report import table

NOT_SIMULATED = ("friction", "dynamics", "gazebo", "meshes", "mimic")  # what may be left out, if it stands in the way
CONFIGURATIONS = 20
TOLERANCE = 1e-9
SECONDS, STEP = 1.0, 1e-3
RANDOM_STARTS = (1, 2)  # seeds
FOURTH = la.Composition(la.Variational(), order=4)
ROUND_OFF = 1e-12  # energy errors below this say nothing about the order
LIMITS = {"order 2": 3e-3, "order 4": 1e-5}  # on energy errors


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
    elsewhere: list[str] = field(default_factory=list)  #: what became of runs from random positions


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
    """Any coordinates; within the limits of joints that have them, and within a turn."""
    q = np.concatenate([body.joint.sample_coordinates(rng) for body in model.bodies])
    for limit in model.limits:
        q[model.q_slice(limit.joint)] = rng.uniform(max(limit.lower, -np.pi), min(limit.upper, np.pi))
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


# ---------------------------------------------------------------------------------------------------- flying


def start(robot: Robot, seed: int | None, thrown: bool) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates: the zero position, or nearest to it within the limits; with a seed a random position.  Velocities: zero, or random."""
    model, rng = robot.model, np.random.default_rng(1 if seed is None else seed)
    q = model.neutral()
    for limit in model.limits:
        q[model.q_slice(limit.joint)] = np.clip(q[model.q_slice(limit.joint)], limit.lower, limit.upper)
    if seed is not None:
        q = random_configuration(model, rng)
    v = rng.normal(size=model.nv) if thrown else np.zeros(model.nv)
    if model.closures:
        q = model.assemble(q)
        v = model.project_velocity(q, v)
    return q, v


def passive(
    robot: Robot, step: float = STEP, integrator: la.Integrator | None = None, seed: int | None = None, thrown: bool = False
) -> float:
    """Let go: largest energy error relative to the largest kinetic energy.  What floats would only fall, so it is thrown in any case."""
    q, v = start(robot, seed, thrown or robot.floating)
    run = la.simulate(robot.model, dt=step, duration=SECONDS, q=q, v=v, integrator=integrator, limits="ignore", progress=False)
    return float(np.abs(run.energy - run.energy[0]).max() / max(run.kinetic.max(), 1e-300))  # some do not move: gravity does not reach them


def flies(robot: Robot) -> dict[str, float]:
    """Energy errors of order 2, by what halving the step divides them, and of order 4, which knows no couplings: without them."""
    uncoupled = read(robot.file, robot.floating, also=("damping", "friction", "mimic")) if robot.model.closures else robot
    second, half, fourth = passive(robot), passive(robot, STEP / 2), passive(uncoupled, STEP, FOURTH)
    got = {"order 2": second, "gain": second / half if half > ROUND_OFF else np.nan, "order 4": fourth}
    if not _is_four(got["gain"]) and half > ROUND_OFF:
        got["later gain"] = passive(robot, STEP / 4) / passive(robot, STEP / 8)
    return got


def elsewhere(robot: Robot) -> list[str]:
    """What went wrong from random positions, and where; one entry for each start, empty if all is as wanted."""
    outcomes = []
    for seed, thrown in [(seed, thrown) for seed in RANDOM_STARTS for thrown in ((True,) if robot.floating else (False, True))]:
        how = "thrown" if thrown else "at rest"
        try:
            second, fourth = passive(robot, STEP, None, seed, thrown), passive(robot, STEP, FOURTH, seed, thrown)
        except la.ConvergenceError as error:
            outcomes.append(f"{how}, a step at {error.time:g} s is not solved")
            continue
        good = second < LIMITS["order 2"] and fourth < LIMITS["order 4"]
        outcomes.append("" if good else f"{how}, {second:.0e} and {fourth:.0e}")
    return outcomes


def _is_four(gain: float) -> bool:
    return 3.5 < gain < 4.5


# ---------------------------------------------------------------------------------------------------- the page


def measure(quick: bool = False, show=lambda text: print(text, file=sys.stderr, flush=True)) -> list[Robot]:
    robots = []
    for file in files()[:: 8 if quick else 1]:
        for floating in (False, True):
            robot = read(file, floating)
            robots.append(robot)
            if robot.model is not None:
                robot.measured = compare(robot, 2 if quick else CONFIGURATIONS)
                robot.refused = explain_singular(robot.model, robot.model.neutral())
                if not robot.refused:
                    robot.measured |= flies(read(file, floating, also=("damping", "friction")))
                    robot.elsewhere = [] if quick else elsewhere(read(file, floating, also=("damping", "friction", "mimic")))
            show(f"{short(file)} {'floating' if floating else 'fixed'}: {robot.refused or robot.measured}")
    return robots


def page(quick: bool, passes: int) -> str:
    return render(measure(quick))


def render(robots: list[Robot]) -> str:
    body = [_row(robot) for robot in robots]
    refused = [f"- {_name(r)}: {r.refused.splitlines()[0]}" for r in robots if r.refused]
    flown = [r.measured for r in robots if not r.refused]
    gains = [m["gain"] for m in flown if np.isfinite(m["gain"])]
    return _PAGE.format(
        difference=max(r.measured[w] for r in robots for w in ("mass matrix", "gravity", "frames", "total mass") if r.measured),
        second=max(m["order 2"] for m in flown), fourth=max(m["order 4"] for m in flown),
        limit2=LIMITS["order 2"], limit4=LIMITS["order 4"],
        fours=sum(map(_is_four, gains)), gains=len(gains), later=_later(robots),
        starts=len(RANDOM_STARTS), random=sum(len(r.elsewhere) for r in robots), fine=sum(r.elsewhere.count("") for r in robots),
        elsewhere="\n".join(f"- {_name(r)}: {what}" for r in robots for what in r.elsewhere if what) or "None.",
        count=len({r.file for r in robots}), good=len(flown), all=len(robots),
        configurations=CONFIGURATIONS, step=1e3 * STEP, seconds=SECONDS,
        table=table(["robot", "base", "nv", "mass, kg", "ignore", "M", "gravity", "frames", "order 2", "h / 2", "order 4"], body),
        refused="\n".join(refused) or "None.",
    )  # fmt: skip


def _later(robots: list[Robot]) -> str:
    """Where halving the step once does not show the order, it does so with shorter steps, or not: both factors."""
    named = []
    for r in (r for r in robots if "later gain" in r.measured):
        named.append(f"{_name(r)} {r.measured['gain']:.1f}, and {r.measured['later gain']:.1f} from h / 4 to h / 8")
    return f"; the others: {'; '.join(named)}" if named else ""


def _name(robot: Robot) -> str:
    return f"`{short(robot.file)}` ({'floating' if robot.floating else 'fixed'})"


def _row(robot: Robot) -> list[str]:
    model, got = robot.model, robot.measured

    def cell(name: str, form: str = ".0e") -> str:
        return "-" if name not in got or np.isnan(got[name]) else f"{got[name]:{form}}"

    return [
        short(robot.file), "floating" if robot.floating else "fixed", str(model.nv) if model else "-",
        f"{model.tree.body[1:, MASS].sum():.4g}" if model else "-", ", ".join(robot.ignored) or "-",
        cell("mass matrix"), cell("gravity"), cell("frames"), cell("order 2"), cell("gain", ".2f"), cell("order 4"),
    ]  # fmt: skip


_PAGE = """# Robots

Written by `python -m benchmarks robots` (`make robots`). Every URDF file of PyPI's `example-robot-data` ({count} files), with a fixed
and a floating base, is read ([how](urdf.md)) and compared with Pinocchio, which reads the same file: joints by name, total mass, mass
matrix, gravity torque and the pose of every link at {configurations} random configurations. Then it is let go for
{seconds:g} s in steps of {step:g} ms, damping and dry friction off, limits ignored: with a fixed base at rest in its zero position (or
nearest to it within its limits), with a floating one thrown, with random velocities of about 1 rad/s. {good} of {all} are read and
simulated, every step converged; the others are refused by name, below.

- *ignore*: what had to be named because it is not simulated
- *M*, *gravity*, *frames*: largest difference from Pinocchio, relative (frames: m and 1)
- *order 2*, *order 4*: largest energy error beside the largest kinetic energy, of `la.Variational()` and its `la.Composition` of order 4,
  which is measured without couplings (`ignore=["mimic"]`); *h / 2*: by what factor the error of
  order 2 falls when the step is halved

In numbers: the largest difference in total mass, mass matrix, gravity and frames is {difference:.0e}. The energy error of order 2 is at
most {second:.1e} (wanted: {limit2:g}), of order 4 {fourth:.1e} (wanted: {limit4:g}). Halving the step divides the error of order 2 by
3.5 to 4.5 in {fours} of {gains} cases{later}.

Started in {starts} random positions each instead, at rest and thrown, couplings left out, {fine} of {random} runs keep to the same bounds.
The others, with the energy errors of both orders:

{elsewhere}

{table}

## Refused

{refused}
"""
