"""Kobilarov 2014, Algorithm 1: the step is chosen at every node so that Newton's method is certain to converge.  50 runs of 5 s.

la.CertifiedStep() on chains of 1 to 5 links, a cart-pole and random trees of joints with plain coordinates, some with springs and dampers.
Every step is certified once more from the recorded states.  Beside it the same number of equal steps of la.Trapezoid, and how many of
those are certified.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import leastaction as la
from leastaction.solvability import StepEquation, certify

from .kobilarov2014_certificate import JOINTS
from .result import Claim, Picture, Result, Table

DURATION = 5.0


def mechanisms(count: int) -> Iterator[tuple[str, la.Model, np.ndarray, np.ndarray]]:
    """(kind, model, q, v) of so many starts."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        kind = seed % 10
        if kind < 5:
            model = la.examples.chain(kind + 1, spatial=seed % 20 >= 10).compile()
            yield f"chain of {kind + 1}", model, rng.uniform(-2.0, 2.0, kind + 1), rng.normal(size=kind + 1)
        elif kind == 5:
            yield "cart-pole", la.examples.cart_pole().compile(), rng.normal(size=2), rng.normal(size=2)
        else:
            mech = la.examples.random_tree(2 + seed % 2, seed=seed, joints=JOINTS)
            for name, body in mech.bodies.items():
                mech.add_force(la.Spring(name, 20.0))
                if seed % 4 == 0:
                    mech.add_force(la.Damper(name, 0.2 * np.ones(body.joint.nv)))
            model = mech.compile()
            yield "random tree", model, 0.5 * rng.normal(size=model.nq), 0.5 * rng.normal(size=model.nv)


def uncertified(run: la.Trajectory, most: int) -> tuple[int, int]:
    """(steps that have no certificate, steps looked at), from the recorded nodes alone."""
    looked = range(0, run.steps, max(1, -(-run.steps // most)))
    lengths = np.diff(run.t) if run.certified_dt is None else run.certified_dt
    bad = sum(not certify(StepEquation(run.model, run.state(k)), float(lengths[k]), sharp=False).solvable for k in looked)
    return bad, len(looked)


def compare(model: la.Model, q: np.ndarray, v: np.ndarray, most: int) -> dict[str, float]:
    """One run with certified steps, and one with as many equal ones."""
    start = model.state(q, v)
    began = time.process_time()
    run = la.simulate(model, start, dt="certified", duration=DURATION)
    mine = time.process_time() - began
    dt = DURATION / run.steps
    began = time.process_time()
    try:
        fixed = la.simulate(model, start, dt=dt, steps=run.steps, integrator=la.Trapezoid())
    except la.ConvergenceError as error:
        assert error.trajectory is not None
        fixed = error.trajectory
    theirs = time.process_time() - began
    bad, looked = uncertified(run, most)
    fixed_bad, fixed_looked = uncertified(fixed, 40)
    assert run.continuation is not None
    lost = (float(np.abs(run.energy_balance).max()), float(np.abs(fixed.energy_balance).max()))
    return {
        "nv": model.nv, "steps": run.steps, "bad": bad, "looked": looked, "shortest": run.certified_dt.min(),  # type: ignore[union-attr]
        "longest": run.certified_dt.max(), "us": 1e6 * mine / run.steps, "fixed us": 1e6 * theirs / max(fixed.steps, 1),  # type: ignore[union-attr]
        "fixed certified": 1.0 - fixed_bad / max(fixed_looked, 1), "fixed finished": float(fixed.converged), "energy": lost[0],
        "fixed energy": lost[1], "resets": run.continuation.memory["control"][-1],
    }  # fmt: skip


def make(quick: bool) -> Result:
    count = 6 if quick else 50
    rows: dict[str, list[dict[str, float]]] = {}
    for kind, model, q, v in mechanisms(count):
        rows.setdefault(kind, []).append(compare(model, q, v, 100 if quick else 10**9))
    every = [row for found in rows.values() for row in found]
    bad, looked = sum(int(r["bad"]) for r in every), sum(int(r["looked"]) for r in every)
    cost = [r["us"] / r["fixed us"] for r in every]
    better = sum(r["energy"] < r["fixed energy"] for r in every)

    def draw(figure) -> None:
        axes = figure.subplots()
        model = la.examples.chain(3).compile()
        run = la.simulate(model, dt="certified", duration=DURATION, q=(1.5, 0.5, -0.5))
        axes.semilogy(run.t[:-1], run.certified_dt, drawstyle="steps-post", linewidth=0.9)
        axes.set(xlabel="time, s", ylabel="certified step, s")

    def middle(found: list[dict[str, float]], name: str) -> float:
        return float(np.median([r[name] for r in found]))

    table = [
        [
            kind, str(len(found)), f"{middle(found, 'steps'):.0f}",
            f"{min(r['shortest'] for r in found):.1e} to {max(r['longest'] for r in found):.1e}",
            f"{middle(found, 'resets'):.0f}", f"{middle(found, 'us'):.0f}", f"{middle(found, 'us') / middle(found, 'fixed us'):.0f}",
            f"{100 * middle(found, 'fixed certified'):.0f} %", f"{middle(found, 'energy'):.1e}", f"{middle(found, 'fixed energy'):.1e}",
        ]
        for kind, found in rows.items()
    ]  # fmt: skip
    return Result(
        f"{count} runs of {DURATION:g} s with dt='certified' from random states, and as many equal steps of Trapezoid.  CPU time.",
        [
            Claim(
                "With h chosen by Algorithm 1 at every step every update is solvable.", "",
                f"{bad} of {looked} steps without a certificate; all {count} runs finished", bad == 0,
            ),
            Claim(
                "The bound is available a priori: what does it cost?", "",
                f"{np.median(cost):.0f} times the time of an equal step (median; {min(cost):.0f} to {max(cost):.0f})", None,
                "the paper measures no times",
            ),
        ],
        [Picture(draw, "Certified steps of three swinging rods", (8.0, 3.0))],
        [
            Table(
                ["medians", "runs", "steps", "h, s", "interfered", "us a step", "times an equal step", "equal steps certified",
                 "energy error, J", "with equal steps"],
                table, f"{better} of {count} runs keep energy better than with equal steps",
            )
        ],
    )  # fmt: skip
