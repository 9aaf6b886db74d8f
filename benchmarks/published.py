"""Published problems side by side: error and time of leastaction, MuJoCo and Exudyn in one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np

import leastaction as la
from leastaction.reference import published

from .loops import FOUR_BAR_START, SWING
from .peers.whole_runs import Array, Outcome, Start, Unable, exudyn, mujoco, ours
from .report import machine, number, table, versions
from .timing import pin_to_one_core


@dataclass
class Problem:
    title: str
    start: Callable[[], Start]
    dt: float
    duration: float
    exact: Callable[[Array], Array] | None = None  #: t -> (T, 3), m; None: judged by the energy
    remark: str = ""


def crank(name: str, radius: float, plane: tuple[int, int]) -> Callable[[], Start]:
    """A slider-crank, its crank pin watched at `radius`."""

    def start() -> Start:
        mech = getattr(la.examples, f"{name}_slider_crank")()
        model = mech.compile()
        if name == "folding":
            q, v = model.coordinates(la.examples.FOLDING_START), model.velocities(la.examples.FOLDING_SPEED)
        else:
            speed = {"planar": 150.0, "spatial": 6.0}[name]
            q, v = model.neutral(), model.project_velocity(None, {"crank": speed})
            v = v * speed / v[model.v_slice("crank")]
        point = np.zeros(3)
        point[plane[0]] = radius
        return Start(mech, q, v, "crank", tuple(point.tolist()))

    return start


def circle(
    name: str, duration: float, radius: float, plane: tuple[int, int], centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
) -> Callable[[Array], Array]:
    """Where that pin is."""

    def at(t: Array) -> Array:
        angle = published.slider_crank(name, duration)(t)[0]
        out = np.tile(np.array(centre), (len(t), 1))
        out[:, plane[0]] += radius * np.cos(angle)
        out[:, plane[1]] += (-1 if name == "spatial" else 1) * radius * np.sin(angle)
        return out

    return at


def governor() -> Start:
    mech = la.examples.flyball_governor()
    model = mech.compile()
    return Start(mech, model.neutral(), model.velocities({"shaft": la.examples.GOVERNOR_SPEED}), "slider", (0.0, 0.0, 0.0))


def governor_exact(t: Array) -> Array:
    height = published.governor(float(t[-1]))(t)[1]
    return np.column_stack([0.0 * t, 0.0 * t, height])


def four_bar() -> Start:
    mech = la.examples.four_bar()
    model = mech.compile()
    return Start(mech, model.assemble(FOUR_BAR_START), np.zeros(3), "rod1", (0.0, 0.0, -1.0))


REMARK_ON_GOVERNOR = """\
On the governor order 4 is no better than order 2, and order 6 leaves the motion, which the run says in `run.warnings` (with
`strict=True` it ends there): it is stiff and damped, and some stages of these orders go back in time, where dampers drive.
"""

PROBLEMS = (
    Problem("Four-bar linkage, 60 s at 10 ms", four_bar, 1e-2, 60.0),
    Problem("Flyball governor (IFToMM A05), 1 s at 1 ms", governor, 1e-3, 1.0, governor_exact, REMARK_ON_GOVERNOR),
    Problem("Planar slider-crank, 0.1 s at 0.1 ms", crank("planar", 0.15, (0, 1)), 1e-4, 0.1, circle("planar", 0.1, 0.15, (0, 1))),
    Problem(
        "Spatial slider-crank (IFToMM), 5 s at 1 ms", crank("spatial", 0.08, (2, 1)), 1e-3, 5.0,
        circle("spatial", 5.0, 0.08, (2, 1), (0.0, 0.1, 0.12)),
    ),
    Problem(
        "Folding slider-crank (singular twice per turn), 5 s at 1 ms", crank("folding", 1.0, (0, 1)), 1e-3, 5.0,
        circle("folding", 5.0, 1.0, (0, 1)),
    ),
)  # fmt: skip

PROGRAMS: dict[str, Callable[[Start, float, float], Outcome]] = {
    "leastaction, order 2": lambda s, dt, end: ours(s, dt, end, la.Variational()),
    "leastaction, order 2, midpoint": lambda s, dt, end: ours(s, dt, end, la.Variational(quadrature="midpoint")),
    "leastaction, order 4": lambda s, dt, end: ours(s, dt, end, la.Composition(la.Variational(tol=1e-13), order=4)),
    "leastaction, order 6": lambda s, dt, end: ours(s, dt, end, la.Composition(la.Variational(tol=1e-13), order=6)),
    "MuJoCo Euler": lambda s, dt, end: mujoco(s, dt, end, "Euler"),
    "MuJoCo implicitfast": lambda s, dt, end: mujoco(s, dt, end, "implicitfast"),
    "MuJoCo RK4": lambda s, dt, end: mujoco(s, dt, end, "RK4"),
    "Exudyn, generalised alpha": lambda s, dt, end: exudyn(s, dt, end, "GeneralizedAlpha"),
    "Exudyn, trapezoidal index 2": lambda s, dt, end: exudyn(s, dt, end, "TrapezoidalIndex2"),
}


def rows_of(problem: Problem) -> list[list[str]]:
    start, rows = problem.start(), []
    for name, program in PROGRAMS.items():
        try:
            found = program(start, problem.dt, problem.duration)
        except (Unable, la.LeastActionError) as error:
            rows.append([name, "-", "-", "-", str(error).split(";")[0][:90]])
            continue
        energy = "" if found.energy is None else f"{np.ptp(found.energy) / SWING:.1e}"
        off = "" if problem.exact is None else f"{np.linalg.norm(found.watched - problem.exact(found.t), axis=1).max():.1e}"
        closure = "" if found.closure is None else f"{found.closure:.1e}"
        rows.append([name, number(found.seconds * 1e6), off or energy, closure, f"says: {found.says}" if found.says else ""])
    return rows


def page(quick: bool, passes: int) -> str:
    pin_to_one_core()
    text = [
        "# Published problems beside other programs",
        "",
        "Written by `python -m benchmarks published`: everything in one run, on one core; times are CPU times of whole runs, the best",
        "of three.  Error: the largest distance, m, of a point from where the motion in one or two coordinates",
        "(`leastaction.reference.published`) has it; for the four-bar the range of the energy as a fraction of its swing.  Closure:",
        "largest error of a loop, m.  MuJoCo's loops are soft, with its default parameters.  Exudyn: bodies with Euler parameters and",
        "joints as constraints, its modified Newton.  Orders 4 and 6 are solved to `tol=1e-13`.",
        "",
        f"- Machine: {machine()}",
        f"- Versions: {versions([])}{''.join(f', {name} {version(name)}' for name in ('mujoco', 'exudyn') if find_spec(name))}",
        "",
    ]
    for problem in PROBLEMS[:2] if quick else PROBLEMS:
        header = ["", "us per step", "error" if problem.exact else "energy", "closure", "note"]
        text += [f"## {problem.title}", "", table(header, rows_of(problem)), "", *([problem.remark] if problem.remark else [])]
    where = "The errors of the slider-cranks are those of the crank pin, that of the governor of its slider"
    return "\n".join(text) + f"\n{where} ([published problems](published.md)).\n"
