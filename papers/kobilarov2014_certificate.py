"""How good is the certified step?  Random trees and chains: does Newton converge at it, and how much longer a step would it solve?

Pure Newton from the last velocity on the equation of la.Trapezoid, 200 random trees of joints with plain coordinates at random states;
then chains of 1 to 5 links.

Run it with   python papers/kobilarov2014_certificate.py [number of trees]
"""

from __future__ import annotations

import sys

import numpy as np

import leastaction as la
from leastaction.solvability import StepEquation, certified_step, empirical_limit

JOINTS = (la.Revolute, la.Prismatic, la.Helical, la.Cylindrical, la.Universal, la.Planar)


def random_equation(seed: int) -> StepEquation:
    """A tree of 1 to 4 bodies under gravity, some with a damper and a spring, moving at random."""
    rng = np.random.default_rng(seed)
    mech = la.examples.random_tree(int(rng.integers(1, 5)), seed=seed, joints=JOINTS)
    body = mech.bodies["body1"]
    if body.joint.nv == 1 and rng.uniform() < 0.5:
        mech.add_force(la.Damper("body1", float(rng.uniform(0.0, 2.0))))
        mech.add_force(la.Spring("body1", float(rng.uniform(0.0, 20.0))))
    model = mech.compile()
    return StepEquation(model, model.state(rng.normal(size=model.nq), rng.uniform(0.0, 3.0) * rng.normal(size=model.nv)))


def failures(count: int) -> list[int]:
    """Seeds whose certified step Newton's method does not solve."""
    bad = []
    for seed in range(count):
        equation = random_equation(seed)
        h = certified_step(equation).h
        if not equation.newton(min(h, 1e3))[1]:
            bad.append(seed)
    return bad


def chain_ratios(links: int, count: int) -> np.ndarray:
    """(count,) first unsolvable step over certified step of chains at random states; NaN where nothing limits it."""
    ratios = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        model = la.examples.chain(links, spatial=seed % 2 == 1).compile()
        equation = StepEquation(model, model.state(rng.normal(size=links), rng.normal(size=links)))
        h = certified_step(equation).h
        ratios.append(empirical_limit(equation, h, 1.1) / h if np.isfinite(h) else np.nan)
    return np.array(ratios)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    bad = failures(count)
    print(f"{count} random trees: Newton failed at the certified step of {len(bad)} {bad}")
    for links in range(1, 6):
        ratios = chain_ratios(links, 20)
        limited = ratios[~np.isnan(ratios)]
        text = f"median {np.median(limited):.1f}, largest {limited.max():.1f}" if len(limited) else "nothing limits the step: it is linear"
        print(f"chain of {links}: first unsolvable step over certified step: {text}")


if __name__ == "__main__":
    main()
