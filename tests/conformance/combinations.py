"""Which things go together: integrator x joint x force x constraint x what is asked of a run, found out by running them.

    make combinations                                                        writes docs/combinations.md
    NUMBA_DISABLE_JIT=1 PYTHONPATH=tests python -m conformance.combinations  the same
    make triples                                                             every three things together: writes how many work there too

Kernels run as plain Python, so that nothing has to be compiled for the many mechanisms.  A cell works if the motion is the one that
explicit integration of the same model (with constraints on velocities: `Maximal`) gives; or it is refused by an error of the package
that names something of the model or the integrator and says what to use instead.  Anything else is listed at the end, and the page is
not written.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from conformance import matrix
from conformance.matrix import _REMEDIES, DRIVES, JOINTS, covering_rows, model_of
from conformance.matrix import FORCES as PLAIN_FORCES

import leastaction as la
from leastaction.errors import LeastActionError

PAGE = Path(__file__).parents[2] / "docs" / "combinations.md"
DT, STEPS = 2e-3, 3
_NEAR = 2e-5  # of an end after three steps, rad or m, per unit of what the motion is: of the order of the step squared

_WRONG = "wrong: "
_ADVICE = (*_REMEDIES, "take ", "linearise ", "look at ")

INTEGRATORS: dict[str, la.Integrator] = {
    "Variational": la.Variational(),
    "Variational, midpoint": la.Variational(quadrature="midpoint"),
    "Maximal": la.Maximal(),
    "Maximal, midpoint": la.Maximal(quadrature="midpoint"),
    "Midpoint": la.Midpoint(),
    "Trapezoid": la.Trapezoid(),
    "FloatingBase": la.FloatingBase(),
    "Composition of Variational": la.Composition(la.Variational()),
    "Composition of Maximal": la.Composition(la.Maximal()),
    "Composition of Midpoint": la.Composition(la.Midpoint()),
    "Composition of Trapezoid": la.Composition(la.Trapezoid()),
    "AdaptiveStep of Variational": la.AdaptiveStep(la.Variational()),
    "AdaptiveStep of Maximal": la.AdaptiveStep(la.Maximal()),
    "AdaptiveStep of Midpoint": la.AdaptiveStep(la.Midpoint()),
    "SemiImplicitEuler": la.SemiImplicitEuler(),
    "Heun": la.Heun(),
    "RK4": la.RK4(),
    "RKMK4": la.RKMK4(),
}


CONSTRAINTS = [*matrix.CONSTRAINTS, *matrix.MORE_CONSTRAINTS]
FORCES = [*PLAIN_FORCES, *(name for name in DRIVES if name != "no drive")]


def _plain(model: la.Model, start: la.State, integrator: la.Integrator) -> la.Trajectory:
    return la.simulate(model, start, dt=DT, steps=STEPS, integrator=integrator)


def _same(run, model, start, integrator) -> None:
    off = float(np.abs(np.asarray(run.q)[..., -1, :] - _plain(model, start, integrator).q[-1]).max())
    assert off < 1e-9, f"ends {off:.3g} beside a plain run"


def _linearize(model: la.Model, start: la.State, integrator: la.Integrator) -> None:
    step = la.linearize(model, integrator, start, DT)
    assert np.isfinite(step.A).all() and np.isfinite(step.B).all()


def _guard(model: la.Model, start: la.State, integrator: la.Integrator) -> None:
    _same(la.simulate(model, start, dt=DT, steps=STEPS, integrator=integrator, guard=True), model, start, integrator)


def _specialise(model: la.Model, start: la.State, integrator: la.Integrator) -> None:
    own = model.specialise()
    _same(la.simulate(own, own.state(start.q, start.v), dt=DT, steps=STEPS, integrator=integrator), model, start, integrator)


def _reactions(model: la.Model, start: la.State, integrator: la.Integrator) -> None:
    reactions = _plain(model, start, integrator).reactions
    assert all(np.isfinite(reactions[name].force).all() for name in model.joint_names)
    assert all(np.isfinite(reactions[c.name].multipliers).all() for c in model.closures)


def _rollout(model: la.Model, start: la.State, integrator: la.Integrator) -> None:
    _same(la.rollout(model, [start, start], dt=DT, steps=STEPS, integrator=integrator), model, start, integrator)


def _reverse(model: la.Model, start: la.State, integrator: la.Integrator) -> None:
    sim = la.Simulator(model, start, dt=DT, integrator=integrator)
    sim.run(STEPS)
    sim.reverse()
    sim.run(STEPS)
    if "Prescribed" in "".join(c.name for c in model.closures) or model.is_actuated or _dissipates(model):
        return  # a motion that time drives does not go back while time goes on, nor does what is slowed down
    off = float(np.abs(sim.q - start.q).max())
    assert off < (1e-2 if integrator.order == 1 else 1e-4), f"steps back end {off:.3g} beside the start"


def _dissipates(model: la.Model) -> bool:
    return bool(model.tree.has_dampers or len(model.tree.custom) or len(model.tree.law_on))


def _continue(model: la.Model, start: la.State, integrator: la.Integrator) -> None:
    half = la.simulate(model, start, dt=DT, steps=1, integrator=integrator)
    run = la.simulate(model, half.state(), dt=DT, steps=STEPS - 1, integrator=integrator)
    assert np.array_equal(run.q[-1], _plain(model, start, integrator).q[-1])


ASKED: dict[str, Callable[[la.Model, la.State, la.Integrator], None] | None] = {
    "nothing": None,
    "linearize": _linearize,
    "guard": _guard,
    "specialise": _specialise,
    "reactions": _reactions,
    "rollout": _rollout,
    "reverse": _reverse,
    "continue": _continue,
}


def _model(joint: str, constraint: str, force: str) -> tuple[la.Model, la.State]:
    return model_of(joint, constraint, force, "none") if force in DRIVES else model_of(joint, constraint, "no drive", force)


class Case(NamedTuple):
    integrator: str
    joint: str = "Revolute"
    force: str = "none"
    constraint: str = "none"
    asked: str = "nothing"


@cache
def _truth(joint: str, force: str, constraint: str, t: float) -> np.ndarray:
    model, start = _model(joint, constraint, force)
    other: la.Integrator = la.RK4()
    if force == "friction":  # which explicit integrators refuse
        other = la.Variational(tol=1e-12)
    elif constraint in ("Skate", "Rolling"):
        other = la.Variational(tol=1e-12) if force in DRIVES else la.Maximal(tol=1e-12)
    return la.simulate(model, start, dt=t / 12, steps=12, integrator=other).q[-1]


def outcome(case: Case) -> str:
    """"yes", or the sentence it is refused by.  AssertionError: neither."""
    model, start = _model(case.joint, case.constraint, case.force)
    integrator, ask = INTEGRATORS[case.integrator], ASKED[case.asked]
    try:
        run = _plain(model, start, integrator)
        if ask is not None:
            ask(model, start, integrator)
    except LeastActionError as error:
        return _checked_refusal(case, model, str(error))
    except Exception as error:
        raise AssertionError(f"{case}: {type(error).__name__}: {error}") from error
    order = 1 if case.force in DRIVES else min(integrator.order, 2)
    off = _beside_the_motion(case, run)
    if off > _NEAR * (50.0 if integrator.order == 1 else 1.0):  # a fast motion: then it has to come nearer as the order says
        finer = _beside_the_motion(case, la.simulate(model, start, dt=DT / 4, steps=4 * STEPS, integrator=integrator))
        assert finer < 2.0 * off / 4.0**order, f"{case}: ends {off:.3g} beside the motion, with steps of a quarter {finer:.3g}"
    return "yes"


def _beside_the_motion(case: Case, run: la.Trajectory) -> float:
    return float(np.abs(run.q[-1] - _truth(case.joint, case.force, case.constraint, float(run.t[-1]))).max())


def _checked_refusal(case: Case, model: la.Model, message: str) -> str:
    names = [model.name, *model.joint_names, *model.body_names, *(c.name for c in model.closures), *case.integrator.split(" of ")]
    assert any(name.split(",")[0] in message for name in names), f"{case}: refused without a name: {message}"
    assert any(word in message for word in _ADVICE), f"{case}: refused without a remedy: {message}"
    return message


def pairs() -> Iterator[tuple[str, str, Case]]:
    """(column, its value, case) of every integrator with every single other thing."""
    for column, values in (("joint", JOINTS), ("force", FORCES), ("constraint", CONSTRAINTS), ("asked", ASKED)):
        for value in values:
            if value in ("none", "nothing"):
                continue
            for integrator in INTEGRATORS:
                yield column, value, Case(integrator, **{column: value})


def covering(strength: int = 2) -> list[Case]:
    """Cases in which every two things of different columns meet, or every three."""
    columns = [list(INTEGRATORS), list(JOINTS), list(FORCES), list(CONSTRAINTS), list(ASKED)]
    return [Case(*row) for row in covering_rows(columns, strength)]


# ------------------------------------------------------------------------------------------------------------------ the page

_HEAD = """# What goes with what

Written by `make combinations`, which runs every cell. Every cell either works, and then its motion was compared with that of another
integrator, or is refused by a sentence of the package that names what it is about and what to use instead; there is no other outcome.
A number in a table is that of a sentence below it.

Beside the pairs shown here, {covered} mechanisms in which every two things of different tables meet (integrator, joint, force,
constraint, what is asked) were run: {works} work, {refused} are refused, each by a sentence.

{triples}

"""

_TRIPLES = "Every three of them meet in {covered} mechanisms, which `make triples` runs: {works} work, {refused} are refused."

_TITLES = {
    "joint": "## Joints",
    "force": "## Forces",
    "constraint": "## Constraints",
    "asked": "## What a run is asked for\n\n"
    "`reverse`: `sim.reverse()` leads back to the start. `continue`: a run from the last state of another goes on bit for bit.",
}


def general(message: str) -> str:
    """A sentence without what is only of this model."""
    if message.startswith("integrator = "):
        message = "integrator = ... cannot" + message.split(" cannot", 1)[1]
    message = re.sub(r"'[^']* and [^']*'", "the model", message)
    message = re.sub(r"is a \w+, but", "is a ..., but", message)
    message = re.sub(r"(the constraints|on velocities, as) .* of the model", r"\1 ... of the model", message)
    return re.sub(r"AdaptiveStep\(.*\) does not make", "AdaptiveStep(...) does not make", message).replace("|", "/")


def _counts(covered: list[str]) -> dict[str, int]:
    works = covered.count("yes")
    return {"covered": len(covered), "works": works, "refused": len(covered) - works}


def triples_in(text: str) -> str:
    """The sentence on triples of a page, found wherever it is."""
    pattern = re.sub(r"\\{\w+\\}", r"\\d+", re.escape(_TRIPLES))
    found = re.search(pattern, text)
    return found[0] if found else _TRIPLES.format(**_counts([]))


def page(found: dict[str, dict[str, dict[str, str]]], covered: list[str], triples: str) -> str:
    parts = [_HEAD.format(**_counts(covered), triples=triples)]
    for column, rows in found.items():
        notes: dict[str, int] = {}
        lines = [_TITLES[column], "", f"| | {' | '.join(INTEGRATORS)} |", f"|---|{'---|' * len(INTEGRATORS)}"]
        for value, cells in rows.items():
            shown = [c if c == "yes" else str(notes.setdefault(general(c), len(notes) + 1)) for c in cells.values()]
            lines.append(f"| {value} | {' | '.join(shown)} |")
        lines += ["", *(f"{number}. {sentence}" for sentence, number in notes.items()), ""]
        parts.append("\n".join(lines) + "\n")
    return "".join(parts).rstrip() + "\n"


def shown_in(text: str) -> dict[Case, bool]:
    """What the page says: does it work?"""
    found, columns = {}, {title.splitlines()[0]: column for column, title in _TITLES.items()}
    column, integrators = "", []
    for line in text.splitlines():
        column = columns.get(line, column)
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("| | "):
            integrators = cells[1:]
        elif line.startswith("| ") and integrators:
            found.update({Case(i, **{column: cells[0]}): c == "yes" for i, c in zip(integrators, cells[1:], strict=True)})
    return found


def attempt(case: Case) -> str:
    """As `outcome`, of what goes wrong the message."""
    try:
        return outcome(case)
    except AssertionError as error:
        return f"{_WRONG}{error}"


def run_all(cases: list[Case]) -> list[str]:
    """Their outcomes; empty if something neither works nor is refused by a sentence."""
    with ProcessPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 1))) as pool:
        results = list(pool.map(attempt, cases, chunksize=4))
    wrong = [result for result in results if result.startswith(_WRONG)]
    if wrong:
        print(f"{len(wrong)} neither work nor are refused by a sentence, so {PAGE.name} is not written", *wrong, sep="\n")
        return []
    return results


def main(what: list[str]) -> int:
    if what == ["triples"]:
        if results := run_all(covering(3)):
            text = PAGE.read_text()
            PAGE.write_text(text.replace(triples_in(text), _TRIPLES.format(**_counts(results))))
        return not results
    listed = list(pairs())
    results = run_all([*(case for _, _, case in listed), *covering()])
    if not results:
        return 1
    found: dict[str, dict[str, dict[str, str]]] = {}
    for (column, value, case), result in zip(listed, results, strict=False):
        found.setdefault(column, {}).setdefault(value, {})[case.integrator] = result
    PAGE.write_text(page(found, results[len(listed) :], triples_in(PAGE.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
