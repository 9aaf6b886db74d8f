"""The measurements that decide the defaults of la.Variational: energy error, cost, largest step.  Written to docs/defaults.md."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

import leastaction as la
from leastaction.yardsticks import Lee2016

from . import cases, ours
from .peers.base import Array
from .report import machine, number, table
from .timing import Interleaved, measure_all, pin_to_one_core

CHOICES = {
    "retraction": ("exp", "cayley"),
    "quadrature": ("trapezoid", "midpoint"),
    "guess": ("extrapolate", "ig1", "ig2", "ig3"),
    "solver": ("newton", "riqn", "broyden", "dense-newton"),
}
STEPS_TRIED = tuple(1e-3 * x for x in (1, 2, 5, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500))
STABLE = 0.1  # a step is called stable if |E - E0| stays below this part of the largest kinetic energy


@dataclass(frozen=True)
class Motion:
    name: str
    model: la.Model
    q: Array
    v: Array
    seconds: float = 10.0

    def run(self, integrator: la.Variational, dt: float) -> la.Trajectory | None:
        """None if a step was not solved."""
        start = self.model.state(self.q, self.v)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # runs that blow up are part of the measurement
            try:
                return la.simulate(self.model, start, dt=dt, duration=self.seconds, integrator=integrator, progress=False)
            except la.ConvergenceError:
                return None


def motions() -> list[Motion]:
    """What errors and costs are measured on."""
    top = la.examples.heavy_top().compile()
    tilt = np.array([np.cos(0.15), 0.0, np.sin(0.15), 0.0])
    # without gravity: the kinetic energy of the fall would hide what the limbs do
    human = la.examples.humanoid()
    human.gravity = np.zeros(3)
    moving = cases.humanoid()
    chains = (cases.chain(10, False), cases.chain(10, True), cases.ball_chain(10, whirling=True))
    return [
        *(Motion(c.name, c.model, c.q, c.v) for c in chains),
        Motion("heavy top, 60 rad/s", top, tilt, np.array([0.0, 0.0, 60.0])),
        Motion("weightless humanoid", human.compile(), moving.q, moving.v),
    ]


def hard_motions() -> list[Motion]:
    """Long chains, on which large steps fail: stiff when straight, folding over themselves when curled."""
    found = [Motion(c.name, c.model, c.q, c.v, 5.0) for c in (cases.chain(100, False),)]
    for links in (20, 50):
        case = cases.chain(links, spatial=True)
        q = case.q.copy()
        q[1::2] = 0.3
        found.append(Motion(f"curled {case.name}", case.model, q, case.v, 5.0))
    return found


def integrators(*options: str) -> dict[str, la.Variational]:
    """Every combination of the values of some options, the others at their defaults, by label."""
    combinations = [dict(zip(options, values, strict=True)) for values in itertools.product(*(CHOICES[o] for o in options))]
    plain = {"solver": "newton", "guess": "extrapolate"}
    return {", ".join(c.values()): Lee2016(**{**plain, **c}) if plain.keys() & c.keys() else la.Variational(**c) for c in combinations}


@dataclass(frozen=True)
class Error:
    joules: float  #: largest |E - E0|
    evaluations: float  #: per step


@dataclass(frozen=True)
class Largest:
    """Largest steps in seconds of those tried, up to which every smaller one works too; 0 if none does."""

    solvable: float
    stable: float


@dataclass(frozen=True)
class Cost:
    seconds: float  #: per step
    evaluations: float


Rows = dict[str, dict[str, "Error | Largest | Cost | None"]]  # mechanism -> label of the integrator -> what was measured


@dataclass
class Measured:
    energy: dict[float, Rows]  #: by step
    largest: Rows
    cost: Rows
    guess_cost: dict[float, Rows]  #: by step
    guess_largest: Rows
    solver_cost: dict[float, Rows]  #: by step
    solver_largest: Rows


def energy_errors(found: Iterable[Motion], dt: float) -> Rows:
    rows: Rows = {}
    for motion in found:
        runs = {label: motion.run(integrator, dt) for label, integrator in integrators("quadrature", "retraction").items()}
        rows[motion.name] = {label: run and Error(_largest_error(run), float(np.mean(run.iterations))) for label, run in runs.items()}
    return rows


def _largest_error(run: la.Trajectory) -> float:
    return float(np.abs(run.energy - run.energy[0]).max())


def largest_steps(found: Iterable[Motion], *options: str) -> Rows:
    rows: Rows = {}
    for motion in found:
        print(f"  largest steps: {motion.name}", file=sys.stderr, flush=True)
        reference = motion.run(la.Variational(), STEPS_TRIED[0])
        scale = float(reference.kinetic.max()) if reference else 0.0
        rows[motion.name] = {label: _largest(motion, integrator, scale) for label, integrator in integrators(*options).items()}
    return rows


def _largest(motion: Motion, integrator: la.Variational, scale: float) -> Largest:
    solvable = stable = 0.0
    still_stable = True
    for dt in STEPS_TRIED:
        run = motion.run(integrator, dt)
        if run is None:
            break
        solvable = dt
        # written so that NaN counts as unstable
        still_stable = still_stable and _largest_error(run) <= STABLE * scale
        stable = dt if still_stable else stable
    return Largest(solvable, stable)


def costs(found: Iterable[Motion], dt: float, passes: int, *options: str) -> Rows:
    """Over the same stretch of the same motion, short enough not to be interrupted often: 300 steps of 1 ms, 100 of 10 ms."""
    timed = {}
    count = max(100, round(0.3 / dt))
    for motion in found:
        chosen = integrators(*options)
        steps = {label: ours.Step(motion.model, dt, integrator, warm_up=round(0.3 / dt)) for label, integrator in chosen.items()}
        timed[motion.name] = steps, Interleaved(steps, motion.q, motion.v, fixed_reps=dict.fromkeys(steps, count))
    measure_all([times for _, times in timed.values()], passes)
    return {
        name: {label: Cost(times.best[label], step.evaluations) for label, step in steps.items()} for name, (steps, times) in timed.items()
    }


def measure(quick: bool = False, passes: int = 4) -> Measured:
    pin_to_one_core()
    easy, hard = motions(), hard_motions()
    if quick:
        easy, hard, passes = easy[:1], hard[1:2], 1
    print("  energy errors", file=sys.stderr, flush=True)
    energy = {dt: energy_errors(easy, dt) for dt in (1e-3, 1e-2)}
    largest = largest_steps([*easy, *hard], "quadrature", "retraction")
    guess_largest, solver_largest = largest_steps([*easy, *hard], "guess"), largest_steps([*easy, *hard], "solver")
    print("  costs", file=sys.stderr, flush=True)
    cost = costs(easy, 1e-3, passes, "quadrature", "retraction")
    guess_cost, solver_cost = ({dt: costs(easy, dt, passes, option) for dt in (1e-3, 1e-2)} for option in ("guess", "solver"))
    return Measured(energy, largest, cost, guess_cost, guess_largest, solver_cost, solver_largest)


def _cell(found: Error | Largest | Cost | None) -> str:
    if isinstance(found, Error):
        return f"{found.joules:.3g} ({found.evaluations:.2f})"
    if isinstance(found, Cost):
        return f"{number(found.seconds * 1e6)} ({found.evaluations:.2f})"
    if isinstance(found, Largest):
        return f"{_ms(found.solvable)} / {_ms(found.stable)}"
    return "not solved"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:g}" if seconds else "none"


def rows_table(what: str, rows: Rows) -> str:
    labels = list(next(iter(rows.values())))
    return table([what, *labels], [[name, *(_cell(row[label]) for label in labels)] for name, row in rows.items()])


def ratios(rows: Rows, above: str, below: str) -> str:
    """Smallest and largest of above / below over all mechanisms."""
    size = lambda found: found.joules if isinstance(found, Error) else found.seconds
    found = [size(row[above]) / size(row[below]) for row in rows.values() if row[above] and row[below]]
    return f"{min(found):.2g} to {max(found):.2g}"


def render(m: Measured) -> str:
    exp, cayley, midpoint = "trapezoid, exp", "trapezoid, cayley", "midpoint, exp"
    return PAGE.format(
        machine=machine(),
        tried=", ".join(f"{dt * 1e3:g}" for dt in STEPS_TRIED),
        stable=STABLE,
        energy_1=rows_table("max abs(E - E0), J (evaluations per step), 1 ms", m.energy[1e-3]),
        energy_10=rows_table("the same, 10 ms", m.energy[1e-2]),
        largest=rows_table("largest step solvable / stable, ms", m.largest),
        cost=rows_table("microseconds (evaluations) per step, 1 ms", m.cost),
        guess_1=rows_table("microseconds (evaluations) per step, 1 ms", m.guess_cost[1e-3]),
        guess_10=rows_table("the same, 10 ms", m.guess_cost[1e-2]),
        guess_largest=rows_table("largest step solvable / stable, ms", m.guess_largest),
        solver_1=rows_table("microseconds (evaluations) per step, 1 ms", m.solver_cost[1e-3]),
        solver_10=rows_table("the same, 10 ms", m.solver_cost[1e-2]),
        solver_largest=rows_table("largest step solvable / stable, ms", m.solver_largest),
        default=la.Variational(),
        cayley_error=ratios(m.energy[1e-3], cayley, exp),
        cayley_cost=ratios(m.cost, exp, cayley),
        midpoint_error=ratios(m.energy[1e-3], midpoint, exp),
        midpoint_cost=ratios(m.cost, midpoint, exp),
        ig2_cost=ratios(m.guess_cost[1e-3], "ig2", "extrapolate"),
        ig3_cost=ratios(m.guess_cost[1e-3], "ig3", "extrapolate"),
        riqn_cost=ratios(m.solver_cost[1e-3], "riqn", "newton"),
        riqn_cost_10=ratios(m.solver_cost[1e-2], "riqn", "newton"),
        dense_cost=ratios(m.solver_cost[1e-3], "dense-newton", "newton"),
    )


def page(quick: bool = False, passes: int = 4) -> str:
    """docs/defaults.md"""
    return render(measure(quick, passes))


PAGE = """\
# Which defaults, and why

Written by `python -m benchmarks defaults`.  Chains start with the first joint at 45 degrees, at rest, curled ones with every
second joint at 0.3 rad; the ball-joint chain whirls, the top stands 0.3 rad off the vertical, the humanoid tumbles with moving
limbs.  Simulations last 10 s, those of chains with 20 links and more 5 s.  Tolerance 1e-10.

- Machine: {machine}

## Decision

    {default}

- **retraction="exp"**: at 1 ms the energy error of cayley is {cayley_error} times that of exp, and exp costs {cayley_cost} times as
  much per step: to get the error of exp, cayley needs a step about half as long.  Choose cayley where bodies turn far within a
  step: exp ends at half a turn, and on the top, the humanoid and the longest curled chain cayley solves larger steps.
- **quadrature="trapezoid"**: midpoint costs {midpoint_cost} times as much per step and has {midpoint_error} times the energy error.
  Choose midpoint for stiff springs and for hanging chains at large steps: trapezoid is unstable once the step times the largest
  natural frequency exceeds 2, which no solver can mend.  It is no general way to larger steps: where links stand on their heads
  the midpoint equations lose their solution first, see the whirling chain and the curled one of 20 links.
- **the guess**, extrapolated: at 1 ms ig2 costs {ig2_cost} and ig3 {ig3_cost} times as much per step; at 10 ms the gain is smaller.
  Where motion is wild within a step the degree of the extrapolation falls to zero by itself, which is ig2: no larger step
  is lost.  (With ig3 Newton factorises at every iterate, as in the paper.)
- **the solver**, Newton in O(n): RIQN from the same guess costs {riqn_cost} times as much per step at 1 ms and {riqn_cost_10} at 10 ms,
  dense Newton {dense_cost} at 1 ms, and growing with the mechanism.  Newton solves steps that RIQN does not; Broyden's method gets
  nearly as far.

## Energy error

{energy_1}

{energy_10}

## Largest step

Steps tried: {tried} ms.  Solvable: every step converges.  Stable: solvable, and
abs(E - E0) stays below {stable:g} of the largest kinetic energy of the motion.

{largest}

## Cost

{cost}

## Initial guess

{guess_1}

{guess_10}

{guess_largest}

## Solver

{solver_1}

{solver_10}

{solver_largest}
"""
