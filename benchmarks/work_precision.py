"""Error against CPU time: every integrator of the package, and other simulators, on five mechanisms.

The error is the largest difference of an entry of a body's pose (rotation matrix, position in m) from the truth at the end of the motion.
The truth is a composition of order 6 with far shorter steps; how far it can be trusted says `Curves.floor`, its distance from the same with
half as many.  Times are CPU seconds of the whole motion, the least of several, taken in turns; the start of a run from Python is part
of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import leastaction as la
from leastaction.errors import LeastActionError

from .cases import humanoid
from .peers.base import Array, Mover, Peer, links_of
from .timing import clock

TOLERANCE = 1e-11  # of all steps that are solved: far below the errors of the methods
TRUTH_STEPS = 12_000
MOST_CERTIFIED = 5  # degrees of freedom up to which CertifiedStep takes part
USELESS = 1.0  # an error beyond which a run says nothing


@dataclass(frozen=True)
class Point:
    """One run."""

    steps: int
    seconds: float  #: of the processor
    error: float


@dataclass
class Curves:
    """What one mechanism gave."""

    points: dict[str, list[Point]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  #: method -> why it has no point
    floor: float = 0.0  #: how well the truth is known


@dataclass(frozen=True)
class Motion:
    """A mechanism, where it starts, and how long it moves."""

    name: str
    mechanism: la.Mechanism
    state: la.State
    seconds: float
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Method:
    """A line of the diagrams."""

    name: str
    kind: str  #: "variational", "explicit" or "peer"
    integrator: Callable[[], la.Integrator]
    order: int


def methods() -> list[Method]:
    """Every integrator of the package."""
    base = {"tol": TOLERANCE}
    return [
        Method("Variational", "variational", lambda: la.Variational(**base), 2),
        Method("Variational, cayley", "variational", lambda: la.Variational(retraction="cayley", **base), 2),
        Method("Maximal", "variational", lambda: la.Maximal(**base), 2),
        Method("Midpoint", "variational", lambda: la.Midpoint(**base), 2),
        Method("Trapezoid", "variational", lambda: la.Trapezoid(**base), 2),
        Method("FloatingBase", "variational", lambda: la.FloatingBase(**base), 2),
        Method("Composition, order 4", "higher order", lambda: la.Composition(la.Variational(**base), order=4), 4),
        Method("Composition, order 6", "higher order", lambda: la.Composition(la.Variational(**base), order=6), 6),
        Method("AdaptiveStep", "higher order", lambda: la.AdaptiveStep(la.Variational(**base)), 2),
        Method("CertifiedStep", "higher order", lambda: la.CertifiedStep(la.Trapezoid(**base)), 2),
        Method("SemiImplicitEuler", "explicit", la.SemiImplicitEuler, 1),
        Method("Heun", "explicit", la.Heun, 2),
        Method("RK4", "explicit", la.RK4, 4),
        Method("RKMK4", "explicit", la.RKMK4, 4),
    ]


def peers() -> tuple[dict[str, tuple[Callable[[la.Mechanism, float], Mover], Peer]], dict[str, str]]:
    """({name: (build, peer)}, {name: why it is not here}): MuJoCo with three integrators, Pinocchio with Runge-Kutta around it, DART."""
    found: dict[str, tuple[Callable[[la.Mechanism, float], Mover], Peer]] = {}
    missing = {}
    for names, file in ((MUJOCO, "mujoco_"), (("Pinocchio + RK4",), "pinocchio"), (("DART",), "dart_")):
        try:
            module = importlib.import_module(f"benchmarks.peers.{file}")
        except ImportError as error:
            missing |= dict.fromkeys(names, f"{error}: pip install leastaction[bench]")
            continue
        peer = module.PEERS[0]
        for name in names:
            if file == "mujoco_":
                found[name] = (partial(_mujoco, name.removeprefix("MuJoCo ")), peer)
            else:
                found[name] = (module.Rk4 if file == "pinocchio" else peer.build, peer)
    return found, missing


def _mujoco(integrator: str, mechanism: la.Mechanism, dt: float) -> Mover:
    from .peers.mujoco_ import Step

    return Step(mechanism, dt, integrator)


MUJOCO = ("MuJoCo Euler", "MuJoCo RK4", "MuJoCo implicitfast")
PEER_ORDERS = {"MuJoCo Euler": 1, "MuJoCo RK4": 4, "MuJoCo implicitfast": 1, "Pinocchio + RK4": 4, "DART": 1}


def motions(quick: bool) -> list[Motion]:
    """Five mechanisms: a tree of two, one of ten, balls, a floating one, a loop."""
    two, ten, balls, loop = la.examples.chain(2), la.examples.chain(10), la.examples.ball_chain(3), la.examples.four_bar()
    steps = (100, 400, 1600) if quick else (100, 200, 400, 800, 1600, 3200)
    ball_model, loop_model, falling = balls.compile(), loop.compile(), humanoid()
    tilted = (np.cos(np.pi / 8), 0.0, np.sin(np.pi / 8), 0.0)
    start = loop_model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    return [
        Motion("double pendulum, 2 s", two, two.compile().state({"link1": 2.0, "link2": 1.0}), 2.0, steps),
        Motion("chain of 10, 2 s", ten, ten.compile().state({"link1": np.pi / 4}), 2.0, steps),
        Motion("3 rods on ball joints, 2 s", balls, ball_model.state({"link1": tilted}, {"link1": (0.2, 0.0, 2.0)}), 2.0, steps),
        Motion("floating humanoid, 0.5 s", falling.mechanism, falling.model.state(falling.q, falling.v), 0.5, steps),
        Motion("four-bar loop, 3 s", loop, loop_model.state(start), 3.0, steps),
    ]


def measure(motion: Motion, quick: bool, only: Iterable[str] | None = None) -> Curves:
    """Points of all methods; `only` some of their names."""
    truth = Truth(motion, TRUTH_STEPS // 4 if quick else TRUTH_STEPS)
    curves = Curves(floor=truth.doubt())
    runners: dict[str, Callable[[int], tuple[float, float]]] = {}
    for method in methods():
        if method.name == "CertifiedStep" and motion.state.model.nv > MOST_CERTIFIED:
            curves.refused[method.name] = f"steps that can be certified are too short for more than {MOST_CERTIFIED} degrees of freedom"
            continue
        runners[method.name] = lambda steps, m=method: _ours(motion, truth, m, steps)
    found, missing = peers()
    curves.refused |= missing
    for name, (build, peer) in found.items():
        reason = peer.supports(motion.mechanism)
        if reason:
            curves.refused[name] = reason
        else:
            runners[name] = lambda steps, build=build: _theirs(motion, truth, build, steps)
    if only is not None:
        runners = {name: run for name, run in runners.items() if name in set(only)}
    for name, run in runners.items():  # what is compiled or loaded does not count
        try:
            run(motion.steps[0])
        except la.ConvergenceError:
            continue
        except LeastActionError as reason:
            curves.refused[name] = str(reason)
    for steps in motion.steps:
        best: dict[str, tuple[float, float]] = {}
        for _ in range(1 if quick else 3):
            for name in [name for name in runners if name not in curves.refused]:
                try:
                    seconds, error = runners[name](steps)
                except la.ConvergenceError:
                    continue  # too long a step: this one has no point
                if error < USELESS:
                    best[name] = (min(seconds, best.get(name, (np.inf,))[0]), error)
        for name, (seconds, error) in best.items():
            curves.points.setdefault(name, []).append(Point(steps, seconds, error))
    for name in runners:
        if name not in curves.points:
            curves.refused.setdefault(name, f"no run came closer than {USELESS:g}")
    return curves


class Truth:
    """Where the motion really goes."""

    def __init__(self, motion: Motion, steps: int):
        self.motion, self.names = motion, [link.name for link in links_of(motion.mechanism)]
        self.integrator = la.Composition(la.Variational(tol=1e-13), order=6)
        dt, how = motion.seconds / steps, {"integrator": self.integrator, "record_every": 10, "progress": False}
        self.run = la.simulate(motion.state.model, motion.state, dt=dt, steps=steps, **how)
        self.steps = steps

    def poses(self, t: float) -> Array:
        """At any time up to a little beyond the end: one more step from the last node before."""
        node = min(int(np.searchsorted(self.run.t, t + 1e-12 * t, side="right")) - 1, len(self.run) - 1)
        ahead = t - self.run.t[node]
        if ahead <= 1e-9 * t:
            return self.place(self.run.q[node])
        state, model = self.run.state(node), self.run.model
        parts = max(1, int(np.ceil(ahead / self.run.dt)))
        further = la.simulate(model, state, dt=ahead / parts, steps=parts, integrator=self.integrator, progress=False)
        return self.place(further.q[-1])

    def place(self, q: Array) -> Array:
        """(links, 3, 4) poses at q."""
        poses = [la.dynamics.pose(self.run.model, q, name) for name in self.names]
        return np.array([np.column_stack([pose.R, pose.p]) for pose in poses])

    def error(self, poses: Array, t: float) -> float:
        return float(np.abs(poses - self.poses(t)).max())

    def doubt(self) -> float:
        """Distance from the motion with half as many steps."""
        m, steps = self.motion, self.steps // 2
        run = la.simulate(
            m.state.model, m.state, dt=m.seconds / steps, steps=steps, integrator=self.integrator, record_every=steps, progress=False
        )
        return self.error(self.place(run.q[-1]), m.seconds)


def _ours(motion: Motion, truth: Truth, method: Method, steps: int) -> tuple[float, float]:
    """(CPU seconds, error) of one run."""
    integrator, dt = method.integrator(), motion.seconds / steps
    length = {"steps": steps, "record_every": steps} if integrator.uniform else {"duration": motion.seconds}
    began = clock()
    run = la.simulate(motion.state.model, motion.state, dt=dt, integrator=integrator, progress=False, **length)
    seconds = clock() - began
    return seconds, truth.error(truth.place(run.q[-1]), motion.seconds if integrator.uniform else float(run.t[-1]))


def _theirs(motion: Motion, truth: Truth, build: Callable[[la.Mechanism, float], Mover], steps: int) -> tuple[float, float]:
    mover = build(motion.mechanism, motion.seconds / steps)
    mover.set_state(motion.state.q, motion.state.v)
    seconds = mover.timed(steps) * steps
    return seconds, truth.error(mover.poses(), motion.seconds)


def seconds_for(points: list[Point], error: float) -> float:
    """CPU seconds to come so close, between points of the curve (straight in logarithms).

    Those of the run with the fewest steps if it is closer already; NaN if no run is.
    """
    ordered = sorted(points, key=lambda p: p.steps)
    if ordered and ordered[0].error <= error:
        return ordered[0].seconds
    for before, after in zip(ordered, ordered[1:], strict=False):
        if before.error >= error >= after.error and before.error > after.error:
            share = np.log(before.error / error) / np.log(before.error / after.error)
            return float(np.exp((1 - share) * np.log(before.seconds) + share * np.log(after.seconds)))
    return float("nan")


def fitted_order(points: list[Point], floor: float) -> float:
    """Exponent of the error in the step, of points neither near the truth's own doubt nor in the wild; NaN if too few are left."""
    kept = [p for p in points if 1e3 * max(floor, TOLERANCE) < p.error < 0.05]
    if len(kept) < 2:
        return float("nan")
    last = sorted(kept, key=lambda p: p.steps)[-3:]
    return float(-np.polyfit(np.log([p.steps for p in last]), np.log([p.error for p in last]), 1)[0])
