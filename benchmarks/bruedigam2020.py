"""The comparisons of Bruedigam and Manchester (2020) in one run of one process on one core.  Written to docs/bruedigam2020.md.

Cost against joint coordinates; open and closed chains (Fig. 5); chains of four-bars (Fig. 6); tolerances (Fig. 8); sparse against dense
(Fig. 4c); convergence (Fig. 4d); energy (Fig. 4a) and drift (Fig. 4b) over long runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

import leastaction as la
from leastaction.assembly.equations import Closing
from leastaction.coordinates.network import build
from leastaction.kernels.maximal import evaluate as kernels
from leastaction.reference.constrained import AccelerationConstraints
from leastaction.yardsticks import Lee2016

from .report import machine, table
from .timing import clock, pin_to_one_core

FOUR_BAR = (0.7853981633974483, -2.0680828567810465, -1.3045921837029306)
DENSE_UP_TO = 20  # segments: beyond it the dense last block takes minutes


@dataclass
class Case:
    """A motion to be timed with one integrator."""

    model: la.Model
    q: np.ndarray
    dt: float
    steps: int
    integrator: la.Integrator
    assembly: str = "stop"  #: what to do at singular positions, as in la.simulate
    seconds: float = np.inf  #: best time per step
    evaluations: float = 0.0
    failure: str = ""
    stepped_over: bool = False  #: was there a singular position from which the motion was continued on its branch?

    def run(self) -> None:
        simulator = la.Simulator(self.model, q=self.q, dt=self.dt, integrator=self.integrator, assembly=self.assembly)
        began = clock()
        try:
            made = simulator.run(self.steps, record_every=self.steps)
        except la.ConvergenceError as error:
            self.failure = f"fails at step {error.step}"
            return
        self.seconds = min(self.seconds, (clock() - began) / self.steps)
        self.evaluations = float(made.iterations.mean())
        self.stepped_over = any("stepped over" in warning for warning in made.warnings)

    @property
    def text(self) -> str:
        return self.failure or f"{1e6 * self.seconds:.3g}"


def best_of(cases: Mapping[object, Case], repeats: int) -> None:
    """Take turns, so that a slow phase of the machine hits all alike."""
    for _ in range(repeats):
        for case in cases.values():
            if not case.failure:
                case.run()


def chain(links: int, ball: bool) -> tuple[la.Model, np.ndarray]:
    """First joint at 45 degrees, at rest."""
    model = (la.examples.ball_chain if ball else la.examples.chain)(links).compile()
    first = (np.cos(np.pi / 8), 0.0, np.sin(np.pi / 8), 0.0) if ball else np.pi / 4
    return model, model.coordinates({"link1": first})


@dataclass
class Section:
    title: str
    text: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def render(self) -> str:
        return f"## {self.title}\n\n{self.text}\n\n{table(self.header, self.rows)}"


def cost(lengths=(10, 50, 100, 500), repeats: int = 5, steps: int = 20_000) -> Section:
    cases = {}
    for ball in (False, True):
        for n in lengths:
            model, q = chain(n, ball)
            for integrator in (la.Variational(), la.Maximal()):
                cases[ball, n, type(integrator).__name__] = Case(model, q, 1e-3, max(400, steps // n), integrator)
    best_of(cases, repeats)
    section = Section(
        "Cost of a step against joint coordinates",
        "Chains of rods, first joint at 45 degrees, 1 ms, tolerance 1e-10, microseconds per step.",
        ["joints", "links", "Variational", "Maximal", "ratio", "Maximal per link", "evaluations"],
    )
    for ball in (False, True):
        for n in lengths:
            a, b = cases[ball, n, "Variational"], cases[ball, n, "Maximal"]
            ratio = f"{b.seconds / a.seconds:.1f}"
            row = ["ball" if ball else "revolute", str(n), a.text, b.text, ratio, f"{1e6 * b.seconds / n:.3g}", f"{b.evaluations:.2f}"]
            section.rows.append(row)
    return section


def open_and_closed(lengths=(3, 11, 51, 101), repeats: int = 3, steps: int = 1000) -> Section:
    cases = {}
    for ball in (False, True):
        for n in lengths:
            model, q = chain(n, ball)
            cases["open", ball, n] = Case(model, q, 1e-2, steps, la.Maximal())
            for start in ("hairpin", "zigzag"):
                closed = la.examples.closed_chain(n, ball, hairpin=start == "hairpin").compile()
                cases[start, ball, n] = Case(closed, closed.neutral(), 1e-2, steps, la.Maximal())
    best_of(cases, repeats)
    section = Section(
        "Open and closed chains (Fig. 5)",
        f"{steps} steps of 10 ms, microseconds per step.  Closed chains from two starts.  *Hairpin*, where the authors' published program "
        "starts: supports 1 m apart, half of the links in a row at 45 degrees, one across, the others back.  *Zigzag*, ours: supports "
        "sqrt(n) m apart; it falls and swings, which is far wilder, and long chains of it need shorter steps.",
        ["links", *(f"{joint} {kind}" for joint in ("revolute", "ball") for kind in ("open", "hairpin", "zigzag"))],
    )
    for n in lengths:
        section.rows.append([str(n), *(cases[kind, ball, n].text for ball in (False, True) for kind in ("open", "hairpin", "zigzag"))])
    return section


#: starts of chains of four-bars, as arguments of la.examples.four_bar_chain for n segments
FOUR_BAR_STARTS: dict[str, Callable[[int], dict[str, float]]] = {
    "rods of 2 m, hanging": lambda n: {"length": 2.0, "opening": 0.2},
    "rods of 1 m, swinging": lambda n: {"length": 1.0, "opening": np.pi / 8, "swing": np.pi / 4},
    "rods of 0.1 m per segment, swinging": lambda n: {"length": 0.1 * n, "opening": np.pi / 8, "swing": np.pi / 4},
}


def four_bars(segments=(1, 2, 5, 10, 20, 50), repeats: int = 2, duration: float = 10.0) -> Section:
    section = Section(
        "Chains of four-bars through their singular positions (Fig. 6)",
        f"{duration:g} s at 10 ms from rest; tolerance 1e-10.  Microseconds per step, evaluations per step, and the same with all "
        "closures in one dense last block, as in the paper.  Hanging: rods lean by 0.2 rad.  Swinging: the start of the paper's published "
        "program, rods lean by 22.5 degrees in a row at 45 degrees, the last segment is level.  Of chains with the same rods the longer "
        "vibrate faster, for the upper rods carry all below, and steps are harder; with rods as long as the chain has segments (those of "
        "the program for 10) the fastest vibration is equally fast in all.  Steps alone: with assembly='ignore' nobody looks after "
        "singular positions (`make papers` does, and says what it takes).",
        ["start", "segments", "per step", "per segment", "per segment and evaluation", "evaluations", "largest constraint error",
         "closures last, per step"],
    )  # fmt: skip
    steps = round(duration / 1e-2)
    for start, arguments in FOUR_BAR_STARTS.items():
        cases = {}
        for n in segments:
            model = la.examples.four_bar_chain(n, **arguments(n)).compile()
            for order in ("fill-reducing", "closures-last") if n <= DENSE_UP_TO else ("fill-reducing",):
                cases[n, order] = Case(model, model.neutral(), 1e-2, steps, la.Maximal(elimination=order), "ignore")
        best_of(cases, repeats)
        for n in segments:
            case, other = cases[n, "fill-reducing"], cases.get((n, "closures-last"))
            row = [start, str(n), case.text]
            if case.failure:
                row += ["-"] * 4
            else:
                run = la.simulate(case.model, dt=1e-2, steps=steps, integrator=case.integrator, assembly="ignore")
                each = 1e6 * case.seconds / n
                row += [f"{each:.3g}", f"{each / case.evaluations:.3g}", f"{case.evaluations:.2f}", f"{run.constraint_error.max():.1e}"]
            section.rows.append([*row, other.text if other else "-"])
    return section


def tolerances(lengths=(1, 10, 50, 100), repeats: int = 2, steps: int = 1000) -> Section:
    methods: dict[str, Callable[[float], la.Integrator]] = {
        "Maximal": lambda tol: la.Maximal(tol=tol),
        "Variational": lambda tol: la.Variational(tol=tol),
        "RIQN (Lee 2016)": lambda tol: Lee2016("riqn", "ig2", tol=tol),
    }
    levels = (1e-6, 1e-8, 1e-10)
    cases = {}
    for n in lengths:
        model, q = chain(n, False)
        for name, make in methods.items():
            for tol in levels:
                cases[n, name, tol] = Case(model, q, 1e-2, steps, make(tol))
    best_of(cases, repeats)
    section = Section(
        "Tolerances (Fig. 8)",
        f"Revolute chains, {steps} steps of 10 ms, microseconds per step.",
        ["links", *(f"{name}, {tol:g}" for name in methods for tol in levels)],
    )
    for n in lengths:
        section.rows.append([str(n), *(cases[n, name, tol].text for name in methods for tol in levels)])
    return section


def sparse_and_dense(lengths=(1, 10, 20, 50, 100), repeats: int = 20) -> Section:
    section = Section(
        "Sparse against dense (Fig. 4c)",
        "One solution of the Newton equations of a revolute chain, microseconds: block elimination along the graph (with 10 us of its "
        "call from Python), and LAPACK's dense solver.",
        ["links", "unknowns", "sparse", "dense", "relative difference"],
    )
    for n in lengths:
        model, q = chain(n, False)
        network = build(model)
        closing = Closing(network)
        closing.place(q)
        flow, net = closing.flow, network.net
        flow.target[1:] = 1.0
        kernels.residual_entry(model.tree, net, flow, 1e-2, 0.0, 0)
        sparse = dense = np.inf
        right = flow.r.copy()
        wanted = right
        for _ in range(repeats):
            kernels.matrix_entry(model.tree, net, flow, 1e-2, 0)
            matrix = network.dense_matrix(flow)
            began = clock()
            kernels.solve_entry(net, flow)
            sparse = min(sparse, clock() - began)
            began = clock()
            wanted = np.linalg.solve(matrix, right)
            dense = min(dense, clock() - began)
        error = np.abs(flow.z - wanted).max() / np.abs(wanted).max()
        section.rows.append([str(n), str(len(right)), f"{1e6 * sparse:.3g}", f"{1e6 * dense:.3g}", f"{error:.1e}"])
    return section


def convergence(lengths=(1, 10, 100), dt: float = 1e-2) -> Section:
    """Exact Newton from no motion at all, for the first step."""
    section = Section(
        "Convergence (Fig. 4d)",
        "First step of a revolute chain from rest at 45 degrees, 10 ms, without motion as guess: largest correction of an unknown in every "
        "iteration of exact Newton.",
        ["links", *(f"iteration {k}" for k in range(1, 6))],
    )
    for n in lengths:
        model, q = chain(n, False)
        sim = la.Simulator(model, q=q, dt=dt, integrator=la.Maximal())
        network, flow = sim._stepper.network, sim._stepper.flow
        sizes = []
        for _ in range(5):
            kernels.residual_entry(model.tree, network.net, flow, dt, 0.0, 0)
            kernels.matrix_entry(model.tree, network.net, flow, dt, 0)
            kernels.solve_entry(network.net, flow)
            kernels.correct_entry(flow)
            sizes.append(np.abs(flow.step[: 6 * n]).max())
        section.rows.append([str(n), *(f"{x:.1e}" for x in sizes)])
    return section


def energy(duration: float = 3600.0) -> Section:
    """A double pendulum of rods."""
    section = Section(
        "Energy of a double pendulum (Fig. 4a)",
        f"Two rods, upper at 90 degrees, {duration:g} s at 10 ms; mean energy over tenths of the run minus that at the start, J.",
        ["", "first tenth", "fifth tenth", "last tenth", "largest constraint error"],
    )
    model = la.examples.chain(2).compile()
    for integrator in (la.Maximal(), la.Maximal(retraction="quaternion"), la.Heun()):
        run = la.simulate(model, q=[np.pi / 2, 0.0], dt=1e-2, duration=duration, integrator=integrator)
        tenth = len(run) // 10
        means = [run.energy[k * tenth : (k + 1) * tenth].mean() - run.energy[0] for k in (0, 4, 9)]
        name = type(integrator).__name__ + (f", {integrator.retraction}" if isinstance(integrator, la.Maximal) else "")
        section.rows.append([name, *(f"{m:+.3g}" for m in means), f"{run.constraint_error.max():.1e}"])
    return section


def drift(duration: float = 600.0, classical: float = 30.0) -> Section:
    """Three rods and the ground: how far the loop opens."""
    model = la.examples.four_bar().compile()
    q = model.assemble(FOUR_BAR)
    section = Section(
        "Drift of a three-link loop (Fig. 4b)",
        "Rods of 1, 2 and 1.5 m pinned to the ground at both ends, 10 ms: distance of the two ends of the loop, m.",
        ["", "after 1 s", "after 10 s", "at the end", "of"],
    )
    run = la.simulate(model, q=q, dt=1e-2, duration=duration, integrator=la.Maximal())
    gaps = [_gap(model, x) for x in (run.q[100], run.q[1000], run.q[-1])]
    section.rows.append(["Maximal", *(f"{g:.1e}" for g in gaps), f"{duration:g} s"])
    method = AccelerationConstraints(model, q)
    x, v, marks = q, np.zeros(model.nv), {}
    for k in range(1, round(classical / 1e-2) + 1):
        x, v = method.heun(x, v, 1e-2)
        marks[k] = x
    gaps = [_gap(model, marks[k]) for k in (100, min(1000, max(marks)), max(marks))]
    section.rows.append(["Heun with acceleration constraints", *(f"{g:.1e}" for g in gaps), f"{classical:g} s"])
    return section


def _gap(model: la.Model, q) -> float:
    tip, anchor = (la.dynamics.pose(model, q, name).p for name in ("tip", "anchor"))
    return float(np.linalg.norm(tip - anchor))


def page(quick: bool, passes: int) -> str:
    pin_to_one_core()
    measurements: list[Callable[[], Section]] = [
        lambda: cost(repeats=2 * passes), lambda: open_and_closed(repeats=passes), lambda: four_bars(repeats=passes),
        lambda: tolerances(repeats=passes), sparse_and_dense, convergence, energy, drift,
    ]  # fmt: skip
    if quick:
        measurements = [
            lambda: cost((10, 50), 1, 2000), lambda: open_and_closed((3, 11), 1, 100), lambda: four_bars((1, 2), 1, 1.0),
            lambda: tolerances((1, 10), 1, 100), lambda: sparse_and_dense((1, 10), 2), lambda: convergence((1, 10)),
            lambda: energy(10.0), lambda: drift(20.0, 10.0),
        ]  # fmt: skip
    sections = []
    for measure in measurements:
        sections.append(measure())
        print(f"measured: {sections[-1].title}", file=sys.stderr, flush=True)
    head = (
        "# Brüdigam and Manchester 2020, measured\n\n"
        "Written by `python -m benchmarks bruedigam2020`; what is compared is explained in [maximal coordinates](maximal.md).\n\n"
        f"{machine()}"
    )
    return "\n\n".join([head, *(s.render() for s in sections)]) + "\n"
