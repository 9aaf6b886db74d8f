"""The measurements that decide the defaults of la.Variational: energy error, cost, largest step.  Written to docs/defaults.md."""

from __future__ import annotations

import inspect
import itertools
import warnings
from dataclasses import dataclass

import numpy as np

import leastaction as la

from . import cases, ours
from .peers.base import Array
from .report import machine, table
from .timing import Interleaved, measure_all, pin_to_one_core

# everything that may be chosen; what this version of la.Variational does not have is left out
RETRACTIONS = ("cayley", "exp")
QUADRATURES = ("trapezoid", "midpoint")
GUESSES = ("extrapolate", "ig1", "ig2", "ig3")

STEPS_TRIED = tuple(1e-3 * x for x in (1, 2, 5, 10, 20, 50, 100, 200, 500))
STABLE = 0.1  # a step is called stable if |E - E0| stays below this part of the largest kinetic energy


@dataclass(frozen=True)
class Motion:
    name: str
    model: la.Model
    q: Array
    v: Array
    seconds: float

    def run(self, integrator: la.Variational, dt: float) -> la.Trajectory:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # runs that blow up are part of the measurement
            start = self.model.state(self.q, self.v)
            return la.simulate(self.model, start, dt=dt, duration=self.seconds, integrator=integrator, progress=False)


def motions(quick: bool = False) -> list[Motion]:
    top = la.examples.heavy_top().compile()
    tilt = np.array([np.cos(0.15), 0.0, np.sin(0.15), 0.0])
    # without gravity: the kinetic energy of the fall would hide what the limbs do
    human = la.examples.humanoid()
    human.gravity = np.zeros(3)
    moving = cases.humanoid()
    found = [
        Motion(c.name, c.model, c.q, c.v, 10.0)
        for c in (cases.chain(10, False), cases.chain(10, True), cases.ball_chain(10, whirling=True))
    ]
    found += [
        Motion("heavy top, 60 rad/s", top, tilt, np.array([0.0, 0.0, 60.0]), 10.0),
        Motion("weightless humanoid", human.compile(), moving.q, moving.v, 10.0),
    ]
    return found[:1] if quick else found


def options() -> dict[str, tuple[str, ...]]:
    """The choices this version has, option -> values it accepts; the first is measured as the default of this page."""
    known = inspect.signature(la.Variational.__init__).parameters
    wanted = {"retraction": RETRACTIONS, "quadrature": QUADRATURES, "guess": GUESSES}
    return {option: tuple(v for v in values if _accepted(option, v)) for option, values in wanted.items() if option in known}


def _accepted(option: str, value: str) -> bool:
    try:
        la.Variational(**{option: value})
    except la.LeastActionError:
        return False
    return True


def integrators(*chosen: str) -> dict[str, la.Variational]:
    """Every combination of the chosen options that exists, by label."""
    available = {name: values for name, values in options().items() if name in chosen}
    combinations = [dict(zip(available, values, strict=True)) for values in itertools.product(*available.values())]
    return {", ".join(c.values()): la.Variational(**c) for c in combinations}


def energy_error(motion: Motion, integrator: la.Variational, dt: float) -> tuple[str, str]:
    """max |E - E0| in J and evaluations per step, as text."""
    try:
        run = motion.run(integrator, dt)
    except la.ConvergenceError as error:
        return f"not solved at {error.time:.3g} s", "-"
    return f"{np.abs(run.energy - run.energy[0]).max():.3g}", f"{np.mean(run.iterations):.2f}"


def energy_table(found: list[Motion]) -> str:
    chosen = integrators("retraction", "quadrature")
    header = ["max abs(E - E0), J (evaluations per step)", "step"] + list(chosen)
    body = []
    for motion, dt in itertools.product(found, (1e-3, 1e-2)):
        cells = ["{} ({})".format(*energy_error(motion, integrator, dt)) for integrator in chosen.values()]
        body.append([f"{motion.name}, {motion.seconds:g} s", f"{dt * 1e3:g} ms", *cells])
    return table(header, body)


def largest_step(motion: Motion, integrator: la.Variational, scale: float) -> tuple[float, float]:
    """(largest solvable step, largest stable step) of those tried, s: up to it every smaller one works too."""
    solvable = stable = 0.0
    still_stable = True
    for dt in STEPS_TRIED:
        try:
            run = motion.run(integrator, dt)
        except la.ConvergenceError:
            break
        solvable = dt
        # written so that NaN counts as unstable
        still_stable = still_stable and bool(np.abs(run.energy - run.energy[0]).max() <= STABLE * scale)
        stable = dt if still_stable else stable
    return solvable, stable


def step_table(found: list[Motion]) -> str:
    chosen = integrators("retraction", "quadrature")
    body = []
    for motion in found:
        scale = float(motion.run(la.Variational(), 1e-3).kinetic.max())
        pairs = [largest_step(motion, integrator, scale) for integrator in chosen.values()]
        body.append([f"{motion.name}, {motion.seconds:g} s", *(f"{_ms(solvable)} / {_ms(stable)}" for solvable, stable in pairs)])
    return table(["largest step solvable / stable, ms", *chosen], body)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:g}" if seconds else "none"


def cost_table(found: list[Motion], *chosen: str) -> str:
    """Microseconds and evaluations per step at 1 ms, over the same 1000 steps."""
    choices = integrators(*chosen)
    timed = []
    for motion in found:
        steps = {label: ours.Step(motion.model, 1e-3, integrator) for label, integrator in choices.items()}
        timed.append((steps, Interleaved(steps, motion.q, motion.v, fixed_reps=dict.fromkeys(steps, 1000))))
    measure_all([times for _, times in timed], passes=12)
    body = []
    for motion, (steps, times) in zip(found, timed, strict=True):
        body.append([motion.name, *(f"{times.best[label] * 1e6:.3g} ({step.evaluations:.2f})" for label, step in steps.items())])
    return table(["microseconds (evaluations) per step at 1 ms", *choices], body)


def page(quick: bool = False, passes: int = 12) -> str:
    """docs/defaults.md"""
    pin_to_one_core()
    found = motions(quick)
    default = la.Variational()
    parts = [
        "# Which defaults, and why",
        "",
        "Written by `python -m benchmarks defaults`.  Chains start with the first joint at 45 degrees, at rest; the ball-joint chain",
        "whirls, the top stands 0.3 rad off the vertical, the humanoid tumbles with moving limbs.  Tolerance 1e-10.",
        "",
        f"- Machine: {machine()}",
        f"- Defaults of this version: `{default!r}`",
        "- Options this version has: " + "; ".join(f"{name}: " + ", ".join(values) for name, values in options().items()),
        "",
        "## Energy error",
        "",
        energy_table(found),
        "",
        "## Largest step",
        "",
        "Steps tried: " + ", ".join(f"{dt * 1e3:g}" for dt in STEPS_TRIED) + " ms.  Solvable: every step converges.  Stable: solvable, and",
        f"abs(E - E0) stays below {STABLE:g} of the largest kinetic energy of the motion.",
        "",
        step_table(found),
        "",
        "## Cost",
        "",
        cost_table(found, "retraction", "quadrature"),
    ]
    if "guess" in options():
        parts += ["", "## Initial guess", "", cost_table(found, "guess")]
    return "\n".join([*parts, ""])
