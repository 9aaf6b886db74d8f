"""Si and Guenter 2010, Fig. 2: the windmill, a tree of sphere, ellipsoid and torus contacts with 73 degrees of freedom."""

from __future__ import annotations

import leastaction as la

from .result import Result
from .si2010_motion import circle, moving


def make(quick: bool) -> Result:
    outlines = {"hub": circle(1.5), "ring": circle(0.5), "ball": circle(0.25), "egg": circle(0.3, 0.2)}
    return moving(
        la.examples.windmill(),
        outlines,
        "The hub turns, two blades are pushed. Which surface touches which is our choice: the paper gives the kinds and the count.",
        "A tree of sphere-sphere, sphere-ellipsoid, sphere-torus, torus-torus and torus-ellipsoid joints can be simulated.",
        0.2 if quick else 2.0,
        view=(8, -75),
        v={"hub": 2.0, "ball1a": (0.0, 2.0, 0.0, 0.0), "ring2a": (0.0, 2.0, 0.0, 0.0)},
    )
