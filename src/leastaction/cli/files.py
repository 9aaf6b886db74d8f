"""What the commands that read a mechanism from a file have in common."""

from __future__ import annotations

import argparse
from pathlib import Path

import leastaction as la

from ..errors import StateError
from ..io.registry import not_simulated_of, options_of

#: names for --integrator
INTEGRATORS = {
    "variational": lambda: la.Variational(),
    "variational4": lambda: la.Composition(order=4),
    "variational6": lambda: la.Composition(order=6),
    "adaptive": lambda: la.AdaptiveStep(),
    "trapezoid": lambda: la.Trapezoid(),
    "midpoint": lambda: la.Midpoint(),
    "maximal": lambda: la.Maximal(),
    "semi-implicit-euler": lambda: la.SemiImplicitEuler(),
    "heun": lambda: la.Heun(),
    "rk4": lambda: la.RK4(),
    "rkmk4": lambda: la.RKMK4(),
}


def add_file(parser: argparse.ArgumentParser, *, json: bool = True) -> None:
    parser.add_argument("file", type=Path, help="mechanism: .urdf, .xml (MJCF), .sdf or .sexp")
    parser.add_argument("--floating", action="store_true", help="URDF, SDF: let the root link move freely")
    parser.add_argument(
        "--ignore", type=_names, default=[], metavar="NAME,...",
        help="what to leave out of a robot file, for example friction,gazebo; see docs/urdf.md, docs/mjcf.md, docs/sdf.md",
    )  # fmt: skip
    parser.add_argument("--packages", type=Path, action="append", default=[], metavar="FOLDER", help="folder that holds packages of meshes")
    if json:
        parser.add_argument("--json", action="store_true", help="print one JSON object, errors too")


def add_start(parser: argparse.ArgumentParser, *, duration: bool = True) -> None:
    parser.add_argument("--dt", type=float, default=1e-3, help="time step, s")
    if duration:
        parser.add_argument("--duration", type=float, default=1.0, help="simulated time, s")
    parser.add_argument(
        "--q", type=_assignment, action="append", default=[], metavar="JOINT=VALUE",
        help="start of a joint, rad or m (several numbers with commas); may be repeated; others start at zero",
    )  # fmt: skip
    parser.add_argument(
        "--v", type=_assignment, action="append", default=[], metavar="JOINT=VALUE", help="velocity of a joint at the start"
    )
    parser.add_argument("--limits", choices=("stop", "ignore"), default="stop", help="what happens where a joint goes beyond its limit")


def load(arguments: argparse.Namespace) -> la.Mechanism:
    """The mechanism in the file.  Options are passed on if they are given, so that formats without them say so."""
    given = {name: getattr(arguments, name) for name in ("floating", "ignore", "packages") if getattr(arguments, name)}
    return la.load(arguments.file, **given)


def leave_out_what_is_not_simulated(arguments: argparse.Namespace) -> None:
    """For a look at a file that cannot be simulated as it is."""
    if "ignore" in options_of(arguments.file):
        arguments.ignore = list(dict.fromkeys([*arguments.ignore, *not_simulated_of(arguments.file)]))


def start(model: la.Model, arguments: argparse.Namespace) -> tuple[la.State, list[str]]:
    """The state to start from, and what had to be moved for the constraints, in sentences."""
    q, v = dict(arguments.q), dict(arguments.v)
    if not model.closures:
        return model.state(q, v), []
    asked = model.coordinates(q)
    found = model.assemble(q, hold=tuple(q))
    moved = [
        f"joint {name!r} starts at {found[model.q_slice(name)].tolist()} because of the constraints"
        for name in model.joint_names if abs(found[model.q_slice(name)] - asked[model.q_slice(name)]).max() > 1e-9
    ]  # fmt: skip
    return model.state(found, model.project_velocity(found, v)), moved


def integrator(name: str) -> la.Integrator:
    return INTEGRATORS[name]()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _assignment(text: str) -> tuple[str, list[float]]:
    name, separator, values = text.rpartition("=")
    try:
        if not separator or not name:
            raise ValueError
        return name, [float(value) for value in values.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not JOINT=VALUE, for example elbow=0.5") from None


def streams(path: Path | None) -> bool:
    """Is the run written while it is made?"""
    return path is not None and path.suffix == ".h5"


def check_out(path: Path | None, resume: bool = False) -> None:
    """Before a long run, not after it."""
    if resume and not streams(path):
        raise StateError("--resume goes on with a file that is written while a run is made; give it as --out run.h5")
    if path is None:
        return
    if path.suffix not in (".h5", ".npz", ".csv"):
        raise StateError(f"--out {path}: the suffix is one of .h5, .npz, .csv")
    if not path.parent.is_dir():
        raise StateError(f"--out {path}: there is no folder {str(path.parent)!r}")
