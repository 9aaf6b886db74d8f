"""Si and Guenter 2010, Fig. 1: a chain of 20 tori, each sliding over the next."""

from __future__ import annotations

import leastaction as la

from .result import Result
from .si2010_motion import circle, moving


def make(quick: bool) -> Result:
    rings = 5 if quick else 20
    mechanism = la.examples.torus_chain(rings)
    model = mechanism.compile()
    q = model.neutral()
    q[model.q_slice("ring1")] += (0.3, 0.5)
    q[model.q_slice("ring2")] += (0.8, 0.0, 0.0, 0.0)
    q[model.q_slice("ring3")] += (0.0, 0.4, 0.0, -0.3)
    return moving(
        mechanism,
        {"ring": circle(1.0)},
        f"{rings} tori, from rest, pulled aside. The paper gives neither sizes nor start.",
        "A chain of tori with surface-surface joints can be simulated in its own coordinates.",
        1.0 if quick else 5.0,
        q=q,
    )
