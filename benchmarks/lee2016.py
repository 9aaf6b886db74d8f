"""The comparisons of Lee, Liu, Park and Srinivasa (2016) in one run of one process on one core.  Written to docs/lee2016.md.

(a) residuals, DRNEA against SVI (Johnson and Murphey); (b) updates, RIQN against dense Newton and against Newton in O(n);
(c) whole steps, Fig. 3; (d) evaluations per step, Fig. 4.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

import leastaction as la
from leastaction.yardsticks import Lee2016, Svi

from . import cases, ours, probe
from .peers.base import Array
from .report import machine, number, table
from .timing import Interleaved, Timed, measure_all, pin_to_one_core

DT = 1e-3
SIZES = (10, 20, 50, 100)

# factors the paper states, links -> times faster
PAPER_RESIDUAL = {10: 15.0, 100: 32.0}
PAPER_UPDATE = {10: 3.8, 100: 53.0}

DRNEA, DRNEA_CAYLEY = "DRNEA, exp", "DRNEA, cayley"
SVI_PAPER = "SVI as printed: primitive frames, matrices"
SVI_MERGED, SVI_TWISTS = "SVI, merged frames, matrices", "SVI, merged frames, twists"
RIQN, RIQN_ALONE = "RIQN: mass_solve, share of mass_factor", "RIQN, a step's only update: mass_factor + mass_solve"
DENSE = "dense Newton: Alg. 4 Jacobian + LU"
NEWTON = "Newton in O(n): assemble + factorise + solve"
DEFAULT = "la.Variational(), our default"


def random_start(links: int, seed: int) -> tuple[Array, Array]:
    """Every joint at up to 90 degrees and 90 degrees per second, as in the programs published with the paper."""
    q, v = np.random.default_rng(seed).uniform(-np.pi / 2, np.pi / 2, (2, links))
    return q, v


def step_methods() -> dict[str, la.Variational]:
    """The combinations of Fig. 3, all starting from the last increment (the paper's IG2), and what our guess makes of them."""
    return {
        "DRNEA + RIQN": Lee2016("riqn", "ig2"),
        "DRNEA + Broyden": Lee2016("broyden", "ig2"),
        "DRNEA + dense Newton": Lee2016("dense-newton", "ig2"),
        "DRNEA + Newton in O(n)": Lee2016("newton", "ig2"),
        "SVI (merged, matrices) + RIQN": Svi("riqn", "ig2"),
        "SVI (merged, matrices) + Broyden": Svi("broyden", "ig2"),
        "SVI (as printed) + RIQN": Svi("riqn", "ig2", primitive=True),
        "DRNEA + RIQN, extrapolated": Lee2016("riqn", "extrapolate"),
        DEFAULT: la.Variational(),
    }


@dataclass
class Size:
    """Seconds of everything on one chain."""

    links: int
    residual: dict[str, float]
    update: dict[str, float]
    step: dict[str, float]
    evaluations: dict[str, float]  #: per step
    confirmed: bool = True  #: every minimum was reached several times


@dataclass
class Counts:
    """(mean, standard deviation) of the evaluations per step; None where a step was not solved."""

    start: str
    guess: str
    tol: float
    riqn: tuple[float, float] | None
    newton: tuple[float, float] | None


@dataclass
class Results:
    sizes: list[Size]
    counts: list[Counts]
    count_links: int = 50
    count_steps: int = 1000


class Chain:
    """All candidates on one planar chain in motion."""

    def __init__(self, links: int):
        self.links = links
        model = la.examples.chain(links).compile()
        q, v = random_start(links, seed=0)
        residuals: dict[str, Timed] = {
            DRNEA: ours.Kernel(model, DT, probe.RESIDUAL, "exp"),
            DRNEA_CAYLEY: ours.Kernel(model, DT, probe.RESIDUAL, "cayley"),
            SVI_PAPER: ours.SviResidual(model, DT, "matrices", primitive=True),
            SVI_MERGED: ours.SviResidual(model, DT, "matrices", primitive=False),
            SVI_TWISTS: ours.SviResidual(model, DT, "twists", primitive=False),
        }
        kernels = (probe.MASS_FACTOR, probe.MASS_SOLVE, probe.DENSE_SOLVE, probe.NEWTON_MATRIX, probe.NEWTON_SOLVE)
        self.steps = {name: ours.Step(model, DT, integrator, warm_up=20) for name, integrator in step_methods().items()}
        self.residual = Interleaved(residuals, q, v)
        self.update = Interleaved({probe.NAMES[what]: ours.Kernel(model, DT, what) for what in kernels}, q, v)
        self.step = Interleaved(self.steps, q, v, fixed_reps=dict.fromkeys(self.steps, 200 if links <= 20 else 50))

    @property
    def measurements(self) -> list[Interleaved]:
        return [self.residual, self.update, self.step]

    def size(self) -> Size:
        took = {what: self.update.best[name] for what, name in enumerate(probe.NAMES) if name in self.update.best}
        evaluations = {name: step.evaluations for name, step in self.steps.items()}
        updates = evaluations["DRNEA + RIQN"] - 1.0  # of a step; the mass matrix is factorised once for all of them
        update = {
            RIQN: took[probe.MASS_SOLVE] + took[probe.MASS_FACTOR] / updates,
            RIQN_ALONE: took[probe.MASS_SOLVE] + took[probe.MASS_FACTOR],
            DENSE: took[probe.DENSE_SOLVE],
            NEWTON: took[probe.NEWTON_MATRIX] + took[probe.NEWTON_SOLVE],
        }
        return Size(self.links, self.residual.best, update, self.step.best, evaluations, all(m.confirmed for m in self.measurements))


def figure_4(links: int = 50, steps: int = 1000) -> list[Counts]:
    """Evaluations per step of RIQN and of Newton that factorises every iterate."""
    case = cases.chain(links, spatial=False)
    calm = "first joint at 45 degrees, at rest"
    runs = [(f"random {seed + 1}", random_start(links, seed), guess, 1e-8) for guess in ("ig1", "ig3") for seed in range(4)]
    runs += [(calm, (case.q, case.v), guess, tol) for guess in ("ig1", "ig3") for tol in (1e-8, 1e-10)]
    found = []
    for name, (q, v), guess, tol in runs:
        riqn, newton = (_count(case.model, q, v, steps, solver, guess, tol) for solver in ("riqn", "dense-newton"))
        found.append(Counts(name, guess, tol, riqn, newton))
    return found


def _count(model: la.Model, q: Array, v: Array, steps: int, solver: str, guess: str, tol: float) -> tuple[float, float] | None:
    try:
        integrator = Lee2016(solver, guess, tol=tol)
        run = la.simulate(model, model.state(q, v), dt=DT, steps=steps, record_every=steps, integrator=integrator, progress=False)
    except la.ConvergenceError:
        return None
    return float(np.mean(run.iterations)), float(np.std(run.iterations))


def measure(quick: bool = False, passes: int = 4) -> Results:
    pin_to_one_core()
    chains = []
    for links in (10, 20) if quick else SIZES:
        print(f"  building: {links} links", file=sys.stderr, flush=True)
        chains.append(Chain(links))
    print("  timing", file=sys.stderr, flush=True)
    limits = (1, 2) if quick else (passes, 20)
    measure_all([m for chain in chains for m in chain.measurements], limits[0], max_passes=limits[1])
    counted = (10, 100) if quick else (50, 1000)
    return Results([chain.size() for chain in chains], figure_4(*counted), *counted)


def _columns(sizes: list[Size]) -> list[str]:
    return [f"{s.links} links{'' if s.confirmed else ' (noisy)'}" for s in sizes]


def _times(what: str, sizes: list[Size], pick, unit: str) -> str:
    """Microseconds, and in brackets the multiple of the row `unit`."""
    cells = lambda name: [f"{number(1e6 * pick(s)[name])} ({number(pick(s)[name] / pick(s)[unit])})" for s in sizes]
    return table([what, *_columns(sizes)], [[name, *cells(name)] for name in pick(sizes[0])])


def step_table(sizes: list[Size]) -> str:
    cells = lambda name: [f"{number(1e6 * s.step[name])} ({s.evaluations[name]:.2f})" for s in sizes]
    return table(["microseconds (evaluations) per step", *_columns(sizes)], [[name, *cells(name)] for name in sizes[0].step])


def factor_table(sizes: list[Size]) -> str:
    """The factors the paper states beside ours, for the kernels alone and for whole steps."""

    def row(what: str, pick, above: str, below: str, paper: dict[int, float]) -> list[str]:
        cells = [number(pick(s)[above] / pick(s)[below]) for s in sizes]
        return [what, *(c if s.links not in paper else f"{c} (paper {paper[s.links]:g})" for c, s in zip(cells, sizes, strict=True))]

    residual, update, step = (lambda s: s.residual), (lambda s: s.update), (lambda s: s.step)
    riqn, none = "DRNEA + RIQN", {}
    body = [
        row("residual: SVI as printed / DRNEA", residual, SVI_PAPER, DRNEA, PAPER_RESIDUAL),
        row("residual: SVI merged, matrices / DRNEA", residual, SVI_MERGED, DRNEA, none),
        row("residual: SVI merged, twists / DRNEA", residual, SVI_TWISTS, DRNEA, none),
        row("step: SVI as printed + RIQN / DRNEA + RIQN", step, "SVI (as printed) + RIQN", riqn, PAPER_RESIDUAL),
        row("step: SVI merged + RIQN / DRNEA + RIQN", step, "SVI (merged, matrices) + RIQN", riqn, none),
        row("update: dense Newton / RIQN", update, DENSE, RIQN, PAPER_UPDATE),
        row("update: dense Newton / RIQN, a step's only update", update, DENSE, RIQN_ALONE, none),
        row("step: DRNEA + dense Newton / DRNEA + RIQN", step, "DRNEA + dense Newton", riqn, PAPER_UPDATE),
        row("update: Newton in O(n) / RIQN", update, NEWTON, RIQN, none),
        row("step: DRNEA + RIQN / our default", step, riqn, DEFAULT, none),
        row("step: DRNEA + RIQN, extrapolated / our default", step, "DRNEA + RIQN, extrapolated", DEFAULT, none),
        row("step: SVI as printed + RIQN / our default", step, "SVI (as printed) + RIQN", DEFAULT, none),
    ]
    return table(["times slower", *_columns(sizes)], body)


def count_table(counts: list[Counts]) -> str:
    cell = lambda c: "not solved" if c is None else f"{c[0]:.2f} +- {c[1]:.2f}"
    body = [[c.start, c.guess.upper(), f"{c.tol:g}", cell(c.riqn), cell(c.newton)] for c in counts]
    body.append(["paper, Fig. 4b", "", "", "5.69 +- 1.16", "4 +- 0"])
    return table(["start", "guess", "tolerance", "RIQN", "Newton"], body)


def render(results: Results) -> str:
    sizes = results.sizes
    twists = [s.residual[SVI_TWISTS] / s.residual[DRNEA] for s in sizes]
    return PAGE.format(
        machine=machine(),
        factors=factor_table(sizes),
        gain=", ".join(f"{s.residual[SVI_PAPER] / s.residual[SVI_TWISTS]:.1f}" for s in sizes),
        twists=", ".join(map(number, twists)),
        links=", ".join(str(s.links) for s in sizes),
        residuals=_times("microseconds", sizes, lambda s: s.residual, DRNEA),
        updates=_times("microseconds", sizes, lambda s: s.update, RIQN),
        steps=step_table(sizes),
        counted=f"{results.count_links} links, {results.count_steps} steps of {DT * 1e3:g} ms",
        counts=count_table(results.counts),
    )


def page(quick: bool = False, passes: int = 4) -> str:
    """docs/lee2016.md"""
    return render(measure(quick, passes))


PAGE = """\
# The measurements of Lee et al. (2016)

Written by `python -m benchmarks lee2016`.  The paper compares its residual (DRNEA) with that of Johnson and Murphey (SVI), and
its update (RIQN) with a dense Newton update, on planar chains at 1 ms.  Here both sides of every comparison are this package's
own, run in one process on one core, interleaved, minima of CPU time over repeats.

- Machine: {machine}
- Chains of 1 m, 1 kg rods, every joint at a random angle and rate within +-pi/2 (rad, rad/s), as in the programs published
  with the paper.  Step 1 ms, tolerance 1e-10.
- `(noisy)` marks columns in which a minimum was not reached three times.

## The factors

{factors}

The paper timed simulations of 10 000 frames, so its factors are of whole steps; both readings are given.

- **Residual.**  The factor of O(n) over O(n^2) grows with the chain.  What it starts from is a matter of how both sides are
  programmed: the SVI as printed has a frame for every constant shift and multiplies matrices.  Merging the frames and carrying
  twists makes it {gain} times faster ({links} links) without changing what it computes.  Against that SVI, which is ours
  and not the paper's, the factors are {twists}: the paper's numbers are not reached, its law is.
- **Update.**  RIQN keeps the mass matrix of the step's start, so its updates share one factorisation; a single update that has
  to pay for it alone is given too.  Whole steps gain less from RIQN than one update does, because RIQN needs more updates than
  Newton, see (c), and the Jacobian of Alg. 4 and its LU factorisation are compiled like everything else here: a stronger rival
  than the paper's.
- **Newton in O(n)** is not in the paper.  One update costs several of RIQN's.  From the guess IG2 that does not pay at
  1 ms; the default wins by a better guess, after which one correction is enough, and by keeping a factorisation over several
  steps ([theory](theory.md)).  With that guess RIQN comes close, and may be ahead on motions as wild as these; what speaks for
  Newton are calm motions, and large steps, at which RIQN may not converge ([defaults](defaults.md)).

## (a) One residual

In brackets: times DRNEA with exp.

{residuals}

## (b) One update

In brackets: times RIQN.

{updates}

## (c) Whole steps: Fig. 3

The guess is the last increment (IG2) unless the row says otherwise.  RIQN and Broyden factorise the mass matrix once a step.
Newton with the SVI, by the second derivatives of its frames, is in `leastaction papers lee2016_fig3`; it extrapolates its guess and takes
at most 64 links, so it is not in this table.

{steps}

## (d) Evaluations per step: Fig. 4

Residual evaluations per step, mean and standard deviation, {counted}.  The last evaluation finds nothing
left to do: the number of updates is one less.  The paper does not say which of the two it counts.  Newton factorises the exact
Jacobian at every iterate here.

{counts}

The paper guesses the zero configuration in Fig. 4; IG1, no motion, is its meaning in increments.  Its published programs draw the start
at random, guess by IG3 for Fig. 4b, and stop when the 2-norm of the impulses falls below 1e-8, whatever their size; the tolerances here are
relative to the largest momentum, so the counts of this table and of the paper answer different questions.  `leastaction papers
lee2016_fig4` uses the programs' settings; the scatter from start to start is larger than the distance to their numbers.  RIQN's count
grows as the motion gets wilder, Newton's hardly does.  IG3, the guess from the acceleration, saves one to two evaluations and costs one
forward dynamics.
"""
